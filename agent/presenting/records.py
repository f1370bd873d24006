"""What a presentation was, for the report and the caller."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from agent.events import Event
from kb_schema.runs import RunResult, StepStatus


class SegmentStatus(StrEnum):
    """How one segment came out."""

    STARTED = "started"
    SHOWN = "shown"
    SKIPPED = "skipped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """The show ended in its middle."""


@dataclass
class SegmentRecord:
    """One segment of the story as it went. Times are seconds of the film."""

    segment_id: str
    title: str
    type: str
    required: bool
    start_s: float
    end_s: float = 0.0
    status: SegmentStatus = SegmentStatus.STARTED
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
    total: int = 0
    """Segments of the flow; `segments` has those the story came to, and those it passed over."""
    segments: list[SegmentRecord] = field(default_factory=list)
    duration_s: float = 0.0
    interrupted: bool = False

    def end(self, at_s: float) -> None:
        """The show is over at this second of the film: what was in its middle was not shown."""
        for segment in self.segments:
            if segment.status is SegmentStatus.STARTED:
                segment.status, segment.end_s = SegmentStatus.INTERRUPTED, at_s
        self.duration_s = at_s

    @property
    def succeeded(self) -> bool:
        """Whether every required segment was shown."""
        return not self.interrupted and all(
            s.status is SegmentStatus.SHOWN for s in self.segments if s.required
        )

    @property
    def shown_count(self) -> int:
        """Segments that were shown to their end."""
        return sum(s.status is SegmentStatus.SHOWN for s in self.segments)

    @property
    def step_count(self) -> int:
        """Steps that were done, in all segments."""
        return sum(
            step.status is StepStatus.DONE for s in self.segments if s.run is not None for step in s.run.steps
        )
