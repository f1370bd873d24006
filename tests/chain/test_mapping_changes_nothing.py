"""A read-only mapping changes nothing: counters, state and databases before and after; and it survives being killed."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import StorageState

from agent.exploration.pages.page_observation import list_offers, observe_page
from agent.exploration.website_exploration import explore
from agent.page import in_page_library
from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.explorations import Exploration
from tests.support.foreign_sites import django_site, sign_in_to_admin, spadeworks_site
from tests.support.processes import descendants
from tests.support.trap_site.mapping_driver import wanted
from tests.support.trap_site.running import TrapSite, trap_site

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site() -> Iterator[TrapSite]:
    with trap_site() as running:
        yield running


@pytest.fixture
def untouched(site: TrapSite) -> Iterator[TrapSite]:
    """The trap site; that nothing was changed on it is checked in the end."""
    site.reset()
    yield site
    state = site.state()
    assert state["changes"] == {}
    assert state["items"] == list(range(1, 9))
    assert state["signed_in"] == ["tester"]
    assert state["seen"].get("private", 0) == 0


async def test_controls_that_change_something_under_an_innocent_name_change_nothing(
    browser: Browser, untouched: TrapSite, tmp_path: Path
):
    asked = wanted(untouched.url, ["/innocent"], seconds=60, states=10, depth=1)
    done = await explore(browser, asked, tmp_path / "map", storage_state=untouched.short_session)
    tried = [passage for passage in ExplorationFolder(tmp_path / "map").passages() if passage.offer_id]
    assert done.ended_by in {"done", "depth"}
    assert len(tried) >= 6, "its buttons were not even tried"
    assert sum(passage.outcome == "refused" for passage in tried) >= 5


async def test_links_that_act_in_one_click_are_not_followed_and_their_page_is_mapped(
    browser: Browser, untouched: TrapSite, tmp_path: Path
):
    asked = wanted(untouched.url, ["/items/1", "/automatic/post"], seconds=60, states=6, depth=1)
    await explore(browser, asked, tmp_path / "map", storage_state=untouched.short_session)
    pages = list(ExplorationFolder(tmp_path / "map").pages())
    assert {"Item", "Item history", "Edit item", "Sends itself"} <= {page.title for page in pages}
    dangerous = {offer.name: offer.danger for page in pages for offer in page.offers if offer.danger}
    assert dangerous["Delete"] == "deletes"
    assert dangerous["Go live"] == "sends"


async def test_what_pages_send_by_themselves_on_loading_and_leaving_is_not_sent(
    browser: Browser, untouched: TrapSite, tmp_path: Path
):
    asked = wanted(
        untouched.url,
        ["/automatic/loading", "/automatic/worker", "/broken/untitled"],
        seconds=30,
        states=4,
        depth=1,
    )
    done = await explore(browser, asked, tmp_path / "map", storage_state=untouched.short_session)
    assert done.pages >= 3
    sent = untouched.state()["changes"]
    assert set(sent) <= {"POST /changes/on-load"}, "a start page sends it whenever it opens (decision 216)"
    untouched.reset()


async def test_an_address_that_a_page_gave_itself_is_not_opened(
    browser: Browser, untouched: TrapSite, tmp_path: Path
):
    asked = wanted(untouched.url, ["/named"], seconds=60, states=8, depth=3)
    await explore(browser, asked, tmp_path / "map", storage_state=untouched.short_session)
    pages = {page.title: page for page in ExplorationFolder(tmp_path / "map").pages()}
    assert (pages["A boat"].openable, pages["The crew"].openable) == (False, False)
    assert "After all" in pages


async def test_nor_is_it_when_the_page_is_loaded_again(browser: Browser, untouched: TrapSite, tmp_path: Path):
    for number in range(2):  # what slipped by did so now and then
        asked = wanted(untouched.url, ["/automatic/led"], seconds=30, states=4, depth=1)
        folder = tmp_path / f"map{number}"
        await explore(browser, asked, folder, storage_state=untouched.short_session)
        assert "reload" in {passage.way for passage in ExplorationFolder(folder).passages()}


async def test_a_page_that_sends_itself_does_not_hold_an_exploration_up(
    browser: Browser, untouched: TrapSite, tmp_path: Path
):
    asked = wanted(untouched.url, ["/automatic/post"], seconds=60, states=2, depth=0, page_s=20)
    began = time.monotonic()
    await explore(browser, asked, tmp_path / "map", storage_state=untouched.short_session)
    assert [page.title for page in ExplorationFolder(tmp_path / "map").pages()] == ["Sends itself"]
    assert time.monotonic() - began < asked.limits.page_s, "it was waited for until the page's time was over"


@pytest.mark.nightly
async def test_what_innocent_addresses_are_sent_on_to_is_not_asked_for(
    browser: Browser, untouched: TrapSite, tmp_path: Path
):
    asked = wanted(untouched.url, ["/detours"], seconds=90, states=10, depth=1)
    done = await explore(browser, asked, tmp_path / "map", storage_state=untouched.short_session)
    assert done.ended_by in {"done", "depth"}
    folder = ExplorationFolder(tmp_path / "map")
    came = Counter(each.outcome for each in folder.passages() if each.offer_id)
    assert {page.title for page in folder.pages()} >= {"Detours", "Open offers"}
    assert came["refused"] >= 6, came
    assert untouched.state()["seen"].get("detour", 0) >= 10, "the innocent addresses were not even asked for"


async def test_nor_is_what_no_guard_sees(browser: Browser, untouched: TrapSite, tmp_path: Path):
    asked = wanted(untouched.url, ["/unseen/led"], seconds=60, states=4, depth=1)
    await explore(browser, asked, tmp_path / "map", storage_state=untouched.short_session)
    ways = {passage.way for passage in ExplorationFolder(tmp_path / "map").passages()}
    assert {"offer", "reload", "back"} <= ways


@pytest.mark.nightly
async def test_what_pages_send_over_web_sockets_is_not_passed_on_unless_that_is_allowed(
    browser: Browser, site: TrapSite, tmp_path: Path
):
    site.reset()
    asked = wanted(site.url, ["/sockets"], seconds=60, states=3, depth=1)
    await explore(browser, asked, tmp_path / "map", storage_state=site.short_session)
    folder = ExplorationFolder(tmp_path / "map")
    state = site.state()
    assert state["changes"] == {}
    assert state["seen"]["socket"] >= 1
    (seen,) = folder.pages()
    assert "You are connected." in folder.snapshot(seen.page_id).html, "what the site sends does not come"
    came = {each.offer_id: each for each in folder.passages() if each.offer_id}
    dangers = {offer.name: (offer.danger, came[offer.offer_id].outcome) for offer in seen.offers}
    assert dangers["Tidy"] == ("unknown_method", "refused")
    assert dangers["Elsewhere"] == ("unknown_method", "refused")
    allowing = asked.model_copy(update={"allowed": ("WebSocket",)})
    await explore(browser, allowing, tmp_path / "allowed", storage_state=site.short_session)
    assert any("remove" in each for each in site.state()["changes"])


@pytest.mark.nightly
@pytest.mark.timeout(400)
async def test_no_part_of_the_trap_site_is_changed(browser: Browser, untouched: TrapSite, tmp_path: Path):
    starts = [
        "/preferences",
        "/items",
        "/search",
        "/popups",
        "/account",
        "/hidden",
        "/items/new",
        "/elsewhere",
        "/automatic",
        "/detours",
        "/sockets",
        "/unseen/led",
    ]
    asked = wanted(untouched.url, starts, seconds=300, states=80)
    await explore(browser, asked, tmp_path / "map", storage_state=untouched.short_session)
    assert untouched.state()["requests"] > len(starts)


@pytest.mark.nightly
async def test_a_name_that_was_allowed_is_used_and_no_other(browser: Browser, site: TrapSite, tmp_path: Path):
    site.reset()
    asked = wanted(site.url, ["/items/5"], seconds=60, states=10, depth=1)
    asked = asked.model_copy(update={"allowed": ("link:Delete",)})
    await explore(browser, asked, tmp_path / "map", storage_state=site.short_session)
    state = site.state()
    assert set(state["changes"]) == {"deleted by a path"}
    assert 5 not in state["items"]


# -- being killed


def _killed_after(line: int, arguments: list[str]) -> bool:
    """Run the driver, kill it and its browser at a line of what it says; False: it came to its end before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.trap_site.mapping_driver", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    try:
        for number, said in enumerate(process.stdout, start=1):
            if said.startswith("ended"):
                return False
            if number >= line:
                return True
        return False
    finally:
        for pid in (process.pid, *descendants(process.pid)):
            subprocess.run(
                ["kill", f"-{int(signal.SIGKILL)}", str(pid)], check=False, stderr=subprocess.DEVNULL
            )
        process.wait(timeout=20)
        process.stdout.close()


async def _killed_and_resumed(browser: Browser, site: TrapSite, folder: Path, points: list[int]) -> None:
    session = folder.parent / "session.json"
    session.write_text(json.dumps(site.short_session), encoding="utf-8")
    starts = ["/app"]
    seen: list[tuple[str, str, str]] = []
    for point in points:
        killed = await asyncio.to_thread(_killed_after, point, [site.url, str(folder), str(session), *starts])
        assert killed, "it ended before it could be killed"
        now = [(page.page_id, page.url, page.state) for page in ExplorationFolder(folder).pages()]
        assert now[: len(seen)] == seen, "what was written before is there no more"
        seen = now
        assert ExplorationFolder(folder).exploration.ended_by is None
    done = await explore(
        browser, wanted(site.url, starts, seconds=100), folder, storage_state=site.short_session
    )
    pages = list(ExplorationFolder(folder).pages())
    assert done.ended_by == "done"
    assert [(page.page_id, page.url, page.state) for page in pages][: len(seen)] == seen
    assert {
        "Client start", "Client fleet", "Client ship", "Client crew", "Client help",
    } <= {page.title for page in pages}  # fmt: skip
    assert len({page.page_id for page in pages}) == len(pages) == done.pages
    assert len({(page.url, page.state) for page in pages}) == len(pages), "a page was written twice"
    for page in pages:
        assert ExplorationFolder(folder).snapshot(page.page_id).html


async def test_an_exploration_that_was_killed_goes_on_where_it_was(
    browser: Browser, untouched: TrapSite, tmp_path: Path
):
    await _killed_and_resumed(browser, untouched, tmp_path / "map", [4])


@pytest.mark.nightly
@pytest.mark.timeout(600)
async def test_an_exploration_that_is_killed_again_and_again_comes_to_its_end(
    browser: Browser, untouched: TrapSite, tmp_path: Path
):
    await _killed_and_resumed(browser, untouched, tmp_path / "map", [1, 2, 3, 2, 5])


@pytest.mark.nightly
@pytest.mark.timeout(300)
async def test_lines_torn_by_a_kill_do_not_stop_it(browser: Browser, untouched: TrapSite, tmp_path: Path):
    folder = tmp_path / "map"
    await explore(
        browser,
        wanted(untouched.url, ["/app"], states=3, seconds=60),
        folder,
        storage_state=untouched.short_session,
    )
    for name in ("pages.jsonl", "passages.jsonl"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:-40])
    done = await explore(
        browser, wanted(untouched.url, ["/app"], seconds=60), folder, storage_state=untouched.short_session
    )
    assert done.ended_by == "done"
    assert {"Client start", "Client fleet", "Client ship", "Client crew", "Client help"} <= {
        page.title for page in ExplorationFolder(folder).pages()
    }


# -- our own sample site


def _spadeworks_state(url: str) -> dict[str, Any]:
    """Everything the site holds. Left out: when a visitor was seen last, which any visit says."""
    with urllib.request.urlopen(f"{url}/__control/state", timeout=20) as answer:
        state = json.load(answer)
    for visitor in state["visitors"]:
        del visitor["last_seen"]
    return state


async def _signed_in_to_spadeworks(context: BrowserContext, url: str) -> StorageState:
    page = await context.new_page()
    await page.goto(f"{url}/login")
    await page.fill("input[type=email]", "demo@spadeworks.example")
    await page.fill("input[type=password]", "spadeworks-demo")
    await page.click("button[type=submit]")
    await page.wait_for_url("**/dashboard")
    await page.close()
    return await context.storage_state()


async def _spadeworks_is_unchanged(
    browser: Browser, context: BrowserContext, folder: Path, **limits: float
) -> Exploration:
    with spadeworks_site() as url:
        session = await _signed_in_to_spadeworks(context, url)
        before = _spadeworks_state(url)
        asked = wanted(url, ["/contacts", "/inbox", "/settings", "/dashboard"], **limits)
        done = await explore(browser, asked, folder, storage_state=session)
        assert _spadeworks_state(url) == before
        return done


@pytest.mark.nightly
@pytest.mark.timeout(600)
async def test_the_sample_site_is_as_it_was(browser: Browser, context: BrowserContext, tmp_path: Path):
    done = await _spadeworks_is_unchanged(browser, context, tmp_path / "map", seconds=400, states=80)
    assert done.pages > 15


# -- Django's admin

LEFT_OUT: dict[str, str] = {}
"""Tables that a visit may change, and why: none. Signing in (`last_login`, its session) happens before; a session
is written again only when something is put into it; a log of visits is kept by nobody."""


def _dump(database: Path) -> dict[str, list[tuple[Any, ...]]]:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
            )
        ]
        return {
            table: sorted(connection.execute(f'SELECT * FROM "{table}"').fetchall(), key=repr)
            for table in tables
            if table not in LEFT_OUT
        }


async def test_in_djangos_admin_the_page_that_asks_before_deleting_may_be_opened_and_nothing_more(
    context: BrowserContext, tmp_path: Path
):
    with django_site("4.2", tmp_path / "db.sqlite") as url:
        await sign_in_to_admin(context, url)
        await in_page_library.install(context)
        page = await context.new_page()
        await page.goto(f"{url}/admin/auth/group/1/change/")
        form = await list_offers(page, await observe_page(page), most=200, origins=(url,), allowed=())
        await page.goto(f"{url}/admin/auth/group/1/delete/")
        question = await list_offers(page, await observe_page(page), most=200, origins=(url,), allowed=())
    judged = {offer.name: offer.danger for offer in form}
    assert judged["Delete"] is None
    assert judged["History"] is None
    assert judged["Save"] == "submits"
    assert judged["Log out"] == "signs_out"
    asked = {offer.name: offer.danger for offer in question}
    assert asked["Yes, I’m sure"] in {"submits", "deletes"}  # noqa: RUF001
    assert asked["No, take me back"] is None


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_the_database_of_djangos_admin_is_as_it_was(
    browser: Browser, context: BrowserContext, tmp_path: Path
):
    database = tmp_path / "db.sqlite"
    with django_site("4.2", database) as url:
        await sign_in_to_admin(context, url)
        session = await context.storage_state()
        before = _dump(database)
        assert before["auth_group"]
        asked = wanted(url, ["/admin/"], seconds=600, states=80)
        await explore(browser, asked, tmp_path / "map", storage_state=session)
        assert _dump(database) == before
    seen = [page.url for page in ExplorationFolder(tmp_path / "map").pages()]
    for ending in ("/add/", "/change/", "/delete/", "/history/"):
        assert any(
            f"/auth/group/{'' if ending == '/add/' else '1'}".rstrip("/") in each
            and each.partition("?")[0].endswith(ending)
            for each in seen
        ), (
            ending,
            seen,
        )
