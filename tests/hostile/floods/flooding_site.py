"""A site of pages that flood (`floods.yaml`): lines, messages, requests, downloads, memory without end. Of this machine only."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

FLOODS: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("floods.yaml").read_text())
PAGES = FLOODS["pages"]
ENDLESS_S = 120.0
"""After which an answer without end ends."""
_LINE = b"\x81\x7e\x07\xd0" + b"x" * 2_000
"""A message of a web socket (RFC 6455): text of 2,000 bytes, without a mask."""
_PAGE = """<!doctype html><title>{name}</title><body><h1>{name}</h1><button id=go>Go</button>
<button id=next onclick="document.getElementById('o').textContent = 'Done'">Next</button><p id=o role=status></p>
<a href=/load/plain>More</a><script>
function frame(url) {{ const f = document.createElement('iframe'); if (url) f.src = url; document.body.append(f); return f }}
function flood() {{ {script} }}
{start}</script>"""
_START = {"load": "flood()", "click": "document.getElementById('go').onclick = flood"}


@contextmanager
def flooding_site() -> Iterator[str]:
    """Serve the pages while the block runs; yield the address."""
    with _serving() as other, _serving(other) as base:
        yield base


@contextmanager
def _serving(other: str = "") -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"other": other}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{'127.0.0.1' if other else 'localhost'}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    other = ""

    def log_message(self, *_args: Any) -> None:
        """Nothing."""

    def handle(self) -> None:
        """Answer until the page is gone."""
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._send("ok")

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        folder, _, name = path[1:].partition("/")
        if path == "/ws":
            self._socket(query)
        elif path == "/endless.bin":
            self._endless(
                "application/octet-stream",
                b"x" * 65_536,
                **{"Content-Disposition": "attachment; filename=x.bin"},
            )
        elif path == "/sse":
            self._endless("text/event-stream", b"data: " + b"x" * 2_000 + b"\n\n")
        elif folder == "js":
            self._send(FLOODS["workers"].get(name, ""), "text/javascript")
        elif folder == "frame":
            self._send(
                f"<!doctype html><title>frame</title><p>frame<script>{FLOODS['frames'].get(name, '')}</script>"
            )
        else:
            script = PAGES.get(name, "").replace("{other}", self.other)
            start = _START.get(folder, "")
            self._send(_PAGE.format(name=escape(name or "home"), script=script, start=start))

    def _send(self, text: str, kind: str = "text/html") -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Service-Worker-Allowed", "/")
        self.end_headers()
        self.wfile.write(body)

    def _endless(self, kind: str, part: bytes, **headers: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        for header, value in headers.items():
            self.send_header(header, value)
        self.end_headers()
        self.close_connection = True
        self._write_until_over(part)

    def _socket(self, query: str) -> None:
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header(
            "Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        )
        self.end_headers()
        self.close_connection = True
        if query == "flood":
            self._write_until_over(_LINE * 20)
        elif query != "close":
            while self.rfile.read(65_536):
                pass

    def _write_until_over(self, part: bytes) -> None:
        end = time.monotonic() + ENDLESS_S
        while time.monotonic() < end:
            self.wfile.write(part)
