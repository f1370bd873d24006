"""Which elements of some roots a term fits: looked up, each kind of answer made when first asked.

No selector language is evaluated here; whether a finished selector leads to its element is asked of
the resolver itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from kb_schema.pages.selecting.lasting import LONGEST
from kb_schema.pages.selecting.terms import Holds, Path, Step
from kb_schema.pages.tree import Element, Root

_LONGEST_RAW = 5 * LONGEST
"""Characters before white space is normalised; longer texts are content and not looked at."""


UNTOLD_TAGS = frozenset({
    "script", "style", "noscript", "template", "iframe", "noembed", "noframes", "textarea", "xmp",
})  # fmt: skip
"""Their text is in the page, but not in a snapshot of it: nothing is said of what is around them."""


class PageTerms:
    """The elements of some roots, by everything that can be said of them."""

    def __init__(self, roots: Iterable[Root]) -> None:
        self.elements: list[Element] = []
        self._place: dict[int, int] = {}
        self._end: list[int] = []
        self._attributes: dict[str, dict[str, list[Element]]] = {}
        self._holders: dict[Holds, dict[int, Element]] = {}
        self._matching: dict[Step, list[int]] = {}
        for root in roots:
            self._number_all(root)

    def _number_all(self, root: Root) -> None:
        begin = len(self.elements)
        self.elements.extend(root.elements)
        for place in range(begin, len(self.elements)):
            self._place[id(self.elements[place])] = place
            self._end.append(place)
        for place in range(len(self.elements) - 1, begin - 1, -1):
            parent = self.elements[place].parent
            if parent is not None:
                above = self._place[id(parent)]
                self._end[above] = max(self._end[above], self._end[place])

    # -- what elements say -----------------------------------------------------------------------

    @cached_property
    def by_tag(self) -> Mapping[str, Sequence[Element]]:
        """Elements by tag."""
        found: defaultdict[str, list[Element]] = defaultdict(list)
        for element in self.elements:
            found[element.tag].append(element)
        return found

    def by_attribute(self, name: str) -> Mapping[str, Sequence[Element]]:
        """Elements by the value of an attribute."""
        if name not in self._attributes:
            found: defaultdict[str, list[Element]] = defaultdict(list)
            for element in self.elements:
                value = element.attributes.get(name)
                if value is not None:
                    found[value].append(element)
            self._attributes[name] = found
        return self._attributes[name]

    @cached_property
    def by_class(self) -> Mapping[str, Sequence[Element]]:
        """Elements by each of their classes."""
        found: defaultdict[str, list[Element]] = defaultdict(list)
        for element in self.elements:
            for name in set((element.attributes.get("class") or "").split()):
                found[name].append(element)
        return found

    @cached_property
    def _texts(self) -> dict[int, str]:
        """XPath's `normalize-space()` of each element that says neither too much nor anything untold."""
        raw: dict[int, str] = {}
        for element in reversed(self.elements):  # what is below comes first
            if (
                element.tag in UNTOLD_TAGS
                or element.shadow is not None
                or "data-pp-secret" in element.attributes
            ):
                continue
            parts: list[str] = []
            for child in element.children:
                said = child if isinstance(child, str) else raw.get(id(child))
                if said is None or sum(map(len, parts)) + len(said) > _LONGEST_RAW:
                    break
                parts.append(said)
            else:
                raw[id(element)] = "".join(parts)
        return {key: normalized(text) for key, text in raw.items()}

    def said(self, element: Element) -> str | None:
        """All its text, white space normalised as XPath does; None where it is long."""
        return self._texts.get(id(element))

    @cached_property
    def by_text(self) -> Mapping[str, Sequence[Element]]:
        """Elements by all their text."""
        found: defaultdict[str, list[Element]] = defaultdict(list)
        texts = self._texts
        for element in self.elements:
            text = texts.get(id(element))
            if text:
                found[text].append(element)
        return found

    def holders(self, held: Holds) -> Mapping[int, Element]:
        """Elements that hold one of that tag and text."""
        if held not in self._holders:
            found: dict[int, Element] = {}
            for element in self.by_text.get(held.text, ()):
                if element.tag != held.tag:
                    continue
                node = element.parent
                while node is not None and id(node) not in found:
                    found[id(node)] = node
                    node = node.parent if held.deep else None
            self._holders[held] = found
        return self._holders[held]

    @cached_property
    def _numbers(self) -> dict[int, int]:
        numbers: dict[int, int] = {}
        for element in self.elements:
            counted: Counter[str] = Counter()
            for child in element.elements():
                counted[child.tag] += 1
                numbers[id(child)] = counted[child.tag]
        return numbers

    def number(self, element: Element) -> int:
        """The so-manyth of its tag below its parent, from 1."""
        return self._numbers.get(id(element), 1)

    # -- what fits -------------------------------------------------------------------------------

    def matching(self, step: Step) -> list[int]:
        """Places of the elements that are such a step, in document order."""
        if step not in self._matching:
            pools = [pool for term in step.terms if (pool := term.among(self)) is not None]
            if step.tag is not None:
                pools.append(self.by_tag.get(step.tag, ()))
            smallest = min(pools, key=len, default=self.elements)
            self._matching[step] = sorted({self._place[id(e)] for e in smallest if step.fits(e, self)})
        return self._matching[step]

    def alone(self, step: Step, element: Element) -> bool:
        """Whether the element is the only such step."""
        return self.matching(step) == [self._place[id(element)]]

    def within(self, element: Element, places: Sequence[int]) -> int:
        """How many of the places are below an element."""
        begin = self._place[id(element)]
        return bisect_left(places, self._end[begin] + 1) - bisect_left(places, begin + 1)

    def leads_alone(self, path: Path, element: Element, places: Sequence[int]) -> bool:
        """Whether of the places, which are those of the path's last step, only the element's is below
        an element that is the path's first.
        """
        outer = self.matching(path.steps[0])
        reached: set[int] = set()
        for each in outer:
            low, high = bisect_left(places, each + 1), bisect_left(places, self._end[each] + 1)
            if high - low > 1:
                return False
            reached.update(places[low:high])
        return reached == {self._place[id(element)]}


_TO_SPACE = {ord(char): " " for char in "\t\r\n"}


def normalized(text: str) -> str:
    """White space as XPath's `normalize-space()` leaves it: others than blanks, tabs and breaks stay."""
    if "\n" in text or "\t" in text or "\r" in text:
        text = text.translate(_TO_SPACE)
    return " ".join(part for part in text.split(" ") if part)
