"""A tiny site that has nothing to do with the seeds: boats in a harbour. For tests of the chain."""

from __future__ import annotations

import argparse
import asyncio
import html
import socket
import sys
import threading

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

boats: list[dict[str, str]] = []
counts = {"created": 0, "removed": 0}
gate, at_the_gate = asyncio.Event(), asyncio.Event()
gate.set()


def page(title: str, body: str) -> HTMLResponse:
    return HTMLResponse(
        f"<!doctype html><html lang=en><title>{title} - Harbour</title>"
        "<body style='font-family:sans-serif;margin:2rem'>"
        f"<nav><a id=home href=/quay>Quay</a> <a id=add href=/boats/new>Register a boat</a> "
        f"<a id=fog href=/fog>Fog</a></nav><h1>{title}</h1>{body}</body></html>"
    )


async def root(_: Request) -> Response:
    return RedirectResponse("/quay")


async def quay(request: Request) -> Response:
    told = "<p role=status class=note>Boat registered</p>" if request.query_params.get("new") else ""
    rows = "".join(
        f"<tr class=boat data-boat={i}><td class=name>{html.escape(b['name'])}</td>"
        f"<td class=length>{html.escape(b['length'])}</td>"
        f"<td><form method=post action=/boats/{i}/remove><button>Cast off</button></form></td></tr>"
        for i, b in enumerate(boats)
    )
    return page("Quay", f"{told}<table id=boats>{rows}</table><p>{len(boats)} boats moored</p>")


async def new(request: Request) -> Response:
    problem = ""
    if request.method == "POST":
        form = await request.form()
        at_the_gate.set()
        await gate.wait()
        name, length = str(form["name"]).strip(), str(form["length"]).strip()
        if name:
            boats.append({"name": name, "length": length})
            counts["created"] += 1
            return RedirectResponse("/quay?new=1", status_code=303)
        problem = "<p role=alert>A boat needs a name</p>"
    return page(
        "New boat",
        f"{problem}<form method=post><label for=name>Boat name</label><input id=name name=name>"
        "<label>Length <select name=length><option value=6>6 m</option><option value=12>12 m</option>"
        "</select></label><button id=moor>Moor</button></form>",
    )


async def remove(request: Request) -> Response:
    index = int(request.path_params["index"])
    if index < len(boats):
        del boats[index]
        counts["removed"] += 1
    return RedirectResponse("/quay", status_code=303)


async def close_gate(_: Request) -> Response:
    """From now on boats wait outside, to be registered once the gate is open."""
    gate.clear()
    at_the_gate.clear()
    return Response()


async def open_gate(_: Request) -> Response:
    gate.set()
    return Response()


async def wait_at_gate(_: Request) -> Response:
    """Answers once a boat is at the gate."""
    await at_the_gate.wait()
    return Response()


async def fog(_: Request) -> Response:
    return HTMLResponse("<!doctype html><title>?</title><p>Nothing to see.</p>")


async def state(_: Request) -> Response:
    return JSONResponse({"boats": boats, **counts})


app = Starlette(
    routes=[
        Route("/", root),
        Route("/quay", quay),
        Route("/boats/new", new, methods=["GET", "POST"]),
        Route("/boats/{index}/remove", remove, methods=["POST"]),
        Route("/gate/close", close_gate),
        Route("/gate/open", open_gate),
        Route("/gate/wait", wait_at_gate),
        Route("/fog", fog),
        Route("/state", state),
    ]
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--exit-with-stdin", action="store_true")
    arguments = parser.parse_args()
    listener = socket.socket()
    listener.bind(("127.0.0.1", arguments.port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))

    def watch() -> None:
        sys.stdin.read()
        server.should_exit = True

    if arguments.exit_with_stdin:
        threading.Thread(target=watch, daemon=True).start()
    listener.listen()
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)  # noqa: T201 - how a site tells its address
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
