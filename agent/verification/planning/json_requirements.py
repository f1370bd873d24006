"""Reads requirements as JSON (PACTS 8.1): one object, a list of them, or `{"requirements": [...]}`.

A step is an object or a line of the pipe format. Problems name JSON paths.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from agent.verification.planning.pipe_format import cells_of
from agent.verification.planning.requirement_drafts import LocatedText, RequirementDraft, StepDraft, slug
from agent.verification.planning.requirement_problems import RequirementProblem
from agent.verification.planning.requirement_tables import MOST_ROWS, PLAIN, TableDrafts
from kb_schema.documents import did_you_mean
from kb_schema.excerpts import excerpt
from kb_schema.verification import SourceLocation

REQUIREMENT_NAMES = {
    "req_id": "req_id",
    "id": "req_id",
    "requirement": "req_id",
    "title": "title",
    "name": "title",
    "url": "url",
    "login": "login",
    "tags": "tags",
    "timeout": "timeout",
    "steps": "steps",
}
STEP_NAMES = {
    "element": "element",
    "intent": "element",
    "target": "element",
    "region": "region",
    "action": "action",
    "value": "value",
    "expected": "expected",
    "expected_outcome": "expected",
    "expected_outcomes": "expected",
    "outcomes": "expected",
    "timeout": "timeout",
    "comment": "",
    "note": "",
}
_WRAPPERS = ("requirements", "test_cases", "tests")


def read_objects(text: str, *, file: str, fallback_id: str, folder: Path | None) -> TableDrafts:
    """Return the drafts of a JSON text."""
    place = SourceLocation(file=file)
    try:
        data = json.loads(
            text, object_pairs_hook=_once, parse_int=_Number, parse_float=_Number, parse_constant=_Number
        )
    except _RepeatedError as exc:
        fix = "delete one of them, or give them different names"
        return TableDrafts(
            problems=[RequirementProblem(place, f"an object has the key {excerpt(exc.key)!r} twice", fix)]
        )
    except json.JSONDecodeError as exc:
        wrong = SourceLocation(file=file, line=exc.lineno)
        return TableDrafts(
            problems=[
                RequirementProblem(wrong, f"not JSON: {exc.msg} (column {exc.colno})", "correct it there")
            ]
        )
    except RecursionError:
        return TableDrafts(
            problems=[RequirementProblem(place, "not JSON: it is nested too deeply", "flatten it")]
        )
    reader = _ObjectReader(place, fallback_id, folder)
    reader.read(data)
    return reader.found


class _Number(str):
    """Keep a number as it is written: `1.10` stays `1.10`."""

    __slots__ = ()


class _RepeatedError(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Read an object and note keys that appear twice: neither value is chosen."""
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
) -> TableDrafts:
    """Return the draft of one requirement from its parts."""
    place = SourceLocation()
    reader = _ObjectReader(place, req_id, folder)
    data: dict[str, JsonValue] = {"req_id": req_id, "url": url, "title": title, "tags": list(tags)}
    data["steps"] = [dict(each) if isinstance(each, Mapping) else each for each in steps]
    if login is not None:
        data["login"] = login
    reader.requirement(data, "$", req_id)
    return reader.found


class _ObjectReader:
    def __init__(self, place: SourceLocation, fallback_id: str, folder: Path | None) -> None:
        self._place, self._fallback, self._folder = place, fallback_id, folder
        self.found = TableDrafts(is_table=True)

    def read(self, data: JsonValue) -> None:
        """Read everything in the file."""
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
        """Read one requirement, noting problems and keeping what can be read."""
        if not isinstance(data, dict):
            self._problem(
                path, f"expected a requirement, found {_kind(data)}", 'write {"req_id": ..., "steps": [...]}'
            )
            return
        draft = RequirementDraft(place=self._at(path), fallback_id=slug(fallback), folder=self._folder)
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
            self._problem(path, f"expected a list of steps, found {_kind(data)}", "write [...]")
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
                path, f"expected a step, found {_kind(data)}", 'write {"element": ..., "action": ...}'
            )
            return None
        said: dict[str, LocatedText | None] = {}
        expected: tuple[LocatedText, ...] = ()
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
            timeout=said.get("timeout"),
            exact=given is not None and (given.text != "" or _word(said.get("action")) in ("fill", "type")),
            expected=tuple(each for each in expected if each.text.strip()),
        )

    def _line(self, line: str, place: SourceLocation) -> StepDraft | None:
        cells = cells_of(line)
        if len(cells) > len(PLAIN):
            self.found.problems.append(
                RequirementProblem(
                    place,
                    f"expected at most {len(PLAIN)} cells, found {len(cells)}",
                    "write \\| for a bar inside a cell",
                )
            )
            return None
        said = {name: LocatedText(cell, place) for name, cell in zip(PLAIN, cells, strict=False) if cell}
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
        """Return the values by known key; unknown and repeated keys are noted as problems."""
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
                self._problem(path, f"{excerpt(key)!r} gives {name} a second time", "delete one of them")
            else:
                found[key] = name
        return tuple(found.items())

    def _said(self, data: JsonValue, path: str) -> LocatedText | None:
        if data is None:
            return None
        if isinstance(data, dict | list):
            self._problem(path, f"expected a text, found {_kind(data)}", "write a text")
            return None
        return LocatedText(data if isinstance(data, str) else json.dumps(data), self._at(path))

    def _at(self, path: str) -> SourceLocation:
        return self._place.model_copy(update={"path": path})

    def _problem(self, path: str, message: str, fix: str) -> None:
        self.found.problems.append(RequirementProblem(self._at(path), message, fix))


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


def _word(said: LocatedText | None) -> str:
    return said.text.strip().lower() if said else ""
