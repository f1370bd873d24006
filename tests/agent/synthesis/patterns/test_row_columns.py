"""Rows named by a text in one of their columns, whatever element has it."""

from __future__ import annotations

from agent.synthesis.patterns.row_columns import add_column_template
from agent.synthesis.patterns.target_templates import PARAMETER, TargetTemplate
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from web_pages.element_tree import Element
from web_pages.page_texts import text_of

BY_SPAN = "//tr[.//span[normalize-space()='{{row}}']]//button[@class='more']"
EVENTS = (("Walk to the sea", "Walk"), ("Plant market", "Market"), ("Reading", "Talk"))


def _rows(name: str) -> str:
    rows = "".join(
        f"<tr><td><input type=checkbox></td><td>{name.format(title)}<button class=more>...</button></td>"
        f"<td><span>{kind}</span></td></tr>"
        for title, kind in EVENTS
    )
    return f"<!doctype html><title>T</title><table><tbody>{rows}</tbody></table>"


def _page(name: str) -> TracePage:
    page = TracePages().get(_rows(name), "http://t/")
    assert page is not None
    return page


def _found(page: TracePage, template: str, name: str) -> tuple[Element, ...]:
    return page.stored.resolve_template(template, {PARAMETER: name})


def test_a_row_is_also_found_where_another_element_has_its_name():
    shown = _page("<div><span>{}</span></div>")
    words = {("a", ()): EVENTS[0][0], ("b", ()): EVENTS[2][0]}
    seen = {row: (shown, _found(shown, BY_SPAN, name)[0]) for row, name in words.items()}
    values = {row: {PARAMETER: name} for row, name in words.items()}
    found = add_column_template(TargetTemplate(BY_SPAN, words), seen, values)
    (other,) = found.others
    later = _page("<a href=#>{}</a>")
    assert _found(later, BY_SPAN, "Plant market") == ()
    (button,) = _found(later, other, "Plant market")
    assert button.parent is not None
    assert "Plant market" in text_of(button.parent, everything=True)
    assert _found(later, other, "Talk") == (), "the text of another column names no row"
    below = _page("<a href=#>{}</a><small>Letters</small>")
    assert _found(below, other, "Letters") == (), "a line below the name is no name"
    assert len(_found(below, other, "Reading")) == 1
    assert [len(each.parameters) for each in found.selector("title").strategies] == [1, 1]
