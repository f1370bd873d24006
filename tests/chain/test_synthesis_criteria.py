"""Success criteria come from what all recordings have in common at their ends: a run that did nothing is no success."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING

import pytest

from kb_schema.conditions import (
    BaseCondition,
    Combined,
    DomContains,
    DomElement,
    NumberChanged,
    UrlMatches,
)
from kb_schema.run_records import RunStatus
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

SHOWN = (
    {"title": "Printer on fire", "place": "Pier 3"},
    {"title": "No water", "place": "Hall"},
    {"title": "Gate's stuck", "place": "Dock 12"},
)
NEW = {"title": 'Crane is "loose" & low', "place": "Quay"}


class Tickets:
    """A tracker: its form refuses a title that is taken, and says so on the form itself."""

    def __init__(self) -> None:
        self.titles = ["Old matter", "Lamp is out"]
        self.day = "24 November 2026"

    def answer(self, asked: Asked) -> Answered:
        if asked.path == "/ticket/new" and asked.method == "POST":
            return self._created(asked.form)
        if asked.path == "/ticket/new":
            return Answered(self._form(""))
        if asked.path.startswith("/ticket/"):
            return Answered(self._shown(int(asked.path.rsplit("/", 1)[1]), asked.query))
        rows = "".join(f"<tr><td>{escape(each)}</td></tr>" for each in self.titles)
        link = "<a id=new href='/ticket/new'>New ticket</a>"
        return Answered(f"<body><h1>Tickets</h1><p>{self.day}</p>{link}<table>{rows}</table></body>")

    def _created(self, form: Mapping[str, str]) -> Answered:
        if form["title"] in self.titles:
            return Answered(self._form("<p class=error>This title is taken.</p>"))
        self.titles.append(form["title"])
        return Answered(location=f"/ticket/{len(self.titles)}?@ok_message=created&@id={len(self.titles)}")

    def _form(self, complaint: str) -> str:
        return (
            f"<body><h1>New ticket</h1>{complaint}<form method=post>"
            "<label for=t>Title</label><input id=t name=title>"
            "<label for=p>Place</label><input id=p name=place><button id=save>Save</button></form></body>"
        )

    def _shown(self, number: int, query: Mapping[str, str]) -> str:
        flash = f"<div class='flash'>Ticket {number} created ok</div>" if "@ok_message" in query else ""
        rows = "".join(f"<li>{escape(each)}</li>" for each in self.titles[:2])
        return (
            f"<body>{flash}<h1>Ticket {number}</h1><p class=what>{escape(self.titles[number - 1])}</p>"
            f"<p>{self.day}, 2 of {len(self.titles)} others:</p><ul>{rows}</ul></body>"
        )


async def adds_a_ticket(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.click("#new")
    await page.wait_for_url("**/new")
    await page.fill("#t", given["title"])
    await page.fill("#p", given["place"])
    await page.click("#save")
    await page.wait_for_url("**/ticket/*ok_message*")


def _texts(criteria: tuple[BaseCondition, ...]) -> set[str]:
    """The texts that runs must show, also those that a run with an empty field need not."""
    parts = [
        part for each in criteria for part in (each.conditions if isinstance(each, Combined) else (each,))
    ]
    return {each.value for each in parts if isinstance(each, DomContains)}


async def test_a_message_and_an_address_of_all_ends_are_criteria_without_what_varies(browser, tmp_path):
    tickets = Tickets()
    with running_site(tickets.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", adds_a_ticket, SHOWN)
        assert result.lowered is not None
        criteria = result.lowered.workflow.success_criteria
        assert "created ok" in _texts(criteria)
        assert [each for each in criteria if isinstance(each, UrlMatches) and "@ok_message=" in each.pattern]
        opening = result.lowered.tasks[0].ordered_steps[1]
        assert [each.pattern for each in opening.postconditions] == ["/ticket/new/?(?:[?#]|$)"]
        said = " ".join(_texts(criteria))
        assert not any(part in said for part in ("2026", "November", "others", "Old matter", "Lamp")), said
        names = {spec.description: spec.name for spec in result.lowered.workflow.io_spec.inputs}
        inputs = {names["Title"]: NEW["title"], names["Place"]: NEW["place"]}
        tickets.day = "3 May 2031"
        tickets.titles[:2] = ["Another matter", "Another lamp"]
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            done = await ran(session, result, inputs)
            assert done.succeeded, done.error
            assert tickets.titles[-1] == NEW["title"]
            count = len(tickets.titles)
            await session.page.goto(f"{site.base}/")
            refused = await ran(session, result, inputs)
            assert not refused.complete, "the form refused the title, and nothing was created"
            assert len(tickets.titles) == count


async def test_of_one_recording_only_the_text_that_was_typed_is_a_criterion(browser, tmp_path):
    with running_site(Tickets().answer) as site:
        result = await induced(browser, site, tmp_path / "traces", adds_a_ticket, SHOWN[:1])
    assert result.lowered is not None
    assert _texts(result.lowered.workflow.success_criteria) == {"Printer on fire"}
    assert len(result.lowered.workflow.success_criteria) == 1


class Fleet:
    """A list; boats are added above it and removed from it. Its look says nothing more."""

    def __init__(self) -> None:
        self.boats = ["Alma", "Brise", "Cygne", "Dorade", "Espoir"]
        self.silent = False

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST" and not self.silent:
            if asked.path == "/add":
                self.boats.append(asked.form["name"])
            else:
                self.boats.remove(asked.form["name"])
        if asked.method == "POST":
            return Answered(location="/")
        rows = "".join(
            f"<tr><td>{escape(each)}</td><td><form method=post action=/remove>"
            f"<input type=hidden name=name value='{escape(each)}'><button>Remove</button></form></td></tr>"
            for each in self.boats
        )
        form = "<form method=post action=/add><label for=n>Name</label><input id=n name=name><button id=add>Add</button></form>"
        return Answered(f"<body><h1>Boats</h1>{form}<table><tbody>{rows}</tbody></table></body>")


async def adds_a_boat(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.fill("#n", given["name"])
    await page.click("#add")
    await page.locator("td", has_text=given["name"]).wait_for()


async def test_a_row_that_is_there_now_is_a_criterion_with_the_input_in_it(browser, tmp_path):
    fleet = Fleet()
    with running_site(fleet.answer) as site:
        result = await induced(
            browser, site, tmp_path / "traces", adds_a_boat, [{"name": each} for each in ("Faune", "Gaia", "Hardi")]
        )  # fmt: skip
        assert result.lowered is not None
        (name,) = (spec.name for spec in result.lowered.workflow.io_spec.inputs)
        assert _texts(result.lowered.workflow.success_criteria) == {f"{{{name}}}"}
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            assert (await ran(session, result, {name: "Île d'Or"})).succeeded
            assert fleet.boats[-1] == "Île d'Or"
            fleet.silent = True
            await session.page.goto(f"{site.base}/")
            assert not (await ran(session, result, {name: "Jonque"})).complete


class Wallet:
    """A limit that is read as JavaScript's `parseFloat` reads it. It says `updated` whatever it has stored."""

    def __init__(self, format_limit: Callable[[float], str] = "${:,.2f}".format) -> None:
        self.limit, self.most = 400.0, math.inf
        self.format_limit = format_limit

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            read = re.match(r"[\d.]*", asked.form["limit"])
            self.limit = min(float(read[0] or 0) if read else 0.0, self.most)
            return Answered(self._page("<div role=status>Limit updated</div>"))
        return Answered(self._page(""))

    def _page(self, message: str) -> str:
        return (
            f"<body><h1>Card</h1>{message}<p>Daily limit</p><p>{self.format_limit(self.limit)}</p><form method=post>"
            "<label for=l>New limit</label><input id=l name=limit><button id=save>Save</button></form></body>"
        )


async def changes_the_limit(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.fill("#l", given["limit"])
    await page.click("#save")
    await page.get_by_role("status").wait_for()


@pytest.mark.parametrize("format_limit", ["${:,.2f}".format, "{:.2f}".format, "€{:,.0f}".format])
async def test_a_number_is_typed_as_it_was_shown_and_read_back_in_the_notation_of_the_page(
    format_limit, browser, tmp_path
):
    wallet = Wallet(format_limit)
    with running_site(wallet.answer) as site:
        shown = [{"limit": each} for each in ("750", "620", "910")]
        result = await induced(browser, site, tmp_path / "traces", changes_the_limit, shown)
        assert result.lowered is not None
        (name,) = (spec.name for spec in result.lowered.workflow.io_spec.inputs)
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            done = await ran(session, result, {name: "2,000"})
            assert done.succeeded, done.error
            assert wallet.limit == 2000
            wallet.most = 500
            await session.page.goto(f"{site.base}/")
            done = await ran(session, result, {name: "3000"})
            assert not done.complete, "it says updated, and the page shows another limit"
            assert "3" in (done.error or "")


class Profile:
    """Settings that are chosen from a menu and switched: it shows no message, and its menu lists every colour."""

    def __init__(self) -> None:
        self.colour, self.night, self.works = "None", False, True

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST" and self.works:
            self.colour = asked.form.get("colour", self.colour)
            self.night ^= "night" in asked.form
        if asked.method == "POST":
            return Answered(location="/")
        colours = "".join(
            f"<button class=choice name=colour value='{each}'>{each}</button>"
            for each in ("Teal", "Plum", "Sand")
        )
        state = "switch on" if self.night else "switch"
        return Answered(
            "<body><h1>Profile</h1><form method=post>"
            f"<div class=field><b>Colour</b> <i class=value>{self.colour}</i></div>"
            "<div class=field><b>Size</b> <i class=value>None</i></div>"
            f"<details id=menu><summary>Change colour</summary>{colours}</details>"
            f"<div class=field><b>Night mode</b><button class='{state}' name=night value=1></button></div></form></body>"
        )


async def chooses_a_colour(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.click("summary")
    await page.click(f"button[value={given['colour']}]")
    await page.locator(".value", has_text=given["colour"]).wait_for()


async def switches_to_night(page: Page, _given: Mapping[str, str], _dice: random.Random) -> None:
    await page.click(".switch")
    await page.locator(".switch.on").wait_for()


async def test_a_chosen_value_is_read_back_at_its_place_and_not_in_the_menu(browser, tmp_path):
    profile = Profile()

    async def again(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        profile.colour = "None"
        await page.reload()
        await chooses_a_colour(page, given, dice)

    with running_site(profile.answer) as site:
        shown = [{"colour": each} for each in ("Teal", "Plum", "Sand")]
        result = await induced(browser, site, tmp_path / "traces", again, shown)
        assert result.lowered is not None
        (name,) = (spec.name for spec in result.lowered.workflow.io_spec.inputs)
        (criterion,) = result.lowered.workflow.success_criteria
        assert isinstance(criterion, DomContains)
        assert (criterion.value, criterion.exact) == (f"{{{name}}}", True)
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            assert (await ran(session, result, {name: "Teal"})).succeeded
            assert profile.colour == "Teal"
            profile.works = False
            await session.page.goto(f"{site.base}/")
            assert not (await ran(session, result, {name: "Plum"})).complete, "it did not store the colour"


async def test_a_switch_without_words_is_read_back_by_its_state_beside_its_label(browser, tmp_path):
    profile = Profile()

    async def from_the_day(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        profile.night = False
        await page.reload()
        await switches_to_night(page, given, dice)

    with running_site(profile.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", from_the_day, [{}, {}, {}])
        assert result.lowered is not None
        (criterion,) = result.lowered.workflow.success_criteria
        assert isinstance(criterion, DomElement)
        assert "Night mode" in criterion.selector
        async with visiting(browser, site, tmp_path / "stores") as session:
            for works in (True, False):
                profile.night, profile.works = False, works
                await session.page.goto(f"{site.base}/")
                assert (await ran(session, result, {})).succeeded is works


async def test_a_number_inside_a_longer_one_is_not_read_back(browser, tmp_path):
    wallet = Wallet()
    with running_site(wallet.answer) as site:
        shown = [{"limit": each} for each in ("750", "620", "910")]
        result = await induced(browser, site, tmp_path / "traces", changes_the_limit, shown)
        assert result.lowered is not None
        (name,) = (spec.name for spec in result.lowered.workflow.io_spec.inputs)
        async with visiting(browser, site, tmp_path / "stores") as session:
            wallet.limit, wallet.format_limit = 500.0, lambda _: "$500.00"  # it stores it, and never shows it
            await session.page.goto(f"{site.base}/")
            done = await ran(session, result, {name: "5"})
            assert not done.complete, "$5 is part of $500.00, and no limit of 5 is shown"


ACCOUNTS = """<body><h1>Accounts</h1><ul id=list></ul><button id=new>New</button><div id=dialog></div><script>
const draw = names => list.innerHTML = names.map(name => `<li>${name}</li>`).join('');
fetch('/accounts').then(answer => answer.json()).then(draw);
document.getElementById('new').onclick = () => {
  dialog.innerHTML = '<label>Name <input id=name></label><button id=save>Save</button>';
  document.getElementById('save').onclick = async () => {
    const body = new URLSearchParams({name: document.getElementById('name').value});
    draw(await (await fetch('/accounts', {method: 'POST', body})).json());
    dialog.innerHTML = '';
  };
};</script></body>"""


async def _adds_an_account(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.click("#new")
    await page.fill("#name", given["name"])
    await page.click("#save")
    await page.locator("li", has_text=given["name"]).wait_for()


@pytest.mark.parametrize(("name", "status"), [("fenna", "success"), ("ilse", "unverified")])
async def test_what_was_there_before_the_last_write_is_no_evidence_of_it(browser, tmp_path, name, status):
    names = ["ilse"]

    def answer(asked: Asked) -> Answered:
        if asked.path != "/accounts":
            return Answered(ACCOUNTS)
        if asked.method == "POST" and asked.form["name"] not in names:
            names.append(asked.form["name"])  # what exists is taken without a word
        return Answered(json.dumps(names))

    with running_site(answer) as site:
        shown = [{"name": each} for each in ("marga", "otto", "tilde")]
        result = await induced(browser, site, tmp_path / "traces", _adds_an_account, shown)
        assert result.lowered is not None
        (spec,) = result.lowered.workflow.io_spec.inputs
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            done = await ran(session, result, {spec.name: name})
    assert (done.status.value, done.error) == (status, None)


IN_PAGE = """<body><h1>Accounts</h1><ul id=list></ul><button id=new>New</button><div id=dialog></div><script>
const names = ['ilse'];
const draw = () => { list.innerHTML = names.map(each => `<li>${each}</li>`).join('') };
draw();
document.getElementById('new').onclick = () => {
  dialog.innerHTML = '<label>Name <input id=name></label><button id=save>Save</button><p id=told></p>';
  document.getElementById('save').onclick = () => {
    const name = document.getElementById('name').value;
    if (names.includes(name)) { told.textContent = 'Choose another name'; return }
    names.push(name); draw(); dialog.innerHTML = '';
  };
};</script></body>"""
"""Sends nothing, and refuses a name that is there in words that are not marked as an error."""


async def _adds_in_the_page(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.click("#new")
    await page.fill("#name", given["name"])
    await page.click("#save")
    await page.locator("li", has_text=given["name"]).wait_for()


@pytest.mark.parametrize(("name", "status"), [("fern", "success"), ("ilse", "unverified")])
async def test_what_was_there_at_every_press_is_no_evidence_where_nothing_is_sent(
    browser, tmp_path, name, status
):
    with running_site(lambda _: Answered(IN_PAGE)) as site:
        shown = [{"name": each} for each in ("marga", "otto", "tilde")]
        result = await induced(browser, site, tmp_path / "traces", _adds_in_the_page, shown)
        assert result.lowered is not None
        (spec,) = result.lowered.workflow.io_spec.inputs
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            done = await ran(session, result, {spec.name: name})
    assert (done.status.value, done.error) == (status, None)


SILENT = """<body><h1>Moorings</h1><button id=edit>Edit</button><div id=dialog></div><script>
document.getElementById('edit').onclick = () => {
  dialog.innerHTML = '<label>Boat <input id=boat></label><button id=save>Save</button>';
  document.getElementById('save').onclick = () => {
    const boat = document.getElementById('boat').value;
    dialog.innerHTML = '';
    if (boat !== 'Ghost') setTimeout(() => fetch('/state', {method: 'POST', body: new URLSearchParams({boat})}), 1500);
  };
};</script></body>"""
"""Shows nothing of what it keeps, and sends it a while after the press; of a ghost it sends nothing."""


async def _moors(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.click("#edit")
    await page.fill("#boat", given["boat"])
    async with page.expect_response("**/state"):
        await page.click("#save")


@pytest.mark.parametrize(("boat", "status"), [("Tern", "success"), ("Ghost", "failure")])
async def test_where_no_page_shows_what_was_done_the_answer_to_the_last_write_does(
    browser, tmp_path, boat, status
):
    kept: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.path == "/state":
            kept.append(asked.form["boat"])
            return Answered("{}")
        return Answered(SILENT)

    with running_site(answer) as site:
        shown = [{"boat": each} for each in ("Heron", "Gull", "Plover")]
        result = await induced(browser, site, tmp_path / "traces", _moors, shown)
        assert result.lowered is not None
        assert [each.type for each in result.lowered.workflow.success_criteria] == ["write_accepted"]
        (spec,) = result.lowered.workflow.io_spec.inputs
        kept.clear()
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            done = await ran(session, result, {spec.name: boat})
            assert session.criteria is None  # the next task in this session is not judged by them
    assert (done.status.value, kept) == (status, ["Tern"] if boat == "Tern" else [])


class Meters:
    """A form that is empty again after it was sent; only a counter in the menu tells that something was stored."""

    def __init__(self) -> None:
        self.stored = 3
        self.visits = 40
        self.deaf = False
        """Whether it stores nothing."""

    def answer(self, asked: Asked) -> Answered:
        self.visits += 1
        if asked.method == "POST":
            self.stored += not self.deaf
            return Answered(location="/")
        menu = (
            f"<nav><a href='/'>Readings <span class=badge>{self.stored}</span></a>"
            f"<a href='/seen'>Visits <span class=badge>{self.visits}</span></a></nav>"
        )
        return Answered(
            f'<body>{menu}<h1>Meter</h1><button id=open onclick="entry.hidden=false">Enter a reading</button>'
            "<form id=entry method=post hidden><label for=r>Reading</label><input id=r name=reading>"
            "<button id=save>Save</button></form></body>"
        )


async def reads_a_meter(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.click("#open")
    await page.fill("#r", given["reading"])
    async with page.expect_navigation():
        await page.click("#save")


@pytest.mark.parametrize("deaf", [False, True])
async def test_a_counter_that_rose_in_all_recordings_must_rise_in_a_run(browser, tmp_path, deaf):
    meters = Meters()
    shown = [{"reading": each} for each in ("118", "240", "377")]
    with running_site(meters.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", reads_a_meter, shown)
        assert result.lowered is not None
        (criterion,) = result.lowered.workflow.success_criteria
        assert isinstance(criterion, NumberChanged)
        assert ("Readings" in criterion.selector, criterion.by) == (True, 1)
        meters.deaf = deaf
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            done = await ran(session, result, {result.lowered.workflow.io_spec.inputs[0].name: "512"})
    assert (done.status is RunStatus.SUCCESS) is not deaf, done.error
