"""Small sites over HTTP, in this process: a function answers each request. Needs nothing of Periplus."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    form: Mapping[str, str]


@dataclass(frozen=True)
class Answered:
    """HTML or what `kind` says, or a redirect to `location`."""

    html: str = ""
    status: int = 200
    location: str | None = None
    kind: str = "text/html"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class RunningSite:
    """The address, and every request that was no GET."""

    base: str = ""
    writes: list[Asked] = field(default_factory=list)


@contextmanager
def running_site(answer: Callable[[Asked], Answered]) -> Iterator[RunningSite]:
    """Serve what `answer` makes of each request."""
    site = RunningSite()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            """Nothing."""

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            form = dict(parse_qsl(body, keep_blank_values=True))
            asked = Asked(self.command, parts.path, dict(parse_qsl(parts.query)), form)
            if self.command != "GET":
                site.writes.append(asked)
            made = answer(asked) if parts.path != "/favicon.ico" else Answered(status=404)
            told = made.html.encode()
            self.send_response(303 if made.location else made.status)
            if made.location:
                self.send_header("Location", made.location)
            self.send_header("Content-Type", f"{made.kind}; charset=utf-8")
            for name, value in made.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        do_GET = do_POST = _answer  # noqa: N815 - the names that http.server calls

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    site.base = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
