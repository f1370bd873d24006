"""The parts of a visit, and the interfaces that open its presentation and its room."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from agent.media.screencast import Screencast
from kb_schema.presentation_flows import PresentationFlow
from periplus.demos.live_presentation import LivePresentation


@dataclass(frozen=True, slots=True)
class VisitWish:
    """The demo that a link shows."""

    website: str
    flow: str
    language: str | None = None
    """None: the flow's own."""
    speed: float = 1.0
    voice: bool = True


@dataclass(frozen=True, slots=True)
class VisitRoom:
    """A LiveKit room with the presentation's picture and voice, for one page."""

    url: str
    token: str = field(repr=False)


class PresentationOpener(Protocol):
    """Opens presentations. Implemented by `visit_presentations`, and by tests."""

    async def flow(self, website: str | None, flow: str | None) -> tuple[str, PresentationFlow]:
        """Return the website and the authored flow. Raises `UserError` if either does not exist."""

    def open(self, wish: VisitWish) -> AbstractAsyncContextManager[LivePresentation]:
        """Open a presentation with a host for its visitor; the context manager closes it."""


class RoomUnavailable(Exception):
    """The room cannot be opened; the text says why."""


RoomOpener = Callable[
    [LivePresentation, Screencast, str], AbstractAsyncContextManager[Callable[[], Awaitable[VisitRoom]]]
]
"""Open a room for the presentation and picture of the visit with this id. The result creates tickets for
pages.

Raises `RoomUnavailable`.
"""
