"""The live view of a run in the terminal: screen, segment, step, narration and remaining time."""

from __future__ import annotations

import asyncio
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from agent.events import (
    DialogAnswered,
    Event,
    OverlayDismissed,
    Recovered,
    ScreenSeen,
    StepEnded,
    StepStarted,
    TaskStarted,
)
from agent.presentation.presentation_records import Narrated, SegmentEnded, SegmentStarted
from agent.run_context import InputProvider
from periplus.terminal.command_console import CommandConsole


class TerminalView(ABC):
    """A live display; prints plain lines if the output is not a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(
                get_renderable=self._render, console=self._console, refresh_per_second=8, transient=True
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def _line(self, text: str) -> None:
        if self._live is None:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    @abstractmethod
    def _render(self) -> RenderableType:
        """Return the current display."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the display while other code uses the terminal."""
        live = self._live
        if live is not None:
            live.stop()
        try:
            yield
        finally:
            if live is not None:
                live.start()


def find_terminal_prompts(view: TerminalView) -> InputProvider | None:
    """Return prompts for missing inputs, which pause the view; None without a terminal."""
    if sys.platform == "win32" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from periplus.terminal.input_prompts import TerminalPrompts  # noqa: PLC0415 - not available on every platform

    return TerminalPrompts(CommandConsole(stderr=True), fd=sys.stdin.fileno(), room=view.paused)


class QueuedPrompts:
    """Asks one question at a time, for runs that share a terminal (`agent.run_context.InputProvider`)."""

    def __init__(self, asker: InputProvider) -> None:
        self._asker, self._turn = asker, asyncio.Lock()

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        """Return the answer; None if there is none."""
        async with self._turn:
            return await self._asker.ask(name, prompt, secret=secret)


class RunLiveView(TerminalView):
    """A live display of a session's events."""

    def __init__(self, console: Console, title: str, *, expected_s: float | None = None) -> None:
        super().__init__(console)
        self._title, self._expected_s = title, expected_s
        self._began = time.monotonic()
        self._screen = Text("starting", style="dim")
        self._segment = self._step = self._said = self._note = ""
        self._progress: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        return super().__enter__()

    def __call__(self, event: Event) -> None:
        """Handle an event."""
        match event:
            case ScreenSeen(screen_id=None, url=url):
                self._screen = Text(f"no known screen at {url}", style="yellow")
                self._line(f"  ? no known screen at {url}")
            case ScreenSeen(name=name, confidence=confidence):
                self._screen = Text(f"{name}  {confidence:.0%}", style="bold green")
                self._line(f"  @ {name} ({confidence:.0%})")
            case SegmentStarted(title=title, number=number, total=total):
                self._segment, self._step, self._note = f"{number}/{total}  {title}", "", ""
                self._progress = (number - 1, total)
                self._line(f"[{number}/{total}] {title}")
            case SegmentEnded(segment_id=segment_id, status=status, reason=reason):
                if status != "shown":
                    self._note = f"{segment_id} {status}: {reason}"
                    self._line(f"  ! {self._note}")
            case TaskStarted(name=name, depth=depth) if depth > 0:
                self._note = f"first: {name}"
            case StepStarted(task_id=task, step_id=step, number=number, total=total):
                self._step = f"{task}: {step}  ({number}/{total})"
            case StepEnded(task_id=task, step_id=step, status=status, duration_ms=ms, error=error):
                mark = {"done": "+", "skipped": "-"}.get(status, "x")
                self._line(f"  {mark} {task}.{step} {ms / 1000:.1f} s" + (f": {error}" if error else ""))
            case Narrated(text=text):
                self._said = text
                self._line(f'  " {text}')
            case Recovered(recovery_id=recovery, succeeded=succeeded):
                self._note = f"recovery {recovery} {'worked' if succeeded else 'did not help'}"
                self._line(f"  ~ {self._note}")
            case DialogAnswered(kind=kind, message=message, accepted=accepted):
                self._note = f"{kind} {message!r}: {'yes' if accepted else 'no'}"
                self._line(f"  ~ {self._note}")
            case OverlayDismissed(overlay_id=overlay):
                self._note = f"closed {overlay}"
                self._line(f"  ~ {self._note}")

    def _render(self) -> RenderableType:
        elapsed = time.monotonic() - self._began
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", justify="right", no_wrap=True)
        grid.add_column(ratio=1)
        grid.add_row("screen", self._screen)
        if self._segment:
            grid.add_row("segment", Text(self._segment, style="bold"))
        grid.add_row("step", Text(self._step))
        if self._said:
            grid.add_row("says", Text(f"“{self._said}”", style="italic cyan"))
        if self._note:
            grid.add_row("", Text(self._note, style="yellow"))
        grid.add_row("time", Text(self._time(elapsed)))
        rows: list[RenderableType] = [grid]
        if self._progress is not None:
            done, total = self._progress
            rows.append(ProgressBar(total=total, completed=done, width=60))
        return Panel(Group(*rows), title=escape(self._title), border_style="blue", padding=(1, 2))

    def _time(self, elapsed: float) -> str:
        if self._expected_s is None:
            return f"{_clock(elapsed)}"
        left = max(0.0, self._expected_s - elapsed)
        return f"{_clock(elapsed)} elapsed, about {_clock(left)} left"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
