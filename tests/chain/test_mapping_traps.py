"""Exploring the trap site: it ends within its bounds, with a useful result, whatever the site does."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.exploration.website_exploration import explore
from kb_schema.exploration_folder import ExplorationFolder
from tests.support.trap_site.mapping_driver import wanted
from tests.support.trap_site.running import TrapSite, trap_site

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from kb_schema.explorations import ExplorationPage

SECTIONS = {
    "endless": (
        ["/calendar/2030/1", "/session/first/shop", "/feed", "/restless"],
        {"Calendar", "Day", "Week", "Session shop", "Session maps", "Session ropes", "Tracked", "Feed", "Story", "Restless", "Ticking",
         "Different each time", "Ever deeper", "Facets"},
    ),
    "windows": (
        ["/popups", "/slow", "/broken", "/frames"],
        {"Windows", "A window of its own", "A tab of its own", "Greeting page", "Holding page", "Slow pages", "A little slow",
         "Waits for a style", "Broken pages", "Unclosed tags", "Duplicate ids", "Frames"},
    ),
    "clients": (
        ["/app", "/hash", "/items", "/hidden", "/preferences", "/errors"],
        {"Client start", "Client fleet", "Client ship", "Client crew", "Client help", "Hash start", "Hash maps", "Hash tides", "Items",
         "Item", "Item history", "Edit item", "New item", "Hidden links", "Open offers", "Preferences", "Errors"},
    ),
    "outward": (
        ["/many", "/downloads", "/elsewhere", "/account", "/search", "/private/plans", "/automatic"],
        {"Many links", "Entry", "Downloads", "Elsewhere", "Account", "Account orders", "Account profile",
         "Results", "Search"},
    ),
}  # fmt: skip
"""Where a part of the site begins, and the titles that a useful map of it holds."""
FIRST = {
    "Trap site", "Calendar", "Session shop", "Feed", "Windows", "Slow pages", "Broken pages", "Client start", "Hash start", "Items",
    "Hidden links", "Preferences", "Innocent", "Errors", "Many links", "Downloads", "Elsewhere", "Frames", "Account", "Automatic",
    "Hostile", "Restless", "Search",
}  # fmt: skip
"""What the front page leads to: a map that had little time holds at least this."""
NOT_FOUND = {"Plans", "There", "Further", "Changed", "Sign in"}
"""What robots.txt closes, what is another origin's, what only a change leads to, and what signing out does."""
ENDLESS = (
    "/calendar/",
    "/session/",
    "/tracked",
    "/feed/story/",
    "/many/",
    "/restless/facets",
    "/restless/deep/",
    "/nothing/",
)
"""Places that never end, by numbers, keys, filters or paths that go round."""
MOST_OF_ONE_KIND = 8
"""Pages kept of a place that never ends: `pages_per_place`, and a few states of them."""


@pytest.fixture(scope="module")
def site() -> Iterator[TrapSite]:
    with trap_site() as running:
        yield running


def pages_of(folder: Path) -> list[ExplorationPage]:
    return list(ExplorationFolder(folder).pages())


def titles(pages: list[ExplorationPage]) -> set[str]:
    return {page.title for page in pages}


async def _explored_in_part(
    browser: Browser,
    site: TrapSite,
    folder: Path,
    starts: list[str],
    titled: set[str],
    *,
    states: int,
    depth: int,
) -> None:
    asked = wanted(site.url, starts, seconds=90, states=states, depth=depth)
    done = await explore(browser, asked, folder, storage_state=site.short_session)
    pages = pages_of(folder)
    assert done.ended_by in {"done", "depth", "states"}
    assert titled <= titles(pages), f"missing: {titled - titles(pages)}"
    kinds = Counter(re.sub(r"[0-9]+", "0", page.url.partition("?")[0]) for page in pages)
    assert max(kinds.values()) <= MOST_OF_ONE_KIND


async def test_of_places_without_end_a_few_pages_are_kept(browser: Browser, site: TrapSite, tmp_path: Path):
    starts, titled = ["/calendar/2030/1", "/restless/deep/"], {"Calendar", "Day", "Ever deeper"}
    await _explored_in_part(browser, site, tmp_path / "map", starts, titled, states=6, depth=1)


@pytest.mark.nightly
@pytest.mark.timeout(300)
async def test_what_looks_different_each_time_is_kept_a_few_times_only(
    browser: Browser, site: TrapSite, tmp_path: Path
):
    starts, titled = ["/restless/random", "/calendar/2030/1"], {"Different each time", "Week"}
    await _explored_in_part(browser, site, tmp_path / "map", starts, titled, states=40, depth=6)


@pytest.mark.nightly
@pytest.mark.timeout(300)
async def test_paths_that_lead_ever_deeper_come_to_an_end(browser: Browser, site: TrapSite, tmp_path: Path):
    asked = wanted(site.url, ["/restless/deep/"], seconds=200, states=80)
    done = await explore(browser, asked, tmp_path / "map", storage_state=site.short_session)
    assert done.ended_by == "done"
    assert 5 <= done.pages <= 3 * MOST_OF_ONE_KIND


@pytest.mark.nightly
@pytest.mark.timeout(300)
async def test_windows_dialogs_and_broken_pages_are_told_and_left(
    browser: Browser, site: TrapSite, tmp_path: Path
):
    starts = ["/popups", "/broken/tags"]
    titled = {
        "Windows",
        "A window of its own",
        "A tab of its own",
        "Greeting page",
        "Holding page",
        "Unclosed tags",
    }
    await _explored_in_part(browser, site, tmp_path / "map", starts, titled, states=20, depth=2)


def _was_only_looked_at(site: TrapSite) -> None:
    state = site.state()
    assert state["changes"] == {}
    assert state["signed_in"] == ["tester"]
    assert state["seen"].get("private", 0) == 0, "robots.txt was not respected"
    assert state["seen"].get("honeypot", 0) == 0, "a link was followed that no person can see"
    assert state["seen"].get("other_origin", 0) <= 1, "more than a redirect led elsewhere"


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("section", SECTIONS)
async def test_a_section_of_the_trap_site_gives_a_useful_map(
    browser: Browser, site: TrapSite, tmp_path: Path, section: str
):
    site.reset()
    starts, titled = SECTIONS[section]
    asked = wanted(site.url, starts, seconds=400, states=80, pages_per_place=5)
    done = await explore(browser, asked, tmp_path / "map", storage_state=site.short_session)
    pages = pages_of(tmp_path / "map")
    assert done.ended_by is not None
    assert titles(pages) >= titled, f"missing: {titled - titles(pages)}"
    assert not titles(pages) & NOT_FOUND
    for endless in ENDLESS:
        seen = [page.url for page in pages if page.url.removeprefix(site.url).startswith(endless)]
        assert len(seen) <= 6 * asked.limits.pages_per_place, seen  # a few places below, a few states of each
    _was_only_looked_at(site)


@pytest.mark.nightly
@pytest.mark.timeout(400)
async def test_the_whole_trap_site_is_explored_within_its_bounds(
    browser: Browser, site: TrapSite, tmp_path: Path
):
    site.reset()
    began = time.monotonic()
    asked = wanted(site.url, ["/"], seconds=150, states=300)
    done = await explore(browser, asked, tmp_path / "map", storage_state=site.session)
    pages = pages_of(tmp_path / "map")
    assert time.monotonic() - began < asked.limits.seconds + 60
    assert done.ended_by in {"done", "depth", "time", "states"}
    assert titles(pages) >= FIRST, f"missing: {FIRST - titles(pages)}"
    assert not titles(pages) & NOT_FOUND
    assert all(page.url.startswith(f"{site.url}/") for page in pages)
    _was_only_looked_at(site)


@pytest.mark.nightly
@pytest.mark.timeout(300)
async def test_pages_that_hang_flood_or_never_answer_do_not_hold_an_exploration_up(
    browser: Browser, site: TrapSite, tmp_path: Path
):
    asked = wanted(site.url, ["/hard", "/slow"], seconds=200, states=60, page_s=3, pages_per_place=5)
    done = await explore(browser, asked, tmp_path / "map", storage_state=site.short_session)
    found = titles(pages_of(tmp_path / "map"))
    assert done.ended_by in {"done", "depth", "time"}
    assert {"After all", "A little slow", "Waits for a style", "A window of its own"} <= found


@pytest.mark.nightly
@pytest.mark.timeout(300)
async def test_hostile_titles_are_written_down_as_text(browser: Browser, site: TrapSite, tmp_path: Path):
    asked = wanted(site.url, ["/hostile"], seconds=120, states=30)
    await explore(browser, asked, tmp_path / "map", storage_state=site.short_session)
    folder = ExplorationFolder(tmp_path / "map")
    found = list(folder.pages())
    assert any("<script>" in page.title for page in found)
    assert all(len(page.title) <= 1_000 for page in found)
    written = {each.resolve().parent for each in (tmp_path / "map").rglob("*.json*")}
    assert all(each.is_relative_to((tmp_path / "map").resolve()) for each in written)
    for page in found:
        assert folder.snapshot(page.page_id).url == page.url


@pytest.mark.nightly
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("limits", "ended"), [({"seconds": 6}, "time"), ({"states": 4}, "states"), ({"depth": 0}, "depth")]
)
async def test_an_exploration_ends_by_each_of_its_bounds(
    browser: Browser, site: TrapSite, tmp_path: Path, limits: dict[str, float], ended: str
):
    began = time.monotonic()
    done = await explore(browser, wanted(site.url, ["/"], **({"seconds": 60} | limits)), tmp_path / "map")
    assert done.ended_by == ended
    assert done.unexplored
    assert done.pages <= limits.get("states", 300)
    assert time.monotonic() - began < 60
