"""Excel workbooks: every sheet a table, cells as they are shown, problems by sheet and cell.

Formulas count by the values that were saved with them. Sizes are bounded before anything is held.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openpyxl import load_workbook
from openpyxl.utils import get_column_letter
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.workbook.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from agent.verifying.planning.displays import shown
from agent.verifying.planning.drafts import Said
from agent.verifying.planning.problems import Problem
from agent.verifying.planning.tables import MOST_COLUMNS, MOST_ROWS, Found, Row, read_table
from kb_schema.excerpts import excerpt
from kb_schema.verification import Place

FARTHEST_ROW = 50_000
"""Beyond it nothing is read, however empty the rows above are."""
MOST_BYTES = 64_000_000
"""Of everything in the file, unpacked."""
_OLD_FORMAT = bytes.fromhex("d0cf11e0a1b11ae1")
"""How an encrypted workbook begins, and an .xls."""
_UNREADABLE = (
    InvalidFileException, zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, SyntaxError, KeyError,
    ValueError, TypeError, AttributeError, IndexError, ArithmeticError, AssertionError, OSError, EOFError, RuntimeError,
)  # fmt: skip
"""What openpyxl raises on files that are broken in one way or another."""
_DEFAULT_SHEETS = ("sheet", "sheet1", "requirements", "table1", "tabelle1", "feuil1", "hoja1")


def read_workbook(path: Path, *, file: str, fallback_id: str) -> Found:
    """The drafts of all sheets of a workbook."""
    place = Place(file=file)
    try:
        refused = _refused(path)
        if refused:
            return Found(problems=[Problem(place, *refused)])
        extents = _extents(path)
        too_long = [name for name, extent in extents.items() if not extent.readable]
        if too_long:
            what = f"more than {MOST_ROWS:,} rows or {MOST_COLUMNS} columns, or a row below {FARTHEST_ROW:,}"
            fix = "split it, or delete what is no requirement"
            return Found(problems=[Problem(Place(file=file, sheet=name), what, fix) for name in too_long])
        values, formulas = load_workbook(path, data_only=True), load_workbook(path)
    except _UNREADABLE as exc:
        return Found(
            problems=[
                Problem(place, f"no workbook that can be read: {_short(exc)}", "open it and save it again")
            ]
        )
    return _read_sheets(values, formulas, extents, path, file, fallback_id)


def _read_sheets(
    values: Workbook,
    formulas: Workbook,
    extents: Mapping[str, _Extent],
    path: Path,
    file: str,
    fallback_id: str,
) -> Found:
    whole = Found()
    nearly: list[Problem] = []
    sheets = [sheet for sheet in values.worksheets if sheet.sheet_state == "visible"]
    for sheet in sheets:
        place = Place(file=file, sheet=sheet.title)
        alone = len(sheets) == 1 or sheet.title.strip().lower() in _DEFAULT_SHEETS
        problems: list[Problem] = []
        rows = _rows(sheet, formulas[sheet.title], extents[sheet.title], place, problems)
        found = read_table(
            rows,
            place=place,
            fallback_id=fallback_id if alone else sheet.title,
            title="" if alone else sheet.title,
            folder=path.parent,
        )
        if found.is_table:
            whole.is_table = True
            whole.drafts += found.drafts
            whole.problems += [*problems, *found.problems]
        else:
            nearly += found.problems
    whole.problems += nearly
    if not whole.is_table and not whole.problems:
        whole.problems.append(
            Problem(
                Place(file=file),
                "no sheet has a header row with steps under it",
                "begin a sheet with Element@Region | Action | Value | Expected Outcome",
            )
        )
    return whole


def _refused(path: Path) -> tuple[str, str] | None:
    """Why a file is not even opened, and what to do."""
    with path.open("rb") as opened:
        head = opened.read(8)
    if head == _OLD_FORMAT:
        return "encrypted, or in the old .xls format", "save it as .xlsx without a password"
    if not zipfile.is_zipfile(path):
        return "no Excel workbook", "save it as .xlsx, or give it the extension of what it is"
    with zipfile.ZipFile(path) as packed:
        names = packed.namelist()
        if "xl/workbook.xml" not in names and not any(name.startswith("xl/") for name in names):
            return "no Excel workbook, though it is a zip file", "save it as .xlsx"
        size = sum(info.file_size for info in packed.infolist())
    if size > MOST_BYTES:
        return (
            f"{size / 1e6:,.0f} MB unpacked",
            f"split it into workbooks of at most {MOST_BYTES / 1e6:,.0f} MB",
        )
    return None


@dataclass(frozen=True, slots=True)
class _Extent:
    """How far a sheet says anything."""

    row: int = 0
    column: int = 0
    filled: int = 0
    """Rows that say anything."""

    @property
    def readable(self) -> bool:
        return self.filled <= MOST_ROWS and self.row <= FARTHEST_ROW and self.column <= MOST_COLUMNS


def _extents(path: Path) -> dict[str, _Extent]:
    """How far each sheet says anything, whatever it claims; found without holding it."""
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
    sheet: Worksheet, formulas: Worksheet, extent: _Extent, place: Place, problems: list[Problem]
) -> Iterator[Row]:
    merged = _merged(sheet)
    if not extent.filled:
        return
    for cells in sheet.iter_rows(max_row=extent.row, max_col=extent.column):
        said = []
        for cell in cells:
            own = (int(cell.row or 1), int(cell.column or 1))
            row, column = merged.get(own, own)
            name = f"{get_column_letter(column)}{row}"
            at = place.model_copy(update={"cell": name})
            said.append(Said(_text(sheet.cell(row, column), formulas.cell(row, column), at, problems), at))
        if any(each.text.strip() for each in said):
            first = next(each.place for each in said if each.text.strip())
            yield Row(first, tuple(said))


def _merged(sheet: Worksheet) -> dict[tuple[int, int], tuple[int, int]]:
    """Cells of merged ranges in their first column, each with the cell that has the value."""
    return {
        (row, span.min_col): (span.min_row, span.min_col)
        for span in sheet.merged_cells.ranges
        for row in range(span.min_row + 1, min(span.max_row, span.min_row + MOST_ROWS) + 1)
    }


def _text(cell: Any, formula: Any, place: Place, problems: list[Problem]) -> str:
    """What the cell shows. Problems are noted once per cell."""
    value = cell.value
    if value is None:
        if formula.data_type == "f" and not any(each.place == place for each in problems):
            problems.append(
                Problem(
                    place,
                    "a formula without a saved value",
                    "open the file in a spreadsheet and save it there",
                )
            )
        return ""
    if cell.data_type == "e":
        if not any(each.place == place for each in problems):
            problems.append(Problem(place, f"the cell says {value}", "correct the formula"))
        return ""
    text = shown(value, cell.number_format)
    if text is None:
        problems.append(
            Problem(
                place,
                f"the number format {excerpt(cell.number_format)!r} is not understood",
                "format the cell as text",
            )
        )
        return str(value)
    return text


def _short(exc: BaseException) -> str:
    return excerpt(str(exc) or type(exc).__name__)
