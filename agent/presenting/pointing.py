"""What is shown while a screen is explained: what is pointed at when, and how the page moves. Pure.

Every stop has a mark in the narration, its author's own or one that is put where it fits: in the first
sentence that names it, else spread over the words that are left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kb_schema.marks import Marked, read_marks
from kb_schema.presentation import Segment

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Stop:
    """One thing that is shown."""

    mark: str
    """Unique among the stops of a narration."""
    kind: Literal["point", "scroll_to", "scroll_on", "to_bottom"]
    element: str | None = None
    """Of the screen; None: the page moves by itself."""
    label: str = ""
    """What it is called by people."""


def stops_of(segment: Segment, labels: dict[str, str]) -> list[Stop]:
    """What an explanation shows, in its order: its highlights, what its words mark, how the page moves. What
    is not on the screen is left out.
    """
    marked = [name for name, _ in read_marks(segment.narration_template).marks]
    points = [
        Stop(name, "point", name, labels[name])
        for name in dict.fromkeys((*segment.highlights, *marked))
        if name in labels
    ]
    scrolling = segment.scrolling
    if not scrolling.enabled:
        return points
    if scrolling.strategy == "to_elements":
        wanted = [name for name in (scrolling.elements or segment.highlights) if name in labels]
        moves = [
            Stop(f"scroll-{name}", "scroll_to", name, labels[name])
            for name in wanted[: scrolling.max_scrolls]
        ]
    elif scrolling.strategy == "to_bottom":
        moves = [Stop("scroll-1", "to_bottom")] if scrolling.max_scrolls else []
    else:
        moves = [Stop(f"scroll-{number}", "scroll_on") for number in range(1, scrolling.max_scrolls + 1)]
    return [*points, *moves]


def with_marks(text: str, stops: Sequence[Stop]) -> tuple[str, list[Stop]]:
    """The narration with a mark for every stop, and the stops as their words are heard."""
    read = read_marks(text)
    count = len(read.words)
    if not count or not stops:
        return text, list(stops)
    at = dict(read.marks)
    places = dict(at)
    for stop in stops:
        if stop.mark not in places and (named := _named(read, stop)) is not None:
            places[stop.mark] = named
    free = [stop for stop in stops if stop.mark not in places]
    for number, stop in enumerate(free):  # spread over the words, none on the first
        after = max((places[s.mark] for s in stops[: stops.index(stop)] if s.mark in places), default=0)
        share = (number + 1) / (len(free) + 1)
        places[stop.mark] = min(count - 1, max(after + 1, round(count * share)))
    added = tuple((stop.mark, places[stop.mark]) for stop in stops if stop.mark not in at)
    marked = Marked(read.words, (*read.marks, *added)).since(0)
    return marked, sorted(stops, key=lambda stop: places[stop.mark])


def _named(read: Marked, stop: Stop) -> int | None:
    """The word at which a stop's label begins, where the narration says it."""
    label = _WORD.findall(stop.label.casefold())
    if not label:
        return None
    words = ["".join(_WORD.findall(word.casefold())) for word in read.words]
    for index in range(len(words) - len(label) + 1):
        if words[index : index + len(label)] == label:
            return index
    return None
