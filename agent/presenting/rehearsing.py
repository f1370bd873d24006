"""What a rehearsal goes through: walks through a flow that between them take every branch of it.

Pure: a walk is the flow itself with its choices made. Carrying one out is `periplus.rehearsing`, what was
noticed on the way `agent.presenting.noticing`, what of it is a risk `agent.presenting.risks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kb_schema.presentation import PresentationFlow, Segment, SegmentTransition

WalkKind = Literal["branches", "shortest", "failing", "interrupted"]
MISSING_TASK = "rehearsed_failure"
"""No knowledge base has a task of that name: a segment that asks for it fails before anything is done."""


@dataclass(frozen=True, slots=True)
class Side:
    """One way out of a segment."""

    from_segment: str
    to_segment: str
    holds: bool
    """Whether the transition's condition does; True where it has none."""

    @property
    def told(self) -> str:
        """For a person to read."""
        return f"{self.from_segment} -> {self.to_segment}" + ("" if self.holds else " (condition fails)")


Choose = Callable[[Sequence[Side]], Side]
"""Picks one of the ways out of a segment."""


@dataclass(frozen=True, slots=True)
class Walk:
    """One pass through the flow."""

    name: str
    kind: WalkKind
    flow: PresentationFlow
    """With the choices made: what it shows is every segment that is in it and reached."""
    shows: tuple[str, ...]
    """The segments that are told, in their order."""
    sides: tuple[Side, ...]
    """Of the transitions with a choice, those that are taken."""
    fails: str | None = None
    """The segment that is made to fail."""


def plan_walks(flow: PresentationFlow) -> tuple[Walk, ...]:
    """The walks of a rehearsal: one through as much as can be told in one go, more until every side of every
    condition was taken, one with the required segments alone, one in which a segment fails, and one in which
    a visitor keeps interrupting.
    """
    graph = _Graph(flow)
    walks = [_walk(flow, "everything", graph.route(graph.nearest))]
    taken = set(walks[0].sides)
    for side in graph.sides:
        if side in taken or side.from_segment not in graph.reachable:
            continue
        walk = _walk(flow, side.told, graph.route(graph.towards(side, taken)))
        walks.append(walk)
        taken |= set(walk.sides)
    walks += _shortest(flow)
    walks += _failing(flow)
    walks += _interrupted(flow)
    return tuple(walks)


def unreached(flow: PresentationFlow) -> tuple[str, ...]:
    """Segments that no walk comes to, whatever its conditions."""
    graph = _Graph(flow)
    return tuple(s.segment_id for s in flow.ordered_segments if s.segment_id not in graph.reachable)


class _Graph:
    """The flow's segments and the ways between them, which only lead forwards."""

    def __init__(self, flow: PresentationFlow) -> None:
        self._ids = [segment.segment_id for segment in flow.ordered_segments]
        self._ways: dict[str, tuple[Side, ...]] = {}
        for index, here in enumerate(self._ids):
            transition = next((t for t in reversed(flow.transitions) if t.from_segment == here), None)
            self._ways[here] = tuple(self._sides(index, transition))

    def _sides(self, index: int, transition: SegmentTransition | None) -> Iterator[Side]:
        """As the player goes: to a later segment, else to the next."""
        if index + 1 >= len(self._ids):
            return
        here = self._ids[index]
        wanted = None if transition is None else transition.to_segment
        yield Side(here, self._later(wanted, index), holds=True)
        if transition is not None and transition.type == "conditional":
            yield Side(here, self._later(transition.fallback_segment, index), holds=False)

    def _later(self, wanted: str | None, index: int) -> str:
        return wanted if wanted in self._ids[index + 1 :] else self._ids[index + 1]

    @property
    def sides(self) -> Iterator[Side]:
        """Of transitions with a choice."""
        return (side for ways in self._ways.values() if len(ways) > 1 for side in ways)

    @property
    def reachable(self) -> frozenset[str]:
        """Segments that some walk comes to."""
        found = {self._ids[0]}
        for here in self._ids:
            if here in found:
                found |= {side.to_segment for side in self._ways[here]}
        return frozenset(found)

    def nearest(self, ways: Sequence[Side]) -> Side:
        """The way that leaves out least."""
        return min(ways, key=lambda side: self._ids.index(side.to_segment))

    def towards(self, wanted: Side, taken: set[Side]) -> Choose:
        """Choose so that the walk takes `wanted`, and afterwards what was not taken yet."""
        leading = self._leading(wanted.from_segment)

        def choose(ways: Sequence[Side]) -> Side:
            if wanted in ways:
                return wanted
            before = [side for side in ways if side.to_segment in leading]
            if before:
                return self.nearest(before)
            return self.nearest([side for side in ways if side not in taken] or ways)

        return choose

    def _leading(self, goal: str) -> frozenset[str]:
        """The segments from which one can come to `goal`, itself included."""
        found = {goal}
        for here in reversed(self._ids):
            if any(side.to_segment in found for side in self._ways[here]):
                found.add(here)
        return frozenset(found)

    def route(self, choose: Choose) -> list[Side]:
        """From the first segment to the last."""
        here, sides = self._ids[0], list[Side]()
        while ways := self._ways[here]:
            sides.append(choose(ways) if len(ways) > 1 else ways[0])
            here = sides[-1].to_segment
        return sides

    def choices(self, sides: Sequence[Side]) -> tuple[Side, ...]:
        """Those of them that were a choice."""
        return tuple(side for side in sides if len(self._ways[side.from_segment]) > 1)


def _walk(flow: PresentationFlow, name: str, route: list[Side]) -> Walk:
    first = flow.ordered_segments[0].segment_id
    shows = (first, *(side.to_segment for side in route))
    return Walk(name, "branches", _decided(flow, route), shows, _Graph(flow).choices(route))


def _decided(flow: PresentationFlow, route: Sequence[Side]) -> PresentationFlow:
    """The flow with its choices made, its clock stopped, and nothing left out for other reasons."""
    by_segment: Mapping[str, Side] = {side.from_segment: side for side in route}
    transitions = [
        transition.model_copy(
            update={
                "to_segment": side.to_segment,
                "type": "sequential" if transition.type == "conditional" else transition.type,
                "condition": None,
                "narration_template": transition.narration_template if side.holds else "",
            }
        )
        for transition in flow.transitions
        if (side := by_segment.get(transition.from_segment)) is not None
    ]
    return _unhurried(flow).model_copy(update={"transitions": tuple(transitions)})


def _unhurried(flow: PresentationFlow) -> PresentationFlow:
    """Without a clock, and without reasons to leave anything out."""
    segments = tuple(s.model_copy(update={"skip_conditions": ()}) for s in flow.segments)
    window = flow.duration.model_copy(update={"estimated": None, "min": None, "max": None})
    return flow.model_copy(update={"segments": segments, "duration": window})


def _shortest(flow: PresentationFlow) -> Iterator[Walk]:
    """What is left where time runs out: it must do without all that the others gave."""
    kept = tuple(s for s in flow.ordered_segments if not s.droppable)
    if 0 < len(kept) < len(flow.segments):
        yield _of(flow, "required segments alone", "shortest", kept)


def _failing(flow: PresentationFlow) -> Iterator[Walk]:
    """One optional segment fails, as early as can be: the others must do without it."""
    paths = [path for path in flow.fallback_paths if path.condition == "segment_failed"]
    named = {segment_id for path in paths for segment_id in path.segments_to_skip}
    candidates = [s for s in flow.ordered_segments if s.type == "task_execution" and s.droppable]
    failing = next((s for s in candidates if s.segment_id in named), next(iter(candidates), None))
    if failing is None:
        return
    broken = failing.model_copy(update={"task_id": MISSING_TASK, "input_mapping": {}})
    segments = tuple(
        broken if s is failing else s for s in flow.ordered_segments if not s.droppable or s is failing
    )
    wanted = flow.fallback("segment_failed", failing.segment_id)
    if wanted is not None and wanted.action == "stop":
        segments = segments[: segments.index(broken) + 1]
    yield _of(flow, f"{failing.segment_id} fails", "failing", segments, fails=failing.segment_id)


def _interrupted(flow: PresentationFlow) -> Iterator[Walk]:
    """A visitor speaks up in every segment and wants nothing: the story goes on where it was."""
    if flow.fallback("user_interrupts") is not None:
        kept = tuple(s for s in flow.ordered_segments if not s.droppable)
        yield _of(flow, "a visitor interrupts", "interrupted", kept or flow.ordered_segments)


def _of(
    flow: PresentationFlow,
    name: str,
    kind: WalkKind,
    segments: Sequence[Segment],
    fails: str | None = None,
) -> Walk:
    told = _unhurried(flow.model_copy(update={"segments": tuple(segments), "transitions": ()}))
    return Walk(name, kind, told, tuple(s.segment_id for s in segments), (), fails)
