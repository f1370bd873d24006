"""Exploring an application that keeps its session in IndexedDB and starts behind a turning wheel, and limits of a website."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, StorageState

from agent.exploration.requests import page_idle
from agent.exploration.requests.page_idle import PageIdleWait
from agent.exploration.requests.request_rate import LIMITED_S, RequestRate
from agent.exploration.website_exploration import SignInRenewal, explore
from kb_schema.exploration_folder import ExplorationFolder
from periplus.errors import UserError
from periplus.exploration.login_form import sign_in_by_form
from tests.agent.exploration.small_site import Answer, html, small_site
from tests.support.pages import show

APP = """<!doctype html><title>Budget</title><style>@keyframes turn { to { transform: rotate(1turn) } }
.wheel { width: 20px; height: 20px; border: 2px dotted; animation: turn 1s linear infinite }</style>
<main><div class=wheel></div><button>Change server</button></main><script>
const main = document.querySelector("main");
const opened = new Promise((done) => {
  const asked = indexedDB.open("app", 3);
  asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
  asked.onsuccess = () => done(asked.result);
});
const kept = async () => { const db = await opened; return new Promise((done) => {
  const got = db.transaction("kept").objectStore("kept").get("token"); got.onsuccess = () => done(got.result); }); };
const keep = async (value) => { const db = await opened; return new Promise((done) => {
  const change = db.transaction("kept", "readwrite"); change.objectStore("kept").put(value, "token"); change.oncomplete = done; }); };
const starting = main.innerHTML;
async function start() {
  main.innerHTML = starting;
  await new Promise((done) => setTimeout(done, 700));
  const token = await kept();
  if (token?.bytes instanceof Uint8Array) main.innerHTML = "<h1>Accounts</h1><a href=/rules>Rules</a>";
  else {
    main.innerHTML = "<form><label>Password <input type=password name=password></label><button>Sign in</button></form>";
    document.forms[0].onsubmit = async (event) => { event.preventDefault(); await keep({ bytes: new Uint8Array([7]) }); start(); };
  }
}
start();
</script>"""


async def test_a_session_in_indexed_db_is_kept_and_the_application_is_mapped_behind_its_wheel(
    browser: Browser, tmp_path: Path
) -> None:
    with small_site({"/": APP, "/rules": APP.replace("Accounts", "Rules")}) as site:
        state = (await sign_in_by_form(browser, f"{site.url}/", {"password": "galley"})).state
        assert [each.get("indexedDB") is not None for each in state["origins"]] == [True]
        done = await explore(browser, site.wanted(), tmp_path, storage_state=state)
    assert done.ended_by == "done"
    pages = list(ExplorationFolder(tmp_path).pages())
    assert [page.url.removeprefix(site.url) for page in pages] == ["/", "/rules"]
    assert all("Change server" not in {offer.name for offer in page.offers} for page in pages)


TAB_APP = """<!doctype html><title>Berths</title><main></main><script>
const main = document.querySelector("main");
KEEPING
function start() {
  if (kept()) main.innerHTML = "<h1>" + document.title + "</h1><p>Bo is here</p><a href=/moorings>Moorings</a>";
  else {
    main.innerHTML = "<form><label>Password <input type=password name=password></label><button>Sign in</button></form>";
    document.forms[0].onsubmit = (event) => { event.preventDefault(); keep(); start(); };
  }
}
start();
</script>"""


async def test_a_session_in_the_storage_of_a_tab_is_kept(browser: Browser, tmp_path: Path) -> None:
    app = TAB_APP.replace(
        "KEEPING",
        'const kept = () => sessionStorage.getItem("token"); const keep = () => sessionStorage.setItem("token", "7");',
    )
    with small_site({"/": app, "/moorings": app.replace("Berths", "Moorings")}) as site:
        state = (await sign_in_by_form(browser, f"{site.url}/", {"password": "galley"})).state
        done = await explore(browser, site.wanted(), tmp_path, storage_state=state)
    assert done.ended_by == "done"
    pages = list(ExplorationFolder(tmp_path).pages())
    assert {page.url.removeprefix(site.url) for page in pages} == {"/", "/moorings"}
    assert all("Bo is here" in ExplorationFolder(tmp_path).snapshot(page.page_id).html for page in pages)


async def test_a_sign_in_that_is_kept_in_the_open_page_alone_is_told_at_once(browser: Browser) -> None:
    app = TAB_APP.replace("KEEPING", "let token; const kept = () => token, keep = () => { token = 7; };")
    with small_site({"/": app}) as site, pytest.raises(UserError, match="in the open page alone"):
        await sign_in_by_form(browser, f"{site.url}/", {"password": "galley"})


async def test_a_control_that_signs_out_in_the_browser_alone_leaves_the_given_session(
    browser: Browser, tmp_path: Path
) -> None:
    inside = "<h1>Home</h1><button onclick=localStorage.clear(),location.reload()>Change</button><a href=/more>More</a>"
    app = (
        "<!doctype html><title>Home</title><script>document.write(localStorage.who === 'me' ? "
        f'"{inside}" : "<form method=post><input type=password name=p><button>Go</button></form>")</script>'
    )
    with small_site({"/": app, "/more": app.replace("Home", "More")}) as site:
        state: StorageState = {
            "cookies": [],
            "origins": [{"origin": site.url, "localStorage": [{"name": "who", "value": "me"}]}],
        }
        done = await explore(browser, site.wanted(), tmp_path, storage_state=state)
    assert done.ended_by == "done"
    pages = ExplorationFolder(tmp_path).pages()
    assert [page.url.removeprefix(site.url) for page in pages] == ["/", "/more"]


async def test_an_exploration_that_cannot_sign_in_again_says_that_it_was_signed_out(
    browser: Browser, tmp_path: Path
) -> None:
    over: list[str] = []

    def guarded(_path: str, _cookies: str) -> str | Answer:
        menu = "<a href=/end>Old page</a><a href=/more>More</a>"
        return Answer(status=302, headers={"Location": "/enter"}) if over else html("Home", menu)

    def end(_path: str, _cookies: str) -> Answer:
        over.append("x")
        return Answer(status=302, headers={"Location": "/enter"})

    async def again() -> StorageState | None:
        return None

    form = "<form method=post><input type=password name=p><button>Go</button></form>"
    pages: dict[str, Any] = {"/": guarded, "/more": guarded, "/end": end, "/enter": html("Enter", form)}
    with small_site(pages) as site:
        done = await explore(
            browser, site.wanted(), tmp_path, keep_signed_in=SignInRenewal(sign_in_again=again)
        )
    assert done.ended_by == "signed_out"
    assert {each.reason for each in done.unexplored if each.reason.startswith("the ")} == {
        "the website signed out"
    }


async def test_a_wheel_that_never_stops_is_an_ornament_and_not_waited_for_again(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_idle, "WORK_S", 0.5)
    await show(page, APP.partition("<script>")[0])
    ornaments: set[str] = set()
    with PageIdleWait(page, ornaments) as wait:
        await wait.done(5.0)
    assert ornaments == {"div.wheel turn"}
    assert await PageIdleWait(page, ornaments)._is_done(late=False)


@pytest.mark.parametrize(
    ("status", "headers", "waits"),
    [
        (429, {"retry-after": "7"}, 7),
        (429, {}, LIMITED_S),
        (429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, LIMITED_S),
        (429, {"retry-after": "86400"}, 0),
        (200, {"ratelimit-limit": "500", "ratelimit-remaining": "40", "ratelimit-reset": "9"}, 9),
        (200, {"x-ratelimit-limit": "500, 500;w=60", "x-ratelimit-remaining": "40", "x-ratelimit-reset": "9"}, 9),
        (200, {"ratelimit-limit": "500", "ratelimit-remaining": "400", "ratelimit-reset": "9"}, 0),
        (200, {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "1", "x-ratelimit-reset": "1790000000"}, 0),
        (200, {"retry-after": "7"}, 0),
        (200, {}, 0),
    ],
)  # fmt: skip
async def test_the_limit_that_a_website_tells_is_kept(
    status: int, headers: dict[str, str], waits: float
) -> None:
    stop, told = asyncio.Event(), [0.0]
    stop.set()  # nothing is waited for in this test
    pace = RequestRate(1_000.0, stop, told.append)
    pace.heed(status, headers)
    await pace.turn()
    assert round(told[-1]) == waits
