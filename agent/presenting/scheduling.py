"""Keeping a show inside its window: what is told at which depth, and what is left out. Pure.

Times are seconds of the show as its audience lives them. What segments are expected to take is corrected by
what this show's segments took so far. Told late, everything is shortened before anything is dropped, what the
flow can spare before what it cannot, and what is required is never dropped; told early, what has more to say
says it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kb_schema.presentation import DEPTHS, Depth, PresentationFlow, Segment

LATEST_WEIGHT = 0.45
"""Of the last segment in the pace that is reckoned with, for one of usual length."""
USUAL_S = 30.0
LEAST_RATIO, MOST_RATIO = 0.4, 2.5
"""One segment says no more than that about the next ones: it may have met with something singular."""
SPARE_SHARE, SPARE_S = 0.04, 2.0
"""Of what is still to come, what is kept free for surprises, and at least that much."""
FAST_FORWARD = 3.0
"""From this speed on nobody watches along: the window shrinks with it."""


@dataclass(frozen=True, slots=True)
class Window:
    """When a show is to be over, in seconds from its start; None: no bound."""

    min_s: float | None = None
    max_s: float | None = None

    @classmethod
    def of(cls, flow: PresentationFlow, wanted_s: float | None = None, *, speed: float = 1.0) -> Window:
        """A flow's own, or one of `wanted_s` seconds: as far as there is room in it, all of it is used."""
        least, most = flow.duration.min, flow.duration.max or flow.duration.estimated
        if wanted_s is not None:
            least, most = min(least or 0.0, wanted_s), wanted_s
        scale = speed if speed >= FAST_FORWARD else 1.0
        return cls(None if least is None else least / scale, None if most is None else most / scale)


@dataclass(frozen=True, slots=True)
class Part:
    """One segment as the schedule sees it."""

    segment_id: str
    expected: Mapping[Depth, float]
    """Seconds by depth, at the show's speed. A depth that is not there cannot be told."""
    usual: Depth
    droppable: bool
    deeper: bool = False
    """Whether there is more to say of it than usual, written down by its author."""

    @property
    def shortest(self) -> Depth:
        """The depth at which it takes least time."""
        return min(self.expected, key=lambda depth: (self.expected[depth], depth != self.usual))


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to become of a segment."""

    depth: Depth | None
    """None: it is left out."""
    reason: str = ""
    """Why it is not told as it was authored; empty: it is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of everything that is still to come."""

    choices: Mapping[str, Choice]
    ends_at_s: float
    """When the show is expected to be over."""
    fits: bool
    """Whether that is inside the window."""


@dataclass(frozen=True, slots=True)
class Tempo:
    """How long segments take compared with what is expected of them."""

    ratio: float = 1.0

    def after(self, expected_s: float, took_s: float) -> Tempo:
        """With one more segment observed: a long one says more about the next than a short one."""
        if expected_s <= 0 or took_s <= 0:
            return self
        seen = min(MOST_RATIO, max(LEAST_RATIO, took_s / expected_s))
        weight = LATEST_WEIGHT * min(1.0, expected_s / USUAL_S)
        return replace(self, ratio=self.ratio + weight * (seen - self.ratio))


@dataclass(frozen=True, slots=True)
class Schedule:
    """The parts of a show in their order, and what may go first."""

    parts: Sequence[Part]
    window: Window
    spare_first: Sequence[str] = ()
    """Segments that may go, the first of them first (KS `segments_to_skip`). Empty: any that may be left out,
    the latest first."""
    keep: Collection[str] = field(default_factory=frozenset)
    """Segments that stay whatever happens (KS `segments_to_keep`)."""

    def plan(self, following: Iterable[str], now_s: float, tempo: Tempo) -> Plan:
        """What becomes of the segments that follow, at this second of the show."""
        wanted = set(following)
        parts = [part for part in self.parts if part.segment_id in wanted]
        draft = _Draft(parts, now_s, tempo.ratio, self.window, self._order(parts))
        if draft.late:
            draft.shorten()
            draft.drop()
            draft.restore()
        elif draft.early:
            draft.deepen()
        return draft.plan()

    def _order(self, parts: Sequence[Part]) -> list[str]:
        """What may be dropped, in the order in which it goes."""
        free = {p.segment_id for p in parts if p.droppable and p.segment_id not in self.keep}
        named = [each for each in self.spare_first if each in free]
        if self.spare_first:
            return named
        return [p.segment_id for p in reversed(parts) if p.segment_id in free]


class _Draft:
    """A plan while it is made."""

    def __init__(
        self, parts: Sequence[Part], now_s: float, ratio: float, window: Window, order: Sequence[str]
    ) -> None:
        self._parts = {part.segment_id: part for part in parts}
        self._now, self._ratio, self._window, self._order = now_s, ratio, window, order
        self._depths: dict[str, Depth | None] = {part.segment_id: part.usual for part in parts}
        self._needed = self._rest()
        """What everything that is to come would take, as it was authored."""

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
        """Whether it would be over after the window's end."""
        most = self._window.max_s
        return most is not None and self._now + self._rest() + self._spare > most

    @property
    def early(self) -> bool:
        """Whether it would be over before the window begins."""
        least = self._window.min_s
        return least is not None and self._now + self._rest() - self._spare < least

    def shorten(self) -> None:
        """Fewer words, one depth at a time: first of what could be dropped, then of what is required, from
        its end.
        """
        required = [name for name in reversed(self._parts) if name not in self._order]
        for name in (*self._order, *required):
            while self.late and self._step(name, -1):
                pass

    def drop(self) -> None:
        """One segment after the other, as the flow says."""
        for name in self._order:
            if not self.late:
                return
            self._depths[name] = None

    def restore(self) -> None:
        """What went before it was clear that something else goes, too: whole segments first, then their
        depth, and what was to go last comes back first.
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
        """What has more to say says it, in the order of the story, as long as there is time for it."""
        for name, part in self._parts.items():
            while part.deeper and self.early and self._deeper(name):
                pass

    def _deeper(self, name: str) -> bool:
        """One depth more, if there is one and time for it."""
        depth = self._depths[name]
        if not self._step(name, +1):
            return False
        if self.late:
            self._depths[name] = depth
            return False
        return True

    def _step(self, name: str, by: int) -> bool:
        """One depth less or more, where that changes how long it takes."""
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

    def plan(self) -> Plan:
        """The plan as it stands."""
        most = self._window.max_s
        left = "" if most is None else f"{max(0.0, most - self._now):.0f} s remain"
        choices: dict[str, Choice] = {}
        for name, depth in self._depths.items():
            part, reason = self._parts[name], ""
            if depth is None:
                reason = f"time_running_out: {left} for what would take {self._needed:.0f} s"
            elif depth != part.usual:
                less = DEPTHS.index(depth) < DEPTHS.index(part.usual)
                reason = f"told as {depth} instead of {part.usual}: " + (
                    f"{left} for what would take {self._needed:.0f} s"
                    if less
                    else f"there is time: the window begins at {self._window.min_s:.0f} s"
                )
            choices[name] = Choice(depth, reason)
        return Plan(choices, self._now + self._rest(), not (self.late or self.early))


def schedule_of(
    flow: PresentationFlow,
    window: Window,
    *,
    speed: float = 1.0,
    observed: Mapping[str, float] | None = None,
) -> Schedule:
    """A flow's schedule. `observed`: segment -> seconds it took in earlier shows, at speed 1 and as authored."""
    path = flow.fallback("time_running_out")
    return Schedule(
        parts=[
            part_of(segment, speed, (observed or {}).get(segment.segment_id))
            for segment in flow.ordered_segments
        ],
        window=window,
        spare_first=path.segments_to_skip if path is not None else (),
        keep=frozenset(path.segments_to_keep) if path is not None else frozenset(),
    )


def part_of(segment: Segment, speed: float, observed_s: float | None = None) -> Part:
    """A segment to the schedule: authored durations, in proportion to what was observed."""
    usual = segment.told_at
    authored = segment.expected(usual)
    scale = (observed_s / authored if observed_s and authored > 0 else 1.0) / speed
    level = DEPTHS.index(usual)
    deeper = [
        each
        for each in DEPTHS[level + 1 :]
        if each in segment.depths or any(hook.depth == each for hook in segment.narrative_hooks)
    ]
    told = (*DEPTHS[: level + 1], *deeper)
    return Part(
        segment.segment_id,
        {depth: segment.expected(depth) * scale for depth in told},
        usual,
        segment.droppable,
        bool(deeper),
    )
