"""Observes a rehearsal pass and records facts per segment, without judging them.

It is a listener of the session's event bus. `agent.presentation.rehearsal.presentation_risks` derives the
risks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from agent.events import (
    ActionDone,
    Event,
    HealTried,
    Recovered,
    RecoveryTried,
    Replanned,
    StepEnded,
    StepStarted,
)
from agent.presentation.presentation_records import Narrated, SegmentEnded, SegmentStarted, SegmentStatus
from agent.run_context import RunContext
from kb_schema.presentation_flows import PresentationFlow

HELPED = frozenset({"again", "back", "done"})
"""Recovery outcomes after which the step continued."""


@dataclass(slots=True)
class StepTime:
    """Duration and typed characters of one step of a segment's task."""

    step_id: str
    seconds: float
    typed: int


@dataclass(slots=True)
class SegmentObservation:
    """What happened in one segment of one pass."""

    segment_id: str
    status: SegmentStatus = SegmentStatus.STARTED
    reason: str | None = None
    mended: list[str] = field(default_factory=list)
    """Deviations from the knowledge base that were corrected by healing, another approach, or a recovery."""
    steps: list[StepTime] = field(default_factory=list)
    """Steps of the segment's own task."""
    actions: int = 0
    """Actions on the page, during navigation and in the task."""
    said: list[str] = field(default_factory=list)
    unknown_keys: dict[str, str] = field(default_factory=dict)
    """Input -> session value that was not set at that time."""


class RehearsalObserver:
    """Listens during one pass."""

    def __init__(self, flow: PresentationFlow, context: RunContext) -> None:
        self._flow, self._context = flow, context
        self._here: SegmentObservation | None = None
        self._last: SegmentObservation | None = None
        self._typed = 0
        self._depth: list[str] = []
        self.segments: dict[str, SegmentObservation] = {}

    def __call__(self, event: Event) -> None:
        """Event bus listener."""
        if isinstance(event, SegmentStarted):
            self._begin(event.segment_id)
        elif isinstance(event, SegmentEnded):
            noticed = self.segments.setdefault(event.segment_id, SegmentObservation(event.segment_id))
            noticed.status, noticed.reason = event.status, event.reason
            self._here, self._last = None, noticed
        elif self._here is not None:
            self._notice(self._here, event)
        elif isinstance(event, Narrated) and self._last is not None:
            self._last.said.append(event.text)  # the transition to the next one

    def _begin(self, segment_id: str) -> None:
        self._here = self.segments[segment_id] = SegmentObservation(segment_id)
        self._depth = []
        segment = self._flow.segment(segment_id)
        for name, rule in {} if segment is None else segment.input_mapping.items():
            key = rule.key or name
            if rule.source == ("session_context",) and rule.default is None and key not in self._known():
                self._here.unknown_keys[name] = key

    def _known(self) -> Collection[str]:
        context = self._context
        return {*context.session, *context.global_values, *context.said}

    def _notice(self, here: SegmentObservation, event: Event) -> None:
        match event:
            case Narrated(text=text):
                here.said.append(text)
            case HealTried(outcome="healed", element=element, reason=reason):
                here.mended.append(f"{element} was healed: {reason}")
            case Replanned(step_id=step_id, approach=approach, detail=detail):
                here.mended.append(f"step {step_id} used another approach: {approach} {detail}".rstrip())
            case RecoveryTried(outcome=outcome, error=error, recovery=recovery) if outcome in HELPED:
                here.mended.append(f"recovered from {error}: {recovery}")
            case Recovered(recovery_id=recovery_id, succeeded=True):
                here.mended.append(f"the recovery {recovery_id} left the page")
            case StepStarted(step_id=step_id):
                if not self._depth:
                    self._typed = 0
                self._depth.append(step_id)
            case ActionDone(args=args):
                here.actions += 1
                self._typed += len(args["value"]) if isinstance(args.get("value"), str) else 0
            case StepEnded(step_id=step_id, duration_ms=duration_ms) if step_id in self._depth:
                del self._depth[self._depth.index(step_id) :]
                if not self._depth:
                    here.steps.append(StepTime(step_id, duration_ms / 1_000, self._typed))
