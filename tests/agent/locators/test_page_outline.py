"""The outline of a page: it is the same whether all rows of its lists were read or only the first ones."""

from __future__ import annotations

import pytest

from agent.locators.page_outline import MOST_ROWS, RefNames, outline_page
from agent.locators.page_scan import scan_page

TABLE = "".join(
    f"<tr><td>{n}</td><td><a href=/b{n}>Boat {n}</a></td><td><button>Moor {n}</button></td></tr>"
    for n in range(9)
)
PAGES = {
    "a table": f"<h1>Quay</h1><table>{TABLE}</table><p><button>Leave</button></p>",
    "two lists, one of them short": (
        "<ul><li><a href=/a>A</a></li><li><a href=/b>B</a></li></ul>"
        f"<ol>{''.join(f'<li><input aria-label=F{n}></li>' for n in range(6))}</ol><a href=/end>End</a>"
    ),
    "a list in a list": (
        f"<ul>{''.join(f'<li><a href=/{n}>G{n}</a><ul>' + ''.join(f'<li><a href=/{n}{m}>H{n}{m}</a></li>' for m in range(5)) + '</ul></li>' for n in range(5))}</ul>"
    ),
    "rows that are not shown": f"<table><tr hidden><td><button>No</button></td></tr>{TABLE}</table>",
    "rows without controls at the end": "<table>" + TABLE + "<tr><td>sum</td></tr></table><h2>Sum</h2><a href=/x>X</a>",
    "nothing but rows": f"<table>{TABLE}</table>",
}  # fmt: skip


@pytest.mark.parametrize("html", PAGES.values(), ids=PAGES)
async def test_the_first_rows_of_each_list_are_enough(page, html):
    await page.set_content(html)
    whole, first = await scan_page(page), await scan_page(page, rows=MOST_ROWS)
    assert outline_page(first, RefNames()).lines == outline_page(whole, RefNames()).lines
    assert len(first.elements) <= len(whole.elements)


async def test_a_field_without_a_name_is_told_by_its_attribute_and_a_part_of_the_page_is_no_control(page):
    await page.set_content("<main tabindex=-1><input name=who><input name=__key type=password><input></main>")
    lines = outline_page(await scan_page(page), RefNames()).lines
    assert lines == (
        "e1 textbox (no name, who)",
        "e2 textbox (no name, __key) password",
        "e3 textbox (no name)",
    )
