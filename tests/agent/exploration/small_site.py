"""A site of a few pages for the explorer's tests, written in the test that asks for it; counts what it was asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kb_schema.explorations import Exploration, MapLimits


@dataclass(frozen=True)
class Answer:
    """One answer of the site."""

    body: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Page = str | Answer | Callable[[str, str], "str | Answer"]
"""HTML, an answer, or what makes one of the whole path and the cookies."""


@dataclass
class SmallSite:
    """The running site."""

    url: str
    pages: dict[str, Page]
    asked: Counter[str] = field(default_factory=Counter)
    """`METHOD path`, without the query."""
    bodies: dict[str, set[str]] = field(default_factory=dict)
    """By the same: what was sent with it, bytes that are no UTF-8 as `surrogateescape` keeps them."""

    def wanted(self, **limits: Any) -> Exploration:
        """An exploration of it from `/`, quick."""
        more = {name: limits.pop(name) for name in ("allowed", "robots", "starts", "hints") if name in limits}
        return Exploration.model_validate(
            {
                "website_id": "small",
                "base_url": self.url,
                "starts": (f"{self.url}/",),
                "origins": (self.url,),
                "limits": MapLimits(**{"per_second": 100.0, "seconds": 400.0, "page_s": 5.0} | limits),
                "started_at": datetime.now(UTC),
            }
            | more
        )


@contextmanager
def small_site(pages: Mapping[str, Page]) -> Iterator[SmallSite]:
    """Serve pages by their path; `*` is for all others."""
    site = SmallSite("", dict(pages))

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            """Nothing."""

        def _answer(self) -> None:
            path = self.path.partition("?")[0]
            site.asked[f"{self.command} {path}"] += 1
            length = int(self.headers.get("Content-Length") or 0)
            if length:
                sent = self.rfile.read(length).decode("utf-8", "surrogateescape")
                site.bodies.setdefault(f"{self.command} {path}", set()).add(sent)
            page = site.pages.get(path, site.pages.get("*", Answer("<h1>Not found</h1>", 404)))
            made = page(self.path, self.headers.get("Cookie", "")) if callable(page) else page
            answer = Answer(made) if isinstance(made, str) else made
            body = answer.body.encode()
            self.send_response(answer.status)
            told = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))} | dict(
                answer.headers
            )
            for name, value in told.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer  # noqa: N815 - the handler's names

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A browser may hang up."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


def html(title: str, body: str) -> str:
    """A page."""
    return f"<!doctype html><html lang=en><title>{title}</title><main><h1>{title}</h1>{body}</main></html>"
