"""Parses HTML into trees: the document, then every shadow root and frame document in it.

The time is linear in the size of the page: holders are collected while the tree is built, and their content
is not built with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kb_schema.page_snapshots import RENAMED_PREFIX, SHADOW_TAG
from web_pages.element_tree import Element, Root
from web_pages.html_tags import HOLDER_TAGS
from web_pages.page_limits import CharacterBudget, check_tree

_FRAME_TAGS = ("iframe", "frame")


@dataclass(frozen=True, slots=True)
class _NestedMarkup:
    """The unparsed markup of a root inside another root."""

    kind: str
    host: Element | None
    markup: str


def parse_roots(html: str, *, annotated: bool, most_characters: int) -> list[Root]:
    """Return the document's root, then every shadow root and frame document in it, outermost first.

    `most_characters` limits the HTML of all of them together. Raises `PageRefused` beyond it, and for abusive
    markup.
    """
    left = CharacterBudget(most_characters)
    roots: list[Root] = []
    waiting = [_NestedMarkup("document", None, html)]
    for held in waiting:
        left.spend(held.markup)
        root = Root(
            held.kind, held.host, annotated, LexborHTMLParser(held.markup, is_fragment=held.kind == "shadow")
        )
        roots.append(root)
        waiting += _fill(root)
        if held.host is not None and held.kind == "shadow":
            held.host.shadow = root
        elif held.host is not None:
            held.host.frame_document = root
    return roots


def _fill(root: Root) -> list[_NestedMarkup]:
    """Build the root's tree from its parser, without holders; return the content of the holders.

    Holders are ours, not the page's: no query may match them or their content.
    """
    building = _TreeBuilder(root)
    node: LexborNode | None = root.parser.root
    while node is not None:
        building.walk(node)
        node = node.next if root.kind == "shadow" else None
    held = [_held(*holder) for holder in building.holders]
    # The parser's own tree loses them too, so that `:nth-child` and `+` count as on the live page.
    for holder, _, _ in building.holders:
        holder.decompose()
    return held


def _held(holder: LexborNode, parent: Element | None, before: Element | None) -> _NestedMarkup:
    """Assign a shadow root to its parent element, and a frame's document to the frame before it."""
    markup = holder.attributes.get("srcdoc") if "srcdoc" in holder.attributes else holder.inner_html
    if holder.tag == SHADOW_TAG:
        return _NestedMarkup("shadow", parent, markup or "")
    return _NestedMarkup(
        "frame", before if before is not None and before.tag in _FRAME_TAGS else None, markup or ""
    )


class _TreeBuilder:
    """Builds the tree of a root."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._holders_at: dict[int, int] = {}
        """Per parent: how many nodes there were before its last holder."""
        self.holders: list[tuple[LexborNode, Element | None, Element | None]] = []
        """The outermost holders, each with its parent and the element just before it.

        Nested holders follow when the outer one is parsed.
        """

    def walk(self, start: LexborNode) -> None:
        """Add a node of the parser and everything below it, without recursion."""
        root = self._root
        elements, by_node, ids = root.elements, root.by_node, root.ids
        stack: list[tuple[LexborNode, Element | None, int]] = [(start, None, 0)]
        while stack:
            node, parent, depth = stack.pop()
            siblings = parent.children if parent is not None else root.top
            if node.is_text_node:
                siblings.append(node.text_content or "")
                continue
            if not node.is_element_node:
                continue
            tag = node.tag or ""
            if tag in HOLDER_TAGS:
                self.holders.append((node, parent, self._before(parent, siblings)))
                continue
            check_tree(depth, len(elements))
            if root.annotated and tag.startswith(RENAMED_PREFIX):
                tag = tag.removeprefix(RENAMED_PREFIX)
                root.renamed.add(tag)
            attributes = {name: value or "" for name, value in node.attributes.items()}
            element = Element(tag, attributes, root, parent, len(elements))
            siblings.append(element)
            elements.append(element)
            by_node[node.mem_id] = element
            if own := attributes.get("id"):
                ids.setdefault(own, element)
            child = node.last_child
            depth += 1
            while child is not None:
                stack.append((child, element, depth))
                child = child.prev

    def _before(self, parent: Element | None, siblings: list[Element | str]) -> Element | None:
        """Return the element before a holder, unless another holder is between; each text is passed once."""
        key, count = id(parent), len(siblings)
        begin = self._holders_at.get(key, 0)
        self._holders_at[key] = count
        found = (node for at in range(count - 1, begin - 1, -1) if isinstance(node := siblings[at], Element))
        return next(found, None)
