"""Whatever a file holds, it is read, or refused with problems that say where and what to do."""

from __future__ import annotations

import io
import tempfile
from functools import cache
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from agent.verification.planning import RequirementsInvalid, read_requirements
from tests.support.requirement_files import HEADER

NO_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
"""A failure is small enough, and each example is a file."""
PIECES = (
    "|", "\n", "# ", "## A-1: x", "URL: /", "Element | Action", "Element,Action,Expected\n", "Save | click | | visible\n",
    "|---|---|", "Scenario: y", "Scenario Outline: z", "Examples:", "Feature: f", "Background:", "Rule: r",
    'When I click "Save"', 'Then I see "x"', 'Given I am on "/"', '"""', "| a | b |", "@req:q", "<a>", '"', ",", ";",
    "{secret:X}", "{unique}", "{", "shows:", "=", "@", "Req ID", "sep=;\n", '{"url": "/", "steps": [', "]}", "\x00", "\ufeff",
    "Login", "Tags", "\r\n", "  ", "I fill in:",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=20).map("".join)
names = st.sampled_from(["a.txt", "a.md", "a.csv", "a.tsv", "a.json", "a.feature", "a.pipe", "a.xlsx"])


async def look(name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        found, problems = [], ()
        try:
            found = await read_requirements([path])
        except RequirementsInvalid as exc:
            problems = exc.problems
    assert found or problems
    assert [each for each in problems if not (each.message and each.fix)] == []


@settings(max_examples=150, deadline=None, phases=NO_SHRINKING)
@given(names, texts)
async def test_any_text_is_read_or_refused(name, text):
    await look(name, text.encode("utf-8", "surrogatepass"))


@settings(max_examples=30, deadline=None, phases=NO_SHRINKING)
@given(names, st.binary(max_size=200))
async def test_any_bytes_are_read_or_refused(name, content):
    await look(name, content)


@cache
def workbook() -> bytes:
    book = Workbook()
    for row in [("URL", "/"), HEADER, ("Save", "click", None, "visible")]:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


@settings(max_examples=40, deadline=None, phases=NO_SHRINKING)
@given(st.data())
async def test_any_broken_workbook_is_read_or_refused(data):
    broken = bytearray(workbook())
    for _ in range(data.draw(st.integers(1, 5))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    await look("a.xlsx", bytes(broken))
