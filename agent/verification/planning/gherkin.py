"""Reads Gherkin: Feature, Background, Rule, Scenario, Scenario Outline with Examples, tags, tables.

This module reads the structure; `step_phrases` reads the steps. A scenario is a requirement, and so is each
row of an outline's examples. `Then` is the expected outcome of the action before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.verification.planning import step_phrases
from agent.verification.planning.pipe_format import cells_of
from agent.verification.planning.requirement_drafts import (
    LocatedText,
    RequirementDraft,
    StepDraft,
    fill_example,
    list_example_names,
    parse_heading,
    quote_name,
    slug,
)
from agent.verification.planning.requirement_problems import RequirementProblem
from agent.verification.planning.requirement_tables import MOST_ROWS, TableDrafts
from agent.verification.planning.table_columns import column_named
from kb_schema.excerpts import excerpt
from kb_schema.verification import ExpectedOutcome, SourceLocation

_BLOCK = re.compile(
    r"\s*(?P<kind>Feature|Rule|Background|Scenario Outline|Scenario Template|Scenario|Example|Examples|Scenarios)"
    r"\s*:\s*(?P<name>.*?)\s*"
)
_STEP = re.compile(r"\s*(?P<keyword>Given|When|Then|And|But|\*)\s+(?P<text>\S.*?)\s*")
_KEY = re.compile(r"\s*(?P<key>[A-Za-z][A-Za-z ]{0,20}?)\s*:\s*(?P<value>\S.*?)\s*")
_TAG_KEYS = {
    "req": "req_id",
    "id": "req_id",
    "req_id": "req_id",
    "login": "login",
    "url": "url",
    "timeout": "timeout",
}


@dataclass(slots=True)
class _GherkinLine:
    """One step line with the lines that belong to it."""

    keyword: str
    """Given, When or Then; And and But repeat the keyword before them."""
    text: str
    place: SourceLocation
    table: list[tuple[SourceLocation, list[str]]] = field(default_factory=list)
    doc: str | None = None


@dataclass(slots=True)
class _GherkinBlock:
    """A scenario, an outline or a background."""

    kind: str
    name: str
    place: SourceLocation
    tags: list[LocatedText]
    keys: dict[str, LocatedText] = field(default_factory=dict)
    lines: list[_GherkinLine] = field(default_factory=list)
    examples: list[tuple[SourceLocation, list[str]]] = field(default_factory=list)
    tables: list[list[tuple[SourceLocation, list[str]]]] = field(default_factory=list)


def is_feature(text: str) -> bool:
    """Whether a text is written in this format."""
    return any((found := _BLOCK.fullmatch(line)) and found["kind"] != "Example" for line in text.splitlines())


def read_feature(text: str, *, file: str, fallback_id: str, folder: Path | None) -> TableDrafts:
    """Return the drafts of a feature."""
    reader = _FeatureReader(file, fallback_id, folder)
    lines = text.splitlines()
    if len(lines) > MOST_ROWS:
        fix = f"split it into files of at most {MOST_ROWS:,} lines"
        return TableDrafts(
            problems=[RequirementProblem(SourceLocation(file=file), f"{len(lines):,} lines", fix)],
            is_table=True,
        )
    reader.read(lines)
    return reader.finish()


class _FeatureReader:
    """Reads line by line into blocks; blocks become drafts at the end."""

    def __init__(self, file: str, fallback_id: str, folder: Path | None) -> None:
        self._file, self._fallback, self._folder = file, fallback_id, folder
        self._found = TableDrafts(is_table=True)
        self._tags: list[LocatedText] = []
        self._feature = _GherkinBlock("Feature", "", SourceLocation(file=file), [])
        self._backgrounds: dict[str, _GherkinBlock] = {}
        self._scenarios: list[tuple[_GherkinBlock, list[_GherkinBlock]]] = []
        self._block = self._feature
        self._fence: str | None = None
        self._in_examples = False

    def read(self, lines: list[str]) -> None:
        """Read every line of the file."""
        for number, line in enumerate(lines, 1):
            self._read(line, SourceLocation(file=self._file, line=number))

    def _read(self, line: str, place: SourceLocation) -> None:
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
            self._tags += [LocatedText(tag.lstrip("@"), place) for tag in bare.split() if tag.startswith("@")]
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

    def _begin(self, kind: str, name: str, place: SourceLocation) -> None:
        self._in_examples = kind in ("Examples", "Scenarios")
        tags, self._tags = self._tags, []
        if self._in_examples:
            if self._block.kind not in ("Scenario Outline", "Scenario Template", "Scenario", "Example"):
                self._problem(
                    place, "Examples without a Scenario Outline", "put them below a Scenario Outline"
                )
            self._block.tables.append([])
            return
        self._block = _GherkinBlock(kind, name, place, tags)
        if kind == "Feature":
            self._feature = self._block
        elif kind == "Rule":
            self._backgrounds.pop("Rule", None)
        elif kind == "Background":
            self._backgrounds["Rule" if "Feature" in self._backgrounds else "Feature"] = self._block
        else:
            self._scenarios.append((self._block, list(self._backgrounds.values())))

    def _step(self, keyword: str, text: str, place: SourceLocation) -> None:
        if self._block.kind in ("Feature", "Rule"):
            self._problem(place, "a step outside of any scenario", "begin one with `Scenario:`")
            return
        before = self._block.lines[-1].keyword if self._block.lines else "Given"
        kind = before if keyword in ("And", "But", "*") else keyword
        self._block.lines.append(_GherkinLine(kind, text, place))

    def _table_row(self, bare: str, place: SourceLocation) -> None:
        cells = cells_of(bare, table=True)
        if self._in_examples:
            self._block.tables[-1].append((place, cells))
        elif self._block.lines:
            self._block.lines[-1].table.append((place, cells))
        else:
            self._problem(place, "a table that belongs to no step", "put it under a step, or under Examples")

    def _description(self, bare: str, place: SourceLocation) -> None:
        found = _KEY.fullmatch(bare)
        key = column_named(found["key"]) if found else None
        if self._block.lines or self._in_examples:
            self._problem(
                place,
                f"{excerpt(bare)!r} is no step",
                "begin it with Given, When, Then, And or But; # begins a comment",
            )
        elif found and key in ("req_id", "url", "login", "title", "tags", "timeout"):
            self._block.keys[key] = LocatedText(found["value"], place)

    # -- drafts ------------------------------------------------------------------------------------

    def finish(self) -> TableDrafts:
        """Return all drafts."""
        if self._fence is not None:
            self._problem(SourceLocation(file=self._file), f"{self._fence} is never closed", "close it")
        if not self._scenarios and not self._found.problems:
            self._problem(SourceLocation(file=self._file), "no scenario", "begin one with `Scenario:`")
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

    def _example_rows(self, block: _GherkinBlock) -> Iterator[tuple[SourceLocation, dict[str, str]]]:
        for table in block.tables:
            if not table:
                continue
            (_, header), *rows = table
            for place, cells in rows:
                if len(cells) != len(header):
                    message = f"expected {len(header)} cells as in the header, found {len(cells)}"
                    self._problem(place, message, "write \\| for a bar inside a cell")
                else:
                    yield place, dict(zip(header, cells, strict=True))

    def _name_example(self, draft: RequirementDraft, row: Mapping[str, str], index: int) -> None:
        """Return one requirement for each row of the examples."""
        own = next((value for key, value in row.items() if column_named(key) == "req_id"), None)
        if own is not None:
            draft.req_id = LocatedText(own, draft.place)
        elif draft.req_id is not None:
            draft.req_id = replace(draft.req_id, text=f"{draft.req_id.text}_{index}")
        draft.fallback_id = f"{draft.fallback_id[:90]}_{index}"

    def _draft(
        self,
        block: _GherkinBlock,
        backgrounds: list[_GherkinBlock],
        lines: list[_GherkinLine],
        row: Mapping[str, str] | None,
        place: SourceLocation,
    ) -> RequirementDraft:
        req_id, title = parse_heading(fill_example(block.name, row))
        keys: dict[str, LocatedText] = {}
        for each in (self._feature, *backgrounds, block):
            inherited = (
                each.keys
                if each is block
                else {k: v for k, v in each.keys.items() if k in ("url", "login", "timeout")}
            )
            keys |= inherited
            for tag in each.tags:
                name, colon, value = tag.text.partition(":")
                if (
                    colon
                    and name.lower() in _TAG_KEYS
                    and (each is block or name.lower() not in ("req", "id", "req_id"))
                ):
                    keys[_TAG_KEYS[name.lower()]] = LocatedText(value, tag.place)
        tags = [tag for each in (self._feature, block) for tag in each.tags if not _is_key(tag.text)]
        if "tags" in keys:
            tags.append(keys["tags"])
        title_said = keys.get("title") or (LocatedText(title, block.place) if title else None)
        draft = RequirementDraft(
            place=place,
            fallback_id=slug(title or req_id or self._fallback),
            req_id=keys.get("req_id") or (LocatedText(req_id, block.place) if req_id else None),
            title=title_said,
            url=keys.get("url"),
            login=keys.get("login"),
            tags=tuple(tags),
            timeout=keys.get("timeout"),
            folder=self._folder,
        )
        for line in lines:
            self._take(draft, line, row)
        return draft

    def _take(self, draft: RequirementDraft, line: _GherkinLine, row: Mapping[str, str] | None) -> None:
        """Add a step line to the draft: as a step, as an outcome, or as the page it begins on."""
        text = fill_example(line.text, row)
        missing = list_example_names(line.text) if row is not None else []
        for name in (name for name in missing if name not in (row or {})):
            self._problem(
                line.place, f"no column <{name}> in the examples", f"known are {', '.join(row or {})}"
            )
        if line.doc is not None:
            text = f'{text.rstrip(":")} "{_escaped(fill_example(line.doc, row))}"'
        try:
            meaning = step_phrases.parse_phrase(text)
        except step_phrases.PhraseNotUnderstood as exc:
            self._problem(line.place, f"{excerpt(text)!r}: {exc.message}", exc.fix)
            return
        match meaning:
            case step_phrases.ParsedAction(action, element, region, value):
                if action == "navigate" and line.keyword == "Given" and not draft.steps and draft.url is None:
                    draft.url = LocatedText(value or "", line.place)
                else:
                    draft.steps.append(_step(line.place, action, element, region, value))
            case step_phrases.ParsedOutcome(outcomes):
                _expect(draft, line.place, outcomes)
            case step_phrases.ParsedPage(where):
                self._be_on(draft, line, where)
            case step_phrases.ParsedSignIn(task):
                draft.login = LocatedText(task, line.place)
            case step_phrases.ParsedFieldTable(region):
                self._fields(draft, line, region, row)

    def _be_on(self, draft: RequirementDraft, line: _GherkinLine, where: str) -> None:
        address = where.startswith("/") or "://" in where
        if address and line.keyword == "Given" and not draft.steps:
            draft.url = LocatedText(where, line.place)
        else:
            _expect(
                draft,
                line.place,
                (ExpectedOutcome(kind="navigates_to", said=f"navigates_to:{where}", value=where),),
            )

    def _fields(
        self, draft: RequirementDraft, line: _GherkinLine, region: str | None, row: Mapping[str, str] | None
    ) -> None:
        if not line.table:
            self._problem(
                line.place,
                "no fields to fill",
                'put a table of fields and values under it, or write `I fill "Name" with "Ada"`',
            )
        for place, cells in line.table:
            if len(cells) != 2:
                self._problem(place, f"expected two cells, found {len(cells)}", "write | Field | value |")
                continue
            element, value = (fill_example(cell, row) for cell in cells)
            draft.steps.append(_step(place, "fill", element, region, value))

    def _problem(self, place: SourceLocation, message: str, fix: str) -> None:
        self._found.problems.append(RequirementProblem(place, message, fix))


def _step(
    place: SourceLocation, action: str, element: str | None, region: str | None, value: str | None
) -> StepDraft:
    return StepDraft(
        place=place,
        element=LocatedText(quote_name(element), place) if element else None,
        region=LocatedText(region, place) if region else None,
        action=LocatedText(action, place),
        value=LocatedText(value, place) if value is not None else None,
        exact=value is not None,
    )


def _expect(draft: RequirementDraft, place: SourceLocation, outcomes: tuple[ExpectedOutcome, ...]) -> None:
    """Add an outcome to the action before it; without an action it becomes a step that only checks."""
    if draft.steps:
        draft.steps[-1] = draft.steps[-1].expecting(*outcomes)
    else:
        draft.steps.append(StepDraft(place=place, outcomes=outcomes))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _is_key(tag: str) -> bool:
    name, colon, _ = tag.partition(":")
    return bool(colon) and name.lower() in _TAG_KEYS
