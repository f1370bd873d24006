"""Takes a picture of the page after each step of a run, and notes what the page logged and requested meanwhile.

A picture is taken while the next step looks at the page, and the next action waits for it: so it shows the page between two
steps, and takes little time. Secrets are covered as in films; a page on which they cannot be covered has no picture.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from agent.events import ActionDone, AddressOpened, Event, StepEnded, StepStarted
from agent.media.covered_pictures import take_covered_picture
from agent.media.secret_mask import SecretMask
from agent.page.errors import PageError
from agent.run_context import RunContext
from agent.run_records.run_log import strip_url
from kb_schema.step_pictures import STEPS_FILE, PageLine, PictureFile, StepPictures

QUALITY = 60
SHOT_MS = 5_000
MOST_PICTURES = 2_000
MOST_LINES = 40
"""Lines of a page that a step keeps."""
LONGEST_LINE = 400
REQUESTS = frozenset({"document", "xhr", "fetch", "eventsource", "websocket"})
"""Kinds of requests that are listed; others only if they fail."""

UNCOVERED = "no picture was kept: the page shows a secret where it cannot be covered for sure"

Shot = asyncio.Task[PictureFile | None]


class StepPictureRecorder:
    """Listens to a session's bus and writes `folder`. `page` returns the session's present page."""

    def __init__(self, folder: Path, page: Callable[[], Page], context: RunContext) -> None:
        self._folder, self._page, self._context = folder, page, context
        self._masks: dict[Page, SecretMask] = {}
        self._shot: Shot | None = None
        """The last picture, which may still be taken. Each waits for the one before it."""
        self._taken = 0
        self._touched = True
        """Whether something was done on the page since the last picture."""
        self._open: list[tuple[str, str, Shot | None, float]] = []
        """The steps under way with the picture before them and when they began, outermost first."""
        self._lines: list[PageLine] = []
        self._left_out = 0
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, event: Event) -> None:
        """Handle one event; the listener of the bus."""
        match event:
            case StepStarted():
                self._watch(self._page())
                if self._shot is None and not self._page().url.startswith("about:"):
                    self._begin_shot()
                self._open.append((event.task_id, event.step_id, self._shot, time.monotonic()))
            case ActionDone(beside=False) | AddressOpened(beside=False):
                self._touched = True
            case StepEnded():
                self._end_step(event)

    async def finish(self) -> None:
        """Wait for the picture that is being taken; called before each action, and at the end."""
        if self._shot is not None:
            await asyncio.wait([self._shot])

    # -- implementation

    def _end_step(self, event: StepEnded) -> None:
        name = (event.task_id, event.step_id)
        began = next((n for n in reversed(range(len(self._open))) if self._open[n][:2] == name), None)
        before = None if began is None else self._open[began][2]
        if began is not None:
            del self._open[began:]
        step = StepPictures(
            task_id=event.task_id,
            step_id=event.step_id,
            lines=tuple(self._lines),
            left_out=self._left_out,
        )
        self._lines, self._left_out = [], 0
        self._begin_shot(step, before)

    def _begin_shot(self, step: StepPictures | None = None, before: Shot | None = None) -> None:
        """Take a picture if something was done on the page since the last one; then write the step with it."""
        former, page, touched = self._shot, self._page(), self._touched
        self._touched = False

        async def take() -> PictureFile | None:
            if former is not None:
                await asyncio.wait([former])
            picture = await self._take(page) if touched or former is None else _result(former)
            if step is not None:
                seen = None if before is None else _result(before)
                self._write(step.model_copy(update={"before": seen, "after": picture}))
            return picture

        self._shot = asyncio.create_task(take(), name="picture of a step")

    async def _take(self, page: Page) -> PictureFile | None:
        if self._taken >= MOST_PICTURES or page.is_closed():
            return None
        with suppress(PlaywrightError, PageError, OSError):
            mask = self._masks.setdefault(page, SecretMask(page, self._context.secrets))
            await mask.draw()
            content = await take_covered_picture(
                page, self._context.secrets, quality=QUALITY, timeout_ms=SHOT_MS, scale="css"
            )
            if content is None:
                self._note("error", UNCOVERED)
                return None
            name = f"{self._taken:04d}.jpg"
            self._taken += 1
            await asyncio.to_thread((self._folder / name).write_bytes, content)
            return PictureFile(name=name, sha256=hashlib.sha256(content).hexdigest())
        return None

    def _write(self, step: StepPictures) -> None:
        with suppress(OSError), (self._folder / STEPS_FILE).open("a", encoding="utf-8") as file:
            file.write(step.model_dump_json(exclude_defaults=True) + "\n")

    # -- what the page says

    def _watch(self, page: Page) -> None:
        """Listen to a page from now on."""
        if page in self._masks:
            return
        self._masks[page] = SecretMask(page, self._context.secrets)
        page.on("console", lambda message: self._note("console", f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self._note("error", str(error)))
        page.on(
            "requestfailed", lambda request: self._note("failed", _describe(request, request.failure or ""))
        )
        page.on("response", self._note_response)

    def _note_response(self, response: Any) -> None:
        request = response.request
        if response.status >= 400:
            self._note("failed", _describe(request, str(response.status)))
        elif request.resource_type in REQUESTS:
            self._note("request", _describe(request, str(response.status)))

    def _note(self, kind: Any, text: str) -> None:
        if len(self._lines) >= MOST_LINES:
            self._left_out += 1
            return
        began = self._open[-1][3] if self._open else time.monotonic()
        said = " ".join(str(self._context.redact_kept(text)).split())[:LONGEST_LINE]
        self._lines.append(PageLine(kind=kind, text=said, at_ms=round((time.monotonic() - began) * 1_000, 1)))


def _result(shot: Shot) -> PictureFile | None:
    """Return the picture of a task that is over; None if it was cut off."""
    return None if shot.cancelled() or shot.exception() is not None else shot.result()


def _describe(request: Any, how: str) -> str:
    """Return a request as one line, without the query of its address."""
    return f"{request.method} {strip_url(request.url)} {how}".strip()
