"""Shiori, a bookmark manager: Vue, a grid of cards, icons without words, dialogs of its own.

Licence: MIT. Versions 1.7.0 and 1.6.0 differ in the page's footer, the settings and what a press on Home does. Its
links and buttons are anchors without an address.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.serving import (
    LONG,
    PASSWORD,
    ServedApplication,
    copy_database,
    free_port,
    installed,
    instances,
    read_rows,
    request_json,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("1.7.0", "1.6.0")
"""The newer first."""
USER = "librarian"

_FIRST = ("shiori", "gopher")
"""Who can sign in to a new installation."""
_ACCOUNTS = (
    "anton",
    "bettina",
    "carlos",
    "dunja",
    "elif",
    "farid",
    "o'brien",
    "žofie",
    "hugo",
    "ida",
    "jamal",
)
_BOOKMARKS = (
    ("herons.example/lake", "Herons of the lake", "Where they nest", "birds, water"),
    ("bread.example/rye", "Rye bread in three days", "Start on Friday", "baking"),
    ("clocks.example/repair", "Repairing wall clocks", "", "workshop"),
    ("maps.example/old-town", "Maps of the old town", "From 1790 on", "history, maps"),
    ("tides.example/today", "Tides today", "For the whole coast", "water"),
    ("owls.example/calls", "Calls of owls", "With recordings", "birds, sound"),
    ("knots.example/bowline", 'The "bowline" and friends', "", "workshop, rope"),
    ("kofi.example/letters", "Kofi's letters home", "1954 to 1961", "history, kofi's"),
    ("tokyo.example/zofie", "Žofie in 東京", "Größtenteils Bilder", "travel, 旅"),
    ("trains.example/night", "Night trains of Europe", "Timetables", "travel, maps"),
    ("glue.example/hide", "Hide glue", "How to keep it warm", "workshop"),
    ("songs.example/sea", "Songs of the sea", "", "sound, water"),
    ("scones.example/plain", "Plain scones", "Ready in half an hour", "baking"),
    ("castles.example/ruins", "Ruins of castles", "A list", "history"),
    ("ferries.example/islands", "Ferries to the islands", "Not in winter", "travel, water"),
    ("moss.example/guide", "A guide to moss", "", ""),
)
_NO_NETWORK = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "",
    "no_proxy": "",
}
"""It would look at every page that it gets the address of. Nothing listens there."""
_REFUSED_MS = 2_000
"""How long a person waits for a dialog that does nothing."""


@asynccontextmanager
async def start_shiori(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve a collection of bookmarks."""
    program = installed("shiori", version) / "shiori"
    async with work_folder(parent) as folder:
        data, seed, port = folder / "data", folder / "seed.db", free_port()
        database, base = data / "shiori.db", f"http://127.0.0.1:{port}"
        data.mkdir()
        command = [program, "server", "--address", "127.0.0.1", "--port", str(port)]
        settings = {"SHIORI_DIR": str(data), "SHIORI_HTTP_SECRET_KEY": "of the zoo", "HOSTNAME": "localhost"}
        async with serve(command, folder, f"{base}/login", settings | _NO_NETWORK):
            _fill(base)
            copy_database(database, seed)
            yield ServedApplication(
                base, lambda: copy_database(seed, database), lambda: _read_state(database)
            )


def _fill(base: str) -> None:
    signed = _sign_in_by_request(base, *_FIRST)
    _account(base, USER, signed, owner=True)
    signed = _sign_in_by_request(base, USER, PASSWORD)
    request_json(f"{base}/api/accounts", "DELETE", [_FIRST[0]], signed)
    for name in _ACCOUNTS:
        _account(base, name, signed, owner=False)
    for address, title, excerpt, tags in _BOOKMARKS:
        bookmark = {
            "url": f"https://{address}", "title": title, "excerpt": excerpt,
            "tags": [{"name": tag} for tag in tags.split(", ") if tag],
        }  # fmt: skip
        request_json(f"{base}/api/bookmarks", "POST", bookmark, signed)


def _sign_in_by_request(base: str, name: str, password: str) -> dict[str, str]:
    account = {"username": name, "password": password, "remember_me": True}
    token = request_json(f"{base}/api/v1/auth/login", "POST", account)["message"]["token"]
    return {"Authorization": f"Bearer {token}"}


def _account(base: str, name: str, signed: dict[str, str], *, owner: bool) -> None:
    account = {"username": name, "password": PASSWORD, "owner": owner}
    request_json(f"{base}/api/accounts", "POST", account, signed)


def _read_state(database: Path) -> Any:
    bookmarks = read_rows(database, "select id, url, title, excerpt, public from bookmark order by id")
    tagged = read_rows(
        database, "select bookmark_id, name from bookmark_tag join tag on tag.id = tag_id order by name"
    )
    for bookmark in bookmarks:
        number = bookmark.pop("id")
        bookmark["tags"] = [each["name"] for each in tagged if each["bookmark_id"] == number]
    return {
        "bookmarks": bookmarks,
        "tags": [each["name"] for each in read_rows(database, "select name from tag order by name")],
        "accounts": read_rows(database, "select username, owner from account order by username"),
    }


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type("#username", USER)
    await noise.type("#password", PASSWORD)
    await page.get_by_text("Log In", exact=True).click()
    await page.locator(".bookmark").first.wait_for()


def _card(page: Page, title: str) -> Locator:
    return page.locator(".bookmark").filter(has=page.locator(".title").get_by_text(title, exact=True))


def _field(label: str) -> str:
    return f".custom-dialog :is(input, textarea)[placeholder='{label}']"


async def _press(page: Page, button: str) -> None:
    """Press a button of the dialog, and wait until the dialog has gone or says what is wrong."""
    await page.locator(".custom-dialog-footer").get_by_text(button, exact=True).click()
    header = page.locator(".custom-dialog-header")
    for _ in range(_REFUSED_MS // 100):
        if not await header.count() or "Error" in await header.all_inner_texts():
            return
        await page.wait_for_timeout(100)


async def create_bookmark(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_title("Add new bookmark").click()
    if given["address"]:
        await noise.type(_field("Url, start with http://..."), given["address"])
    await noise.type(_field("Custom title (optional)"), given["title"])
    if given["excerpt"]:
        await noise.type(_field("Custom excerpt (optional)"), given["excerpt"])
    if given["tags"]:
        await noise.type(_field("Comma separated tags (optional)"), given["tags"])
    await noise.wander()
    await _press(page, "OK")


async def edit_bookmark(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _card(page, given["title"]).hover()  # its icons are there only then
    await _card(page, given["title"]).get_by_title("Edit bookmark").click()
    await noise.retype(_field("Title"), given["new title"])
    await noise.retype(_field("Excerpt"), given["excerpt"])
    await noise.wander()
    await _press(page, "OK")


async def delete_bookmark(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _card(page, given["title"]).hover()
    await _card(page, given["title"]).get_by_title("Delete bookmark").click()
    await noise.wander()
    await _press(page, "Yes")


async def rename_tag(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_title("Show tags").click()
    await page.get_by_text("Rename Tags", exact=True).click()
    named = re.compile(rf"^\s*#{re.escape(given['tag'])}\s*\d+\s*$")  # how often it is used stands behind it
    await page.locator("#dialog-tags a").filter(has_text=named).click()
    await noise.retype(_field("New tag name"), given["new name"])
    await page.locator(".custom-dialog-footer").get_by_text("OK", exact=True).click()
    await (
        page.locator(".custom-dialog-header")
        .get_by_text("Existing Tags")
        .or_(page.locator(".custom-dialog-header").get_by_text("Error"))
        .first.wait_for()
    )


async def tag_bookmarks(page: Page, given: Given, noise: Noise) -> None:
    """Search for a word, select every bookmark that is found, and give them one more tag."""
    await _sign_in(page, noise)
    await _show_only(page, noise, given["word"])
    await page.get_by_title("Batch edit").click()
    await _select_all(page)
    await page.locator("#edit-box").get_by_title("Add tags").click()
    await noise.type(_field("Comma separated tags"), given["tag"])
    await _press(page, "OK")


async def drop_bookmarks(page: Page, given: Given, noise: Noise) -> None:
    """Select every bookmark with a tag, and delete them."""
    await _sign_in(page, noise)
    await page.locator(".bookmark-tags").get_by_text(given["tag"], exact=True).first.click()
    await page.wait_for_url("**search=**")
    await page.locator(".loading-overlay").wait_for(state="detached")
    await page.get_by_title("Batch edit").click()
    await _select_all(page)
    await page.locator("#edit-box").get_by_title("Delete bookmark").click()
    await noise.wander()
    await _press(page, "Yes")


async def _show_only(page: Page, noise: Noise, word: str) -> None:
    await noise.type("input[placeholder='Search url, keyword or tags']", word)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**search=**")
    await page.locator(".loading-overlay").wait_for(state="detached")


async def _select_all(page: Page) -> None:
    cards = page.locator(".bookmark .bookmark-selector")
    await cards.first.wait_for()
    for card in await cards.all():
        await card.click()


async def create_account(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_title("Setting", exact=True).click()
    await page.get_by_text("Add new account", exact=True).click()
    if given["name"]:
        await noise.type(_field("Username"), given["name"])
    await noise.type(_field("Password"), PASSWORD)
    await noise.type(_field("Repeat password"), PASSWORD)
    await page.get_by_text("This account is for visitor").click()
    await _press(page, "OK")


async def delete_account(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_title("Setting", exact=True).click()
    row = page.locator("#setting-accounts li").filter(
        has=page.get_by_role("paragraph").get_by_text(given["name"], exact=True)
    )
    await row.get_by_title("Delete account").click()
    await noise.wander()
    await _press(page, "Yes")


def _bookmark(address: str, title: str, excerpt: str, tags: str) -> dict[str, str]:
    return {"address": address, "title": title, "excerpt": excerpt, "tags": tags}


def _edited(title: str, new: str, excerpt: str) -> dict[str, str]:
    return {"title": title, "new title": new, "excerpt": excerpt}


def _renamed(tag: str, new: str) -> dict[str, str]:
    return {"tag": tag, "new name": new}


JOBS = [
    Job("create_bookmark", create_bookmark, instances(
        ("plain", _bookmark("https://kites.example/plans", "Plans for kites", "Paper and bamboo", "paper")),
        ("plain", _bookmark("https://cheese.example/smoke", "Smoked cheese", "In a barrel", "kitchen")),
        ("plain", _bookmark("https://ponds.example/frogs", "Frogs in ponds", "Until June", "animals, spring")),
        ("plain", _bookmark("http://ladders.example/", "Ladders and steps", "Safe at any height", "tools")),
        ("plain", _bookmark("https://violins.example/strings", "Strings for violins", "Gut or steel", "music")),
        ("plain", _bookmark("https://comets.example/2031", "Comets of 2031", "Two of them", "sky, night")),
        ("quotes", _bookmark("https://chess.example/oneill", "O'Neill's \"quiet\" moves", "It's \"slow\" chess", "games")),
        ("unicode", _bookmark("https://praha.example/zofie", "Žofie píše 手紙", "Größe egal, прошу ✓", "česky, 手紙")),
        ("long", _bookmark("https://story.example/long", "A long story", LONG, "reading")),
        ("empty", _bookmark("https://lamps.example/oil", "Oil lamps", "", "")),
        ("refused", _bookmark("", "Without an address", "There is none", "nothing")),
        ("refused", _bookmark("kites.example/tails", "Tails of kites", "There is no https before it", "paper")),
        ("existing", _bookmark("https://bread.example/rye", "Rye again", "We have it", "kitchen")),
    ), "/login", "create"),
    Job("edit_bookmark", edit_bookmark, instances(
        ("plain", _edited("Herons of the lake", "Herons and egrets", "Seen in March")),
        ("plain", _edited("Hide glue", "Glue from hides", "Sixty degrees")),
        ("plain", _edited("Night trains of Europe", "Sleepers", "Book early")),
        ("plain", _edited("Plain scones", "Scones with butter", "Twelve of them")),
        ("plain", _edited("Ruins of castles", "Castles on the river", "Take the boat")),
        ("plain", _edited("Songs of the sea", "Shanties", "For rainy evenings")),
        ("quotes", _edited('The "bowline" and friends', "Knots that don't slip", 'The "king" of knots')),
        ("quotes", _edited("Kofi's letters home", "Kofi's \"blue\" letters", "It's all in ink")),
        ("unicode", _edited("Žofie in 東京", "大阪: Žofie reist", "Größe und прошу ✓")),
        ("long", _edited("Tides today", "Tides of the year", LONG)),
        ("empty", _edited("Maps of the old town", "Old maps", "")),
        ("refused", _edited("Calls of owls", "", "No title")),
        ("missing", _edited("Wells of the desert", "Wells", "Dry")),
        ("missing", _edited("Herons", "Egrets", "White")),
    ), "/login", "edit"),
    Job("delete_bookmark", delete_bookmark, instances(
        *(("plain", {"title": each}) for each in (
            "Plain scones", "Hide glue", "Tides today", "Calls of owls", "Ruins of castles", "Repairing wall clocks",
            "A guide to moss", "Herons of the lake",
        )),
        ("quotes", {"title": 'The "bowline" and friends'}),
        ("quotes", {"title": "Kofi's letters home"}),
        ("unicode", {"title": "Žofie in 東京"}),
        ("missing", {"title": "Wells of the desert"}),
        ("missing", {"title": "Tides"}),
    ), "/login", "delete"),
    Job("rename_tag", rename_tag, instances(
        ("plain", _renamed("birds", "feathers")),
        ("plain", _renamed("workshop", "bench")),
        ("plain", _renamed("history", "the past")),
        ("plain", _renamed("baking", "oven")),
        ("plain", _renamed("travel", "on the road")),
        ("plain", _renamed("water", "sea and lake")),
        ("plain", _renamed("sound", "audio")),
        ("plain", _renamed("maps", "atlas")),
        ("quotes", _renamed("rope", "sailor's")),
        ("unicode", _renamed("旅", "cesty 東")),
        ("existing", _renamed("birds", "baking")),
        ("missing", _renamed("mountains", "hills")),
        ("missing", _renamed("work", "labour")),
    ), "/login", "edit", in_older=False),  # 1.6.0 sends the new name to an address that is not there
    Job("tag_bookmarks", tag_bookmarks, instances(
        *(("plain", {"word": word, "tag": tag}) for word, tag in (
            ("owls", "night"), ("castles", "stone"), ("islands", "summer"), ("scones", "tea"), ("trains", "rails"),
            (".example/r", "letter r"), ("example/n", "letter n"), ("tides", "daily"), ("of", "for later"),
        )),
        ("quotes", {"word": "maps", "tag": "ruth's"}),
        ("unicode", {"word": "moss", "tag": "мох"}),
        ("missing", {"word": "volcano", "tag": "fire"}),
        ("missing", {"word": "wells", "tag": "dry"}),
    ), "/login", "list"),
    Job("drop_bookmarks", drop_bookmarks, instances(
        *(("plain", {"tag": each}) for each in (
            "birds", "baking", "workshop", "history", "water", "travel", "sound", "maps", "rope",
        )),
        ("quotes", {"tag": "kofi's"}),
        ("unicode", {"tag": "旅"}),
        ("missing", {"tag": "mountains"}),
        ("missing", {"tag": "work"}),
    ), "/login", "list"),
    Job("create_account", create_account, instances(
        *(("plain", {"name": each}) for each in ("kasimir", "lea", "milan", "nora", "otto", "paula", "quentin")),
        ("quotes", {"name": "d'arcy \"red\" hall"}),
        ("unicode", {"name": "žižka 東"}),
        ("long", {"name": LONG[:120]}),
        ("refused", {"name": ""}),
        ("existing", {"name": "carlos"}),
        ("existing", {"name": "ida"}),
    ), "/login", "create"),
    Job("delete_account", delete_account, instances(
        *(("plain", {"name": each}) for each in (
            "anton", "elif", "hugo", "bettina", "carlos", "dunja", "farid", "ida", "jamal",
        )),
        ("quotes", {"name": "o'brien"}),
        ("unicode", {"name": "žofie"}),
        ("missing", {"name": "walter"}),
        ("missing", {"name": "car"}),
    ), "/login", "delete"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_bookmark": _bookmark("cheese.example/smoke", "Smoked cheese", "In a barrel", "kitchen"),
    "edit_bookmark": _edited("Hide glue", "", "Sixty degrees"),
    "rename_tag": _renamed("workshop", "history"),
    "create_account": {"name": ""},
}
"""Values that it refuses, for a recording that must not count."""


SHIORI = Application(
    "shiori",
    "Vue",
    add_invalid(JOBS, INVALID),
    start_shiori,
    partial(start_shiori, version=VERSIONS[1]),
)
