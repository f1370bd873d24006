"""Tells what has appeared on a page: a dialog, a menu or a panel, with or without a role.

A layer is told by what it does: it covers the page, it floats over it, or it was added to it while the rest stayed.
Controls in rows do not count, so a list with other rows is no layer.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from agent.exploration.pages.page_digests import mask_numbers
from agent.exploration.pages.page_observation import (
    DIALOG_ROLES,
    NO_REPORTED_ELEMENT,
    TEXT_ROLES,
    PageObservation,
)
from agent.locators.page_index import IndexedElement, RegionKind
from kb_schema.explorations import LayerKind

STAYED = 0.8
"""The share of a page's controls that must still be there if something was added to it."""
_Sign = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PageLayer:
    """What lies on a page."""

    kind: LayerKind = ""
    """Empty: nothing does."""
    on_top: frozenset[int] = frozenset()
    """The places of its controls in the page index."""


NO_LAYER = PageLayer()


def find_layer(look: PageObservation, before: PageObservation | None) -> PageLayer:
    """Return what lies on a page. `before` is the page on which it appeared at the same address, if it did."""
    inside = look.covering or _in_dialog(look)
    new = frozenset() if before is None else _find_new(look, before)
    if inside:
        nested = new & inside
        floating = nested and before is not None and (before.covering or _in_dialog(before))
        return (
            PageLayer("menu", nested)
            if floating and _are_floating(look, nested)
            else PageLayer("dialog", inside)
        )
    if not new:
        return NO_LAYER
    if not _are_floating(look, new):
        return PageLayer("panel", new)
    fields = any(look.index.elements[at].role in TEXT_ROLES for at in new)
    return PageLayer("dialog" if fields else "menu", new)


def _in_dialog(look: PageObservation) -> frozenset[int]:
    return frozenset(
        element.at
        for element in look.index.interactive
        if element.at in look.said
        and any(each.visible and each.role in DIALOG_ROLES for each in look.index.ancestors(element))
    )


def _are_floating(look: PageObservation, places: frozenset[int]) -> bool:
    return all(look.said[at].floats for at in places)


def _find_new(look: PageObservation, before: PageObservation) -> frozenset[int]:
    """Return the controls that were added to a page; none if they replaced others."""
    former, now = _signs(before), _signs(look)
    counted = Counter(former.values())
    new = []
    for at, sign in now.items():
        if counted[sign] > 0:
            counted[sign] -= 1
        else:
            new.append(at)
    gone = sum(counted.values())
    return frozenset(new) if gone <= (1 - STAYED) * len(former) else frozenset()


def _signs(look: PageObservation) -> dict[int, _Sign]:
    return {
        element.at: (element.tag, element.role or "", mask_numbers(element.name or element.text))
        for element in look.index.interactive
        if element.at in look.said and not _is_in_row(look, element)
    }


def _is_in_row(look: PageObservation, element: IndexedElement) -> bool:
    told = look.said.get(element.at, NO_REPORTED_ELEMENT)
    if told.floats:  # the menu of a field in a row is none of its rows
        return False
    if told.item is not None:
        return True
    return any(region.kind is RegionKind.ROW for region in look.index.regions_of(element))
