"""Records of a presentation for its report and its caller, and the events of presentations."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import ClassVar

from agent.events import Event
from kb_schema.presentation_flows import Depth
from kb_schema.run_records import EvidenceLevel, RunEnding, RunResult, RunStatus, StepStatus


class SegmentStatus(StrEnum):
    """Result of one segment."""

    STARTED = "started"
    SHOWN = "shown"
    SKIPPED = "skipped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """The presentation ended during this segment."""


@dataclass
class SegmentRecord:
    """Record of one segment. Times are seconds of the film."""

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
    """JPEG of the page at the end of the segment."""
    aside: bool = False
    """Shown out of order because the visitor asked for it."""
    depth: Depth | None = None
    """Depth it was presented at; None: it was not presented."""
    note: str | None = None
    """Why the depth differs from the authored one."""
    expected_s: float | None = None
    """Expected seconds at speed 1 and at that depth."""
    violations: list[str] = field(default_factory=list)
    """Broken rules of engagement, each with its place."""


@dataclass(frozen=True, slots=True)
class SegmentStarted(Event):
    """A segment started."""

    lasting: ClassVar[bool] = True

    segment_id: str
    title: str
    number: int
    total: int
    remaining_s: float | None


@dataclass(frozen=True, slots=True)
class SegmentEnded(Event):
    """A segment ended."""

    lasting: ClassVar[bool] = True

    segment_id: str
    status: SegmentStatus
    reason: str | None = None
    aside: bool = False
    """It was shown out of order because a visitor asked for it."""


@dataclass(frozen=True, slots=True)
class Narrated(Event):
    """An utterance started."""

    text: str
    start_s: float


@dataclass(frozen=True, slots=True)
class CaptionShown(Event):
    """The caption changed; "" when the speech ended or was interrupted."""

    personal: ClassVar[frozenset[str]] = frozenset(
        {"text"}
    )  # part of a sentence that contains a visitor's words

    text: str


@dataclass(frozen=True, slots=True)
class Understood(Event):
    """A visitor's words and the request recognised in them. The words are personal data."""

    personal: ClassVar[frozenset[str]] = frozenset({"text", "told"})
    lasting: ClassVar[bool] = True

    request: str
    """A value of `agent.presentation.visitor.visitor_requests.RequestKind`."""
    text: str
    told: str = ""
    """For display: `Show: campaigns`."""


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """A question was answered. The question is personal data of the visitor."""

    personal: ClassVar[frozenset[str]] = frozenset({"question", "answer"})
    lasting: ClassVar[bool] = True

    question: str
    answer: str
    sources: tuple[str, ...]
    """Names of the sources that the answer uses."""


@dataclass(frozen=True, slots=True)
class Declined(Event):
    """A request could not be answered, shown or understood; listed for the site's owner. The words are
    personal data.
    """

    personal: ClassVar[frozenset[str]] = frozenset({"text"})
    lasting: ClassVar[bool] = True

    text: str
    reason: str = ""
    """`no_answer`, `nothing_to_show`, `not_understood` or `not_for_visitors`."""


@dataclass(frozen=True, slots=True)
class Interested(Event):
    """The visitor is interested in a topic (or not), by its name in the knowledge base."""

    lasting: ClassVar[bool] = True

    topic: str
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class VisitorIntroduced(Event):
    """The visitor gave a name, which is personal data."""

    personal: ClassVar[frozenset[str]] = frozenset({"name"})
    lasting: ClassVar[bool] = True

    name: str


@dataclass(frozen=True, slots=True)
class TookDetour(Event):
    """A visitor changed the order of the flow."""

    lasting: ClassVar[bool] = True

    kind: str
    """A value of `agent.presentation.turn_manager.Detour.kind`."""
    wanted: str | None = None
    """The requested segment, task or screen."""


@dataclass
class Presentation:
    """Record of a whole presentation."""

    flow_id: str
    name: str
    total: int = 0
    """Number of segments in the flow. `segments` lists the played and the skipped ones."""
    segments: list[SegmentRecord] = field(default_factory=list)
    of_flow: frozenset[str] = frozenset()
    """Segment ids of the flow; any other id was created for a visitor's request."""
    window: tuple[float | None, float | None] = (None, None)
    """Earliest and latest end in seconds; None: unbounded."""
    tempo: float = 1.0
    """Actual duration of the segments divided by the expected one."""
    duration_s: float = 0.0
    interrupted: bool = False
    detours: int = 0
    """Number of detours that visitors took."""
    ended_by_visitor: bool = False

    def end(self, at_s: float) -> None:
        """End the presentation at this second of the film; a segment that is still open counts as not shown."""
        for segment in self.segments:
            if segment.status is SegmentStatus.STARTED:
                segment.status, segment.end_s = SegmentStatus.INTERRUPTED, at_s
        self.duration_s = at_s

    def was_shown(self, segment_id: str) -> bool:
        """Return whether the segment was shown to its end, in order or as an aside."""
        return any(s.segment_id == segment_id and s.status is SegmentStatus.SHOWN for s in self.segments)

    def finished_run(self, segment_id: str) -> SegmentRecord | None:
        """Return the record with a segment's successful task run, which must not run twice; None if there is
        none.
        """
        done = [s for s in self.segments if s.segment_id == segment_id and s.run is not None]
        return next((s for s in done if s.run is not None and s.run.complete), None)

    @property
    def violation_count(self) -> int:
        """All broken rules of engagement."""
        return sum(len(s.violations) for s in self.segments)

    @property
    def succeeded(self) -> bool:
        """Whether every required segment was shown at some time."""
        return not self.interrupted and all(
            self.was_shown(s.segment_id) for s in self.segments if s.required and not s.aside
        )

    @property
    def shown_count(self) -> int:
        """Number of the flow's segments that were shown to their end."""
        shown = {s.segment_id for s in self.segments if s.status is SegmentStatus.SHOWN}
        return len(shown & (self.of_flow or shown))

    @property
    def step_count(self) -> int:
        """Number of executed steps in all segments."""
        return sum(
            step.status is StepStatus.DONE for s in self.segments if s.run is not None for step in s.run.steps
        )


def build_presentation_ending(presentation: Presentation) -> RunEnding:
    """Return how a presentation's run ended: the status comes from its required segments, the evidence from
    its tasks.
    """
    results = [segment.run for segment in presentation.segments if segment.run is not None]
    levels = {result.evidence for result in results}
    shown = any(segment.status is SegmentStatus.SHOWN for segment in presentation.segments)
    if EvidenceLevel.CONTRADICTED in levels:
        evidence = EvidenceLevel.CONTRADICTED
    else:
        evidence = EvidenceLevel.VERIFIED if levels == {EvidenceLevel.VERIFIED} else EvidenceLevel.UNVERIFIED
    missed = [
        f"{segment.segment_id} {segment.status}: {segment.reason or 'no reason given'}"
        for segment in presentation.segments
        if segment.required and segment.status is not SegmentStatus.SHOWN
    ]
    if presentation.interrupted:
        missed.insert(0, "interrupted")
    incomplete = RunStatus.PARTIAL if shown else RunStatus.FAILURE
    return RunEnding(
        status=RunStatus.SUCCESS if presentation.succeeded else incomplete,
        evidence=evidence,
        finished_at=datetime.now(UTC),
        duration_ms=presentation.duration_s * 1_000,
        outputs={name: value for result in results for name, value in result.outputs.items()},
        error="; ".join(missed) or None,
    )
