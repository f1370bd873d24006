"""Rows and units of aligned traces: small questions that the extractor asks of them all the time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.synthesis.aligning import classify_position
from agent.synthesis.alignment import AlignedLoop, AlignedPosition, Cell, RowKey
from agent.synthesis.converting import ordered
from agent.synthesis.deciding import usable
from agent.synthesis.patterns import Refusal
from agent.synthesis.quoting import of_one_run
from kb_schema.selectors import Selector
from kb_schema.traces import TraceStep


@dataclass(frozen=True, slots=True)
class Unit:
    """A position, or a loop as a whole."""

    indices: tuple[int, ...]
    rows: frozenset[RowKey]
    loop: AlignedLoop | None = None


def belongs(key: RowKey, row: RowKey) -> bool:
    """Whether a row is this one, or one of the rounds inside of it."""
    return key[0] == row[0] and key[1][: len(row[1])] == row[1]


def usable_target(step: TraceStep) -> bool:
    """Whether a page can be asked for a step's target."""
    return isinstance(step.target, Selector) and usable(step.target)


def within(position: AlignedPosition, rows: frozenset[RowKey]) -> AlignedPosition:
    """A position as these rows have it."""
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


def of_round(rows: frozenset[RowKey], number: int) -> frozenset[RowKey]:
    """The rows of one round."""
    return frozenset(row for row in rows if row[1][-1] == number)


def first_step(body: Sequence[AlignedPosition], row: RowKey) -> TraceStep | None:
    """The first step of a row in a body."""
    found = [
        cell for position in body for key, cell in position.cells.items()
        if belongs(key, row)
    ]  # fmt: skip
    return min(found, key=lambda cell: cell.step_index).step if found else None


def turn_of(
    body: Sequence[AlignedPosition], rounds: Mapping[RowKey, int], loops: Sequence[AlignedLoop]
) -> AlignedPosition | None:
    """The last step of a body, where every round ends with it but each pass's last one: it turns pages."""
    last = body[-1] if len(body) > 1 else None
    if last is None or any(body[0].index < each.start <= last.index <= each.last for each in loops):
        return None
    if {cell.step.action_type for cell in last.cells.values()} != {"click"}:
        return None
    turned = {
        (trace, (*outer, number))
        for (trace, outer), count in rounds.items() for number in range(count - 1)
    }  # fmt: skip
    return last if turned and turned == set(last.cells) else None


def have_one_in_common(cells: Sequence[Cell]) -> bool:
    """Whether some strategy leads to the target in every row, or there is no target to find."""
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
    """Whether they are not all the same."""
    return len({_said(step.target) for step in steps}) > 1


def _said(target: object) -> str:
    return target.model_dump_json() if isinstance(target, Selector) else repr(target)


def every_strategy(cells: Sequence[Cell]) -> Selector | None:
    """All strategies seen for a position, most stable first (MA Properties 14, 17); without words of single
    runs, where it is told by what all of them have.
    """
    targets = [cell.step.target for cell in cells if isinstance(cell.step.target, Selector)]
    if not targets:
        return None
    frames = {target.frame for target in targets}
    if len(frames) > 1:
        return targets[0]
    together = ordered(strategy for target in targets for strategy in target.strategies)
    if any(target != targets[0] for target in targets) and have_one_in_common(cells):
        passing = of_one_run(targets)
        lasting = tuple(each for each in together if getattr(each, "value", None) not in passing)
        together = lasting or together
    return Selector(strategies=together, frame=targets[0].frame)


def indices_of(units: Iterable[Unit]) -> list[int]:
    """Every position of some units."""
    return [index for unit in units for index in unit.indices]


def label_of(number: int) -> str:
    """What a way is called."""
    return f"way_{number + 1}"


def refusal_at(reason: str, cells: Iterable[Cell]) -> Refusal:
    """A refusal that says where in each trace to look."""
    places: dict[str, int] = {}
    for cell in cells:
        places[cell.row[0]] = min(places.get(cell.row[0], cell.step_index), cell.step_index)
    return Refusal(reason, places)
