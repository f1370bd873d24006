"""Pages made to keep a server busy or to fill its memory: refused before anything is parsed, or answered."""

from __future__ import annotations

import sys
import tracemalloc
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import ElementProbe, FormProbe, TextProbe, probe_key
from kb_schema.selectors import css
from web_pages import page_limits
from web_pages.page_limits import MOST_ELEMENTS, MOST_ROOTS, PageRefused, check_markup
from web_pages.stored_pages import answer_probes

PROBES = (
    TextProbe(value="nowhere"),
    TextProbe(value="nowhere", css="div, p"),
    ElementProbe(selector=css("div:has-text('nowhere')")),
    ElementProbe(selector=css("i:has-text('x') ~ i")),
    ElementProbe(selector=css("div:has(i:has-text('nowhere')) i")),
    FormProbe(),
)

BOMBS = {
    "a hundred thousand nested elements": ("<div>" * 100_000, "nested too deeply"),
    "slashes do not close": ("<div/>" * 100_000, "nested too deeply"),
    "unknown elements": ("<b&>" * 100_000, "nested too deeply"),
    "tables in tables": ("<table><tr><td>" * 50_000, "nested too deeply"),
    "formatting opened again in every paragraph": (
        "<p>" + "".join(f"<b x={n}>" for n in range(900)) + "</p>" + "<p>x</p>" * 50_000,
        "formatting",
    ),
    "attributes": ("<div " + " ".join(f"a{n}" for n in range(600_000)) + ">", "attributes"),
    "the same attribute": ("<div " + "a " * 2_000_000 + ">", "attributes"),
    "attributes behind quotes": ("<div x='" + "y" * 9_000 + "' " + 'a="1" ' * 3_000 + ">", "attributes"),
    "attributes behind an open quote": (
        '<div x" ' + " ".join(f"a{n}" for n in range(60_000)) + ">",
        "attributes",
    ),
    "attributes behind a script": (
        '<script>a<b x="</script><div ' + " ".join(f"a{n}" for n in range(60_000)) + ">",
        "attributes",
    ),
    "quotes left open all over": (("<a b='" + "x" * 1_000) * 1_000, "quotes"),
    "attributes that are quotes": ("<a '" + 'x" ' * 500_000, "attributes"),
    "many elements with many attributes": (
        ("<i " + " ".join(f"a{n}" for n in range(1_990)) + ">") * 60,
        "hundreds of attributes",
    ),
    "very many elements with some attributes": (
        ("<i " + " ".join(f"a{n}" for n in range(200)) + ">") * 6_000,
        "hundreds of attributes",
    ),
    "paragraphs nobody opened": ("</p>" * 1_000_000, "tags"),
    "elements": ("<p>" * (MOST_ELEMENTS + 1), "elements"),
    "options": ("<select>" + "<option>" * 100_000, "options"),
    "frames": ("<pp-frame-document srcdoc=x></pp-frame-document>" * (MOST_ROOTS + 1), "frames"),
    "shadow roots in shadow roots": ("<i><pp-shadow-root>" * 300 + "x" * 1_000_000, "repeat"),
}

HARMLESS = {
    "tags nobody closes": "<a" * 1_000_000,
    "only brackets": "<" * 1_000_000,
    "comments nobody closes": "<!--" * 500_000,
    "one long quote": "<a b='" + 'x" ' * 500_000,
    "entities": "&amp;&lol;&#x41;" * 100_000,
    "a document type with entities": '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><p>&c;</p>',
    "long text in nested elements": "<div>" * 3_000 + "word " * 300_000,
    "many siblings": "<div>" + "<i>a</i>" * 20_000,
    "many radio buttons": "<form>" + "<input type=radio required name=a>" * 10_000,
    "a page's script": "<script>" + "if(a<b&&c<d)e();" * 3_000 + "</script>",
}


def answer(html: str) -> dict[str, object]:
    return {**answer_probes(PageSnapshot(url="http://x.test/", html=html), PROBES)}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_with_the_reason(name):
    html, reason = BOMBS[name]
    with pytest.raises(PageRefused, match=reason):
        answer(html)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", HARMLESS)
def test_what_only_looks_like_a_bomb_is_answered(name):
    assert len(answer(HARMLESS[name])) == len(PROBES)


LINEAR = {
    "frames side by side": lambda n: "<iframe></iframe><pp-frame-document srcdoc=x></pp-frame-document>" * n,
    "frames among texts": lambda n: "x<!---->" * n + "<pp-frame-document srcdoc=x></pp-frame-document>" * n,
    "inline shadow roots": lambda n: "<i><pp-shadow-root>x</pp-shadow-root></i>" * n,
    "holders in holders": lambda n: "<i><pp-shadow-root srcdoc=x>" + "<pp-frame-document>" * n,
    "holders beside each other in a holder": lambda n: (
        "<i><pp-shadow-root srcdoc=x>" + "<p></p><pp-frame-document></pp-frame-document>" * n
    ),
    "options of a list": lambda n: "<select>" + "<option>a" * n,
    "options deep down": lambda n: "<div>" * n + "<option>a</option>" * n,
    "groups of options": lambda n: "<select multiple>" + "<optgroup><option>a</option></optgroup>" * n,
}
"""Pages of which n parts once took n times n steps."""


def steps(html: str) -> int:
    """What Python does to answer for a page, in byte codes."""
    count = 0

    def trace(frame, event, _argument):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        answer(html)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", LINEAR)
def test_four_times_the_page_is_about_four_times_the_work(name):
    make = LINEAR[name]
    few, many = steps(make(100)), steps(make(400))
    assert many <= 4.5 * few


@pytest.mark.parametrize("name", ["a hundred thousand nested elements", "attributes", "options"])
def test_refusing_takes_no_more_memory_than_the_page(name):
    html, _ = BOMBS[name]
    tracemalloc.start()
    try:
        with pytest.raises(PageRefused):
            answer(html)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(html) + 1_000_000


@settings(deadline=None)
@given(st.text(alphabet="<>/ab'\"= -!pi&;", max_size=300))
def test_any_markup_is_counted_and_answered(html):
    assert check_markup(html) <= html.count("<")
    assert len(answer(html)) == len(PROBES)


@settings(deadline=None, max_examples=500)
@given(
    st.lists(
        st.sampled_from(
            [*"<>\"'= /ab", "<b>", "</b>", "<div ", "<div>", "</div>", "<A x=", "b='>", 'b="', "<p>", "<i\n"]
        ),
        max_size=60,
    ).map("".join)
)
def test_what_passes_at_a_glance_passes_when_it_is_read(html):
    small = {"MOST_ATTRIBUTES": 6, "MOST_STEPS": 60, "MOST_REOPENED": 20}
    with mock.patch.multiple(page_limits, **small):
        try:
            check_markup(html, most_tags=18)
        except PageRefused:
            return
        page_limits._check_attributes(html, 12)
        page_limits._check_nesting(html, most_tags=18)


def test_words_of_an_answer_are_those_of_the_element_itself():
    html = "<div>Save <b>all</b><p>now</p></div><noscript><i>Save all</i></noscript>"
    answers = answer_probes(
        PageSnapshot(url="", html=html),
        (asked := [TextProbe(value="Save all now", css="div"), TextProbe(value="all now", css="b")]),
    )
    assert [answers[probe_key(probe)].visible for probe in asked] == [1, 0]
