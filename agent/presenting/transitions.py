"""From one segment to the next: transitions, their conditions and fallbacks, and reasons to pass one over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.engine.calls import fill_condition
from agent.errors import StepFailed
from agent.presenting.timing import Timing
from agent.session import Session
from kb_schema.conditions import BaseCondition, UserInterest
from kb_schema.presentation import PresentationFlow, Segment, SegmentTransition
from kb_schema.probes import Facts, Status, Verdict, unknown


@dataclass(frozen=True, slots=True)
class Way:
    """Where the story goes on."""

    index: int
    """Of the segment; as many as there are segments: the story is over."""
    reason: str = ""
    """Why segments between are passed over."""
    transition: SegmentTransition | None = None
    """Whose words lead there; None: nothing is said."""


class Ways:
    """Finds the way through one flow."""

    def __init__(
        self,
        session: Session,
        flow: PresentationFlow,
        timing: Timing,
        words: Callable[[], Mapping[str, Any]],
    ) -> None:
        """`timing`: of the show; `words`: the values that knowledge may name."""
        self._session, self._timing, self._words = session, timing, words
        self._transitions = flow.transitions
        self._segments = flow.ordered_segments

    async def after(self, index: int) -> Way:
        """The segment after that one (KS 4.5).

        Only ever forwards, whatever the knowledge says: no segment is told twice on its word.
        """
        following, here = index + 1, self._segments[index].segment_id
        transition = next((t for t in reversed(self._transitions) if t.from_segment == here), None)
        if transition is None or following >= len(self._segments):
            return Way(following)
        reason = f"the transition from {here} leads past it"
        if transition.type == "conditional" and transition.condition is not None:
            condition = transition.condition
            (verdict,) = await self._judge([condition])
            reason = self._redacted(f"{condition.type}: {verdict.evidence}")
            # In a demo without a visitor nobody can say what interests them, and a story with all
            # its parts is better than one without: not said counts as interested. Any other
            # condition that cannot be told does not hold.
            unsaid = isinstance(condition, UserInterest) and verdict.status is Status.UNKNOWN
            if not verdict.held and not unsaid:
                return Way(self._later(transition.fallback_segment, index), reason)
        return Way(self._later(transition.to_segment, index), reason, transition)

    async def reason_to_skip(self, segment: Segment) -> str | None:
        """Which of its own conditions says to pass it over; None: none, or it always is shown."""
        if not segment.droppable:
            return None
        verdicts = await self._judge(segment.skip_conditions)
        for condition, verdict in zip(segment.skip_conditions, verdicts, strict=True):
            if verdict.held:
                return self._redacted(f"{condition.type}: {verdict.evidence}")
        return None

    async def _judge(self, conditions: Sequence[BaseCondition]) -> list[Verdict]:
        """How the flow's own conditions come out, its clock among the facts."""
        values = self._words()
        facts = Facts(remaining_seconds=self._timing.remaining_s)
        verdicts: list[Verdict] = []
        for condition in conditions:
            try:
                verdicts += await self._session.judge([fill_condition(condition, values)], values, facts)
            except StepFailed as exc:  # a value nobody has given yet: it cannot be told
                verdicts.append(unknown(str(exc)))
        return verdicts

    def _later(self, wanted: str | None, index: int) -> int:
        """The index of the wanted segment; of the next one where it is none, or not a later one."""
        segments, following = self._segments, index + 1
        return next(
            (i for i in range(following, len(segments)) if segments[i].segment_id == wanted), following
        )

    def _redacted(self, text: str) -> str:
        return str(self._session.context.redact(text))
