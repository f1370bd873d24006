"""Finds the elements of some roots that a selector step or path matches, by lookup.

It evaluates no selector language; the resolver itself checks each finished selector.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from web_pages.element_tree import Element, Root
from web_pages.selectors.element_index import ElementIndex
from web_pages.selectors.selector_terms import SelectorPath, SelectorStep


class TermIndex(ElementIndex):
    """An `ElementIndex` that answers which elements match a step."""

    def __init__(self, roots: Iterable[Root]) -> None:
        super().__init__(roots)
        self._matching: dict[SelectorStep, list[int]] = {}

    def matching(self, step: SelectorStep) -> list[int]:
        """Return the positions of the elements that match a step, in document order."""
        if step not in self._matching:
            pools = [pool for term in step.terms if (pool := term.among(self)) is not None]
            if step.tag is not None:
                pools.append(self.by_tag.get(step.tag, ()))
            smallest = min(pools, key=len, default=self.elements)
            self._matching[step] = sorted({self.place[id(e)] for e in smallest if step.fits(e, self)})
        return self._matching[step]

    def alone(self, step: SelectorStep, element: Element) -> bool:
        """Return whether the element is the only one that matches the step."""
        return self.matching(step) == [self.place[id(element)]]

    def within(self, element: Element, places: Sequence[int]) -> int:
        """Return how many of the positions are below an element."""
        begin = self.place[id(element)]
        return bisect_left(places, self.end[begin] + 1) - bisect_left(places, begin + 1)

    def leads_alone(self, path: SelectorPath, element: Element, places: Sequence[int]) -> bool:
        """Return whether a two-step path leads to this element only.

        `places` are the positions that match the path's last step.
        """
        outer = self.matching(path.steps[0])
        reached: set[int] = set()
        for each in outer:
            low, high = bisect_left(places, each + 1), bisect_left(places, self.end[each] + 1)
            if high - low > 1:
                return False
            reached.update(places[low:high])
        return reached == {self.place[id(element)]}
