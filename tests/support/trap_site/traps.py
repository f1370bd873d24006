"""The trap site: what is awkward on websites, in one place, with counters of everything that was changed.

`GET /__control/state` says them, `POST /__control/reset` sets them back. Every request by another method than GET
and HEAD counts as a change, and so does every link that acts in one click.
"""

import asyncio
import json
import random
import re
import string
from contextlib import suppress

import pages
from pages import links, page
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from state import State

MANY = 10_000
NEVER_S = 600


MENU = re.compile(rb'<nav aria-label="Sections">.*?</nav>', re.DOTALL)


def _without_menu(send):
    """Pages whose visitor has the cookie `menu=no` lead only to where they lead themselves."""
    held = []

    async def answer(message) -> None:
        if message["type"] == "http.response.start" and dict(message["headers"]).get(
            b"content-type", b""
        ).startswith(b"text/html"):
            held.append(message)
        elif held:
            start = held.pop()
            body = MENU.sub(b"", message.get("body", b""))
            if not message.get("more_body"):
                named = [(name, value) for name, value in start["headers"] if name != b"content-length"]
                start = start | {"headers": [*named, (b"content-length", str(len(body)).encode())]}
            await send(start)
            await send(message | {"body": body})
        else:
            await send(message)

    return answer


class Counting:
    """Counts requests, and those by methods that are not for looking."""

    def __init__(self, app, state: State, port: int) -> None:
        self.app, self.state, self.port = app, state, port

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] == "http" and not scope["path"].startswith("/__control/"):
            self.state.requests += 1
            if scope["method"] not in {"GET", "HEAD"}:
                self.state.changes[f"{scope['method']} {scope['path']}"] += 1
            told = dict(scope["headers"])
            if told.get(b"host", b"") != b"127.0.0.1:%d" % self.port:
                self.state.seen["other_origin"] += 1
            if b"menu=no" in told.get(b"cookie", b""):
                send = _without_menu(send)
        await self.app(scope, receive, send)


def _fixed(body: str, status: int = 200):
    async def answer(_request: Request) -> Response:
        return HTMLResponse(body, status)

    return answer


def _random_word() -> str:
    return "".join(random.choices(string.ascii_lowercase, k=10))


def _session_id() -> str:
    return "".join(random.choices("0123456789abcdef", k=32))


async def calendar(request: Request) -> Response:
    """A month; there is always another."""
    year, month = int(request.path_params["year"]), int(request.path_params["month"])
    later, earlier = divmod(year * 12 + month, 12), divmod(year * 12 + month - 2, 12)
    days = "".join(f'<td><a href="/calendar/{year}/{month}/{d}">{d}</a></td>' for d in range(1, 29))
    return HTMLResponse(
        page(
            "Calendar",
            f"<p>{month}/{year}</p><table><tr>{days}</tr></table>"
            + links(
                (f"/calendar/{earlier[0]}/{earlier[1] + 1}", "Earlier"),
                (f"/calendar/{later[0]}/{later[1] + 1}", "Next month"),
            )
            + links((f"/calendar/week?start={year * 366 + month * 31}", "This week")),
        )
    )


async def week(request: Request) -> Response:
    """Endless by its query."""
    start = int(request.query_params.get("start", "0"))
    return HTMLResponse(
        page("Week", f"<p>Week of {start}</p>" + links((f"/calendar/week?start={start + 7}", "Next week")))
    )


async def day(request: Request) -> Response:
    return HTMLResponse(page("Day", "<p>Nothing on this day.</p>"))


async def shop(request: Request) -> Response:
    """Each link carries another session: in the path, behind a semicolon, in the query."""
    where = request.path_params["where"]
    body = {
        "shop": links(*((f"/session/{_session_id()}/{name}", name.title()) for name in ("maps", "ropes", "shop")),
                      (f"/tracked;jsessionid={_session_id().upper()}", "Tracked"), (f"/tracked?sid={_session_id()}", "Followed")),
    }.get(where, f"<p>All our {where}.</p>" + links((f"/session/{_session_id()}/shop", "Back to the shop")))  # fmt: skip
    return HTMLResponse(page(f"Session {where}", body))


async def tracked(request: Request) -> Response:
    return HTMLResponse(
        page(
            "Tracked",
            links(
                (f"/tracked?sid={_session_id()}", "Again"),
                (f"/tracked;jsessionid={_session_id().upper()}", "Once more"),
            ),
        )
    )


async def more_feed(request: Request) -> Response:
    after = int(request.query_params.get("after", "1"))
    return JSONResponse(list(range(after, after + 10)))


async def story(request: Request) -> Response:
    return HTMLResponse(page("Story", f"<article><p>Story {request.path_params['n']}</p></article>"))


async def slow_some(request: Request) -> Response:
    await asyncio.sleep(1.5)
    return HTMLResponse(page("A little slow", "<p>Here at last.</p>"))


async def never(request: Request) -> Response:
    """No answer while anybody waits."""
    for _ in range(NEVER_S):
        if await request.is_disconnected():
            break
        await asyncio.sleep(1)
    return PlainTextResponse("")


async def drip(request: Request) -> Response:
    """A page whose end never comes."""

    async def drops():
        yield page("Never ends", "<p>It goes on</p>").removesuffix("</body></html>")
        for _ in range(NEVER_S):
            await asyncio.sleep(1)
            yield "<p>and on</p>"

    return StreamingResponse(drops(), media_type="text/html")


async def broken_bytes(request: Request) -> Response:
    return Response(
        b"<title>Bytes \xff\xfe\x80</title><p>\xe4\xf6\xfc \x00 <a href='/broken'>Back</a>",
        media_type="text/html; charset=utf-8",
    )


async def empty(request: Request) -> Response:
    return Response(b"", media_type="text/html")


async def items(request: Request) -> Response:
    if request.query_params.get("do") == "remove":
        return _deleted(request, int(request.query_params.get("id", "0")), "by a query")
    if "add-to-cart" in request.query_params:
        _state(request).changes["added to the cart"] += 1
    return HTMLResponse(pages.items_page(_state(request).items))


async def item(request: Request) -> Response:
    if "_token" in request.query_params:
        _state(request).changes["acted by a token"] += 1
    return HTMLResponse(pages.item_page(int(request.path_params["n"])))


async def item_deed(request: Request) -> Response:
    """GET, one click, done."""
    number, deed = int(request.path_params["n"]), request.path_params["deed"]
    if deed == "delete":
        return _deleted(request, number, "by a path")
    _state(request).changes[f"{deed} by GET"] += 1
    return RedirectResponse("/items", 303)


def _deleted(request: Request, number: int, how: str) -> Response:
    state = _state(request)
    state.changes[f"deleted {how}"] += 1
    if number in state.items:
        state.items.remove(number)
    return RedirectResponse("/items", 303)


async def logout(request: Request) -> Response:
    state = _state(request)
    state.changes["signed out"] += 1
    state.signed_in.discard(request.cookies.get("who", ""))
    return RedirectResponse("/sign-in", 303)


async def account(request: Request) -> Response:
    if request.cookies.get("who") not in _state(request).signed_in:
        return RedirectResponse("/sign-in?next=/account", 303)
    where = request.path_params.get("where")
    if where is None:
        return HTMLResponse(pages.ACCOUNT)
    return HTMLResponse(page(f"Account {where}", links(("/account", "Back to the account"))))


async def honeypot(request: Request) -> Response:
    _state(request).seen["honeypot"] += 1
    return HTMLResponse(
        page("Honeypot", links(*((f"/honeypot/{_random_word()}", "More offers") for _ in range(5))))
    )


async def private(request: Request) -> Response:
    _state(request).seen["private"] += 1
    return HTMLResponse(page("Plans", links(("/private/more", "More plans"))))


async def soft_404(request: Request) -> Response:
    """Says 200, means 404, and offers more of the kind."""
    return HTMLResponse(
        page("Page not found", "<p>Sorry.</p>" + links((f"/nothing/{_random_word()}", "Perhaps here")))
    )


async def hang_up(request: Request) -> Response:
    """Says it is longer than it is: the connection ends in the middle of the answer."""

    async def half():
        yield b"<title>Half"

    return StreamingResponse(half(), media_type="text/html", headers={"content-length": "100000"})


async def loop(request: Request) -> Response:
    return RedirectResponse("/loop/b" if request.path_params["at"] == "a" else "/loop/a", 302)


async def many(request: Request) -> Response:
    return HTMLResponse(page("Many links", links(*((f"/many/{n}", f"Entry {n}") for n in range(MANY)))))


async def entry(request: Request) -> Response:
    return HTMLResponse(page("Entry", f"<p>Entry number {request.path_params['n']}</p>"))


async def download(request: Request) -> Response:
    name = request.path_params["name"]
    kinds = {"notes": "text/plain", "paper.pdf": "application/pdf"}
    named = {} if name == "notes" else {"content-disposition": f'attachment; filename="{name}"'}
    return Response(
        b"%PDF-1.4\n" + bytes(2_000), media_type=kinds.get(name, "application/octet-stream"), headers=named
    )


async def elsewhere(request: Request) -> Response:
    port = request.app.state.port
    other = f"http://localhost:{port}"
    body = links((f"{other}/elsewhere/there", "There"), (f"//localhost:{port}/elsewhere/there", "There, too"), ("/elsewhere/redirect", "Sent away"),
                 ("mailto:nobody@site.example", "Write"), ("tel:5550100", "Call"), ("data:text/html,x", "Data"), ("ftp://site.example/x", "Files"))  # fmt: skip
    return HTMLResponse(
        page(
            "Elsewhere",
            body + f'<button type="button" onclick="location=\'{other}/elsewhere/there\'">Go there</button>',
        )
    )


async def sent_away(request: Request) -> Response:
    return RedirectResponse(f"http://localhost:{request.app.state.port}/elsewhere/there", 302)


async def auto_self(request: Request) -> Response:
    return HTMLResponse(
        page("Comes back", f"<p>{_random_word()}</p>", head='<meta http-equiv="refresh" content="1">')
    )


async def worker(request: Request) -> Response:
    return Response(pages.WORKER, media_type="text/javascript")


async def hostile(request: Request) -> Response:
    name = request.path_params.get("name")
    if name is None:
        body = links(*((f"/hostile/{each}", title[:300]) for each, title in pages.HOSTILE_TITLES.items()))
        return HTMLResponse(page("Hostile", body))
    title = pages.HOSTILE_TITLES[name]
    return HTMLResponse(
        page(title, f'<button type="button" id="&quot;&gt;&lt;{name}" aria-label="{title[:500]}">x</button>')
    )


async def changing(request: Request) -> Response:
    """Other words, ids, classes and address of its links each time."""
    body = "".join(
        f'<div class="{_random_word()}" id="{_random_word()}"><a href="/restless/random?r={_random_word()}">{_random_word()}</a></div>'
        for _ in range(3)
    )
    return HTMLResponse(page("Different each time", body))


async def deeper(request: Request) -> Response:
    return HTMLResponse(page("Ever deeper", links(("deeper/", "Deeper"), ("./again/", "Again"))))


async def facets(request: Request) -> Response:
    given = dict(request.query_params)
    choices = [(key, value) for key in ("colour", "size", "kind", "sort") for value in ("a", "b", "c", "d")]
    offers = []
    for key, value in choices:
        chosen = given | {key: value}
        offers.append(
            ("/restless/facets?" + "&".join(f"{k}={v}" for k, v in sorted(chosen.items())), f"{key} {value}")
        )
    return HTMLResponse(page("Facets", links(*offers)))


async def search(request: Request) -> Response:
    words = request.query_params.get("q")
    if words is None:
        return HTMLResponse(pages.SEARCH)
    return HTMLResponse(page("Results", "<table><tr><th>Result</th></tr><tr><td>One</td></tr></table>"))


async def changed(request: Request) -> Response:
    return HTMLResponse(page("Changed", "<p>It is done.</p>"))


async def huge(request: Request) -> Response:
    return HTMLResponse(page("Huge", "".join(f"<p>Paragraph {n} {'word ' * 30}</p>" for n in range(20_000))))


async def robots(request: Request) -> Response:
    return PlainTextResponse("User-agent: *\nDisallow: /private/\n")


async def detour(request: Request) -> Response:
    """An innocent address that is sent on to one that is none."""
    _state(request).seen["detour"] += 1
    return RedirectResponse(pages.DETOURS_TO[request.path_params["name"]], 302)


async def detour_worker(request: Request) -> Response:
    return Response(pages.DETOUR_WORKER, media_type="text/javascript")


async def unseen(request: Request) -> Response:
    """A page that asks for things where nobody looks, and names rules for what is loaded ahead of time."""
    return HTMLResponse(pages.UNSEEN, headers={"speculation-rules": '"/ahead.json"'})


async def ahead(request: Request) -> Response:
    rules = {"prefetch": [{"source": "list", "eagerness": "immediate", "urls": ["/logout"]}]}
    return JSONResponse(rules, media_type="application/speculationrules+json")


async def socket(waiting: WebSocket) -> None:
    """Tells how often somebody came; whatever is said to it changes something."""
    state = waiting.app.state.traps
    await waiting.accept()
    state.seen["socket"] += 1
    await waiting.send_text("You are connected.")
    with suppress(WebSocketDisconnect):
        while True:
            said = json.loads(await waiting.receive_text())["kind"]
            state.changes[f"socket {said}"] += 1
            if said == "remove":
                await waiting.send_text("Removed.")


async def heard(waiting: WebSocket) -> None:
    """Answers the text `end` with all that was said, in its order."""
    await waiting.accept()
    said = list[str]()
    with suppress(WebSocketDisconnect):
        while not said or said[-1] != "end":
            message = await waiting.receive()
            if message["type"] == "websocket.disconnect":
                return
            said.append(message.get("text") or message["bytes"].decode("latin-1"))
        await waiting.send_json(said)


async def control_state(request: Request) -> Response:
    return JSONResponse(_state(request).as_json())


async def control_reset(request: Request) -> Response:
    vars(_state(request)).update(vars(State()))
    return JSONResponse({})


def _state(request: Request) -> State:
    return request.app.state.traps


def _client_page(body: str):
    return _fixed(body)


STATIC: dict[str, str] = {
    "/": pages.HOME, "/feed": pages.FEED, "/popups": pages.WINDOWS, "/popups/alerting": pages.ALERTING,
    "/popups/staying": pages.STAYING, "/popups/window": page("A window of its own", "<p>Opened.</p>"),
    "/popups/tab": page("A tab of its own", "<p>Opened.</p>"), "/slow": pages.SLOW, "/slow/style": pages.SLOW_STYLE,
    "/broken": pages.BROKEN, "/broken/tags": pages.BROKEN_TAGS, "/broken/ids": pages.BROKEN_IDS,
    "/broken/untitled": pages.BROKEN_UNTITLED, "/broken/nested": pages.BROKEN_NESTED, "/broken/deep": pages.BROKEN_DEEP,
    "/hash": pages.HASH, "/hidden": pages.HIDDEN, "/hidden/shown": page("Open offers", "<p>None.</p>"),
    "/items/new": pages.item_form("New item"), "/preferences": pages.PREFERENCES, "/innocent": pages.INNOCENT,
    "/errors": pages.ERRORS, "/downloads": pages.DOWNLOADS, "/frames": pages.FRAMES, "/frames/inner": pages.FRAME_INNER,
    "/frames/target": page("Out of the frame", "<p>Out.</p>"), "/automatic": pages.AUTOMATIC,
    "/automatic/led": page("Led", pages.links(("/automatic/loading", "Counts you"))),
    "/automatic/post": pages.AUTO_POST, "/automatic/get": pages.AUTO_GET, "/automatic/refresh": pages.AUTO_REFRESH,
    "/automatic/arrived": page("Moved on", "<p>Arrived.</p>"), "/automatic/loading": pages.AUTO_LOADING,
    "/automatic/worker": pages.AUTO_WORKER, "/automatic/closing": page("Closes itself", "<p>Bye.</p>", script="window.close()"),
    "/automatic/blank": page("Goes blank", "<p>Soon.</p>", script="location.replace('about:blank')"),
    "/restless": pages.RESTLESS, "/restless/ticking": pages.TICKING, "/restless/growing": pages.GROWING,
    "/restless/grown": page("Grown", "<p>One.</p>"), "/restless/pushing": pages.PUSHING, "/sign-in": pages.SIGN_IN,
    "/elsewhere/there": page("There", links(("/elsewhere/further", "Further"))), "/hard": pages.HARD, "/hard/hang": pages.HANG,
    "/detours": pages.DETOURS, "/sockets": pages.SOCKETS, "/hard/alerts": pages.ALERTS, "/hard/windows": pages.WINDOWS_FOR_EVER, "/hard/after": page("After all", "<p>Done.</p>"),
    "/named": page("Named", '<a href="/named/boat">A boat</a> <a href="/named/crew">The crew</a>'),
    "/named/boat": page("A boat", "<p>Heron</p><button>More</button><a href=/hard/after>After</a><script>history.replaceState(0, '', '/items/1/delete')</script>"),
    "/named/crew": page("The crew", "<p>Ada</p><button>More</button><script>history.replaceState(0, '', '/logout')</script>"),
}  # fmt: skip


def make_app(port: int) -> Starlette:
    """The site, listening at a port of 127.0.0.1; at `localhost` it is another origin."""
    state = State()
    routes = [
        Route("/__control/state", control_state), Route("/__control/reset", control_reset, methods=["POST"]),
        Route("/robots.txt", robots), Route("/calendar/week", week),
        Route("/calendar/{year:int}/{month:int}", calendar), Route("/calendar/{year:int}/{month:int}/{day:int}", day),
        Route("/session/{sid}/{where}", shop), Route("/feed/more", more_feed), Route("/feed/story/{n:int}", story),
        Route("/slow/some", slow_some), Route("/slow/never", never), Route("/slow/never.css", never), Route("/slow/drip", drip),
        Route("/broken/bytes", broken_bytes), Route("/broken/empty", empty), Route("/app", _client_page(pages.APP)),
        Route("/app/{rest:path}", _client_page(pages.APP)), Route("/items", items), Route("/shop", items),
        Route("/items/{n:int}", item), Route("/items/{n:int}/edit", _fixed(pages.item_form("Edit item"))),
        Route("/items/{n:int}/history/", _fixed(page("Item history", "<ol><li>Made</li></ol>"))),
        Route("/items/{n:int}/{deed}", item_deed), Route("/logout", logout), Route("/account", account),
        Route("/account/{where}", account), Route("/honeypot/{name}", honeypot), Route("/private/{name}", private),
        Route("/errors/500", _fixed(page("Fault", "<p>Something went wrong.</p>"), 500)),
        Route("/errors/gone", _fixed(page("Gone", "<p>Gone for good.</p>"), 410)), Route("/errors/soft", soft_404),
        Route("/nothing/{name}", soft_404), Route("/errors/reset", hang_up), Route("/loop/{at}", loop),
        Route("/redirect/items", lambda _request: RedirectResponse("/items", 302)), Route("/many", many),
        Route("/many/{n:int}", entry), Route("/downloads/{name}", download), Route("/elsewhere", elsewhere),
        Route("/elsewhere/redirect", sent_away), Route("/automatic/self", auto_self), Route("/worker.js", worker),
        Route("/hostile", hostile), Route("/hostile/{name}", hostile), Route("/restless/random", changing),
        Route("/restless/deep/{rest:path}", deeper), Route("/restless/facets", facets), Route("/search", search),
        Route("/hard/huge", huge), Route("/detour/{name}", detour), Route("/detour-worker.js", detour_worker),
        Route("/unseen", unseen), Route("/unseen/led", _fixed(page("Led", links(("/unseen", "On"))))), Route("/ahead.json", ahead),
        WebSocketRoute("/socket", socket), WebSocketRoute("/heard", heard), Route("/{name:path}", _named(), methods=["GET", "POST", "PUT", "DELETE", "PATCH"]),
    ]  # fmt: skip
    app = Starlette(routes=routes, middleware=[Middleware(Counting, state=state, port=port)])
    app.state.traps, app.state.port = state, port
    return app


def _named():
    async def answer(request: Request) -> Response:
        if request.method != "GET":
            return await changed(request)
        if re.fullmatch(r"/tracked(?:;.*)?", request.url.path):
            return await tracked(request)
        body = STATIC.get(request.url.path)
        return HTMLResponse(
            body if body is not None else page("Nothing here", "<p>404</p>"), 200 if body is not None else 404
        )

    return answer
