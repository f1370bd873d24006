"""Prompts for missing inputs in a terminal (`agent.run_context.InputProvider`)."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console

from kb_schema.operating_system import WINDOWS, ask_for_line, without_echo
from periplus.signals import on_signals

_LINE_BYTES = 65_536


class TerminalPrompts:
    """Prints questions on `console` and reads one line per question from the terminal `fd`.

    The event loop waits for the line, not a thread, so Ctrl-C leaves no reader behind and echo is always restored.
    `room` is a context manager that is entered for each question.
    """

    def __init__(
        self,
        console: Console,
        *,
        fd: int = 0,
        room: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._console, self._fd, self._room = console, fd, room

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        """Return the answer; None for an empty line, the end of the input or Ctrl-C."""
        with self._room(), without_echo(self._fd) if secret and not WINDOWS else nullcontext():
            question = f"{prompt} ({name}): "
            self._console.print(question, end="", markup=False, highlight=False, soft_wrap=True)
            line = await (asyncio.to_thread(ask_for_line, secret=secret) if WINDOWS else self._line())
            if secret or line is None:
                self._console.print()  # echo is off, so the line was not ended
        return line or None

    async def _line(self) -> str | None:
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str | None] = loop.create_future()

        def settle(text: str | None) -> None:
            loop.remove_reader(self._fd)  # later input belongs to the next question
            if not line.done():
                line.set_result(text)

        loop.add_reader(self._fd, lambda: settle(_read(self._fd)))
        try:
            with on_signals(lambda: settle(None), signal.SIGINT):
                return await line
        finally:
            loop.remove_reader(self._fd)


def _read(fd: int) -> str | None:
    """Return one line as typed; None at the end of the input."""
    try:
        data = os.read(fd, _LINE_BYTES)
    except OSError:
        return None  # the terminal was closed
    return data.decode(errors="replace").rstrip("\r\n") if data else None
