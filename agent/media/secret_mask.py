"""Covers secrets on a filmed page (`secret_mask.js`): in fields as discs, elsewhere painted over.

The script runs in an isolated world, so that a page that hooks its own functions never sees a secret it was
not given. It only changes what is painted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from agent.page import in_page_library
from agent.page.errors import PageGone, ScriptFailed
from agent.page.page_watchdog import read_end_reason
from agent.redaction import Secrets
from kb_schema.selectors import Selector

WORLD = "periplus-veil"
INSTALL_S = 10.0
"""How long a page may take to be covered. A renderer that was ended answers the browser's protocol never."""


@cache
def _source() -> str:
    return (Path(__file__).parent / "secret_mask.js").read_text(encoding="utf-8")


class SecretMask:
    """Masks one page, its same-site frames, and every document it will load."""

    def __init__(self, page: Page, secrets: Secrets) -> None:
        self._page, self._secrets = page, secrets
        self._covered: tuple[str, ...] = ()
        self._drawn: dict[str, Any] | None = None
        self._session: CDPSession | None = None
        self._script: str | None = None
        self._version = 0

    async def draw(self, selector: Selector | None = None) -> None:
        """Cover the known secrets, and the selector's field before it is filled.

        Raises `PageGone`, also for a page that was ended, and `ScriptFailed` if it cannot be covered: then nothing may
        be typed.
        """
        ended = read_end_reason(self._page)
        if ended is not None:
            raise PageGone(self._page.url, ended)
        if selector is not None:
            rules = await in_page_library.call(self._page, "coverRules", selector.model_dump_json())
            self._covered = tuple(dict.fromkeys([*self._covered, *rules]))
        wanted = {
            "secrets": sorted(self._secrets.values),
            "disguises": list(self._secrets.disguises.forms),
            "covered": list(self._covered),
        }
        if wanted == self._drawn or not any(wanted.values()):
            return
        self._version += 1
        source = f"({_source()})({json.dumps({**wanted, 'version': self._version})})"
        try:
            async with asyncio.timeout(INSTALL_S):
                drawn = await self._install(source)
        except TimeoutError as exc:
            raise ScriptFailed(
                self._page.url, f"could not cover the secrets on the page within {INSTALL_S:.0f} s"
            ) from exc
        except PlaywrightError as exc:
            # The browser's message may contain the script, which contains the secrets.
            raise ScriptFailed(
                self._page.url, "could not cover the secrets on the page"
            ) from _strip_driver_error(exc)
        if not drawn:
            raise ScriptFailed(self._page.url, "the secrets on the page are not covered")
        self._drawn = wanted

    async def _install(self, source: str) -> bool:
        """Install the script in all current and future documents; return False if it failed in the page."""
        session = self._session or await self._page.context.new_cdp_session(self._page)
        self._session = session
        await session.send("Page.enable")
        former = self._script
        added = await session.send(
            "Page.addScriptToEvaluateOnNewDocument", {"source": source, "worldName": WORLD}
        )
        self._script = added["identifier"]
        if former is not None:
            await session.send("Page.removeScriptToEvaluateOnNewDocument", {"identifier": former})
        tree = await session.send("Page.getFrameTree")
        return all([await self._run_in(frame, source) for frame in _list_frames(tree["frameTree"])])

    async def _run_in(self, frame: str, source: str) -> bool:
        """Run the script in an existing document. A document that is being replaced does not need it: the
        next one begins with the script.
        """
        session = self._session
        if session is None:
            return False
        try:
            world = await session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": WORLD})
            said = await session.send(
                "Runtime.evaluate", {"contextId": world["executionContextId"], "expression": source}
            )
        except PlaywrightError:
            return not self._page.is_closed()
        return "exceptionDetails" not in said


def _list_frames(tree: dict[str, Any]) -> Iterator[str]:
    yield tree["frame"]["id"]
    for child in tree.get("childFrames", ()):
        yield from _list_frames(child)


def _strip_driver_error(error: PlaywrightError) -> Exception:
    return RuntimeError(type(error).__name__)
