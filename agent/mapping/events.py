"""What an exploration tells while it goes on, for a view of its progress: plain frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kb_schema.mapping import Outcome


@dataclass(frozen=True, slots=True)
class MapEvent:
    """Base of all of them."""


@dataclass(frozen=True, slots=True)
class PageFound(MapEvent):
    """A page that was not known before; it is in the folder."""

    page_id: str
    title: str
    url: str
    offers: int
    depth: int


@dataclass(frozen=True, slots=True)
class PassageTried(MapEvent):
    """Something was tried; it is in the folder."""

    from_page: str
    what: str
    """The control's name, or the way (`back`, `reload`, ...)."""
    outcome: Outcome
    to_page: str | None
    duration_ms: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class Skipped(MapEvent):
    """Something is not tried."""

    page_id: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Waiting(MapEvent):
    """Nothing happens for a while, to be polite or because the site is slow."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class SignedOut(MapEvent):
    """The site no longer knows us."""

    url: str
    again: Literal["trying", "signed_in", "failed"]


@dataclass(frozen=True, slots=True)
class Progress(MapEvent):
    """How far it has come, told after each passage."""

    pages: int
    passages: int
    left: int
    """Offers that are still to be tried, as far as is known now."""
    seconds: float
    """Since it began or went on."""


@dataclass(frozen=True, slots=True)
class Ended(MapEvent):
    """It is over: the reason is that of `Exploration.ended_by`."""

    reason: str
    pages: int
    passages: int
