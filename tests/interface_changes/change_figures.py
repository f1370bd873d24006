"""Tables of what came of the changes and bugs: by operator, and by site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.table import Table

from tests.interface_changes.measurement import Measured
from tests.interface_changes.operators import list_operators

CHANGE_RESULTS = ("green", "healed", "offered", "other", "blamed", "wrong")
BUG_RESULTS = ("right", "other", "masked", "wrong")
CONFIDENCES = ((0.95, 1.01), (0.9, 0.95), (0.8, 0.9), (0.6, 0.8), (0.0, 0.6))
"""Bins of the calibration table: from, and below."""
RIGHT = frozenset({"offered", "right"})
"""Results of red runs whose class is right: the one of the bug, or of a change the meant element as first candidate."""


def is_bug(measured: Measured) -> bool:
    """Whether it is a bug of the application and no change of its interface."""
    return list_operators()[measured.operators[-1]].is_bug


def print_tables(all_measured: Iterable[Measured], console: Console) -> None:
    """Print the tables of changes, double changes and bugs."""
    applied = [each for each in all_measured if each.result != "inapplicable"]
    bugs = [each for each in applied if is_bug(each)]
    single = [each for each in applied if not is_bug(each) and len(each.operators) == 1]
    double = [each for each in applied if not is_bug(each) and len(each.operators) > 1]
    for title, chosen, results in (
        ("change", single, CHANGE_RESULTS),
        ("two changes", double, CHANGE_RESULTS),
        ("bug", bugs, BUG_RESULTS),
    ):
        if chosen:
            _print(console, title, chosen, results, lambda each: " + ".join(each.operators))
            _print(console, "site", chosen, results, lambda each: each.site)
    _print_calibration(console, applied)


def count_calibration(measured: Iterable[Measured]) -> dict[tuple[float, float], tuple[int, int]]:
    """Return for each bin of confidences how many root causes were said, and how many of them were right."""
    red = [each for each in measured if each.cause not in ("", "success")]
    bins = {(low, high): [each for each in red if low <= each.confidence < high] for low, high in CONFIDENCES}
    return {place: (len(said), sum(each.result in RIGHT for each in said)) for place, said in bins.items()}


def _print_calibration(console: Console, measured: Sequence[Measured]) -> None:
    table = Table("confidence", "said", "right", "share", box=None)
    for (low, high), (said, right) in count_calibration(measured).items():
        if said:
            table.add_row(f"{low:.2f} to {min(high, 1.0):.2f}", str(said), str(right), f"{right / said:.0%}")
    console.print(table)


def _print(
    console: Console,
    title: str,
    chosen: Sequence[Measured],
    results: Sequence[str],
    name: Callable[[Measured], str],
) -> None:
    table = Table(title, *results, "all", box=None)
    for group in dict.fromkeys(map(name, chosen)):
        _row(table, group, [each for each in chosen if name(each) == group], results)
    _row(table, "all", chosen, results)
    console.print(table)


def _row(table: Table, name: str, chosen: Sequence[Measured], results: Sequence[str]) -> None:
    counts = Counter(each.result for each in chosen)
    table.add_row(name, *(str(counts[each]) if counts[each] else "" for each in results), str(len(chosen)))
