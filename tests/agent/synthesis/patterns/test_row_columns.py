"""Rows named by a text in one of their columns, whatever element has it."""

from __future__ import annotations

import pytest

from agent.synthesis.patterns.row_columns import add_column_template, drop_name
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
    other = found.template
    later = _page("<a href=#>{}</a>")
    assert _found(later, BY_SPAN, "Plant market") == ()
    (button,) = _found(later, other, "Plant market")
    assert button.parent is not None
    assert "Plant market" in text_of(button.parent, everything=True)
    assert _found(later, other, "Talk") == (), "the text of another column names no row"
    below = _page("<a href=#>{}</a><small>Letters</small>")
    assert _found(below, other, "Letters") == (), "a line below the name is no name"
    assert len(_found(below, other, "Reading")) == 1
    assert [len(each.parameters) for each in found.selector("title").strategies] == [1]


def _bills(*columns: str) -> TracePage:
    told = {"When?": "2026-11-{}", "Who?": "{}", "What?": "{}"}
    bills = (("12", "Ann", "Lamp"), ("13", "Bob", "Oil"), ("14", "Ann", "Rake"))
    head = "".join(f"<th>{each}</th>" for each in (*columns, "Actions"))
    rows = "".join(
        "<tr>"
        + "".join(f"<td><span>{told[each].format(bill[[*told].index(each)])}</span></td>" for each in columns)
        + "<td><button class=more>x</button></td></tr>"
        for bill in bills
    )
    page = TracePages().get(
        f"<!doctype html><title>T</title><table><tr>{head}</tr>{rows}</table>", "http://t/"
    )
    assert page is not None
    return page


def test_a_row_of_a_table_is_named_in_its_column_only_and_the_column_is_found_by_its_heading_too():
    shown = _bills("When?", "Who?", "What?")
    words = {("a", ()): "Lamp", ("b", ()): "Oil"}
    seen = {row: (shown, _found(shown, BY_SPAN, name)[0]) for row, name in words.items()}
    found = add_column_template(
        TargetTemplate(BY_SPAN, words), seen, {row: {PARAMETER: name} for row, name in words.items()}
    )
    by_place, by_heading = found.template, *found.others
    assert [len(_found(shown, each, "Bob")) for each in (BY_SPAN, by_place, by_heading)] == [1, 0, 0]
    assert [len(_found(shown, each, "Rake")) for each in (by_place, by_heading)] == [1, 1]
    moved = _bills("What?", "When?", "Who?")
    assert [len(_found(moved, each, "Rake")) for each in (by_place, by_heading)] == [0, 1]
    assert _found(_bills("When?", "Who?"), by_heading, "2026-11-12") == (), (
        "without the heading there is no such column"
    )


@pytest.mark.parametrize(
    ("template", "every_row"),
    [
        (
            "(//tr[*[1][normalize-space((.//text()[normalize-space()])[1])='{{item}}']]//button[normalize-space()='Stop'])[1]",
            "(//tr//button[normalize-space()='Stop'])[1]",
        ),
        (
            "//li[.//p[normalize-space()='{{item}}']]//a[normalize-space()='a]b']",
            "//li//a[normalize-space()='a]b']",
        ),
        ("//tr[td]//button", "//tr[td]//button"),
    ],
)
def test_without_its_name_a_template_is_of_every_row(template: str, every_row: str):
    assert drop_name(template) == every_row
