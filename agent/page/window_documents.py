"""Lets no new window of a browser context request a document while nothing may open one.

The session of a page (`redirect_guard`) begins when the driver tells of the page, which is after its first request. So a session of the whole
browser pauses documents, whatever opened their windows: nothing that a page's script can name or dispatch decides. Documents of pages that
have a session, and of other contexts, go on at once. A document by a `blob:` is not requested, so it is not seen. Chromium only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from playwright.async_api import Browser, CDPSession
from playwright.async_api import Error as DriverError

_DOCUMENTS: dict[str, Any] = {
    "patterns": [{"urlPattern": "*", "requestStage": "Request", "resourceType": "Document"}]
}


class WindowDocuments:
    """The documents of one browser context's new windows."""

    def __init__(
        self,
        context_id: str,
        *,
        has_session: Callable[[str], bool],
        may_open: Callable[[], bool],
        tell: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """`context_id` is the browser's name of the context. `has_session`: whether a page, by its main frame's id, has a session that
        judges it; `may_open`: whether windows may open now, since a route judges them; `tell` gets what is not requested.
        """
        self._context_id, self._has_session, self._may_open, self._tell = (
            context_id,
            has_session,
            may_open,
            tell,
        )
        self._session: CDPSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def watch(self, browser: Browser) -> None:
        """Pause documents from now on. Raises the driver's error if the browser has closed."""
        self._session = session = await browser.new_browser_cdp_session()
        session.on("Fetch.requestPaused", lambda event: self._do(self._paused(session, event)))
        await session.send("Fetch.enable", _DOCUMENTS)

    def end(self) -> None:
        """Pause nothing any more: the context has closed."""
        session, self._session = self._session, None
        if session is not None:
            self._do(session.detach())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        async def work_unless_gone() -> None:
            with suppress(DriverError):  # the window, the context or the browser has closed
                await work

        task = asyncio.get_running_loop().create_task(work_unless_gone())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _paused(self, session: CDPSession, event: Mapping[str, Any]) -> None:
        which, frame = {"requestId": event["requestId"]}, event["frameId"]
        if self._has_session(frame) or self._may_open():
            await session.send("Fetch.continueRequest", which)
            return
        windows = await self._find_windows(session.send)
        is_frame = frame not in windows and not await self._is_page(session.send, frame)
        if frame not in windows and not (is_frame and windows):
            await session.send("Fetch.continueRequest", which)
            return
        self._tell(event)
        await session.send("Fetch.fulfillRequest", which | {"responseCode": int(HTTPStatus.NO_CONTENT)})
        if frame in windows:
            await session.send("Target.closeTarget", {"targetId": frame})

    async def _find_windows(self, send: Callable[..., Awaitable[dict[str, Any]]]) -> set[str]:
        """Return the windows of the context that have no session."""
        targets = (await send("Target.getTargets"))["targetInfos"]
        return {
            each["targetId"]
            for each in targets
            if each["type"] == "page"
            and each.get("browserContextId") == self._context_id
            and not self._has_session(each["targetId"])
        }

    async def _is_page(self, send: Callable[..., Awaitable[dict[str, Any]]], frame: str) -> bool:
        """Whether a frame is the main one of a page; another frame may be of any window."""
        try:
            found = await send("Target.getTargetInfo", {"targetId": frame})
        except DriverError:
            return False
        return bool(found["targetInfo"]["type"] == "page")
