"""Which controls say themselves that a job is done: by another name, a state, or one more."""

from __future__ import annotations

import pytest

from agent.locators.page_scan import scan_page
from agent.sentence_runs.control_evidence import ControlEvidence
from kb_schema.sentence_plans import ControlChange, SentencePlan

SVG = "<svg width=9 height=9><path d='M1 1h9v9z'></path></svg>"
CARD = "<div class=card><b>{}</b> <span>Chandler</span><button class='btn {}' {}>{}</button><button class=btn>Visit</button></div>"
STAR = f"{SVG}<span>{{}}</span>"


def cards(*controls):
    """Each control: name of the card, class, attributes, content."""
    return "".join(CARD.format(*each) for each in controls)


async def judge(page, change, before, after, pressed, sentence="Follow Skua, and star it"):
    """Press the control at a position, and open the page again; return what is not shown, and what was not pressed."""
    evidence = ControlEvidence(SentencePlan(changed_when_done=[ControlChange(**change)]), sentence)
    await page.set_content(before)
    index = await scan_page(page)
    evidence.note(await evidence.look(page, index, index.interactive[pressed]))
    if evidence.list_unpressed():
        return "not pressed"
    await page.set_content(after)
    (positions,) = evidence.list_pages().values()
    return "unchanged" if await evidence.find_unchanged(page, await scan_page(page), positions) else "shown"


TERN, SKUA = ("Tern", "", "", "Follow"), ("Skua", "", "", "Follow")
FOLLOWS = {"control": "Follow", "beside": ["Skua"]}


@pytest.mark.parametrize(
    ("after", "pressed", "seen"),
    [
        (cards(TERN, ("Skua", "", "", "Following")), 2, "shown"),
        (cards(TERN, ("Skua", "", "", "Following"), ("Gannet", "", "", "Follow")), 2, "shown"),
        (cards(TERN, SKUA), 2, "unchanged"),
        (cards(("Tern", "", "", "Following"), SKUA), 2, "unchanged"),
        (cards(("Tern", "", "", "Following"), SKUA), 0, "not pressed"),
        (cards(TERN), 2, "unchanged"),
        ("<h1>Skua</h1>", 2, "unchanged"),
        (cards(TERN, SKUA).replace("<button class=btn>Visit</button>", ""), 2, "unchanged"),
    ],
)
async def test_a_button_that_is_called_otherwise_when_the_page_is_opened_again(page, after, pressed, seen):
    assert await judge(page, FOLLOWS, cards(TERN, SKUA), after, pressed) == seen


async def test_what_was_followed_already_is_not_pressed_and_neither_is_what_two_cards_have(page):
    one = cards(TERN, ("Skua", "", "", "Following"))
    assert await judge(page, FOLLOWS, one, cards(TERN, SKUA), 2) == "not pressed"
    both = cards(SKUA, ("Skua", "", "", "Follow"))
    after = cards(SKUA, ("Skua", "", "", "Following"))
    assert [await judge(page, FOLLOWS, both, after, pressed) for pressed in (0, 2)] == ["not pressed"] * 2


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize(
    ("off", "pressed"),
    [
        (("star-btn", "", STAR.format("")), ("star-btn starred", "", STAR.format(""))),
        (("star-btn", "aria-pressed=false", STAR.format("")), ("star-btn", "aria-pressed=true", STAR.format(""))),
        (("star-btn liked", "", STAR.format(12)), ("star-btn liked", "", STAR.format(13))),
        (("star-btn", "", STAR.format("")), ("star-btn", "", STAR.format(1))),
    ],
    ids=["class", "state", "number", "first"],
)  # fmt: skip
async def test_an_icon_shows_it_only_in_the_direction_of_the_plan(page, on, off, pressed):
    change = {"control": "star", "beside": ["Skua"], "on": on}
    fellow = ("Tern", "star-btn", "", STAR.format(4))
    first, then = (off, pressed) if on else (pressed, off)
    before, after = (cards(fellow, ("Skua", *each)) for each in (first, then))
    assert await judge(page, change, before, after, 2) == "shown"
    assert await judge(page, change, after, before, 2) == "unchanged"  # it was so already, and is undone


async def test_other_people_may_have_changed_a_number_too(page):
    change = {"control": "star", "beside": ["Skua"]}
    before, after = (cards(TERN, ("Skua", "star-btn", "", STAR.format(number))) for number in (12, 14))
    assert await judge(page, change, before, after, 2) == "unchanged"


async def test_the_card_is_known_again_by_its_texts(page):
    """A list of what is saved shows one post of an author, and the page that is opened again shows all of them."""
    change = {"control": "save", "beside": ["Skua"], "on": False}
    post = (
        "<div class=card><b>Skua</b><p>{}</p><p>{} days ago</p><button class='save-btn {}'>"
        + SVG
        + "</button></div>"
    )
    tern = (
        "<div class=card><b>Tern</b><p>C</p><p>1 days ago</p><button class=save-btn>"
        + SVG
        + "</button></div>"
    )
    saved = post.format("A", 3, "saved") + tern
    whole = post.format("B", 1, "{}") + post.format("A", 4, "{}") + tern
    assert await judge(page, change, saved, whole.format("saved", ""), 0) == "shown"
    assert await judge(page, change, saved, whole.format("", "saved"), 0) == "unchanged"
    assert await judge(page, change, saved, post.format("B", 3, "") + tern, 0) == "unchanged"


PAGE = "<h1>{}</h1><nav><button>Home</button></nav><button>{}</button><button>Apply</button>"


async def test_on_a_page_of_its_own_the_heading_says_which(page):
    change = {"control": "Save", "beside": ["Skua"]}
    assert (
        await judge(page, change, PAGE.format("Skua, 12 m", "Save"), PAGE.format("Skua, 12 m", "Saved"), 1)
        == "shown"
    )
    assert (
        await judge(page, change, PAGE.format("Tern", "Save"), PAGE.format("Tern", "Saved"), 1)
        == "not pressed"
    )
    assert (
        await judge(page, change, PAGE.format("Skua", "Save"), PAGE.format("Tern", "Saved"), 1) == "unchanged"
    )


async def test_a_control_with_a_word_that_the_sentence_does_not_have_is_another_one(page):
    change = {"control": "Save", "beside": ["Skua"]}
    before, after = PAGE.format("Skua", "Save search"), PAGE.format("Skua", "Saved search")
    assert await judge(page, change, before, after, 1) == "not pressed"
