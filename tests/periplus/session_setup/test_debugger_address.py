"""A debugging endpoint on this machine leads to a browser on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from periplus.errors import UserError
from periplus.session_setup import BrowserOptions, start_browser
from periplus.session_setup.debugger_address import find_debugger_address

Answered = Callable[..., tuple[str, list[str]]]
ELSEWHERE = "ws://cdp.example:9222/devtools/browser/x"


@pytest.fixture
def endpoint() -> Iterator[Answered]:
    """Starts an endpoint with one answer; its address, and the paths that it was asked for."""
    with ExitStack() as stack:

        def start(body: str, status: int = 200, location: str = "") -> tuple[str, list[str]]:
            asked: list[str] = []

            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    asked.append(self.path)
                    self.send_response(status)
                    if location:
                        self.send_header("Location", location)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body.encode())

                def log_message(self, *_: Any) -> None:
                    pass

            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}", asked

        yield start


def _version(address: object) -> str:
    return json.dumps({"Browser": "Chrome/1", "webSocketDebuggerUrl": address})


async def test_an_endpoint_that_leads_to_another_machine_is_refused_before_anything_is_connected(endpoint):
    here, asked = endpoint(_version(ELSEWHERE))
    with pytest.raises(UserError, match=r"leads to cdp\.example, which is another machine") as refused:
        async with start_browser(options=BrowserOptions(cdp_endpoint=here)):
            pass
    assert "--allow-remote-cdp" in refused.value.fix
    assert asked == ["/json/version/"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (("nothing",), "not JSON"),
        ((_version(None),), "names no WebSocket address"),
        ((_version("http://127.0.0.1:9222/x"),), "names no WebSocket address"),
        ((_version("ws://[::1"),), "names no WebSocket address"),
        (("[]",), "names no WebSocket address"),
        (("", 404), "Not Found"),
        (("", 302, "http://cdp.example:9222/json/version/"), "Found"),
    ],
)
async def test_an_endpoint_that_is_no_browser_is_one_error(answer, said, endpoint):
    here, asked = endpoint(*answer)
    with pytest.raises(UserError, match=f"no browser answers at {here}: .*{said}"):
        await find_debugger_address(here, allow_remote=False)
    assert asked == ["/json/version/"]


async def test_the_address_that_was_judged_is_the_one_that_is_used(endpoint):
    own = "ws://localhost:9222/devtools/browser/x"
    here, asked = endpoint(_version(own))
    assert await find_debugger_address(f"{here}/", allow_remote=False) == own
    assert await find_debugger_address(here, allow_remote=True) == here
    assert await find_debugger_address("ws://127.0.0.1:9222/x", allow_remote=False) == "ws://127.0.0.1:9222/x"
    assert asked == ["/json/version/"]
