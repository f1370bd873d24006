"""Unifies the order in which traces fill in form fields, before the traces are aligned.

Only steps that do nothing but set a field are reordered, only among adjacent steps of this kind, and only
into an order that some trace shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agent.synthesis.traces.field_words import FIELD_ACTIONS
from kb_schema.execution_traces import TraceStep

_Run = tuple[int, int]
"""First index, and index after the last."""


def unify_field_order(
    rows: Sequence[Sequence[TraceStep]], symbols: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return the step indices of each row in the order in which they are to be aligned."""
    orders = [list(range(len(row))) for row in rows]
    runs = [(number, run) for number, row in enumerate(rows) for run in _runs(row)]
    told = {(number, run): tuple(symbols[number][run[0] : run[1]]) for number, run in runs}
    for group in _related(set(told.values())):
        members = [where for where in runs if told[where] in group]
        shown = Counter(told[where] for where in members)
        if not _disagree(shown):
            continue
        model = _model(shown)
        for number, (begin, end) in members:
            places = range(begin, end)
            orders[number][begin:end] = _arranged(places, symbols[number], model)
    return orders


def _runs(row: Sequence[TraceStep]) -> list[_Run]:
    """Return the runs of two or more adjacent field steps."""
    runs: list[_Run] = []
    begin: int | None = None
    for at in range(len(row) + 1):
        if at < len(row) and row[at].action_type in FIELD_ACTIONS:
            begin = at if begin is None else begin
            continue
        if begin is not None and at - begin > 1:
            runs.append((begin, at))
        begin = None
    return runs


def _related(orders: set[tuple[int, ...]]) -> list[set[tuple[int, ...]]]:
    """Group orders that share a field, directly or through other orders."""
    groups: list[tuple[set[int], set[tuple[int, ...]]]] = []
    for order in sorted(orders):
        fields, members = set(order), {order}
        apart = []
        for other_fields, others in groups:
            if fields & other_fields:
                fields, members = fields | other_fields, members | others
            else:
                apart.append((other_fields, others))
        groups = [*apart, (fields, members)]
    return [members for _, members in groups]


def _disagree(shown: Counter[tuple[int, ...]]) -> bool:
    """Whether two fields occur in both orders; False if an order contains a field twice."""
    if any(len(set(order)) < len(order) for order in shown):
        return False
    before = {(one, other) for order in shown for at, one in enumerate(order) for other in order[at + 1 :]}
    return any((other, one) in before for one, other in before)


def _model(shown: Counter[tuple[int, ...]]) -> dict[int, int]:
    """Map each field to its place in the longest, most frequent order; add the fields of other orders."""
    ranked = sorted(shown, key=lambda order: (-len(order), -shown[order], order))
    model = list(ranked[0])
    for order in ranked[1:]:
        for at, symbol in enumerate(order):
            if symbol not in model:
                before = [model.index(each) for each in order[:at] if each in model]
                model.insert(max(before, default=-1) + 1, symbol)
    return {symbol: place for place, symbol in enumerate(model)}


def _arranged(places: range, symbols: Sequence[int], model: dict[int, int]) -> list[int]:
    return sorted(places, key=lambda place: model[symbols[place]])
