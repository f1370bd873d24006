"""Records a scripted person at a widget, replays the recording, and compares the page's own state.

The recorder and the replay are those of `periplus record --check`.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser, BrowserContext, Page
from playwright.async_api import Error as PlaywrightError

from agent.page import in_page_library
from agent.recording.demonstration_recorder import DemonstrationRecorder, DemonstrationRecording
from agent.recording.recording_replay import ReplayResult, replay_recording
from agent.run_context import RunContext
from periplus.commands.record import describe_recorded_step
from tests.widgets.people import count_possible, do_acts
from tests.widgets.widget_list import Widget
from tests.widgets.widget_server import serve_widgets

PERSON_TIMEOUT_MS = 8_000.0
SETTLES_S = 0.5
"""How long a person looks at the page before closing it."""
LATE_MS = 1_500.0
"""How long the state of a repeated page may take to become the person's."""
Verdict = Literal["right", "told", "failed", "lost", "invented", "wrong", "undone"]
"""What came of a widget.

right: recorded, and repeated to the same state. told: the recorder said in a sentence what it could not record, and the
state differs. failed: the replay ended at a step, and said so. lost: what the person changed is as before, and the replay
says success. wrong: the state is another one, and the replay says success. invented: steps that nobody did. undone: the
scripted person could not do it, so nothing is measured.
"""


@dataclass(frozen=True)
class MeasuredWidget:
    """What came of a widget."""

    widget: str
    verdict: Verdict
    steps: tuple[str, ...] = ()
    said: str = ""
    """Sentences of the recorder, else the error of the replay."""
    wanted: str = ""
    """The state that the person left."""
    got: str = ""
    """The state after the replay."""


@dataclass(frozen=True)
class WidgetBench:
    """A browser and the served pages."""

    browser: Browser
    base: str
    file: Path

    async def measure(self, widget: Widget) -> MeasuredWidget:
        """Record and replay the widget with its first value."""
        widget = widget.first()
        with tempfile.TemporaryDirectory(prefix="periplus-widgets-") as folder:
            try:
                recording, before, wanted = await self.record(widget, Path(folder))
            except PlaywrightError as exc:
                return MeasuredWidget(widget.key, "undone", said=exc.message.splitlines()[0])
        steps = tuple(map(describe_recorded_step, recording.actions))
        fault = widget.find_fault(wanted)
        if fault:
            return MeasuredWidget(widget.key, "undone", steps, fault)
        replayed, got = await self.repeat(recording, wanted)
        verdict, said = _judge(widget, recording, replayed, before, wanted, got)
        return MeasuredWidget(widget.key, verdict, steps, said, str(wanted), str(got))

    async def record(
        self, widget: Widget, folder: Path
    ) -> tuple[DemonstrationRecording, dict[str, Any], dict[str, Any]]:
        """Record a person at a widget; return the recording and the states before and after. Raises Playwright errors."""
        async with self.context() as context:
            recorder = DemonstrationRecorder(
                context, folder / "trace", context=RunContext(), name=widget.does
            )
            await recorder.start()
            page = await context.new_page()
            await page.goto(f"{self.base}/{widget.library}/{widget.name}")
            await recorder.rest()
            before = await read_state(page)
            await do_acts(page, widget.acts, self.file)
            await asyncio.sleep(SETTLES_S)
            await recorder.rest()
            wanted = await read_state(page)
            await page.close()
            await asyncio.wait_for(recorder.closed.wait(), 10)
            return await recorder.finish(), before, wanted

    async def repeat(
        self, recording: DemonstrationRecording, wanted: dict[str, Any]
    ) -> tuple[ReplayResult, dict[str, Any]]:
        """Repeat steps in a fresh browser; return the state of the page, which has time to become the `wanted` one."""
        async with self.context() as context:
            await in_page_library.install(context)
            replayed = await replay_recording(context, recording.actions)
            page = context.pages[0] if context.pages else await context.new_page()
            for _ in range(int(LATE_MS / 100)):
                if await read_state(page) == wanted:
                    break
                await asyncio.sleep(0.1)
            return replayed, await read_state(page)

    @asynccontextmanager
    async def context(self) -> AsyncIterator[BrowserContext]:
        """A fresh browser context."""
        context = await self.browser.new_context(viewport={"width": 1280, "height": 720})
        context.set_default_timeout(PERSON_TIMEOUT_MS)
        try:
            yield context
        finally:
            await context.close()


async def read_state(page: Page) -> dict[str, Any]:
    """Return the page's own state."""
    return dict(await page.evaluate("window.state || {}"))


def _judge(
    widget: Widget, recording: DemonstrationRecording, replayed: ReplayResult,
    before: dict[str, Any], wanted: dict[str, Any], got: dict[str, Any],
) -> tuple[Verdict, str]:  # fmt: skip
    said = "; ".join(recording.problems)
    invented = _find_invented(widget, recording)
    if invented:
        return "invented", invented
    failure = replayed.failure
    if failure is None and (got == wanted or not widget.find_fault(got)):
        return "right", said
    if recording.problems:
        return "told", said
    if failure is not None:
        return "failed", f"{describe_recorded_step(failure.action)}: {failure.error}"
    differing = [key for key in {*wanted, *got} if wanted.get(key) != got.get(key)]
    lost = all(got.get(key) == before.get(key) for key in differing)
    return ("lost" if lost else "wrong"), said


def _find_invented(widget: Widget, recording: DemonstrationRecording) -> str:
    """Return the kinds of steps of which there are more than the person can have done."""
    possible = count_possible(widget.acts)
    counted = Counter(
        each.action_type if each.action_type in possible else "pointer" for each in recording.actions
    )
    return ", ".join(f"{kind} {count}" for kind, count in counted.items() if count > possible[kind])


@asynccontextmanager
async def open_bench(browser: Browser) -> AsyncIterator[WidgetBench]:
    """A bench with a server of its own and a file to upload."""
    with serve_widgets() as (base, _), tempfile.TemporaryDirectory(prefix="periplus-widgets-") as folder:
        file = Path(folder) / "note.txt"
        file.write_text("A note", encoding="utf-8")
        yield WidgetBench(browser, base, file)


def to_record(measured: MeasuredWidget) -> dict[str, Any]:
    """Return what is kept of it."""
    return asdict(measured)


def read_record(record: dict[str, Any]) -> MeasuredWidget:
    """Return what was kept by `to_record`."""
    return MeasuredWidget(**{**record, "steps": tuple(record["steps"])})
