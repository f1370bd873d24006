"""Any element of a stored page has selectors that lead to it alone, best first, and reasons for the rest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector
from web_pages.selectors.selector_generator import (
    COUNTS,
    IN_SHADOW,
    NOT_UNIQUE,
    ORDER,
    NoSelector,
    PageSelectors,
    generate_selector,
)
from web_pages.stored_pages import StoredPage


def stored(html: str, *, annotated: bool = False) -> StoredPage:
    return StoredPage(PageSnapshot(url="http://x.test/", html=html, annotated=annotated))


def said(html: str) -> dict[str, str]:
    """What is said of the element marked `@t`, by kind; every strategy leads to it alone."""
    page = stored(html.replace("@t", "__id__=t"))
    element = next(each for root in page.roots for each in root.elements if "__id__" in each.attributes)
    choice = PageSelectors(page).of(element)
    assert [each.kind for each in choice.considered] == [kind for kind in ORDER if kind != "shadow_pierce"]
    assert choice.selector is not None
    assert generate_selector(page, element) == choice.selector
    assert "__id__" not in choice.selector.model_dump_json()
    for strategy in choice.selector.strategies:
        assert page.resolve(Selector(strategies=(strategy,))).found == (element,)
    return {
        each.kind: each.strategy.value if each.strategy else f"- {each.reason}" for each in choice.considered
    }


def test_the_order_is_the_documented_one_and_every_kind_is_told():
    html = "<button data-qa=a data-testid=b id=c aria-label=Save class=primary @t>Save it</button><button>x</button>"
    assert said(html) == {
        "data-qa": "a", "data-testid": "b", "id": "c", "aria": "Save", "xpath-text": "//button[normalize-space()='Save it']",
        "xpath-class": "//button[contains(concat(' ', normalize-space(@class), ' '), ' primary ')]", "css": "button.primary",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("html", "kind", "value"),
    [
        # what was made up is never used, wherever it is
        ("<div id=':r1:'><button id=':r2:' class='css-1a2b3c' @t>Go</button></div><button class='css-1a2b3c'>No</button>", "id", "- looks generated: ':r2:'"),
        ("<div id=':r1:'><button class='css-1a2b3c' @t>Go</button></div><button>Go</button>", "css", "html > body > div > button"),
        ("<button data-testid='row-10021' @t>x</button>", "data-testid", "- looks generated: 'row-10021'"),
        # what a badge says is no name
        ("<a @t>Inbox <span>3</span></a><a>Inbox old <span>3</span></a>", "xpath-text", "//a[text()[normalize-space()='Inbox']]"),
        ("<button @t>Cart <sup>99+</sup></button>", "xpath-text", "//button[text()[normalize-space()='Cart']]"),
        ("<a @t>Chat <time>12:05</time></a>", "xpath-text", "//a[text()[normalize-space()='Chat']]"),
        ("<a @t>Chat <small>5 min ago</small> <b>2</b></a>", "xpath-text", "//a[text()[normalize-space()='Chat']]"),
        ("<a @t>Inbox <b>two</b></a>", "xpath-text", "//a[normalize-space()='Inbox two']"),
        ("<button @t>Messages (12)</button><button>Message</button>", "xpath-text", "//button[starts-with(normalize-space(), 'Messages (')]"),
        # not unique
        ("<i data-testid=a @t></i><i data-testid=a></i>", "data-testid", f"- {NOT_UNIQUE}"),
        ("<i id=a @t></i><i id=a hidden></i>", "id", f"- {NOT_UNIQUE}"),
        # ... but good enough inside something
        ("<p data-testid=x><i data-testid=a @t></i></p><i data-testid=a></i>", "css", '[data-testid="x"] i[data-testid="a"]'),
        # words: the element's own, its label's, its button text
        ("<button @t>Say <b>it</b></button><button>Say</button>", "xpath-text", "//button[normalize-space()='Say it']"),
        ("<label for=':r1:'>Name</label><input id=':r1:' @t>", "xpath-text", "//input[@id=//label[normalize-space()='Name']/@for]"),
        ("<label>Name <input @t></label><input>", "xpath-text", "//label[normalize-space()='Name']//input"),
        ("<label>Name <input name=a><input name=b @t></label>", "xpath-text", "- absent"),
        ("<input type=submit value='Log in' @t><input type=submit>", "xpath-text", "//input[@value='Log in']"),
        ("<a href=/a @t><i aria-hidden=true>AB</i><span>Ann Bell</span></a>", "xpath-text", "//a[.//span[normalize-space()='Ann Bell']]"),
        ("<button @t>Inbox (3)</button>", "xpath-text", "//button[starts-with(normalize-space(), 'Inbox (')]"),
        ("<button @t>Say \"it's\"</button>", "xpath-text", "//button[normalize-space()=concat('Say \"it', \"'\", 's\"')]"),
        # the row by its cell, the section by its heading
        ("<table><tr><td>Bob<td><button @t>Delete</button><tr><td>Al<td><button>Delete</button></table>", "xpath-text",
         "//tr[.//td[normalize-space()='Bob']]//button[normalize-space()='Delete']"),
        ("<div role=listitem><b>Bob</b><a @t>x</a></div><div role=listitem><b>Al</b><a>x</a></div>", "xpath-text",
         "//div[@role='listitem'][.//b[normalize-space()='Bob']]//a[normalize-space()='x']"),
        ("<section><h2>One</h2><button @t>Save</button></section><section><h2>Two</h2><button>Save</button></section>", "xpath-text",
         "//section[.//h2[normalize-space()='One']]//button[normalize-space()='Save']"),
        # attributes in their order; two together; what stands around
        ("<input name=a type=text @t><input name=b type=text>", "css", 'input[name="a"]'),
        ("<input name=s value=l type=radio @t><input name=s value=m type=radio><input name=u value=l type=radio>", "css", 'input[name="s"][value="l"]'),
        ("<form id=f><button type=submit @t></button></form><form><button type=submit></button></form>", "css", '[id="f"] button[type="submit"]'),
        ("<input type=password @t><input type=text>", "css", 'input[type="password"]'),
        # only counting is left
        ("<button></button><button @t></button>", "xpath-class", "//html/body/button[2]"),
        ("<i data-testid=a id=b @t></i><i></i>", "css", f"- {COUNTS}"),
        # namespaces and odd names
        ("<svg><path d=x @t></path></svg>", "xpath-class", "//*[local-name()='path']"),
        ("<my-el data-kind=a @t></my-el>", "xpath-class", "//my-el[@data-kind='a']"),
        ("<b class='a:b c.d 1x' data-role=z @t></b>", "css", 'b[data-role="z"]'),
    ],
)  # fmt: skip
def test_what_is_said_of_an_element(html, kind, value):
    assert said(html)[kind] == value


def test_states_values_and_our_own_annotations_are_never_used():
    html = (
        "<input data-pp-value=x data-pp-name=n data-state=open aria-expanded=true style='a:b' tabindex=1 value=typed @t "
        "onclick=go() checked class='active is-open' data-index=4><input>"
    )
    assert said(html) | {"id": "", "xpath-class": "", "css": ""} == {
        "data-qa": "- absent", "data-testid": "- absent", "id": "", "aria": "- absent", "xpath-text": "- absent", "xpath-class": "", "css": "",
    }  # fmt: skip
    assert said(html)["css"] == "html > body > input:nth-of-type(1)"


def test_what_only_counts_is_tried_last_and_only_where_it_is_needed():
    page = stored("<button></button><button>Save</button><button></button>")
    first, second, _third = [each for each in page.roots[0].elements if each.tag == "button"]
    assert [s.fallback for s in generate_selector(page, first).strategies] == [True, True]
    assert [(s.type, s.fallback) for s in generate_selector(page, second).strategies] == [
        ("xpath-text", False),
        ("xpath-class", True),
    ]


def test_what_a_button_says_counts_as_telling():
    page = stored("<input type=submit value='Log in'><input type=submit value=2>")
    inputs = [each for each in page.roots[0].elements if each.tag == "input"]
    assert [s.fallback for s in generate_selector(page, inputs[0]).strategies] == [False, True]
    assert {s.fallback for s in generate_selector(page, inputs[1]).strategies} == {True}


SHADOWS = """<my-card id=one><pp-shadow-root srcdoc='<button class=go>Go</button><x-in><pp-shadow-root srcdoc="&lt;i title=deep&gt;&lt;/i&gt;"></pp-shadow-root></x-in>'></pp-shadow-root></my-card>
<my-card id=two><pp-shadow-root srcdoc='<button class=go>Go</button><b title=only></b>'></pp-shadow-root></my-card>"""


def test_through_shadow_roots_the_way_leads_over_their_hosts():
    page = stored(SHADOWS)
    for root in page.roots[1:]:
        for element in root.elements:
            choice = PageSelectors(page).of(element)
            assert choice.selector is not None, choice
            for strategy in choice.selector.strategies:
                assert page.resolve(Selector(strategies=(strategy,))).found == (element,)
            assert choice.skipped["xpath-text"] == IN_SHADOW
    go = page.roots[1].elements[0]
    assert [(s.type, s.value) for s in generate_selector(page, go).strategies] == [
        ("shadow_pierce", 'my-card[id="one"] >>> button.go')
    ]


FRAMES = """<button id=save>Save</button><iframe name=left></iframe><pp-frame-document srcdoc="<button id=save>Save</button><p><button>Other</button></p>"></pp-frame-document>
<iframe name=right></iframe><pp-frame-document srcdoc="<button id=save>Save</button>"></pp-frame-document>"""


def test_an_element_of_a_frame_is_looked_for_in_that_frame_only():
    page = stored(FRAMES)
    left = next(each for each in page.roots[1].elements if each.get("id") == "save")
    selector = generate_selector(page, left)
    assert selector.frame == 'iframe[name="left"]'
    assert [(s.type, s.value) for s in selector.strategies][:2] == [
        ("id", "save"),
        ("xpath-text", "//button[normalize-space()='Save']"),
    ]
    assert page.resolve(selector).element is left


def test_where_nothing_leads_to_an_element_alone_the_error_says_why():
    inner = "<p><iframe></iframe><pp-frame-document srcdoc='<b>x</b>'></pp-frame-document></p>"
    quoted = inner.replace("&", "&amp;").replace('"', "&quot;")
    twice = f'<iframe></iframe><pp-frame-document srcdoc="{quoted}"></pp-frame-document>'
    page = stored(f"{twice}<div>{twice}</div>")
    deepest = next(root for root in page.roots if any(each.tag == "b" for each in root.elements))
    with pytest.raises(
        NoSelector, match=r"no selector matches only this b.*no selector matches only its frame"
    ) as told:
        generate_selector(page, deepest.elements[-1])
    assert set(told.value.skipped) == set(ORDER)


# -- any page --------------------------------------------------------------------------------------

_NAMES = st.sampled_from(
    [
        "save",
        "list",
        ":r1:",
        "css-1a2b3c",
        "row-10021",
        "is-open",
        "a b",
        "o'x",
        'q"q',
        "é",
        "mt-4",
        "<&>",
        "x]y",
        "\\",
    ]
)
_TEXTS = st.sampled_from(
    [
        "Save",
        "Delete",
        "O'Brien",
        'Say "x"',
        "3 messages",
        "",
        " two  words ",
        "a\u00a0b",
        "é",
        "x" * 90,
        "Save",
    ]
)
_ATTRIBUTES = st.dictionaries(
    st.sampled_from(["id", "class", "name", "data-qa", "data-testid", "data-kind", "aria-label", "role", "type", "href", "title", "for", "hidden"]),
    _NAMES,
    max_size=3,
)  # fmt: skip
_TAGS = st.sampled_from(
    [
        "div",
        "button",
        "a",
        "span",
        "input",
        "section",
        "tr",
        "td",
        "li",
        "ul",
        "label",
        "h2",
        "form",
        "table",
        "p",
        "svg",
        "my-el",
    ]
)


def _markup(tag: str, attributes: dict[str, str], inner: list[str]) -> str:
    told = "".join(
        f' {name}="{value.replace("&", "&amp;").replace(chr(34), "&quot;")}"'
        for name, value in attributes.items()
    )
    return f"<{tag}{told}>{''.join(inner)}" + ("" if tag == "input" else f"</{tag}>")


_PAGES = st.recursive(
    _TEXTS,
    lambda inner: st.one_of(
        st.builds(_markup, _TAGS, _ATTRIBUTES, st.lists(inner, max_size=4)),
        inner.map(lambda html: f"<x-host><pp-shadow-root srcdoc=\"{html.replace('&', '&amp;').replace(chr(34), '&quot;')}\"></pp-shadow-root></x-host>"),
        inner.map(lambda html: f"<iframe></iframe><pp-frame-document srcdoc=\"{html.replace('&', '&amp;').replace(chr(34), '&quot;')}\"></pp-frame-document>"),
    ),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(_PAGES, min_size=1, max_size=4), st.booleans())
def test_on_any_page_every_strategy_leads_to_its_element_alone_and_uses_nothing_made_up(parts, annotated):
    page = stored("<!doctype html>" + "".join(parts), annotated=annotated)
    selectors = PageSelectors(page)
    for root in page.roots:
        for element in root.elements[:40]:
            choice = selectors.of(element)
            kinds = [each.kind for each in choice.considered if each.strategy is not None]
            assert kinds == sorted(kinds, key=ORDER.index)
            assert all(each.reason for each in choice.considered if each.strategy is None)
            for strategy in choice.selector.strategies if choice.selector else ():
                assert page.resolve(Selector(strategies=(strategy,), frame=choice.selector.frame)).found == (
                    element,
                )
                assert not any(
                    made in strategy.value
                    for made in (":r1:", "css-1a2b3c", "row-10021", ".is-open", "data-pp-")
                )
            if root.kind == "document":
                assert choice.selector is not None, choice.skipped  # counting always leads somewhere


@settings(max_examples=20, deadline=None)
@given(st.lists(_PAGES, min_size=1, max_size=3))
def test_the_same_page_gives_the_same_selectors_whoever_asks_first(parts):
    html = "".join(parts)
    one, two = stored(html), stored(html)
    forward = [PageSelectors(one).of(each).selector for root in one.roots for each in root.elements[:15]]
    shared = PageSelectors(two)
    backward = [
        shared.of(each).selector for root in reversed(two.roots) for each in reversed(root.elements[:15])
    ]
    assert len(forward) == len(backward)
    assert {str(each) for each in forward} == {str(each) for each in backward}
