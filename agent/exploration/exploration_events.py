"""Events that an exploration emits to report its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal

from agent.redaction import redact_known
from kb_schema.explorations import AttemptOutcome


@dataclass(frozen=True, slots=True)
class MapEvent:
    """Base class of the events."""


def redact_events(tell: Callable[[MapEvent], None]) -> Callable[[MapEvent], None]:
    """Return a listener that passes events on without the secrets of this process in their texts."""

    def pass_on(event: MapEvent) -> None:
        said = {each.name: getattr(event, each.name) for each in fields(event)}
        texts = {name: redact_known(value) for name, value in said.items() if isinstance(value, str)}
        tell(replace(event, **texts) if texts else event)

    return pass_on


@dataclass(frozen=True, slots=True)
class PageFound(MapEvent):
    """A new page was found and recorded."""

    page_id: str
    title: str
    url: str
    offers: int
    depth: int


@dataclass(frozen=True, slots=True)
class TransitionAttempted(MapEvent):
    """A transition was attempted and recorded."""

    from_page: str
    what: str
    """Name of the control, or the exit action (`back`, `reload`, ...)."""
    outcome: AttemptOutcome
    to_page: str | None
    duration_ms: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class OfferSkipped(MapEvent):
    """A control is not tried."""

    page_id: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExplorationWaiting(MapEvent):
    """The exploration waits, because of the rate limit or a slow website."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class ExplorationSignedOut(MapEvent):
    """The session is no longer signed in."""

    url: str
    again: Literal["trying", "signed_in", "failed"]


@dataclass(frozen=True, slots=True)
class ExplorationProgress(MapEvent):
    """Progress, emitted after each attempted transition."""

    pages: int
    passages: int
    left: int
    """Estimated number of controls that are still to be tried."""
    seconds: float
    """Seconds since the exploration started or was resumed."""


@dataclass(frozen=True, slots=True)
class ExplorationEnded(MapEvent):
    """The exploration has ended; the reason is that of `Exploration.ended_by`."""

    reason: str
    pages: int
    passages: int
