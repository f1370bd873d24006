"""Plans what an explanation points at and when it scrolls. Pure.

Every stop has a mark in the narration. If the author set no mark, the stop gets one in the first sentence
that names its label, otherwise one spread over the remaining words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kb_schema.narration_marks import MarkedNarration, read_marks
from kb_schema.presentation_flows import Segment

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ExplanationStop:
    """One element to point at, or one scroll."""

    mark: str
    """Unique among the stops of one narration."""
    kind: Literal["point", "scroll_to", "scroll_on", "to_bottom"]
    element: str | None = None
    """An element of the screen; None: the stop only scrolls."""
    label: str = ""
    """The element's label."""


def collect_stops(segment: Segment, labels: dict[str, str]) -> list[ExplanationStop]:
    """Return an explanation's stops in order: highlights, marks of the narration, scrolling. Elements that
    are not on the screen are left out.
    """
    marked = [name for name, _ in read_marks(segment.narration_template).marks]
    points = [
        ExplanationStop(name, "point", name, labels[name])
        for name in dict.fromkeys((*segment.highlights, *marked))
        if name in labels
    ]
    scrolling = segment.scrolling
    if not scrolling.enabled:
        return points
    if scrolling.strategy == "to_elements":
        wanted = [name for name in (scrolling.elements or segment.highlights) if name in labels]
        moves = [
            ExplanationStop(f"scroll-{name}", "scroll_to", name, labels[name])
            for name in wanted[: scrolling.max_scrolls]
        ]
    elif scrolling.strategy == "to_bottom":
        moves = [ExplanationStop("scroll-1", "to_bottom")] if scrolling.max_scrolls else []
    else:
        moves = [
            ExplanationStop(f"scroll-{number}", "scroll_on") for number in range(1, scrolling.max_scrolls + 1)
        ]
    return [*points, *moves]


def add_stop_marks(text: str, stops: Sequence[ExplanationStop]) -> tuple[str, list[ExplanationStop]]:
    """Return the narration with a mark for every stop, and the stops ordered by when their words are spoken."""
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
    for number, stop in enumerate(free):  # spread over the words, but not on the first one
        after = max((places[s.mark] for s in stops[: stops.index(stop)] if s.mark in places), default=0)
        share = (number + 1) / (len(free) + 1)
        places[stop.mark] = min(count - 1, max(after + 1, round(count * share)))
    added = tuple((stop.mark, places[stop.mark]) for stop in stops if stop.mark not in at)
    marked = MarkedNarration(read.words, (*read.marks, *added)).since(0)
    return marked, sorted(stops, key=lambda stop: places[stop.mark])


def _named(read: MarkedNarration, stop: ExplanationStop) -> int | None:
    """Return the index of the word where a stop's label begins, if the narration contains the label."""
    label = _WORD.findall(stop.label.casefold())
    if not label:
        return None
    words = ["".join(_WORD.findall(word.casefold())) for word in read.words]
    for index in range(len(words) - len(label) + 1):
        if words[index : index + len(label)] == label:
            return index
    return None
