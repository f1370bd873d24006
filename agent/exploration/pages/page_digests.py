"""Computes the digest of a page's structure, which does not depend on the current data rows.

The digest has four parts, joined by hyphens (`SeenPage.state`). The *shape* contains headings, names of controls and
selected tabs. The *bones* omit the content of pages for one of many items, so that all articles are equal. The
*frame* omits the names of controls. The *names* contain four characters of each name, so that a page on
which one control has changed its name (such as a theme switch) still matches. All parts omit texts, rows, dates,
numbers and transient content (`alert`, `status`).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from agent.locators.page_index import IndexedElement, PageIndex, RegionKind
from web_pages.selectors.generated_names import looks_generated

_PASSING_ROLES = frozenset({"alert", "status", "log", "timer", "marquee", "tooltip", "progressbar"})
_FIELD_ROLES = frozenset(
    {
        "textbox",
        "searchbox",
        "combobox",
        "listbox",
        "checkbox",
        "radio",
        "switch",
        "slider",
        "spinbutton",
    }
)
_ROWS = (RegionKind.ROW, RegionKind.ITEM)
_NUMBERS = re.compile(r"\d+([.,:/\-\s]*\d+)*")
_LONGEST = 80
NAME, MOST_NAMES = 4, 100
"""Characters per control name in the digest, and the maximum number of names."""
RENAMED = 2
"""Number of differing names if one control is renamed: the old and the new one."""


@dataclass(frozen=True, slots=True)
class PageDigests:
    """The parts of a structure digest."""

    shape: str
    bones: str
    frame: str = ""
    names: frozenset[str] = frozenset()

    @property
    def state(self) -> str:
        """The digest as text, as in `SeenPage.state`."""
        return f"{self.shape}-{self.bones}-{self.frame}-{''.join(sorted(self.names))}"

    @classmethod
    def of(cls, state: str) -> PageDigests:
        """Parse a `SeenPage.state`."""
        shape, bones, frame, names = (*state.split("-"), "", "", "")[:4]
        return cls(shape, bones, frame, frozenset(names[at : at + NAME] for at in range(0, len(names), NAME)))

    def like(self, other: PageDigests) -> bool:
        """Whether it is the same page, apart from one renamed control."""
        if self.shape == other.shape:
            return True
        return self.frame == other.frame and len(self.names ^ other.names) <= RENAMED


def compute_page_digests(
    index: PageIndex,
    marks: Mapping[int, str],
    *,
    of_many: bool,
    items: Collection[int] = (),
    floating: Collection[int] = (),
    covered: bool = False,
) -> PageDigests:
    """Compute the digests of a page index.

    `marks` are the states of controls by place (selected, expanded). `of_many` means that the page's address
    identifies one of many items, so its headings are content. `items` are the places of controls in rows that are
    none by their markup, `floating` those of controls over the page. `covered`: a layer lies over the whole page.
    """
    signs = _DigestSigns()
    if covered:
        signs.add("layer")
    for element in index.elements:
        if (element.visible or element.by_label) and not _is_transient(index, element):
            mark = marks.get(element.at, "")
            floats = element.at in floating
            _note(signs, index, element, mark, of_many=of_many, item=element.at in items, floats=floats)
    for role, count in signs.unnamed.items():
        signs.add(f"unnamed {role} {count.bit_length()}", bone=False)
    counts = Counter(role for role, _ in signs.controls)
    frame = {*signs.frame, *(f"{role} {count}" for role, count in counts.items())}
    names = sorted(_digest({f"{role} {name}"})[:NAME] for role, name in signs.controls)
    return PageDigests(
        _digest(signs.shape), _digest(signs.bones), _digest(frame), frozenset(names[:MOST_NAMES])
    )


@dataclass
class _DigestSigns:
    """Collects the signs of a page."""

    shape: set[str] = field(default_factory=set)
    bones: set[str] = field(default_factory=set)
    frame: set[str] = field(default_factory=set)
    controls: set[tuple[str, str]] = field(default_factory=set)
    unnamed: Counter[str] = field(default_factory=Counter)
    """The number of controls without a name, by role; their order of magnitude counts."""

    def add(self, sign: str, *, bone: bool = True) -> None:
        """Add a sign to all parts, or to all except the bones."""
        self.shape.add(sign)
        self.frame.add(sign)
        if bone:
            self.bones.add(sign)


def mask_numbers(text: str) -> str:
    """Return a text with numbers and dates replaced by `#`."""
    return _NUMBERS.sub("#", text.strip())[:_LONGEST]


def _note(
    signs: _DigestSigns,
    index: PageIndex,
    element: IndexedElement,
    mark: str,
    *,
    of_many: bool,
    item: bool,
    floats: bool,
) -> None:
    role = element.role or ""
    used = element.interactive or element.clickable
    in_row = not floats and (
        item
        or any(
            region.kind in _ROWS and _is_data_row(index, region.parent)
            for region in index.regions_of(element)
        )
    )
    if role in _FIELD_ROLES:
        names = [each for each in element.identities if not looks_generated(each)]
        called = mask_numbers(names[0] if names else element.label or element.name)
        signs.add(f"row field {role}" if in_row else f"field {role} {called}")
    elif role == "columnheader":
        signs.add(f"column {mask_numbers(element.name)}")
    elif role == "heading" and not in_row:
        signs.add(f"heading {'' if of_many else mask_numbers(element.name or element.text)}", bone=False)
    elif role in {"dialog", "alertdialog"}:
        signs.add(f"dialog {mask_numbers(element.name)}")
    elif used and in_row:
        signs.add(f"row {role}")
    elif used:
        name = mask_numbers(element.name or element.text)
        signs.controls.add((role, name))
        signs.unnamed[role] += not name
        signs.frame.add(f"{role} {mark}")
        signs.shape.add(f"{role} {mark} {name}")
        if floats or (role != "link" and element.interactive):
            signs.bones.add(f"{role} {mark} {name}")
    elif element.test_ids and not in_row:
        named = next(iter(element.test_ids.values()))
        if not looks_generated(named):
            signs.add(f"test {mask_numbers(named)}")


def _is_data_row(index: PageIndex, parent: int | None) -> bool:
    """Whether it is a data row; menu links are list items too and do not count."""
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


def _is_transient(index: PageIndex, element: IndexedElement) -> bool:
    if element.role in _PASSING_ROLES:
        return True
    return any(each.role in _PASSING_ROLES for each in index.ancestors(element))


def _digest(signs: set[str]) -> str:
    return hashlib.sha256("\n".join(sorted(signs)).encode("utf-8", "replace")).hexdigest()[:12]
