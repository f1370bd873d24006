"""Gherkin-like text: Feature, Background, Rule, Scenario, Scenario Outline with Examples, tags, tables.

What stands where is read here; what a step says is `phrases`. A scenario is a requirement, and so is each
row of an outline's examples. `Then` is what the action before it leads to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.verifying.planning import phrases
from agent.verifying.planning.columns import column_named
from agent.verifying.planning.drafts import Draft, Said, StepDraft, named, slug
from agent.verifying.planning.pipes import cells_of
from agent.verifying.planning.problems import Problem
from agent.verifying.planning.tables import MOST_ROWS, Found
from kb_schema.excerpts import excerpt
from kb_schema.verification import Outcome, Place

_BLOCK = re.compile(
    r"\s*(?P<kind>Feature|Rule|Background|Scenario Outline|Scenario Template|Scenario|Example|Examples|Scenarios)"
    r"\s*:\s*(?P<name>.*?)\s*"
)
_STEP = re.compile(r"\s*(?P<keyword>Given|When|Then|And|But|\*)\s+(?P<text>\S.*?)\s*")
_KEY = re.compile(r"\s*(?P<key>[A-Za-z][A-Za-z ]{0,20}?)\s*:\s*(?P<value>\S.*?)\s*")
_TAG_KEYS = {"req": "req_id", "id": "req_id", "req_id": "req_id", "login": "login", "url": "url"}


@dataclass(slots=True)
class _Line:
    """One step line with what stands under it."""

    keyword: str
    """Given, When or Then: And and But are what they follow."""
    text: str
    place: Place
    table: list[tuple[Place, list[str]]] = field(default_factory=list)
    doc: str | None = None


@dataclass(slots=True)
class _Block:
    """A scenario, an outline or a background."""

    kind: str
    name: str
    place: Place
    tags: list[Said]
    keys: dict[str, Said] = field(default_factory=dict)
    lines: list[_Line] = field(default_factory=list)
    examples: list[tuple[Place, list[str]]] = field(default_factory=list)
    tables: list[list[tuple[Place, list[str]]]] = field(default_factory=list)


def is_feature(text: str) -> bool:
    """Whether a text is written in this format."""
    return any((found := _BLOCK.fullmatch(line)) and found["kind"] != "Example" for line in text.splitlines())


def read_feature(text: str, *, file: str, fallback_id: str, folder: Path | None) -> Found:
    """The drafts of a feature."""
    reader = _FeatureReader(file, fallback_id, folder)
    lines = text.splitlines()
    if len(lines) > MOST_ROWS:
        fix = f"split it into files of at most {MOST_ROWS:,} lines"
        return Found(problems=[Problem(Place(file=file), f"{len(lines):,} lines", fix)], is_table=True)
    reader.read(lines)
    return reader.finish()


class _FeatureReader:
    """Reads line by line into blocks; blocks become drafts at the end."""

    def __init__(self, file: str, fallback_id: str, folder: Path | None) -> None:
        self._file, self._fallback, self._folder = file, fallback_id, folder
        self._found = Found(is_table=True)
        self._tags: list[Said] = []
        self._feature = _Block("Feature", "", Place(file=file), [])
        self._backgrounds: dict[str, _Block] = {}
        self._scenarios: list[tuple[_Block, list[_Block]]] = []
        self._block = self._feature
        self._fence: str | None = None
        self._in_examples = False

    def read(self, lines: list[str]) -> None:
        """Every line of the file."""
        for number, line in enumerate(lines, 1):
            self._read(line, Place(file=self._file, line=number))

    def _read(self, line: str, place: Place) -> None:
        bare = line.strip()
        if self._fence is not None:
            self._doc(line, bare)
        elif bare.startswith(('"""', "```")):
            self._fence = bare[:3]
            if self._block.lines:
                self._block.lines[-1].doc = ""
        elif not bare or (bare.startswith("#") and not bare.startswith("# language")):
            return
        elif bare.startswith("# language"):
            if not re.search(r":\s*en\b", bare):
                self._problem(place, f"{bare!r}: only English keywords are known", "write Given, When, Then")
        elif bare.startswith("@"):
            self._tags += [Said(tag.lstrip("@"), place) for tag in bare.split() if tag.startswith("@")]
        elif bare.startswith("|"):
            self._table_row(bare, place)
        elif found := _BLOCK.fullmatch(line):
            self._begin(found["kind"], found["name"], place)
        elif found := _STEP.fullmatch(line):
            self._step(found["keyword"], found["text"], place)
        else:
            self._description(bare, place)

    def _doc(self, line: str, bare: str) -> None:
        if bare == self._fence:
            self._fence = None
        elif self._block.lines:
            step = self._block.lines[-1]
            step.doc = f"{step.doc}\n{line.strip()}" if step.doc else line.strip()

    def _begin(self, kind: str, name: str, place: Place) -> None:
        self._in_examples = kind in ("Examples", "Scenarios")
        tags, self._tags = self._tags, []
        if self._in_examples:
            if self._block.kind not in ("Scenario Outline", "Scenario Template", "Scenario", "Example"):
                self._problem(place, "Examples without a Scenario Outline", "put them under one")
            self._block.tables.append([])
            return
        self._block = _Block(kind, name, place, tags)
        if kind == "Feature":
            self._feature = self._block
        elif kind == "Rule":
            self._backgrounds.pop("Rule", None)
        elif kind == "Background":
            self._backgrounds["Rule" if "Feature" in self._backgrounds else "Feature"] = self._block
        else:
            self._scenarios.append((self._block, list(self._backgrounds.values())))

    def _step(self, keyword: str, text: str, place: Place) -> None:
        if self._block.kind in ("Feature", "Rule"):
            self._problem(place, "a step outside of any scenario", "begin one with `Scenario:`")
            return
        before = self._block.lines[-1].keyword if self._block.lines else "Given"
        kind = before if keyword in ("And", "But", "*") else keyword
        self._block.lines.append(_Line(kind, text, place))

    def _table_row(self, bare: str, place: Place) -> None:
        cells = cells_of(bare, table=True)
        if self._in_examples:
            self._block.tables[-1].append((place, cells))
        elif self._block.lines:
            self._block.lines[-1].table.append((place, cells))
        else:
            self._problem(place, "a table under no step", "put it under a step, or under Examples")

    def _description(self, bare: str, place: Place) -> None:
        found = _KEY.fullmatch(bare)
        key = column_named(found["key"]) if found else None
        if self._block.lines or self._in_examples:
            self._problem(
                place,
                f"{excerpt(bare)!r} is no step",
                "begin it with Given, When, Then, And or But; # is a remark",
            )
        elif found and key in ("req_id", "url", "login", "title", "tags"):
            self._block.keys[key] = Said(found["value"], place)

    # -- drafts ------------------------------------------------------------------------------------

    def finish(self) -> Found:
        """Everything that was found."""
        if self._fence is not None:
            self._problem(Place(file=self._file), f"{self._fence} is never closed", "close it")
        if not self._scenarios and not self._found.problems:
            self._problem(Place(file=self._file), "no scenario", "begin one with `Scenario:`")
        for block, backgrounds in self._scenarios:
            lines = [*(line for background in backgrounds for line in background.lines), *block.lines]
            rows = list(self._example_rows(block))
            if block.kind.startswith("Scenario ") and not rows:
                self._problem(block.place, "an outline without examples", "add a table under `Examples:`")
            if not rows:
                self._found.drafts.append(self._draft(block, backgrounds, lines, None, block.place))
            for index, (place, row) in enumerate(rows, 1):
                draft = self._draft(block, backgrounds, lines, row, place)
                self._name_example(draft, row, index)
                self._found.drafts.append(draft)
        return self._found

    def _example_rows(self, block: _Block) -> Iterator[tuple[Place, dict[str, str]]]:
        for table in block.tables:
            if not table:
                continue
            (_, header), *rows = table
            for place, cells in rows:
                if len(cells) != len(header):
                    message = f"{len(cells)} cells where the header has {len(header)}"
                    self._problem(place, message, "write \\| for a bar inside a cell")
                else:
                    yield place, dict(zip(header, cells, strict=True))

    def _name_example(self, draft: Draft, row: Mapping[str, str], index: int) -> None:
        """Each row of the examples is a requirement of its own."""
        own = next((value for key, value in row.items() if column_named(key) == "req_id"), None)
        if own is not None:
            draft.req_id = Said(own, draft.place)
        elif draft.req_id is not None:
            draft.req_id = replace(draft.req_id, text=f"{draft.req_id.text}_{index}")
        draft.fallback_id = f"{draft.fallback_id[:90]}_{index}"

    def _draft(
        self,
        block: _Block,
        backgrounds: list[_Block],
        lines: list[_Line],
        row: Mapping[str, str] | None,
        place: Place,
    ) -> Draft:
        req_id, title = named(_filled(block.name, row))
        keys: dict[str, Said] = {}
        for each in (self._feature, *backgrounds, block):
            inherited = (
                each.keys if each is block else {k: v for k, v in each.keys.items() if k in ("url", "login")}
            )
            keys |= inherited
            for tag in each.tags:
                name, colon, value = tag.text.partition(":")
                if (
                    colon
                    and name.lower() in _TAG_KEYS
                    and (each is block or name.lower() not in ("req", "id", "req_id"))
                ):
                    keys[_TAG_KEYS[name.lower()]] = Said(value, tag.place)
        tags = [tag for each in (self._feature, block) for tag in each.tags if not _is_key(tag.text)]
        if "tags" in keys:
            tags.append(keys["tags"])
        title_said = keys.get("title") or (Said(title, block.place) if title else None)
        draft = Draft(
            place=place,
            fallback_id=slug(title or req_id or self._fallback),
            req_id=keys.get("req_id") or (Said(req_id, block.place) if req_id else None),
            title=title_said,
            url=keys.get("url"),
            login=keys.get("login"),
            tags=tuple(tags),
            folder=self._folder,
        )
        for line in lines:
            self._take(draft, line, row)
        return draft

    def _take(self, draft: Draft, line: _Line, row: Mapping[str, str] | None) -> None:
        """One step line into the draft: a step, what a step leads to, or where it begins."""
        text = _filled(line.text, row)
        missing = re.findall(r"<([^<>\s][^<>]*)>", line.text) if row is not None else []
        for name in (name for name in missing if name not in (row or {})):
            self._problem(
                line.place, f"no column <{name}> in the examples", f"known are {', '.join(row or {})}"
            )
        if line.doc is not None:
            text = f'{text.rstrip(":")} "{_escaped(_filled(line.doc, row))}"'
        try:
            meaning = phrases.understood(text)
        except phrases.NotUnderstood as exc:
            self._problem(line.place, f"{excerpt(text)!r}: {exc.message}", exc.fix)
            return
        match meaning:
            case phrases.Act(action, element, region, value):
                if action == "navigate" and line.keyword == "Given" and not draft.steps and draft.url is None:
                    draft.url = Said(value or "", line.place)
                else:
                    draft.steps.append(_step(line.place, action, element, region, value))
            case phrases.See(outcomes):
                _expect(draft, line.place, outcomes)
            case phrases.Place(where):
                self._be_on(draft, line, where)
            case phrases.SignedIn(task):
                draft.login = Said(task, line.place)
            case phrases.Fields(region):
                self._fields(draft, line, region, row)

    def _be_on(self, draft: Draft, line: _Line, where: str) -> None:
        address = where.startswith("/") or "://" in where
        if address and line.keyword == "Given" and not draft.steps:
            draft.url = Said(where, line.place)
        else:
            _expect(
                draft, line.place, (Outcome(kind="navigates_to", said=f"navigates_to:{where}", value=where),)
            )

    def _fields(self, draft: Draft, line: _Line, region: str | None, row: Mapping[str, str] | None) -> None:
        if not line.table:
            self._problem(
                line.place,
                "no fields to fill",
                'put a table of fields and values under it, or write `I fill "Name" with "Ada"`',
            )
        for place, cells in line.table:
            if len(cells) != 2:
                self._problem(place, f"{len(cells)} cells where two are needed", "write | Field | value |")
                continue
            element, value = (_filled(cell, row) for cell in cells)
            draft.steps.append(_step(place, "fill", element, region, value))

    def _problem(self, place: Place, message: str, fix: str) -> None:
        self._found.problems.append(Problem(place, message, fix))


def _step(place: Place, action: str, element: str | None, region: str | None, value: str | None) -> StepDraft:
    return StepDraft(
        place=place,
        element=Said(_quoted(element), place) if element else None,
        region=Said(region, place) if region else None,
        action=Said(action, place),
        value=Said(value, place) if value is not None else None,
        exact=value is not None,
    )


def _expect(draft: Draft, place: Place, outcomes: tuple[Outcome, ...]) -> None:
    """What is seen belongs to the action before it; before any action it is a step that looks."""
    if draft.steps:
        draft.steps[-1] = draft.steps[-1].expecting(*outcomes)
    else:
        draft.steps.append(StepDraft(place=place, outcomes=outcomes))


def _quoted(element: str) -> str:
    return f'"{element}"' if element.count("@") > 1 else element


def _filled(text: str, row: Mapping[str, str] | None) -> str:
    return re.sub(r"<([^<>]+)>", lambda match: (row or {}).get(match[1], match[0]), text)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _is_key(tag: str) -> bool:
    name, colon, _ = tag.partition(":")
    return bool(colon) and name.lower() in _TAG_KEYS
