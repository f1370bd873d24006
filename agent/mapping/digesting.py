"""The digest of a page's structure: the same for the same page seen again, whatever its rows say today.

Two halves, parted by a hyphen. The *shape* counts headings, names of controls and chosen tabs; the *bones*
leave out what a page of one of many things says of it, so that the pages of a hundred articles have the same.
Neither counts texts, rows, dates, numbers or what comes and goes by itself (`alert`, `status`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.locating.index import IndexedElement, PageIndex, RegionKind
from kb_schema.pages.selecting.made_up import looks_made_up

_PASSING_ROLES = frozenset({"alert", "status", "log", "timer", "marquee", "tooltip", "progressbar"})
_FIELD_ROLES = frozenset({
    "textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "switch", "slider", "spinbutton",
})  # fmt: skip
_ROWS = (RegionKind.ROW, RegionKind.ITEM)
_NUMBERS = re.compile(r"\d+([.,:/\-\s]*\d+)*")
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Digests:
    """What a page is built like."""

    shape: str
    bones: str

    @property
    def state(self) -> str:
        """Both, as `SeenPage.state` has them."""
        return f"{self.shape}-{self.bones}"


def halves(state: str) -> tuple[str, str]:
    """Shape and bones of a `SeenPage.state`."""
    shape, _, bones = state.partition("-")
    return shape, bones


def digests(index: PageIndex, marks: Mapping[int, str], *, of_many: bool) -> Digests:
    """Of one look. `marks` say which tabs are chosen and what is unfolded, by place; `of_many`: the page's address
    names one of many things, so that its headings are its content.
    """
    shape: set[str] = set()
    bones: set[str] = set()
    for element in index.elements:
        if not (element.visible or element.by_label) or _passes(index, element):
            continue
        for sign, is_bone in _signs(index, element, marks.get(element.at, ""), of_many=of_many):
            shape.add(sign)
            if is_bone:
                bones.add(sign)
    return Digests(_digest(shape), _digest(bones))


def without_numbers(text: str) -> str:
    """A text as it is compared: numbers and dates are `#`."""
    return _NUMBERS.sub("#", text.strip())[:_LONGEST]


def _signs(
    index: PageIndex, element: IndexedElement, mark: str, *, of_many: bool
) -> Iterator[tuple[str, bool]]:
    role = element.role or ""
    in_row = any(
        region.kind in _ROWS and _has_fellows(index, region.parent) for region in index.regions_of(element)
    )
    if role in _FIELD_ROLES:
        names = [each for each in element.identities if not looks_made_up(each)]
        called = without_numbers(names[0] if names else element.label or element.name)
        yield (f"row field {role}", True) if in_row else (f"field {role} {called}", True)
    elif role == "columnheader":
        yield f"column {without_numbers(element.name)}", True
    elif role == "heading" and not in_row:
        yield f"heading {'' if of_many else without_numbers(element.name or element.text)}", False
    elif role in {"dialog", "alertdialog"}:
        yield f"dialog {without_numbers(element.name)}", True
    elif element.interactive:
        if in_row:
            yield f"row {role}", True
        else:
            yield f"{role} {mark} {without_numbers(element.name or element.text)}", role != "link"
    elif element.test_ids and not in_row:
        named = next(iter(element.test_ids.values()))
        if not looks_made_up(named):
            yield f"test {without_numbers(named)}", True


def _has_fellows(index: PageIndex, parent: int | None) -> bool:
    """Whether it is a row of data: links of menus are items of lists, too."""
    at = parent
    while at is not None:
        region = index.regions[at]
        if index.elements[region.element].role in (
            "navigation",
            "menu",
            "menubar",
            "tablist",
            "banner",
            "contentinfo",
        ):
            return False
        at = region.parent
    return True


def _passes(index: PageIndex, element: IndexedElement) -> bool:
    if element.role in _PASSING_ROLES:
        return True
    return any(each.role in _PASSING_ROLES for each in index.ancestors(element))


def _digest(signs: set[str]) -> str:
    return hashlib.sha256("\n".join(sorted(signs)).encode("utf-8", "replace")).hexdigest()[:12]
