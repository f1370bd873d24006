"""Makes small files that expand when they are read, one function each. `write_all` writes them into a folder.

Each is read by the command beside it. The files are made here and are in no repository.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

Maker = Callable[[], bytes]
FILES: dict[str, tuple[Maker, tuple[str, ...]]] = {}
"""File name -> what makes it, and the command that reads it (`FILE` and `OUT` are replaced)."""

RECORDING = ("import", "FILE", "--out", "OUT")
KNOWLEDGE = ("kb", "import", "FILE", "--website", "shop", "--out", "OUT")
REQUIREMENTS = ("verify", "FILE", "--base-url", "http://127.0.0.1:9", "--out", "OUT")
DOUBLINGS = 40


def hostile(name: str, *command: str) -> Callable[[Maker], Maker]:
    """Register a file."""

    def register(maker: Maker) -> Maker:
        FILES[name] = (maker, command)
        return maker

    return register


@hostile("laughs.side", *RECORDING)
def _selenium_variables_that_double() -> bytes:
    texts = ["x" * 60, *(f"${{a{number - 1}}}" * 2 for number in range(1, DOUBLINGS))]
    commands = [
        {"id": f"{number}", "command": "store", "target": text, "value": f"a{number}"}
        for number, text in enumerate(texts)
    ]
    commands.append({"id": "end", "command": "type", "target": "id=a", "value": f"${{a{DOUBLINGS - 1}}}"})
    tests = [{"id": "i", "name": "laughs", "commands": commands}]
    return json.dumps({"id": "p", "name": "laughs", "url": "https://a.example", "tests": tests}).encode()


def _doubled_python() -> Iterator[str]:
    yield 'A0 = "https://shop.example/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"'
    for number in range(1, DOUBLINGS):
        yield f"A{number} = A{number - 1} + A{number - 1}"
    yield f"def test_it(page):\n    page.goto(A{DOUBLINGS - 1})\n    page.get_by_label('x').fill(A{DOUBLINGS - 1})"


@hostile("doubled.py", *KNOWLEDGE)
def _python_constants_that_double() -> bytes:
    return "\n".join(_doubled_python()).encode()


@hostile("product.py", *KNOWLEDGE)
def _python_text_times_a_number() -> bytes:
    return b"A = 'https://shop.example/' * 9999999999\ndef test_it(page):\n    page.goto(A)\n"


@hostile("calls.py", *KNOWLEDGE)
def _python_helpers_that_call_each_other_twice() -> bytes:
    helpers = [
        f"    def m{number}(self):\n        self.m{number + 1}()\n        self.m{number + 1}()\n"
        for number in range(DOUBLINGS)
    ]
    end = f"    def m{DOUBLINGS}(self):\n        self.page.get_by_label('x').click()\n"
    head = "class ShopPage:\n    def __init__(self, page):\n        self.page = page\n"
    return (head + "".join(helpers) + end + "def test_it(page):\n    ShopPage(page).m0()\n").encode()


@hostile("doubled.spec.ts", *KNOWLEDGE)
def _typescript_constants_that_double() -> bytes:
    lines = ["const a0 = 'https://shop.example/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';"]
    lines += [f"const a{n} = `${{a{n - 1}}}${{a{n - 1}}}`;" for n in range(1, DOUBLINGS)]
    lines.append(f"test('it', async ({{ page }}) => {{ await page.goto(a{DOUBLINGS - 1}); }});")
    return "\n".join(lines).encode()


@hostile("deep.spec.ts", *KNOWLEDGE)
def _typescript_that_nests() -> bytes:
    return b"test('it', async ({ page }) => { await page.goto(" + b"(" * 20_000 + b"); });"


@hostile("long.json.gz", *RECORDING)
def _packed_json_with_many_values() -> bytes:
    return gzip.compress(b'{"title": "x", "steps": [' + b"{}," * 60_000_000 + b"{}]}", compresslevel=9)


@hostile("deep.json", *RECORDING)
def _json_that_nests() -> bytes:
    return b'{"title": "x", "steps": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"


@hostile("huge.zip", *RECORDING)
def _trace_archive_with_one_huge_member() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("trace.trace", b'{"type": "before", "callId": "a"}\n' * 12_000_000)
    return held.getvalue()


@hostile("laughs.yaml", *KNOWLEDGE)
def _yaml_aliases() -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return ("openapi: 3.0.0\n" + "\n".join(lines)).encode()


@hostile("paths.json", *KNOWLEDGE)
def _openapi_with_many_paths() -> bytes:
    fields = {f"f{n}": {"type": "string"} for n in range(20)}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": fields}}}}
    paths = {
        f"/a{n}/{{id}}": {"post": {"operationId": f"o{n}", "requestBody": body, "responses": {}}}
        for n in range(20_000)
    }
    return json.dumps(
        {
            "openapi": "3.0.0",
            "info": {"title": "x", "version": "1"},
            "servers": [{"url": "https://a.example"}],
            "paths": paths,
        }
    ).encode()


@hostile("laughs.xml", *KNOWLEDGE)
def _xml_entities() -> bytes:
    entities = "".join(
        f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "https://a.example/"}">' for n in range(12)
    )
    return f"<!DOCTYPE urlset [{entities}]><urlset><url><loc>&e11;</loc></url></urlset>".encode()


def _workbook(sheet: str, *, more: str = "") -> bytes:
    """A workbook of one sheet, written by hand: a library would refuse to write these."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="A" sheetId="1" r:id="r1"/></sheets>{more}</workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}">{sheet}</worksheet>',
    }  # fmt: skip
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return held.getvalue()


CELL = '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Element</t></is></c></row></sheetData>'


@hostile("merged.xlsx", *REQUIREMENTS)
def _workbook_with_one_merged_range() -> bytes:
    return _workbook(f'{CELL}<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>')


@hostile("names.xlsx", *REQUIREMENTS)
def _workbook_with_many_names() -> bytes:
    names = "".join(f'<definedName name="n{n}">A!$A$1</definedName>' for n in range(300_000))
    return _workbook(CELL, more=f"<definedNames>{names}</definedNames>")


@hostile("zeros.xlsx", *REQUIREMENTS)
def _workbook_with_a_huge_sheet() -> bytes:
    return _workbook("<sheetData>" + '<row r="1"><c r="A1"><v>1</v></c></row>' * 8_000_000 + "</sheetData>")


def write(name: str, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Write one file; return its path and the command that reads it."""
    maker, command = FILES[name]
    path = folder / name
    path.write_bytes(maker())
    places = {"FILE": str(path), "OUT": str(folder / "out")}
    return path, tuple(places.get(each, each) for each in command)
