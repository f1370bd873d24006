"""Proposes selector strategies for a discovered element.

`target_discovery` checks on the page which of the proposed strategies lead only to that element, and
drops the others. `stable_selectors` chooses stable selectors for any element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from agent.locators.candidate_ranking import DiscoveryCandidate
from agent.locators.page_index import IndexedElement, IndexedRegion, PageIndex, RegionKind, RootKind
from kb_schema.selectors import NameStrategy, Selector, Strategy, ValueStrategy
from kb_schema.templates import css_string
from web_pages.selectors.generated_names import looks_generated

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
"""Roles for which a page index contains every element, including hidden ones."""
_HEADINGS = ":is(h1,h2,h3,h4,h5,h6,legend,summary,caption,label)"


def frame_of(index: PageIndex, element: IndexedElement) -> str | None:
    """Return the CSS of the innermost frame that contains the element; None for the page itself.

    The CSS is unique on the page if one of the frame's attributes is; otherwise the page has to check it
    (see `NameCollisions`).
    """
    path = index.path_of_root(element.root)
    return next((root.host_css for root in reversed(path) if root.kind is RootKind.FRAME), None)


def propose_strategies(index: PageIndex, candidate: DiscoveryCandidate) -> tuple[Strategy, ...]:
    """Return the proposed strategies: first the one that found the element, then the others."""
    order = (candidate.strategy, *(name for name in _WRITERS if name != candidate.strategy))
    return tuple(strategy for name in order for strategy in _WRITERS[name](index, candidate))


class NameCollisions:
    """Elements of a page index by name: shows without a call to the page that a strategy is unique.

    A page index contains every control and every element with an interactive role. Therefore it is
    sufficient to check labels, placeholders, and names of such roles.
    """

    def __init__(self, index: PageIndex) -> None:
        self._index = index
        self._by_name: dict[tuple[str, int, str | None, str], list[IndexedElement]] = {}
        for element in index.elements:
            for kind, name in (
                ("label", element.label),
                ("placeholder", element.placeholder),
                ("role_name", element.name),
            ):
                if name:
                    self._by_name.setdefault(self._key(kind, element, name), []).append(element)

    def is_unique(self, element: IndexedElement, strategy: Strategy) -> bool | None:
        """Return whether the strategy leads only to this element; None if the index cannot decide."""
        if self._index.roots[self._index.documents[element.root]].kind is RootKind.FRAME:
            return None  # the frame's selector may match several frames
        if not isinstance(strategy, NameStrategy):
            return None
        if strategy.type == "role_name" and strategy.role not in _COMPLETE_ROLES:
            return None
        if self._index.query is not None and not self._index.query.covers(strategy.name):
            return None
        same = self._by_name.get(self._key(strategy.type, element, strategy.name), [])
        return [each for each in same if each.visible or not element.visible] == [element]

    def _key(self, kind: str, element: IndexedElement, name: str) -> tuple[str, int, str | None, str]:
        role = None if kind == "placeholder" else element.role
        # the scan has already normalized the whitespace of labels and names
        words = " ".join(name.split()) if kind == "placeholder" else name
        return kind, self._index.documents[element.root], role, words


def build_selector(index: PageIndex, element: IndexedElement, strategies: tuple[Strategy, ...]) -> Selector:
    """Return a selector with these strategies in the element's frame."""
    return Selector(strategies=strategies, frame=frame_of(index, element))


def _named(kind: Named, name: str, confidence: float, role: str | None = None) -> Iterator[Strategy]:
    if name and (kind != "role_name" or role):
        yield NameStrategy(type=kind, name=name, role=role, exact=True, confidence=confidence)


def _css(kind: Css, value: str, confidence: float) -> Strategy:
    return ValueStrategy(type=kind, value=value, confidence=confidence)


def _by_label(_index: PageIndex, candidate: DiscoveryCandidate) -> Iterator[Strategy]:
    element = candidate.element
    return _named("label", element.label, 0.92, element.role)


def _by_placeholder(_index: PageIndex, candidate: DiscoveryCandidate) -> Iterator[Strategy]:
    return _named("placeholder", candidate.element.placeholder, 0.88)


def _by_role_and_name(_index: PageIndex, candidate: DiscoveryCandidate) -> Iterator[Strategy]:
    return _named("role_name", candidate.element.name, 0.95, candidate.element.role)


def _by_relation(index: PageIndex, candidate: DiscoveryCandidate) -> Iterator[Strategy]:
    """Yield the element within each of its regions, from the innermost to the outermost."""
    inner = _own_css(candidate.element)
    for region in index.regions_of(candidate.element):
        scope = _region_css(index, region, candidate)
        if scope is not None:
            yield _css("relational_css", f"{scope} {inner}", 0.85)


def _by_piercing(index: PageIndex, candidate: DiscoveryCandidate) -> Iterator[Strategy]:
    """Yield a selector through the hosts of the shadow roots around the element."""
    path = index.path_of_root(candidate.element.root)
    hosts: list[str] = []
    for root in reversed(path):
        if root.kind is not RootKind.SHADOW or root.host_css is None:
            break
        hosts.insert(0, root.host_css)
    if hosts:
        yield _css("shadow_pierce", " >>> ".join([*hosts, _own_css(candidate.element)]), 0.80)


def _by_attributes(_index: PageIndex, candidate: DiscoveryCandidate) -> Iterator[Strategy]:
    """Yield a selector for each identifying attribute of the element."""
    element = candidate.element
    attributes = {**element.test_ids} | {
        key: element.attributes[key] for key in ("name", "title", "href") if element.attributes.get(key)
    }
    if element.id and not looks_generated(element.id):
        attributes = {**element.test_ids, "id": element.id} | attributes
    for name, value in attributes.items():
        yield _css("fallback_css", f"{element.tag}[{name}={css_string(value)}]", 0.70)


_Writer = Callable[[PageIndex, DiscoveryCandidate], Iterator[Strategy]]
_WRITERS: dict[str, _Writer] = {
    "label": _by_label,
    "placeholder": _by_placeholder,
    "role_name": _by_role_and_name,
    "relational_css": _by_relation,
    "shadow_pierce": _by_piercing,
    "fallback_css": _by_attributes,
}


def _own_css(element: IndexedElement) -> str:
    """Return CSS that distinguishes the element from others of its region."""
    attributes = element.attributes
    for name in (*element.test_ids, "name", "aria-label", "title"):
        if attributes.get(name):
            return f"{element.tag}[{name}={css_string(attributes[name])}]"
    if element.tag == "input":
        return f"input[type={css_string(attributes['type'])}]" if "type" in attributes else "input"
    text = element.text if element.tag not in ("select", "textarea") else ""
    return f"{element.tag}:has-text({css_string(text)})" if text else element.tag


def _region_css(index: PageIndex, region: IndexedRegion, candidate: DiscoveryCandidate) -> str | None:
    element = index.elements[region.element]
    if region.kind in (RegionKind.SECTION, RegionKind.FIELD):
        return f":has(> {element.tag}:has-text({css_string(region.name)}))" if region.name else None
    tag = element.tag if element.attributes.get("role") is None else f'[role="{element.attributes["role"]}"]'
    if region.kind in (RegionKind.ROW, RegionKind.ITEM):
        own = {candidate.element.text, candidate.element.name, candidate.matched_text}
        text = next((text for text in region.texts if text not in own), "")
        return f"{tag}:has-text({css_string(text)})" if text else None
    if element.id and not looks_generated(element.id):
        return f"{element.tag}[id={css_string(element.id)}]"
    for name in (*element.test_ids, "aria-label", "name"):
        if element.attributes.get(name):
            return f"{element.tag}[{name}={css_string(element.attributes[name])}]"
    return f"{tag}:has({_HEADINGS}:has-text({css_string(region.name)}))" if region.name else None
