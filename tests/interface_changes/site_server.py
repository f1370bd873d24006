"""Serves one site at a time, as its model says, and keeps a journal of what was done.

Every visitor (a cookie) has entries of their own. Plain, Bootstrap, Tailwind and HTMX pages are rendered here;
the others get the model as JSON and `client.js` renders it.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.interface_changes.server_pages import build_page
from tests.interface_changes.site_models import SiteModel
from tests.support.foreign_sites import TOOLS

LIBRARIES = TOOLS / "interface-changes" / "node_modules"
"""What `make setup-changes` installed."""
SCRIPTS = {
    "plain": (),
    "bootstrap": ("bootstrap/dist/css/bootstrap.min.css",),
    "tailwind": ("@tailwindcss/browser/dist/index.global.js",),
    "htmx": ("htmx.org/dist/htmx.min.js",),
    "react": ("react/umd/react.production.min.js", "react-dom/umd/react-dom.production.min.js"),
    "vue": ("vue/dist/vue.global.prod.js",),
    "mui": (
        "react/umd/react.production.min.js",
        "react-dom/umd/react-dom.production.min.js",
        "@mui/material/umd/material-ui.production.min.js",
    ),
    "antd": (
        "react/umd/react.production.min.js",
        "react-dom/umd/react-dom.production.min.js",
        "dayjs/dayjs.min.js",
        "antd/dist/antd.min.js",
    ),
}
"""The files that each make loads, in their order."""
CLIENT = Path(__file__).with_name("client.js")
_FAILED, _REFUSED = 500, 422
_KINDS = {".js": "text/javascript", ".css": "text/css"}


def is_installed(make: str) -> bool:
    """Whether the libraries of this make are there."""
    return all((LIBRARIES / each).is_file() for each in SCRIPTS[make])


@dataclass
class Visit:
    """What one visitor sees."""

    rows: list[dict[str, Any]]
    message: str = ""
    refused: str = ""


@dataclass
class ShownSite:
    """The site that is served now."""

    base: str = ""
    model: SiteModel | None = None
    journal: list[list[str]] = field(default_factory=list)
    visits: dict[str, Visit] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def show(self, model: SiteModel) -> None:
        """Serve this model; all visitors and the journal are forgotten."""
        self.model, self.journal, self.visits = deepcopy(model), [], {}

    def visit(self, key: str) -> Visit:
        """Return what the visitor sees, new ones the entries of the model."""
        assert self.model is not None
        if key not in self.visits:
            rows = [{"id": n, "name": a, "kind": b} for n, (a, b) in enumerate(self.model.rows, 1)]
            self.visits[key] = Visit(rows)
        return self.visits[key]

    def do(self, key: str, act: str, said: dict[str, str]) -> int:
        """Do one act of a visitor; return the HTTP status."""
        assert self.model is not None
        model, visit = self.model, self.visit(key)
        if act == "create":
            return self._create(model, visit, said)
        if act == "delete_all":
            self.journal.append(["delete_all"])
            visit.rows.clear()
            return 200
        at = next((n for n, each in enumerate(visit.rows) if str(each["id"]) == said.get("row")), None)
        if at is None:
            return 404
        if act == "act" and "act_500" in model.bugs:
            return _FAILED
        if "wrong_row" in model.bugs and act == "act":
            at = (at + 1) % len(visit.rows)
        name = visit.rows[at]["name"]
        self.journal.append([act, name])
        if act == "act":
            visit.message = model.acted.format(name=name)
        elif act in ("remove", "archive"):
            del visit.rows[at]
            visit.message = model.removed.format(name=name) if act == "remove" else f"{name} is archived"
        else:
            visit.message = f"{act} {name}"
        return 200

    def _create(self, model: SiteModel, visit: Visit, said: dict[str, str]) -> int:
        if "server_500" in model.bugs:
            return _FAILED
        name, kind = said.get("name", "").strip(), said.get("kind", "")
        if not name and "validation_gone" not in model.bugs:
            visit.refused = model.refused
            return _REFUSED
        if "choice_wrong" in model.bugs:
            kind = model.options[0][0]
        urgent = bool(said.get("urgent")) and "tick_lost" not in model.bugs
        self.journal.append(["create", name, kind, str(urgent), said.get("note", "")])
        if "stale_list" not in model.bugs:
            visit.rows.append({"id": next(self.numbers) + 100, "name": name, "kind": kind})
        if "no_message" not in model.bugs:
            shown = name[::-1].capitalize() if "value_wrong" in model.bugs else name
            words = next((each[1] for each in model.options if each[0] == kind), "")
            mark = f", {model.urgent_word}" if urgent else ""
            visit.message = model.created.format(name=shown, kind=words.removesuffix(" (usual)"), urgent=mark)
        return 200


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    shown: ShownSite

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/favicon.ico":
            self._send(204, b"", "image/x-icon")
        elif address.path.startswith("/lib/"):
            file = LIBRARIES / address.path.removeprefix("/lib/")
            self._send(200, file.read_bytes(), _KINDS[file.suffix])
        elif address.path == "/client.js":
            self._send(200, CLIENT.read_bytes(), "text/javascript")
        else:
            self._page(address.path, parse_qs(address.query).get("q", [""])[0])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        is_api = self.path.startswith("/api/")
        said = json.loads(body) if is_api else {key: each[0] for key, each in parse_qs(body).items()}
        model = self.shown.model
        assert model is not None
        if not is_api:  # names of fields change; what they mean does not
            said |= {key: said[part.name] for key, part in model.parts.items() if part.name in said}
        act = self.path.rpartition("/")[2]
        status = self.shown.do(self._visitor(), act, said)
        back = act == "create" and (status == _REFUSED or "wrong_redirect" in model.bugs)
        if status == _FAILED:
            self._send(_FAILED, b"<h1>Internal Server Error</h1>", "text/html")
        elif is_api:
            self._send(200, json.dumps(self._state()).encode(), "application/json")
        elif model.make == "htmx":
            self._page("/form" if back else "/", "")
        else:
            self.send_response(303)
            self.send_header("Location", "/new" if back else "/")
            self._end(b"")

    def _state(self) -> dict[str, Any]:
        visit = self.shown.visit(self._visitor())
        message, refused, visit.message, visit.refused = visit.message, visit.refused, "", ""
        return {"rows": visit.rows, "message": message, "refused": refused}

    def _page(self, path: str, wanted: str) -> None:
        model = self.shown.model
        assert model is not None
        links = [f"/lib/{each}" for each in SCRIPTS[model.make]]
        page = build_page(model, path, wanted, self._state(), links)
        self._send(200, page.encode(), "text/html; charset=utf-8")

    def _visitor(self) -> str:
        cookie = SimpleCookie(self.headers.get("Cookie", "")).get("visitor")
        if cookie is not None:
            return cookie.value
        if not hasattr(self, "_new"):
            self._new = str(next(self.shown.numbers))
        return self._new

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self._end(body)

    def _end(self, body: bytes) -> None:
        if hasattr(self, "_new"):
            self.send_header("Set-Cookie", f"visitor={self._new}; Path=/")
            del self._new
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve_site() -> Iterator[ShownSite]:
    """Serve on a free port of this machine; what is shown is set by `show`."""
    shown = ShownSite()
    handler = type("Handler", (_Handler,), {"shown": shown})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    shown.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield shown
    finally:
        server.shutdown()
        server.server_close()
