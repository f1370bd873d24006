"""Asking at a terminal."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import signal
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from rich.console import Console

from periplus.terminal.input_prompts import TerminalPrompts
from periplus.terminal.live_view import RunLiveView


class Screen(io.StringIO):
    """Tells when the question is there."""

    def __init__(self) -> None:
        super().__init__()
        self.shows_something = asyncio.Event()

    def write(self, text: str) -> int:
        self.shows_something.set()
        return super().write(text)


@dataclass
class Person:
    """Sits at the other end and does something as soon as the question is there."""

    fd: int
    theirs: int
    said: list[str] = field(default_factory=list)
    echo: list[bool] = field(default_factory=list)

    @contextmanager
    def room(self) -> Iterator[None]:
        self.said.append("room")
        yield
        self.said.append("no room")

    async def answers(self, act: Callable[[], object], *, secret: bool = False) -> str | None:
        screen = Screen()
        terminal = TerminalPrompts(Console(file=screen), fd=self.fd, room=self.room)
        asked = asyncio.create_task(terminal.ask("name", "Its name", secret=secret))
        await screen.shows_something.wait()
        self.echo.append(self.echoes)
        act()
        return await asked

    def types(self, text: str) -> Callable[[], object]:
        return lambda: os.write(self.theirs, text.encode())

    @property
    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)


@pytest.fixture
def person() -> Iterator[Person]:
    theirs, ours = pty.openpty()
    yield Person(ours, theirs)
    os.close(theirs)
    os.close(ours)


async def test_a_line_is_the_answer_and_the_screen_makes_room_for_it(person):
    assert await person.answers(person.types("Möwe\n")) == "Möwe"
    assert person.said == ["room", "no room"]


@pytest.mark.parametrize("what", ["end of input", "empty line", "ctrl-c"])
async def test_there_may_be_no_answer_and_the_next_question_is_still_heard(person, what):
    acts = {
        "end of input": person.types("\x04"),
        "empty line": person.types("\n"),
        "ctrl-c": lambda: signal.raise_signal(signal.SIGINT),
    }
    assert await person.answers(acts[what]) is None
    assert await person.answers(person.types("Ada\n")) == "Ada"


@pytest.mark.parametrize("ends", ["answer", "ctrl-c"])
async def test_a_secret_is_not_shown_and_the_terminal_is_as_before(person, ends):
    act = (lambda: signal.raise_signal(signal.SIGINT)) if ends == "ctrl-c" else person.types("hunter2\n")
    assert await person.answers(act, secret=True) == (None if ends == "ctrl-c" else "hunter2")
    assert person.echo == [False]
    assert person.echoes


def test_the_live_view_is_not_drawn_while_somebody_else_has_the_terminal():
    view = RunLiveView(Console(file=io.StringIO(), force_terminal=True), "x")
    with view:
        assert view._live is not None
        with view.paused():
            assert not view._live.is_started
        assert view._live.is_started
