"""Exploring in a real browser: what is found, what is left alone, and that it goes on after any end."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, StorageState

from agent.exploration import exploration_events
from agent.exploration.pages.page_addresses import normalize_address
from agent.exploration.tried_exits import ENOUGH
from agent.exploration.website_exploration import (
    ExplorationMismatch,
    ExplorationNotSignedIn,
    SignInRenewal,
    StartNotOpened,
    explore,
)
from kb_schema.exploration_folder import PAGES_FILE, PASSAGES_FILE, ExplorationFolder
from kb_schema.explorations import AttemptedTransition, Exploration
from tests.agent.exploration.small_site import Answer, SmallSite, html, small_site

MENU = '<nav aria-label="Main"><a href="/">Home</a> <a href="/list">List</a></nav>'


def paths(folder: ExplorationFolder, site: SmallSite) -> list[str]:
    return [page.url.removeprefix(site.url) for page in folder.pages()]


def by_name(folder: ExplorationFolder, name: str) -> list[AttemptedTransition]:
    pages = {page.page_id: page for page in folder.pages()}
    return [
        each
        for each in folder.passages()
        for offer in pages[each.from_page].offers
        if offer.offer_id == each.offer_id and offer.name == name
    ]


@pytest.mark.always
async def test_pages_passages_and_ways_out_are_written_down(browser: Browser, tmp_path: Path) -> None:
    pages = {
        "/": html("Home", MENU + "<button onclick=\"document.title='Hi'\">Greet</button>"),
        "/list": html(
            "List",
            MENU + "<form action=/save method=post><input name=n required><button>Save</button></form>",
        ),
    }
    told: list[exploration_events.MapEvent] = []
    with small_site(pages) as site:
        done = await explore(browser, site.wanted(), tmp_path, tell=told.append)
        folder = ExplorationFolder(tmp_path)
        assert paths(folder, site) == ["/", "/list"]
        assert done.ended_by == "done"
        assert folder.exploration == done
        assert site.asked["POST /save"] == 0
        home, listing = folder.pages()
        assert (home.start, home.openable, listing.depth) == (True, True, 1)
        assert "<h1>List</h1>" in folder.snapshot(listing.page_id).html
        assert folder.picture(home.page_id) is not None
        save = next(each for each in listing.offers if each.name == "Save")
        assert (save.danger, save.form) == ("submits", f"POST {site.url}/save")
        field = next(each for each in listing.offers if each.action_type == "fill")
        assert field.required
        to_list = by_name(folder, "List")[0]
        assert (to_list.outcome, to_list.to_page) == ("arrived", listing.page_id)
        assert to_list.duration_ms > 0
        assert by_name(folder, "Greet")[0].outcome == "stayed"
        assert {each.way for each in folder.passages()} >= {"offer", "reload", "back", "address"}
        assert [each.reason for each in done.unexplored] == ['submits: its name contains "save"']
        assert [type(each) for each in told].count(exploration_events.PageFound) == 2
        assert isinstance(told[-1], exploration_events.ExplorationEnded)


async def test_the_entries_of_a_menu_take_one_load_each(browser: Browser, tmp_path: Path) -> None:
    names = ("ale", "bay", "cog", "dew", "elm", "fig", "gum", "hay")
    menu = f"<nav>{''.join(f'<a href=/{name}>{name}</a>' for name in names)}</nav>"
    pages = {
        "/": html("Start", menu),
        **{f"/{name}": html(name, f"{menu}<p>{name} {name}") for name in names},
    }
    with small_site(pages) as site:
        await explore(browser, site.wanted(states=len(names) + 1), tmp_path)
        folder = ExplorationFolder(tmp_path)
        asked = sum(site.asked[f"GET {each}"] for each in pages)
        assert sorted(paths(folder, site)) == sorted(pages)
        assert {page.depth for page in folder.pages()} == {0, 1}
        assert all(page.openable for page in folder.pages())
        assert [each.way for each in folder.passages()].count("reload") == ENOUGH
        assert asked <= 1 + len(names) + 2 * ENOUGH


async def test_nothing_that_might_change_something_is_sent(browser: Browser, tmp_path: Path) -> None:
    body = (
        "<a href='/delete?id=1'>Delete</a><a href='/x?do=logout'>Leave</a>"
        "<button onclick=\"fetch('/quiet', {method: 'POST'})\">Refresh</button>"
        "<button onclick=\"location='/gone?action=delete'\">Tidy</button>"
    )
    with small_site({"*": html("Home", body)}) as site:
        done = await explore(browser, site.wanted(), tmp_path)
        assert {each.partition(" ")[0] for each in site.asked} == {"GET"}
        assert set(site.asked) <= {"GET /", "GET /robots.txt", "GET /favicon.ico"}
        (page,) = ExplorationFolder(tmp_path).pages()
        assert {each.name: each.danger for each in page.offers}["Refresh"] == "unknown_method"
        assert len([each for each in done.unexplored if each.offer_id]) == 4


async def test_a_link_from_which_the_application_goes_back_is_not_followed_again(
    browser: Browser, tmp_path: Path
) -> None:
    def one(path: str, _cookies: str) -> str | Answer:
        thing, _, deed = path.removeprefix("/boats/").partition("/")
        if deed:
            return Answer(status=302, headers={"Location": f"/boats/{thing}"})
        return html(
            f"Boat {thing}", f"<a href='/boats/{thing}/haul'>Haul</a> <a href='/boats/{thing}/log'>Log</a>"
        )

    rows = "".join(
        f"<tr><td><a href='/boats/{n}'>Boat {n}</a></td><td><a href='/boats/{n}/haul'>Haul</a></td></tr>"
        for n in range(1, 9)
    )
    pages: dict[str, str | Answer | Callable[[str, str], str | Answer]] = {
        f"/boats/{n}{more}": one for n in range(1, 9) for more in ("", "/haul")
    }
    pages |= {f"/boats/{n}/log": html(f"Log of {n}", MENU) for n in range(1, 9)}
    with small_site({"/": html("Boats", f"{MENU}<table>{rows}</table>"), **pages}) as site:
        done = await explore(browser, site.wanted(), tmp_path)
        hauled = [each for each in site.asked.elements() if each.endswith("/haul")]
        assert len(hauled) == 1
        assert any(each.endswith("/log") for each in site.asked)
        assert any("may have changed something" in each.reason for each in done.unexplored)


async def test_what_is_allowed_by_name_is_filled_and_sent_once(browser: Browser, tmp_path: Path) -> None:
    form = "<form action=/save method=post><label>Name <input name=name required></label><button>Save</button></form>"
    pages = {"/": html("Home", form), "/save": html("Saved", "<a href='/'>Home</a>")}
    with small_site(pages) as site:
        await explore(browser, site.wanted(allowed=("Save",)), tmp_path)
        assert site.asked["POST /save"] == 1
        (saved,) = by_name(ExplorationFolder(tmp_path), "Save")
        assert saved.outcome == "arrived"
        assert list(saved.filled.values()) != [""]
        assert len(saved.filled) == 1


async def test_tabs_dialogs_downloads_and_other_sites_are_told(browser: Browser, tmp_path: Path) -> None:
    body = (
        "<a target=_blank href=/new>New tab</a><a href=/file>File</a><a href='https://other.example/x'>Other</a>"
        "<button id=ask>Ask</button><script>ask.addEventListener('click', () => confirm('Sure?'))</script>"
        "<button onclick=\"location='https://other.example/y'\">Away</button><a href=/broken>Broken</a>"
    )
    pages = {
        "/": html("Home", body),
        "/new": html("New", "<p>only text"),
        "/file": Answer(
            "a,b", headers={"Content-Disposition": "attachment; filename=a.csv", "Content-Type": "text/csv"}
        ),
        "/broken": Answer("<h1>Oh</h1>", 500),
    }
    with small_site(pages) as site:
        done = await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        came = {
            name: by_name(folder, name)[0].outcome for name in ("New tab", "File", "Ask", "Away", "Broken")
        }
        assert came == {
            "New tab": "popup", "File": "download", "Ask": "dialog", "Away": "external", "Broken": "error"
        }  # fmt: skip
        assert by_name(folder, "Ask")[0].message == "Sure?"
        assert by_name(folder, "Other") == []
        assert any(each.reason.startswith("leaves") for each in done.unexplored)
        assert paths(folder, site) == ["/", "/new"]


async def test_files_that_the_browser_shows_and_what_was_before_the_first_page_are_no_pages(
    browser: Browser, tmp_path: Path
) -> None:
    body = "<a href=/plants.json>Plants</a><a href=/notes.txt>Notes</a><a target=_blank href=/map.json>Map</a><a href=/b>B</a>"
    pages = {
        "/": html("Home", body),
        "/b": html(
            "B", "<a href='#' onclick='history.go(-9); history.back(); return false'>Take me back</a>"
        ),
        "/notes.txt": Answer("some text", headers={"Content-Type": "text/plain"}),
        "*": Answer('{"a": 1}', headers={"Content-Type": "application/json"}),
    }
    with small_site(pages) as site:
        done = await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        assert done.ended_by == "done"
        assert paths(folder, site) == ["/", "/b"]
        for name, kind in (
            ("Plants", "application/json"),
            ("Notes", "text/plain"),
            ("Map", "application/json"),
        ):
            shown = by_name(folder, name)[0]
            assert (shown.outcome, shown.to_page) == ("download", None)
            assert kind in shown.message
        assert by_name(folder, "B")[0].outcome == "arrived"
        assert by_name(folder, "Take me back")


async def test_a_state_of_a_page_is_reached_again_as_it_was_found(browser: Browser, tmp_path: Path) -> None:
    body = (
        "<button onclick='box.show()'>Open</button><dialog id=box aria-label=Details><h2>Details</h2>"
        "<a href=/one>One</a><a href=/two>Two</a></dialog>"
    )
    pages = {"/": html("Home", body), "/one": html("One", "1"), "/two": html("Two", "2")}
    with small_site(pages) as site:
        await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        assert sorted(paths(folder, site)) == ["/", "/", "/one", "/two"]
        (opened,) = [page for page in folder.pages() if page.openable is False]
        assert {each.outcome for each in (*by_name(folder, "One"), *by_name(folder, "Two"))} == {"arrived"}
        assert {each.from_page for each in by_name(folder, "Two")} == {opened.page_id}


async def test_places_without_end_end(browser: Browser, tmp_path: Path) -> None:
    def calendar(path: str, _cookies: str) -> str:
        month = int(path.partition("m=")[2].partition("&")[0] or 1)
        sid = f"9f8a7b6c5d4e3f{month:06d}"
        return html(
            "Calendar", f"<a href='/?m={month + 1}&sid={sid}'>Next month</a><a href='/?sid={sid}'>Today</a>"
        )

    with small_site({"/": calendar}) as site:
        done = await explore(browser, site.wanted(pages_per_place=3), tmp_path)
        assert done.ended_by == "done"
        assert done.pages <= 4
        assert done.passages < 20


@pytest.mark.nightly
async def test_it_goes_on_wherever_it_was_cut_off(browser: Browser, tmp_path: Path) -> None:
    pages = {
        "/": html("Home", MENU + "<a href=/a>A</a><a href=/b>B</a>"),
        "/list": html("List", MENU + "<ul><li><a href=/item/1>One</a><li><a href=/item/2>Two</a></ul>"),
        "/a": html("A", MENU + "<input name=a>"),
        "/b": html("B", MENU + "<input name=b>"),
        "*": html("Item", MENU + "<input name=item>"),
    }
    with small_site(pages) as site:
        whole = await explore(browser, site.wanted(), tmp_path / "whole")
        expected = sorted(paths(ExplorationFolder(tmp_path / "whole"), site))
        for name, kept in ((PASSAGES_FILE, 0.4), (PAGES_FILE, 0.6)):
            cut = tmp_path / name
            shutil.copytree(tmp_path / "whole", cut)
            lines = (cut / name).read_bytes()
            (cut / name).write_bytes(lines[: int(len(lines) * kept)])  # in the middle of a line
            if name == PAGES_FILE:  # a passage is written after the page it leads to
                (cut / PASSAGES_FILE).write_bytes(b"")
            await explore(browser, site.wanted(), cut)
            again = ExplorationFolder(cut)
            assert sorted(paths(again, site)) == expected
            assert len({(normalize_address(page.url), page.state) for page in again.pages()}) == len(
                again.pages()
            )
        before = site.asked.copy()
        assert (await explore(browser, site.wanted(), tmp_path / "whole")).pages == whole.pages
        # What every visit sends is learned anew.
        assert site.asked - before == {"GET /robots.txt": 1, "GET /": 1}


async def test_links_of_a_kind_that_loads_its_address_are_opened_from_anywhere(
    browser: Browser, tmp_path: Path
) -> None:
    names = ("ale", "bay", "cog", "dew", "elm", "fig")
    list_ = "".join(f"<p><a href=/things/{name}>{name}</a></p>" for name in names)
    pages = {"/": html("Start", list_)}
    pages |= {
        f"/things/{name}": html(name, f"<p>{name}</p>" + f"<h{n}>{name}" * n)
        for n, name in enumerate(names, 1)
    }
    with small_site(pages) as site:
        await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        assert sorted(paths(folder, site)) == sorted(pages)
        told = [(each.way, each.outcome) for name in names for each in by_name(folder, name)]
        assert ("offer", "arrived") in told  # the first of its kind was clicked
        assert told.count(("address", "arrived")) >= 1
        assert all(by_name(folder, name)[0].to_page is not None for name in names)


async def test_addresses_that_are_opened_first_are_not_found_by_pressing_again(
    browser: Browser, tmp_path: Path
) -> None:
    names = ("ale", "bay", "cog", "dew", "elm")
    list_ = "".join(f"<li><a href=/{name}>{name}</a></li>" for name in names)
    pages = {"/": html("Start", f"<ul>{list_}</ul><a href=/join>Join</a>"), "/join": html("Join", "<p>us")}
    pages |= {f"/{name}": html(name, f"<a href=/>Start</a><p>{name} {name}") for name in names}
    with small_site(pages) as site:
        hints = tuple(f"{site.url}/{name}" for name in names)
        done = await explore(browser, site.wanted(hints=hints), tmp_path, hints_first=True)
        folder = ExplorationFolder(tmp_path)
        assert done.ended_by == "done"
        assert paths(folder, site) == ["/", *(f"/{name}" for name in names), "/join"]
        assert [each.way for each in folder.passages()].count("offer") == 1
        assert by_name(folder, "Join")[0].outcome == "arrived"


async def test_places_that_nothing_leads_to_are_opened_in_the_end(browser: Browser, tmp_path: Path) -> None:
    pages = {
        "/robots.txt": Answer("User-agent: *\nDisallow: /private", headers={"Content-Type": "text/plain"}),
        "/": html("Home", "<ul><li><a href=/item/1>One</a></ul>"),
        "/item/1": html("Item", "<input name=a>"),
        "/terms": html("Terms", "<a href=/imprint>Imprint</a>"),
        "/imprint": html("Imprint", "<p>Us</p>"),
        "*": html("Other", "<p>Text</p>"),
    }
    with small_site(pages) as site:
        hints = tuple(f"{site.url}{path}" for path in ("/item/2", "/terms", "/private", "/imprint"))
        done = await explore(browser, site.wanted(hints=hints), tmp_path)
        folder = ExplorationFolder(tmp_path)
        assert done.ended_by == "done"
        assert paths(folder, site) == ["/", "/item/1", "/terms", "/imprint"]
        assert [page.start for page in folder.pages()] == [True, False, False, False]
        assert site.asked["GET /private"] + site.asked["GET /item/2"] == 0
        assert [each.outcome for each in by_name(folder, "Imprint")] == ["arrived"]


async def test_a_folder_of_another_site_is_not_mixed_up(browser: Browser, tmp_path: Path) -> None:
    with small_site({"/": html("Home", "")}) as site:
        await explore(browser, site.wanted(), tmp_path)
        other = site.wanted().model_copy(update={"website_id": "other"})
        with pytest.raises(ExplorationMismatch, match="website_id"):
            await explore(browser, other, tmp_path)


def signed_in_site() -> dict[str, Any]:
    """Knows the cookie `who=me` until `/end` was opened; then a new one, `who=me2`."""
    over: list[str] = []

    def guarded(page: str) -> Any:
        def answer(_path: str, cookies: str) -> str | Answer:
            if cookies == ("who=me2" if over else "who=me"):
                return page
            return Answer(status=302, headers={"Location": "/enter"})

        return answer

    def end(_path: str, _cookies: str) -> Answer:
        over.append("x")
        return Answer(status=302, headers={"Location": "/enter"})

    form = "<form method=post><input name=n><input type=password name=p><button>Go</button></form>"
    return {
        "/": guarded(html("Home", "<a href=/end>Old page</a><a href=/more>More</a>")),
        "/more": guarded(html("More", "<input name=q>")),
        "/end": end,
        "/enter": html("Enter", form),
    }


def session(value: str) -> StorageState:
    return {"cookies": [{"name": "who", "value": value, "domain": "127.0.0.1", "path": "/"}], "origins": []}


async def test_signed_out_it_signs_in_again_and_keeps_away_from_what_did_it(
    browser: Browser, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def again() -> StorageState | None:
        asked.append("again")
        return session("me2")

    told: list[exploration_events.MapEvent] = []
    with small_site(signed_in_site()) as site:
        done = await explore(
            browser,
            site.wanted(),
            tmp_path,
            tell=told.append,
            storage_state=session("me"),
            keep_signed_in=SignInRenewal(sign_in_again=again),
        )
        assert done.ended_by == "done"
        assert asked == ["again"]
        folder = ExplorationFolder(tmp_path)
        assert paths(folder, site) == ["/", "/more"]  # the page to sign in at is no page of it
        assert all(page.signed_in for page in folder.pages())
        assert [each.again for each in told if isinstance(each, exploration_events.ExplorationSignedOut)] == [
            "trying",
            "signed_in",
        ]
        assert site.asked["GET /end"] == 1


async def test_a_page_that_asks_for_a_password_signed_in_is_a_page_as_any(
    browser: Browser, tmp_path: Path
) -> None:
    def home(_path: str, cookies: str) -> str | Answer:
        known = html("Home", "<a href=/new>New vault</a><a href=/more>More</a>")
        return known if cookies == "who=me" else Answer(status=302, headers={"Location": "/enter"})

    form = "<form method=post><input name=n><input type=password name=p><button>Go</button></form>"
    site_pages = {
        "/": home,
        "/new": html("New vault", form),
        "/more": html("More", ""),
        "/enter": html("Enter", form),
    }
    told: list[exploration_events.MapEvent] = []
    with small_site(site_pages) as site:
        done = await explore(browser, site.wanted(), tmp_path, tell=told.append, storage_state=session("me"))
        assert done.ended_by == "done"
        assert paths(ExplorationFolder(tmp_path), site) == ["/", "/new", "/more"]
        assert not [each for each in told if isinstance(each, exploration_events.ExplorationSignedOut)]


async def test_a_session_that_is_over_is_told_at_once(browser: Browser, tmp_path: Path) -> None:
    with (
        small_site(signed_in_site()) as site,
        pytest.raises(ExplorationNotSignedIn, match="/enter requires a sign-in"),
    ):
        await explore(browser, site.wanted(), tmp_path / "map", storage_state=session("you"))
    assert not (tmp_path / "map").exists(), "it would hinder the next one"


async def test_robots_txt_is_respected_unless_overridden(browser: Browser, tmp_path: Path) -> None:
    rules = Answer("User-agent: *\nDisallow: /private", headers={"Content-Type": "text/plain"})
    body = "<a href=/private>Private</a><button onclick=\"location='/private'\">Go there</button>"
    with small_site({"/": html("Home", body), "/private": html("Private", ""), "/robots.txt": rules}) as site:
        done = await explore(browser, site.wanted(), tmp_path / "kept")
        assert site.asked["GET /private"] == 0
        assert "robots.txt disallows it" in {each.reason for each in done.unexplored}
        await explore(browser, site.wanted(robots=False), tmp_path / "overridden")
        assert site.asked["GET /private"] > 0


@pytest.mark.nightly
async def test_a_page_that_never_answers_takes_no_longer_than_it_may(
    browser: Browser, tmp_path: Path
) -> None:
    body = "<a href=/stuck>Stuck</a><a href=/fine>Fine</a>"
    stuck = "<script>addEventListener('load', () => { while (true) {} })</script>"
    pages = {"/": html("Home", body), "/stuck": html("Stuck", stuck), "/fine": html("Fine", "ok")}
    with small_site(pages) as site:
        done = await explore(browser, site.wanted(page_s=1.0), tmp_path)
        folder = ExplorationFolder(tmp_path)
        assert by_name(folder, "Stuck")[0].outcome in ("timeout", "error")
        assert "/fine" in paths(folder, site)
        assert done.ended_by == "done"


async def test_it_stops_when_it_is_told_to_and_goes_on_later(browser: Browser, tmp_path: Path) -> None:
    stop = asyncio.Event()

    def tell(event: exploration_events.MapEvent) -> None:
        if isinstance(event, exploration_events.TransitionAttempted):
            stop.set()

    pages = {"/": html("Home", "<a href=/a>A</a><a href=/b>B</a>"), "*": html("Other", "x")}
    with small_site(pages) as site:
        done: Exploration = await explore(browser, site.wanted(), tmp_path, tell=tell, stop=stop)
        assert done.ended_by == "stopped"
        assert done.passages < 4
        assert any("time or page limit" in each.reason for each in done.unexplored)
        again = await explore(browser, site.wanted(), tmp_path)
        assert again.ended_by == "done"
        assert sorted(paths(ExplorationFolder(tmp_path), site)) == ["/", "/a", "/b"]


async def test_a_page_that_goes_away_while_it_is_looked_at_does_not_end_it(
    browser: Browser, tmp_path: Path
) -> None:
    restless = "<script>setInterval(() => { location = '/restless?' + Math.random() }, 40)</script>"
    broken = "<script>Array.prototype.map = Object.keys = JSON.parse = () => { throw 1 }</script>"
    pages = {
        "/": html("Home", "<a href=/restless>R</a><a href=/broken>B</a><a href=/fine>F</a>"),
        "/restless": html("Restless", restless),
        "/broken": html("Broken", broken),
        "/fine": html("Fine", "ok"),
    }
    with small_site(pages) as site:
        done = await explore(browser, site.wanted(), tmp_path)
        assert done.ended_by == "done"
        assert "/fine" in paths(ExplorationFolder(tmp_path), site)


async def test_a_site_that_does_not_answer_is_no_map_and_leaves_no_folder(
    browser: Browser, tmp_path: Path
) -> None:
    with small_site({"/": html("Home", "")}) as site:
        wanted = site.wanted()
    with pytest.raises(StartNotOpened, match=r"no response .*ECONNREFUSED"):
        await explore(browser, wanted, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    rules = Answer("User-agent: *\nDisallow: /", headers={"Content-Type": "text/plain"})
    failing = Answer("no", status=503)
    for answer, reason in ((rules, r"robots\.txt disallows it"), (failing, r"robots\.txt: HTTP 503")):
        with (
            small_site({"/": html("Home", ""), "/robots.txt": answer}) as site,
            pytest.raises(StartNotOpened, match=reason),
        ):
            await explore(browser, site.wanted(), tmp_path / "refused")
        assert not (tmp_path / "refused").exists()
