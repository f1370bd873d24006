"""A control without words is found by its picture; what many controls of a page share tells none of them elsewhere."""

from __future__ import annotations

import pytest

from agent.healing.fellow_search import find_by_icon
from agent.healing.fingerprint_comparison import compare_fingerprints
from agent.healing.fingerprint_search import SearchOutcome
from agent.healing.recorded_words import RecordedElement
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_scan import scan_page
from agent.page.errors import GateFailed
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector, ValueStrategy
from tests.support.pages import show

USE = "<svg class='icon icon-arrow-up'><use href='#icon-arrow-up'></use></svg>"
FORM = (
    "<main><h1>Event</h1><form action=/event><label>Title <input name=title></label>"
    "<button>Save draft</button>{}</form></main>"
)
WORDED = f"<button id=it type=button>More actions {USE}</button>"


async def _fingerprints(page, html):
    await show(page, html)
    index = await scan_page(page)
    prints = PageFingerprints(index)
    return [(at, seen) for at, seen in prints.all() if index.elements[at].visible], prints, index


async def _known(page, html):
    _, prints, index = await _fingerprints(page, html)
    return prints.of(next(each.at for each in index.elements if each.id == "it"))


async def _outcome(page, before, now):
    known = await _known(page, before)
    seen, _, _ = await _fingerprints(page, now)
    return find_by_icon(known, seen).outcome


FOUND, NOT_FOUND = SearchOutcome.FOUND, SearchOutcome.NOT_FOUND
TOGGLE = f"<div style='cursor: pointer'>{USE}</div>"


@pytest.mark.parametrize(
    ("now", "outcome"),
    [
        (TOGGLE, FOUND),
        (TOGGLE.replace("arrow-up", "arrow-down"), NOT_FOUND),
        (TOGGLE * 2, NOT_FOUND),
        (WORDED.replace("More actions", "Help"), NOT_FOUND),
    ],
    ids=["no words", "another picture", "two of them", "other words"],
)
async def test_the_only_control_with_the_picture_is_the_recorded_one_if_it_has_no_words(
    blank_page, now, outcome
):
    assert await _outcome(blank_page, FORM.format(WORDED), FORM.format(now)) is outcome


async def test_it_may_have_got_words(blank_page):
    bare = FORM.format(f"<a id=it class=toggle href='#'>{USE}</a>")
    assert await _outcome(blank_page, bare, FORM.format(WORDED)) is FOUND


async def test_elsewhere_on_another_page_it_is_another_control(blank_page):
    elsewhere = f"<nav><h2>Site</h2><a href=/>Home</a><a href=/help>Help</a>{TOGGLE}</nav>"
    assert await _outcome(blank_page, FORM.format(WORDED), elsewhere) is NOT_FOUND


@pytest.mark.parametrize(
    "button",
    [
        "<button id=it>{}</button>",
        "<button id=it type=button><svg data-icon=send width=9 height=9></svg></button>",
    ],
    ids=["submits its form", "sends"],
)
async def test_a_picture_is_not_enough_for_what_sends(blank_page, button):
    html = FORM.format(button.format(USE))
    assert (await _known(blank_page, html)).icon in ("arrow up", "send")
    assert await _outcome(blank_page, html, html) is NOT_FOUND


async def test_a_picture_is_not_enough_for_what_destroys(blank_page):
    bin_ = FORM.format(
        "<button id=it type=button><i class='fa fa-fw fa-trash' style='display: inline-block; width: 9px; height: 9px'></i></button>"
    )
    assert (await _known(blank_page, bin_)).icon == "trash"
    assert await _outcome(blank_page, bin_, bin_) is NOT_FOUND


@pytest.mark.parametrize(
    ("drawn", "called"),
    [
        (USE, "arrow up"),
        ("<i class='bi bi-pencil-square' style='display: block; height: 9px'></i>", "pencil square"),
        ("<svg data-testid=MoreVertIcon><path d='M1 1h9'></path></svg>", "more vert"),
        ("<svg class='lucide lucide-trash-2'><path d='M1 1h9'></path></svg>", "trash 2"),
        ("<img src='/static/edit.3f2a.png?v=2' alt='' width=9 height=9>", "edit"),
        ("<i style='display: none' class='fa fa-spinner'></i>", None),
        ("Plain", None),
    ],
)
async def test_what_a_picture_is_called(blank_page, drawn, called):
    html = f"<main><button id=it>{drawn}</button></main>"
    assert (await _known(blank_page, html)).icon == called


async def test_a_class_that_says_that_there_is_a_picture_is_no_name_of_it(blank_page):
    html = "<main><button id=it class='icon-btn'><svg><path d='M1 1h9v9z'></path></svg></button></main>"
    assert (await _known(blank_page, html)).icon.startswith("drawing ")


async def test_a_nameless_picture_is_told_by_what_it_draws(blank_page):
    def drawn(path):
        return f"<main><button id=it><svg><path d='{path}'></path></svg></button></main>"

    first, again, other = [
        (await _known(blank_page, drawn(path))).icon for path in ("M1 1h9v9z", "M1 1h9v9z", "M3 3l5 5")
    ]
    assert first == again
    assert first != other


def test_a_word_and_an_attribute_of_the_framework_tell_no_element_of_another_place():
    toggle = {"data-dropdown": "toggle", "type": "button"}
    known = Fingerprint(
        role="button", tag="button", name="More actions", text="More actions", attributes=toggle, place=1,
        neighbours=("Save draft",), region=("landmark New event", "form /event", "landmark Actions below"),
        heading="New event",
    )  # fmt: skip
    header = known.model_copy(
        update={
            "name": "Actions", "text": "Actions", "neighbours": ("Home", "History"), "heading": "Pages",
            "region": ("landmark Header",),
        }
    )  # fmt: skip
    found = compare_fingerprints(known, header)
    assert {"words", "data"} <= set(found.anchors)
    assert not found.same
    here = known.model_copy(update={"name": "Actions", "text": "Actions"})
    assert compare_fingerprints(known, here).same


PRESSED = TOGGLE.replace("<div", "<div class=it data-truth=more")


async def test_a_control_that_lost_its_words_is_pressed_unless_the_knowledge_base_says_to_be_careful(hands):
    await hands.show(FORM.format(WORDED))
    known = await hands.record("#it")
    await hands.show(FORM.format(PRESSED))
    with pytest.raises(GateFailed):
        await hands.click("#it", known, recorded=RecordedElement(known), careful=True)
    assert await hands.clicks() == []
    done = await hands.click("#it", known, recorded=RecordedElement(known))
    assert done.healed is not None
    assert "arrow up" in done.healed.reason
    assert await hands.clicks() == ["more"]


async def test_a_control_that_lost_its_words_is_found_in_its_row(hands):
    def rows(control):
        made = "".join(
            f"<tr><td>{name}</td><td>{control.format(name)}</td></tr>" for name in ("Ann", "Bo", "Cid")
        )
        return f"<main><h1>Crew</h1><table>{made}</table></main>"

    await hands.show(rows(f"<button class=more id='of-{{}}'>More {USE}</button>"))
    known = await hands.record("#of-Bo")
    known = known.model_copy(update={"attributes": {}, "row": (), "key": ()})  # what varied is no part of it
    await hands.show(rows(PRESSED.replace("data-truth=more", "data-truth='{}'")))
    row = Selector(strategies=(ValueStrategy(type="xpath", value="//tr[td[normalize-space()='Bo']]"),))
    recorded = RecordedElement(known, varies=True)
    done = await hands.click("#of-Bo", known, recorded=recorded, row=row)
    assert done.healed is not None
    assert await hands.clicks() == ["Bo"]
