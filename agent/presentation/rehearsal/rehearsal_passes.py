"""Plans the passes of a rehearsal: together they take every branch of a flow.

Pure: a pass is the flow with fixed choices. `periplus.demos.demo_rehearsal` carries the passes out,
`rehearsal_observations` records what happens, and `presentation_risks` evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kb_schema.presentation_flows import PresentationFlow, Segment, SegmentTransition

RehearsalPassKind = Literal["branches", "shortest", "failing", "interrupted"]
MISSING_TASK = "rehearsed_failure"
"""A task id that no knowledge base has: the segment fails before any action."""


@dataclass(frozen=True, slots=True)
class SegmentBranch:
    """One outcome of a transition with a condition."""

    from_segment: str
    to_segment: str
    holds: bool
    """Whether the transition's condition holds; True if it has none."""

    @property
    def description(self) -> str:
        """Description for display."""
        return f"{self.from_segment} -> {self.to_segment}" + ("" if self.holds else " (condition fails)")


BranchChooser = Callable[[Sequence[SegmentBranch]], SegmentBranch]
"""Selects one of the branches of a segment."""


@dataclass(frozen=True, slots=True)
class RehearsalPass:
    """One pass through the flow."""

    name: str
    kind: RehearsalPassKind
    flow: PresentationFlow
    """The flow with fixed choices: every reachable segment is shown."""
    shows: tuple[str, ...]
    """Segments that are shown, in order."""
    sides: tuple[SegmentBranch, ...]
    """Branches taken, of transitions that have a choice."""
    fails: str | None = None
    """The segment that is made to fail."""


def plan_passes(flow: PresentationFlow) -> tuple[RehearsalPass, ...]:
    """Return the passes of a rehearsal.

    The first one shows as much as possible. More follow until every branch of every condition was taken.
    Then: the required segments alone, one failing segment, and a visitor who keeps interrupting.
    """
    graph = _SegmentGraph(flow)
    passes = [_build_branch_pass(flow, "everything", graph.route(graph.nearest))]
    taken = set(passes[0].sides)
    for side in graph.sides:
        if side in taken or side.from_segment not in graph.reachable:
            continue
        rehearsal_pass = _build_branch_pass(flow, side.description, graph.route(graph.towards(side, taken)))
        passes.append(rehearsal_pass)
        taken |= set(rehearsal_pass.sides)
    passes += _plan_required_pass(flow)
    passes += _plan_failing_pass(flow)
    passes += _plan_interrupted_pass(flow)
    return tuple(passes)


def find_unreached_segments(flow: PresentationFlow) -> tuple[str, ...]:
    """Return the segments that no pass can reach, whatever its conditions."""
    graph = _SegmentGraph(flow)
    return tuple(s.segment_id for s in flow.ordered_segments if s.segment_id not in graph.reachable)


class _SegmentGraph:
    """The flow's segments and the transitions between them, which only lead forwards."""

    def __init__(self, flow: PresentationFlow) -> None:
        self._ids = [segment.segment_id for segment in flow.ordered_segments]
        self._branches: dict[str, tuple[SegmentBranch, ...]] = {}
        for index, current in enumerate(self._ids):
            transition = next((t for t in reversed(flow.transitions) if t.from_segment == current), None)
            self._branches[current] = tuple(self._list_branches(index, transition))

    def _list_branches(self, index: int, transition: SegmentTransition | None) -> Iterator[SegmentBranch]:
        """Return the target as the player selects it: a later segment, otherwise the next one."""
        if index + 1 >= len(self._ids):
            return
        current = self._ids[index]
        wanted = None if transition is None else transition.to_segment
        yield SegmentBranch(current, self._resolve_target(wanted, index), holds=True)
        if transition is not None and transition.type == "conditional":
            yield SegmentBranch(
                current, self._resolve_target(transition.fallback_segment, index), holds=False
            )

    def _resolve_target(self, wanted: str | None, index: int) -> str:
        return wanted if wanted in self._ids[index + 1 :] else self._ids[index + 1]

    @property
    def sides(self) -> Iterator[SegmentBranch]:
        """Branches of transitions with a choice."""
        return (side for branches in self._branches.values() if len(branches) > 1 for side in branches)

    @property
    def reachable(self) -> frozenset[str]:
        """Segments that some pass reaches."""
        found = {self._ids[0]}
        for current in self._ids:
            if current in found:
                found |= {side.to_segment for side in self._branches[current]}
        return frozenset(found)

    def nearest(self, branches: Sequence[SegmentBranch]) -> SegmentBranch:
        """Return the branch that leaves out the fewest segments."""
        return min(branches, key=lambda side: self._ids.index(side.to_segment))

    def towards(self, wanted: SegmentBranch, taken: set[SegmentBranch]) -> BranchChooser:
        """Return a chooser that leads to the branch `wanted`, and prefers branches that were not taken yet."""
        leading = self._find_predecessors(wanted.from_segment)

        def choose(branches: Sequence[SegmentBranch]) -> SegmentBranch:
            if wanted in branches:
                return wanted
            before = [side for side in branches if side.to_segment in leading]
            if before:
                return self.nearest(before)
            return self.nearest([side for side in branches if side not in taken] or branches)

        return choose

    def _find_predecessors(self, goal: str) -> frozenset[str]:
        """Return the segments from which `goal` can be reached, including itself."""
        found = {goal}
        for current in reversed(self._ids):
            if any(side.to_segment in found for side in self._branches[current]):
                found.add(current)
        return frozenset(found)

    def route(self, choose: BranchChooser) -> list[SegmentBranch]:
        """Return the branches taken from the first segment to the last one."""
        current, sides = self._ids[0], list[SegmentBranch]()
        while branches := self._branches[current]:
            sides.append(choose(branches) if len(branches) > 1 else branches[0])
            current = sides[-1].to_segment
        return sides

    def choices(self, sides: Sequence[SegmentBranch]) -> tuple[SegmentBranch, ...]:
        """Return the branches that were a choice."""
        return tuple(side for side in sides if len(self._branches[side.from_segment]) > 1)


def _build_branch_pass(flow: PresentationFlow, name: str, route: list[SegmentBranch]) -> RehearsalPass:
    first = flow.ordered_segments[0].segment_id
    shows = (first, *(side.to_segment for side in route))
    return RehearsalPass(
        name, "branches", _fix_choices(flow, route), shows, _SegmentGraph(flow).choices(route)
    )


def _fix_choices(flow: PresentationFlow, route: Sequence[SegmentBranch]) -> PresentationFlow:
    """Return the flow with fixed choices, without time limits or other reasons to skip."""
    by_segment: Mapping[str, SegmentBranch] = {side.from_segment: side for side in route}
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
    return _without_clock(flow).model_copy(update={"transitions": tuple(transitions)})


def _without_clock(flow: PresentationFlow) -> PresentationFlow:
    """Return the flow without time limits and skip conditions."""
    segments = tuple(s.model_copy(update={"skip_conditions": ()}) for s in flow.segments)
    window = flow.duration.model_copy(update={"estimated": None, "min": None, "max": None})
    return flow.model_copy(update={"segments": segments, "duration": window})


def _plan_required_pass(flow: PresentationFlow) -> Iterator[RehearsalPass]:
    """Return the pass for a full loss of time: required segments must work without values of the others."""
    kept = tuple(s for s in flow.ordered_segments if not s.droppable)
    if 0 < len(kept) < len(flow.segments):
        yield _build_pass(flow, "required segments alone", "shortest", kept)


def _plan_failing_pass(flow: PresentationFlow) -> Iterator[RehearsalPass]:
    """Return the pass in which the first possible optional segment fails: the others must work without it."""
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
    yield _build_pass(flow, f"{failing.segment_id} fails", "failing", segments, fails=failing.segment_id)


def _plan_interrupted_pass(flow: PresentationFlow) -> Iterator[RehearsalPass]:
    """Return the pass in which a visitor interrupts every segment without a request: the flow continues."""
    if flow.fallback("user_interrupts") is not None:
        kept = tuple(s for s in flow.ordered_segments if not s.droppable)
        yield _build_pass(flow, "a visitor interrupts", "interrupted", kept or flow.ordered_segments)


def _build_pass(
    flow: PresentationFlow,
    name: str,
    kind: RehearsalPassKind,
    segments: Sequence[Segment],
    fails: str | None = None,
) -> RehearsalPass:
    told = _without_clock(flow.model_copy(update={"segments": tuple(segments), "transitions": ()}))
    return RehearsalPass(name, kind, told, tuple(s.segment_id for s in segments), (), fails)
