"""What a page sends while `map --sign-in-form` signs in: nothing that names a deed, in whatever way the password goes with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser
from websockets.asyncio.server import Request as SocketRequest
from websockets.asyncio.server import ServerConnection, serve

from periplus.errors import UserError
from periplus.exploration.login_form import sign_in_by_form
from tests.agent.exploration.small_site import Answer, small_site

WORD = "Sunk-Boat-4711"
MEMBER = {"email": "ann@quay.example", "password": WORD}
PAGE = """<h1>Boats</h1><form id=f><label>E-mail <input name=email type=email></label><label>Password <input name=password type=password></label>
<button>Log in</button></form><script>f.onsubmit = async (event) => { event.preventDefault(); const e = f.email.value, p = f.password.value;
const wait = (ms) => new Promise((done) => setTimeout(done, ms)); const asked = async () => { for (let n = 0; n < 30; n += 1) await fetch("/done") }; try { DOES } catch {} location = "/home" }</script>"""
CLOSE = "/account/close"
HOME = Answer("<h1>Boats of Ann</h1>", headers={"Set-Cookie": "session=1; Path=/"})
SHARED = Answer(
    f"onconnect = (c) => c.ports[0].onmessage = (m) => fetch('{CLOSE}', {{method: 'POST', body: m.data}})",
    headers={"Content-Type": "text/javascript"},
)
CARRIED = {
    "the address of a picture": "await new Promise((r) => { const i = new Image(); i.onerror = i.onload = r; i.src = '/account/close.png?p=' + p })",
    "a header of its own": "await fetch('/account/7', {method: 'POST', headers: {'X-Action': 'close'}, body: p})",
    "a header that signs in": f"await fetch('{CLOSE}', {{method: 'POST', headers: {{Authorization: 'Basic ' + btoa(e + ':' + p)}}}})",
    "another header": f"await fetch('{CLOSE}', {{method: 'POST', headers: {{'X-Confirm': p}}}})",
    "the name of a header": f"await fetch('{CLOSE}', {{method: 'POST', headers: {{['X-' + p]: '1'}}}})",
    "a cookie": f"document.cookie = 'confirm=' + p; await fetch('{CLOSE}', {{method: 'POST'}})",
    "the query of a GET": f"await fetch('{CLOSE}?password=' + p)",
    "the path": f"await fetch('/' + p + '{CLOSE}', {{method: 'POST'}})",
    "a picture": f"new Image().src = '{CLOSE}?password=' + p; await wait(500)",
    "a frame": f"const i = document.createElement('iframe'); i.src = '{CLOSE}?password=' + p; document.body.append(i); await wait(500)",
}  # fmt: skip
LEAVES = (
    "const password = p; document.open(); document.write(`<script>addEventListener('pagehide', () => tell(), true);"
    "onunload = () => tell()</${''}script>`); document.close(); addEventListener('pagehide', () => tell(), true);"
    "window.tell = () => { SENDS }; await asked()"
)
RULES = (
    "const s = document.createElement('script'); s.type = 'speculationrules'; s.textContent = JSON.stringify({prefetch: [{source: 'list', eagerness: 'immediate',"
    f"urls: ['{CLOSE}?p=' + p]}}]}}); PLACE.append(s); await asked()"
)
UNKNOWN = {
    "a beacon when the page is left": f"addEventListener('pagehide', () => navigator.sendBeacon('{CLOSE}', p))",
    "a request that outlives the page": f"addEventListener('pagehide', () => fetch('{CLOSE}', {{method: 'POST', body: p, keepalive: true}}))",
    "changed bytes": f"await fetch('{CLOSE}', {{method: 'POST', body: new Uint8Array([...p].map((c) => c.charCodeAt(0) ^ 1))}})",
    "changed bytes in the query of a GET": f"await fetch('{CLOSE}?p=' + [...p].map((c) => c.charCodeAt(0) ^ 1))",
    "a picture when a document that was opened anew is left": LEAVES.replace("SENDS", f"new Image().src = '{CLOSE}?p=' + password"),
    "a request when a document that was opened anew is left": LEAVES.replace(
        "SENDS", f"let n = 0; fetch('{CLOSE}', {{method: 'POST', body: password, get keepalive() {{ return n++ > 0 }}}})"
    ),
    "rules to load ahead": RULES.replace("PLACE", "document.head"),
    "rules to load ahead in a shadow tree": RULES.replace(
        "PLACE", "document.body.appendChild(document.createElement('div')).attachShadow({mode: 'closed'})"
    ),
    "a download": f"const a = document.createElement('a'); a.download = 'x'; a.href = '{CLOSE}?p=' + p; document.body.append(a); a.click(); await asked()",
    "a download of a link in no document": "const a = document.createElement('a'); a.download = 'x'; a.href = '/moved?p=' + p; a.click(); await asked()",
    "a shared worker": "new SharedWorker('/shared.js').port.postMessage(p); await wait(800)",
}  # fmt: skip


def closings(asked: dict[str, int]) -> list[str]:
    return [each for each in asked if CLOSE in each]


@pytest.mark.parametrize("does", CARRIED.values(), ids=CARRIED)
async def test_a_password_on_its_way_to_a_deed_ends_the_sign_in(browser: Browser, does: str) -> None:
    told = pytest.raises(UserError, match=r"is no sign-in form: it sends (GET|POST) .*\(deletes\)")
    with small_site({"/": PAGE.replace("DOES", does), "/home": HOME, "*": "{}"}) as site:
        with told as raised:
            await sign_in_by_form(browser, f"{site.url}/", MEMBER)
        assert WORD not in str(raised.value)
        assert closings(site.asked) == []


@pytest.mark.parametrize("does", UNKNOWN.values(), ids=UNKNOWN)
async def test_what_names_a_deed_is_not_sent_whatever_it_carries(browser: Browser, does: str) -> None:
    pages = {"/": PAGE.replace("DOES", does), "/home": HOME, "/shared.js": SHARED, "*": "{}"}
    pages["/moved"] = Answer("", status=302, headers={"Location": f"{CLOSE}?p=x"})
    with small_site(pages) as site:
        await sign_in_by_form(browser, f"{site.url}/", MEMBER)
        assert closings(site.asked) == []


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[str, list[str]]]:
    """A WebSocket server: its address, and the paths and messages that arrived."""
    arrived: list[str] = []

    async def note(connection: ServerConnection) -> None:
        assert isinstance(connection.request, SocketRequest)
        arrived.append(connection.request.path)
        arrived.extend([str(message) async for message in connection])

    async with serve(note, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}", arrived


async def arrived_by_socket(browser: Browser, path: str, message: str) -> list[str]:
    """Sign in with a page whose script sends a message to a path; return what arrived, and why signing in ended."""
    async with listening() as (url, arrived):
        opened, closed = (
            "new Promise((r) => { w.onopen = w.onclose = r })",
            "new Promise((r) => { w.onclose = r })",
        )
        does = f"const w = new WebSocket('{url}{path}'); await {opened}; if (w.readyState === 1) {{ w.send({message}); const c = {closed}; w.close(); await c }}"
        with small_site({"/": PAGE.replace("DOES", does), "/home": HOME, "*": "{}"}) as site:
            try:
                await sign_in_by_form(browser, f"{site.url}/", MEMBER)
            except UserError as exc:
                arrived.append(str(exc).partition(": ")[2].partition(" -> ")[0])
        return arrived


@pytest.mark.parametrize(
    "message",
    [
        "JSON.stringify({op: 'closeAccount', password: p})",
        "'420' + JSON.stringify(['account:delete', {password: p}])",
        "'delete ' + p",
        "new TextEncoder().encode(JSON.stringify({op: 'closeAccount', password: p}))",
    ],
)
async def test_a_message_of_a_socket_that_names_a_deed_ends_the_sign_in(
    browser: Browser, message: str
) -> None:
    assert await arrived_by_socket(browser, "/ws", message) == ["/ws", "it sends WebSocket /ws (deletes)"]


@pytest.mark.parametrize(
    "message",
    [
        "new Blob([JSON.stringify({op: 'closeAccount', password: p})])",
        "' '.repeat(5000) + JSON.stringify({op: 'closeAccount', password: p})",
    ],
)
async def test_a_message_of_a_socket_that_is_not_known_in_whole_is_not_sent(
    browser: Browser, message: str
) -> None:
    assert await arrived_by_socket(browser, "/ws", message) == ["/ws"]


async def test_no_socket_is_opened_to_a_deed(browser: Browser) -> None:
    assert await arrived_by_socket(browser, f"{CLOSE}?p=1", "''") == []
    assert await arrived_by_socket(browser, f"{CLOSE}?p=' + p + '", "''") == [
        f"it sends WebSocket {CLOSE} (deletes)"
    ]


@pytest.mark.parametrize(
    "message",
    [
        "'420' + JSON.stringify(['login', {username: e, password: p, token: ''}])",
        "JSON.stringify({msg: 'method', method: 'login', params: [{user: {email: e}, password: p}], id: '1'})",
        "JSON.stringify({type: 'auth', access_token: p})",
    ],
)
async def test_a_website_may_sign_in_by_a_socket(browser: Browser, message: str) -> None:
    arrived = await arrived_by_socket(browser, "/ws", message)
    assert arrived[0] == "/ws"
    assert [WORD in each for each in arrived[1:]] == [True]


SIGNING_IN = {
    "a header": "await fetch('/api/login', {method: 'POST', headers: {Authorization: 'Basic ' + btoa(e + ':' + p)}})",
    "a GET": "await fetch('/api/login?password=' + p)",
    "a body": "await fetch('/api/sessions', {method: 'POST', body: JSON.stringify({e, p})}); await fetch('/api/messages?unread=1')",
}


@pytest.mark.parametrize("does", SIGNING_IN.values(), ids=SIGNING_IN)
async def test_a_website_may_sign_in_as_it_likes(browser: Browser, does: str) -> None:
    with small_site({"/": PAGE.replace("DOES", does), "/home": HOME, "*": "{}"}) as site:
        await sign_in_by_form(browser, f"{site.url}/", MEMBER)
        assert any("/api/login" in each or "/api/sessions" in each for each in site.asked)
