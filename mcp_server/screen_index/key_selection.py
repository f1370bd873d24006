"""The index keys a screen is filed under: a page must show one of them to be that screen.

A set of keys qualifies for one of two reasons:

- they are the keys of a *required* indicator, which cannot hold without them;
- they are the keys of so many positive indicators that the others weigh too little to reach the threshold.

Of all qualifying sets, the one whose keys the fewest other screens share is used: it occurs on the fewest pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from mcp_server.screen_index.compiled_signatures import CompiledSignature, Indicator
from mcp_server.screen_index.index_keys import IndexKey, IndexKeySet, SnapshotFormat, keys_of_condition

NEAR_SHARE = 0.75
"""Share of the threshold that a screen must reach to be named among many candidates."""
_ROUNDING = 1e-6

_IndicatorKeys = list[tuple[Indicator, IndexKeySet | None]]
"""The positive indicators of a screen that the page decides on, with what each needs of it."""

ScreenKeys = Mapping[str, frozenset[IndexKey] | None]
"""Screen id -> its index keys; None: the screen may be any page."""


def select_keys(signatures: Iterable[CompiledSignature], medium: SnapshotFormat) -> ScreenKeys:
    """By screen id; None: the screen may be any page. An empty key set: in this medium it is none."""
    needs = {signature.screen_id: (signature, _indicator_keys(signature, medium)) for signature in signatures}
    shared = Counter(
        anchor
        for _, each in needs.values()
        for _, found in each
        if found is not None
        for anchor in found.any_of
    )
    return {
        screen_id: _select_screen_keys(signature, each, shared)
        for screen_id, (signature, each) in needs.items()
    }


def _indicator_keys(signature: CompiledSignature, medium: SnapshotFormat) -> _IndicatorKeys:
    return [
        (indicator, keys_of_condition(indicator.condition, signature.scope, medium))
        for indicator in signature.positive
        if indicator.kind != "url_patterns"
    ]


def _select_screen_keys(
    signature: CompiledSignature, needs: _IndicatorKeys, shared: Counter[IndexKey]
) -> frozenset[IndexKey] | None:
    def commonness(anchors: Iterable[IndexKey]) -> int:
        return sum(shared[anchor] for anchor in anchors)

    found = [
        anchors.any_of
        for indicator, anchors in needs
        if indicator.kind == "required" and anchors is not None and anchors.decided
    ]
    enough = _keys_needed_for_threshold(signature, needs, shared)
    if enough is not None:
        found.append(enough)
    return min(found, key=lambda guard: (commonness(guard), sorted(guard)), default=None)


def _keys_needed_for_threshold(
    signature: CompiledSignature, needs: _IndicatorKeys, shared: Counter[IndexKey]
) -> frozenset[IndexKey] | None:
    """Index keys without any of which what is left weighs too little."""
    wanted = NEAR_SHARE * signature.threshold * signature.total - _ROUNDING
    possible = [(indicator, anchors) for indicator, anchors in needs if anchors is None or anchors.any_of]
    never = sum(
        indicator.weight for indicator, anchors in needs if anchors is not None and not anchors.any_of
    )
    left = signature.total - never
    guard: set[IndexKey] = set()
    known = [(indicator, anchors) for indicator, anchors in possible if anchors is not None]
    known.sort(key=lambda each: (sum(shared[anchor] for anchor in each[1].any_of), -each[0].weight))
    for indicator, anchors in known:
        if left < wanted:
            break
        left -= indicator.weight
        guard |= anchors.any_of
    return frozenset(guard) if left < wanted else None
