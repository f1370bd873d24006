"""TiddlyWiki, a wiki that runs in the page: its own widgets, an editor in a frame, the browser's own questions.

Licence: BSD. Versions 5.4.1 and 5.1.23 differ in the names of the buttons and in the fields under the editor. Nobody
signs in. The page sends its changes to the server a second or more after they are made.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.serving import (
    LONG,
    ServedApplication,
    free_port,
    installed,
    instances,
    request_json,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("5.4.1", "5.1.23")
"""The newer first."""

_NOTES = (
    ("Varnish the oars", "task jetty", "Mara", "Two layers, and sand between them"),
    ("Order new ropes", "task loft", "Jonas", "Twelve millimetres, white"),
    ("Patch the spinnaker", "task loft", "Mara", "A hand's breadth from the seam"),
    ("Pump out the launch", "task jetty done", "Selma", "Every Monday"),
    ("Count the life jackets", "task shed", "Idris", "Small ones first"),
    ('Paint "Kestrel" on the bow', "task slipway", "Kofi", 'The old "K" has faded'),
    ("Greta's locker needs a key", "task shed", "Selma", "She can't open it"),
    ("Žofie 東京 mooring", "task jetty", "Žofie", "Größe: neun Meter"),
    ("Scrape the hull", "task slipway", "Mara", "Below the water line"),
    ("Oil the winches", "task slipway", "Jonas", ""),
    ("Fold the tarpaulins", "task shed done", "Ruth", "By size"),
    ("Replace the gas bottle", "task galley", "Lotte", "Eleven kilos"),
    ("Air the sails", "task loft", "Ruth", "On a dry day"),
    ("Sweep the chimney", "task galley", "O'Hara", "It's draughty"),
    ("Caulk the dinghy", "task slipway", "Nils", "Cotton and putty"),
    ("Tide table", "galley", "", "It hangs behind the door"),
    ("House rules", "galley", "", "Shoes off below deck"),
    ("Harbour phone numbers", "galley", "", "The master: 17"),
    ("Wim's soup", "galley task", "Wim", "Leeks, potatoes and cream"),
)
_BOARD = """<table>
<$list filter="[tag[task]sort[title]]">
<tr><td><$checkbox tag="done"> done</$checkbox></td><td><$link><$view field="title"/></$link></td><td><$view field="keeper"/></td></tr>
</$list>
</table>"""
_SYSTEM = {
    "$:/SiteTitle": "Boathouse",
    "$:/SiteSubtitle": "what is to be done",
    "$:/DefaultTiddlers": "[[Task board]]",
}
_INFO = '{"plugins": ["tiddlywiki/tiddlyweb", "tiddlywiki/filesystem"], "themes": ["tiddlywiki/vanilla", "tiddlywiki/snowwhite"]}'  # fmt: skip
_KEPT = ("title", "tags", "keeper", "text")
"""The fields of a note that people write; times and the like are left out."""
_WRITTEN_S = 15.0
_SENT_MS = 15_000.0


@asynccontextmanager
async def start_tiddlywiki(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve a wiki of notes from a folder with one file for each note."""
    program = installed("tiddlywiki", version) / "node_modules" / "tiddlywiki" / "tiddlywiki.js"
    async with work_folder(parent) as folder:
        wiki, port = folder / "wiki", free_port()
        files, base = wiki / "tiddlers", f"http://127.0.0.1:{port}"
        files.mkdir(parents=True)
        (wiki / "tiddlywiki.info").write_text(_INFO)
        for number, (title, text) in enumerate(_SYSTEM.items()):
            (files / f"system {number}.tid").write_text(f"title: {title}\n\n{text}")
        command = ["node", program, wiki, "--listen", "host=127.0.0.1", f"port={port}"]
        async with serve(command, folder, f"{base}/status"):
            yield ServedApplication(base, lambda: _reset(base), lambda: _read_state(base, files))


def _seed() -> dict[str, dict[str, str]]:
    notes = {
        title: {
            "title": title, "tags": tags, "text": text, "created": f"202603{day:02}080000000",
            "modified": f"202603{day:02}090000000",
        } | ({"keeper": keeper} if keeper else {})
        for day, (title, tags, keeper, text) in enumerate(_NOTES, 1)
    }  # fmt: skip
    return notes | {"Task board": {"title": "Task board", "text": _BOARD}}


def _reset(base: str) -> None:
    """Take away what is not in the seed, and put what is. The server holds the notes in its memory."""
    seed = _seed()
    there = {each["title"]: each for each in _read_notes(base)}
    for title in there.keys() - seed.keys():
        _send("DELETE", f"{base}/bags/default/tiddlers/{quote(title, safe='')}")
    for title, note in seed.items():
        if any(
            there.get(title, {}).get(name, "") != note.get(name, "")
            for name in (*_KEPT, "created", "modified")
        ):
            request_json(
                f"{base}/recipes/default/tiddlers/{quote(title, safe='')}", "PUT", note,
                {"X-Requested-With": "TiddlyWiki"},
            )  # fmt: skip


def _send(method: str, url: str) -> None:
    request = urllib.request.Request(url, method=method, headers={"X-Requested-With": "TiddlyWiki"})
    with urllib.request.urlopen(request, timeout=10):
        pass


def _read_notes(base: str) -> list[dict[str, str]]:
    """Return the notes in the server's memory, drafts included."""
    notes: list[dict[str, str]] = request_json(f"{base}/recipes/default/tiddlers.json?exclude=revision")
    return notes


def _read_state(base: str, files: Path) -> Any:
    """Return the notes in the files, as soon as the server has written what it holds.

    A draft is left out: it is what stands in a form that nobody has sent.
    """
    ends = time.monotonic() + _WRITTEN_S
    while True:
        held = _kept(_read_notes(base))
        written = _kept(_read_files(files))
        if held == written or time.monotonic() > ends:
            return written
        time.sleep(0.1)


def _kept(notes: list[dict[str, str]]) -> list[dict[str, str]]:
    shown = [each for each in notes if not each["title"].startswith("$:/") and "draft.of" not in each]
    return sorted(
        ({name: each.get(name, "") for name in _KEPT} for each in shown), key=lambda note: note["title"]
    )


def _read_files(files: Path) -> list[dict[str, str]]:
    """Return the notes in the files. A file that is being written or has just gone is left out."""
    notes = []
    for file in files.glob("*.tid"):
        try:
            head, _, text = file.read_text(encoding="utf-8").partition("\n\n")
        except FileNotFoundError:
            continue
        notes.append(dict(line.split(": ", 1) for line in head.split("\n") if ": " in line) | {"text": text})
    return [note for note in notes if "title" in note]


def _frame(page: Page, title: str) -> Locator:
    """Return a note that is open."""
    return page.locator(".tc-tiddler-view-frame").filter(
        has=page.get_by_role("heading", name=title, exact=True)
    )


async def _search(page: Page, noise: Noise, title: str) -> None:
    """Open a note with the search of the sidebar."""
    await noise.retype(".tc-sidebar-search input", title)
    await page.locator(".tc-search-drop-down").get_by_role("link", name=title, exact=True).first.click()
    await _frame(page, title).wait_for()


async def _tab(page: Page, name: str) -> None:
    await page.locator(".tc-sidebar-lists .tc-tab-buttons").get_by_text(name, exact=True).click()


async def _tag(page: Page, noise: Noise, tag: str) -> None:
    await noise.type("input[placeholder='tag name']", tag)
    await page.get_by_role("button", name="add", exact=True).first.click()


async def _saved(page: Page) -> None:
    """Wait until the cloud in the sidebar says that the server has everything."""
    await page.wait_for_timeout(300)
    await page.locator("body:not(.tc-dirty)").wait_for(timeout=_SENT_MS)


async def _confirm(page: Page) -> None:
    await page.get_by_title("Confirm changes to this tiddler").click()
    await _saved(page)


_TITLE = ".tc-tiddler-edit-frame input.tc-titlebar"
_TEXT = ".tc-tiddler-edit-frame iframe.tc-edit-texteditor"
"""A click on the frame puts the cursor into its text area."""


async def create_note(page: Page, given: Given, noise: Noise) -> None:
    """Whoever is asked whether to overwrite a note says no: so answers a page that nobody listens to."""
    await page.get_by_title("Create a new tiddler").first.click()
    await noise.retype(_TITLE, given["title"])
    if given["text"]:
        await noise.type(_TEXT, given["text"])
    await _tag(page, noise, given["place"])
    await noise.wander()
    await _confirm(page)


async def edit_note(page: Page, given: Given, noise: Noise) -> None:
    await _search(page, noise, given["title"])
    await _frame(page, given["title"]).get_by_title("Edit this tiddler").click()
    await noise.retype(_TEXT, given["text"])
    await _confirm(page)


async def rename_note(page: Page, given: Given, noise: Noise) -> None:
    await _tab(page, "Recent")
    await page.locator(".tc-sidebar-lists").get_by_role("link", name=given["title"], exact=True).click()
    await _frame(page, given["title"]).get_by_title("Edit this tiddler").click()
    await noise.retype(_TITLE, given["new title"])
    await _confirm(page)


async def delete_note(page: Page, given: Given, noise: Noise) -> None:
    page.on("dialog", lambda dialog: dialog.accept())
    await _tab(page, "Recent")
    await noise.wander()
    await page.locator(".tc-sidebar-lists").get_by_role("link", name=given["title"], exact=True).click()
    await _frame(page, given["title"]).get_by_title("Edit this tiddler").click()
    await page.get_by_title("Delete this tiddler").click()
    await _saved(page)


async def tick_tasks(page: Page, given: Given, noise: Noise) -> None:
    """Tick every task of a keeper on the board that is not done."""
    rows = page.locator("tr").filter(has=page.get_by_role("cell", name=given["keeper"], exact=True))
    await rows.first.wait_for()
    await noise.wander()
    for row in await rows.all():
        box = row.get_by_label("done")
        if not await box.is_checked():
            await box.click()
    await _saved(page)


async def tag_place(page: Page, given: Given, noise: Noise) -> None:
    """Open each note of a place, and give it one more tag."""
    await _tab(page, "More")
    await _tab(page, "Tags")
    pill = page.locator(".tc-sidebar-lists .tc-tag-label").get_by_text(given["place"], exact=True)
    links = (
        page.locator(".tc-sidebar-lists .tc-tagged-draggable-list")
        .locator("visible=true")
        .get_by_role("link")
    )
    await pill.click()
    await links.first.wait_for()
    titles = [title.strip() for title in await links.all_inner_texts()]
    for number, title in enumerate(titles):
        if number:
            await pill.click()
        await links.and_(page.get_by_role("link", name=title, exact=True)).click()
        await _frame(page, title).get_by_title("Edit this tiddler").click()
        await _tag(page, noise, given["tag"])
        await _confirm(page)


def _note(title: str, place: str, text: str) -> dict[str, str]:
    return {"title": title, "place": place, "text": text}


def _edit(title: str, text: str) -> dict[str, str]:
    return {"title": title, "text": text}


def _rename(title: str, new: str) -> dict[str, str]:
    return {"title": title, "new title": new}


JOBS = [
    Job("create_note", create_note, instances(
        ("plain", _note("Book the crane", "slipway", "For the second week of April")),
        ("plain", _note("Mend the fender", "jetty", "The blue one at the end")),
        ("plain", _note("List of spare parts", "shed", "Shackles, pins and blocks")),
        ("plain", _note("Pancakes", "galley", "Flour, milk and four eggs")),
        ("plain", _note("Sew the cushions", "loft", "Striped cloth is in the chest")),
        ("plain", _note("Winter berths", "jetty", "Six are free")),
        ("quotes", _note("The \"Swift\" isn't ours", "jetty", "It's \"only\" here for the summer")),
        ("unicode", _note("Žofie 大阪 ćwiczenia", "loft", "Größe geprüft, прошу помочь ✓")),
        ("long", _note("Log of the long voyage", "galley", LONG)),
        ("empty", _note("Buoys", "shed", "")),
        ("empty", _note("Visitors in May", "jetty", "")),
        ("refused", _note("", "shed", "There is no title")),
        ("existing", _note("Tide table", "galley", "Another one")),
    ), "/", "create"),
    Job("edit_note", edit_note, instances(
        ("plain", _edit("Varnish the oars", "Three layers are better")),
        ("plain", _edit("House rules", "Quiet after ten")),
        ("plain", _edit("Count the life jackets", "Twenty-two, and one is torn")),
        ("plain", _edit("Order new ropes", "They come on Friday")),
        ("plain", _edit("Harbour phone numbers", "The master: 18")),
        ("plain", _edit("Air the sails", "The red ones first")),
        ("quotes", _edit('Paint "Kestrel" on the bow', "Don't use the \"cheap\" white")),
        ("quotes", _edit("Greta's locker needs a key", "It's \"under the mat\"")),
        ("unicode", _edit("Žofie 東京 mooring", "Größe: zehn Meter ✓ прошу")),
        ("long", _edit("Tide table", LONG)),
        ("empty", _edit("Scrape the hull", "")),
        ("missing", _edit("Tune the piano", "On Tuesday")),
        ("missing", _edit("Harbour phone", "The master: 19")),
    ), "/", "edit"),
    Job("rename_note", rename_note, instances(
        ("plain", _rename("House rules", "Rules of the boathouse")),
        ("plain", _rename("Air the sails", "Dry the sails")),
        ("plain", _rename("Order new ropes", "Ropes and lines")),
        ("plain", _rename("Fold the tarpaulins", "Roll up the tarpaulins")),
        ("plain", _rename("Oil the winches", "Grease the winches")),
        ("plain", _rename("Replace the gas bottle", "Return the gas bottle")),
        ("quotes", _rename("Wim's soup", "Wim's \"famous\" soup")),
        ("quotes", _rename('Paint "Kestrel" on the bow', "Kestrel's name")),
        ("unicode", _rename("Žofie 東京 mooring", "大阪: Žofie und das Boot")),
        ("refused", _rename("Scrape the hull", "")),
        ("existing", _rename("Patch the spinnaker", "Air the sails")),
        ("missing", _rename("Tune the piano", "Sell the piano")),
        ("missing", _rename("Tide", "Tides")),
    ), "/", "edit"),
    Job("delete_note", delete_note, instances(
        *(("plain", {"title": each}) for each in (
            "Tide table", "Oil the winches", "Order new ropes", "Count the life jackets", "House rules",
            "Patch the spinnaker", "Pump out the launch", "Harbour phone numbers",
        )),
        ("quotes", {"title": "Wim's soup"}),
        ("quotes", {"title": 'Paint "Kestrel" on the bow'}),
        ("unicode", {"title": "Žofie 東京 mooring"}),
        ("missing", {"title": "Tune the piano"}),
        ("missing", {"title": "Tide"}),
    ), "/", "delete"),
    Job("tick_tasks", tick_tasks, instances(
        *(("plain", {"keeper": each}) for each in (
            "Mara", "Jonas", "Selma", "Idris", "Kofi", "Ruth", "Lotte", "Wim", "Nils",
        )),
        ("quotes", {"keeper": "O'Hara"}),
        ("unicode", {"keeper": "Žofie"}),
        ("missing", {"keeper": "Bruno"}),
        ("missing", {"keeper": "Mar"}),
    ), "/", "list"),
    Job("tag_place", tag_place, instances(
        *(("plain", {"place": place, "tag": tag}) for place, tag in (
            ("jetty", "spring"), ("loft", "dry"), ("slipway", "urgent"), ("shed", "indoors"), ("galley", "food"),
            ("loft", "spring"), ("slipway", "loud"), ("shed", "spare time"), ("jetty", "wet"),
        )),
        ("quotes", {"place": "shed", "tag": "Ruth's"}),
        ("unicode", {"place": "loft", "tag": "東京"}),
        ("missing", {"place": "cellar", "tag": "dark"}),
        ("missing", {"place": "slip", "tag": "steep"}),
    ), "/", "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_note": _note("", "jetty", "Somebody forgot the title"),
    "rename_note": _rename("Air the sails", ""),
}
"""Values that the wiki refuses without a word, for a recording that must not count."""


TIDDLYWIKI = Application(
    "tiddlywiki",
    "single page, widgets of its own",
    add_invalid(JOBS, INVALID),
    start_tiddlywiki,
    partial(start_tiddlywiki, version=VERSIONS[1]),
)
