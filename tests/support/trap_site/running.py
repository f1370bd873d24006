"""Starts the trap site for tests, and asks it what was changed."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import StorageState, StorageStateCookie


@dataclass(frozen=True)
class TrapSite:
    """The running site."""

    url: str

    def state(self) -> dict[str, Any]:
        """Everything it counted: `changes`, `seen`, `items`, `signed_in`, `requests`."""
        with urllib.request.urlopen(f"{self.url}/__control/state", timeout=20) as answer:
            return json.load(answer)

    def reset(self) -> None:
        """As it was at the beginning."""
        urllib.request.urlopen(f"{self.url}/__control/reset", b"", timeout=20).close()

    @property
    def session(self) -> StorageState:
        """A storage state that is signed in."""
        return {"cookies": [_cookie("who", "tester")], "origins": []}

    @property
    def short_session(self) -> StorageState:
        """The same, for pages without the menu: they lead only to where they lead themselves."""
        return {"cookies": [_cookie("who", "tester"), _cookie("menu", "no")], "origins": []}


def _cookie(name: str, value: str) -> StorageStateCookie:
    return {
        "name": name, "value": value, "domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": True, "secure": False,
        "sameSite": "Lax",
    }  # fmt: skip


@contextmanager
def trap_site() -> Iterator[TrapSite]:
    """A site of one's own; it ends with us."""
    process = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("serve.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield TrapSite(process.stdout.readline().removeprefix("listening on ").strip())
    finally:
        process.stdin.close()
        process.wait(timeout=20)
