"""A site is mapped, changed, and compared with its map in a real browser: `periplus map --update`."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from kb_schema.explorations import MapLimits
from kb_schema.proposals import ScreenChange
from kb_store import load_knowledge, open_stores
from loaders import read_knowledge_folder
from loaders.diffs.diff_summary import to_plain_text
from loaders.edits.renaming import find_target, rename
from loaders.files.folder_changes import write_new_knowledge
from loaders.map_updates.map_changes import MapChange
from loaders.map_updates.update_report import to_html, to_json, to_markdown
from periplus.exploration.map_folder import MapFolder
from periplus.exploration.map_run import MapRunPlan, map_website
from periplus.exploration.map_update import MapUpdate, apply_update, propose_update, update_map
from periplus.exploration.map_view import MapView
from tests.agent.exploration.small_site import Answer, Page, SmallSite, small_site

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Browser

NAVIGATION = "<nav><a href=/>Start</a><a href=/boats>Boats</a><a href=/crew>Crew</a><a href=/berths>Berths</a>{more}</nav>"
FORM = (
    "<form method=post action=/boats/save><label>Name <input name=name required></label>"
    "<label>Kind <select name=kind><option>Dinghy</option><option>Ferry</option><option>Tug</option></select></label>"
    "{field}<button>{button}</button></form>"
)

DAYS = "<form method=post action=/tides/add><label>Day <input name=day required></label><button>Add a tide</button></form>"


def page(title: str, body: str, more: str = "") -> str:
    return (
        f"<!doctype html><html lang=en><title>{title} - Quay</title>{NAVIGATION.format(more=more)}"
        f"<main><h1>{title}</h1>{body}</main></html>"
    )


def site_pages() -> dict[str, Page]:
    """A harbour with five pages."""
    return {
        "/": page("Welcome", "<p>All boats of the harbour.</p><a href=/tides>Tides of today</a>"),
        "/boats": page("Boats", "<table><tr><th>Name</th></tr><tr><td>Otter</td></tr></table><a href=/boats/add>Add a boat</a>"),
        "/boats/add": page("New boat", FORM.format(field="", button="Save")),
        "/crew": page("Crew", "<ul><li>Ada</li><li>Ben</li></ul><label>Find <input name=q></label>"),
        "/berths": page("Berths", "<p>Twelve berths are free.</p><button type=button>Print</button>"),
        "/tides": page("Tides", "<p>High water at nine.</p>" + DAYS),
    }  # fmt: skip


def changed_pages() -> dict[str, Page]:
    """The same a week later."""
    form = FORM.format(field="<label>Draught <input name=draught></label>", button="Store")
    more = "<a href=/cargo>Cargo</a>"
    told = site_pages()
    del told["/tides"]
    told["/"] = page("Welcome", "<p>All boats of the harbour.</p>", more)
    told["/boats/add"] = page("New boat", form.replace("<option>Tug</option>", ""), more)
    told["/boats"] = page(
        "Boats",
        "<table><tr><th>Name</th></tr><tr><td>Heron</td></tr></table><a href=/boats/add>Add a boat</a>",
        more,
    )
    told["/crew"] = page("Crew", "<ul><li>Ada</li></ul><label>Find <input name=q></label>", more)
    told["/berths"] = page("Berths", "<p>Two berths are free.</p>", more)
    told["/cargo"] = page("Cargo", "<p>What is on board.</p><a href=/cargo/report>Report</a>", more)
    told["/cargo/report"] = page("Cargo report", "<p>Nothing.</p><button type=button>Export</button>", more)
    return told


@dataclass
class MappedSite:
    """A site that was mapped, and the folder of its map."""

    site: SmallSite
    folder: MapFolder
    browser: Browser

    @property
    def plan(self) -> MapRunPlan:
        limits = MapLimits(per_second=100.0, seconds=240.0)
        return MapRunPlan("quay", f"{self.site.url}/", self.folder, limits, name="Quay")

    async def update(self) -> MapUpdate:
        before, _ = read_knowledge_folder(self.folder.knowledge)
        view = MapView(Console(file=io.StringIO()), "an update")
        update, stopped = await update_map(self.browser, self.plan, before, None, view)
        assert not stopped
        return update

    def become(self, pages: Mapping[str, Page]) -> None:
        self.site.pages.clear()
        self.site.pages.update(pages)


@pytest.fixture
async def mapped(browser: Browser, tmp_path: Path) -> AsyncIterator[MappedSite]:
    with small_site(site_pages()) as site:
        found = MappedSite(site, MapFolder(tmp_path / "map"), browser)
        await map_website(browser, found.plan, None, MapView(Console(file=io.StringIO()), "a map"))
        site.asked.clear()
        yield found


def told(changes: list[MapChange]) -> set[tuple[str, str]]:
    return {(each.kind, each.name) for each in changes}


async def test_a_site_that_has_not_changed_is_said_to_be_so(mapped: MappedSite) -> None:
    update = await mapped.update()

    assert to_plain_text(update.report.headline) == "nothing changed: 6 screens opened again and compared"
    assert [*update.edit.knowledge.documents()] == [*update.before.documents()]
    assert to_json(update.report)["changed"] is False
    # the start page once more, to learn what every visit sends (decision 216)
    again = {name: times for name, times in mapped.site.asked.items() if times > 1}
    assert again in ({}, {"GET /": 2}), "each page once"


async def test_what_is_new_gone_and_renamed_is_reported_and_nothing_else(mapped: MappedSite) -> None:
    mapped.become(changed_pages())

    report = (await mapped.update()).report

    assert told(report.changes) == {
        ("screen_new", "Cargo"),
        ("screen_new", "Cargo report"),
        ("screen_gone", "Tides"),
        ("renamed", "Store"),
        ("new", "Draught"),
        ("new", "Cargo"),
        ("gone", "Print"),
        ("gone", "Tides of today"),
        ("options", "Kind"),
    }
    headline = to_plain_text(report.headline)
    assert headline.startswith("2 screens new, 1 screen gone, Save renamed to Store, "), headline
    kind = next(each for each in report.changes if each.kind == "options")
    assert (kind.added, kind.removed) == ((), ("Tug",))
    for text in (to_markdown(report), to_html(report)):
        assert "Draught" in text
        assert "Save" in text


async def test_an_applied_update_keeps_what_people_edited_and_says_nothing_a_second_time(
    mapped: MappedSite,
) -> None:
    knowledge, _ = read_knowledge_folder(mapped.folder.knowledge)
    edit = rename(knowledge, find_target(knowledge, "new_boat"), "Register a boat")
    write_new_knowledge(mapped.folder.knowledge, knowledge, edit.knowledge, edit.renamed)
    mapped.become(changed_pages())

    update = await mapped.update()
    apply_update(update)

    now, _ = read_knowledge_folder(mapped.folder.knowledge)
    form = now.screens["register_a_boat"]
    assert form.name == "Register a boat"
    elements = {each.label: each for each in now.elements("register_a_boat").values()}
    assert {"Name", "Kind", "Draught", "Store"} <= set(elements)
    assert elements["Store"].element_id == "save_button", "references to it stay"
    assert [each.value for each in elements["Kind"].affordances[0].options] == ["Dinghy", "Ferry"]
    assert {"cargo", "cargo_report"} <= set(now.screens)
    assert "tides" not in now.screens
    assert any(each.to_screen == "cargo" for each in now.transitions.values())
    assert any((e.from_screen, e.to_screen) == ("cargo", "cargo_report") for e in now.transitions.values())
    again = await mapped.update()
    assert to_plain_text(again.report.headline).startswith("nothing changed"), again.report.changes


async def test_an_update_that_is_not_applied_leaves_the_map_as_it_was(mapped: MappedSite) -> None:
    files = {each: each.read_bytes() for each in mapped.folder.path.rglob("*") if each.is_file()}
    mapped.become(changed_pages())

    first = await mapped.update()
    second = await mapped.update()

    assert told(first.report.changes) == told(second.report.changes)
    for file, content in files.items():
        assert file.read_bytes() == content, file


async def test_a_page_that_fails_or_shows_something_else_is_not_found_and_not_gone(
    mapped: MappedSite,
) -> None:
    mapped.site.pages["/crew"] = Answer("<h1>Sorry</h1>", 500)
    mapped.site.pages["/berths"] = Answer("", 302, {"Location": "/"})
    mapped.site.pages["/boats/add"] = page("We will be back soon", "<p>Maintenance.</p>")

    update = await mapped.update()

    missing = {each.name: each.note for each in update.report.changes if each.kind == "screen_not_found"}
    assert set(missing) == {"Crew", "Berths", "New boat"}
    assert missing["Crew"] == "HTTP 500"
    assert missing["Berths"].startswith("its address leads to ")
    assert not [each for each in update.report.changes if each.kind in ("screen_gone", "gone")]
    assert update.edit.knowledge.screens.keys() == update.before.screens.keys()


async def test_proposed_changes_are_in_the_store_and_a_second_update_supports_them(
    mapped: MappedSite, tmp_path: Path
) -> None:
    before, _ = read_knowledge_folder(mapped.folder.knowledge)
    async with open_stores(tmp_path / "data") as stores:
        await load_knowledge(stores.documents, stores.graph, before)
        mapped.become(changed_pages())

        number = await propose_update(await mapped.update(), stores)
        await propose_update(await mapped.update(), stores)

        kept = await stores.proposals.proposals("quay")
    assert len(kept) == number
    assert {each.change.screen.screen_id for each in kept if isinstance(each.change, ScreenChange)} >= {
        "cargo",
        "cargo_report",
        "new_boat",
    }
    assert {len(each.supports) for each in kept} == {2}
    assert all("Save renamed to Store" in each.supports[0].note for each in kept)


async def test_a_screen_that_is_gone_stays_if_a_task_of_people_names_it_and_is_told_again(
    mapped: MappedSite,
) -> None:
    knowledge, _ = read_knowledge_folder(mapped.folder.knowledge)
    task_id = next(
        each for each, task in knowledge.tasks.items() if task.steps[0].action.target_screen == "tides"
    )
    edit = rename(knowledge, find_target(knowledge, task_id), "Look up the tides")
    write_new_knowledge(mapped.folder.knowledge, knowledge, edit.knowledge, edit.renamed)
    del mapped.site.pages["/tides"]

    first = await mapped.update()
    apply_update(first)

    assert "look_up_the_tides" in first.report.left[0]
    now, _ = read_knowledge_folder(mapped.folder.knowledge)
    assert "tides" in now.screens
    again = await mapped.update()
    assert ("screen_gone", "Tides") in told(again.report.changes)
    mapped.site.pages["/tides"] = site_pages()["/tides"]
    assert to_plain_text((await mapped.update()).report.headline).startswith("nothing changed")


DIALOG = (
    '<button type=button onclick="d.hidden=false">Rent a berth</button>'
    "<div id=d role=dialog aria-label='Rent a berth' hidden style='position:fixed;inset:10%;background:#fff'>"
    "<h2>Rent a berth</h2><label>Boat <input name=boat></label>{more}"
    '<button type=button onclick="d.hidden=true">Cancel</button></div>'
)


async def test_a_dialog_is_opened_again_by_the_way_to_it(browser: Browser, tmp_path: Path) -> None:
    pages = site_pages()
    pages["/berths"] = page("Berths", DIALOG.format(more=""))
    with small_site(pages) as site:
        mapped = MappedSite(site, MapFolder(tmp_path / "map"), browser)
        await map_website(browser, mapped.plan, None, MapView(Console(file=io.StringIO()), "a map"))
        layered = {each.page_id for each in mapped.folder.exploration.pages() if each.layer}
        assert layered

        assert to_plain_text((await mapped.update()).report.headline).startswith("nothing changed")
        pages["/berths"] = page("Berths", DIALOG.format(more="<label>Nights <input name=nights></label>"))
        mapped.become(pages)
        changes = (await mapped.update()).report.changes

    assert told(changes) == {("new", "Nights")}
