"""Expressions: what is proposed for an element, what a page proves of it, what it reads like as source."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.healing.identity_check import take_sighting
from agent.playwright_locators.expression_candidates import list_locator_candidates
from agent.playwright_locators.locator_proof import NotALocator, select_proven_expression, to_locator
from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import LocatorLink, python_regex, python_string, to_source
from kb_schema.selectors import NameStrategy, Selector, ValueStrategy, css
from tests.support.pages import show

if TYPE_CHECKING:
    from playwright.async_api import Page

PAGE = """
<style>.away { display: none }</style>
<header><nav aria-label="Main"><a href="/a" id=nav-a>Agents</a> <a href="/c">Campaigns</a></nav></header>
<main>
  <h1>Agents</h1>
  <form aria-label="Search agents"><input type=search aria-label="Search" id=q1><button id=go1>Search</button></form>
  <form aria-label="Search logs"><input type=search aria-label="Search" id=q2><button id=go2>Search</button></form>
  <label>Given name <input id=given></label>
  <label>Password <input type=password id=pw></label>
  <label>Colour <select id=colour><option>red</option></select></label>
  <input placeholder="you@example.org" id=mail-placeholder>
  <label><input type=checkbox id=agree> I agree</label>
  <button id=save>Save</button> <button id=draft>Save draft</button>
  <table aria-label="Agents"><thead><tr><th>Name</th><th>Action</th></tr></thead><tbody>
    <tr><td>Ada Lovelace</td><td><button id=del-ada>Delete</button></td></tr>
    <tr><td>O'Brien "Bob"</td><td><button id=del-bob>Delete</button></td></tr></tbody></table>
  <ul><li>First <button id=x1>Remove</button></li><li>Second thing <button id=x2>Remove</button></li></ul>
  <p id=total data-testid=total>Total: 12</p>
  <p id=note>Nothing to see here</p>
  <div role=status id=toast>Agent created</div>
  <span class=away id=hidden-save><button>Nothing</button></span>
  <i id=a9f83c2e71></i><div class=odd><b></b><b id=second-b></b></div>
</main>
<dialog open aria-label="Delete agent?"><button id=dialog-delete>Delete</button><button id=dialog-x aria-label="Close">x</button></dialog>
<iframe id=inner srcdoc='<label>City <input id=city></label><button id=in>Go</button>'></iframe>
"""
EXPECTED = {
    "nav-a": 'page.get_by_role("link", name="Agents")',
    "given": 'page.get_by_label("Given name")',
    "pw": 'page.get_by_label("Password")',
    "colour": 'page.get_by_label("Colour")',
    "mail-placeholder": 'page.get_by_placeholder("you@example.org")',
    "agree": 'page.get_by_role("checkbox", name="I agree")',
    "save": 'page.get_by_role("button", name="Save", exact=True)',
    "draft": 'page.get_by_role("button", name="Save draft")',
    "q2": 'page.get_by_role("form", name="Search logs").get_by_label("Search")',
    "go1": 'page.get_by_role("form", name="Search agents").get_by_role("button", name="Search")',
    "del-ada": 'page.get_by_role("row").filter(has_text="Ada Lovelace").get_by_role("button", name="Delete")',
    "del-bob": """page.get_by_role("row").filter(has_text='O\\'Brien "Bob"').get_by_role("button", name="Delete")""",
    "x2": 'page.get_by_role("listitem").filter(has_text="Second thing").get_by_role("button", name="Remove")',
    "dialog-delete": 'page.get_by_role("dialog", name="Delete agent?").get_by_role("button", name="Delete")',
    "dialog-x": 'page.get_by_role("button", name="Close")',
    "total": 'page.get_by_test_id("total")',
    "note": 'page.get_by_text("Nothing to see here")',
    "toast": 'page.get_by_text("Agent created")',
    "second-b": 'page.locator("#second-b")',
}


@pytest.fixture
async def shown(blank_page: Page) -> Page:
    await show(blank_page, f"<!doctype html><title>t</title>{PAGE}")
    return blank_page


async def fingerprint_of(page: Page, css_of_it: str) -> Fingerprint:
    found = await page.query_selector(css_of_it)
    assert found is not None
    seen = await take_sighting(page, found)
    assert seen is not None
    return seen.fingerprint


async def test_the_first_that_is_proven_is_what_a_good_engineer_would_write(shown):
    written = {}
    for name in EXPECTED:
        selector = css(f"#{name}")
        found = await select_proven_expression(
            shown, selector, list_locator_candidates(selector, await fingerprint_of(shown, f"#{name}"))
        )
        assert await to_locator(shown, found).get_attribute("id") == name
        written[name] = to_source(found)
    assert written == EXPECTED


async def test_an_element_in_a_frame_is_reached_through_it(shown):
    selector = Selector(strategies=(NameStrategy(type="label", name="City"),), frame="#inner")
    found = await select_proven_expression(shown, selector, list_locator_candidates(selector, None))
    assert to_source(found) == 'page.frame_locator("#inner").get_by_label("City")'
    assert await to_locator(shown, found).get_attribute("id") == "city"


async def test_a_candidate_that_leads_elsewhere_is_not_proven(shown):
    wrong = (LocatorLink(method="get_by_role", arguments=("button",), keywords={"name": "Save draft"}),)
    unclear = (LocatorLink(method="get_by_role", arguments=("button",), keywords={"name": "Save"}),)
    nonsense = (LocatorLink(method="locator", arguments=("p[",)),)
    assert await select_proven_expression(shown, css("#save"), [wrong, nonsense]) == ()
    numbered = await select_proven_expression(shown, css("#save"), [wrong, unclear])
    assert to_source(numbered) == 'page.get_by_role("button", name="Save").nth(0)'


async def test_without_a_fingerprint_the_selector_alone_is_written_down(shown):
    by_role = Selector(strategies=(NameStrategy(type="role_name", role="button", name="Save draft"),))
    assert to_source(
        await select_proven_expression(shown, by_role, list_locator_candidates(by_role, None))
    ) == ('page.get_by_role("button", name="Save draft")')
    by_css = Selector(strategies=(ValueStrategy(type="relational_css", value="tr:has-text('Ada') button"),))
    assert to_source(
        await select_proven_expression(shown, by_css, list_locator_candidates(by_css, None))
    ) == ("""page.locator("tr:has-text('Ada') button")""")


async def test_a_value_is_written_by_its_term(blank_page):
    await show(
        blank_page,
        "<title>t</title><dl><dt>Limit<dd>3</dd><dt>Daily limit</dt><dd id=x>100</dd></dl>",
    )
    path = "//dt[normalize-space(.)='Daily limit']/following-sibling::dd[1]"
    by_term = Selector(strategies=(ValueStrategy(type="xpath", value=path),))
    found = await select_proven_expression(blank_page, by_term, list_locator_candidates(by_term, None))
    assert to_source(found) == 'page.locator("dt", has_text="Daily limit").locator("+ dd")'


async def test_a_summary_is_found_by_its_words_alone(blank_page):
    await show(
        blank_page,
        "<title>t</title><details><summary id=more>More</summary><p>Gem</p></details><details><summary>Other</summary></details>",
    )
    by_name = Selector(strategies=(NameStrategy(type="role_name", role="button", name="More"),))
    known = await fingerprint_of(blank_page, "#more")
    known = known.model_copy(update={"attributes": {}})
    found = await select_proven_expression(blank_page, by_name, list_locator_candidates(by_name, known))
    assert to_source(found) == 'page.locator("summary", has_text="More")'
    assert await to_locator(blank_page, found).get_attribute("id") == "more"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("All contacts 48 contacts", "All contacts"),
        ("Inbox (3)", "Inbox"),
        ("Step 2", "Step 2"),
        ("3 days", "3 days"),
    ],
)
def test_a_name_that_ends_in_a_number_of_things_is_asked_for_without_it_first(name, short):
    (first, *_) = list_locator_candidates(css("#x"), Fingerprint(role="link", name=name, tag="a"))
    assert to_source(first) == f'page.get_by_role("link", name="{short}")'


async def test_an_element_in_a_shadow_root_needs_no_path_through_its_hosts(blank_page):
    await show(
        blank_page,
        """<title>t</title><my-card></my-card><script>
        document.querySelector("my-card").attachShadow({mode: "open"}).innerHTML = "<button id=x>Inside</button>";
        </script>""",
    )
    pierced = Selector(strategies=(ValueStrategy(type="shadow_pierce", value="my-card >>> button"),))
    found = await select_proven_expression(blank_page, pierced, list_locator_candidates(pierced, None))
    assert to_source(found) == 'page.locator("my-card button")'
    known = Fingerprint(role="button", name="Inside", tag="button")
    found = await select_proven_expression(blank_page, pierced, list_locator_candidates(pierced, known))
    assert to_source(found) == 'page.get_by_role("button", name="Inside")'


async def test_a_pattern_and_a_filter_by_another_locator_are_followed(shown):
    by_pattern = LocatorLink(
        method="get_by_role", arguments=("button",), keywords={"name": {"regex": "^save$", "flags": "i"}}
    )
    assert await to_locator(shown, (by_pattern,)).get_attribute("id") == "save"
    holding = LocatorLink(method="filter", keywords={"has": {"locator": "#del-ada"}})
    row = to_locator(shown, (LocatorLink(method="get_by_role", arguments=("row",)), holding))
    assert await row.locator("td").first.inner_text() == "Ada Lovelace"
    last = to_locator(
        shown, (LocatorLink(method="get_by_role", arguments=("listitem",)), LocatorLink(method="last"))
    )
    assert await last.locator("button").get_attribute("id") == "x2"


def test_ids_that_a_program_made_up_are_not_used():
    made_up = Fingerprint(tag="input", role="textbox", attributes={"id": "react-select-17-input"})
    assert "react-select" not in " ".join(map(to_source, list_locator_candidates(css("input"), made_up)))


def test_an_expression_says_what_it_is_as_source():
    expression = (
        LocatorLink(method="get_by_role", arguments=("dialog",)),
        LocatorLink(
            method="get_by_text",
            arguments=({"regex": r"^Total: \d+$", "flags": "i"},),
            keywords={"exact": True},
        ),
        LocatorLink(method="first"),
        LocatorLink(method="nth", arguments=(2,)),
    )
    assert to_source(expression, "self.page") == (
        r'self.page.get_by_role("dialog").get_by_text(re.compile(r"^Total: \d+$", re.IGNORECASE), exact=True).first.nth(2)'
    )


@pytest.mark.parametrize("method", ["click", "evaluate", "page", "__class__", "wait_for"])
def test_what_makes_no_locator_is_refused(method, blank_page):
    with pytest.raises(NotALocator, match=method):
        to_locator(blank_page, (LocatorLink(method=method),))


@given(st.text())
def test_any_text_becomes_a_literal_of_itself(text):
    assert ast.literal_eval(python_string(text)) == text


@given(st.text())
def test_any_pattern_becomes_a_regex_of_itself(pattern):
    call = ast.parse(python_regex(pattern, "i"), mode="eval").body
    assert isinstance(call, ast.Call)
    assert ast.literal_eval(call.args[0]) == pattern


def test_flags_are_written_out():
    assert (
        eval(python_regex(r"a\.b", "im"), {"re": re}).flags & (re.IGNORECASE | re.MULTILINE)
        == re.IGNORECASE | re.MULTILINE
    )
