"""Signs of pages and the conditions made of them: they say what the page says, and they separate."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from kb_schema import parse_document
from kb_schema.conditions import Combined, Condition, DomContains, DomElement
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.screens import Signature
from tests.support.pages import NamedElements
from web_pages.indicator_candidates import PageProfileIndex, condition_to_json, render_condition
from web_pages.page_profiles import KINDS, PageFeature, PageProfile, build_page_profile
from web_pages.selectors.generated_names import looks_generated
from web_pages.stored_pages import StoredPage, evaluate

CONDITION = TypeAdapter(Condition)
WORDS = st.sampled_from(["Edit", "Create agent", "Create", "agent", "Delete it", "O'Brien", 'the "one"', ""])
HIDING = st.sampled_from(["", " hidden", ' style="display:none"', " data-pp-hidden", ' aria-hidden="true"'])


@st.composite
def elements(draw, depth=2):
    """Markup of the kinds signs are made of, nested, hidden, in shadow roots and in dialogs."""
    word, more, hiding = draw(WORDS), draw(WORDS), draw(HIDING)
    quoted = word.replace('"', "&quot;")
    kinds = [
        f"<h1{hiding}>{word} <b>{more}</b></h1>",
        f"<h2{hiding}>{word}</h2>",
        f"<p{hiding}>{word}</p>",
        f'<button{hiding} data-testid="{quoted}">{more}</button>',
        f"<label{hiding}>{word} <input value='{len(more)}'{hiding}></label>",
        f'<input{hiding} aria-label="{quoted}" id="{quoted}">',
        f'<a href="/x"{hiding} aria-current="page">{word}</a>',
        f'<nav{hiding} aria-label="{quoted}"><a href="/">{more}</a></nav>',
        f"<table><thead><tr><th{hiding}>{word}</th></tr></thead><tbody><tr><td>{more}</td></tr></tbody></table>",
        f"<fieldset{hiding}><legend>{word}</legend><input type=radio></fieldset>",
        f'<div class="error-message big"{hiding}>{word}</div>',
        f'<span role="status"{hiding}>{word} <i>{more}</i></span>',
        f'<input aria-invalid="true" class="is-invalid"{hiding}>',
        f'<table id="found" class="list"><tr><td{hiding}><table class="inner"><tr><td>{more}</td></tr></table></td></tr></table>',
        f'<ul class="results"><li{hiding}>{word}</li></ul>',
    ]
    if depth:
        inner = "".join(draw(st.lists(elements(depth - 1), max_size=3)))
        kinds += [
            f"<div{hiding}>{inner}</div>",
            f'<div role="dialog" aria-label="{quoted}"{hiding}>{inner}</div>',
            f"<div>{word}<pp-shadow-root>{inner}</pp-shadow-root></div>",
            f"<iframe{hiding}></iframe><pp-frame-document><html><body>{inner}</body></html></pp-frame-document>",
        ]
    return draw(st.sampled_from(kinds))


@st.composite
def pages(draw):
    body = "".join(draw(st.lists(elements(), max_size=6)))
    snapshot = PageSnapshot(
        url="http://x.test/",
        title=draw(WORDS),
        html=f"<html><head><title>t</title></head><body>{body}</body></html>",
        annotated=draw(st.booleans()),
    )
    return StoredPage(snapshot)


def stored(html: str, title: str = "") -> StoredPage:
    return StoredPage(PageSnapshot(url="http://x.test/", title=title, html=html))


def book_of(*html: str) -> PageProfileIndex:
    return PageProfileIndex([build_page_profile(stored(each)) for each in html])


@settings(max_examples=80, deadline=None)
@given(st.lists(pages(), min_size=2, max_size=3))
def test_a_sign_is_on_a_page_exactly_where_its_condition_holds(seen):
    profiles = [build_page_profile(page) for page in seen]
    signs = sorted(set().union(*(each.signs | each.states for each in profiles)), key=repr)
    conditions = [sign.condition for sign in signs]
    book = PageProfileIndex(profiles)
    for number, (page, drawn) in enumerate(zip(seen, profiles, strict=True)):
        verdicts = evaluate(page, conditions, NamedElements())
        told = {sign: verdict.held for sign, verdict in zip(signs, verdicts, strict=True)}
        assert {sign: drawn.shows(sign) for sign in signs} == told
        assert {sign: number in book.pages_with(sign) for sign in signs} == told


@settings(max_examples=50, deadline=None)
@given(st.lists(pages(), min_size=2, max_size=5), st.data())
def test_a_separator_holds_on_all_pages_of_the_one_side_and_on_none_of_the_other(seen, data):
    split = data.draw(st.integers(1, len(seen) - 1))
    book = PageProfileIndex([build_page_profile(page) for page in seen])
    holding, lacking = range(split), range(split, len(seen))
    found = book.separator(holding, lacking)
    if found is None:
        singles = book.rank(holding, lacking)
        assert not any(each.separates for each in singles)
        return
    assert found.separates
    assert (found.holds, found.of, found.elsewhere, found.others) == (split, split, 0, len(seen) - split)
    for number, page in enumerate(seen):
        (verdict,) = evaluate(page, [found.condition], NamedElements())
        assert verdict.held is (number < split)


@settings(max_examples=30, deadline=None)
@given(st.lists(pages(), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_ranking_does_not_depend_on_the_order_of_pages(seen, random):
    profiles = [build_page_profile(page) for page in seen]
    shuffled = profiles[:-1]
    random.shuffle(shuffled)
    last = len(seen) - 1
    one = PageProfileIndex(profiles).rank(range(last), [last])
    other = PageProfileIndex([*shuffled, profiles[-1]]).rank(range(last), [last])
    assert one == other


@settings(max_examples=30, deadline=None)
@given(pages())
def test_every_condition_can_be_written_into_a_signature(page):
    for sign in build_page_profile(page).signs:
        written = CONDITION.validate_python(condition_to_json(sign.condition))
        assert written == sign.condition
        assert render_condition(written).startswith('{"type": ')


def test_stable_signs_come_first():
    with_all = """
      <main><form aria-label="Agent form"><h1>Edit agent</h1>
        <label>Agent name <input id="agent-name" data-testid="agent-name-field"></label>
        <button id="save">Save changes</button></form><p>Changed by Ada</p></main>"""
    ranked = book_of(with_all, "<main><h1>Something else</h1></main>").rank([0], [1])
    assert [each.signs[0].kind for each in ranked if each.separates] == [
        "test_id", "heading", "landmark", "label", "id", "id", "control", "text",
    ]  # fmt: skip
    assert {kind.rank for kind in KINDS.values()} == set(range(len(KINDS)))


def test_what_holds_on_more_pages_beats_what_is_more_stable():
    both = '<h1>Edit agent</h1><p data-testid="{}">x</p>'
    best = book_of(both.format("one"), both.format("two"), "<h1>Create agent</h1>").rank([0, 1], [2])[0]
    assert best.condition == DomContains(type="dom_contains", value="Edit agent", selector="h1")
    assert (best.holds, best.of, best.elsewhere, best.others) == (2, 2, 0, 1)


def test_a_text_that_is_a_part_of_the_other_pages_text_does_not_separate():
    book = book_of("<h1>Agent</h1>", "<h1>Agent details</h1>")
    assert book.separator([0], [1]) is None
    found = book.separator([1], [0])
    assert found is not None
    assert found.condition == DomContains(type="dom_contains", value="Agent details", selector="h1")


def test_two_designs_of_one_screen_are_told_by_alternatives():
    book = book_of('<i data-testid="v1-edit">x</i>', '<i data-testid="v2-edit">x</i>', "<i>x</i>")
    found = book.separator([0, 1], [2])
    assert found is not None
    assert isinstance(found.condition, Combined)
    assert {part.selector for part in found.condition.conditions if isinstance(part, DomElement)} == {
        '[data-testid="v1-edit"]',
        '[data-testid="v2-edit"]',
    }


def test_pages_that_show_the_same_have_no_separator():
    book = book_of("<h1>One</h1>", "<h1>One</h1>")
    assert book.separator([0], [1]) is None
    assert book.separator([], [1]) is None


def test_banners_and_rows_are_chosen_only_where_nothing_steadier_is():
    banner = '<div role="dialog" aria-label="Cookies" data-testid="cookies"><h1>Cookies</h1></div>'
    row = '<table><tr><td><a href="/1" data-testid="ada">Ada</a></td></tr></table>'
    steady = "<p>Filled by hand</p>"
    best = book_of(f"{banner}{row}{steady}", "<p>Other</p>").rank([0], [1])[0]
    assert best.condition == DomContains(type="dom_contains", value="Filled by hand", selector="p")
    only = book_of(banner, "<p>Other</p>").separator([0], [1])
    assert only is not None
    assert only.signs[0].kind == "test_id"


def test_what_is_not_seen_is_no_sign():
    page = stored('<h1 hidden>Secret</h1><template><h1>Never</h1></template><input type="hidden" id="token">')
    assert build_page_profile(page).signs == frozenset()


def test_contents_are_no_names():
    assert build_page_profile(stored(f"<p>{'word ' * 40}</p>")).signs == frozenset()


def test_a_page_without_html_is_known_by_its_title_alone():
    page = StoredPage(PageSnapshot(url="http://x.test/", title="Inbox", text="# Inbox"))
    assert build_page_profile(page).signs == {PageFeature("title", "", "Inbox")}
    assert build_page_profile(StoredPage(PageSnapshot(url="http://x.test/"))) == PageProfile()


@pytest.mark.parametrize(
    ("name", "made_up"),
    [
        (":r1:", True),
        ("radix-:r3:", True),
        ("css-1x2y3z", True),
        ("row-10021", True),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", True),
        ("agent-name", False),
        ("save_button", False),
        ("step-2", False),
        ("deadbeef", False),
        ("h1", False),
    ],
)
def test_made_up_ids_are_told_from_given_ones(name, made_up):
    assert looks_generated(name) is made_up
    signs = build_page_profile(stored(f'<p id="{name}" data-testid="{name}">x</p>')).signs
    assert {sign.kind for sign in signs} == ({"text"} if made_up else {"text", "id", "test_id"})


def test_a_proposal_is_a_document_that_loads():
    page = "<h1>It's \"here\"</h1><input aria-label='Name'>"
    for each in book_of(page, "").rank([0], [1]):
        screen = {
            "type": "screen",
            "screen_id": "one",
            "name": "One",
            "website_id": "w",
            "state_signature": {"required_indicators": [condition_to_json(each.condition)]},
        }
        loaded = parse_document(screen)
        assert isinstance(loaded.state_signature, Signature)
        assert loaded.state_signature.required_indicators == (each.condition,)


@pytest.mark.parametrize(
    "html",
    [
        "<div class=trigger><span>Active issues</span><svg></svg></div>",
        "<table><tr><td>1</td><td><div>Active issues</div></td></tr></table>",
        "<div>Active issues</div>",
    ],
)
def test_a_short_text_is_shown_by_every_part_for_which_its_condition_holds(html):
    page = StoredPage(PageSnapshot(url="http://x.test/", html=f"<html><body>{html}</body></html>"))
    sign = PageFeature("said", "div", "Active issues")
    assert evaluate(page, [sign.condition], NamedElements())[0].held
    assert build_page_profile(page).shows(sign)


def test_a_text_that_a_part_only_holds_is_not_chosen():
    page = StoredPage(PageSnapshot(url="http://x.test/", html="<div><span>Active issues</span></div>"))
    profile = build_page_profile(page)
    assert PageFeature("said", "div", "Active issues") in profile.echoes
    assert PageFeature("said", "div", "Active issues") not in profile.states
