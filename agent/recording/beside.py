"""What an action leads to beside its effect on the page, as far as it matters for doing it again: the
answer to a dialog, a download, another tab. What runs make of it is `agent.engine.asides`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as DriverError

from agent.page.happenings import Expected
from kb_schema.calls import DialogAnswer

_ASKING = frozenset({"confirm", "prompt"})
"""An alert has one answer only, and leaving a page is no answer to a question of the task."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What one action led to."""

    dialog: DialogAnswer | None = None
    download: str | None = None
    """The file's name."""
    opened: int | None = None
    """Number of the tab it opened."""

    def __bool__(self) -> bool:
        return self != Beside()

    def joined(self, more: Beside) -> Beside:
        """This and what came later."""
        told = {
            name: value
            for name in ("dialog", "download", "opened")
            if (value := getattr(more, name)) is not None
        }
        return replace(self, **told)

    @property
    def args(self) -> dict[str, Any]:
        """As an action call says it."""
        if self.dialog is None:
            return {}
        if self.dialog.accept and self.dialog.text is not None:
            return {"on_dialog": {"accept": True, "text": self.dialog.text}}
        return {"on_dialog": "accept" if self.dialog.accept else "dismiss"}

    @property
    def metadata(self) -> dict[str, Any]:
        """What a trace says of it besides."""
        told = {"download": self.download, "opens_tab": self.opened}
        return {name: value for name, value in told.items() if value is not None}

    @property
    def expected(self) -> Expected:
        """What doing the action again may lead to."""
        return Expected(
            dialog=self.dialog,
            new_tab=None if self.opened is None else "follow",
            download=self.download is not None,
        )


async def listen_for_answers(page: Page, told: Callable[[Beside], None]) -> CDPSession | None:
    """Tell how whoever is at work answers the questions of a page (`confirm`, `prompt`), which the driver
    does not say. None where the page is gone already.
    """
    asked: list[str] = []

    def opened(event: dict[str, Any]) -> None:
        asked.append(str(event.get("type")))

    def closed(event: dict[str, Any]) -> None:
        kind = asked.pop() if asked else ""
        if kind in _ASKING:
            accept = bool(event.get("result"))
            text = str(event.get("userInput") or "") if kind == "prompt" and accept else None
            told(Beside(dialog=DialogAnswer(accept=accept, text=text)))

    try:
        session = await page.context.new_cdp_session(page)
        session.on("Page.javascriptDialogOpening", opened)
        session.on("Page.javascriptDialogClosed", closed)
        await session.send("Page.enable")
    except DriverError:
        return None
    return session
