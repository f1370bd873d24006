"""What a presentation was, for the report and the caller."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from agent.events import Event
from kb_schema.runs import RunResult


class SegmentStatus(StrEnum):
    """How one segment came out."""

    SHOWN = "shown"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass
class SegmentRecord:
    """One segment of the story as it went. Times are seconds of the film."""

    segment_id: str
    title: str
    type: str
    required: bool
    start_s: float
    end_s: float = 0.0
    status: SegmentStatus = SegmentStatus.SHOWN
    reason: str | None = None
    screens: list[str] = field(default_factory=list)
    run: RunResult | None = None
    picture: bytes | None = None
    """JPEG of the page at its end."""


@dataclass(frozen=True, slots=True)
class SegmentStarted(Event):
    """A segment begins."""

    segment_id: str
    title: str
    number: int
    total: int
    remaining_s: float | None


@dataclass(frozen=True, slots=True)
class SegmentEnded(Event):
    """A segment is over."""

    segment_id: str
    status: SegmentStatus
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Narrated(Event):
    """Words were begun."""

    text: str
    start_s: float


@dataclass
class Presentation:
    """The whole demo."""

    flow_id: str
    name: str
    segments: list[SegmentRecord] = field(default_factory=list)
    duration_s: float = 0.0
    interrupted: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether every required segment was shown."""
        return not self.interrupted and all(
            s.status is SegmentStatus.SHOWN for s in self.segments if s.required
        )

    @property
    def step_count(self) -> int:
        """Steps carried out in all segments."""
        return sum(len(s.run.steps) for s in self.segments if s.run is not None)
