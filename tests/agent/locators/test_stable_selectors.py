"""Selectors on live pages: the page confirms each, and a stored snapshot gives the very same ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.locators.page_index import IndexedElement
from agent.locators.page_scan import scan_page
from agent.locators.stable_selectors import GONE_REASON, choose_element_selectors, choose_selectors
from agent.page import in_page_library
from agent.page.live_selectors import resolve_selector
from agent.page.snapshot_capture import take_snapshot
from kb_schema.page_snapshots import PLACE_ATTRIBUTE
from kb_schema.selectors import Selector
from tests.agent.locators.target_lists import SIGNED_OUT, opened
from tests.support.pages import show
from tests.support.rotation import dice
from web_pages.selectors.selector_generator import ELSEWHERE, PageSelectors, SelectorChoice
from web_pages.stored_pages import StoredPage

SPADEWORKS = ("/login", "/forgot-password", "/dashboard", "/agent", "/agent/create", "/contacts", "/contacts/import",
              "/campaigns", "/inbox", "/settings")  # fmt: skip
ADMIN = ("/admin/", "/admin/library/book/", "/admin/library/author/add/", "/admin/library/tag/", "/admin/password_change/",
         "/admin/auth/user/", "/admin/auth/user/add/")  # fmt: skip
MINIWOB_SAMPLE = 6


async def judged(page, *, least: int = 2) -> list[tuple[IndexedElement, SelectorChoice]]:
    """What can be operated on the page, with its selectors, after all that must hold was checked."""
    index = await scan_page(page)
    wanted = index.interactive
    chosen = await choose_selectors(page, index, [each.at for each in wanted])
    stored = StoredPage(await take_snapshot(page, look=index.token))
    places = {e.get(PLACE_ATTRIBUTE): e for root in stored.roots for e in root.elements}
    offline = PageSelectors(StoredPage(await take_snapshot(page)))
    twins = {
        (at, e.order): twin
        for at, (root, other) in enumerate(zip(stored.roots, offline.page.roots, strict=True))
        for e, twin in zip(root.elements, other.elements, strict=True)
    }
    for element, choice in zip(wanted, chosen, strict=True):
        marked = places[str(element.at)]
        twin = twins[stored.roots.index(marked.root), marked.order]
        assert choice == offline.of(twin), f"live and stored differ for {element}"
        if not least:
            continue
        assert choice.selector is not None, (element, choice.skipped)
        assert len(choice.selector.strategies) >= least, (element, choice.skipped)
        assert ELSEWHERE not in choice.skipped.values(), (element, choice.skipped)
    return list(zip(wanted, chosen, strict=True))


def tally(chosen: list[tuple[IndexedElement, SelectorChoice]]) -> Counter[str]:
    """How many elements, and of how many two ways say what they are."""
    told = [
        [s for s in choice.selector.strategies if not s.fallback] for _, choice in chosen if choice.selector
    ]
    return Counter(elements=len(chosen), told=sum(len(ways) >= 2 for ways in told))


@pytest.mark.parametrize(
    "paths",
    [
        ("/login", *dice("selecting-pages").sample(SPADEWORKS[2:], 3)),
        pytest.param(SPADEWORKS, marks=pytest.mark.nightly),
    ],
    ids=["sample", "all"],
)
async def test_on_the_sample_site_everything_has_two_ways_confirmed_live_and_stored(
    browser, spadeworks, paths
):
    counted: Counter[str] = Counter()
    for signed_out in (True, False):
        async with opened(browser, "spadeworks", spadeworks, signed_out=signed_out) as page:
            for path in paths:
                if (path in SIGNED_OUT) is signed_out:
                    await page.goto(spadeworks + path)
                    counted += tally(await judged(page))
    assert counted["elements"] > 10 * len(paths) - 20
    assert counted["told"] / counted["elements"] > 0.6, counted  # rows of a list are told by their words only


async def test_on_the_admin_of_django_likewise(browser, django_admin):
    elements = 0
    async with opened(browser, "django", django_admin) as page:
        for path in dice("selecting-admin").sample(ADMIN, 3):
            await page.goto(django_admin + path)
            elements += len(await judged(page))
    assert elements > 50


async def test_on_pages_of_miniwob_likewise(page, miniwob_pages):
    for file in dice("selecting-miniwob").sample(miniwob_pages, MINIWOB_SAMPLE):
        await page.goto(file.as_uri())
        await page.evaluate("() => { if (window.core) clearTimeout(core.EP_TIMER); }")
        await judged(page)


HARD = """<!doctype html><title>t</title>
<style>.gone{display:none}</style>
<div id=":r1:"><label for=":r2:">Name</label><input id=":r2:" class="css-1a2b3c"></div>
<button class="gone">Save</button><button>Save</button><pre>
<button>In   a
pre</button></pre><p><div><button>Torn</button></div></p>
<table><tr><td>Bob</td><td><button>Delete</button></td></tr><tr><td>O'Brien "B"</td><td><button>Delete</button></td></tr></table>
<my-card id=one></my-card><my-card></my-card>
<iframe id=inner srcdoc="<button id=deep>Deep</button><button>a</button><button>a</button>"></iframe><iframe srcdoc="<button id=deep>Deep</button>"></iframe>
<svg width=9 height=9><a href="#x"><rect width=9 height=9></rect></a></svg><fb:like tabindex=0>like</fb:like>
<button>a&nbsp;b</button><button>  a  b </button><textarea>typed</textarea><select><option>One<option>Two</select>
<button><script>1</script>Scripted</button><button title="c\\d &quot;q&quot; 'x'"></button><div contenteditable>edit</div>
<script>for (const card of document.querySelectorAll('my-card')) {
  card.attachShadow({mode: 'open'}).innerHTML = '<button class="go">Go <slot></slot></button><slot name=x></slot>';
}
const odd = document.createElement('p'); odd.innerHTML = 'x<button>Late</button>'; document.querySelector('pre').append(odd);
</script>"""


async def test_hard_pages_give_the_same_selectors_live_and_stored(page):
    await show(page, HARD)
    # One way only: a component that is there twice, whose insides no selector of one root tells apart.
    for element, choice in await judged(page, least=1):
        assert choice.selector is not None
        assert len(choice.selector.strategies) >= 2 or element.name.startswith("Go") or ":" in element.tag
        for strategy in choice.selector.strategies:
            found = await resolve_selector(
                page, Selector(strategies=(strategy,), frame=choice.selector.frame)
            )
            assert found.resolved, (element, strategy)
            assert (found.role, found.name) == (element.role, element.name)


_WORDS = st.sampled_from(["Save", "O'Brien", "Row 7", "a  b", 'say "x"', "\u00dcber", "3 new", "c\\d"])
_TAGS = st.sampled_from(
    ["div", "button", "a", "input", "section", "tr", "td", "li", "label", "h2", "form", "p", "svg", "my-el"]
)
_ATTRIBUTES = st.dictionaries(
    st.sampled_from(["id", "class", "name", "data-qa", "data-testid", "aria-label", "role", "href", "title", "for", "hidden"]),
    st.sampled_from(["save", "save-btn", ":r1:", "css-1x2y3z", "row_42", "button", "link", "O'Brien", ""]),
    max_size=3,
)  # fmt: skip


def _markup(tag: str, attributes: dict[str, str], inner: list[str]) -> str:
    told = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{told}>{''.join(inner)}" + ("" if tag == "input" else f"</{tag}>")


_PARTS = st.recursive(
    _WORDS.map(escape),
    lambda inner: st.one_of(
        st.builds(_markup, _TAGS, _ATTRIBUTES, st.lists(inner, max_size=4)),
        inner.map("<x-host><template shadowrootmode=open>{}</template></x-host>".format),
        inner.map(lambda html: f'<iframe srcdoc="{escape(html)}"></iframe>'),
    ),
    max_leaves=10,
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(_PARTS, min_size=1, max_size=3))
async def test_any_page_gives_the_same_selectors_live_and_stored(page, parts):
    await page.unroute_all()
    await show(page, f"<!doctype html><title>t</title><body>{''.join(parts)}<button>Go</button>")
    assert await judged(page, least=0)


async def test_an_element_in_hand_has_the_selectors_it_has_in_a_look(page):
    await show(page, "<button id=a>One</button><p><button class=two>Two</button></p>")
    handle = await page.query_selector(".two")
    choice = await choose_element_selectors(page, handle)
    index = await scan_page(page)
    at = next(each.at for each in index.elements if each.name == "Two")
    assert choice == (await choose_selectors(page, index, [at]))[0]
    assert choice.selector is not None
    assert [s.type for s in choice.selector.strategies] == ["xpath-text", "xpath-class", "css"]


async def test_an_element_in_hand_is_answered_without_the_library_installed(browser):
    context = await browser.new_context()
    page = await context.new_page()
    await show(page, "<button id=a>One</button>")
    choice = await choose_element_selectors(page, await page.query_selector("button"))
    assert choice.selector is not None
    assert choice.selector.strategies[0].type == "id"
    await context.close()


async def test_an_element_that_is_gone_has_no_selector_and_the_reason_says_so(page):
    await show(page, "<button id=a>One</button><button id=b>Two</button>")
    index = await scan_page(page)
    gone, there = [each.at for each in index.elements if each.tag == "button"]
    await page.evaluate("() => document.querySelector('#a').remove()")
    first, second = await choose_selectors(page, index, [gone, there])
    assert first.selector is None
    assert set(first.skipped.values()) == {GONE_REASON}
    assert second.selector is not None


async def test_secrets_are_in_no_selector(page):
    await show(
        page,
        "<p data-pp-secret title=hush>hush</p><button class=x><b id=s>hush</b> now</button><input type=password value=hush title=code>",
    )
    index = await scan_page(page, everything=True)
    secrets: Sequence[Selector] = [Selector.model_validate("#s")]
    chosen = await choose_selectors(page, index, [each.at for each in index.elements], secrets=secrets)
    assert "hush" not in "".join(map(str, chosen))


async def test_marks_of_a_look_are_in_no_other_snapshot_and_not_in_the_page(page):
    await show(page, f"<button {PLACE_ATTRIBUTE}=7>One</button>")
    index = await scan_page(page)
    await choose_selectors(page, index, [0])
    assert PLACE_ATTRIBUTE not in (await take_snapshot(page)).html
    assert (
        await page.evaluate("() => document.querySelectorAll('[data-pp-at]').length") == 1
    )  # the page's own


async def test_nothing_asked_is_nothing_answered(page):
    await show(page, "<p>x</p>")
    assert await choose_selectors(page, await scan_page(page), []) == []
    assert in_page_library.library_source().count("function remember(") == 1


@pytest.mark.nightly
async def test_on_all_pages_of_miniwob(page, miniwob_pages):
    for file in miniwob_pages:
        await page.goto(file.as_uri())
        await judged(page)
