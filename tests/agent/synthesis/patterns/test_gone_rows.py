"""A row that is gone at the end of every trace, in lists of any tags."""

from __future__ import annotations

import pytest

from agent.synthesis.patterns import success_conditions
from agent.synthesis.patterns.trace_ends import TraceEnd
from agent.synthesis.traces.trace_pages import TracePages

PAGES = TracePages()
NAMES = ("Oars", "Sails", "Ropes", "Anchors")


def _page(names: tuple[str, ...], mark: str):
    page = PAGES.get(
        f"<!doctype html><title>T</title>{''.join(mark.format(name) for name in names)}", "http://t/list"
    )
    assert page is not None
    return page


def _end(name: str, mark: str, left: tuple[str, ...]) -> TraceEnd:
    values = {"row": name}
    return TraceEnd(name, _page(left, mark), "http://t/list", (_page(NAMES, mark),), values, values)


@pytest.mark.parametrize(
    ("mark", "selector"),
    [
        ("<tr><td>{}</td></tr>", "tr"),
        ("<div class=entry>{}</div>", "div.entry"),
        ("<div><a class='link note-link' href=#>{}</a></div>", "a.link"),
        ("<div>{}</div>", None),
    ],
)
def test_the_list_that_names_it_does_not_name_it_any_more(mark, selector):
    mark = f"<table>{mark}</table>" if "<tr>" in mark else mark
    gone = [_end(name, mark, tuple(each for each in NAMES if each != name)) for name in NAMES[:3]]
    empty = [_end(name, mark, ()) for name in NAMES[:3]]
    find = success_conditions._gone_row

    if selector is None:
        assert find(gone) == []
        return
    _, none = find(gone)
    assert [(each.value, each.selector) for each in none.conditions] == [("{row}", selector)]
    if selector != "tr":
        assert find(empty) == [], "a page without the list proves nothing"
