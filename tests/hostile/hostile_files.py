"""Makes small files that expand when they are read, one function each. `write_all` writes them into a folder.

Each is read by the command beside it. The files are made here and are in no repository.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

Maker = Callable[[], bytes | dict[str, bytes]]
"""Makes a file, or the files of a folder by their paths in it."""
FILES: dict[str, tuple[Maker, tuple[str, ...]]] = {}
"""File name -> what makes it, and the command that reads it (`FILE` and `OUT` are replaced)."""

RECORDING = ("import", "FILE", "--out", "OUT")
KNOWLEDGE = ("kb", "import", "FILE", "--website", "shop", "--out", "OUT")
FOLDER = ("kb", "validate", "FILE")
PROPOSALS = ("kb", "proposals", "apply", "FILE", "--into", "FILE")
SESSIONS = ("synthesize", "FILE", "--name", "x", "--out", "OUT")
SNAPSHOTS = ("learn", "--snapshots", "FILE", "--labels", "FILE/labels.json", "--out", "OUT")
RECORDS = ("optimize", "tests", "--mode", "simulate", "--out", "FILE")
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


@hostile("ranges.xlsx", *REQUIREMENTS)
def _workbook_with_many_merged_ranges() -> bytes:
    ranges = "".join(f'<mergeCell ref="{letter}1:{letter}9000"/>' for letter in "ABCDEFGHIJKLMNOP")
    return _workbook(f"{CELL}<mergeCells>{ranges}</mergeCells>")


@hostile("halves.json", *REQUIREMENTS)
def _requirements_with_half_a_character_and_terminal_escapes() -> bytes:
    steps = [{"element": "\ud800", "action": "\x1b[31mclick\x9b\ud800", "expected": "\x1b]0;x\x07\ud800"}]
    return json.dumps([{"req_id": "A", "url": "/", "steps": steps}]).encode()


# -- archives ----------------------------------------------------------------------------------------


def nested_archive(depth: int, copies: int = 16) -> bytes:
    """A zip of zips: each holds copies of the one inside."""
    inside, name = zlib.compress(bytes(10_000_000), 9), "zeros.bin"
    for level in range(depth):
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for number in range(copies):
                archive.writestr(f"{number}-{name}", inside)
        inside, name = held.getvalue(), f"{level}.zip"
    return inside


@hostile("nested.zip", *RECORDING)
def _archive_of_archives() -> bytes:
    return nested_archive(5)


@hostile("nested.xlsx", *REQUIREMENTS)
def _workbook_of_archives() -> bytes:
    return nested_archive(5)


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def overlapping_archive(names: list[bytes], kernel: bytes) -> bytes:
    """A zip whose members overlap, after D. Fifield's "A better zip bomb" (2019).

    The data of each member is a stored block that quotes the header of the next member, and then that member's
    data; the last one is the kernel. Every member thus unpacks to the kernel after the headers behind it, and the
    file holds the kernel once.
    """
    whole, content, header, entries = _deflated(kernel), kernel, b"", []
    for name in reversed(names):
        if header:  # of the next member: quoted in a stored block
            quote = b"\x00" + struct.pack("<HH", len(header), len(header) ^ 0xFFFF)
            whole, content = quote + header + whole, header + content
        sizes = struct.pack("<IIIHH", zlib.crc32(content), len(whole), len(content), len(name), 0)
        header = b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 0) + sizes + name
        entries.append((name, sizes, len(whole) + len(header)))
    whole = header + whole
    central = b"".join(
        b"PK\x01\x02"
        + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0)
        + sizes
        + struct.pack("<HHHII", 0, 0, 0, 0, len(whole) - from_end)
        + name
        for name, sizes, from_end in entries
    )
    ends = (0, 0, len(names), len(names), len(central), len(whole), 0)
    return whole + central + b"PK\x05\x06" + struct.pack("<HHHHIIH", *ends)


@hostile("overlap.zip", *RECORDING)
def _archive_whose_members_overlap() -> bytes:
    lines = b'{"type": "before", "callId": "a"}\n' * 300_000
    return overlapping_archive([b"%d.trace" % number for number in range(400)], lines)


@hostile("overlap.xlsx", *REQUIREMENTS)
def _workbook_whose_parts_overlap() -> bytes:
    names = [b"xl/worksheets/sheet%d.xml" % number for number in range(400)]
    return overlapping_archive([b"xl/workbook.xml", *names], b"<row/>" * 1_500_000)


# -- folders -----------------------------------------------------------------------------------------

WEBSITE = b"type: website\nwebsite_id: shop\nname: Shop\nbase_url: https://shop.example\n"


@hostile("kb-laughs", *FOLDER)
def _knowledge_with_aliases() -> dict[str, bytes]:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return {"website.yaml": WEBSITE, "screens/a.yaml": "\n".join(lines).encode()}


@hostile("kb-circle", *FOLDER)
def _knowledge_with_an_alias_inside_its_anchor() -> dict[str, bytes]:
    return {"website.yaml": WEBSITE, "screens/a.yaml": b"screen_id: a\nelements: &a\n  more: *a\n"}


@hostile("kb-deep", *FOLDER)
def _knowledge_that_nests() -> dict[str, bytes]:
    return {"website.yaml": WEBSITE, "screens/a.json": b"[" * 300_000, "tasks/a.yaml": b"{a: " * 50_000}


@hostile("kb-many", *FOLDER)
def _knowledge_with_many_documents() -> dict[str, bytes]:
    return {"website.yaml": WEBSITE, "screens/a.json": b"[" + b"{}," * 600_000 + b"{}]"}


@hostile("kb-proposals", *PROPOSALS)
def _proposals_that_nest() -> dict[str, bytes]:
    return {"website.yaml": WEBSITE, "a.yaml": b"[" * 300_000, "b.json": b"[" + b"[]," * 30_000 + b"[]]"}


def session(lines: list[bytes], **parts: bytes) -> dict[str, bytes]:
    """A session of one turn with these lines in its log, and the files that they name."""
    turns = [{"turn": 1, "path": "turn_001/session.jsonl", "status": "success"}]
    manifest = {"session_id": "s", "website_id": "shop", "complete": True, "turns": turns}
    more = {f"turn_001/session.jsonl.parts/{name}.html": content for name, content in parts.items()}
    return {
        "manifest.json": json.dumps(manifest).encode(),
        "turn_001/session.jsonl": b"\n".join(lines),
        **more,
    }


def step(**more: object) -> bytes:
    """One line of a session's log."""
    target = {"strategies": [{"type": "css", "value": "#a"}]}
    data = {"action_type": "click", "target": target, "result": {"success": True}, **more}
    return json.dumps(
        {"type": "AgentActionResults", "data": {"source_url": "https://a.example/", **data}}
    ).encode()


@hostile("session-parts", *SESSIONS)
def _session_that_names_one_page_many_times() -> dict[str, bytes]:
    page = {"__parts_file__": "session.jsonl.parts/page.html"}
    return session([step(body_html_before_last_action=page)] * 1_500, page=b"<p>x</p>" * 120_000)


@hostile("session-deep", *SESSIONS)
def _session_that_nests() -> dict[str, bytes]:
    return session([step(), b"[" * 200_000])


@hostile("session-steps", *SESSIONS)
def _session_with_very_many_steps() -> dict[str, bytes]:
    return session([step(timestamp=f"2026-01-01T00:00:{number % 60:02}Z") for number in range(6_000)])


def _page(html: bytes, facts: bytes = b'{"url": "https://a.example/"}') -> dict[str, bytes]:
    return {"a.html": html, "a.json": facts, "labels.json": b'{"a": "a_screen"}'}


@hostile("page-deep", *SNAPSHOTS)
def _page_that_nests() -> dict[str, bytes]:
    return _page(b"<div>" * 300_000)


@hostile("page-attributes", *SNAPSHOTS)
def _page_with_many_attributes() -> dict[str, bytes]:
    return _page((b"<i " + b" ".join(b"a%d" % n for n in range(1_990)) + b">") * 180)


@hostile("page-facts", *SNAPSHOTS)
def _page_whose_facts_nest() -> dict[str, bytes]:
    return _page(b"<p>a</p>", b"[" * 300_000)


@hostile("page-labels", *SNAPSHOTS)
def _labels_that_nest() -> dict[str, bytes]:
    return {**_page(b"<p>a</p>"), "labels.json": b'{"a": ' * 200_000}


@hostile("records", *RECORDS)
def _records_that_nest() -> dict[str, bytes]:
    return {"messages.jsonl": b"[" * 400_000}


def write(name: str, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Write one file; return its path and the command that reads it."""
    maker, command = FILES[name]
    path = folder / name
    write_made(maker(), path)
    return path, place(command, path, folder)


def write_made(made: bytes | Mapping[str, bytes], path: Path) -> None:
    """Write a file, or the files of a folder."""
    for name, content in made.items() if isinstance(made, Mapping) else [("", made)]:
        target = path / name if name else path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def place(command: tuple[str, ...], path: Path, folder: Path) -> tuple[str, ...]:
    """Return the arguments of a command that reads `path`."""
    return tuple(each.replace("FILE", str(path)).replace("OUT", str(folder / "out")) for each in command)
