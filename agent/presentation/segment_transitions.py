"""Selects the next segment: transitions, their conditions and fallbacks, and skip conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.errors import StepFailed
from agent.execution.call_templates import fill_condition
from agent.presentation.time_budget import TimeBudget
from agent.session import Session
from kb_schema.conditions import BaseCondition, UserInterest
from kb_schema.presentation_flows import PresentationFlow, Segment, SegmentTransition
from kb_schema.probes import ProbeFacts, Verdict, VerdictStatus, unknown


@dataclass(frozen=True, slots=True)
class NextSegment:
    """The segment to continue with."""

    index: int
    """Index of the segment; equal to the number of segments at the end of the flow."""
    reason: str = ""
    """Why the segments in between are skipped."""
    transition: SegmentTransition | None = None
    """The transition whose narration is spoken; None: no narration."""


class SegmentTransitions:
    """Selects the next segments of one flow."""

    def __init__(
        self,
        session: Session,
        flow: PresentationFlow,
        timing: TimeBudget,
        words: Callable[[], Mapping[str, Any]],
    ) -> None:
        """`timing`: time budget of the presentation; `words`: the values that conditions may refer to."""
        self._session, self._timing, self._words = session, timing, words
        self._transitions = flow.transitions
        self._segments = flow.ordered_segments

    async def after(self, index: int) -> NextSegment:
        """Return the segment after the one at `index` (KS 4.5).

        Only later segments are selected, even if the knowledge base says otherwise, so that no transition
        repeats a segment.
        """
        following, here = index + 1, self._segments[index].segment_id
        transition = next((t for t in reversed(self._transitions) if t.from_segment == here), None)
        if transition is None or following >= len(self._segments):
            return NextSegment(following)
        reason = f"skipped by the transition from {here}"
        if transition.type == "conditional" and transition.condition is not None:
            condition = transition.condition
            (verdict,) = await self._judge([condition])
            reason = self._redacted(f"{condition.type}: {verdict.evidence}")
            # Without a visitor the interests are unknown, and a complete presentation is better than one
            # with gaps. So an unknown interest counts as interest. Any other condition with an unknown
            # verdict counts as not met.
            unsaid = isinstance(condition, UserInterest) and verdict.status is VerdictStatus.UNKNOWN
            if not verdict.held and not unsaid:
                return NextSegment(self._later(transition.fallback_segment, index), reason)
        return NextSegment(self._later(transition.to_segment, index), reason, transition)

    async def reason_to_skip(self, segment: Segment) -> str | None:
        """Return why one of a segment's skip conditions skips it; None: no condition does, or it is always
        shown.
        """
        if not segment.droppable:
            return None
        verdicts = await self._judge(segment.skip_conditions)
        for condition, verdict in zip(segment.skip_conditions, verdicts, strict=True):
            if verdict.held:
                return self._redacted(f"{condition.type}: {verdict.evidence}")
        return None

    async def _judge(self, conditions: Sequence[BaseCondition]) -> list[Verdict]:
        """Evaluate conditions of the flow, including those on the remaining time."""
        values = self._words()
        facts = ProbeFacts(remaining_seconds=self._timing.remaining_s)
        verdicts: list[Verdict] = []
        for condition in conditions:
            try:
                verdicts += await self._session.judge([fill_condition(condition, values)], values, facts)
            except StepFailed as exc:  # a value is missing, so the verdict is unknown
                verdicts.append(unknown(str(exc)))
        return verdicts

    def _later(self, wanted: str | None, index: int) -> int:
        """Return the index of the wanted segment, or of the next one if the wanted one is unknown or not
        later.
        """
        segments, following = self._segments, index + 1
        return next(
            (i for i in range(following, len(segments)) if segments[i].segment_id == wanted), following
        )

    def _redacted(self, text: str) -> str:
        return str(self._session.context.redact(text))
