"""Several work on one exploration: they find what one finds, nothing is done twice, and those that die are not missed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.async_api import Browser, StorageState

from agent.exploration import exploration_events
from agent.exploration.exploration_record import ExplorationRecord
from agent.exploration.exploration_state import ExplorationState
from agent.exploration.part_exploration import explore_part
from agent.exploration.requests.robots_permissions import RobotsPermissions
from agent.exploration.shared_exploration import MOST_FAILED, PartWorkersLost, SharedExploration
from agent.exploration.website_exploration import SignInRenewal, explore
from kb_schema.exploration_folder import BEGUN_FILE, ExplorationFolder
from kb_schema.exploration_parts import ExplorationPart, ExplorationPartResult
from kb_schema.explorations import AttemptedTransition, Exploration
from tests.agent.exploration.small_site import Answer, Page, html, small_site
from tests.agent.exploration.test_exploration_state import link, page
from tests.agent.exploration.test_website_exploration import by_name, paths, session, signed_in_site

MENU = '<nav aria-label="Main"><a href="/">Home</a> <a href="/list">List</a> <a href="/help">Help</a></nav>'
HARBOUR: dict[str, Page] = {
    "/": html(
        "Home",
        MENU + "<button onclick=\"this.outerHTML+='<input>'\">Greet</button><a href=/a>A</a><a href=/b>B</a>",
    ),
    "/list": html("List", MENU + "<ul><li><a href=/item/1>One</a><li><a href=/item/2>Two</a></ul>"),
    "/help": html("Help", "<a href=/help/more>Read on</a>"),
    "/help/more": html("More help", "<p>Text</p>"),
    "/a": html("A", "<form action=/save method=post><input name=a><button>Save</button></form>"),
    "/b": html("B", "<button onclick=\"fetch('/quiet', {method: 'POST'})\">Refresh</button>"),
    "/save": html("Saved", "<a href=/saved/more>Look at it</a>"),
    "/saved/more": html("What was saved", "<p>All of it</p>"),
    "*": html("Item", "<input name=item>"),
}


class Crew:
    """Does parts in this process, as they travel: JSON there and back. Dies as it is told to."""

    def __init__(self, browser: Browser, width: int = 2) -> None:
        self.browser, self.width = browser, width
        self.parts: list[ExplorationPart] = []
        self.at_once = self.most_at_once = 0
        self.dies: set[int] = set()
        """Numbers of parts, from 1, whose worker dies when it is done with it."""
        self.dies_of: set[str] = set()
        """Names of controls."""
        self.stopped = False

    async def do(self, part: ExplorationPart) -> ExplorationPartResult:
        """Do it."""
        self.parts.append(part)
        number = len(self.parts)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            found = await explore_part(
                self.browser,
                ExplorationPart.model_validate_json(part.model_dump_json()),
                RobotsPermissions(part.exploration.origins, respected=True),
                lambda: self.stopped,
            )
        finally:
            self.at_once -= 1
        offers = {(page.page_id, offer.offer_id): offer.name for page in part.pages for offer in page.offers}
        names = {offers.get((step.page_id, step.offer_id or "")) for step in part.steps}
        if number in self.dies or names & self.dies_of:
            raise PartWorkersLost("the worker died")
        return ExplorationPartResult.model_validate_json(found.model_dump_json())

    async def stop(self) -> None:
        """No new steps."""
        self.stopped = True


def tried(folder: ExplorationFolder, role: str) -> set[tuple[str, str, str]]:
    """Which controls were tried where, and what came of it."""
    pages = {page.page_id: page for page in folder.pages()}
    return {
        (pages[each.from_page].url, offer.name, each.outcome)
        for each in folder.passages()
        for offer in pages[each.from_page].offers
        if (offer.offer_id, offer.role) == (each.offer_id, role)
    }


@pytest.mark.sampled(0.4)
async def test_two_find_what_one_finds(browser: Browser, tmp_path: Path) -> None:
    with small_site(HARBOUR) as site:
        await explore(browser, site.wanted(), tmp_path / "one")
        alone = ExplorationFolder(tmp_path / "one")
        crew = Crew(browser)
        done = await explore(browser, site.wanted(), tmp_path / "two", workers=crew)
        shared = ExplorationFolder(tmp_path / "two")
        assert (done.ended_by, crew.most_at_once) == ("done", 2)
        assert sorted(paths(shared, site)) == sorted(paths(alone, site))
        assert tried(shared, "button") == tried(alone, "button")
        assert (site.url + "/b", "Refresh", "refused") in tried(shared, "button")
        kept = [page.page_id for page in shared.pages()]
        assert kept == [f"p{number:04d}" for number in range(1, len(kept) + 1)]
        assert all(shared.picture(page_id) is not None for page_id in kept)
        assert {page.url for page in shared.pages() if page.openable is False} == {
            page.url for page in alone.pages() if page.openable is False
        }
        way_outs = [each.way for each in shared.passages() if each.offer_id is None]
        assert {"reload", "back", "address"} <= set(way_outs)
        assert {each.partition(" ")[0] for each in site.asked} == {"GET"}


@pytest.mark.sampled(0.4)
async def test_what_a_part_travels_with_is_only_what_it_needs(browser: Browser, tmp_path: Path) -> None:
    with small_site(HARBOUR) as site:
        crew = Crew(browser)
        await explore(browser, site.wanted(), tmp_path, workers=crew)
        whole = {page.page_id: page for page in ExplorationFolder(tmp_path).pages()}
        part = crew.parts[-1]
        here = {step.page_id for step in part.steps}
        on_the_way = {each.from_page for each in part.passages}
        for page in part.pages:
            if page.page_id not in here | on_the_way:
                assert page.offers == ()
        assert all(
            len(page.offers) == len(whole[page.page_id].offers) for page in part.pages if page.page_id in here
        )
        assert "session" not in repr(part)


@pytest.mark.always
async def test_what_changes_something_is_done_by_one_and_once(browser: Browser, tmp_path: Path) -> None:
    with small_site(HARBOUR) as site:
        crew = Crew(browser)
        await explore(browser, site.wanted(allowed=("Save",)), tmp_path, workers=crew)
        folder = ExplorationFolder(tmp_path)
        assert site.asked["POST /save"] == 1
        (saved,) = by_name(folder, "Save")
        assert saved.outcome == "arrived"
        pages = {page.page_id: page for page in folder.pages()}
        shared = [
            offer
            for part in crew.parts
            for step in part.steps
            for offer in pages[step.page_id].offers
            if offer.offer_id == step.offer_id
        ]
        assert shared
        assert not [offer for offer in shared if offer.allowed_by]
        assert "/saved/more" in paths(folder, site)  # what it led to is for all of them again
        assert folder.begun() == [(saved.from_page, saved.offer_id)]


@pytest.mark.sampled(0.4)
async def test_what_was_begun_when_it_was_killed_is_not_done_again(browser: Browser, tmp_path: Path) -> None:
    with small_site(HARBOUR) as site:
        wanted = site.wanted(allowed=("Save",))
        await explore(browser, wanted, tmp_path)
        folder = ExplorationFolder(tmp_path)
        (saved,) = by_name(folder, "Save")
        lines = (tmp_path / "passages.jsonl").read_text().splitlines(keepends=True)
        kept = [line for line in lines if AttemptedTransition.model_validate_json(line).offer_id != saved.offer_id
                or AttemptedTransition.model_validate_json(line).from_page != saved.from_page]  # fmt: skip
        (tmp_path / "passages.jsonl").write_text("".join(kept))  # killed between the click and its being told
        await explore(browser, wanted, tmp_path)
        assert site.asked["POST /save"] == 1
        (cut_off,) = by_name(ExplorationFolder(tmp_path), "Save")
        assert (cut_off.outcome, cut_off.to_page) == ("error", None)
        assert "unknown whether it took effect" in cut_off.message
        assert (tmp_path / BEGUN_FILE).is_file()


@pytest.mark.sampled(0.4)
async def test_parts_of_workers_that_die_are_done_by_others(browser: Browser, tmp_path: Path) -> None:
    with small_site(HARBOUR) as site:
        await explore(browser, site.wanted(), tmp_path / "whole")
        crew = Crew(browser)
        crew.dies, crew.dies_of = {1, 3}, {"A"}
        done = await explore(browser, site.wanted(), tmp_path / "again", workers=crew)
        folder = ExplorationFolder(tmp_path / "again")
        assert done.ended_by == "done"
        assert sorted(paths(folder, site)) == sorted(paths(ExplorationFolder(tmp_path / "whole"), site))
        ways = Counter(
            (each.from_page, each.offer_id, each.way) for each in folder.passages() if each.offer_id
        )
        assert set(ways.values()) == {1}  # what a dead worker did is written by nobody, what others did once


@pytest.mark.sampled(0.4)
async def test_without_any_worker_left_it_goes_on_alone(browser: Browser, tmp_path: Path) -> None:
    heard: list[exploration_events.MapEvent] = []
    with small_site(HARBOUR) as site:
        crew = Crew(browser)
        crew.dies = set(range(1, 100))
        done = await explore(browser, site.wanted(), tmp_path, workers=crew, tell=heard.append)
        assert done.ended_by == "done"
        assert len(crew.parts) <= MOST_FAILED + crew.width
        assert "/help/more" in paths(ExplorationFolder(tmp_path), site)
        assert [
            each
            for each in heard
            if isinstance(each, exploration_events.ExplorationWaiting) and "without workers" in each.reason
        ]


@pytest.mark.sampled(0.4)
async def test_a_control_that_signs_out_is_found_and_no_other_is_blamed(
    browser: Browser, tmp_path: Path
) -> None:
    pages = signed_in_site()
    asked: list[str] = []

    async def again() -> StorageState | None:
        asked.append("again")
        return session("me2")

    with small_site(pages) as site:
        done = await explore(
            browser,
            site.wanted(),
            tmp_path,
            storage_state=session("me"),
            keep_signed_in=SignInRenewal(sign_in_again=again),
            workers=Crew(browser),
        )
        folder = ExplorationFolder(tmp_path)
        assert done.ended_by == "done"
        assert 1 <= len(asked) <= 2  # the second time alone, to see which of two it was
        assert paths(folder, site) == ["/", "/more"]
        assert not [offer for page in folder.pages() for offer in page.offers if offer.danger == "signs_out"]


@pytest.mark.sampled(0.4)
async def test_where_the_session_is_good_for_nobody_else_it_goes_on_alone(
    browser: Browser, tmp_path: Path
) -> None:
    class Strangers(Crew):
        async def do(self, part: ExplorationPart) -> ExplorationPartResult:
            return await super().do(part.model_copy(update={"session": None}))

    with small_site(signed_in_site()) as site:

        async def again() -> StorageState | None:
            return session("me2" if site.asked["GET /end"] else "me")

        done = await explore(
            browser,
            site.wanted(),
            tmp_path,
            storage_state=session("me"),
            keep_signed_in=SignInRenewal(sign_in_again=again),
            workers=Strangers(browser),
        )
        assert done.ended_by == "done"
        assert paths(ExplorationFolder(tmp_path), site) == ["/", "/more"]


@pytest.mark.sampled(0.4)
async def test_it_stops_with_what_is_there_and_goes_on_later(browser: Browser, tmp_path: Path) -> None:
    stop = asyncio.Event()

    def heard(event: exploration_events.MapEvent) -> None:
        if isinstance(event, exploration_events.TransitionAttempted):
            stop.set()

    with small_site(HARBOUR) as site:
        crew = Crew(browser)
        done = await explore(browser, site.wanted(), tmp_path, workers=crew, stop=stop, tell=heard)
        assert (done.ended_by, crew.stopped, crew.at_once) == ("stopped", True, 0)
        assert done.passages >= 1
        assert (await explore(browser, site.wanted(), tmp_path, workers=Crew(browser))).ended_by == "done"
        assert "/help/more" in paths(ExplorationFolder(tmp_path), site)


def with_notice(page: str) -> Callable[[str, str], str]:
    """Something lies over a page until it is accepted; the site remembers that."""
    notice = (
        "<div id=n style='position:fixed;inset:0;background:#ddd'><p>We use cookies.</p>"
        "<button onclick=\"document.cookie='ok=1;path=/';n.remove()\">Understood</button></div>"
    )
    return lambda _path, cookies: page if "ok=1" in cookies else page.replace("</main>", f"</main>{notice}")


@pytest.mark.sampled(0.4)
async def test_a_notice_is_put_away_once_and_all_know_of_it(browser: Browser, tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        path: with_notice(page) for path, page in HARBOUR.items() if isinstance(page, str)
    }
    with small_site(pages) as site:
        crew = Crew(browser)
        done = await explore(browser, site.wanted(), tmp_path, workers=crew)
        folder = ExplorationFolder(tmp_path)
        assert done.ended_by == "done"
        assert len(by_name(folder, "Understood")) == 1
        shown = [
            page.url for page in folder.pages() if any(each.name == "Understood" for each in page.offers)
        ]
        assert shown == [f"{site.url}/"]
        assert {"/", "/list", "/help/more", "/a", "/b"} <= set(paths(folder, site))
        assert crew.parts
        cleared = next(
            page for page in folder.pages() if page.page_id == by_name(folder, "Understood")[0].to_page
        )
        assert cleared.depth == 0  # the same page, without what lay over it
        assert not [each for each in done.unexplored if "cannot be reached again" in each.reason]


@pytest.mark.sampled(0.4)
async def test_the_same_page_found_by_two_is_kept_once(browser: Browser, tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": html("Home", "<a href=/left>Left</a><a href=/right>Right</a>"),
        "/left": html("Left", "<a href=/hidden>Way in</a>"),
        "/right": html("Right", "<a href=/hidden>Other way in</a><p>More</p>"),
        "/hidden": html("Hidden", "<input name=q>"),
        "*": Answer("", 404),
    }
    with small_site(pages) as site:
        await explore(browser, site.wanted(), tmp_path, workers=Crew(browser))
        folder = ExplorationFolder(tmp_path)
        assert sorted(paths(folder, site)) == ["/", "/hidden", "/left", "/right"]
        hidden = next(page.page_id for page in folder.pages() if page.url.endswith("/hidden"))
        assert {each.to_page for name in ("Way in", "Other way in") for each in by_name(folder, name)} == {
            hidden
        }


def test_a_part_says_how_many_share_the_site(tmp_path: Path) -> None:
    wanted = Exploration(
        website_id="small", base_url="http://127.0.0.1", starts=("http://127.0.0.1/",),
        origins=("http://127.0.0.1",), started_at=datetime.now(UTC),
    )  # fmt: skip
    part = ExplorationPart(
        exploration=wanted, workers=4, pages=(), steps=(), session={"cookies": [{"value": "secret"}]}
    )
    assert "secret" not in repr(part)
    assert ExplorationPart.model_validate_json(part.model_dump_json()) == part


async def test_a_step_that_is_done_here_holds_up_none_of_its_kind(tmp_path: Path) -> None:
    links = (link(1, "/one"), link(2, "/two"))
    start = page(1, "/", links, start=True, openable=True)
    wanted = Exploration(
        website_id="small", base_url="https://shop.example", starts=(start.url,), origins=("https://shop.example",),
        started_at=datetime.now(UTC),
    )  # fmt: skip
    given: list[ExplorationPart] = []

    class Idle:
        width = 1

        async def do(self, part: ExplorationPart) -> ExplorationPartResult:
            given.append(part)
            return ExplorationPartResult()

        async def stop(self) -> None:
            """Nothing goes on."""

    ledger = ExplorationRecord(
        wanted,
        ExplorationFolder(tmp_path),
        ExplorationState(wanted.limits, [start]),
        lambda _: None,
        signed_in=False,
    )
    sharing = SharedExploration(ledger, Idle(), lambda _: True, asyncio.Event(), ())
    sharing.alone.add((start.page_id, links[1].offer_id))
    await sharing.run(None, time.monotonic() + 60, lambda _: None)
    assert [[step.offer_id for step in part.steps] for part in given] == [[links[0].offer_id]]
