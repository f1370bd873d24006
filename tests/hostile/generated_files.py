"""Files of each format that is read, made by Hypothesis: from grammars (Lark) and strategies, then spoiled.

A spoiled file is cut off, doubled, in another encoding, or has NUL bytes or bytes that are no text.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark
from openpyxl import Workbook
from openpyxl.utils.exceptions import IllegalCharacterError

from tests.hostile.hostile_files import (
    FOLDER,
    KNOWLEDGE,
    PROPOSALS,
    RECORDING,
    REQUIREMENTS,
    SESSIONS,
    SNAPSHOTS,
    WEBSITE,
    nested_archive,
    overlapping_archive,
    session,
)
from tests.support.hostile import anything, mostly, mutated, texts

Content = bytes | dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: its name, the command that reads it, and what makes it."""

    file: str
    command: tuple[str, ...]
    made: st.SearchStrategy[Content]


words = st.one_of(
    texts, st.sampled_from(["Save", "https://shop.example/a", "#save", "{secret:PASSWORD}", "9" * 5_000, "1e999", "\x1b[31m", "&a [*a]"])
)  # fmt: skip
numbers = st.sampled_from([0, -1, 10**400, 2**63, 1e308, float("inf"), float("nan")])
values = st.one_of(words, numbers, anything)


def packed_json(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """The value as JSON, lone surrogates as escapes."""
    return strategy.map(lambda value: json.dumps(value).encode())


def grammar(text: str, *, more: str = "") -> st.SearchStrategy[bytes]:
    """Texts of a Lark grammar."""
    return from_lark(Lark(text + more, start="start")).map(lambda said: said.encode("utf-8", "replace"))


@st.composite
def spoiled(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """A file, in half of the cases with one fault."""
    content = draw(whole)
    at = (
        len(content) * draw(st.integers(0, 100)) // 100
    )  # the length may depend on the time, as of a workbook
    faults = {
        "cut": content[:at],
        "twice": content + content,
        "utf16": content.decode("utf-8", "replace").encode("utf-16"),
        "nul": content[:at] + b"\0" * 3 + content[at:],
        "no text": content[:at] + b"\xff\xfe\xc3\x28\xed\xa0\x80" + content[at:],
        "mark": b"\xef\xbb\xbf" + content,
    }
    return draw(st.sampled_from([*[content] * len(faults), *faults.values()]))


def as_list(value: Any) -> list[Any]:
    """A list as it is, and anything else in one."""
    return value if isinstance(value, list) else [value]


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects that have any of the fields, in nine of ten cases of the right type."""
    return st.fixed_dictionaries({}, optional={name: mostly(each, anything) for name, each in fields.items()})


def many(each: st.SearchStrategy[Any], most: int = 5) -> st.SearchStrategy[list[Any]]:
    """A short list."""
    return st.lists(each, max_size=most)


_command = objects(
    id=words, command=st.sampled_from(["open", "type", "click", "store", "if", "end", "while", "runScript", "x"]),
    target=st.one_of(words, st.sampled_from(["id=a", "css=#a", "xpath=//a", "${a}", "/a"])), value=st.one_of(words, st.just("${a}${a}")),
)  # fmt: skip
_side = objects(
    id=words, name=words, url=words,
    tests=many(objects(id=words, name=words, commands=many(_command))), suites=many(objects(name=words, tests=many(words))),
)  # fmt: skip
_flow = objects(
    title=words, timeout=values,
    steps=many(objects(type=st.sampled_from(["navigate", "click", "change", "keyDown", "waitForElement", "scroll", "x"]),
                       url=words, value=words, key=words, selectors=many(many(words, 2), 3), target=words, frame=many(values, 2),
                       assertedEvents=many(objects(type=words, url=words), 2))),
)  # fmt: skip
_event = objects(
    type=st.sampled_from(["context-options", "before", "after", "frame-snapshot", "resource-snapshot", "x"]),
    callId=st.sampled_from(["a", "b"]), method=st.sampled_from(["click", "fill", "goto", "selectOption", "setInputFiles"]),
    startTime=values, endTime=values, wallTime=values, pageId=words, params=objects(selector=words, value=words, url=words, options=values),
    snapshot=objects(snapshotName=words, frameUrl=words, html=anything, callId=words), error=values, beforeSnapshot=words,
    **{"class": st.sampled_from(["Page", "Frame"])},
)  # fmt: skip
_schema = st.recursive(
    objects(type=st.sampled_from(["string", "object", "array", "integer", "x"]), enum=many(values), format=words, pattern=words,
            maximum=numbers, **{"$ref": st.sampled_from(["#/components/schemas/A", "#/", "#/components/schemas/B", "a.json#/"])}),
    lambda inner: objects(properties=st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3), items=inner, allOf=many(inner, 2)),
    max_leaves=6,
)  # fmt: skip
_operation = objects(
    operationId=words, summary=words, parameters=many(objects(name=words, schema=_schema, **{"in": words}), 3),
    requestBody=objects(content=st.dictionaries(st.just("application/json"), objects(schema=_schema))),
)  # fmt: skip
_openapi = st.builds(
    lambda rest: {"openapi": "3.0.0", **rest},
    objects(
        info=objects(title=words, version=values), servers=many(objects(url=words), 2),
        paths=st.dictionaries(st.sampled_from(["/a", "/a/{id}", "/b"]), st.dictionaries(st.sampled_from(["get", "post", "delete"]), _operation)),
        components=objects(schemas=st.dictionaries(st.sampled_from(["A", "B"]), _schema)),
    ),
)  # fmt: skip
_step = objects(
    type=st.just("AgentActionResults"),
    data=objects(action_type=st.sampled_from(["click", "fill", "navigate", "x"]), target=values, args=objects(value=values),
                 result=objects(success=st.booleans(), error=values, duration_ms=numbers), source_url=words, timestamp=values,
                 body_html_before_last_action=st.one_of(words, st.just({"__parts_file__": "../../../etc/hostname"}))),
)  # fmt: skip
_document = objects(
    type=st.sampled_from(["screen", "task", "transition", "action", "x"]), screen_id=words, task_id=words, name=words, schema_version=numbers,
    elements=st.dictionaries(st.sampled_from(["a", "b"]), objects(selector=words, role=words, name=words), max_size=2),
    state_signature=objects(required_indicators=many(objects(type=words, value=words), 2), confidence_threshold=numbers),
    steps=many(objects(step_id=words, action=values), 3),
)  # fmt: skip
_requirement = objects(
    req_id=words, url=words, title=words, login=words, tags=many(words),
    steps=many(st.one_of(words, objects(element=words, region=words, action=st.sampled_from(["click", "fill", "x"]), value=values, expected=words))),
)  # fmt: skip

# Whole documents, of which some parts are changed: what is wrong in the first place is never read to its end.
SIDE = {
    "id": "p", "name": "p", "url": "https://shop.example", "suites": [],
    "tests": [{"id": "t", "name": "buy", "commands": [
        {"id": "1", "command": "open", "target": "/a", "value": ""},
        {"id": "2", "command": "type", "target": "id=name", "value": "Ada"},
        {"id": "3", "command": "store", "target": "x", "value": "a"},
        {"id": "4", "command": "click", "target": "css=#save", "value": "${a}"},
    ]}],
}  # fmt: skip
FLOW = {
    "title": "buy",
    "steps": [
        {"type": "setViewport", "width": 800, "height": 600},
        {"type": "navigate", "url": "https://shop.example/a", "assertedEvents": [{"type": "navigation", "url": "x"}]},
        {"type": "change", "value": "Ada", "selectors": [["aria/Name"], ["#name"]], "target": "main"},
        {"type": "click", "selectors": [["aria/Save"], ["xpath///button"]], "offsetX": 1, "offsetY": 1},
    ],
}  # fmt: skip
TRACE = {
    "events": [
        {"type": "context-options", "browserName": "chromium", "wallTime": 1.0, "monotonicTime": 1.0, "version": 8, "options": {}},
        {"type": "before", "callId": "a", "class": "Frame", "method": "goto", "params": {"url": "https://shop.example/"}, "startTime": 2, "pageId": "p"},
        {"type": "after", "callId": "a", "endTime": 3},
        {"type": "frame-snapshot", "snapshot": {"snapshotName": "before@b", "callId": "b", "frameId": "f", "frameUrl": "https://shop.example/",
         "isMainFrame": True, "html": ["HTML", {}, ["BODY", {}, ["BUTTON", {"id": "save", "__playwright_target__": "b"}, "Save"]]]}},
        {"type": "before", "callId": "b", "class": "Frame", "method": "click", "params": {"selector": "#save"}, "startTime": 4, "pageId": "p", "beforeSnapshot": "before@b"},
        {"type": "after", "callId": "b", "endTime": 5, "error": {"name": "x"}},
    ]
}  # fmt: skip
OPENAPI = {
    "openapi": "3.0.0", "info": {"title": "Shop", "version": "1"}, "servers": [{"url": "https://shop.example"}],
    "components": {"schemas": {"A": {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}, "b": {"$ref": "#/components/schemas/A"}}}}},
    "paths": {"/a/{id}": {"delete": {"operationId": "d"}, "post": {"operationId": "p", "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}}},
}  # fmt: skip
REQUIREMENT = {"req_id": "A", "url": "/", "steps": [{"element": "Save", "region": "Form", "action": "click", "value": "x", "expected": "shows:x"}]}  # fmt: skip
DEMONSTRATION = {
    "taskName": "buy", "utterance": "Buy a jar.",
    "states": [
        {"time": number, "action": action, "dom": {"tag": "BODY", "ref": 1, "children": [
            {"tag": "INPUT_text", "ref": 2, "id": "name", "value": "A", "children": []},
            {"tag": "BUTTON", "ref": 3, "text": "Save", "recordingTarget": True, "children": []},
        ]}}
        for number, action in enumerate((None, {"type": "mousedown", "timing": 1}, {"type": "click", "timing": 1}))
    ],
}  # fmt: skip
KNOWN = {
    "documents": [
        {"type": "screen", "screen_id": "a", "name": "A", "url_patterns": ["/a"],
         "elements": {"save": {"selector": {"strategies": [{"type": "css", "value": "#save"}]}, "role": "button"}},
         "state_signature": {"required_indicators": [{"type": "dom_contains", "value": "A"}], "confidence_threshold": 0.7}},
        {"type": "task", "task_id": "t", "name": "T", "steps": [{"step_id": "s", "screen_id": "a", "action": {"action_type": "click", "target": "save"}}]},
    ]
}  # fmt: skip


def changed(document: dict[str, Any], made: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The document with one to three changes, or something made from nothing."""
    return st.one_of(mutated(st.just(document)), mutated(st.just(document)), made)


WORD = '\nWORD: /[A-Za-z0-9_ {}:"$.\\/-]{1,30}/\n'
GHERKIN = r"""
start: "Feature: " WORD NL (scenario | NL)*
scenario: tags? ("  Scenario: " | "  Scenario Outline: " | "  Background: " | "  Examples: ") WORD NL step*
tags: "  @" WORD NL
step: "    " ("Given " | "When " | "Then " | "And " | "* ") (WORD | "I click \"" WORD "\"" | "I fill \"" WORD "\" with \"" WORD "\"") NL table?
table: ("      | " WORD " | " WORD " |" NL)+
NL: "\n"
"""
PIPES = r"""
start: (line NL)*
line: "URL: " WORD | "Req ID: " WORD | "# " WORD | WORD "@" WORD " | " action " | " WORD (" | " WORD)? | "| | | |"
action: "click" | "fill" | "select" | "press" | "upload" | "clik" | WORD
NL: "\n"
"""
YAML = r"""
start: (entry NL)*
entry: key ": " value | "- " value | "? " value | "<<: *a" | "--- " | "%TAG ! x" | "\t" key ":"
key: "screen_id" | "type" | "name" | "elements" | "*a" | "&a x" | "!!python/name:os.system"
value: WORD | "&a " value | "*a" | "[" value ", " value "]" | "{" key ": " value "}" | "!!binary " WORD | "|" | "~" | "0x7f" | "1e999"
NL: "\n"
"""
HTML = r"""
start: piece*
piece: "<" tag attribute* ">" | "</" tag ">" | WORD | "<!--" | "-->" | "&#" WORD ";" | "&amp" | "<![CDATA[" | "<?xml" | "\"" | "'"
tag: "div" | "p" | "table" | "tr" | "td" | "select" | "option" | "svg" | "math" | "template" | "iframe" | "form" | "input" | "label" | "pp-shadow-root" | "pp-frame-document" | "script" | "title" | "plaintext" | "frameset" | "b" | "a"
attribute: " " name ("=\"" WORD "\"" | "=" WORD | "='")?
name: "id" | "class" | "href" | "aria-labelledby" | "role" | "for" | "name" | "data-pp-hidden" | "srcdoc" | "type" | "hidden" | "style"
"""
PYTHON = r"""
start: head (test | klass | constant)*
head: "from playwright.sync_api import Page, expect\n"
constant: NAME " = " expression NL
klass: "class " NAME "Page:\n    def __init__(self, page):\n        self.page = page\n" ("    def " NAME "(self, x=" expression "):\n" statement+)*
test: "def test_" NAME "(page):\n" statement+
statement: "        " (call | NAME " = " expression | "for i in range(" expression "):" | "if " expression ": " call | "with page.expect_popup() as " NAME ": " call) NL
call: known | ("page" | "self.page" | "self" | NAME) ("." NAME "(" (expression ("," expression)*)? ")")+
known: "page.goto(" expression ")" | "page.get_by_label(" expression ").fill(" expression ")" | "page.get_by_role('button', name=" expression ").click()" | "expect(page.get_by_text(" expression ")).to_be_visible()"
expression: STRING | NUMBER | NAME | expression " + " expression | expression " * " expression | "[" expression "]" | "f'{" NAME "}'" | "(" expression ")" | "lambda: " expression
NAME: "a" | "b" | "goto" | "click" | "fill" | "get_by_role" | "get_by_label" | "locator" | "m"
STRING: "'https://shop.example/'" | "'Save'" | "\"x\"" | "'#a'" | "'''"
NUMBER: "0" | "9999999999" | "1e999" | "-1"
NL: "\n"
"""
TYPESCRIPT = r"""
start: "import { test, expect } from '@playwright/test';\n" (constant | test | klass)*
constant: "const " NAME " = " expression ";\n"
klass: "export class " NAME "Page { constructor(private page) {} " ("async " NAME "() { " statement* "} ")* "}\n"
test: "test(" expression ", async ({ page }) => { " statement* "});\n"
statement: ("await " call | "const " NAME " = " expression | "for (const i of " expression ") { " statement "}" | "if (" expression ") { " statement "}") "; "
call: known | ("page" | "this.page" | "this" | NAME) ("." NAME "(" expression? ")")+
known: "page.goto(" expression ")" | "page.getByLabel(" expression ").fill(" expression ")" | "page.getByRole('button', { name: " expression " }).click()" | "expect(page.getByText(" expression ")).toBeVisible()"
expression: STRING | NUMBER | NAME | expression " + " expression | "[" expression "]" | "{ name: " expression " }" | "`${" expression "}`" | "(" expression ")" | "() => " expression
NAME: "a" | "b" | "goto" | "click" | "fill" | "getByRole" | "getByLabel" | "locator"
STRING: "'https://shop.example/'" | "'Save'" | "\"x\"" | "'"
NUMBER: "0" | "9999999999" | "1e999"
"""
SITEMAP = r"""
start: "<?xml version=\"1.0\"?>" doctype? "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">" url* "</urlset>"?
doctype: "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/hostname\"><!ENTITY c \"&c;\">]>"
url: "<url>" ("<loc>" place "</loc>" | "<lastmod>" WORD "</lastmod>" | "<x>" | "&b;")* "</url>"
place: "https://shop.example/" WORD | "&b;" | "&c;" | WORD | "http://[" | "<![CDATA[" WORD "]]>"
"""


def _workbook(rows: list[list[Any]], name: str, merged: str | None) -> bytes:
    book = Workbook()
    sheet = book.active
    sheet.title = "".join(each for each in name if each.isalnum())[:20] or "A"
    sheet.append(["Element@Region", "Action", "Value", "Expected Outcome"])
    for row in rows:
        try:
            sheet.append(row)
        except (IllegalCharacterError, ValueError, OverflowError):
            continue
    if merged:
        sheet.merge_cells(merged)
    held = io.BytesIO()
    book.save(held)
    return held.getvalue()


def _archive(members: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


_cells = st.one_of(
    st.sampled_from(["Save@Form", "click", "fill", "=1/0", "=A1", "#REF!", "{unique}", "shows:Saved"]),
    st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), st.datetimes(), st.text(max_size=20), st.none(),
)  # fmt: skip
_lines = st.one_of(
    mutated(st.just(TRACE)).map(
        lambda each: b"\n".join(json.dumps(event).encode() for event in as_list(each.get("events")))
    ),
    st.lists(packed_json(_event), max_size=8).map(b"\n".join),
)
_page = grammar(HTML, more=WORD)
_side_files = packed_json(changed(SIDE, _side))


def _laughs(breadth: int, depth: int, end: str) -> tuple[bytes, bytes]:
    """Names of which each repeats the one before so many times: as YAML, and as entities of a sitemap."""
    lines = [
        "a0: &a0 [x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * breadth)}]" for n in range(1, depth)),
        end,
    ]
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * breadth if n else "x"}">' for n in range(depth))
    xml = f"<!DOCTYPE urlset [{entities}]><urlset><url><loc>https://shop.example/&e{depth - 1};</loc></url></urlset>"
    return "\n".join(lines).encode(), xml.encode()


_laughing = st.builds(
    _laughs,
    st.integers(1, 12),
    st.integers(1, 30),
    st.sampled_from(["", "a: &a {b: *a}", "a: &a [*a]", "<<: *a1", "{" * 2_000]),
)
_overlapping = st.builds(
    lambda count, lines: overlapping_archive([b"%d.trace" % number for number in range(count)], b'{"type": "before", "callId": "a"}\n' * lines),
    st.integers(1, 2_000), st.integers(1, 200_000),
)  # fmt: skip

FORMATS = {
    "Selenium IDE": Format("a.side", RECORDING, spoiled(_side_files)),
    "Chrome Recorder": Format("a.json", RECORDING, spoiled(packed_json(changed(FLOW, _flow)))),
    "Playwright trace": Format(
        "a.zip", RECORDING,
        spoiled(st.dictionaries(st.sampled_from(["a.trace", "b.trace", "a.network", "resources/x", "../x"]), spoiled(_lines), max_size=3).map(_archive)),
    ),
    "overlapping archives": Format("a.zip", RECORDING, spoiled(_overlapping)),
    "archives in archives": Format("a.zip", RECORDING, spoiled(st.builds(nested_archive, st.integers(1, 5), st.integers(1, 20)))),
    "packed recordings": Format("a.json.gz", RECORDING, spoiled(spoiled(_side_files).map(lambda made: gzip.compress(made, mtime=0)))),
    "demonstrations": Format("a.json", RECORDING, spoiled(packed_json(mutated(st.just(DEMONSTRATION))))),
    "repeated entities": Format("a.xml", KNOWLEDGE, _laughing.map(lambda made: made[1])),
    "repeated aliases": Format("kb", FOLDER, _laughing.map(lambda made: {"website.yaml": WEBSITE, "screens/a.yaml": made[0]})),
    "OpenAPI in YAML": Format("a.yaml", (*KNOWLEDGE, "--from", "openapi"), spoiled(grammar(YAML, more=WORD)).map(lambda made: b"openapi: 3.0.0\n" + made)),
    "Python tests": Format("test_a.py", (*KNOWLEDGE, "--base-url", "https://shop.example"), spoiled(grammar(PYTHON))),
    "TypeScript tests": Format("a.spec.ts", (*KNOWLEDGE, "--base-url", "https://shop.example"), spoiled(grammar(TYPESCRIPT))),
    "OpenAPI": Format("a.json", (*KNOWLEDGE, "--from", "openapi"), spoiled(packed_json(changed(OPENAPI, _openapi)))),
    "sitemap": Format("a.xml", KNOWLEDGE, spoiled(grammar(SITEMAP, more=WORD))),
    "knowledge in YAML": Format("kb", FOLDER, spoiled(grammar(YAML, more=WORD)).map(lambda made: {"website.yaml": WEBSITE, "screens/a.yaml": made})),
    "knowledge in JSON": Format("kb", FOLDER, spoiled(packed_json(changed(KNOWN, st.fixed_dictionaries({"documents": many(_document)})).map(lambda each: each.get("documents")))).map(lambda made: {"website.yaml": WEBSITE, "screens/a.json": made})),
    "proposals": Format("kb", PROPOSALS, spoiled(grammar(YAML, more=WORD)).map(lambda made: {"website.yaml": WEBSITE, "p.yaml": made})),
    "pages": Format(
        "pages", SNAPSHOTS,
        st.builds(lambda html, facts: {"a.html": html, "a.json": facts, "labels.json": b'{"a": "a"}'}, spoiled(_page),
                  st.one_of(st.just(b'{"url": "https://a.example/"}'), spoiled(packed_json(objects(url=words, title=words, annotated=values))))),
    ),
    "sessions": Format("session", SESSIONS, st.lists(spoiled(packed_json(_step)), max_size=6).map(session)),
    "CSV": Format(
        "a.csv", REQUIREMENTS,
        spoiled(many(many(words, 6), 6).map(lambda rows: "\n".join(["Element,Region,Action,Value,Expected", *(",".join(row) for row in rows)]).encode("utf-8", "replace"))),
    ),
    "workbook": Format(
        "a.xlsx", REQUIREMENTS,
        spoiled(st.builds(_workbook, many(st.lists(_cells, min_size=1, max_size=5)), st.text(max_size=9), st.sampled_from([None, "A2:A4", "A1:D9"]))),
    ),
    "Gherkin": Format("a.feature", REQUIREMENTS, spoiled(grammar(GHERKIN, more=WORD))),
    "requirements in JSON": Format("a.json", REQUIREMENTS, spoiled(packed_json(changed(REQUIREMENT, many(_requirement))))),
    "requirements in lines": Format("a.txt", REQUIREMENTS, spoiled(grammar(PIPES, more=WORD))),
}  # fmt: skip
