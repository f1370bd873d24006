"""The loopback ArangoDB: a real HTTP server on 127.0.0.1, and what can be made to go wrong with it."""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from tests.support.arango_loopback.api import Request, Server

USER, PASSWORD = "root", "pass/word:@é"

Trouble = Literal["conflict", "conflict within", "unavailable", "lost before", "lost after"]
"""1200 without effect, as the answer or as that to one document of many; 503 without effect; the
connection lost before or after the effect.
"""


@dataclass
class Fault:
    """Goes wrong with the next `times` requests that match."""

    trouble: Trouble
    matches: Callable[[Request], bool]
    times: int
    after: int = 0
    """Matching requests that are left alone first."""
    struck: int = 0


class Loopback:
    """A running server: its address, its state, what it was asked, and its faults."""

    def __init__(self) -> None:
        self.server = Server()
        self.requests: list[Request] = []
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def url(self, database: str = "periplus", *, user: str = USER, password: str = PASSWORD) -> str:
        """The address as `PERIPLUS_ARANGODB_URL` has it."""
        return f"http://{quote(user, safe='')}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def fail(self, trouble: Trouble, method: str, path: str, *, times: int = 1, after: int = 0) -> Fault:
        """Let the next requests of this method whose path matches go wrong."""
        pattern = re.compile(path)
        return self.fail_where(
            trouble,
            lambda asked: asked.method == method and pattern.fullmatch(asked.path) is not None,
            times=times,
            after=after,
        )

    def fail_where(
        self, trouble: Trouble, matches: Callable[[Request], bool], *, times: int = 1, after: int = 0
    ) -> Fault:
        """Let the next requests that match go wrong."""
        fault = Fault(trouble, matches, times, after)
        self._faults.append(fault)
        return fault

    def heal(self) -> None:
        """No more faults."""
        self._faults.clear()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def trouble_for(self, request: Request) -> Trouble | None:
        """Note a request, and whether it is to go wrong."""
        with self._lock:
            self.requests.append(request)
            for fault in self._faults:
                if fault.struck < fault.times and fault.matches(request):
                    if fault.after > 0:
                        fault.after -= 1
                        continue
                    fault.struck += 1
                    return fault.trouble
        return None


@contextmanager
def loopback() -> Iterator[Loopback]:
    """A server for one test, which fails where it was asked anything that is not documented."""
    running = Loopback()
    try:
        yield running
        assert running.server.violations == []
    finally:
        running.close()


def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _handler_of(owner: Loopback) -> type[BaseHTTPRequestHandler]:
    expected = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the standard library's name
            pass

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Authorization") != expected:
                self._reply(401, _told(401, 11, "not authorized"))
                return
            parts = urlsplit(self.path)
            match = re.fullmatch(r"(?:/_db/([^/]+))?(/_api/.*)", parts.path)
            if match is None:
                self._reply(404, _told(404, 404, "unknown path"))
                owner.server.violations.append(f"{self.command} {self.path}")
                return
            request = Request(
                method=self.command,
                database=unquote(match[1] or "_system"),
                path=match[2],
                parameters=dict(parse_qsl(parts.query, keep_blank_values=True)),
                body=json.loads(raw) if raw else None,
                transaction=self.headers.get("x-arango-trx-id"),
            )
            self._answer(request)

        def _answer(self, request: Request) -> None:
            trouble = owner.trouble_for(request)
            if trouble == "conflict":
                self._reply(409, _told(409, 1200, "write-write conflict"))
            elif trouble == "conflict within":
                self._reply(202, [_told(409, 1200, "write-write conflict")] * len(request.body))
            elif trouble == "unavailable":
                self._reply(503, _told(503, 503, "service unavailable"))
            elif trouble == "lost before":
                self._hang_up()
            else:
                status, body = owner.server.answer(request)
                self._hang_up() if trouble == "lost after" else self._reply(status, body)

        def _hang_up(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def _reply(self, status: int, body: Any) -> None:
            content = json.dumps(body, ensure_ascii=False).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _serve  # noqa: N815 - its names

    return Handler


def _told(status: int, number: int, message: str) -> dict[str, Any]:
    return {"error": True, "code": status, "errorNum": number, "errorMessage": message}
