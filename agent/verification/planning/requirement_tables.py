"""Turns rows of cells into drafts; used for sheets, CSV files and the pipe format.

A table has a header row that names its columns (PACTS 8.1). It may have a header block of keys above it
(`URL | https://...`), and columns for the requirement itself (`Req ID`, `URL`, ...), where an empty cell
means the same as the cell above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.verification.planning.case_sentences import read_case_row
from agent.verification.planning.example_rows import EXAMPLES, ExampleRows
from agent.verification.planning.requirement_composer import (
    ACTIONS,
    is_misspelt_action,
    unknown_action_problem,
)
from agent.verification.planning.requirement_drafts import (
    LocatedText,
    RequirementDraft,
    StepDraft,
    parse_heading,
    slug,
)
from agent.verification.planning.requirement_problems import RequirementProblem
from agent.verification.planning.table_columns import (
    IGNORED,
    REQUIREMENT_KEYS,
    STEP_COLUMNS,
    column_meant,
    column_named,
    is_case_header,
)
from kb_schema.action_types import canonical
from kb_schema.excerpts import excerpt
from kb_schema.verification import SourceLocation

MOST_ROWS = 10_000
"""Maximum number of rows read per table."""
MOST_COLUMNS = 200
PLAIN = ("element", "action", "value", "expected")
"""The columns of rows without a header (PACTS 4.1)."""


@dataclass(frozen=True, slots=True)
class RequirementRow:
    """One row: its cells with their places, left to right."""

    place: SourceLocation
    cells: tuple[LocatedText, ...]
    heading: bool = False
    """A heading line of a text: it begins a requirement."""

    @property
    def filled(self) -> list[LocatedText]:
        """The cells that are not empty."""
        return [cell for cell in self.cells if cell.text.strip()]

    def text(self, index: int) -> str:
        """Return the text of the cell at this index, without surrounding space."""
        return self.cells[index].text.strip() if index < len(self.cells) else ""


@dataclass(slots=True)
class TableDrafts:
    """The result of reading a table."""

    drafts: list[RequirementDraft] = field(default_factory=list)
    problems: list[RequirementProblem] = field(default_factory=list)
    is_table: bool = False
    """Whether it has a header or a step at all; a sheet of notes has neither."""


def read_table(
    rows: Iterable[RequirementRow],
    *,
    place: SourceLocation,
    fallback_id: str,
    title: str = "",
    folder: Path | None,
    colons: bool = False,
    notes: bool = True,
) -> TableDrafts:
    """Return the drafts of a table at `place`. With `colons`, keys end with a colon.

    With `notes`, rows above the header that cannot be steps are ignored; otherwise they are problems.
    """
    reader = _TableReader(place, fallback_id, title, folder, colons=colons, notes=notes)
    for row in rows:
        reader.read(row)
    return reader.finish()


class _TableReader:
    """Reads row by row; the rows before decide what a row is."""

    def __init__(
        self,
        place: SourceLocation,
        fallback_id: str,
        title: str,
        folder: Path | None,
        *,
        colons: bool,
        notes: bool,
    ) -> None:
        self._place, self._fallback, self._title, self._folder = place, fallback_id, title, folder
        self._colons, self._notes = colons, notes
        self._found = TableDrafts()
        self._columns: dict[int, str] | None = None
        self._block: dict[str, LocatedText] = {}
        """Keys of the header block of the current requirement."""
        self._defaults: dict[str, LocatedText] = {}
        """Keys that stood above the first requirement, or under a heading without steps."""
        self._in_block = True
        self._above: dict[str, LocatedText] = {}
        self._draft: RequirementDraft | None = None
        self._examples: ExampleRows | None = None
        """The examples whose rows are read now."""
        self._expanded: list[ExampleRows] = []
        self._unread: list[RequirementRow] = []
        """The rows above the header or the first step."""

    def read(self, row: RequirementRow) -> None:
        """Read one row."""
        if row.heading:
            self._begin(row)
        elif not row.filled:
            return
        elif self._is_header(row):
            self._examples = None
            self._take_header(row)
        elif self._begins_examples(row) and self._draft is not None:
            self._examples = ExampleRows(self._draft, row.place)
            self._expanded.append(self._examples)
        elif self._examples is not None and (not self._examples.names or not self._begins_other(row)):
            self._examples.read(row.place, row.cells)
        elif self._key_of(row):
            self._examples = None
            self._take_key(row)
        elif self._columns is not None:
            self._take_step(row)
        elif canonical(_word(row.text(1))) in ACTIONS or self._only_looks(row):
            self._report_unread(above_header=False)
            self._columns = dict(enumerate(PLAIN))
            self._take_step(row)
        else:
            self._unread.append(row)

    def finish(self) -> TableDrafts:
        """Return everything that was found."""
        if self._columns is None and not self._report_misspelt_header(self._unread):
            self._report_unread(above_header=self._notes)
        for each in self._expanded:
            at = next(n for n, draft in enumerate(self._found.drafts) if draft is each.draft)
            self._found.drafts[at : at + 1] = each.expand(self._found.problems)
        return self._found

    # -- what a row is -----------------------------------------------------------------------------

    def _only_looks(self, row: RequirementRow) -> bool:
        """Return whether a row of the pipe format is a step without an action: it only expects an outcome."""
        return self._colons and not row.text(1).strip() and bool(row.text(3).strip())

    def _begins_examples(self, row: RequirementRow) -> bool:
        filled = row.filled
        return len(filled) == 1 and filled[0].text.strip().rstrip(":").casefold() == EXAMPLES

    def _begins_other(self, row: RequirementRow) -> bool:
        """Whether a row below examples is a key of the next requirement: its name, a colon or not, and one value."""
        return len(row.filled) <= 2 and self._key_of(row) == "req_id" and bool(row.text(0))

    def _is_header(self, row: RequirementRow) -> bool:
        columns = [column_named(cell.text) for cell in row.cells]
        if is_case_header(columns):
            return True
        return ("element" in columns and "action" in columns) or (
            self._columns is None and "element" in columns and "expected" in columns
        )

    def _key_of(self, row: RequirementRow) -> str | None:
        """Return the key of a row of the header block, otherwise None. An element may be called `Login`,
        too.
        """
        filled = row.filled
        said = filled[0].text.strip()
        key = column_named(said)
        if key not in REQUIREMENT_KEYS:
            return None
        if said.endswith(":"):
            return key
        if self._colons or (len(filled) > 1 and canonical(_word(filled[1].text)) in ACTIONS):
            return None
        if self._columns is None:
            return key
        beside = len(filled) == 2 and row.text(0) and row.text(1)
        return key if beside and (key == "req_id" or self._in_block) else None

    # -- taking rows -------------------------------------------------------------------------------

    def _begin(self, row: RequirementRow) -> None:
        """Read a heading: the requirement above ends here."""
        self._close_block()
        req_id, title = parse_heading(row.cells[0].text)
        place = row.place
        self._block = {"title": LocatedText(title, place)} if title else {}
        self._block["req_id"] = LocatedText(req_id, place) if req_id else LocatedText("", place)
        self._draft, self._above, self._in_block = None, {}, True

    def _close_block(self) -> None:
        """Keys without any step below them apply to all requirements that follow."""
        if self._draft is None:
            kept = {
                key: said for key, said in self._block.items() if key in ("url", "login", "tags", "timeout")
            }
            self._defaults |= kept

    def _take_key(self, row: RequirementRow) -> None:
        key, filled = self._key_of(row) or "", row.filled
        if key == "req_id" and (self._draft is not None or "req_id" in self._block):
            self._close_block()
            self._block, self._draft, self._above = {}, None, {}
        self._in_block = True
        value = filled[1] if len(filled) > 1 else LocatedText("", row.place)
        if len(filled) > 2 and key == "tags":
            value = LocatedText(",".join(each.text for each in filled[1:]), value.place)
        elif len(filled) > 2:
            self._problem(
                filled[2].place, f"a second {key}: {excerpt(filled[2].text)!r}", "delete one of them"
            )
        self._block[key] = value

    def _take_header(self, row: RequirementRow) -> None:
        self._report_unread(above_header=True)
        self._found.is_table, self._in_block = True, False
        self._columns = {}
        for index, cell in enumerate(row.cells):
            text = cell.text.strip()
            column = column_named(text)
            if column is None and text and (meant := column_meant(text)):
                self._problem(cell.place, f"unknown column {excerpt(text)!r}", meant)
            elif column in self._columns.values() and column != IGNORED:
                self._problem(
                    cell.place, f"a second column {column!r}: {excerpt(text)!r}", "delete one of them"
                )
            elif column is not None and column != IGNORED:
                self._columns[index] = column

    def _take_step(self, row: RequirementRow) -> None:
        self._found.is_table = True
        self._in_block = False
        columns = self._columns or {}
        cells = {columns[i]: cell for i, cell in enumerate(row.cells) if i in columns and cell.text.strip()}
        beyond = [
            cell for i, cell in enumerate(row.cells) if i > max(columns, default=0) and cell.text.strip()
        ]
        if beyond and columns == dict(enumerate(PLAIN)):
            self._problem(
                beyond[0].place,
                f"{excerpt(beyond[0].text)!r} stands beyond the last column",
                "quote text that has |",
            )
        draft = self._draft_of(row, cells)
        if "steps" in columns.values():
            read_case_row(draft, cells, self._found.problems)
        elif any(column in cells for column in STEP_COLUMNS):
            draft.steps.append(_step(row, cells))

    def _draft_of(self, row: RequirementRow, cells: Mapping[str, LocatedText]) -> RequirementDraft:
        """Return the requirement of a row: a new one if its Req ID differs."""
        said = cells.get("req_id")
        current = self._draft.req_id if self._draft else None
        if self._draft is None or (said and (current is None or said.text.strip() != current.text.strip())):
            self._above = {}
            self._draft = self._new_draft(row, said)
            self._found.drafts.append(self._draft)
        for key in ("title", "url", "login", "tags"):
            if key in cells:
                self._set(self._draft, key, cells[key])
        return self._draft

    def _new_draft(self, row: RequirementRow, said: LocatedText | None) -> RequirementDraft:
        keys = {**self._defaults, **{key: value for key, value in self._block.items() if value.text.strip()}}
        req_id = said or keys.get("req_id")
        title = keys.get("title") if said is None or "req_id" in self._block else None
        fallback = self._fallback
        if "req_id" in self._block and title is not None:
            fallback = title.text
        elif title is None and self._title:
            title = LocatedText(self._title, self._place)
        return RequirementDraft(
            place=req_id.place if req_id else row.place,
            fallback_id=slug(fallback),
            req_id=req_id,
            title=title,
            url=keys.get("url"),
            login=keys.get("login"),
            tags=(keys["tags"],) if "tags" in keys else (),
            timeout=keys.get("timeout"),
            folder=self._folder,
        )

    def _set(self, draft: RequirementDraft, key: str, said: LocatedText) -> None:
        """Read a column of the requirement itself: it must have the same value in all of its rows, or only
        one.
        """
        known = self._above.get(key)
        if known is None:
            self._above[key] = said
            if key == "tags":
                draft.tags = (*draft.tags, said)
            else:
                setattr(draft, key, said)
        elif known.text.strip() != said.text.strip():
            self._problem(
                said.place,
                f"{excerpt(said.text)!r}, and {excerpt(known.text)!r} above: a requirement has one {key}",
                "begin another requirement with a Req ID of its own, or leave this cell empty",
            )

    def _report_unread(self, *, above_header: bool) -> None:
        """Report the rows so far that are neither a header nor a step. Above a header, notes are ignored."""
        rows, self._unread = self._unread, []
        if not above_header and self._report_misspelt_header(rows):
            return
        for row in rows:
            if is_misspelt_action(row.text(1)) and row.text(0):
                self._found.problems.append(unknown_action_problem(row.cells[1]))
            elif not (self._notes and above_header) and len(row.filled) > 1:
                self._report_row(row)

    def _report_row(self, row: RequirementRow) -> None:
        action = row.cells[1]
        if action.text.strip():
            self._found.problems.append(unknown_action_problem(action))
        else:
            self._problem(
                row.place,
                f"{excerpt(row.filled[0].text)!r} is above the first step, and is neither a header nor a step",
                "begin the table with the header Element | Action | Value | Expected",
            )

    def _report_misspelt_header(self, rows: Sequence[RequirementRow]) -> bool:
        """Report a header with a misspelt column, if there is one."""
        cells = (cell for row in rows for cell in _misspelt_columns(row))
        wrong = next(cells, None)
        if wrong is not None:
            message = f"no header row; {excerpt(wrong.text)!r} is no column"
            self._problem(wrong.place, message, column_meant(wrong.text) or "")
        return wrong is not None

    def _problem(self, place: SourceLocation, message: str, fix: str) -> None:
        self._found.problems.append(RequirementProblem(place, message, fix))


def _step(row: RequirementRow, cells: Mapping[str, LocatedText]) -> StepDraft:
    value = cells.get("value")
    return StepDraft(
        place=row.place,
        element=cells.get("element"),
        region=cells.get("region"),
        action=cells.get("action"),
        value=LocatedText(value.text.strip(), value.place) if value else None,
        timeout=cells.get("timeout"),
        expected=(cells["expected"],) if "expected" in cells else (),
    )


def _misspelt_columns(row: RequirementRow) -> list[LocatedText]:
    """Return the cells of a row that are nearly the names of columns, if the row looks like a header."""
    near = [cell for cell in row.filled if column_named(cell.text) in STEP_COLUMNS or column_meant(cell.text)]
    return [cell for cell in near if column_named(cell.text) is None] if len(near) > 1 else []


def _word(text: str) -> str:
    return re.sub(r"[\s-]+", "_", text.strip().lower())
