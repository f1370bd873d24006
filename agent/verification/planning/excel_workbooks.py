"""Reads Excel workbooks: every sheet is a table, cells are read as shown, problems name sheet and cell.

Formulas count with the values saved in the file. Sizes are limited before anything is loaded.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openpyxl import load_workbook
from openpyxl.utils import get_column_letter, range_boundaries
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.worksheet._read_only import ReadOnlyWorksheet
from openpyxl.xml.functions import iterparse

from agent.verification.planning.cell_formats import render_cell
from agent.verification.planning.requirement_drafts import LocatedText
from agent.verification.planning.requirement_problems import RequirementProblem
from agent.verification.planning.requirement_tables import (
    MOST_COLUMNS,
    MOST_ROWS,
    RequirementRow,
    TableDrafts,
    read_table,
)
from kb_schema.excerpts import excerpt
from kb_schema.verification import SourceLocation

FARTHEST_ROW = 50_000
"""Rows beyond this are not read, even if the rows above are empty."""
MOST_BYTES = 64_000_000
"""Limit for the unpacked size of everything in the file."""
MOST_MERGED = 100_000
"""Cells of merged ranges in one sheet."""
_Place = tuple[int, int]
"""Row and column, from 1."""
_OLD_FORMAT = bytes.fromhex("d0cf11e0a1b11ae1")
"""How an encrypted workbook and an .xls file begin."""
_UNREADABLE = (
    InvalidFileException,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    SyntaxError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    ArithmeticError,
    AssertionError,
    OSError,
    EOFError,
    RuntimeError,
)
"""Errors that openpyxl raises on broken files."""
_DEFAULT_SHEETS = ("sheet", "sheet1", "requirements", "table1", "tabelle1", "feuil1", "hoja1")


def read_workbook(path: Path, *, file: str, fallback_id: str) -> TableDrafts:
    """Return the drafts of all sheets of a workbook."""
    place = SourceLocation(file=file)
    try:
        refused = _refused(path)
        if refused:
            return TableDrafts(problems=[RequirementProblem(place, *refused)])
        extents = _extents(path)
        too_long = [name for name, extent in extents.items() if not extent.readable]
        if too_long:
            what = f"more than {MOST_ROWS:,} rows or {MOST_COLUMNS} columns, or a row below {FARTHEST_ROW:,}"
            fix = "split it, or delete what is no requirement"
            return TableDrafts(
                problems=[
                    RequirementProblem(SourceLocation(file=file, sheet=name), what, fix) for name in too_long
                ]
            )
        sheets = list(_sheet_rows(path, file, extents))
    except _UNREADABLE as exc:
        return TableDrafts(
            problems=[
                RequirementProblem(
                    place,
                    f"the workbook cannot be read: {_short(exc)}",
                    "open it in a spreadsheet program and save it again",
                )
            ]
        )
    return _read_tables(sheets, path, file, fallback_id)


@dataclass(slots=True)
class _SheetRows:
    """The rows of a sheet with content."""

    place: SourceLocation
    title: str
    rows: list[RequirementRow]
    problems: list[RequirementProblem]


def _sheet_rows(path: Path, file: str, extents: Mapping[str, _Extent]) -> Iterator[_SheetRows]:
    """Yield the visible sheets, read row by row. Raises what openpyxl raises."""
    with (
        closing(load_workbook(path, data_only=True, read_only=True)) as values,
        closing(load_workbook(path, read_only=True)) as formulas,
    ):
        for sheet in values.worksheets:
            if sheet.sheet_state != "visible":
                continue
            place = SourceLocation(file=file, sheet=sheet.title)
            found = _SheetRows(place, sheet.title, [], [])
            twin, extent = formulas[sheet.title], extents[sheet.title]
            for each in (sheet, twin):
                each.reset_dimensions()
            merged = _merged(path, sheet) if extent.filled else {}
            found.rows += _rows(sheet, twin, extent, merged, place, found.problems)
            yield found


def _read_tables(sheets: list[_SheetRows], path: Path, file: str, fallback_id: str) -> TableDrafts:
    whole = TableDrafts()
    nearly: list[RequirementProblem] = []
    for sheet in sheets:
        alone = len(sheets) == 1 or sheet.title.strip().lower() in _DEFAULT_SHEETS
        found = read_table(
            sheet.rows,
            place=sheet.place,
            fallback_id=fallback_id if alone else sheet.title,
            title="" if alone else sheet.title,
            folder=path.parent,
        )
        if found.is_table:
            whole.is_table = True
            whole.drafts += found.drafts
            whole.problems += [*sheet.problems, *found.problems]
        else:
            nearly += found.problems
    whole.problems += nearly
    if not whole.is_table and not whole.problems:
        whole.problems.append(
            RequirementProblem(
                SourceLocation(file=file),
                "no sheet has a header row with steps below it",
                "begin a sheet with Element@Region | Action | Value | Expected Outcome",
            )
        )
    return whole


def _refused(path: Path) -> tuple[str, str] | None:
    """Return why a file is not opened, and what to do."""
    with path.open("rb") as opened:
        head = opened.read(8)
    if head == _OLD_FORMAT:
        return "encrypted, or in the old .xls format", "save it as .xlsx without a password"
    if not zipfile.is_zipfile(path):
        return "no Excel workbook", "save it as .xlsx, or give it the extension of what it is"
    with zipfile.ZipFile(path) as packed:
        names = packed.namelist()
        if "xl/workbook.xml" not in names and not any(name.startswith("xl/") for name in names):
            return "a zip file, but no Excel workbook", "save it as .xlsx"
        size = sum(info.file_size for info in packed.infolist())
    if size > MOST_BYTES:
        return (
            f"{size / 1e6:,.0f} MB unpacked",
            f"split it into workbooks of at most {MOST_BYTES / 1e6:,.0f} MB",
        )
    return None


@dataclass(frozen=True, slots=True)
class _Extent:
    """The part of a sheet that has content."""

    row: int = 0
    column: int = 0
    filled: int = 0
    """Number of rows with content."""

    @property
    def readable(self) -> bool:
        return self.filled <= MOST_ROWS and self.row <= FARTHEST_ROW and self.column <= MOST_COLUMNS


def _extents(path: Path) -> dict[str, _Extent]:
    """Find the part of each sheet that has content, without loading the sheet. The size a sheet declares is
    ignored.
    """
    found: dict[str, _Extent] = {}
    workbook = load_workbook(path, read_only=True)
    try:
        for sheet in workbook.worksheets:
            extent = _Extent()
            sheet.reset_dimensions()
            for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
                said = [index for index, value in enumerate(row, 1) if value is not None]
                if said:
                    extent = _Extent(number, max(extent.column, said[-1]), extent.filled + 1)
                if not extent.readable:
                    break
            found[sheet.title] = extent
    finally:
        workbook.close()
    return found


def _rows(
    sheet: ReadOnlyWorksheet,
    formulas: ReadOnlyWorksheet,
    extent: _Extent,
    merged: Mapping[_Place, _Place],
    place: SourceLocation,
    problems: list[RequirementProblem],
) -> Iterator[RequirementRow]:
    """Yield the rows with content. A cell of a merged range has the text of the range's first cell."""
    if not extent.filled:
        return
    kept: dict[_Place, LocatedText] = {}
    firsts = set(merged.values())
    rows, twins = (
        each.iter_rows(max_row=extent.row, max_col=extent.column)  # type: ignore[misc] # borrowed from Worksheet
        for each in (sheet, formulas)
    )
    for row, (cells, said_formulas) in enumerate(zip(rows, twins, strict=False), 1):
        said = []
        for column, (cell, formula) in enumerate(zip(cells, said_formulas, strict=True), 1):
            own = (row, column)
            text = kept.get(merged.get(own, own))
            if text is None:
                at = place.model_copy(update={"cell": f"{get_column_letter(column)}{row}"})
                text = LocatedText(_text(cell, formula, at, problems), at)
            if own in firsts:
                kept[own] = text
            said.append(text)
        if any(each.text.strip() for each in said):
            first = next(each.place for each in said if each.text.strip())
            yield RequirementRow(first, tuple(said))


def _merged(path: Path, sheet: ReadOnlyWorksheet) -> dict[_Place, _Place]:
    """Return the cells of merged ranges in their first column, each with the cell that has the value.

    Of each range at most `MOST_ROWS` rows count. Raises `ValueError` for more than `MOST_MERGED` cells.
    """
    found: dict[_Place, _Place] = {}
    # openpyxl does not say the merged ranges of a sheet that it reads row by row.
    name = sheet._worksheet_path  # type: ignore[attr-defined]  # noqa: SLF001
    with zipfile.ZipFile(path) as packed, packed.open(name) as opened:
        for _, element in iterparse(opened, events=("end",)):
            if element.tag.rpartition("}")[2] == "mergeCell":
                left, top, _, bottom = (int(each or 0) for each in range_boundaries(element.get("ref") or ""))
                rows = range(top + 1, min(bottom, top + MOST_ROWS) + 1)
                found.update({(row, left): (top, left) for row in rows})
                if len(found) > MOST_MERGED:
                    raise ValueError(f"more than {MOST_MERGED:,} merged cells in {sheet.title!r}")
            element.clear()
    return found


def _text(cell: Any, formula: Any, place: SourceLocation, problems: list[RequirementProblem]) -> str:
    """Return the text the cell shows. A problem is noted once per cell."""
    value = cell.value
    if value is None:
        if formula.data_type == "f" and not any(each.place == place for each in problems):
            problems.append(
                RequirementProblem(
                    place,
                    "a formula without a saved value",
                    "open the file in a spreadsheet program and save it",
                )
            )
        return ""
    if cell.data_type == "e":
        if not any(each.place == place for each in problems):
            problems.append(RequirementProblem(place, f"the cell shows {value}", "correct the formula"))
        return ""
    text = render_cell(value, cell.number_format)
    if text is None:
        problems.append(
            RequirementProblem(
                place,
                f"the number format {excerpt(cell.number_format)!r} is not understood",
                "format the cell as text",
            )
        )
        return str(value)
    return text


def _short(exc: BaseException) -> str:
    return excerpt(str(exc) or type(exc).__name__)
