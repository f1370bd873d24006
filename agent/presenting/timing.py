"""One show's time: what is left of its window, and what that allows (`agent.presenting.scheduling`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from agent.presenting.scheduling import Choice, Tempo, Window, schedule_of
from agent.presenting.telling import Telling
from kb_schema.presentation import Depth, PresentationFlow, Segment


class Timing:
    """Keeps one flow's show in its window."""

    def __init__(
        self,
        flow: PresentationFlow,
        telling: Telling,
        clock: Callable[[], float],
        *,
        speed: float,
        window_s: float | None = None,
        observed: Mapping[str, float] | None = None,
    ) -> None:
        """The show begins now. `window_s`: seconds it is to take, instead of the flow's own window.

        `observed`: segment -> seconds it took in earlier shows, at speed 1 and as authored.
        """
        self._flow, self._telling, self._clock = flow, telling, clock
        self._observed = observed
        self.window = Window.of(flow, window_s, speed=speed)
        self.tempo = Tempo()
        self._began = clock()
        self._part_began = self._attended = 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the show began."""
        return self._clock() - self._began

    @property
    def remaining_s(self) -> float | None:
        """What is left of the window, as seconds at speed 1, in which knowledge is authored; None: no end."""
        most = self.window.max_s
        if most is None:
            return None
        return (most - self.elapsed_s) * (1.0 if self._telling.instant else self._telling.speed)

    def choose(self, segment: Segment, following: Sequence[str]) -> Choice:
        """What becomes of a segment, in view of all that are still to come (it is the first of them)."""
        if self._telling.instant:
            return Choice(segment.told_at)
        schedule = schedule_of(self._flow, self.window, speed=self._telling.speed, observed=self._observed)
        return schedule.plan(following, self.elapsed_s, self.tempo).choices[segment.segment_id]

    def begin(self) -> None:
        """A segment begins."""
        self._part_began, self._attended = self._clock(), self._telling.attended_s

    def ended(self, segment: Segment, depth: Depth) -> None:
        """It was told to its end, and what leads to the next one, too: what visitors took does not count."""
        if self._telling.instant:
            return
        attended = self._telling.attended_s - self._attended
        took = self._clock() - self._part_began - attended
        schedule = schedule_of(self._flow, self.window, speed=self._telling.speed, observed=self._observed)
        part = next(each for each in schedule.parts if each.segment_id == segment.segment_id)
        self.tempo = self.tempo.after(part.expected.get(depth, part.expected[part.usual]), took)
