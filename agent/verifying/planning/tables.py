"""Rows of cells to drafts: what a sheet, a CSV file and the pipe format have in common.

A table has a header row that names its columns (PACTS 8.1), perhaps a header block of keys above it
(`URL | https://...`), and perhaps columns for the requirement itself (`Req ID`, `URL`, ...), in which an
empty cell is the same as the one above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.verifying.planning.columns import (
    IGNORED,
    REQUIREMENT_KEYS,
    STEP_COLUMNS,
    column_meant,
    column_named,
)
from agent.verifying.planning.composing import ACTIONS
from agent.verifying.planning.drafts import Draft, Said, StepDraft, named, slug
from agent.verifying.planning.problems import Problem
from kb_schema.excerpts import excerpt
from kb_schema.verification import Place
from kb_schema.vocabulary import canonical

MOST_ROWS = 10_000
"""Rows of one table that are read: more are no requirements that people wrote."""
MOST_COLUMNS = 200
PLAIN = ("element", "action", "value", "expected")
"""The columns of rows without a header (PACTS 4.1)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells with their places, left to right."""

    place: Place
    cells: tuple[Said, ...]
    heading: bool = False
    """A heading line of a text: it begins a requirement."""

    @property
    def filled(self) -> list[Said]:
        """The cells that say anything."""
        return [cell for cell in self.cells if cell.text.strip()]

    def text(self, index: int) -> str:
        """What the cell at this index says, without space around it."""
        return self.cells[index].text.strip() if index < len(self.cells) else ""


@dataclass(slots=True)
class Found:
    """What a table came to."""

    drafts: list[Draft] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    is_table: bool = False
    """Whether it has a header or a step at all; a sheet of notes has not."""
    nearly: Said | None = None
    """A cell that is nearly the name of a column, in a table that has no header."""


def read_table(
    rows: Iterable[Row],
    *,
    place: Place,
    fallback_id: str,
    title: str = "",
    folder: Path | None,
    colons: bool = False,
) -> Found:
    """The drafts of a table; `place` is the table's own. `colons`: keys are told by a colon behind them."""
    reader = _TableReader(place, fallback_id, title, folder, colons=colons)
    for row in rows:
        reader.read(row)
    return reader.finish()


class _TableReader:
    """Reads row by row; what a row is, is decided by what came before it."""

    def __init__(
        self, place: Place, fallback_id: str, title: str, folder: Path | None, *, colons: bool
    ) -> None:
        self._place, self._fallback, self._title, self._folder = place, fallback_id, title, folder
        self._colons = colons
        self._found = Found()
        self._columns: dict[int, str] | None = None
        self._block: dict[str, Said] = {}
        """Keys of the header block of the requirement that is being read."""
        self._defaults: dict[str, Said] = {}
        """Keys that stood above the first requirement, or under a heading without steps."""
        self._in_block = True
        self._above: dict[str, Said] = {}
        self._draft: Draft | None = None

    def read(self, row: Row) -> None:
        """Take in one row."""
        if row.heading:
            self._begin(row)
        elif not row.filled:
            return
        elif self._is_header(row):
            self._take_header(row)
        elif self._key_of(row):
            self._take_key(row)
        elif self._columns is not None:
            self._take_step(row)
        elif canonical(_word(row.text(1))) in ACTIONS or self._only_looks(row):
            self._columns = dict(enumerate(PLAIN))
            self._take_step(row)
        else:
            self._not_understood(row)

    def finish(self) -> Found:
        """Everything that was found."""
        if not self._found.is_table and self._found.nearly is not None:
            said = self._found.nearly
            self._found.problems.append(
                Problem(
                    said.place,
                    f"no header row; {excerpt(said.text)!r} is no column",
                    column_meant(said.text) or "",
                )
            )
        return self._found

    # -- what a row is -----------------------------------------------------------------------------

    def _only_looks(self, row: Row) -> bool:
        """Whether a row of the pipe format is a step without an action: it expects something."""
        return self._colons and not row.text(1).strip() and bool(row.text(3).strip())

    def _is_header(self, row: Row) -> bool:
        columns = [column_named(cell.text) for cell in row.cells]
        return ("element" in columns and "action" in columns) or (
            self._columns is None and "element" in columns and "expected" in columns
        )

    def _key_of(self, row: Row) -> str | None:
        """The key of a row of the header block, else None. An element may be called `Login`, too."""
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

    def _begin(self, row: Row) -> None:
        """A heading: the requirement above ends here."""
        self._close_block()
        req_id, title = named(row.cells[0].text)
        place = row.place
        self._block = {"title": Said(title, place)} if title else {}
        self._block["req_id"] = Said(req_id, place) if req_id else Said("", place)
        self._draft, self._above, self._in_block = None, {}, True

    def _close_block(self) -> None:
        """Keys without any step under them are what the requirements below have in common."""
        if self._draft is None:
            kept = {key: said for key, said in self._block.items() if key in ("url", "login", "tags")}
            self._defaults |= kept

    def _take_key(self, row: Row) -> None:
        key, filled = self._key_of(row) or "", row.filled
        if key == "req_id" and (self._draft is not None or "req_id" in self._block):
            self._close_block()
            self._block, self._draft, self._above = {}, None, {}
        self._in_block = True
        value = filled[1] if len(filled) > 1 else Said("", row.place)
        if len(filled) > 2 and key == "tags":
            value = Said(",".join(each.text for each in filled[1:]), value.place)
        elif len(filled) > 2:
            self._problem(
                filled[2].place, f"a second {key}: {excerpt(filled[2].text)!r}", "leave one of them out"
            )
        self._block[key] = value

    def _take_header(self, row: Row) -> None:
        self._found.is_table, self._in_block = True, False
        self._columns = {}
        for index, cell in enumerate(row.cells):
            text = cell.text.strip()
            column = column_named(text)
            if column is None and text and (meant := column_meant(text)):
                self._problem(cell.place, f"unknown column {excerpt(text)!r}", meant)
            elif column in self._columns.values() and column != IGNORED:
                self._problem(
                    cell.place, f"a second column {column!r}: {excerpt(text)!r}", "leave one of them out"
                )
            elif column is not None and column != IGNORED:
                self._columns[index] = column

    def _take_step(self, row: Row) -> None:
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
        if any(column in cells for column in STEP_COLUMNS):
            draft.steps.append(_step(row, cells))

    def _draft_of(self, row: Row, cells: Mapping[str, Said]) -> Draft:
        """The requirement a row belongs to: a new one where its Req ID is another."""
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

    def _new_draft(self, row: Row, said: Said | None) -> Draft:
        keys = {**self._defaults, **{key: value for key, value in self._block.items() if value.text.strip()}}
        req_id = said or keys.get("req_id")
        title = keys.get("title") if said is None or "req_id" in self._block else None
        fallback = self._fallback
        if "req_id" in self._block and title is not None:
            fallback = title.text
        elif title is None and self._title:
            title = Said(self._title, self._place)
        return Draft(
            place=req_id.place if req_id else row.place,
            fallback_id=slug(fallback),
            req_id=req_id,
            title=title,
            url=keys.get("url"),
            login=keys.get("login"),
            tags=(keys["tags"],) if "tags" in keys else (),
            folder=self._folder,
        )

    def _set(self, draft: Draft, key: str, said: Said) -> None:
        """A column of the requirement itself: said once, or the same in all of its rows."""
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

    def _not_understood(self, row: Row) -> None:
        """Text above the header is let be, unless it may have been meant as one."""
        near = [
            cell for cell in row.filled if column_named(cell.text) in STEP_COLUMNS or column_meant(cell.text)
        ]
        if len(near) >= 2 and self._found.nearly is None:
            wrong = [cell for cell in near if column_named(cell.text) is None]
            self._found.nearly = wrong[0] if wrong else None

    def _problem(self, place: Place, message: str, fix: str) -> None:
        self._found.problems.append(Problem(place, message, fix))


def _step(row: Row, cells: Mapping[str, Said]) -> StepDraft:
    value = cells.get("value")
    return StepDraft(
        place=row.place,
        element=cells.get("element"),
        region=cells.get("region"),
        action=cells.get("action"),
        value=Said(value.text.strip(), value.place) if value else None,
        expected=(cells["expected"],) if "expected" in cells else (),
    )


def _word(text: str) -> str:
    return re.sub(r"[\s-]+", "_", text.strip().lower())
