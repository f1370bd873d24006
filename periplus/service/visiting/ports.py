"""What a visit is made of, and how it gets its show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from agent.media.picture import Picture
from kb_schema.presentation import PresentationFlow
from periplus.presenting.show import Show


@dataclass(frozen=True, slots=True)
class Wish:
    """Which demo a link shows, and how."""

    website: str
    flow: str
    language: str | None = None
    """None: the flow's own."""
    speed: float = 1.0
    voice: bool = True


@dataclass(frozen=True, slots=True)
class Room:
    """A LiveKit room with the show's picture and voice in it, for one page."""

    url: str
    token: str = field(repr=False)


class ShowOpener(Protocol):
    """Opens shows. Implemented by `shows.Shows`, and by tests."""

    async def flow(self, website: str | None, flow: str | None) -> tuple[str, PresentationFlow]:
        """The website that is meant and the flow as authored. Raises `UserError` where there is none."""

    def open(self, wish: Wish) -> AbstractAsyncContextManager[Show]:
        """A show with a host who attends to its visitor, for as long as one is inside."""


class RoomAway(Exception):
    """The room cannot be opened; the text says why."""


RoomOpener = Callable[[Show, Picture, str], AbstractAsyncContextManager[Callable[[], Awaitable[Room]]]]
"""Brings a show and its picture, whose visit has this id, into a room of its own. What it gives makes a page's
way in. Raises `RoomAway`.
"""
