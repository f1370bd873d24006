"""Writes a discovered element down as strategies of the one selector model.

What is written here is only proposed: `discovering` asks the page which of it leads to exactly that
element, and keeps no other. Stable selectors for any element are another module's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from agent.locating.index import IndexedElement, IndexedRegion, PageIndex, RegionKind, RootKind
from agent.locating.ranking import Candidate
from kb_schema.pages.selecting.made_up import looks_made_up
from kb_schema.selectors import NameStrategy, Selector, Strategy, ValueStrategy
from kb_schema.templates import css_string

Named = Literal["label", "placeholder", "role_name"]
Css = Literal["relational_css", "shadow_pierce", "fallback_css"]
_COMPLETE_ROLES = frozenset(
    [
        "button",
        "link",
        "checkbox",
        "radio",
        "switch",
        "textbox",
        "searchbox",
        "combobox",
        "spinbutton",
        "slider",
    ]
)
"""Roles of which a look has every element, hidden ones included."""
_HEADINGS = ":is(h1,h2,h3,h4,h5,h6,legend,summary,caption,label)"


def frame_of(index: PageIndex, element: IndexedElement) -> str | None:
    """CSS of the innermost frame the element stands in; None for the page itself.

    Unique on the page where any of the frame's own attributes is; else the page is asked (`Namesakes`).
    """
    path = index.path_of_root(element.root)
    return next((root.host_css for root in reversed(path) if root.kind is RootKind.FRAME), None)


def proposals(index: PageIndex, candidate: Candidate) -> tuple[Strategy, ...]:
    """Ways to write the element down: the strategy that found it first, then the others."""
    order = (candidate.strategy, *(name for name in _WRITERS if name != candidate.strategy))
    return tuple(strategy for name in order for strategy in _WRITERS[name](index, candidate))


class Namesakes:
    """Which elements of a look share a name: shows without a question that a way leads to one only.

    A look has every control of the page and every element with one of the operable roles, so what is
    named by label, placeholder, or such a role and name needs no second look.
    """

    def __init__(self, index: PageIndex) -> None:
        self._index = index
        self._places: dict[tuple[str, int, str | None, str], list[IndexedElement]] = {}
        for element in index.elements:
            for kind, said in (
                ("label", element.label),
                ("placeholder", element.placeholder),
                ("role_name", element.name),
            ):
                if said:
                    self._places.setdefault(self._key(kind, element, said), []).append(element)

    def alone(self, element: IndexedElement, way: Strategy) -> bool | None:
        """Whether the way leads to this element only; None where the look cannot tell."""
        if self._index.roots[self._index.documents[element.root]].kind is RootKind.FRAME:
            return None  # the frame's own selector may lead into several
        if not isinstance(way, NameStrategy) or (way.type == "role_name" and way.role not in _COMPLETE_ROLES):
            return None
        if self._index.asked is not None and not self._index.asked.covers(way.name):
            return None
        same = self._places.get(self._key(way.type, element, way.name), [])
        return [each for each in same if each.visible or not element.visible] == [element]

    def _key(self, kind: str, element: IndexedElement, said: str) -> tuple[str, int, str | None, str]:
        role = None if kind == "placeholder" else element.role
        words = " ".join(said.split()) if kind == "placeholder" else said  # the page has squeezed the others
        return kind, self._index.documents[element.root], role, words


def as_selector(index: PageIndex, element: IndexedElement, strategies: tuple[Strategy, ...]) -> Selector:
    """A selector of these strategies in the element's own frame."""
    return Selector(strategies=strategies, frame=frame_of(index, element))


def _named(kind: Named, name: str, confidence: float, role: str | None = None) -> Iterator[Strategy]:
    if name and (kind != "role_name" or role):
        yield NameStrategy(type=kind, name=name, role=role, exact=True, confidence=confidence)


def _css(kind: Css, value: str, confidence: float) -> Strategy:
    return ValueStrategy(type=kind, value=value, confidence=confidence)


def _by_label(_index: PageIndex, candidate: Candidate) -> Iterator[Strategy]:
    element = candidate.element
    return _named("label", element.label, 0.92, element.role)


def _by_placeholder(_index: PageIndex, candidate: Candidate) -> Iterator[Strategy]:
    return _named("placeholder", candidate.element.placeholder, 0.88)


def _by_role_and_name(_index: PageIndex, candidate: Candidate) -> Iterator[Strategy]:
    return _named("role_name", candidate.element.name, 0.95, candidate.element.role)


def _by_relation(index: PageIndex, candidate: Candidate) -> Iterator[Strategy]:
    """The element within a region, from the innermost to the outermost."""
    inner = _own_css(candidate.element)
    for region in index.regions_of(candidate.element):
        scope = _region_css(index, region, candidate)
        if scope is not None:
            yield _css("relational_css", f"{scope} {inner}", 0.85)


def _by_piercing(index: PageIndex, candidate: Candidate) -> Iterator[Strategy]:
    """Through the hosts of the shadow roots around the element."""
    path = index.path_of_root(candidate.element.root)
    hosts: list[str] = []
    for root in reversed(path):
        if root.kind is not RootKind.SHADOW or root.host_css is None:
            break
        hosts.insert(0, root.host_css)
    if hosts:
        yield _css("shadow_pierce", " >>> ".join([*hosts, _own_css(candidate.element)]), 0.80)


def _by_attributes(_index: PageIndex, candidate: Candidate) -> Iterator[Strategy]:
    """By one attribute that is the element's own business."""
    element = candidate.element
    told = {**element.test_ids} | {
        key: element.attributes[key] for key in ("name", "title", "href") if element.attributes.get(key)
    }
    if element.id and not looks_made_up(element.id):
        told = {**element.test_ids, "id": element.id} | told
    for name, value in told.items():
        yield _css("fallback_css", f"{element.tag}[{name}={css_string(value)}]", 0.70)


_Writer = Callable[[PageIndex, Candidate], Iterator[Strategy]]
_WRITERS: dict[str, _Writer] = {
    "label": _by_label,
    "placeholder": _by_placeholder,
    "role_name": _by_role_and_name,
    "relational_css": _by_relation,
    "shadow_pierce": _by_piercing,
    "fallback_css": _by_attributes,
}


def _own_css(element: IndexedElement) -> str:
    """The element among the others of its region."""
    attributes = element.attributes
    for name in (*element.test_ids, "name", "aria-label", "title"):
        if attributes.get(name):
            return f"{element.tag}[{name}={css_string(attributes[name])}]"
    if element.tag == "input":
        return f"input[type={css_string(attributes['type'])}]" if "type" in attributes else "input"
    text = element.text if element.tag not in ("select", "textarea") else ""
    return f"{element.tag}:has-text({css_string(text)})" if text else element.tag


def _region_css(index: PageIndex, region: IndexedRegion, candidate: Candidate) -> str | None:
    element = index.elements[region.element]
    if region.kind in (RegionKind.SECTION, RegionKind.FIELD):
        return f":has(> {element.tag}:has-text({css_string(region.name)}))" if region.name else None
    tag = element.tag if element.attributes.get("role") is None else f'[role="{element.attributes["role"]}"]'
    if region.kind in (RegionKind.ROW, RegionKind.ITEM):
        own = {candidate.element.text, candidate.element.name, candidate.said}
        text = next((text for text in region.texts if text not in own), "")
        return f"{tag}:has-text({css_string(text)})" if text else None
    if element.id and not looks_made_up(element.id):
        return f"{element.tag}[id={css_string(element.id)}]"
    for name in (*element.test_ids, "aria-label", "name"):
        if element.attributes.get(name):
            return f"{element.tag}[{name}={css_string(element.attributes[name])}]"
    return f"{tag}:has({_HEADINGS}:has-text({css_string(region.name)}))" if region.name else None
