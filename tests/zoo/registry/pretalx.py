"""pretalx, where organisers plan a conference: Django, server-rendered, with Choices.js for selects.

Licence: AGPL-3.0 with additional terms, its scripts and styles Apache-2.0; it is installed as it is, for tests only.
Version 2025.2.2. Its menu unfolds below the mouse, a session's state is changed in a menu in its row, and a bar to
confirm appears when something is decided. Some refused forms are shown again, others are not sent by the browser.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.pretalx_event import USER, start_pretalx
from tests.zoo.registry.serving import LONG, PASSWORD, instances
from tests.zoo.zoo_jobs import Application, Given, Job, add_invalid


async def _open(page: Page, control: Locator) -> None:
    """Follow a link or press a button, and wait until the next page is loaded."""
    async with page.expect_navigation():
        await control.click()


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type("[name=login_email]", USER)
    await noise.type("[name=login_password]", PASSWORD)
    await _open(page, page.get_by_role("button", name="Log in"))
    await _open(page, page.get_by_role("main").get_by_role("link", name="Compass Days"))


async def _go(page: Page, section: str, part: str = "", *, unfold: bool = False) -> None:
    """Move the mouse to the menu, which grows, and open a section, and then a part of it.

    `unfold`: by the arrow beside the section instead, which stays on the page.
    """
    menu = page.get_by_role("complementary")
    fold = menu.locator(".nav-fold").filter(has=page.locator(".sidebar-text", has_text=section))
    await menu.hover()
    if unfold:
        await fold.locator(".arrow").click()
    else:
        await _open(page, fold.locator(".sidebar-text"))
    if part:
        await menu.hover()
        await _open(page, fold.get_by_role("link", name=part, exact=True))


def _named(within: Page | Locator, role: Literal["button", "link", "menuitem"], name: str) -> Locator:
    """Return what has these words and a picture, which is a letter of a font and would be part of its name."""
    return within.get_by_role(role).filter(has_text=re.compile(rf"^\s*{re.escape(name)}\s*$"))


async def _search(page: Page, noise: Noise, words: str) -> None:
    await noise.type("main [name=q]", words)
    await _open(page, _named(page.get_by_role("main"), "button", "Search"))


def _row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


async def _choose(page: Page, label: str, option: str) -> None:
    """Open the box that stands for a select, and press an option."""
    box = page.locator(".form-group").filter(has=page.locator("label", has_text=label)).locator(".choices")
    await box.click()
    await box.locator(".choices__list--dropdown").get_by_role("option", name=option, exact=True).click()


async def _type_time(page: Page, field: str, time: str) -> None:
    """Type into the parts of a date with a time. The year takes more than four digits, so one goes on by hand.

    The browser's calendar comes up a moment after the click, takes the keys, and is closed before one types.
    """
    given = datetime.fromisoformat(time)
    for _ in range(3):
        await page.locator(field).click(position={"x": 20, "y": 15})
        await page.wait_for_timeout(500)
        await page.keyboard.press("Escape")
        await page.keyboard.type(f"{given:%m%d%Y}")
        await page.keyboard.press("ArrowRight")
        await page.keyboard.type(f"{given:%I%M%p}")
        if await page.input_value(field) == time:
            return
    raise PlaywrightError(f"{field} does not take {time}")


async def _save(page: Page) -> None:
    """Press the button. The browser does not send what it finds wrong by itself, and says so at the field."""
    button = _named(page, "button", "Save")
    if await page.locator("main form :invalid").count():
        await button.click()
    else:
        await _open(page, button)


async def create_session(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _go(page, "Sessions")
    await _open(page, _named(page, "link", "Add new session or proposal"))
    if given["title"]:
        await noise.type("#id_title", given["title"])
    await _choose(page, "Session type", given["type"])
    await _choose(page, "Track", given["track"])
    if given["abstract"]:
        await noise.type("#id_abstract", given["abstract"])
    await _save(page)


async def add_session_type(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _go(page, "Call for Proposals", "Session types")
    await _open(page, _named(page, "link", "New type"))
    if given["name"]:
        await noise.type("[name=name_0]", given["name"])
    await noise.retype("#id_default_duration", given["minutes"])
    if given["deadline"]:
        await _type_time(page, "#id_deadline", given["deadline"])
    await noise.wander()
    await _save(page)


async def edit_room(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _go(page, "Schedule", "Rooms", unfold=True)
    await _open(page, page.get_by_role("link", name=given["room"], exact=True))
    await noise.retype("[name=name_0]", given["name"])
    await noise.retype("[name=description_0]", given["description"])
    await noise.retype("#id_capacity", given["capacity"])
    await _save(page)


async def delete_tag(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _go(page, "Sessions", "Tags")
    await _open(page, _row(page, given["tag"]).get_by_title("Delete"))
    await noise.wander()
    await _open(page, _named(page, "button", "Delete"))


async def decide_proposals(page: Page, given: Given, noise: Noise) -> None:
    """Search for words or a speaker, and accept or reject every proposal that is found and still open."""
    await _sign_in(page, noise)
    await _go(page, "Review")
    await _search(page, noise, given["words"])
    rows = page.locator("main tbody tr").filter(
        has=page.get_by_role("radio", name=given["decision"], exact=True)
    )
    await rows.first.wait_for()
    for row in await rows.all():
        await row.get_by_title(given["decision"], exact=True).click()
    await _open(page, page.get_by_role("button", name="Go!"))


async def change_state(page: Page, given: Given, noise: Noise) -> None:
    """Search for a session, choose another state for it, and confirm."""
    await _sign_in(page, noise)
    await _go(page, "Sessions")
    await _search(page, noise, given["session"])
    row = _row(page, given["session"])
    await row.locator("summary").click()
    await _open(page, _named(row, "menuitem", given["state"]))
    await noise.wander()
    await _open(page, _named(page, "button", "Do it"))


async def rewrite_mail(page: Page, given: Given, noise: Noise) -> None:
    """Find a mail that waits in the outbox, and write another subject and another text."""
    await _sign_in(page, noise)
    await _go(page, "Mails")
    await _search(page, noise, given["mail"])
    await _open(page, page.get_by_role("link", name=given["mail"], exact=True))
    await noise.retype("#id_subject", given["subject"])
    await noise.retype("#id_text", given["text"])
    await _save(page)


def _session(title: str, kind: str, track: str, abstract: str) -> dict[str, str]:
    return {"title": title, "type": kind, "track": track, "abstract": abstract}


def _type(name: str, minutes: str, deadline: str) -> dict[str, str]:
    return {"name": name, "minutes": minutes, "deadline": deadline}


def _room(room: str, name: str, description: str, capacity: str) -> dict[str, str]:
    return {"room": room, "name": name, "description": description, "capacity": capacity}


def _decided(words: str, decision: str) -> dict[str, str]:
    return {"words": words, "decision": decision}


def _changed(session: str, state: str) -> dict[str, str]:
    return {"session": session, "state": state}


def _mail(mail: str, subject: str, text: str) -> dict[str, str]:
    return {"mail": mail, "subject": subject, "text": text}


_TALK, _SHORT, _WORKSHOP = "Talk (30 minutes)", "Lightning talk (10 minutes)", "Workshop (90 minutes)"
_PANEL, _TRIP = "Panel (60 minutes)", "Field trip (4 hours)"

JOBS = [
    Job("create_session", create_session, instances(
        ("plain", _session("Contour lines by hand", _WORKSHOP, "Surveying", "We draw a hill with pencils.")),
        ("plain", _session("What pilots see at night", _TALK, "Sea charts", "Buoys and their lights")),
        ("plain", _session("Bus maps of small towns", _SHORT, "Web maps", "Twelve towns, one page each")),
        ("plain", _session("A walk to the old border", _TRIP, "Walker's maps", "Bring good shoes.")),
        ("plain", _session("Who pays for open data?", _PANEL, "Web maps", "Four cities report")),
        ("plain", _session("The lost chart of the bay", _TALK, "Sea charts of 1780", "It was found in a kitchen.")),
        ("quotes", _session("\"Here be dragons\": it's a myth", _TALK, 'The "other" world', "Nobody wrote \"dragons\", that's all")),
        ("unicode", _session("Žofiina mapa 東京 für Kinder", _WORKSHOP, "Žemělepisy und Größen", "Größe egal, прошу ✓")),
        ("long", _session("The history of one sheet", _PANEL, "Old maps", LONG)),
        ("refused", _session("", _TALK, "Surveying", "There is no title.")),
        ("refused", _session("Ice on the lake", _SHORT, "Old maps", "")),
        ("existing", _session("Tides", _TALK, "Sea charts", "The same title as the short one")),
        ("missing", _session("Keynote of the mayor", "Keynote (45 minutes)", "Old maps", "No such type")),
        ("missing", _session("Stars over the pole", _TALK, "Star maps", "No such track")),
    ), "/orga/", "create"),
    Job("add_session_type", add_session_type, instances(
        ("plain", _type("Poster", "20", "2031-05-01T18:30")),
        ("plain", _type("Evening lecture", "75", "2031-04-15T12:00")),
        ("plain", _type("Film with discussion", "120", "2031-06-30T23:59")),
        ("plain", _type("Round table", "45", "2031-03-22T09:15")),
        ("plain", _type("Boat trip", "180", "2031-07-12T08:00")),
        ("plain", _type("Book launch", "25", "2031-12-01T16:45")),
        ("quotes", _type("Speaker's \"corner\"", "15", "2031-05-20T10:30")),
        ("unicode", _type("Přednáška für alle 講演", "40", "2031-08-08T20:05")),
        ("long", _type(LONG[:95].strip(), "50", "2031-02-28T07:30")),
        ("empty", _type("Demonstration", "35", "")),
        ("refused", _type("", "30", "2031-05-01T18:30")),
        ("refused", _type("Coffee chat", "half an hour", "2031-05-02T11:00")),
        ("existing", _type("Panel", "55", "2031-05-03T17:20")),
    ), "/orga/", "create"),
    Job("edit_room", edit_room, instances(
        ("plain", _room("Green room", "Green hall", "Ground floor since May", "140")),
        ("plain", _room("Lecture room 4", "Lecture room 14", "Third floor, left", "65")),
        ("plain", _room("Foyer", "Entrance hall", "Posters, coffee and coats", "90")),
        ("plain", _room("Garden tent", "Garden stage", "Also if it rains", "120")),
        ("plain", _room("Attic", "Upper attic", "Mind your head", "20")),
        ("plain", _room("Attic studio", "Sound studio", "Ask for headphones", "8")),
        ("plain", _room("Board room", "Meeting room", "Key at the desk", "14")),
        ("quotes", _room("Printers' workshop", "Printer's \"cellar\"", "Don't touch the press", "18")),
        ("quotes", _room('The "Compass"', "The compass room", 'No longer "round"', "44")),
        ("unicode", _room("Sál Žofín", "Sál Žofín 東", "Vchod für Gäste, прошу ✓", "205")),
        ("long", _room("Old chapel", "Chapel", LONG, "155")),
        ("empty", _room("Blue hall", "Blue lecture hall", "", "310")),
        ("refused", _room("Foyer", "", "The name is gone", "55")),
        ("refused", _room("Green room", "Greener room", "Fewer than none", "-4")),
        ("existing", _room("Garden tent", "Foyer", "There are two of them now", "70")),
        ("missing", _room("Music room", "Piano room", "Nobody built it", "30")),
        ("missing", _room("Lecture room", "Lecture hall", "Only the beginning of a name", "33")),
    ), "/orga/", "edit"),
    Job("delete_tag", delete_tag, instances(
        *(("plain", {"tag": each}) for each in (
            "outdoors", "local history", "sponsored", "beginners", "needs projector", "in German", "hands-on",
            "beginners welcome",
        )),
        ("quotes", {"tag": "speaker's first talk"}),
        ("quotes", {"tag": 'so-called "classic"'}),
        ("unicode", {"tag": "čeština"}),
        ("missing", {"tag": "keynote"}),
        ("missing", {"tag": "local"}),
        ("missing", {"tag": "speaker"}),
    ), "/orga/", "delete"),
    Job("decide_proposals", decide_proposals, instances(
        ("plain", _decided("paper", "Accept")),
        ("plain", _decided("Amina Yusuf", "Reject")),
        ("plain", _decided("Greta", "Accept")),
        ("plain", _decided("for", "Accept")),
        ("plain", _decided("Bruno Keller", "Reject")),
        ("plain", _decided("maps", "Accept")),
        ("plain", _decided("tides", "Reject")),
        ("plain", _decided("and", "Accept")),
        ("quotes", _decided("O'Dowd", "Reject")),
        ("quotes", _decided('"continents"', "Accept")),
        ("unicode", _decided("Žáková", "Accept")),
        ("missing", _decided("volcano", "Accept")),
        ("missing", _decided("Islands", "Reject")),
    ), "/orga/", "list"),
    Job("change_state", change_state, instances(
        ("plain", _changed("Soundings and lead lines", "accepted")),
        ("plain", _changed("Tiles without a server", "withdrawn")),
        ("plain", _changed("Forgeries in old atlases", "not accepted")),
        ("plain", _changed("Tides", "submitted")),
        ("plain", _changed("Tides for landlubbers", "canceled")),
        ("plain", _changed("Islands that never were", "confirmed")),
        ("plain", _changed("Labels that do not collide", "accepted")),
        ("plain", _changed("Map styles in an hour", "withdrawn")),
        ("quotes", _changed('Mars and other "continents"', "not accepted")),
        ("unicode", _changed("Mapy pro děti 地図", "confirmed")),
        ("missing", _changed("Volcanoes of the north", "accepted")),
        ("missing", _changed("Maps", "withdrawn")),
        ("missing", _changed("Paper, ink and glue", "submitted")),
    ), "/orga/", "edit"),
    Job("rewrite_mail", rewrite_mail, instances(
        ("plain", _mail("Travel costs", "Tickets and travel", "Send us your tickets by post.")),
        ("plain", _mail("Dinner on Friday", "Dinner on Saturday", "We meet at eight in the garden.")),
        ("plain", _mail("Parking", "Where to park", "Behind the chapel, on the left.")),
        ("plain", _mail("Your room has changed", "Your room", "It is the Blue hall after all.")),
        ("plain", _mail("Your room has changed again", "Your last room", "The Foyer, for sure.")),
        ("plain", _mail("Loan of a theodolite", "Return of the theodolite", "Thank you for the loan.")),
        ("plain", _mail("Is your talk ready?", "Slides for Monday", "We still wait for them.")),
        ("quotes", _mail("The harbour's key", "The warden's \"spare\" key", "Don't lose it, it's \"old\".")),
        ("quotes", _mail('About the word "map"', 'Not "map" but "chart"', "The editor's decision")),
        ("unicode", _mail("Překlad: ubytování für Gäste", "Ubytování 宿 für Gäste", "Größe egal, прошу ✓")),
        ("long", _mail("Cable for your computer", "Cables and adapters", LONG)),
        ("refused", _mail("Travel costs", "", "There is no subject.")),
        ("refused", _mail("Parking", "Nothing to say", "")),
        ("missing", _mail("Breakfast on Sunday", "Brunch", "At ten in the Foyer")),
        ("missing", _mail("Your room", "Your bed", "Only the beginning of a subject")),
    ), "/orga/", "edit"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "add_session_type": _type("Workshop", "75", "2031-04-15T12:00"),
    "edit_room": _room("Foyer", "", "Posters, coffee and coats", "90"),
}
"""Values for which it shows the form again, for a recording that must not count."""


PRETALX = Application("pretalx", "server-rendered, Choices.js", add_invalid(JOBS, INVALID), start_pretalx)
