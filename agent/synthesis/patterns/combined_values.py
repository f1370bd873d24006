"""Values that several inputs make together: joined as a text ("Ada Lovelace" of two inputs), or computed of two.

A joined value has the text of each input, with the same text between them in every row. A computed value is the sum,
difference or product of two inputs; at least three different ones must be shown, and one way alone must explain all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from agent.synthesis.alignment.aligned_traces import RowKey
from kb_schema.transforms import Arithmetic, TransformError, ungroup_number

LEAST_COMPUTED = 3
"""Different results that must be shown before a value is taken for computed."""
LEAST_JOINED = 2
MOST_JOINED = 3
"""Inputs that are tried together."""
MOST_INPUTS = 12
SIGNS = ("+", "-", "*")


@dataclass(frozen=True, slots=True)
class CombinedValue:
    """A value as a template over the keys of inputs."""

    template: str
    keys: tuple[str, ...]


def find_joined_value(
    texts: Mapping[RowKey, str], told: Mapping[str, Mapping[RowKey, str]]
) -> CombinedValue | None:
    """Return the template of texts that several inputs make together; None if there is none.

    `told` has the texts of the inputs, by key.
    """
    if len(set(texts.values())) < LEAST_JOINED:
        return None
    keys = _list_keys(
        {key: each for key, each in told.items() if all(each[row] in texts[row] for row in texts)}
    )
    for count in range(MOST_JOINED, 1, -1):
        for order in permutations(keys, count):
            around = {_split(texts[row], [told[key][row] for key in order]) for row in texts}
            between = around.pop() if len(around) == 1 else None
            if between is not None and not any(set("{}") & set(each) for each in between):
                names = [f"{{{key}}}" for key in order]
                pieces = [text for pair in zip(between, [*names, ""], strict=True) for text in pair]
                return CombinedValue("".join(pieces), order)
    return None


def find_computed_value(
    texts: Mapping[RowKey, str], told: Mapping[str, Mapping[RowKey, str]]
) -> CombinedValue | None:
    """Return the only sum, difference or product of two inputs that the texts are; None if there is none, or several."""
    if len(set(texts.values())) < LEAST_COMPUTED:
        return None
    wanted = {row: ungroup_number(text.strip()) for row, text in texts.items()}
    found = [
        CombinedValue(f"{{{one}}} {sign} {{{other}}}", (one, other))
        for one, other, sign in _list_pairs(_list_keys(told))
        if all(_compute(told[one][row], sign, told[other][row]) == wanted[row] for row in wanted)
    ]
    return found[0] if len(found) == 1 else None


def _list_pairs(keys: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for one, other in permutations(keys, 2):
        yield from ((one, other, sign) for sign in SIGNS if sign == "-" or one < other)


def _compute(one: str, sign: str, other: str) -> str | None:
    try:
        return Arithmetic(type="arithmetic").apply(f"{one} {sign} {other}")
    except TransformError:
        return None


def _list_keys(told: Mapping[str, Mapping[RowKey, str]]) -> list[str]:
    """Return the inputs that differ between rows, of those with the same texts the shortest."""
    kept: dict[tuple[str, ...], str] = {}
    for key in sorted(told, key=lambda each: (len(each), each)):
        values = tuple(told[key][row] for row in sorted(told[key]))
        named = all(part.isidentifier() for part in key.split("."))
        if named and len(set(values)) > 1 and all(values):
            kept.setdefault(values, key)
    return list(kept.values())[:MOST_INPUTS]


def _split(text: str, values: Sequence[str]) -> tuple[str, ...] | None:
    """Return the texts before, between and after some values that stand in a text in this order; None if they do not."""
    between: list[str] = []
    rest = text
    for value in values:
        before, there, rest = rest.partition(value)
        if not there:
            return None
        between.append(before)
    return (*between, rest)
