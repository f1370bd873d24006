"""Stage 4: aligns traces, so that the same step of every trace has the same position (MA 4).

Copies of a trace are aligned once. Loops are folded first. Equal steps then form columns, the steps between
these are paired by their order, and every position is classified.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.synthesis.alignment.aligned_traces import (
    AlignedCell,
    AlignedLoop,
    AlignedPosition,
    AlignedTraceSet,
    AlignmentType,
    RowKey,
)
from agent.synthesis.alignment.loop_detection import FoldedLoop, FoldedRow, StepLeaf, fold_rows, fold_symbols
from agent.synthesis.alignment.sequence_alignment import align_sequences
from agent.synthesis.alignment.step_equivalence import (
    are_equivalent,
    assign_step_symbols,
    differ_by_text,
    have_same_args,
)
from agent.synthesis.errors import TraceAlignmentError
from agent.synthesis.traces.field_order import unify_field_order
from agent.synthesis.traces.trace_normalization import median_wait
from agent.synthesis.traces.trace_pages import TracePages
from agent.synthesis.utterances.utterance_mentions import ITEM, MENTION
from kb_schema.execution_traces import ExecutionTrace, TraceStep

OUTLIER = 0.1
"""A trace that shares a smaller part of its steps with the others shows another task."""


@dataclass(slots=True)
class _ColumnBuilder:
    """A position under construction."""

    cells: dict[RowKey, StepLeaf] = field(default_factory=dict)


@dataclass(slots=True)
class _LoopBuilder:
    """A loop under construction."""

    items: list[_ColumnBuilder | _LoopBuilder]
    rounds: dict[RowKey, int]


_BuiltItem = _ColumnBuilder | _LoopBuilder


class TraceAligner:
    """Aligns traces. Traces with a score below `min_score` are not the same task."""

    def __init__(
        self, *, min_score: float = 0.25, pages: TracePages | None = None, pair_choices: bool = False
    ) -> None:
        """`pair_choices`: steps at the same place whose targets differ by a text alone are one step with a value.

        Else they are branches if some traces have the same one.
        """
        self._min_score, self._pages, self._pair_choices = min_score, pages or TracePages(), pair_choices

    def align(self, traces: Sequence[ExecutionTrace]) -> AlignedTraceSet:
        """Return the classified positions of normalised traces. The order of the traces does not matter.

        Raises `TraceAlignmentError`, with the trace ids, if two traces have the same id or the traces do not
        show the same task.
        """
        ids = [trace.trace_id for trace in traces]
        if len(set(ids)) < len(ids):
            twice = sorted({each for each in ids if ids.count(each) > 1})
            raise TraceAlignmentError("two traces have the same id", twice)
        distinct, copies = _without_copies(traces)
        steps = [trace.steps for trace in distinct]
        symbols = assign_step_symbols(steps, self._pages)
        orders = unify_field_order(steps, symbols)
        rows: list[FoldedRow] = [
            tuple(StepLeaf(symbols[number][at], at) for at in order) for number, order in enumerate(orders)
        ]
        numbers = fold_symbols()
        folded = _fold_listed_items(fold_rows(rows, numbers), steps, numbers)
        keyed: dict[RowKey, FoldedRow] = {
            (trace.trace_id, ()): row for trace, row in zip(distinct, folded, strict=True)
        }
        chosen = {trace.trace_id: trace.steps for trace in distinct} if self._pair_choices else {}
        items = _structure(keyed, numbers, chosen)
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
        """Return the alignment of existing and new traces (MA: iterative refinement).

        A new trace replaces an existing trace with the same id.
        """
        together = {**existing.traces, **{trace.trace_id: trace for trace in new_traces}}
        return self.align(list(together.values()))

    def _refuse_unlike(
        self,
        traces: Sequence[ExecutionTrace],
        rows: Sequence[FoldedRow],
        items: list[_BuiltItem],
        score: float,
    ) -> None:
        if len(traces) < 2 or self._min_score <= 0:
            return
        shares = _shares(items, {trace.trace_id: len(row) for trace, row in zip(traces, rows, strict=True)})
        apart = sorted(name for name, share in shares.items() if share < OUTLIER)
        if score < self._min_score:
            unlike = apart or sorted(shares)
            raise TraceAlignmentError(
                f"the traces do not show the same task ({', '.join(unlike)}):"
                f" their agreement is {score:.0%}, below {self._min_score:.0%}",
                unlike,
            )
        if apart:
            raise TraceAlignmentError(
                f"some traces have almost no steps in common with the others: {', '.join(apart)}", apart
            )


def _fold_listed_items(
    rows: Sequence[FoldedRow], steps: Sequence[Sequence[TraceStep]], numbers: Iterator[int]
) -> list[FoldedRow]:
    """Fold single steps about an item that the task description lists into loops with one round."""
    found: dict[str, int] = {}
    made = []
    for number, row in enumerate(rows):
        units: list[StepLeaf | FoldedLoop] = []
        for unit in row:
            told = (
                str(steps[number][unit.index].metadata.get(MENTION, "")) if isinstance(unit, StepLeaf) else ""
            )
            if told.endswith(ITEM):
                symbol = found[told] if told in found else found.setdefault(told, next(numbers))
                units.append(FoldedLoop(symbol, ((unit,),), told=True))
            else:
                units.append(unit)
        made.append(tuple(units))
    return made


def classify_position(steps: Mapping[Any, TraceStep | None]) -> AlignmentType:
    """Return the kind of a position from its steps (MA Property 10). Raises `ValueError` if there are none."""
    present = [step for step in steps.values() if step is not None]
    if not present:
        raise ValueError("cannot classify a position without steps")
    first, gaps = present[0], len(present) < len(steps)
    if not all(are_equivalent(first, other) for other in present[1:]):
        return AlignmentType.VARIABLE
    if not all(have_same_args(first, other) for other in present[1:]):
        return AlignmentType.VARIABLE if gaps else AlignmentType.PARAMETERIZABLE
    return AlignmentType.OPTIONAL if gaps else AlignmentType.DETERMINISTIC


def _without_copies(traces: Sequence[ExecutionTrace]) -> tuple[list[ExecutionTrace], dict[str, str]]:
    """Return traces with distinct content, ordered by content, and a map from copies to originals."""
    first: dict[str, ExecutionTrace] = {}
    copies: dict[str, str] = {}
    for trace in sorted(traces, key=lambda each: each.trace_id):
        digest = trace.content_digest
        if digest in first:
            copies[trace.trace_id] = first[digest].trace_id
        else:
            first[digest] = trace
    return [first[digest] for digest in sorted(first)], copies


def _structure(
    rows: dict[RowKey, FoldedRow], numbers: Iterator[int], chosen: Mapping[str, Sequence[TraceStep]]
) -> list[_BuiltItem]:
    """Return rows as columns and loops of columns. `chosen`: the steps of traces whose choices are paired."""
    keys = list(rows)
    columns = align_sequences([[unit.symbol for unit in rows[key]] for key in keys])
    items: list[_BuiltItem] = []
    for column in columns:
        units = {keys[row]: rows[keys[row]][at] for row, at in column.items()}
        folds = {key: unit for key, unit in units.items() if isinstance(unit, FoldedLoop)}
        if not folds:
            items.append(
                _ColumnBuilder({key: unit for key, unit in units.items() if isinstance(unit, StepLeaf)})
            )
        elif all(len(fold.rounds) == 1 and not fold.told for fold in folds.values()):
            items += _structure({key: fold.rounds[0] for key, fold in folds.items()}, numbers, chosen)
        else:
            inner = {
                (trace, (*outer, number)): each
                for (trace, outer), fold in folds.items()
                for number, each in enumerate(fold.rounds)
            }
            body = _structure(
                dict(zip(inner, fold_rows(list(inner.values()), numbers), strict=True)), numbers, chosen
            )
            items.append(_LoopBuilder(body, {key: len(fold.rounds) for key, fold in folds.items()}))
    return _pair_by_time(items, keys, chosen)


# -- steps between columns of equal steps -----------------------------------------------------------


def _pair_by_time(
    items: list[_BuiltItem], keys: Sequence[RowKey], chosen: Mapping[str, Sequence[TraceStep]]
) -> list[_BuiltItem]:
    """Between columns, put steps with the same order into one position if every row has other steps.

    If several rows have the same steps, these form a branch and stay separate, unless they are choices.
    """
    made: list[_BuiltItem] = []
    stretch: list[_ColumnBuilder] = []
    for item in items:
        if isinstance(item, _ColumnBuilder) and len(item.cells) < len(keys):
            stretch.append(item)
            continue
        made += [*_pair(stretch, keys, chosen), item]
        stretch = []
    return [*made, *_pair(stretch, keys, chosen)]


def _pair(
    stretch: list[_ColumnBuilder], keys: Sequence[RowKey], chosen: Mapping[str, Sequence[TraceStep]]
) -> list[_ColumnBuilder]:
    if chosen and all(_are_choices(column, keys, chosen) for column in _zip_columns(stretch)):
        return _zip_columns(stretch)
    parts = group_connected_columns([set(column.cells) for column in stretch])
    doing = {key for column in stretch for key in column.cells}
    if len(parts) < 2 or len(parts) < len(doing) or len(doing) < len(keys):
        return stretch
    return _zip_columns(stretch)


def _are_choices(
    column: _ColumnBuilder, keys: Sequence[RowKey], chosen: Mapping[str, Sequence[TraceStep]]
) -> bool:
    """Whether every row has a step here, and their targets differ by a text alone."""
    steps = [chosen[trace][leaf.index] for (trace, _), leaf in column.cells.items()]
    return len(steps) == len(keys) and differ_by_text(steps)


def group_connected_columns(supports: Sequence[set[RowKey]]) -> list[list[int]]:
    """Group columns that share a row, directly or through other columns, in order."""
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


def _zip_columns(stretch: list[_ColumnBuilder]) -> list[_ColumnBuilder]:
    """Merge columns of different rows by their order: first with first."""
    made: list[_ColumnBuilder] = []
    used: dict[RowKey, int] = {}
    """Number of positions that each row has used."""
    for column in stretch:
        place = max((used.get(key, 0) for key in column.cells), default=0)
        while place < len(made) and any(key in made[place].cells for key in column.cells):
            place += 1
        while len(made) <= place:
            made.append(_ColumnBuilder())
        made[place].cells.update(column.cells)
        for key in column.cells:
            used[key] = place + 1
    return made


# -- how well they agree -----------------------------------------------------------------------------


def _columns(items: Iterable[_BuiltItem]) -> Iterable[_ColumnBuilder]:
    for item in items:
        if isinstance(item, _ColumnBuilder):
            yield item
        else:
            yield from _columns(item.items)


def _score(items: list[_BuiltItem], rows: Mapping[RowKey, FoldedRow]) -> float:
    """Return the share of pairs of a step and another trace in which that trace has the step too."""
    traces = {trace for trace, _ in rows}
    if len(traces) < 2:
        return 1.0
    agreed = total = 0
    for column in _columns(items):
        of = Counter(leaf.symbol for leaf in _one_per_trace(column).values())
        agreed += sum(times * (times - 1) for times in of.values())
        total += sum(of.values()) * (len(traces) - 1)
    return agreed / total if total else 1.0


def _shares(items: list[_BuiltItem], lengths: Mapping[str, int]) -> dict[str, float]:
    """Map each trace to the share of its positions at which another trace has the same step."""
    shared, own = Counter[str](), Counter[str]()
    for column in _columns(items):
        here = _one_per_trace(column)
        times = Counter(leaf.symbol for leaf in here.values())
        own.update(here.keys())
        shared.update(trace for trace, leaf in here.items() if times[leaf.symbol] > 1)
    return {trace: shared[trace] / own[trace] if own[trace] else 1.0 for trace in lengths}


def _one_per_trace(column: _ColumnBuilder) -> dict[str, StepLeaf]:
    return {trace: leaf for (trace, _), leaf in reversed(column.cells.items())}


# -- positions ---------------------------------------------------------------------------------------


class _Flattening:
    """Converts columns and loops to a flat list of positions, and adds the copies of traces."""

    def __init__(
        self, traces: Mapping[str, ExecutionTrace], ids: Sequence[str], copies: Mapping[str, str]
    ) -> None:
        self._traces, self._ids = traces, ids
        self._called: dict[str, list[str]] = {}
        for each in ids:
            self._called.setdefault(copies.get(each, each), []).append(each)
        self.positions: list[AlignedPosition] = []
        self.loops: list[AlignedLoop] = []

    def add(self, items: Iterable[_BuiltItem], depth: int) -> None:
        for item in items:
            if isinstance(item, _ColumnBuilder):
                self.positions.append(self._position(item, depth))
                continue
            place, start = len(self.loops), len(self.positions)
            self.add(item.items, depth + 1)
            rounds = {
                (each, outer): count
                for (trace, outer), count in item.rounds.items()
                for each in self._called[trace]
            }
            self.loops.insert(place, AlignedLoop(start, len(self.positions) - 1, rounds))

    def _position(self, column: _ColumnBuilder, depth: int) -> AlignedPosition:
        cells = [
            AlignedCell((each, rounds), leaf.index, self._traces[each].steps[leaf.index])
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
    """Return the share of steps that are equal to the most frequent one."""
    if len(steps) > 1 and not all(are_equivalent(steps[0], other) for other in steps[1:]):
        groups: list[list[TraceStep]] = []
        for step in steps:
            group = next((each for each in groups if are_equivalent(each[0], step)), None)
            groups.append([step]) if group is None else group.append(step)
        return max(map(len, groups)) / len(steps)
    return 1.0


def _with_median_waits(cells: list[AlignedCell]) -> list[AlignedCell]:
    """Set the pauses at one position to their median (MA Property 6)."""
    durations = [
        float(args["duration"])
        for cell in cells
        if cell.step.action_type == "wait" and "duration" in (args := cell.step.args or {})
    ]
    if len(set(durations)) < 2:
        return cells
    lasts = median_wait(durations)
    return [
        AlignedCell(
            cell.row,
            cell.step_index,
            cell.step.model_copy(update={"args": {**(cell.step.args or {}), "duration": lasts}}),
        )
        if cell.step.action_type == "wait"
        else cell
        for cell in cells
    ]
