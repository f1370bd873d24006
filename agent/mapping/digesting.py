"""The digest of a page's structure: the same for the same page seen again, whatever its rows say today.

Four parts, joined by hyphens (`SeenPage.state`). The *shape* counts headings, names of controls and chosen tabs; the
*bones* leave out what a page of one of many things says of it, so that the pages of a hundred articles have the same;
the *frame* leaves out what controls are called; the *names* are that, four letters each, so that one control that
is called otherwise (a switch of colours) is told from another page. None of them counts texts, rows, dates, numbers
or what comes and goes by itself (`alert`, `status`).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.locating.index import IndexedElement, PageIndex, RegionKind
from kb_schema.pages.selecting.made_up import looks_made_up

_PASSING_ROLES = frozenset({"alert", "status", "log", "timer", "marquee", "tooltip", "progressbar"})
_FIELD_ROLES = frozenset({
    "textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "switch", "slider", "spinbutton",
})  # fmt: skip
_ROWS = (RegionKind.ROW, RegionKind.ITEM)
_NUMBERS = re.compile(r"\d+([.,:/\-\s]*\d+)*")
_LONGEST = 80
NAME, MOST_NAMES = 4, 100
"""Letters of a control's name in the digest, and how many names there are in it."""
RENAMED = 2
"""Names that differ where one control is called otherwise: the old one and the new one."""


@dataclass(frozen=True, slots=True)
class Digests:
    """What a page is built like."""

    shape: str
    bones: str
    frame: str = ""
    names: frozenset[str] = frozenset()

    @property
    def state(self) -> str:
        """As `SeenPage.state` has it."""
        return f"{self.shape}-{self.bones}-{self.frame}-{''.join(sorted(self.names))}"

    @classmethod
    def of(cls, state: str) -> Digests:
        """From a `SeenPage.state`."""
        shape, bones, frame, names = (*state.split("-"), "", "", "")[:4]
        return cls(shape, bones, frame, frozenset(names[at : at + NAME] for at in range(0, len(names), NAME)))

    def like(self, other: Digests) -> bool:
        """Whether it is the same page, but for one control that is called otherwise."""
        if self.shape == other.shape:
            return True
        return self.frame == other.frame and len(self.names ^ other.names) <= RENAMED


def digests(index: PageIndex, marks: Mapping[int, str], *, of_many: bool) -> Digests:
    """Of one look. `marks` say which tabs are chosen and what is unfolded, by place; `of_many`: the page's address
    names one of many things, so that its headings are its content.
    """
    signs = _Signs()
    for element in index.elements:
        if (element.visible or element.by_label) and not _passes(index, element):
            _note(signs, index, element, marks.get(element.at, ""), of_many=of_many)
    counts = Counter(role for role, _ in signs.controls)
    frame = {*signs.frame, *(f"{role} {count}" for role, count in counts.items())}
    names = sorted(_digest({f"{role} {name}"})[:NAME] for role, name in signs.controls)
    return Digests(_digest(signs.shape), _digest(signs.bones), _digest(frame), frozenset(names[:MOST_NAMES]))


@dataclass
class _Signs:
    """What is counted, while a look is read."""

    shape: set[str] = field(default_factory=set)
    bones: set[str] = field(default_factory=set)
    frame: set[str] = field(default_factory=set)
    controls: set[tuple[str, str]] = field(default_factory=set)

    def add(self, sign: str, *, bone: bool = True) -> None:
        """A sign of everything, or of all but the bones."""
        self.shape.add(sign)
        self.frame.add(sign)
        if bone:
            self.bones.add(sign)


def without_numbers(text: str) -> str:
    """A text as it is compared: numbers and dates are `#`."""
    return _NUMBERS.sub("#", text.strip())[:_LONGEST]


def _note(signs: _Signs, index: PageIndex, element: IndexedElement, mark: str, *, of_many: bool) -> None:
    role = element.role or ""
    in_row = any(
        region.kind in _ROWS and _is_of_data(index, region.parent) for region in index.regions_of(element)
    )
    if role in _FIELD_ROLES:
        names = [each for each in element.identities if not looks_made_up(each)]
        called = without_numbers(names[0] if names else element.label or element.name)
        signs.add(f"row field {role}" if in_row else f"field {role} {called}")
    elif role == "columnheader":
        signs.add(f"column {without_numbers(element.name)}")
    elif role == "heading" and not in_row:
        signs.add(f"heading {'' if of_many else without_numbers(element.name or element.text)}", bone=False)
    elif role in {"dialog", "alertdialog"}:
        signs.add(f"dialog {without_numbers(element.name)}")
    elif element.interactive and in_row:
        signs.add(f"row {role}")
    elif element.interactive:
        name = without_numbers(element.name or element.text)
        signs.controls.add((role, name))
        signs.frame.add(f"{role} {mark}")
        signs.shape.add(f"{role} {mark} {name}")
        if role != "link":
            signs.bones.add(f"{role} {mark} {name}")
    elif element.test_ids and not in_row:
        named = next(iter(element.test_ids.values()))
        if not looks_made_up(named):
            signs.add(f"test {without_numbers(named)}")


def _is_of_data(index: PageIndex, parent: int | None) -> bool:
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
