"""Infers loops over as many rows as a number of the task says: "on 3 posts by @x" are the first three posts by @x.

The rows have a text in one column that is another input, and the number is the number of rounds in every demonstration.
A page with fewer such rows gives none at all: the task cannot be done there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.synthesis.alignment.aligned_traces import RowKey
from agent.synthesis.patterns.row_filters import (
    ListSnapshot,
    ToldRowFilter,
    find_heading,
    find_input,
    list_columns,
    read_column,
)

LEAST_COUNTS = 2
"""Different numbers that must be shown before a number is taken for that of the rows."""
COUNT = "count"
"""The parameter of the number in the template."""


def find_counted_row_filter(
    passes: Mapping[RowKey, tuple[Sequence[ListSnapshot], ListSnapshot | None]],
    inputs: Mapping[RowKey, Mapping[str, object]],
) -> ToldRowFilter | None:
    """Return the rows of which the first n were acted on, n and a text of theirs being inputs; None if there are none."""
    counts = {key: str(len(before)) for key, (before, _) in passes.items()}
    number = find_input(counts, inputs)
    if number is None or len(set(counts.values())) < LEAST_COUNTS or "0" in counts.values():
        return None
    shown = next(iter(passes.values()))[0][0]
    row = shown.rows[shown.at]
    for path in list_columns(shown):
        words = {
            key: read_column(before[0].rows[before[0].at], path) or "" for key, (before, _) in passes.items()
        }
        if len(set(words.values())) < LEAST_COUNTS or find_input(words, inputs) is None:
            continue
        if all(_are_first(before, path, words[key]) for key, (before, _) in passes.items()):
            evidence = (
                f"the first rows with this {find_heading(row, path) or path}, as many as {number} says, in"
                f" {len(passes)} of {len(passes)} demonstrations"
            )
            template = f"//{row.tag}[{path}[normalize-space()='{{{{row}}}}']]"
            return ToldRowFilter(
                template,
                words,
                find_heading(row, path),
                shrinking=False,
                evidence=evidence,
                count=number,
                counts=counts,
            )
    return None


def limit_rows(template: str) -> str:
    """Return an XPath template of rows that finds the first of them, as many as `{{count}}` says; none if they are fewer.

    >>> limit_rows("//li")
    "(//li)[position() <= '{{count}}' and count(//li) >= '{{count}}']"
    """
    return f"({template})[position() <= '{{{{{COUNT}}}}}' and count({template}) >= '{{{{{COUNT}}}}}']"


def _are_first(before: Sequence[ListSnapshot], path: str, word: str) -> bool:
    """Whether the rounds act on the first rows with a text in a column, in order, and the rows stay."""
    for number, each in enumerate(before):
        same = [at for at, row in enumerate(each.rows) if read_column(row, path) == word]
        if len(same) <= number or same[number] != each.at:
            return False
    return True
