"""Stage 4: traces side by side (MA 4): the same step of every trace at the same position.

Copies of a trace are aligned once. Loops are folded first, then columns of equal steps are made; what
is left between them is paired by what is done there, and in the end every position is classified.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.synthesis.alignment import (
    AlignedLoop,
    AlignedPosition,
    AlignedTraceSet,
    AlignmentType,
    Cell,
    RowKey,
)
from agent.synthesis.errors import TraceAlignmentError
from agent.synthesis.folding import Fold, Leaf, Row, fold_rows, fold_symbols
from agent.synthesis.mentions import ITEM, MENTION
from agent.synthesis.normalising import median_wait
from agent.synthesis.ordering import in_one_order
from agent.synthesis.pages import Pages
from agent.synthesis.sequences import align_sequences
from agent.synthesis.symbols import equivalent, same_args, symbols_of
from kb_schema.traces import ExecutionTrace, TraceStep

OUTLIER = 0.1
"""A trace that shares less than this with the others shows something else."""


@dataclass(slots=True)
class _Column:
    """One position while it is made."""

    cells: dict[RowKey, Leaf] = field(default_factory=dict)


@dataclass(slots=True)
class _Loop:
    """A loop while it is made."""

    items: list[_Column | _Loop]
    rounds: dict[RowKey, int]


_Item = _Column | _Loop


class TraceAligner:
    """Aligns traces. `min_score`: below it they are not the same task."""

    def __init__(self, *, min_score: float = 0.25, pages: Pages | None = None) -> None:
        self._min_score, self._pages = min_score, pages or Pages()

    def align(self, traces: Sequence[ExecutionTrace]) -> AlignedTraceSet:
        """Positions of normalised traces, classified. The order of traces does not matter.

        Raises `TraceAlignmentError` for two traces of one name, and for traces too unlike, with their ids.
        """
        ids = [trace.trace_id for trace in traces]
        if len(set(ids)) < len(ids):
            twice = sorted({each for each in ids if ids.count(each) > 1})
            raise TraceAlignmentError("two traces have the same id", twice)
        distinct, copies = _without_copies(traces)
        steps = [trace.steps for trace in distinct]
        symbols = symbols_of(steps, self._pages)
        orders = in_one_order(steps, symbols)
        rows: list[Row] = [
            tuple(Leaf(symbols[number][at], at) for at in order) for number, order in enumerate(orders)
        ]
        numbers = fold_symbols()
        folded = _told_rounds(fold_rows(rows, numbers), steps, numbers)
        keyed: dict[RowKey, Row] = {
            (trace.trace_id, ()): row for trace, row in zip(distinct, folded, strict=True)
        }
        items = _structure(keyed, numbers)
        score = _score(items, keyed)
        self._refuse_unlike(distinct, rows, items, score)
        by_id = {trace.trace_id: trace for trace in traces}
        flat = _Flattening(by_id, sorted(ids), copies)
        flat.add(items, depth=0)
        return AlignedTraceSet(
            positions=tuple(flat.positions),
            trace_ids=tuple(sorted(ids)),
            alignment_score=score,
            metadata={"distinct": len(distinct)},
            loops=tuple(flat.loops),
            traces=by_id,
            copies=copies,
        )

    def merge(self, existing: AlignedTraceSet, new_traces: Sequence[ExecutionTrace]) -> AlignedTraceSet:
        """The alignment of all traces together (MA: iterative refinement). A new trace of a known id takes
        the place of the old one.
        """
        together = {**existing.traces, **{trace.trace_id: trace for trace in new_traces}}
        return self.align(list(together.values()))

    def _refuse_unlike(
        self, traces: Sequence[ExecutionTrace], rows: Sequence[Row], items: list[_Item], score: float
    ) -> None:
        if len(traces) < 2 or self._min_score <= 0:
            return
        shares = _shares(items, {trace.trace_id: len(row) for trace, row in zip(traces, rows, strict=True)})
        apart = sorted(name for name, share in shares.items() if share < OUTLIER)
        if score < self._min_score:
            told = f"the traces agree to {score:.0%}, less than {self._min_score:.0%}: not one task"
            raise TraceAlignmentError(told, apart or sorted(shares))
        if apart:
            raise TraceAlignmentError("some traces share next to nothing with the others", apart)


def _told_rounds(
    rows: Sequence[Row], steps: Sequence[Sequence[TraceStep]], numbers: Iterator[int]
) -> list[Row]:
    """Rows in which single steps about an item of what the task's sentence counts up are rounds, too."""
    found: dict[str, int] = {}
    made = []
    for number, row in enumerate(rows):
        units: list[Leaf | Fold] = []
        for unit in row:
            told = str(steps[number][unit.index].metadata.get(MENTION, "")) if isinstance(unit, Leaf) else ""
            if told.endswith(ITEM):
                symbol = found[told] if told in found else found.setdefault(told, next(numbers))
                units.append(Fold(symbol, ((unit,),), told=True))
            else:
                units.append(unit)
        made.append(tuple(units))
    return made


def classify_position(steps: Mapping[Any, TraceStep | None]) -> AlignmentType:
    """What a position is by the steps there (MA Property 10). Raises `ValueError` where there is none."""
    present = [step for step in steps.values() if step is not None]
    if not present:
        raise ValueError("a position without a step")
    first, gaps = present[0], len(present) < len(steps)
    if not all(equivalent(first, other) for other in present[1:]):
        return AlignmentType.VARIABLE
    if not all(same_args(first, other) for other in present[1:]):
        return AlignmentType.VARIABLE if gaps else AlignmentType.PARAMETERIZABLE
    return AlignmentType.OPTIONAL if gaps else AlignmentType.DETERMINISTIC


def _without_copies(traces: Sequence[ExecutionTrace]) -> tuple[list[ExecutionTrace], dict[str, str]]:
    """Each content once, in an order that depends on contents only, and which trace is a copy of which."""
    first: dict[str, ExecutionTrace] = {}
    copies: dict[str, str] = {}
    for trace in sorted(traces, key=lambda each: each.trace_id):
        digest = trace.content_digest
        if digest in first:
            copies[trace.trace_id] = first[digest].trace_id
        else:
            first[digest] = trace
    return [first[digest] for digest in sorted(first)], copies


def _structure(rows: dict[RowKey, Row], numbers: Iterator[int]) -> list[_Item]:
    """Rows as columns and loops of columns."""
    keys = list(rows)
    columns = align_sequences([[unit.symbol for unit in rows[key]] for key in keys])
    items: list[_Item] = []
    for column in columns:
        units = {keys[row]: rows[keys[row]][at] for row, at in column.items()}
        folds = {key: unit for key, unit in units.items() if isinstance(unit, Fold)}
        if not folds:
            items.append(_Column({key: unit for key, unit in units.items() if isinstance(unit, Leaf)}))
        elif all(len(fold.rounds) == 1 and not fold.told for fold in folds.values()):
            items += _structure({key: fold.rounds[0] for key, fold in folds.items()}, numbers)
        else:
            inner = {
                (trace, (*outer, number)): each
                for (trace, outer), fold in folds.items()
                for number, each in enumerate(fold.rounds)
            }
            body = _structure(
                dict(zip(inner, fold_rows(list(inner.values()), numbers), strict=True)), numbers
            )
            items.append(_Loop(body, {key: len(fold.rounds) for key, fold in folds.items()}))
    return _paired(items, keys)


# -- what is left between columns of equal steps -----------------------------------------------------


def _paired(items: list[_Item], keys: Sequence[RowKey]) -> list[_Item]:
    """In stretches where every row does something else, what is done at the same time is one position.

    Where several rows do the same, it is a branch, and its steps stay what they are.
    """
    made: list[_Item] = []
    stretch: list[_Column] = []
    for item in items:
        if isinstance(item, _Column) and len(item.cells) < len(keys):
            stretch.append(item)
            continue
        made += [*_pair(stretch, keys), item]
        stretch = []
    return [*made, *_pair(stretch, keys)]


def _pair(stretch: list[_Column], keys: Sequence[RowKey]) -> list[_Column]:
    parts = connected([set(column.cells) for column in stretch])
    doing = {key for column in stretch for key in column.cells}
    if len(parts) < 2 or len(parts) < len(doing) or len(doing) < len(keys):
        return stretch
    return _zipped(stretch)


def connected(supports: Sequence[set[RowKey]]) -> list[list[int]]:
    """Which columns belong together since some row has both, in order."""
    parts: list[tuple[set[RowKey], list[int]]] = []
    for number, support in enumerate(supports):
        rows, members = set(support), [number]
        apart = []
        for other_rows, other in parts:
            if rows & other_rows:
                rows |= other_rows
                members = [*other, *members]
            else:
                apart.append((other_rows, other))
        parts = [*apart, (rows, members)]
    return sorted(sorted(members) for _, members in parts)


def _zipped(stretch: list[_Column]) -> list[_Column]:
    """Columns of different rows put together, first with first."""
    made: list[_Column] = []
    used: dict[RowKey, int] = {}
    """How many positions a row has taken already."""
    for column in stretch:
        place = max((used.get(key, 0) for key in column.cells), default=0)
        while place < len(made) and any(key in made[place].cells for key in column.cells):
            place += 1
        while len(made) <= place:
            made.append(_Column())
        made[place].cells.update(column.cells)
        for key in column.cells:
            used[key] = place + 1
    return made


# -- how well they agree -----------------------------------------------------------------------------


def _columns(items: Iterable[_Item]) -> Iterable[_Column]:
    for item in items:
        if isinstance(item, _Column):
            yield item
        else:
            yield from _columns(item.items)


def _score(items: list[_Item], rows: Mapping[RowKey, Row]) -> float:
    """Of all pairs of a step and another trace, the share in which that trace has the step, too."""
    traces = {trace for trace, _ in rows}
    if len(traces) < 2:
        return 1.0
    agreed = total = 0
    for column in _columns(items):
        of = Counter(leaf.symbol for leaf in _one_per_trace(column).values())
        agreed += sum(times * (times - 1) for times in of.values())
        total += sum(of.values()) * (len(traces) - 1)
    return agreed / total if total else 1.0


def _shares(items: list[_Item], lengths: Mapping[str, int]) -> dict[str, float]:
    """Trace -> the share of its positions at which another one does the same."""
    shared, own = Counter[str](), Counter[str]()
    for column in _columns(items):
        here = _one_per_trace(column)
        times = Counter(leaf.symbol for leaf in here.values())
        own.update(here.keys())
        shared.update(trace for trace, leaf in here.items() if times[leaf.symbol] > 1)
    return {trace: shared[trace] / own[trace] if own[trace] else 1.0 for trace in lengths}


def _one_per_trace(column: _Column) -> dict[str, Leaf]:
    return {trace: leaf for (trace, _), leaf in reversed(column.cells.items())}


# -- positions ---------------------------------------------------------------------------------------


class _Flattening:
    """Columns and loops as positions in one row, copies of traces put back."""

    def __init__(
        self, traces: Mapping[str, ExecutionTrace], ids: Sequence[str], copies: Mapping[str, str]
    ) -> None:
        self._traces, self._ids = traces, ids
        self._called: dict[str, list[str]] = {}
        for each in ids:
            self._called.setdefault(copies.get(each, each), []).append(each)
        self.positions: list[AlignedPosition] = []
        self.loops: list[AlignedLoop] = []

    def add(self, items: Iterable[_Item], depth: int) -> None:
        for item in items:
            if isinstance(item, _Column):
                self.positions.append(self._position(item, depth))
                continue
            place, start = len(self.loops), len(self.positions)
            self.add(item.items, depth + 1)
            rounds = {(each, outer): count for (trace, outer), count in item.rounds.items()
                      for each in self._called[trace]}  # fmt: skip
            self.loops.insert(place, AlignedLoop(start, len(self.positions) - 1, rounds))

    def _position(self, column: _Column, depth: int) -> AlignedPosition:
        cells = [
            Cell((each, rounds), leaf.index, self._traces[each].steps[leaf.index])
            for (trace, rounds), leaf in column.cells.items()
            for each in self._called[trace]
        ]
        cells = _with_median_waits(sorted(cells, key=lambda cell: cell.row))
        steps: dict[str, TraceStep | None] = dict.fromkeys(self._ids)
        for cell in reversed(cells):
            steps[cell.row[0]] = cell.step
        of_rounds: dict[Any, TraceStep | None] = {cell.row: cell.step for cell in cells}
        kind = classify_position(steps if depth == 0 else of_rounds)
        present = sum(step is not None for step in steps.values()) / len(self._ids)
        return AlignedPosition(
            index=len(self.positions),
            alignment_type=kind,
            steps=steps,
            confidence=round(present * _agreement([cell.step for cell in cells]), 4),
            more=tuple(cells),
        )


def _agreement(steps: Sequence[TraceStep]) -> float:
    """The share of steps that are the same one as the most usual."""
    if len(steps) > 1 and not all(equivalent(steps[0], other) for other in steps[1:]):
        groups: list[list[TraceStep]] = []
        for step in steps:
            group = next((each for each in groups if equivalent(each[0], step)), None)
            groups.append([step]) if group is None else group.append(step)
        return max(map(len, groups)) / len(steps)
    return 1.0


def _with_median_waits(cells: list[Cell]) -> list[Cell]:
    """Pauses at one position last their median (MA Property 6)."""
    durations = [
        float(args["duration"])
        for cell in cells
        if cell.step.action_type == "wait" and "duration" in (args := cell.step.args or {})
    ]
    if len(set(durations)) < 2:
        return cells
    lasts = median_wait(durations)
    return [
        Cell(cell.row, cell.step_index, cell.step.model_copy(update={"args": {**(cell.step.args or {}), "duration": lasts}}))
        if cell.step.action_type == "wait"
        else cell
        for cell in cells
    ]  # fmt: skip
