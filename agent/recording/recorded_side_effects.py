"""Recorded side effects of actions: dialog answers, downloads and new tabs.

`agent.execution.effects.side_effects` handles them in runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as DriverError

from agent.page.page_side_effects import ExpectedSideEffects
from kb_schema.action_calls import DialogAnswer

_ASKING = frozenset({"confirm", "prompt"})
"""Dialogs whose answer is not recorded: an alert has only one answer, and `beforeunload` is not part of the task."""


@dataclass(frozen=True, slots=True)
class RecordedSideEffects:
    """The side effects of one action."""

    dialog: DialogAnswer | None = None
    download: str | None = None
    """Name of the downloaded file."""
    opened: int | None = None
    """Number of the opened tab."""

    def __bool__(self) -> bool:
        return self != RecordedSideEffects()

    def joined(self, more: RecordedSideEffects) -> RecordedSideEffects:
        """Return these side effects combined with later ones."""
        told = {
            name: value
            for name in ("dialog", "download", "opened")
            if (value := getattr(more, name)) is not None
        }
        return replace(self, **told)

    @property
    def args(self) -> dict[str, Any]:
        """Return the fields of an action call."""
        if self.dialog is None:
            return {}
        if self.dialog.accept and self.dialog.text is not None:
            return {"on_dialog": {"accept": True, "text": self.dialog.text}}
        return {"on_dialog": "accept" if self.dialog.accept else "dismiss"}

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the additional metadata for a trace."""
        told = {"download": self.download, "opens_tab": self.opened}
        return {name: value for name, value in told.items() if value is not None}

    @property
    def expected(self) -> ExpectedSideEffects:
        """Return the side effects to expect when the action is repeated."""
        return ExpectedSideEffects(
            dialog=self.dialog,
            new_tab=None if self.opened is None else "follow",
            download=self.download is not None,
        )


async def watch_dialog_answers(page: Page, told: Callable[[RecordedSideEffects], None]) -> CDPSession | None:
    """Report how the person answers dialogs of a page (`confirm`, `prompt`), which Playwright does not expose.

    Returns None if the page has already closed.
    """
    asked: list[str] = []

    def opened(event: dict[str, Any]) -> None:
        asked.append(str(event.get("type")))

    def closed(event: dict[str, Any]) -> None:
        kind = asked.pop() if asked else ""
        if kind in _ASKING:
            accept = bool(event.get("result"))
            text = str(event.get("userInput") or "") if kind == "prompt" and accept else None
            told(RecordedSideEffects(dialog=DialogAnswer(accept=accept, text=text)))

    try:
        session = await page.context.new_cdp_session(page)
        session.on("Page.javascriptDialogOpening", opened)
        session.on("Page.javascriptDialogClosed", closed)
        await session.send("Page.enable")
    except DriverError:
        return None
    return session
