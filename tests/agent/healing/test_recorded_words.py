"""Whether the words of an element contradict the recorded ones, on pages before and after a change."""

from __future__ import annotations

import pytest

from agent.healing.fellow_search import find_among_fellows
from agent.healing.fingerprint_search import SearchOutcome
from agent.healing.recorded_words import RecordedElement, list_harms
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_scan import scan_page
from kb_schema.fingerprints import Fingerprint
from tests.support.pages import show

FORM = "<main><h1>Issue 12</h1><form action=/issue><label>Title <input name=title></label> {}</form></main>"


async def _seen(page, html):
    """The page index, and the place of the element that has the id `it`."""
    await show(page, html)
    index = await scan_page(page)
    return index, next(each.at for each in index.elements if each.id == "it")


async def _conflict(page, before, now, **more):
    index, at = await _seen(page, before)
    recorded = RecordedElement(PageFingerprints(index).of(at), **more)
    index, at = await _seen(page, now)
    return recorded.find_conflict(index, at, PageFingerprints(index).of(at))


def _button(words):
    return FORM.format(f"<button id=it>{words}</button>")


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Submit Changes", "Submit New Entry"),
        ("Save", "Delete account"),
        ("Speichern", "Konto löschen"),
        ("Enregistrer", "Supprimer le compte"),
        ("Weiter", "Kostenpflichtig bestellen"),
        ("Aktivieren", "Deaktivieren"),
        ("Publish", "Unpublish"),
        ("Lock", "Unlock"),
        ("Archive", "Delete"),
        ("Save", "🗑 Everything"),
    ],
)
async def test_another_act_contradicts(blank_page, before, now):
    conflict = await _conflict(blank_page, _button(before), _button(now))
    assert conflict is not None
    assert repr(before) in conflict
    assert repr(now) in conflict


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Save", "Save changes"),
        ("Save", "SAVE"),
        ("Save", "Update"),
        ("Delete", "Remove"),
        ("Sichern", "Übernehmen und schließen"),
        ("Inbox (3)", "Inbox (5)"),
        ("Inbox", "Inbox 5"),
        ("<svg></svg>", "Delete"),
        ("Save", "<svg></svg>"),
        ("→", "Next"),
    ],
)
async def test_a_change_of_wording_in_the_same_place_does_not_contradict(blank_page, before, now):
    assert await _conflict(blank_page, _button(before), _button(now)) is None


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (_button("Save"), FORM.format("<button id=it>Save as copy</button> <button>Save</button>")),
        (
            FORM.format("<label>Owner <input id=it></label>"),
            FORM.format("<label>Kind <input id=it></label> <label>Owner <input></label>"),
        ),
        (
            FORM.format("<label>Owner <input id=it></label> <label>Kind <input></label>"),
            FORM.format("<label>Kind <input id=it></label>"),
        ),
        (
            _button("Übernehmen"),
            "<nav><h2>Menu</h2><p>Signed in</p><button id=it>Berichte</button><button>Karte</button></nav>",
        ),
    ],
    ids=["another button", "another field", "a neighbour", "another place"],
)
async def test_other_words_contradict_if_they_belong_to_another_element(blank_page, before, now):
    assert await _conflict(blank_page, before, now) is not None


async def test_of_the_first_of_a_list_only_another_act_contradicts(blank_page):
    def rows(*names):
        items = "".join(
            f"<li><button {'' if at else 'id=it'}>{name}</button></li>" for at, name in enumerate(names)
        )
        return f"<ul>{items}</ul>"

    one, other, harmful = rows("Ann", "Bo"), rows("Bo", "Ann"), rows("Delete all", "Ann")
    assert await _conflict(blank_page, one, other) is not None
    assert await _conflict(blank_page, one, other, whichever=True) is None
    assert await _conflict(blank_page, one, harmful, whichever=True) is not None


@pytest.mark.parametrize("opens", ["summary", "button aria-haspopup=menu"])
async def test_a_menu_of_a_row_may_say_the_state_of_its_row(blank_page, opens):
    def rows(*states):
        tag = opens.partition(" ")[0]
        made = "".join(
            f"<tr><td><{opens} {'' if at else 'id=it'} style='display: block'>{state}</{tag}></td></tr>"
            for at, state in enumerate(states)
        )
        return f"<table>{made}</table>"

    one, other = rows("Waiting", "Ready"), rows("Ready", "Waiting")
    assert await _conflict(blank_page, one, other, varies=True) is None
    assert await _conflict(blank_page, one, other) is not None, "it is told by its row only if its row varies"
    assert await _conflict(blank_page, one, rows("Delete all", "Waiting"), varies=True) is not None
    plain, swapped = (each.replace(opens, "button").replace("summary", "button") for each in (one, other))
    assert await _conflict(blank_page, plain, swapped, varies=True) is not None, "a button is no menu"


NEW_FORM = (
    "<article class=x><h2>Edit</h2><p>Required</p><div class=y><footer><button>Cancel</button> <a href=/>Help</a>"
    " <button class=z>Save</button>{}</footer></div></article>"
)
OLD_FORM = FORM.format("<button id=it>Save</button> <button type=button>Cancel</button> <a href=/>Help</a>")


@pytest.mark.parametrize(
    ("now", "outcome"),
    [
        (NEW_FORM.format(""), SearchOutcome.FOUND),
        (NEW_FORM.format("<button>Save</button>"), SearchOutcome.NOT_FOUND),
        ("<main><h1>Report</h1><button>Print</button> <button>Save</button></main>", SearchOutcome.NOT_FOUND),
    ],
    ids=["among its neighbours", "two of its name", "on another page"],
)
async def test_words_identify_an_element_only_among_its_neighbours(blank_page, now, outcome):
    index, at = await _seen(blank_page, OLD_FORM)
    recorded = PageFingerprints(index).of(at)
    await show(blank_page, now)
    assert find_among_fellows(await scan_page(blank_page), recorded).outcome is outcome


NAV = "<div><a id=it href='{}'>repairs</a></div><footer>2.1.1</footer>"


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("#/repairs", "#/repairs", True),
        ("/repairs", "/repairs", True),
        ("#/repairs", "#/repairs/archived", False),
        ("#more", "#more", False),
    ],
)
async def test_a_link_of_the_same_name_and_address_is_the_recorded_one(blank_page, before, now, same):
    """The same name alone is not enough: little is known of what stands around it."""
    index, at = await _seen(blank_page, NAV.format(before))
    recorded = RecordedElement(PageFingerprints(index).of(at))
    index, at = await _seen(blank_page, f"<nav><ul><li>{NAV.format(now)}</ul></nav>")
    assert recorded.is_here(PageFingerprints(index).of(at)) is same


@pytest.mark.parametrize(
    ("known", "now", "contradicts"),
    [
        (Fingerprint(name="Save"), "Delete account", True),
        (Fingerprint(name="Save"), "Save", False),
        (Fingerprint(name="Subscribe"), "Unsubscribe", True),
        (Fingerprint(role="button", name="Save", tag="button"), "Discard", True),
        (Fingerprint(attributes={"id": "save-btn"}), "Delete account", True),
        (Fingerprint(attributes={"name": "save button"}), "Delete account", True),
        (Fingerprint(attributes={"id": "save-btn"}), "Speichern", False),
        (Fingerprint(attributes={"id": "confirm"}), "Delete account", False),
        (Fingerprint(attributes={"id": "delete"}), "Remove", False),
    ],
)
async def test_what_little_an_import_knows_is_compared_for_harm(blank_page, known, now, contradicts):
    index, at = await _seen(blank_page, _button(now))
    found = RecordedElement(known).find_conflict(index, at, PageFingerprints(index).of(at))
    assert (found is not None) is contradicts, found


async def test_the_id_of_an_element_of_our_own_recordings_is_no_word(blank_page):
    icon = FORM.format("<button id=it class=save-btn><svg width=9 height=9></svg></button>")
    assert await _conflict(blank_page, icon.replace("class", "name"), _button("Delete")) is None


@pytest.mark.parametrize(("ours", "theirs", "opposite"), [
    ("Watch", "Unwatch", True), ("Unwatch", "Watch", True), ("Subscribe", "Unsubscribe", True), ("Check in", "Check out", True),
    ("Turn on alerts", "Turn off alerts", True), ("Keep", "Delete", True),
    ("Remove", "Do not remove", True), ("Remove", "Don't remove", True), ("Cancel", "Not now", False),
    ("Cancel", "Keep it", False), ("Watch", "Start watching", False), ("Sign in", "Log in", False), ("Form", "Inform us", False),
])  # fmt: skip
def test_opposites_are_known_by_prefixes_and_particles(ours, theirs, opposite):
    assert any("opposite" in each for each in list_harms(ours, theirs)) is opposite


def test_a_thing_that_was_not_named_is_not_destroyed_under_another_verb():
    assert "'Delete account' names something that 'Remove' did not" in list(
        list_harms("Remove", "Delete account")
    )
    for ours, theirs in (
        ("Remove", "Delete"), ("Remove", "Remove row"), ("Delete group", "Remove group"), ("Delete agent", "Yes, remove"),
    ):  # fmt: skip
        assert list(list_harms(ours, theirs)) == []
