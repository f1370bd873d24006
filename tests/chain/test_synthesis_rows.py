"""Rows that were shown: those that a word in a column tells, menus that open in a row, buttons that show on a card."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

import pytest

from agent.execution.task_runner import TaskRunner
from kb_schema import SourcedDocument, assemble
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from kb_schema.websites import Website
from kb_store import load_knowledge, open_stores
from periplus.session_setup import open_fresh_context, open_session
from tests.support.rotation import rotating
from tests.support.small_sites import WEBSITE, Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

REPAIRS = (
    ("Kettle", "Mara", "R1"),
    ("Standing lamp", "Jonas", "R2"),
    ("Radio", "Mara", "R3"),
    ("Blender", "Idris", "R4"),
    ("Toaster", "Jonas", "R5"),
    ("Train set", "Selma", "R6"),
    ("Iron", "Mara", "R7"),
    ("Sewing machine", "Idris", "R8"),
    ("Clock of the 'Old Post'", "Selma", "R9"),
)
OWNERS = ({"owner": "Mara"}, {"owner": "Jonas"}, {"owner": "Idris"})


@dataclass
class Repairs:
    """A list of repairs, each with a page of its own on which it is ticked as ready."""

    bodies: bool = False
    """Whether each row has a body of its own."""
    opening: bool = False
    """Whether the page of a repair stays open after saving, so that the list is opened for each."""
    then: str = ""
    """What the list does with a repair that is ready: "first" and "last" move it, "gone" leaves it out, "empty" shows nothing any more."""
    ready: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.path.startswith("/repair/"):
            number = int(asked.path.rsplit("/", 1)[1])
            if asked.method == "POST":
                self.ready.append(REPAIRS[number][0])
                return Answered(location=f"{asked.path}?saved=1" if self.opening else "/list")
            return Answered(self._one(number))
        return Answered(
            self._list() if asked.path == "/list" else "<body><a href=/list>All repairs</a></body>"
        )

    def _list(self) -> str:
        rows = [
            f"<tr><td><a href=/repair/{number}>{escape(name)}</a></td><td>{owner}</td><td>{shelf}</td></tr>"
            for number, (name, owner, shelf) in self._in_order()
        ]
        whole = "".join(f"<tbody>{row}</tbody>" if self.bodies else row for row in rows)
        head = "<thead><tr><th>Device</th><th>Owner</th><th>Shelf</th></tr></thead>"
        return f"<body><a href=/list>All repairs</a><h1>Repairs</h1><table>{head}{whole}</table></body>"

    def _in_order(self) -> list[tuple[int, tuple[str, str, str]]]:
        rows = [] if self.then == "empty" and self.ready else list(enumerate(REPAIRS))
        ready = [each for each in rows if each[1][0] in self.ready] if self.then else []
        others = [each for each in rows if each not in ready]
        return {"first": [*ready, *others], "last": [*others, *ready]}.get(self.then, others)

    def _one(self, number: int) -> str:
        return (
            f"<body><a href=/list>All repairs</a><h1>{escape(REPAIRS[number][0])}</h1>"
            "<form method=post><label><input type=checkbox name=ready id=ready> Ready</label>"
            "<button id=save>Save</button></form></body>"
        )

    def of(self, owner: str) -> set[str]:
        return {name for name, its, _ in REPAIRS if its == owner}


def _row(page: Page, words: str) -> Locator:
    return page.locator("tr").filter(has=page.get_by_role("cell", name=words, exact=True))


async def finishes_repairs(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_text("All repairs").click()
    await page.wait_for_url("**/list")
    for name in await _row(page, given["owner"]).locator("a").all_inner_texts():
        await page.get_by_role("link", name=name, exact=True).click()
        await page.wait_for_url("**/repair/*")
        await page.check("#ready")
        async with page.expect_navigation():
            await page.click("#save")
        if not page.url.endswith("/list"):
            await page.get_by_text("All repairs").click()
            await page.wait_for_url("**/list")


LAYOUTS = {"plain": {}, "bodies": {"bodies": True}, "opening": {"opening": True}}


@pytest.mark.parametrize("layout", rotating("row layouts", list(LAYOUTS), 1))
async def test_the_rows_of_a_loop_are_told_by_the_word_that_they_share_in_a_column(browser, tmp_path, layout):
    repairs = Repairs(**LAYOUTS[layout])
    with running_site(repairs.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", finishes_repairs, OWNERS)
        assert result.lowered is not None
        assert [each.name for each in result.lowered.workflow.io_spec.inputs] == ["owner"]
        async with visiting(browser, site, tmp_path / "stores") as session:
            for owner, complete in (("Selma", True), ("Sel", False), ("Bruno", False)):
                repairs.ready.clear()
                done = await ran(session, result, {"owner": owner})
                assert sorted(repairs.ready) == sorted(repairs.of(owner))
                assert done.complete is complete, done.error
    assert done.error is not None
    assert "not_found" in done.error
    assert "Bruno" in done.error


@pytest.mark.parametrize("then", rotating("row places", ["first", "last", "gone"], 1))
async def test_each_row_of_a_loop_is_dealt_with_once_wherever_the_list_puts_it(browser, tmp_path, then):
    repairs = Repairs(opening=True)
    with running_site(repairs.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", finishes_repairs, OWNERS)
        repairs.then = then
        repairs.ready.clear()
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, result, {"owner": "Mara"})
    assert sorted(repairs.ready) == sorted(repairs.of("Mara")), done.error


async def test_a_list_that_shows_nothing_any_more_is_not_done(browser, tmp_path):
    repairs = Repairs(opening=True)
    with running_site(repairs.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", finishes_repairs, OWNERS)
        repairs.then = "empty"
        repairs.ready.clear()
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, result, {"owner": "Mara"})
    assert len(repairs.ready) == 1
    assert not done.complete
    assert "0 of 3 are left after 1 items" in (done.error or "")


@dataclass
class Boats:
    """Boats with a menu for each row; only one menu is open at a time."""

    gone: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.gone.append(asked.form["name"])
            return Answered(location="/?removed=1")
        said = "<p role=status>The boat was removed</p>" if "removed" in asked.query else ""
        rows = "".join(
            f"<tr><td>{name}</td><td><a href='#' class=more>...</a><ul hidden><li>"
            f"<a href='#' class=remove data-name='{name}'>Remove</a></li></ul></td></tr>"
            for name in ("Alma", "Brise", "Cygne", "Dorade", "Espoir")
            if name not in self.gone
        )
        return Answered(
            f"<body>{said}<form method=post><input type=hidden name=name></form><table>{rows}</table><script>"
            "document.addEventListener('click', (event) => {"
            " if (event.target.matches('.more')) { for (const menu of document.querySelectorAll('ul')) {"
            "  menu.hidden = menu !== event.target.nextElementSibling;"
            "  menu.querySelector('a').id = menu.hidden ? '' : 'remove'; } }"
            " if (event.target.matches('.remove')) {"
            "  document.querySelector('input').value = event.target.dataset.name;"
            "  document.querySelector('form').submit(); } });</script></body>"
        )


async def removes_a_boat(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    row = page.locator("tr", has_text=given["name"])
    await row.locator(".more").click()
    await row.get_by_text("Remove").click()
    await page.wait_for_url("**/?removed=1")


async def test_a_menu_that_opens_in_a_row_is_told_by_the_row_even_if_it_has_an_id(browser, tmp_path):
    boats = Boats()
    given = [{"name": each} for each in ("Alma", "Cygne", "Dorade")]
    with running_site(boats.answer) as site:
        result = await induced(
            browser, site, tmp_path / "traces", removes_a_boat, given, prepare=lambda _: boats.gone.clear()
        )
        assert result.lowered is not None
        last = result.lowered.tasks[-1].ordered_steps[-1]
        assert last.action.target is not None
        assert last.action.target.parameterized, "the id is that of whichever menu is open"
        boats.gone.clear()
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, result, {"row": "Espoir"})
    assert done.complete, done.error
    assert boats.gone == ["Espoir"]


@dataclass
class Cards:
    """Cards whose buttons show only while the pointer is over them."""

    marked: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.marked.append(asked.form["mark"])
            return Answered(location="/?marked=1")
        said = "<p role=status>It was marked</p>" if "marked" in asked.query else ""
        cards = "".join(
            f"<div class=card><p class=title>{name}</p><div class=tools><form method=post>"
            f"<button name=mark value='{name}' title=Mark>*</button></form></div></div>"
            for name in ("Herons", "Owls", "Tides", "Clocks")
        )
        style = ".card { width: 300px; height: 60px } .tools { display: none } .card:hover .tools { display: block }"
        return Answered(f"<style>{style}</style><body>{said}<main>{cards}</main></body>")


async def marks_a_card(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    card = page.locator(".card", has_text=given["title"])
    await card.hover()
    await card.get_by_title("Mark").click()
    await page.wait_for_url("**/?marked=1")


async def test_what_shows_only_under_the_pointer_is_pressed(browser, tmp_path):
    cards = Cards()
    given = [{"title": each} for each in ("Herons", "Tides", "Clocks")]
    with running_site(cards.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", marks_a_card, given)
        cards.marked.clear()
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, result, {"row": "Owls"})
    assert done.complete, done.error
    assert cards.marked == ["Owls"]


# -- the screen of a step in another release

SAVE = {
    "role": "button", "name": "Save", "tag": "button", "text": "Save", "heading": "New boat",
    "region": ["form"], "neighbours": ["Name"],
}  # fmt: skip


def _knowledge(base: str):
    website = Website(type="website", website_id=WEBSITE, name="Small", base_url=base)
    screen = Screen.model_validate(
        {
            "type": "screen", "screen_id": "new_boat", "name": "New boat", "url_patterns": ["^/new/?$"],
            "state_signature": {
                "primary_indicators": [{"type": "dom_element", "selector": "#release-1"}],
                "confidence_threshold": 0.6,
            },
        }
    )  # fmt: skip
    step = {
        "step_id": "s1", "order": 1, "preconditions": [{"type": "on_screen", "screen_id": "new_boat"}],
        "action": {
            "action_type": "click", "fingerprint": SAVE,
            "target": {"strategies": [{"type": "css", "value": "form button"}]},
        },
    }  # fmt: skip
    task = Task.model_validate({"type": "task", "task_id": "save", "name": "Save", "steps": [step]})
    return assemble([SourcedDocument(each) for each in (website, screen, task)])[0]


FORM = "<label>Name <input name=name></label>"


@pytest.mark.parametrize(
    ("path", "page", "pressed"),
    [
        ("/new", f"<h1>New boat</h1><form method=post>{FORM}<button>Save</button></form>", True),
        ("/old", f"<h1>New boat</h1><form method=post>{FORM}<button>Save</button></form>", False),
        ("/new", f"<h1>New boat</h1><form method=post>{FORM}<button>Send</button></form>", False),
        ("/new", "<h1>Settings</h1><section aria-label=Sounds><form method=post><p>Ping <button>Save</button></form>", False),
    ],
    ids=["as recorded", "another address", "another button", "other surroundings"],
)  # fmt: skip
async def test_a_page_of_another_release_is_the_screen_only_with_its_address_and_its_element(
    browser, tmp_path, path, page, pressed
):
    with running_site(lambda asked: Answered(f"<body>{page}</body>")) as site:
        async with open_stores(tmp_path / "kb") as stores:
            await load_knowledge(stores.documents, stores.graph, _knowledge(site.base))
            async with (
                open_fresh_context(browser) as context,
                open_session(stores, context, WEBSITE, base_url=site.base) as session,
            ):
                await session.page.goto(f"{site.base}{path}")
                await TaskRunner(session).run_task("save", {})
        assert bool(site.writes) is pressed


@dataclass
class Labels:
    """Labels with their keys behind them, and kinds as pictures in the columns of a grid."""

    chosen: list[str] = field(default_factory=list)
    moved: int = 0

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.chosen.append(asked.form["name"])
            return Answered(location="/?stored=1")
        said = "<p role=status>The choice was stored</p>" if "stored" in asked.query else ""
        names = ("harvest", "weather", "markets", "sports", "trains")
        labels = "".join(
            f"<span class=chip>{name} <i>{(at + self.moved) % 5 + 1}</i></span>"
            for at, name in enumerate(names)
        )
        kinds = "".join(
            f"<div><div class='kind sheet'><div class=cover>{'<div></div>' * (at % 2)}<div></div><div class=picture style='width:40px;height:40px'>"
            f"</div></div><div class=title>{name}</div></div></div>"
            for at, name in enumerate(names)
        )
        script = """<script>document.addEventListener("click", (event) => {
          const kind = event.target.closest(".kind"), chip = event.target.closest(".chip");
          if (!kind && !chip) return;
          document.querySelector("input").value = kind ? kind.innerText.trim() : chip.firstChild.data.trim();
          document.querySelector("form").submit();
        });</script>"""
        return Answered(
            "<style>.chip, .kind { cursor: pointer }</style>"
            f"<body>{said}<form method=post><input type=hidden name=name></form><p>{labels}</p><div class='board sheet kind'>{kinds}</div>"
            f"{script}</body>"
        )


async def presses_a_label(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.locator(".chip", has_text=given["name"]).click()
    await page.wait_for_url("**/?stored=1")


async def presses_a_picture(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.locator(".kind:not(.board)", has_text=given["name"]).locator(".picture").click()
    await page.wait_for_url("**/?stored=1")


@pytest.mark.parametrize("person", [presses_a_label, presses_a_picture])
async def test_names_are_told_without_their_numbers_and_pictures_by_their_cards(browser, tmp_path, person):
    labels = Labels()
    given = [{"name": each} for each in ("harvest", "markets", "sports")]
    with running_site(labels.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", person, given)
        labels.chosen.clear()
        labels.moved = 2
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, result, {"row": "trains"})
    assert done.complete, done.error
    assert labels.chosen == ["trains"]


MEETINGS = (
    ("Retro", "Monday", "Room 1"),
    ("Standup", "Monday", "Room 2"),
    ("Planning", "Tuesday", "Room 1"),
    ("Standup", "Tuesday", "Room 2"),
    ("Review", "Friday", "Room 3"),
)


@dataclass
class Meetings:
    """Cards of meetings, each with a button that cancels it."""

    cancelled: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.cancelled.append(MEETINGS[int(asked.path.rsplit("/", 1)[1])][:2])
            return Answered(location="/")
        cards = "".join(
            f"<form class=meeting method=post action=/cancel/{number}><b class=title>{name}</b>"
            f"<i class=day>{day}</i><i class=room>{room}</i><button>Cancel</button></form>"
            for number, (name, day, room) in enumerate(MEETINGS)
            if (name, day) not in self.cancelled
        )
        return Answered(f"<body><h1>Meetings</h1><main>{cards}</main></body>")


async def cancels_meeting(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    async with page.expect_navigation():
        await page.locator(".meeting", has_text=given["title"]).get_by_role("button").click()


async def test_one_of_several_rows_that_are_called_alike_is_told_by_other_words_of_it(browser, tmp_path):
    meetings = Meetings()
    shown = ({"title": "Retro"}, {"title": "Planning"}, {"title": "Review"})
    with running_site(meetings.answer) as site:
        result = await induced(
            browser,
            site,
            tmp_path / "traces",
            cancels_meeting,
            shown,
            prepare=lambda _: meetings.cancelled.clear(),
        )
        assert result.lowered is not None
        specs = {each.name: each.required for each in result.lowered.workflow.io_spec.inputs}
        named, also = sorted(specs)
        assert also == f"{named}_also"
        assert (specs[named], specs[also]) == (True, False)
        meetings.cancelled.clear()
        async with visiting(browser, site, tmp_path / "stores") as session:
            unclear = await ran(session, result, {named: "Standup"})
            assert (unclear.complete, meetings.cancelled) == (False, [])
            other = await ran(session, result, {named: "Standup", also: "Friday"})
            assert (other.complete, meetings.cancelled) == (False, [])
            done = await ran(session, result, {named: "Standup", also: "room 2 tuesday"})
    assert meetings.cancelled == [("Standup", "Tuesday")], done.error
