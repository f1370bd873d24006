"""Requirements as JSON (PACTS 8.1): one object, a list of them, or `{"requirements": [...]}`.

A step is an object or a line of the pipe format. Places are JSON paths.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from agent.verifying.planning.drafts import Draft, Said, StepDraft, slug
from agent.verifying.planning.pipes import cells_of
from agent.verifying.planning.problems import Problem
from agent.verifying.planning.tables import MOST_ROWS, PLAIN, Found
from kb_schema.documents import did_you_mean
from kb_schema.excerpts import excerpt
from kb_schema.verification import Place

REQUIREMENT_NAMES = {
    "req_id": "req_id", "id": "req_id", "requirement": "req_id", "title": "title", "name": "title", "url": "url",
    "login": "login", "tags": "tags", "steps": "steps",
}  # fmt: skip
STEP_NAMES = {
    "element": "element", "intent": "element", "target": "element", "region": "region", "action": "action",
    "value": "value", "expected": "expected", "expected_outcome": "expected", "expected_outcomes": "expected",
    "outcomes": "expected", "comment": "", "note": "",
}  # fmt: skip
_WRAPPERS = ("requirements", "test_cases", "tests")


def read_objects(text: str, *, file: str, fallback_id: str, folder: Path | None) -> Found:
    """The drafts of a JSON text."""
    place = Place(file=file)
    try:
        data = json.loads(
            text, object_pairs_hook=_once, parse_int=_Number, parse_float=_Number, parse_constant=_Number
        )
    except _RepeatedError as exc:
        fix = "leave one of them out, or give them different names"
        return Found(problems=[Problem(place, f"an object says {excerpt(exc.key)!r} twice", fix)])
    except json.JSONDecodeError as exc:
        wrong = Place(file=file, line=exc.lineno)
        return Found(
            problems=[Problem(wrong, f"not JSON: {exc.msg} (column {exc.colno})", "correct it there")]
        )
    except RecursionError:
        return Found(problems=[Problem(place, "not JSON that can be read: nested too deeply", "flatten it")])
    reader = _ObjectReader(place, fallback_id, folder)
    reader.read(data)
    return reader.found


class _Number(str):
    """A number as it is written: `1.10` stays `1.10`."""

    __slots__ = ()


class _RepeatedError(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """An object whose keys are there once: which of two is meant is not for us to say."""
    found: dict[str, JsonValue] = {}
    for key, value in pairs:
        if key in found:
            raise _RepeatedError(key)
        found[key] = value
    return found


def read_step_objects(
    req_id: str,
    url: str,
    steps: Sequence[str | Mapping[str, JsonValue]],
    *,
    title: str,
    login: str | None,
    tags: Sequence[str],
    folder: Path | None,
) -> Found:
    """The draft of one requirement whose pieces are given."""
    place = Place()
    reader = _ObjectReader(place, req_id, folder)
    data: dict[str, JsonValue] = {"req_id": req_id, "url": url, "title": title, "tags": list(tags)}
    data["steps"] = [dict(each) if isinstance(each, Mapping) else each for each in steps]
    if login is not None:
        data["login"] = login
    reader.requirement(data, "$", req_id)
    return reader.found


class _ObjectReader:
    def __init__(self, place: Place, fallback_id: str, folder: Path | None) -> None:
        self._place, self._fallback, self._folder = place, fallback_id, folder
        self.found = Found(is_table=True)

    def read(self, data: JsonValue) -> None:
        """Everything in a file."""
        path = "$"
        if isinstance(data, dict):
            wrapper = next((name for name in _WRAPPERS if isinstance(data.get(name), list)), None)
            if wrapper and len(data) == 1:
                data, path = data[wrapper], f"$.{wrapper}"
        if isinstance(data, list):
            for index, each in enumerate(data):
                self.requirement(each, f"{path}[{index}]", f"{self._fallback}_{index + 1}")
        else:
            self.requirement(data, path, self._fallback)

    def requirement(self, data: JsonValue, path: str, fallback: str) -> None:
        """One requirement; problems are noted, and what can be read is."""
        if not isinstance(data, dict):
            self._problem(
                path, f"{_kind(data)} where a requirement should be", 'write {"req_id": ..., "steps": [...]}'
            )
            return
        draft = Draft(place=self._at(path), fallback_id=slug(fallback), folder=self._folder)
        for key, name in self._names(data, REQUIREMENT_NAMES, path):
            at, value = f"{path}.{key}", data[key]
            if name == "steps":
                draft.steps = self._steps(value, at)
            elif name == "tags":
                tags = value if isinstance(value, list) else [value]
                draft.tags = tuple(
                    said for i, tag in enumerate(tags) if (said := self._said(tag, f"{at}[{i}]")) is not None
                )
            else:
                setattr(draft, name, self._said(value, at))
        self.found.drafts.append(draft)

    def _steps(self, data: JsonValue, path: str) -> list[StepDraft]:
        if not isinstance(data, list):
            self._problem(path, f"{_kind(data)} where a list of steps should be", "write [...]")
            return []
        if len(data) > MOST_ROWS:
            self._problem(path, f"{len(data):,} steps", f"at most {MOST_ROWS:,} can be read")
            return []
        found = (self._step(each, f"{path}[{index}]") for index, each in enumerate(data))
        return [step for step in found if step is not None]

    def _step(self, data: JsonValue, path: str) -> StepDraft | None:
        place = self._at(path)
        if isinstance(data, str):
            return self._line(data, place)
        if not isinstance(data, dict):
            self._problem(
                path, f"{_kind(data)} where a step should be", 'write {"element": ..., "action": ...}'
            )
            return None
        said: dict[str, Said | None] = {}
        expected: tuple[Said, ...] = ()
        for key, name in self._names(data, STEP_NAMES, path):
            at, value = f"{path}.{key}", data[key]
            if name == "expected":
                each = enumerate(value) if isinstance(value, list) else [(None, value)]
                texts = (self._said(one, at if i is None else f"{at}[{i}]") for i, one in each)
                expected = (*expected, *(text for text in texts if text is not None))
            elif name:
                said[name] = self._said(value, at)
        given = said.get("value")
        return StepDraft(
            place=place,
            element=said.get("element"),
            region=said.get("region"),
            action=said.get("action"),
            value=given,
            exact=given is not None and (given.text != "" or _word(said.get("action")) in ("fill", "type")),
            expected=tuple(each for each in expected if each.text.strip()),
        )

    def _line(self, line: str, place: Place) -> StepDraft | None:
        cells = cells_of(line)
        if len(cells) > len(PLAIN):
            self.found.problems.append(
                Problem(
                    place,
                    f"{len(cells)} cells where {len(PLAIN)} are known",
                    "write \\| for a bar inside a cell",
                )
            )
            return None
        said = {name: Said(cell, place) for name, cell in zip(PLAIN, cells, strict=False) if cell}
        expected = (said["expected"],) if "expected" in said else ()
        return StepDraft(
            place=place,
            element=said.get("element"),
            action=said.get("action"),
            value=said.get("value"),
            expected=expected,
        )

    # -- pieces ------------------------------------------------------------------------------------

    def _names(
        self, data: Mapping[str, JsonValue], names: Mapping[str, str], path: str
    ) -> Sequence[tuple[str, str]]:
        """The keys of an object with what they mean; unknown and repeated ones are problems."""
        found: dict[str, str] = {}
        for key in data:
            name = names.get(key.strip().lower().replace(" ", "_").replace("-", "_"))
            if name is None:
                fix = (
                    did_you_mean(key, [*names])
                    or f"known are {', '.join(dict.fromkeys(filter(None, names.values())))}"
                )
                self._problem(path, f"unknown key {excerpt(key)!r}", fix)
            elif name and name in found.values():
                self._problem(path, f"{excerpt(key)!r} says {name} a second time", "leave one of them out")
            else:
                found[key] = name
        return tuple(found.items())

    def _said(self, data: JsonValue, path: str) -> Said | None:
        if data is None:
            return None
        if isinstance(data, dict | list):
            self._problem(path, f"{_kind(data)} where a text should be", "write a text")
            return None
        return Said(data if isinstance(data, str) else json.dumps(data), self._at(path))

    def _at(self, path: str) -> Place:
        return self._place.model_copy(update={"path": path})

    def _problem(self, path: str, message: str, fix: str) -> None:
        self.found.problems.append(Problem(self._at(path), message, fix))


def _kind(data: JsonValue) -> str:
    match data:
        case None:
            return "nothing"
        case bool() | int() | float():
            return f"{json.dumps(data)}"
        case _Number():
            return str(data)
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"


def _word(said: Said | None) -> str:
    return said.text.strip().lower() if said else ""
