"""What there is to notice while a walk of a rehearsal is carried out: per segment, without judging it.

A listener of the session's bus. What of it is a risk is `agent.presenting.risks`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from agent.context import Context
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
from agent.presenting.records import Narrated, SegmentEnded, SegmentStarted, SegmentStatus
from kb_schema.presentation import PresentationFlow

HELPED = frozenset({"again", "back", "done"})
"""Outcomes of a recovery after which the step went on."""


@dataclass(slots=True)
class StepTime:
    """How long one step of a segment's task took, and how much was typed in it."""

    step_id: str
    seconds: float
    typed: int


@dataclass(slots=True)
class Noticed:
    """One segment of one walk."""

    segment_id: str
    status: SegmentStatus = SegmentStatus.STARTED
    reason: str | None = None
    mended: list[str] = field(default_factory=list)
    """What did not work as it is known and was put right: by healing, another approach, a recovery."""
    steps: list[StepTime] = field(default_factory=list)
    """Of the segment's own task."""
    actions: int = 0
    """What was done on the page, on the way there and in its task."""
    said: list[str] = field(default_factory=list)
    unknown_keys: dict[str, str] = field(default_factory=dict)
    """Input -> session value that nobody had put there by then."""


class Noticing:
    """Listens while one walk goes on."""

    def __init__(self, flow: PresentationFlow, context: Context) -> None:
        self._flow, self._context = flow, context
        self._here: Noticed | None = None
        self._last: Noticed | None = None
        self._typed = 0
        self._depth: list[str] = []
        self.segments: dict[str, Noticed] = {}

    def __call__(self, event: Event) -> None:
        """The bus's listener."""
        if isinstance(event, SegmentStarted):
            self._begin(event.segment_id)
        elif isinstance(event, SegmentEnded):
            noticed = self.segments.setdefault(event.segment_id, Noticed(event.segment_id))
            noticed.status, noticed.reason = event.status, event.reason
            self._here, self._last = None, noticed
        elif self._here is not None:
            self._notice(self._here, event)
        elif isinstance(event, Narrated) and self._last is not None:
            self._last.said.append(event.text)  # what leads to the next one

    def _begin(self, segment_id: str) -> None:
        self._here = self.segments[segment_id] = Noticed(segment_id)
        self._depth = []
        segment = self._flow.segment(segment_id)
        for name, rule in {} if segment is None else segment.input_mapping.items():
            key = rule.key or name
            if rule.source == ("session_context",) and rule.default is None and key not in self._known():
                self._here.unknown_keys[name] = key

    def _known(self) -> Collection[str]:
        context = self._context
        return {*context.session, *context.global_values, *context.said}

    def _notice(self, here: Noticed, event: Event) -> None:
        match event:
            case Narrated(text=text):
                here.said.append(text)
            case HealTried(outcome="healed", element=element, reason=reason):
                here.mended.append(f"{element} was found again: {reason}")
            case Replanned(step_id=step_id, approach=approach, detail=detail):
                here.mended.append(f"step {step_id} was tried another way: {approach} {detail}".rstrip())
            case RecoveryTried(outcome=outcome, error=error, recovery=recovery) if outcome in HELPED:
                here.mended.append(f"{error} was recovered from: {recovery}")
            case Recovered(recovery_id=recovery_id, succeeded=True):
                here.mended.append(f"the page was left by the recovery {recovery_id}")
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
