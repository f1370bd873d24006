"""Stable selectors of 20 elements of a page, against naive CSS paths of the same 20 by lxml."""

from __future__ import annotations

import pytest
from lxml import html as lxml_html

from benchmarks.timing import compared
from kb_schema.page_snapshots import PageSnapshot
from web_pages.accessible_names import is_interactive
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.stored_pages import StoredPage

pytestmark = pytest.mark.bench

ASKED = 20
ROW = 14
"""Elements of one row of the page."""


def page_of(elements: int) -> str:
    """A table with a toolbar and a form: rows alike, ids half of them generated."""
    rows = "".join(
        f"<tr id='row-{10_000 + n}' class='css-1a{n}b9z line'><td><input type=checkbox name=pick value={n}></td>"
        f"<td><a href='/contact/{n}'><i aria-hidden=true>C{n}</i><span>Contact {n}</span></a></td><td>words of {n}</td>"
        f"<td><div class=actions><button class='btn small'>Edit</button><button class='btn small' aria-label='Delete contact {n}'>"
        f"<svg><path d=x></path></svg></button></div></td></tr>"
        for n in range((elements - 20) // ROW)
    )
    return (
        "<!doctype html><title>t</title><body><nav aria-label=Main><a href=/a>Agents</a><a href=/c>Contacts</a></nav><main>"
        "<form id=find><label for=':r1:'>Find</label><input id=':r1:' class=css-77ab3c><button type=submit>Search</button></form>"
        f"<table><thead><tr><th>Pick<th>Name<th>Words<th></tr></thead><tbody>{rows}</tbody></table></main>"
    )


def ours(html: str) -> int:
    """Strategies of 20 elements spread over the page, from its HTML."""
    page = StoredPage(PageSnapshot(url="http://x.test/", html=html))
    operable = [e for e in page.roots[0].elements if is_interactive(e)]
    selectors = PageSelectors(page)
    wanted = operable[:: max(1, len(operable) // ASKED)][:ASKED]
    chosen = [selectors.of(element).selector for element in wanted]
    assert len(chosen) == ASKED
    return sum(len(each.strategies) for each in chosen if each is not None)


def naive(html: str) -> list[str]:
    """`html > body > main:nth-child(2) > ...` of as many, from the same HTML."""
    tree = lxml_html.document_fromstring(html)
    operable = list(tree.iter("a", "button", "input"))
    paths = []
    for element in operable[:: max(1, len(operable) // ASKED)][:ASKED]:
        steps, at = [], element
        while at is not None:
            place = 1 + sum(1 for _ in at.itersiblings(preceding=True))
            steps.append(f"{at.tag}:nth-child({place})")
            at = at.getparent()
        paths.append(" > ".join(reversed(steps)))
    return paths


@pytest.mark.parametrize("size", [500, 2_000, 5_000])
def test_selectors_of_a_stored_page_against_naive_paths(size: int) -> None:
    html = page_of(size)
    elements = len(StoredPage(PageSnapshot(url="http://x.test/", html=html)).roots[0].elements)
    told = ours(html)
    assert told >= ASKED
    compared(
        f"{ASKED} selectors ({told} strategies), {elements} elements", lambda: ours(html),
        "naive paths by lxml", lambda: naive(html),
    )  # fmt: skip
