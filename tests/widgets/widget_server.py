"""Serves the pages of the widgets: `/LIBRARY/WIDGET` shows one, built with esbuild from `pages/`; `/` is an empty page."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.foreign_sites import TOOLS

FOLDER = TOOLS / "widgets"
"""What `make setup-widgets` installed."""
PAGES = Path(__file__).with_name("pages")
ESBUILD = FOLDER / "node_modules" / "esbuild" / "bin" / "esbuild"
_KINDS = {".js": "text/javascript", ".css": "text/css"}
_EMBEDDED = (".ttf", ".woff", ".woff2", ".eot", ".svg")


def is_installed() -> bool:
    """Whether the libraries are there."""
    return ESBUILD.is_file()


def build_pages() -> Path:
    """Return the folder with the built pages; builds them if they changed."""
    sources = sorted(PAGES.iterdir())
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    built = FOLDER / f"built-{digest}"
    if built.is_dir():
        return built
    making = FOLDER / f"making-{os.getpid()}"
    subprocess.run(
        [
            "node", str(ESBUILD), *map(str, sources), "--bundle", "--minify", "--format=iife", "--jsx=automatic",
            '--define:process.env.NODE_ENV="production"', *(f"--loader:{each}=dataurl" for each in _EMBEDDED),
            f"--outdir={making}", "--log-level=error",
        ],
        check=True, env={**os.environ, "NODE_PATH": str(FOLDER / "node_modules")},
    )  # fmt: skip
    if not built.is_dir():
        making.rename(built)
    return built


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    built: Path
    kept: dict[str, Any]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path).path.strip("/").split("/")
        if parts[0] == "built":
            file = self.built / parts[1]
            self._send(200, file.read_bytes(), _KINDS[file.suffix])
        elif len(parts) == 2 and (self.built / f"{parts[0]}.js").is_file():
            self._send(200, self._page(*parts).encode(), "text/html; charset=utf-8")
        elif parts == [""]:
            self._send(
                200, b"<!doctype html><title>Widgets</title><h1>Widgets</h1>", "text/html; charset=utf-8"
            )
        else:
            self._send(204, b"", "text/plain")

    def do_POST(self) -> None:
        self.kept.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._send(204, b"", "text/plain")

    def _page(self, library: str, widget: str) -> str:
        styles = f'<link rel="stylesheet" href="/built/{library}.css">'
        style = styles if (self.built / f"{library}.css").is_file() else ""
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{widget}</title>{style}</head>'
            f'<body><h1>{widget}</h1><div id="root"></div><script src="/built/{library}.js"></script></body></html>'
        )

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve_widgets() -> Iterator[tuple[str, dict[str, Any]]]:
    """Serve on a free port of this machine; yields the address, and the state that pages tell with `?tell`."""
    kept: dict[str, Any] = {}
    handler = type("Handler", (_Handler,), {"built": build_pages(), "kept": kept})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", kept
    finally:
        server.shutdown()
        server.server_close()
