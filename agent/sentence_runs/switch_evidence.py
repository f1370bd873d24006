"""What shows that a switch or a box was changed: how it stood when its page was first seen, and how it stands when the page is opened again.

No text of the page appears or goes where a setting is turned off. What was ticked and not sent is no evidence: only the
page that is opened again says what the application keeps. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from agent.locators.control_names import ON_CLASSES, SWITCH_CLASSES, list_class_parts
from agent.locators.page_index import IndexedElement, PageIndex
from kb_schema.sentence_plans import SentencePlan, fold


@dataclass(slots=True)
class SwitchEvidence:
    """The switches and boxes of the plan, as the pages of one run show them."""

    plan: SentencePlan
    _first: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Address and folded words -> whether it was on when the page was first seen with it."""

    @property
    def wanted(self) -> dict[str, bool]:
        """Return the folded words of each switch -> whether it is to be on."""
        return {
            **{fold(each): True for each in self.plan.on_when_done},
            **{fold(each): False for each in self.plan.off_when_done},
        }

    def note_page(self, url: str, index: PageIndex) -> None:
        """Read the switches of a page, if it is seen for the first time."""
        for words in self.wanted:
            if (url, words) not in self._first and (on := read_switch(index, words)) is not None:
                self._first[url, words] = on

    def find_page(self, words: str) -> str | None:
        """Return the last address at which a switch stood otherwise than it is to stand; None: there is none."""
        pages = [
            url for (url, each), on in self._first.items() if each == words and on is not self.wanted[words]
        ]
        return pages[-1] if pages else None

    def holds(self, index: PageIndex, words: str) -> bool:
        """Whether a page that was opened again shows the switch as it is to stand."""
        return read_switch(index, words) is self.wanted[words]

    def describe(self) -> list[str]:
        """Return what is to be seen."""
        told = [f"{each!r} is on" for each in self.plan.on_when_done]
        return [*told, *(f"{each!r} is off" for each in self.plan.off_when_done)]


def read_switch(index: PageIndex, words: str) -> bool | None:
    """Return whether the only switch or box that is called so, else the only one whose name has the words, is on.

    None if there is none, or several. `words`: folded.
    """
    switches = [
        (each, each.checked)
        for each in index.elements
        if each.checked is not None and not each.behind and (each.visible or each.by_label)
    ]
    for among in (switches, list(_list_drawn_switches(index))):
        called = [on for each, on in among if words in _names(each)]
        found = called or [
            on for each, on in among if any(f" {words} " in f" {name} " for name in _names(each))
        ]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _list_drawn_switches(index: PageIndex) -> Iterator[tuple[IndexedElement, bool]]:
    """Yield what is a switch by its classes alone, the outermost element of each, and whether a class says that it is on."""
    drawn: set[int] = set()
    for each in index.elements:
        parts = list_class_parts(each)
        if parts.isdisjoint(SWITCH_CLASSES) or each.text.strip() or each.checked is not None:
            continue
        drawn.add(each.at)
        if each.parent not in drawn and each.visible and not each.behind:
            yield each, not parts.isdisjoint(ON_CLASSES)


def _names(element: IndexedElement) -> set[str]:
    called = (element.label, element.name, element.text)
    names = {fold(each) for each in called if each.strip()}
    return names or {fold(element.near.before)}
