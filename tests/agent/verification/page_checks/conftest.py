"""Small pages of our own under verification, served on a loopback port."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.async_api import Browser

from agent.verification.page_checks import VerificationPage, VerificationTimeouts, open_verification_page
from kb_schema.action_types import canonical
from kb_schema.expected_outcomes import element_and_region, parse_outcomes
from kb_schema.verification import Requirement, RequirementStep

HASTY = VerificationTimeouts(
    find_s=1.0, gate_s=1.0, outcome_s=1.0, late_s=0.4, same_page_s=0.2, late_pending_s=3.0
)


def requirement(*steps: str, url: str = "/", req_id: str = "req") -> Requirement:
    """`Element@Region | action | value | outcomes`, as PACTS 4.1 writes them."""
    return Requirement(req_id=req_id, url=url, steps=tuple(map(intent, steps)))


def intent(line: str) -> RequirementStep:
    said, action, value, expected = (*(each.strip() for each in line.split("|")), "", "", "")[:4]
    element, region = element_and_region(said) if said else ("", None)
    return RequirementStep(
        intent=said, element=element, region=region, action=canonical(action) or action,
        typed=action == "type", value=value or None, expected=parse_outcomes(expected),
    )  # fmt: skip


class Site:
    """Pages by path; what is not there is 404."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.status: dict[str, int] = {}
        self.base = ""

    def page(self, path: str, body: str, *, title: str = "A page", status: int = 200) -> None:
        self.pages[path] = (
            f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"
        )
        self.status[path] = status


@pytest.fixture
def site() -> Iterator[Site]:
    pages = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            body = pages.pages.get(path, "nothing here").encode()
            self.send_response(pages.status.get(path, 404))
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pages.base = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield pages
    server.shutdown()
    server.server_close()


@pytest.fixture
def open_site_page(
    browser: Browser, site: Site
) -> Callable[..., AbstractAsyncContextManager[VerificationPage]]:
    def opened(**settings: Any) -> AbstractAsyncContextManager[VerificationPage]:
        given = {"base_url": site.base, "unique": "u7k2qx"} | settings
        return open_verification_page(browser, **given)

    return opened
