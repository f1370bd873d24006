"""A workflow in another release of the application: what is called otherwise is found again, or nothing is pressed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

NOTES = ("Oil the winches", "Patch the sail", "Count the oars", "Paint the bow", "Sweep the shed")


@dataclass
class Notes:
    """Notes, each with buttons that have icons only; no message says what was done. None of it is a table or a list."""

    buttons: tuple[str, ...] = (
        "aria-label=edit title='Edit this note'",
        "aria-label=close title='Close this note'",
    )
    """The attributes of the buttons of each note. The first one opens it; the others only count."""
    gone: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        name = asked.form.get("name", "")
        if asked.path == "/gone":
            self.gone.append(name)
            return Answered(location="/")
        if asked.path == "/other":
            self.others.append(name)
            return Answered(location="/")
        if asked.path == "/edit":
            name = asked.query["name"]
            return Answered(
                f"<body><h1>{name}</h1><form method=post action=/gone><input type=hidden name=name value='{name}'>"
                "<button>Remove</button></form></body>"
            )
        left = [each for each in NOTES if each not in self.gone]
        names = "".join(f"<div class=entry>{each}</div>" for each in left)
        return Answered(
            f"<body><main>{names}</main><section>{''.join(map(self._one, left))}</section></body>"
        )

    def _one(self, name: str) -> str:
        first, *others = self.buttons
        return (
            f"<div class=note><form action=/edit><input type=hidden name=name value='{name}'><button {first}><i>*</i>"
            f"</button></form>{''.join(self._other(each, name) for each in others)}<h2 class=title>{name}</h2></div>"
        )

    def _other(self, button: str, name: str) -> str:
        return (
            f"<form method=post action=/other><input type=hidden name=name value='{name}'><button {button}><i>*</i>"
            "</button></form>"
        )


async def removes_a_note(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.locator(".note", has_text=given["title"]).get_by_title("Edit").click()
    await page.get_by_text("Remove").click()
    await page.wait_for_url("**/")


RENAMED = ("aria-label='Edit this note' title='Edit this note'", "aria-label='Close this note'")
REPLACED = ("aria-label=share title='Share this note'", "aria-label='Close this note'")


async def test_a_button_in_a_row_that_is_called_otherwise_is_found_in_the_row_and_nothing_else_is_pressed(
    browser, tmp_path
):
    notes = Notes()
    given = [{"title": each} for each in NOTES[:3]]
    with running_site(notes.answer) as site:
        result = await induced(
            browser, site, tmp_path / "traces", removes_a_note, given, prepare=lambda _: notes.gone.clear()
        )
        assert result.lowered is not None
        assert [each.name for each in result.lowered.workflow.io_spec.inputs] == ["row"]
        ends = []
        for release, buttons in enumerate((RENAMED, REPLACED)):
            notes.buttons = buttons
            notes.gone.clear()
            async with visiting(browser, site, tmp_path / f"stores{release}") as session:
                done = await ran(session, result, {"row": NOTES[3]})
            ends.append((notes.gone.copy(), done.complete, done.evidence))
    assert ends[0] == ([NOTES[3]], True, "verified"), "that the row is gone shows that it was done"
    assert ends[1][:2] == ([], False)
    assert not notes.others


@dataclass
class Pages:
    """A link that leads on to another page, as applications do that have only one kind to choose from."""

    link: str = "<a href=/choose class=button>Add a page</a>"
    made: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.path == "/choose":
            return Answered(location="/pages/new/7")
        if asked.method == "POST":
            self.made.append(asked.form["title"])
            return Answered(location="/?saved=1")
        if asked.path.startswith("/pages/new"):
            return Answered("<body><form method=post><label>Title <input name=title></label><button>Save</button></form></body>")  # fmt: skip
        said = f"<p role=status>{self.made[-1]} was made</p>" if "saved" in asked.query else ""
        return Answered(f"<body>{said}<h1>Pages</h1><nav>{self.link}</nav></body>")


async def makes_a_page(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_text("Add a page").click()
    await page.wait_for_url("**/pages/new/7")
    await page.get_by_label("Title").fill(given["title"])
    await page.get_by_text("Save").click()
    await page.wait_for_url("**/?saved=1")


async def test_a_link_with_the_recorded_address_is_followed_even_if_it_leads_on(browser, tmp_path):
    pages = Pages()
    given = [{"title": each} for each in ("Boats", "Sails", "Ropes")]
    with running_site(pages.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", makes_a_page, given)
        assert result.lowered is not None
        pages.link = "<a href=/choose class=icon aria-label='Add a page'><i></i>+</a>"
        pages.made.clear()
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, result, {"title": "Oars"})
    assert done.complete, done.error
    assert pages.made == ["Oars"]


@dataclass
class Cards:
    """A list of titles. What is opened stands as a card, of a class of its own, beside those that are open already."""

    opened_first: bool = True
    open: list[str] = field(default_factory=lambda: ["Task board"])
    gone: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        name = asked.query.get("name", asked.form.get("name", ""))
        if asked.path == "/open":
            self.open.insert(0 if self.opened_first else len(self.open), name)
            return Answered(location="/")
        if asked.path == "/gone":
            self.gone.append(name)
            self.open.remove(name)
            return Answered(location="/")
        left = [each for each in NOTES if each not in self.gone]
        names = "".join(f"<p><a href='/open?name={each}'>{each}</a></p>" for each in left)
        return Answered(
            f"<body><aside>{names}</aside><section>{''.join(map(self._card, self.open))}</section></body>"
        )

    def _card(self, name: str) -> str:
        return (
            f"<div class='card-{len(name)}' data-title='{name}'><div class=bar><h2 class=title>{name}</h2><form method=post"
            f" action=/gone><input type=hidden name=name value='{name}'><button aria-label=remove><i>x</i></button>"
            "</form></div></div>"
        )


async def removes_an_opened_card(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.locator("aside").get_by_text(given["title"], exact=True).click()
    await page.locator("section > div", has_text=given["title"]).get_by_label("remove").click()
    await page.wait_for_url("**/")


async def test_what_was_opened_first_of_several_is_known_by_its_name_and_not_by_its_place(browser, tmp_path):
    cards = Cards()

    def begin(_number: int = 0) -> None:
        cards.open, cards.gone = ["Task board"], []

    given = [{"title": each} for each in NOTES[:3]]
    with running_site(cards.answer) as site:
        result = await induced(
            browser, site, tmp_path / "traces", removes_an_opened_card, given, prepare=begin
        )
        begin()
        cards.opened_first = False
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, result, {"row": NOTES[4]})
    assert done.complete, done.error
    assert cards.gone == [NOTES[4]]
