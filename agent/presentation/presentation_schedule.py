"""Keeps a presentation inside its time window: decides the depth of each segment and which ones are dropped.
Pure.

Times are seconds as the audience experiences them. The durations of finished segments correct the expected
ones. When late, segments are first shortened, then dropped: optional segments before required ones, and
required ones are never dropped. When early, segments that have more content use a greater depth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kb_schema.presentation_flows import DEPTHS, Depth, PresentationFlow, Segment

LATEST_WEIGHT = 0.45
"""Weight of the last segment in the tempo, for a segment of average length."""
USUAL_S = 30.0
LEAST_RATIO, MOST_RATIO = 0.4, 2.5
"""Limit of one segment's influence on the tempo: its duration may be an exception."""
SPARE_SHARE, SPARE_S = 0.04, 2.0
"""Reserve as a share of the remaining time, and its minimum in seconds."""
FAST_FORWARD = 3.0
"""From this speed on there is no live audience: the earliest end shrinks with the speed. The latest end stays, because what
takes the site's own time does not get shorter, and nothing may be dropped for being fast."""


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Earliest and latest end in seconds from the start; None: unbounded."""

    min_s: float | None = None
    max_s: float | None = None

    @classmethod
    def from_flow(
        cls, flow: PresentationFlow, wanted_s: float | None = None, *, speed: float = 1.0
    ) -> TimeWindow:
        """Return the flow's window, or one of `wanted_s` seconds, which is used in full where there is enough
        content.
        """
        least, most = flow.duration.min, flow.duration.max or flow.duration.estimated
        if wanted_s is not None:
            least, most = min(least or 0.0, wanted_s), wanted_s
        scale = speed if speed >= FAST_FORWARD else 1.0
        return cls(None if least is None else least / scale, most)


@dataclass(frozen=True, slots=True)
class ScheduledSegment:
    """One segment as input of the schedule."""

    segment_id: str
    expected: Mapping[Depth, float]
    """Seconds by depth, at the speed of the presentation. A missing depth is not available."""
    usual: Depth
    droppable: bool
    deeper: bool = False
    """Whether the author wrote more content than the usual depth shows."""

    @property
    def shortest(self) -> Depth:
        """The depth that takes the least time."""
        return min(self.expected, key=lambda depth: (self.expected[depth], depth != self.usual))


@dataclass(frozen=True, slots=True)
class SegmentChoice:
    """What the schedule decided for one segment."""

    depth: Depth | None
    """None: the segment is dropped."""
    reason: str = ""
    """Why it differs from the authored depth; empty: it does not."""


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """Decisions for all remaining segments."""

    choices: Mapping[str, SegmentChoice]
    ends_at_s: float
    """Expected end in seconds."""
    fits: bool
    """Whether the expected end is inside the window."""


@dataclass(frozen=True, slots=True)
class Tempo:
    """Ratio of actual to expected duration of segments."""

    ratio: float = 1.0

    def after(self, expected_s: float, took_s: float) -> Tempo:
        """Return the tempo with one more observation; long segments weigh more than short ones."""
        if expected_s <= 0 or took_s <= 0:
            return self
        seen = min(MOST_RATIO, max(LEAST_RATIO, took_s / expected_s))
        weight = LATEST_WEIGHT * min(1.0, expected_s / USUAL_S)
        return replace(self, ratio=self.ratio + weight * (seen - self.ratio))


@dataclass(frozen=True, slots=True)
class Schedule:
    """The segments of a presentation in order, and which of them may be dropped."""

    parts: Sequence[ScheduledSegment]
    window: TimeWindow
    spare_first: Sequence[str] = ()
    """Segments that may be dropped, in this order (KS `segments_to_skip`). Empty: any optional segment, the
    last one first.
    """
    keep: Collection[str] = field(default_factory=frozenset)
    """Segments that are never dropped (KS `segments_to_keep`)."""

    def plan(self, following: Iterable[str], now_s: float, tempo: Tempo) -> SchedulePlan:
        """Return the decisions for the remaining segments at this second of the presentation."""
        wanted = set(following)
        parts = [part for part in self.parts if part.segment_id in wanted]
        draft = _SchedulePlanDraft(parts, now_s, tempo.ratio, self.window, self._order(parts))
        if draft.late:
            draft.shorten()
            draft.drop()
            draft.restore()
        elif draft.early:
            draft.deepen()
        return draft.plan()

    def _order(self, parts: Sequence[ScheduledSegment]) -> list[str]:
        """Return the droppable segments in the order of dropping."""
        free = {p.segment_id for p in parts if p.droppable and p.segment_id not in self.keep}
        named = [each for each in self.spare_first if each in free]
        if self.spare_first:
            return named
        return [p.segment_id for p in reversed(parts) if p.segment_id in free]


class _SchedulePlanDraft:
    """A plan under construction."""

    def __init__(
        self,
        parts: Sequence[ScheduledSegment],
        now_s: float,
        ratio: float,
        window: TimeWindow,
        order: Sequence[str],
    ) -> None:
        self._parts = {part.segment_id: part for part in parts}
        self._now, self._ratio, self._window, self._order = now_s, ratio, window, order
        self._depths: dict[str, Depth | None] = {part.segment_id: part.usual for part in parts}
        self._needed = self._rest() + self._spare
        """Seconds all remaining segments would take as authored, with the reserve."""

    def _rest(self) -> float:
        return self._ratio * sum(
            self._parts[name].expected[depth] for name, depth in self._depths.items() if depth is not None
        )

    @property
    def _spare(self) -> float:
        rest = self._rest()
        return max(SPARE_S, SPARE_SHARE * rest) if rest else 0.0

    @property
    def late(self) -> bool:
        """Whether the plan ends after the window."""
        most = self._window.max_s
        return most is not None and self._now + self._rest() + self._spare > most

    @property
    def early(self) -> bool:
        """Whether the plan ends before the window begins."""
        least = self._window.min_s
        return least is not None and self._now + self._rest() - self._spare < least

    def shorten(self) -> None:
        """Reduce depth step by step: droppable segments first, then required ones from the last."""
        required = [name for name in reversed(self._parts) if name not in self._order]
        for name in (*self._order, *required):
            while self.late and self._step(name, -1):
                pass

    def drop(self) -> None:
        """Drop segments one by one in the flow's order."""
        for name in self._order:
            if not self.late:
                return
            self._depths[name] = None

    def restore(self) -> None:
        """Take back changes that later drops made unnecessary: first restore whole segments, then depths; the
        last dropped segment comes back first.
        """
        for name in reversed(self._order):
            if self._depths[name] is None:
                self._depths[name] = self._parts[name].shortest
                if self.late:
                    self._depths[name] = None
        required = [name for name in self._parts if name not in self._order]
        for name in (*required, *reversed(self._order)):
            while self._depths[name] != self._parts[name].usual and self._deeper(name):
                pass

    def deepen(self) -> None:
        """Increase the depth of segments with more content, in order, while there is time."""
        for name, part in self._parts.items():
            while part.deeper and self.early and self._deeper(name):
                pass

    def _deeper(self, name: str) -> bool:
        """Increase a segment's depth by one level if that level exists and fits."""
        depth = self._depths[name]
        if not self._step(name, +1):
            return False
        if self.late:
            self._depths[name] = depth
            return False
        return True

    def _step(self, name: str, by: int) -> bool:
        """Change a depth by one level that changes the duration."""
        depth, expected = self._depths[name], self._parts[name].expected
        if depth is None:
            return False
        order = [each for each in DEPTHS if each in expected]
        at = order.index(depth) + by
        while 0 <= at < len(order):
            if (expected[order[at]] - expected[depth]) * by > 0:
                self._depths[name] = order[at]
                return True
            at += by
        return False

    def plan(self) -> SchedulePlan:
        """Return the current plan."""
        most = self._window.max_s
        left = "" if most is None else f"{max(0.0, most - self._now):.0f} s remain"
        choices: dict[str, SegmentChoice] = {}
        for name, depth in self._depths.items():
            part, reason = self._parts[name], ""
            if depth is None:
                reason = f"time_running_out: {left} for what would take {self._needed:.0f} s"
            elif depth != part.usual:
                less = DEPTHS.index(depth) < DEPTHS.index(part.usual)
                reason = f"depth {depth} instead of {part.usual}: " + (
                    f"{left} for what would take {self._needed:.0f} s"
                    if less
                    else f"spare time: the window begins at {self._window.min_s:.0f} s"
                )
            choices[name] = SegmentChoice(depth, reason)
        return SchedulePlan(choices, self._now + self._rest(), not (self.late or self.early))


def build_schedule(
    flow: PresentationFlow,
    window: TimeWindow,
    *,
    speed: float = 1.0,
    observed: Mapping[str, float] | None = None,
) -> Schedule:
    """Return a flow's schedule. `observed`: segment -> seconds it took in earlier presentations, at speed 1
    and as authored.
    """
    path = flow.fallback("time_running_out")
    return Schedule(
        parts=[
            build_scheduled_segment(segment, speed, (observed or {}).get(segment.segment_id))
            for segment in flow.ordered_segments
        ],
        window=window,
        spare_first=path.segments_to_skip if path is not None else (),
        keep=frozenset(path.segments_to_keep) if path is not None else frozenset(),
    )


def build_scheduled_segment(
    segment: Segment, speed: float, observed_s: float | None = None
) -> ScheduledSegment:
    """Return a segment as input of the schedule, its authored durations scaled by the observed one."""
    usual = segment.authored_depth
    authored = segment.expected(usual)
    scale = (observed_s / authored if observed_s and authored > 0 else 1.0) / speed
    level = DEPTHS.index(usual)
    deeper = [
        each
        for each in DEPTHS[level + 1 :]
        if each in segment.depths or any(hook.depth == each for hook in segment.narrative_hooks)
    ]
    told = (*DEPTHS[: level + 1], *deeper)
    return ScheduledSegment(
        segment.segment_id,
        {depth: segment.expected(depth) * scale for depth in told},
        usual,
        segment.droppable,
        bool(deeper),
    )
