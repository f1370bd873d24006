"""Finds what is doubtful in a map, the most valuable to decide first. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal
from urllib.parse import urlsplit

from kb_schema import KnowledgeBase
from kb_schema.base import Document
from kb_schema.screens import Screen
from kb_schema.tasks import DRAFT, Task
from kb_schema.url_patterns import open_segment

DoubtKind = Literal["same_page", "split_siblings", "data_name", "untried_task", "no_way_back"]
WORTH: Mapping[DoubtKind, int] = {
    "same_page": 500,
    "split_siblings": 400,
    "data_name": 300,
    "untried_task": 200,
    "no_way_back": 100,
}
"""What a decision on each kind is worth; within a kind, screens with more transitions come first."""
KEPT = "reviewed"
"""Metadata key of a screen or task: the doubts that a person decided to leave as they are."""
ALIKE = 0.7
"""The share of common controls from which two screens look like one."""
LEAST_CONTROLS = 3
LONGEST_NAME = 45
MOST_NAME_WORDS = 6

_DATA = re.compile(r"\d|[\"“”@]|https?:")
_ID_DATA = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Doubt:
    """One thing that a person should decide."""

    kind: DoubtKind
    name: str
    """The screen or task."""
    words: str
    """What is doubtful, in a sentence."""
    other: str | None = None
    """The screen with which it may be one."""
    suggestion: str | None = None
    """A better name."""

    @property
    def what(self) -> Literal["screen", "task"]:
        """What it is about."""
        return "task" if self.kind == "untried_task" else "screen"

    @property
    def mark(self) -> str:
        """What `KEPT` contains if it was decided to keep it."""
        return self.kind if self.other is None else f"{self.kind}:{self.other}"

    @property
    def choices(self) -> tuple[str, ...]:
        """What can be decided: of keep, rename, merge and delete."""
        return ("keep", "rename", *(("merge",) if self.what == "screen" else ()), "delete")


def list_doubts(knowledge: KnowledgeBase, tried: Collection[str] = ()) -> list[Doubt]:
    """Return what is doubtful and was not decided to be kept, the most valuable first.

    `tried`: the ids of tasks that succeeded in a run.
    """
    traffic: dict[str, int] = defaultdict(int)
    for edge in knowledge.transitions.values():
        traffic[edge.from_screen] += 1
        traffic[edge.to_screen] += 1
    found = [
        *_same_pages(knowledge),
        *_data_names(knowledge),
        *_untried_tasks(knowledge, tried),
        *_dead_ends(knowledge),
    ]
    open_doubts = [each for each in found if each.mark not in _kept(knowledge, each)]
    return sorted(
        open_doubts, key=lambda each: (-WORTH[each.kind], -traffic[each.name], each.name, each.mark)
    )


def mark_kept(knowledge: KnowledgeBase, doubt: Doubt) -> Document:
    """Return the screen or task with the mark that it stays as it is."""
    document = _subject(knowledge, doubt)
    kept = [*_kept(knowledge, doubt), doubt.mark]
    return document.model_copy(update={"metadata": {**document.metadata, KEPT: kept}})


def _subject(knowledge: KnowledgeBase, doubt: Doubt) -> Screen | Task:
    return knowledge.tasks[doubt.name] if doubt.what == "task" else knowledge.screens[doubt.name]


def _kept(knowledge: KnowledgeBase, doubt: Doubt) -> tuple[str, ...]:
    stated = _subject(knowledge, doubt).metadata.get(KEPT)
    return tuple(str(each) for each in stated) if isinstance(stated, list) else ()


# -- the kinds ---------------------------------------------------------------------------------------


def _same_pages(knowledge: KnowledgeBase) -> Iterator[Doubt]:
    """Yield pairs of screens with one name, one address or one parent address, and nearly the same controls."""
    controls = {name: _own_controls(screen) for name, screen in knowledge.screens.items()}
    for first, second in combinations(sorted(knowledge.screens), 2):
        one, two = knowledge.screens[first], knowledge.screens[second]
        related = _relation(one, two)
        if related is None:
            continue
        shared = controls[first] & controls[second]
        either = controls[first] | controls[second]
        if len(shared) < LEAST_CONTROLS or len(shared) < ALIKE * len(either):
            continue
        words = f"{one.name} and {two.name} {related[1]} and have {len(shared)} of {len(either)} controls in common"
        kept, other = (
            (second, first) if _ID_DATA.search(first) and not _ID_DATA.search(second) else (first, second)
        )
        yield Doubt(related[0], kept, words, other)


def _relation(one: Screen, two: Screen) -> tuple[DoubtKind, str] | None:
    if _plain(one.name) == _plain(two.name):
        return "same_page", "have the same name"
    here, there = _place(one), _place(two)
    if not here or not there:
        return None
    if here == there:
        return "same_page", "are at the same address"
    if len(here) == len(there) > 1 and here[:-1] == there[:-1]:
        return "split_siblings", f"are below /{'/'.join(here[:-1])}"
    return None


def _plain(name: str) -> str:
    return re.sub(r"[\W\d_]+", " ", name).strip().casefold()


def _place(screen: Screen) -> tuple[str, ...]:
    """Return the path of a screen's address, with ids left open; empty if it has none."""
    address = screen.url or ""
    if not address:
        return ()
    return tuple(open_segment(each) for each in urlsplit(address).path.split("/") if each)


def _own_controls(screen: Screen) -> frozenset[tuple[str, str]]:
    return frozenset((each.type, _plain(each.label)) for each in screen.ui_elements)


def _data_names(knowledge: KnowledgeBase) -> Iterator[Doubt]:
    menu = _menu_names(knowledge)
    for screen in knowledge.screens.values():
        name = screen.name
        made_of_data = _DATA.search(name) or _ID_DATA.search(screen.screen_id)
        if made_of_data or len(name) > LONGEST_NAME or len(name.split()) > MOST_NAME_WORDS:
            better = _suggest_name(name, menu.get(screen.screen_id))
            yield Doubt(
                "data_name", screen.screen_id, f"the name “{name}” looks like data", suggestion=better
            )


def _suggest_name(name: str, menu_name: str | None) -> str | None:
    """Return the name without its data if that is short, else the name of the menu entry."""
    plain = " ".join(re.sub(r"[\d#\"“”]+", " ", name).split())
    short = 0 < len(plain) <= LONGEST_NAME and len(plain.split()) <= MOST_NAME_WORDS
    better = plain if short else menu_name
    return better if better and better != name else None


def _menu_names(knowledge: KnowledgeBase) -> dict[str, str]:
    """Return the name of the menu entry that leads to a screen, where that is no data."""
    found: dict[str, str] = {}
    shared = {each.element_id: each.label for layout in knowledge.website.layouts.values() for each in layout}
    for edge in knowledge.transitions.values():
        label = shared.get(str(edge.triggered_by.target), "")
        if label and not _DATA.search(label) and len(label) <= LONGEST_NAME:
            found.setdefault(edge.to_screen, label)
    return found


def _untried_tasks(knowledge: KnowledgeBase, tried: Collection[str]) -> Iterator[Doubt]:
    for task in knowledge.tasks.values():
        if DRAFT in task.metadata and task.task_id not in tried:
            name = task.name or task.task_id
            yield Doubt("untried_task", task.task_id, f"the task “{name}” was drafted and never run")


def _dead_ends(knowledge: KnowledgeBase) -> Iterator[Doubt]:
    """Yield the screens from which no transitions lead back to the screen that most others lead back to."""
    onward: dict[str, set[str]] = defaultdict(set)
    for edge in knowledge.transitions.values():
        onward[edge.from_screen].add(edge.to_screen)
    reached = {name: _reached(onward, name) for name in knowledge.screens}
    most = max((len(each) for each in reached.values()), default=0)
    for name, screen in sorted(knowledge.screens.items()):
        if len(knowledge.screens) > 1 and len(reached[name]) * 2 < most:
            count = len(reached[name]) - 1
            ways = "nowhere" if count == 0 else f"only to {count} other screen{'' if count == 1 else 's'}"
            yield Doubt("no_way_back", name, f"from {screen.name} the map leads {ways}")


def _reached(onward: Mapping[str, Collection[str]], start: str) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        for each in onward.get(waiting.pop(), ()):
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return seen
