"""A link is what it leads to, and what stood in a dialog is looked for in the one that is open."""

from __future__ import annotations

import pytest

from agent.healing.fingerprint_comparison import compare_fingerprints
from agent.healing.fingerprint_search import find_by_same_address, list_fingerprints_outside_dialog
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_scan import scan_page
from kb_schema.fingerprints import Fingerprint
from tests.support.pages import show

NAVIGATION = """<nav aria-label=Main><a href=/home>Home</a> <a href=/contacts/import>{}</a> <a href=/help>Help</a></nav>
<h1>Contacts</h1>"""
DIALOG = """<button>Remove</button><div role=dialog aria-label="Delete agent?"><p>Delete agent?</p>
<button>No, keep it</button><button>{}</button></div>"""


async def seen(page, html):
    await show(page, html)
    return PageFingerprints(await scan_page(page))


def called(prints, name):
    return next(known for _, known in prints.all() if known.name == name)


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (NAVIGATION.format("Add people"), True),
        (NAVIGATION.replace("/contacts/import", "/contacts/new").format("Add people"), False),
        (NAVIGATION.format("Add people") + "<footer><a href=/contacts/import>x</a></footer>", True),
        ("<footer><p>elsewhere</p><a href=/contacts/import>Add people</a></footer>", False),
    ],
)
async def test_a_link_of_another_name_is_the_one_that_leads_to_the_same_from_the_same_place(page, now, found):
    known = called(await seen(page, NAVIGATION.format("Import contacts")), "Import contacts")
    prints = await seen(page, now)
    at = find_by_same_address(prints, known)
    assert (at is not None) is found
    if at is not None:
        assert prints.of(at).name == "Add people"


async def test_no_link_that_destroys_is_taken_for_its_address(page):
    html = NAVIGATION.replace("/contacts/import", "/contacts/delete")
    known = called(await seen(page, html.format("Delete all")), "Delete all")
    assert find_by_same_address(await seen(page, html.format("Clean up")), known) is None


async def test_what_stood_in_a_dialog_is_nothing_outside_of_the_open_one(page):
    known = called(await seen(page, DIALOG.format("Delete agent")), "Delete agent")
    prints = await seen(page, DIALOG.format("Yes, remove"))
    assert [each.name for each in list_fingerprints_outside_dialog(prints, known)] == ["Remove"]
    assert list_fingerprints_outside_dialog(prints, called(prints, "Remove")) == ()
    assert list_fingerprints_outside_dialog(await seen(page, "<button>Remove</button>"), known) == ()


@pytest.mark.parametrize(("row", "same"), [((), True), (("Bulk item 7",), False)])
def test_a_field_without_a_name_is_itself_by_its_id_and_its_name_where_the_title_beside_it_is_another(
    row, same
):
    """On a list with another filter the title of the page is another one, and the fields of the header stay."""
    attributes = {"id": "search-text", "name": "@search_text"}
    common = {"role": "textbox", "tag": "input", "attributes": attributes, "twins": 1, "row": row}
    known = Fingerprint(
        **common, key=("List of issues - Unassigned",), region=("landmark List of issues - Unassigned",)
    )
    seen = Fingerprint(**common, key=("List of issues",), region=("landmark List of issues",))
    assert compare_fingerprints(known, seen).same is same
