"""Time budget of one presentation: the remaining time and the depth it allows
(`agent.presentation.presentation_schedule`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from agent.presentation.narration.interruptible_narrator import InterruptibleNarrator
from agent.presentation.presentation_schedule import SegmentChoice, Tempo, TimeWindow, build_schedule
from kb_schema.presentation_flows import Depth, PresentationFlow, Segment


class TimeBudget:
    """Keeps one flow's presentation inside its time window."""

    def __init__(
        self,
        flow: PresentationFlow,
        narration: InterruptibleNarrator,
        clock: Callable[[], float],
        *,
        speed: float,
        window_s: float | None = None,
        observed: Mapping[str, float] | None = None,
    ) -> None:
        """Start the clock. `window_s`: target duration in seconds, instead of the flow's own window.

        `observed`: segment -> seconds it took in earlier presentations, at speed 1 and as authored.
        """
        self._flow, self._narration, self._clock = flow, narration, clock
        self._observed = observed
        self.window = TimeWindow.from_flow(flow, window_s, speed=speed)
        self.tempo = Tempo()
        self._began = clock()
        self._part_began = self._attended = 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the presentation began."""
        return self._clock() - self._began

    @property
    def remaining_s(self) -> float | None:
        """Remaining seconds of the window at speed 1, as authored durations are; None: unbounded."""
        most = self.window.max_s
        if most is None:
            return None
        return (most - self.elapsed_s) * (1.0 if self._narration.instant else self._narration.speed)

    def choose(self, segment: Segment, following: Sequence[str]) -> SegmentChoice:
        """Decide about a segment, given all remaining ones, of which it is the first."""
        if self._narration.instant:
            return SegmentChoice(segment.authored_depth)
        schedule = build_schedule(
            self._flow, self.window, speed=self._narration.speed, observed=self._observed
        )
        return schedule.plan(following, self.elapsed_s, self.tempo).choices[segment.segment_id]

    def begin(self) -> None:
        """Note the start of a segment."""
        self._part_began, self._attended = self._clock(), self._narration.attended_s

    def ended(self, segment: Segment, depth: Depth) -> None:
        """Note the end of a segment and its transition. Time spent on visitors does not count."""
        if self._narration.instant:
            return
        attended = self._narration.attended_s - self._attended
        took = self._clock() - self._part_began - attended
        schedule = build_schedule(
            self._flow, self.window, speed=self._narration.speed, observed=self._observed
        )
        part = next(each for each in schedule.parts if each.segment_id == segment.segment_id)
        self.tempo = self.tempo.after(part.expected.get(depth, part.expected[part.usual]), took)
