"""Asking a person at the terminal for what a run still needs (`agent.context.Asker`). POSIX only."""

from __future__ import annotations

import asyncio
import os
import signal
import termios
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Console

from periplus.signals import on_signals

_LINE_BYTES = 65_536


class Terminal:
    """Asks on `console` and reads from the terminal `fd`, one line per question.

    The event loop waits for the line, not a thread: Ctrl-C at a question leaves nothing behind that
    still reads, and echo is always on again afterwards. `room` is entered around each question.
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
        """An empty answer, the end of the input and Ctrl-C are no answer."""
        with self._room(), _without_echo(self._fd) if secret else nullcontext():
            question = f"{prompt} ({name}): "
            self._console.print(question, end="", markup=False, highlight=False, soft_wrap=True)
            line = await self._line()
            if secret or line is None:
                self._console.print()  # nobody else ended the line
        return line or None

    async def _line(self) -> str | None:
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str | None] = loop.create_future()

        def settle(text: str | None) -> None:
            loop.remove_reader(self._fd)  # what follows is the answer to another question
            if not line.done():
                line.set_result(text)

        loop.add_reader(self._fd, lambda: settle(_read(self._fd)))
        try:
            with on_signals(lambda: settle(None), signal.SIGINT):
                return await line
        finally:
            loop.remove_reader(self._fd)


def _read(fd: int) -> str | None:
    """One line as it was typed; None at the end of the input."""
    try:
        data = os.read(fd, _LINE_BYTES)
    except OSError:
        return None  # the terminal is gone
    return data.decode(errors="replace").rstrip("\r\n") if data else None


@contextmanager
def _without_echo(fd: int) -> Iterator[None]:
    usual = termios.tcgetattr(fd)
    silent = termios.tcgetattr(fd)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, usual)
