"""Stored pages from anywhere: limits, odd markup, and selectors nobody can answer."""

from __future__ import annotations

import time

import pytest

from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import ElementProbe, FormProbe, TextProbe, probe_key
from kb_schema.selectors import Selector, css
from web_pages.page_limits import PageRefused
from web_pages.stored_pages import StoredPage, answer_probes


def stored(html: str, *, annotated: bool = False) -> StoredPage:
    return StoredPage(PageSnapshot(url="http://x.test/", html=html, annotated=annotated))


def test_html_over_the_limit_is_refused():
    with pytest.raises(PageRefused, match="101 characters; 100 are allowed"):
        answer_probes(PageSnapshot(url="http://x.test/", html="x" * 101), [FormProbe()], max_html=100)


@pytest.mark.parametrize("html", ["<div>" * 100_000 + "x", "<b><i>" * 50_000])
def test_absurd_nesting_is_refused_quickly(html):
    began = time.monotonic()
    with pytest.raises(PageRefused, match="nested"):
        answer_probes(PageSnapshot(url="http://x.test/", html=html), [FormProbe()])
    assert time.monotonic() - began < 5


def test_deep_nesting_is_answered():
    page = stored("<div>" * 3_000 + "<button>Deep <b>down</b></button>")
    assert page.answer(TextProbe(value="Deep down")).visible == 1
    assert page.answer(TextProbe(value="Deep down", css="button")).visible == 1
    assert (
        page.answer(
            ElementProbe(selector=Selector.model_validate({"type": "xpath", "value": "//button[b]"}))
        ).visible
        == 1
    )
    named = Selector.model_validate({"type": "role_name", "role": "button", "name": "deep down"})
    assert page.answer(ElementProbe(selector=named)).visible == 1


@pytest.mark.parametrize(
    "html",
    ["<", "<!--", "</p>", "<p", "\x00", "<a b='", "<table><b>x", "<svg><p>x", "<select><div>x", "<frameset>"],
)
def test_broken_markup_is_no_error(html):
    page = stored(html)
    assert page.answer(TextProbe(value="nothing like it")).visible == 0
    assert page.answer(FormProbe()).error is None


@pytest.mark.parametrize(
    "selector",
    [
        "p[",
        "p:nonsense",
        "p:has-text('x",
        "p >",
        "> p",
        ",p",
        "p:has-text('x'),",
        "p:hover::before",
        "::before:has-text(x)",
    ],
)
def test_css_that_cannot_be_parsed_is_an_answer_with_an_error(selector):
    page = stored("<p>x</p>")
    for probe in (ElementProbe(selector=css(selector)), TextProbe(value="x", css=selector)):
        assert page.answer(probe).error


@pytest.mark.parametrize("expression", ["//p[", "count(//p)", "'x'", "//foo:p", "//p[$x]"])
def test_xpath_that_selects_nothing_is_an_answer_with_an_error(expression):
    selector = Selector.model_validate({"type": "xpath", "value": expression})
    assert stored("<p>x</p>").answer(ElementProbe(selector=selector)).error


def test_attributes_xml_does_not_know_do_not_break_xpath():
    page = stored('<p @click="x" :class="y" xlink:href="z" data-a="\x01">x</p><x:y>z</x:y>')
    assert (
        page.answer(ElementProbe(selector=Selector.model_validate({"type": "xpath", "value": "//p"}))).visible
        == 1
    )


def test_inline_holders_of_shadow_roots_and_frames_are_understood():
    page = stored(
        "<x-a><pp-shadow-root><p class=s>In shadow</p></pp-shadow-root></x-a>"
        "<iframe id=f></iframe><pp-frame-document><p class=f>In frame</p></pp-frame-document>",
        annotated=True,
    )
    assert page.answer(TextProbe(value="In shadow", css="p.s")).visible == 1
    assert page.answer(ElementProbe(selector=css("x-a p"))).present == 0
    framed = Selector.model_validate({"strategies": [{"type": "css", "value": "p"}], "frame": "#f"})
    assert page.answer(ElementProbe(selector=framed)).text == "In frame"


def test_each_question_is_answered_once_under_its_key():
    probe = TextProbe(value="x")
    answers = answer_probes(PageSnapshot(url="http://x.test/", html="<p>x"), [probe, TextProbe(value="x")])
    assert list(answers) == [probe_key(probe)]


def test_a_page_of_five_thousand_elements_is_answered_in_time():
    rows = "".join(
        f"<tr><td>{n}<td><label>Row {n} <input></label><td><button>Delete</button>" for n in range(1_000)
    )
    began = time.monotonic()
    page = stored(f"<table>{rows}</table>")
    label = Selector.model_validate({"type": "label", "name": "Row 777"})
    assert page.answer(ElementProbe(selector=label)).visible == 1
    row = Selector.model_validate({"type": "css", "value": "tr:has-text('Row 500') button"})
    assert page.answer(ElementProbe(selector=row)).visible == 1
    assert time.monotonic() - began < 5
