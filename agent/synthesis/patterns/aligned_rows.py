"""Helper functions on the rows and units of aligned traces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.synthesis.alignment.aligned_traces import AlignedCell, AlignedLoop, AlignedPosition, RowKey
from agent.synthesis.alignment.trace_alignment import classify_position
from agent.synthesis.patterns.branch_conditions import is_queryable
from agent.synthesis.patterns.extracted_patterns import PatternRefusal
from agent.synthesis.patterns.quoted_texts import list_single_run_xpaths
from agent.synthesis.traces.target_conversion import order_strategies
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import Selector


@dataclass(frozen=True, slots=True)
class AlignedUnit:
    """A position, or a loop as a whole."""

    indices: tuple[int, ...]
    rows: frozenset[RowKey]
    loop: AlignedLoop | None = None


def is_in_row(key: RowKey, row: RowKey) -> bool:
    """Whether a row is `row` or one of the loop rounds inside it."""
    return key[0] == row[0] and key[1][: len(row[1])] == row[1]


def has_queryable_target(step: TraceStep) -> bool:
    """Whether a step's target can be looked up on a page."""
    return isinstance(step.target, Selector) and is_queryable(step.target)


def restrict_to_rows(position: AlignedPosition, rows: frozenset[RowKey]) -> AlignedPosition:
    """Return a position with the steps of these rows only."""
    cells = {row: cell for row, cell in position.cells.items() if row in rows}
    steps: dict[RowKey, TraceStep | None] = dict.fromkeys(rows)
    steps.update({row: cell.step for row, cell in cells.items()})
    per_trace: dict[str, TraceStep | None] = {}
    for row, step in sorted(steps.items()):
        per_trace[row[0]] = per_trace.get(row[0]) or step
    kind = classify_position(steps)
    return replace(position, alignment_type=kind, steps=per_trace, more=tuple(cells.values()))


def has_gaps(position: AlignedPosition) -> bool:
    """Whether some row has no step here."""
    return any(step is None for step in position.steps.values())


def select_round(rows: frozenset[RowKey], number: int) -> frozenset[RowKey]:
    """Return the rows of one round."""
    return frozenset(row for row in rows if row[1][-1] == number)


def first_step(body: Sequence[AlignedPosition], row: RowKey) -> TraceStep | None:
    """Return the first step of a row in a body."""
    found = [cell for position in body for key, cell in position.cells.items() if is_in_row(key, row)]
    return min(found, key=lambda cell: cell.step_index).step if found else None


def find_page_turn(
    body: Sequence[AlignedPosition], rounds: Mapping[RowKey, int], loops: Sequence[AlignedLoop]
) -> AlignedPosition | None:
    """Return the last step of a body if every round except the last of each pass ends with it: a page turn."""
    last = body[-1] if len(body) > 1 else None
    if last is None or any(body[0].index < each.start <= last.index <= each.last for each in loops):
        return None
    if {cell.step.action_type for cell in last.cells.values()} != {"click"}:
        return None
    turned = {
        (trace, (*outer, number)) for (trace, outer), count in rounds.items() for number in range(count - 1)
    }
    return last if turned and turned == set(last.cells) else None


def have_common_strategy(cells: Sequence[AlignedCell]) -> bool:
    """Whether the targets of all rows share a strategy, or some row has no selector."""
    targets = [cell.step.target for cell in cells]
    ways = [
        {
            each.model_dump_json(exclude={"confidence", "meta"})
            for each in target.strategies
            if not each.fallback
        }
        for target in targets
        if isinstance(target, Selector)
    ]
    return len(ways) < len(targets) or not ways or bool(set.intersection(*ways))


def targets_vary(steps: Sequence[TraceStep]) -> bool:
    """Whether the steps have different targets."""
    return len({_collect_texts(step.target) for step in steps}) > 1


def _collect_texts(target: object) -> str:
    return target.model_dump_json() if isinstance(target, Selector) else repr(target)


def merge_strategies(cells: Sequence[AlignedCell]) -> Selector | None:
    """Return all strategies of a position, most stable first (MA Properties 14, 17).

    If all targets share a strategy, XPaths with texts of single runs are omitted.
    """
    targets = [cell.step.target for cell in cells if isinstance(cell.step.target, Selector)]
    if not targets:
        return None
    frames = {target.frame for target in targets}
    if len(frames) > 1:
        return targets[0]
    together = order_strategies(strategy for target in targets for strategy in target.strategies)
    if any(target != targets[0] for target in targets) and have_common_strategy(cells):
        passing = list_single_run_xpaths(targets)
        lasting = tuple(each for each in together if getattr(each, "value", None) not in passing)
        together = lasting or together
    return Selector(strategies=together, frame=targets[0].frame)


def list_indices(units: Iterable[AlignedUnit]) -> list[int]:
    """Return the position indices of some units."""
    return [index for unit in units for index in unit.indices]


def build_branch_label(number: int) -> str:
    """Return the label of a branch."""
    return f"way_{number + 1}"


def build_refusal(reason: str, cells: Iterable[AlignedCell]) -> PatternRefusal:
    """Return a refusal with the first relevant step of each trace."""
    places: dict[str, int] = {}
    for cell in cells:
        places[cell.row[0]] = min(places.get(cell.row[0], cell.step_index), cell.step_index)
    return PatternRefusal(reason, places)
