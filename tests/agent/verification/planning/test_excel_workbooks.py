# ruff: noqa: DTZ001 - a spreadsheet knows no time zones
"""Excel workbooks as people make them: cells as they are shown, sheets, merged cells, broken files."""

from __future__ import annotations

import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from agent.verification.planning import RequirementsInvalid, read_requirements
from agent.verification.planning.cell_formats import render_cell

HEADER = ("Element@Region", "Action", "Value", "Expected Outcome")


def save(path: Path, sheets: dict[str, list[tuple[object, ...]]]) -> Workbook:
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return book


async def told(path: Path) -> list[str]:
    with pytest.raises(RequirementsInvalid) as raised:
        await read_requirements([path])
    assert all(each.fix for each in raised.value.problems)
    return [f"{each.place}: {each.message}".removeprefix(str(path)) for each in raised.value.problems]


async def test_sheets_are_requirements_with_header_blocks_and_notes_are_let_be(tmp_path):
    path = tmp_path / "a.xlsx"
    save(path, {
        "Read me": [("These are the requirements of the shop",), ("ask", "Ada")],
        "sign in": [("URL", "/login"), ("Login:", None), (), HEADER, ("Save", "click", None, "visible")],
        "other": [("Req ID", "B-2"), ("URL:", "/b"), ("Title", "Second"), ("Tags", "x; y"), HEADER, ("Save", "click")],
    })  # fmt: skip
    one, two = await read_requirements([path])
    assert (one.req_id, one.title, one.url, one.login) == ("sign_in", "sign in", "/login", None)
    assert (two.req_id, two.title, two.url, two.tags) == ("B-2", "Second", "/b", ("x", "y"))
    assert str(one.steps[0].place) == f"{path}, sheet 'sign in', cell A5"


async def test_one_sheet_is_named_after_the_file_and_may_hold_several_requirements(tmp_path):
    path = tmp_path / "shop.xlsx"
    save(path, {"Sheet1": [("URL", "/a"), HEADER, ("Save", "click")]})
    assert [each.req_id for each in await read_requirements([path])] == ["shop"]
    rows = [("Req ID", "URL", *HEADER), ("A-1", "/a", "Save", "click"), (None, None, "Edit", "click"), (),
            ("A-2", "/b", "Save", "click")]  # fmt: skip
    save(path, {"Sheet1": rows})
    assert [(each.req_id, len(each.steps)) for each in await read_requirements([path])] == [
        ("A-1", 2),
        ("A-2", 1),
    ]


async def test_values_are_the_text_that_is_shown(tmp_path):
    path = tmp_path / "a.xlsx"
    values = [(7, "General"), (7.0, "General"), (0.5, "0%"), (1234.5, "#,##0.00"), (7, "000"), (True, "General"),
              (date(2030, 12, 31), "mm/dd/yyyy"), (datetime(2030, 1, 2, 15, 4), 'd" of "mmmm yyyy, h:mm AM/PM'),
              ("007", "General"), (3, '"EUR "0.00')]  # fmt: skip
    book = save(path, {"a": [("URL", "/"), HEADER, *(("Field", "fill", value) for value, _ in values)]})
    for number, (_, number_format) in enumerate(values, 3):
        book["a"].cell(number, 3).number_format = number_format
    book.save(path)
    (found,) = await read_requirements([path])
    assert [each.value for each in found.steps] == [
        "7", "7", "50%", "1,234.50", "007", "TRUE", "12/31/2030", "2 of January 2030, 3:04 PM", "007", "EUR 3.00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "number_format", "expected"),
    [
        (date(2030, 1, 2), "mm-dd-yy", "1/2/2030"),
        (date(2030, 1, 2), "[$-409]dddd, d mmm yy", "Wednesday, 2 Jan 30"),
        (time(9, 5), "hh:mm", "09:05"),
        (datetime(2030, 1, 2, 0, 5, 7), "h:mm:ss a/p", "12:05:07 A"),
        (datetime(2030, 1, 2, 9, 5, 7), "mm:ss", "05:07"),
        (timedelta(hours=30), "[h]:mm", None),
        (date(2030, 1, 2), "[DBNum1]yyyy", None),
        (-3, "0.0", "-3.0"),
        (-3, "0.0;(0.0)", "(3.0)"),
        (0, '0;-0;"none"', None),
        (2.5, "0.0##", "2.5"),
        (0.125, "0.0%", "12.5%"),
        (1e20, "General", "1E+20"),
        (123456789012345.0, "General", "123456789012345"),
        (0.00001, "General", "0.00001"),
        (0.1 + 0.2, "General", "0.3"),
        (5, "# ?/?", None),
        (5, "0.0E+00", None),
        (5, "$#,##0", "$5"),
        (5, "#,##0 [$€-407]", "5 €"),
    ],
)  # fmt: skip
def test_number_formats_are_understood_whole_or_not_at_all(value, number_format, expected):
    assert render_cell(value, number_format) == expected


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=12))
def test_any_number_in_any_format_is_a_text_or_not_understood(value, number_format):
    assert isinstance(render_cell(value, number_format), str | None)


@given(st.datetimes(), st.text(alphabet='ymdhs:/-., "[]\\_*AP;0#', max_size=12))
def test_any_moment_in_any_format_is_a_text_or_not_understood(value, number_format):
    assert isinstance(render_cell(value, number_format), str | None)


async def test_merged_cells_say_their_value_in_every_row(tmp_path):
    path = tmp_path / "a.xlsx"
    rows = [("Req ID", "URL", "Element", "Region", "Action", "Value"), ("A-1", "/a", "Name", "Form", "fill", "x"),
            (None, None, None, None, "press", "Enter"), ("A-2", "/b", "Save", None, "click")]  # fmt: skip
    book = save(path, {"a": rows})
    for span in ("A2:A3", "B2:B3", "C2:C3", "D2:D3"):
        book["a"].merge_cells(span)
    book.save(path)
    one, two = await read_requirements([path])
    assert [each.intent for each in one.steps] == ["Name@Form", "Name@Form"]
    assert (two.req_id, two.url) == ("A-2", "/b")


async def test_bad_cells_are_named_by_sheet_and_cell(tmp_path):
    path = tmp_path / "a.xlsx"
    book = save(path, {
        "one": [("URL", "/"), HEADER, ("Save", "clik", None, "visble"), ("Name", "fill", "=1+1"), ("Name", "fill", 5)],
        "two": [HEADER, ("Save", "click")],
    })  # fmt: skip
    book["one"]["C5"].number_format = "# ?/?"
    book.save(path)
    assert await told(path) == [
        ", sheet 'one', cell B3: unknown action 'clik'",
        ", sheet 'one', cell D3: unknown expected outcome 'visble'",
        ", sheet 'one', cell C4: a formula without a saved value",
        ", sheet 'one', cell A4: fill needs a value",
        ", sheet 'one', cell C5: the number format '# ?/?' is not understood",
        ", sheet 'two', cell A2: it has no URL to begin at",
    ]


async def test_formulas_count_by_their_saved_values_and_errors_are_told(tmp_path):
    path, saved = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    save(path, {"a": [("URL", "/"), HEADER, ("Name", "fill", "=1+1"), ("Name", "fill", "=1/0")]})
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(saved, "w") as new:
        for name in old.namelist():
            data = old.read(name).decode()
            if name.endswith("sheet1.xml"):
                data = data.replace("<f>1+1</f><v></v>", "<f>1+1</f><v>2</v>").replace(
                    "<f>1+1</f><v />", "<f>1+1</f><v>2</v>"
                )
            new.writestr(name, data)
    messages = await told(saved)
    assert messages == [
        ", sheet 'a', cell C4: a formula without a saved value",
        ", sheet 'a', cell A4: fill needs a value",
    ]
    book = save(path, {"a": [("URL", "/"), HEADER, ("Name", "fill", "x")]})
    book["a"]["C3"].value, book["a"]["C3"].data_type = "#DIV/0!", "e"
    book.save(path)
    assert (await told(path))[0] == ", sheet 'a', cell C3: the cell shows #DIV/0!"


async def test_broken_encrypted_and_mistaken_workbooks_are_told(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"EncryptedPackage")
    assert await told(path) == [": encrypted, or in the old .xls format"]
    path.write_bytes(b"Element,Action\n")
    assert await told(path) == [": no Excel workbook"]
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("word/document.xml", "<x/>")
    assert await told(path) == [": a zip file, but no Excel workbook"]
    save(path, {"a": [HEADER]})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert await told(path) == [": no Excel workbook"]
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("xl/workbook.xml", "<not xml")
        packed.writestr("[Content_Types].xml", "<x/>")
    assert "the workbook cannot be read" in (await told(path))[0]
    save(path, {"a": [("one", "two")]})
    assert await told(path) == [": no sheet has a header row with steps below it"]
    save(path, {"a": [("Elemnt", "Acton", "Value"), ("Save", "clck")]})
    assert await told(path) == [", sheet 'a', cell A1: no header row; 'Elemnt' is no column"]


async def test_a_hundred_thousand_rows_are_refused_before_they_are_held(tmp_path):
    path, long = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    save(path, {"long": [HEADER]})
    cells = '<c t="inlineStr"><is><t>Save</t></is></c><c t="inlineStr"><is><t>click</t></is></c>'
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(long, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            rows = (
                "".join(f"<row>{cells}</row>" for _ in range(100_000)) if name.endswith("sheet1.xml") else ""
            )
            new.writestr(name, old.read(name).decode().replace("</sheetData>", rows + "</sheetData>"))
    assert await told(long) == [", sheet 'long': more than 10,000 rows or 200 columns, or a row below 50,000"]


async def test_empty_rows_and_hidden_sheets_are_no_requirements(tmp_path):
    path = tmp_path / "a.xlsx"
    book = save(path, {
        "a": [(), (), ("see", "URL", "/"), HEADER, (), ("Save", "click"), (" ", None)],
        "old": [HEADER, ("Save", "clik")],
    })  # fmt: skip
    book["old"].sheet_state = "hidden"
    book["a"].cell(1_000_000, 3).number_format = "0.00"
    book.save(path)
    with pytest.raises(RequirementsInvalid, match="no URL"):
        await read_requirements([path])
    (found,) = await read_requirements([path], default_url="/x")
    assert len(found.steps) == 1


async def test_a_row_at_the_end_of_the_sheet_is_not_walked_to(tmp_path):
    path = tmp_path / "a.xlsx"
    book = save(path, {"a": [("URL", "/"), HEADER, ("Save", "click")]})
    book["a"].cell(1_048_576, 1).value = "x"
    book.save(path)
    assert await told(path) == [", sheet 'a': more than 10,000 rows or 200 columns, or a row below 50,000"]
