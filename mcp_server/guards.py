"""Under which anchors a screen is filed: some of which a page must show if the screen is to be it.

Two reasons make a set of anchors a guard:

- they are those of a *required* indicator that surely does not hold without them;
- they are those of so many positive indicators that the others together weigh too little for the
  screen to come near its threshold.

Of all guards a screen can have, the one whose anchors the fewest other screens share is taken: it
will be on the fewest pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from mcp_server.anchors import Anchor, Anchors, Medium, anchors_of
from mcp_server.signatures import CompiledSignature, Indicator

NEAR_SHARE = 0.75
"""Of its threshold: what a screen needs to be worth naming among many (`identify`)."""
_ROUNDING = 1e-6

_Needs = list[tuple[Indicator, Anchors | None]]
"""The positive indicators of a screen that the page decides on, with what each needs of it."""


def guards(signatures: Iterable[CompiledSignature], medium: Medium) -> Mapping[str, frozenset[Anchor] | None]:
    """By screen id; None: the screen may be any page. An empty guard: in this medium it is none."""
    needs = {signature.screen_id: (signature, _needs(signature, medium)) for signature in signatures}
    shared = Counter(
        anchor
        for _, each in needs.values()
        for _, found in each
        if found is not None
        for anchor in found.any_of
    )
    return {screen_id: _guard(signature, each, shared) for screen_id, (signature, each) in needs.items()}


def _needs(signature: CompiledSignature, medium: Medium) -> _Needs:
    return [
        (indicator, anchors_of(indicator.condition, signature.scope, medium))
        for indicator in signature.positive
        if indicator.kind != "url_patterns"
    ]


def _guard(signature: CompiledSignature, needs: _Needs, shared: Counter[Anchor]) -> frozenset[Anchor] | None:
    def commonness(anchors: Iterable[Anchor]) -> int:
        return sum(shared[anchor] for anchor in anchors)

    found = [
        anchors.any_of
        for indicator, anchors in needs
        if indicator.kind == "required" and anchors is not None and anchors.decided
    ]
    enough = _without_which_too_little(signature, needs, shared)
    if enough is not None:
        found.append(enough)
    return min(found, key=lambda guard: (commonness(guard), sorted(guard)), default=None)


def _without_which_too_little(
    signature: CompiledSignature, needs: _Needs, shared: Counter[Anchor]
) -> frozenset[Anchor] | None:
    """Anchors without any of which what is left weighs too little."""
    wanted = NEAR_SHARE * signature.threshold * signature.total - _ROUNDING
    possible = [(indicator, anchors) for indicator, anchors in needs if anchors is None or anchors.any_of]
    never = sum(
        indicator.weight for indicator, anchors in needs if anchors is not None and not anchors.any_of
    )
    left = signature.total - never
    guard: set[Anchor] = set()
    known = [(indicator, anchors) for indicator, anchors in possible if anchors is not None]
    known.sort(key=lambda each: (sum(shared[anchor] for anchor in each[1].any_of), -each[0].weight))
    for indicator, anchors in known:
        if left < wanted:
            break
        left -= indicator.weight
        guard |= anchors.any_of
    return frozenset(guard) if left < wanted else None
