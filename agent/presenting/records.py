"""What a presentation was, for the report and the caller."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from agent.events import Event
from kb_schema.presentation import Depth
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
    aside: bool = False
    """It was shown because the visitor asked for it, out of the story's order."""
    depth: Depth | None = None
    """How much of it was told; None: it was not told."""
    note: str | None = None
    """Why it was told at another depth than its author's."""
    expected_s: float | None = None
    """What it was expected to take at speed 1, at that depth."""
    violations: list[str] = field(default_factory=list)
    """Rules of engagement that were broken, and where."""


@dataclass(frozen=True, slots=True)
class SegmentStarted(Event):
    """A segment begins."""

    lasting: ClassVar[bool] = True

    segment_id: str
    title: str
    number: int
    total: int
    remaining_s: float | None


@dataclass(frozen=True, slots=True)
class SegmentEnded(Event):
    """A segment is over."""

    lasting: ClassVar[bool] = True

    segment_id: str
    status: SegmentStatus
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Narrated(Event):
    """Words were begun."""

    text: str
    start_s: float


@dataclass(frozen=True, slots=True)
class CaptionShown(Event):
    """The words that are heard now are shown; "" where nobody speaks any more, or nobody is let finish."""

    personal: ClassVar[frozenset[str]] = frozenset({"text"})  # half a sentence with a visitor's words in it

    text: str


@dataclass(frozen=True, slots=True)
class Understood(Event):
    """What a visitor said, and what was made of it. The words are personal data."""

    personal: ClassVar[frozenset[str]] = frozenset({"text", "told"})
    lasting: ClassVar[bool] = True

    request: str
    """`agent.presenting.visitor.requests.Kind`."""
    text: str
    told: str = ""
    """For a person to read: `Show: campaigns`."""


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """A question was answered. The question is the visitor's own: personal data."""

    personal: ClassVar[frozenset[str]] = frozenset({"question", "answer"})
    lasting: ClassVar[bool] = True

    question: str
    answer: str
    sources: tuple[str, ...]
    """The places the answer comes from, by name."""


@dataclass(frozen=True, slots=True)
class Declined(Event):
    """Something was asked that could not be answered, shown or understood: for the owner's list. The words
    are personal data.
    """

    personal: ClassVar[frozenset[str]] = frozenset({"text"})
    lasting: ClassVar[bool] = True

    text: str
    reason: str = ""
    """`no_answer`, `nothing_to_show`, `not_understood` or `not_for_visitors`."""


@dataclass(frozen=True, slots=True)
class Interested(Event):
    """The visitor wants to see more of something (or less), as it is called in the knowledge."""

    lasting: ClassVar[bool] = True

    topic: str
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class VisitorIntroduced(Event):
    """The visitor said a name: personal data."""

    personal: ClassVar[frozenset[str]] = frozenset({"name"})
    lasting: ClassVar[bool] = True

    name: str


@dataclass(frozen=True, slots=True)
class TookDetour(Event):
    """A visitor led the story away from its order."""

    lasting: ClassVar[bool] = True

    kind: str
    """`agent.presenting.floor.Detour.kind`."""
    wanted: str | None = None
    """The segment, task or screen that was asked for."""


@dataclass
class Presentation:
    """The whole demo."""

    flow_id: str
    name: str
    total: int = 0
    """Segments of the flow; `segments` has those the story came to, and those it passed over."""
    segments: list[SegmentRecord] = field(default_factory=list)
    of_flow: frozenset[str] = frozenset()
    """The ids of the flow's segments; what is not among them was made up for a visitor."""
    window: tuple[float | None, float | None] = (None, None)
    """When it was to be over: at the earliest, at the latest; None: no bound."""
    tempo: float = 1.0
    """How long its segments took, compared with what was expected of them."""
    duration_s: float = 0.0
    interrupted: bool = False
    detours: int = 0
    """How often a visitor led it elsewhere."""
    ended_by_visitor: bool = False

    def end(self, at_s: float) -> None:
        """The show is over at this second of the film: what was in its middle was not shown."""
        for segment in self.segments:
            if segment.status is SegmentStatus.STARTED:
                segment.status, segment.end_s = SegmentStatus.INTERRUPTED, at_s
        self.duration_s = at_s

    def was_shown(self, segment_id: str) -> bool:
        """Whether it was shown to its end, in its turn or as an aside."""
        return any(s.segment_id == segment_id and s.status is SegmentStatus.SHOWN for s in self.segments)

    def finished_run(self, segment_id: str) -> SegmentRecord | None:
        """Where a segment's task was carried out to its end: that is not done twice."""
        done = [s for s in self.segments if s.segment_id == segment_id and s.run is not None]
        return next((s for s in done if s.run is not None and s.run.succeeded), None)

    @property
    def violation_count(self) -> int:
        """Rules of engagement that were broken."""
        return sum(len(s.violations) for s in self.segments)

    @property
    def succeeded(self) -> bool:
        """Whether every required segment was shown, at whatever time."""
        return not self.interrupted and all(
            self.was_shown(s.segment_id) for s in self.segments if s.required and not s.aside
        )

    @property
    def shown_count(self) -> int:
        """Segments of the flow that were shown to their end."""
        shown = {s.segment_id for s in self.segments if s.status is SegmentStatus.SHOWN}
        return len(shown & (self.of_flow or shown))

    @property
    def step_count(self) -> int:
        """Steps that were done, in all segments."""
        return sum(
            step.status is StepStatus.DONE for s in self.segments if s.run is not None for step in s.run.steps
        )
