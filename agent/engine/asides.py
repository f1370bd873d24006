"""What an action leads to beside its effect on the page: as its author said, else refused with the reason.

Dialogs, downloads, other tabs, asking for files (`agent.page.happenings`), and being led away from the
website's origins.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from agent.errors import NotAuthored, StepFailed
from agent.events import DialogAnswered
from agent.page.happenings import Expected, Happenings, Kind, watch
from kb_schema import vocabulary
from kb_schema.calls import ActionCall
from kb_schema.urls import origin_of

if TYPE_CHECKING:
    from playwright.async_api import Download, Page

    from agent.session import Session

TAB_S = 5.0
"""How long a tab that is to be followed may take to open, and to have a document."""
DOWNLOAD_S = 30.0
"""How long a download may take to begin; it may take any time to come."""
GRACE_S = 0.25
"""How long a tab or a download may take to begin where nothing else is waited for."""
PROMISES = "a[target]:not([target^=_self]):focus, a[download]:focus"
"""A pressed link has the focus."""
_HINTS: dict[Kind, str] = {
    "dialog": "say what to answer: `on_dialog: accept` or `dismiss` in the step's action",
    "download": "say what to call it: `download: NAME` in the step's action",
    "tab": "say what to do with it: `new_tab: follow` or `close` in the step's action",
    "file": "give one: the action `upload_file` on that element",
}


class Asides:
    """Of one engine's actions."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._openers: list[Page] = []
        """Pages that tabs were followed from, the last one last."""
        self._may_lead = False
        """Whether the last action is one of those that lead somewhere."""
        watch(session.page)

    def expect(self, call: ActionCall) -> None:
        """The action is about to be performed. Back to the opener where a followed tab was closed.
        Raises `NotAuthored` for what the one before led to late.
        """
        session = self._session
        self._raise_refused()
        while session.page.is_closed() and self._openers:
            session.page = self._openers.pop()
            session.touched()
        kind = vocabulary.action_type(call.action_type)
        self._may_lead = kind is None or not kind.idempotent
        self._here().expect(
            Expected(
                dialog=call.on_dialog,
                new_tab=call.new_tab,
                download=call.download is not None,
                file=call.canonical_type == "upload_file",
            )
        )

    async def follow(self, call: ActionCall, values: dict[str, Any]) -> None:
        """What the author said to do with a tab or a download. Raises `StepFailed` where none came."""
        if call.new_tab == "follow":
            await self._follow_tab()
        if call.download is not None:
            values[call.download] = await self._keep_download()

    async def close_tab(self) -> None:
        """Close the tab that was followed last, and go back. Raises `StepFailed` where none was."""
        session = self._session
        if not self._openers:
            raise StepFailed("no other tab was followed that could be closed", error="no_tab")
        tab = session.page
        session.page = self._openers.pop()
        session.touched()
        await tab.close()

    async def settle(self, *, unseen: bool | None = None) -> None:
        """Tell of dialogs; raise what was refused. `unseen`: the step is over, and nothing was looked at since
        its action, so what that leads to may only be beginning; None: it is not over yet. Raises
        `NotAuthored`, `LedAway`.
        """
        came = self._here()
        await came.settled(await self._grace_s() if unseen and self._may_lead else 0.0)
        if unseen is not None:
            self._may_lead = False  # a step made of steps has nothing more to wait for
        for said in came.said:
            self._session.bus.tell(DialogAnswered(said.kind, said.message, said.accepted))
        came.said.clear()
        self._raise_refused()
        self._session.check_origin()

    def files(self, names: list[str]) -> list[str]:
        """The files that are to be given, as paths. Raises `NotAuthored` for one that may not be."""
        folder = self._session.upload_folder
        if folder is None:
            return names
        home = folder.resolve()
        paths = [(home / name).resolve() for name in names]
        for name, path in zip(names, paths, strict=True):
            if not path.is_relative_to(home):
                raise NotAuthored(
                    f"the file {name!r} is not in the folder that files are given from", kind="file",
                    hint=f"put it into {folder}, and name it without a folder",
                )  # fmt: skip
        return [str(path) for path in paths]

    def _raise_refused(self) -> None:
        refused = self._here().refused
        if not refused:
            return
        first = refused[0]
        refused.clear()
        foreign = self._foreign(first.url)
        reason = f"; {foreign} is none of the website's origins" if foreign else ""
        what = self._session.context.redact(first.what)
        raise NotAuthored(f"the page {what}{reason}", kind=first.kind, hint=_HINTS[first.kind])

    async def _grace_s(self) -> float:
        """Longer where what was pressed promises a tab or a download: a tab is only heard of once it has
        an answer from the site.
        """
        try:
            promised = await self._session.page.locator(PROMISES).count()
        except PlaywrightError:
            return GRACE_S
        return TAB_S if promised else GRACE_S

    def _here(self) -> Happenings:
        return watch(self._session.page)

    def _foreign(self, url: str | None) -> str | None:
        origin = origin_of(url or "")
        web = origin.startswith(("http://", "https://"))
        return origin if web and origin not in self._session.allowed_origins else None

    async def _follow_tab(self) -> None:
        session = self._session
        tab = await self._here().tab(TAB_S)
        if tab is None:
            raise StepFailed("no other tab opened", error="timeout", acted=True)
        try:
            await tab.wait_for_load_state("domcontentloaded", timeout=TAB_S * 1000)
        except PlaywrightError as exc:
            raise StepFailed(
                f"the new tab shows nothing: {exc.message}", error="timeout", acted=True
            ) from exc
        self._openers.append(session.page)
        session.page = tab
        watch(tab)
        session.touched()

    async def _keep_download(self) -> str:
        folder = self._session.download_folder
        if folder is None:
            raise StepFailed("there is no folder to keep a download in", error="download_failed", acted=True)
        download = await self._here().download(DOWNLOAD_S)
        if download is None:
            raise StepFailed("no download began", error="timeout", acted=True)
        try:
            return str(await _saved(download, folder))
        except PlaywrightError as exc:
            reason = exc.message.splitlines()[0]
            raise StepFailed(f"the download failed: {reason}", error="download_failed", acted=True) from exc


async def _saved(download: Download, folder: Path) -> Path:
    """Under its own name, or what is harmless of it, beside those that are there."""
    name = re.sub(r"[^\w.\- ]", "_", Path(download.suggested_filename).name).strip(". ") or "download"
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    path, number = folder / name, 1
    while path.exists():
        number += 1
        path = folder / f"{Path(name).stem}-{number}{Path(name).suffix}"
    await download.save_as(path)
    return path
