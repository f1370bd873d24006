"""From HTML to trees: the document, then every shadow root and frame document in it.

All of it takes time linear in the page: holders are met while the tree is built, and nothing below
one is built with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kb_schema.pages.limits import Allowance, check_tree
from kb_schema.pages.tags import HOLDER_TAGS
from kb_schema.pages.tree import Element, Root
from kb_schema.snapshots import SHADOW_TAG

_FRAME_TAGS = ("iframe", "frame")


@dataclass(frozen=True, slots=True)
class _Held:
    """Markup of a root that stands in another one's, not parsed yet."""

    kind: str
    host: Element | None
    markup: str


def parse_roots(html: str, *, annotated: bool, most_characters: int) -> list[Root]:
    """The document's root, then every shadow root and frame document in it, outermost first.

    `most_characters` is how much HTML all of them together may have. Raises `PageRefused` for that,
    and for markup nobody writes.
    """
    left = Allowance(most_characters)
    roots: list[Root] = []
    waiting = [_Held("document", None, html)]
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


def _fill(root: Root) -> list[_Held]:
    """Make the root's tree of its parser's, without the holders; returns what these hold.

    Holders are ours, not the page's: nobody's query may find them or what is in them.
    """
    building = _Building(root)
    node: LexborNode | None = root.parser.root
    while node is not None:
        building.walk(node)
        node = node.next if root.kind == "shadow" else None
    held = [_held(*holder) for holder in building.holders]
    # The parser's own tree loses them too, so that `:nth-child` and `+` count as they did live.
    for holder, _, _ in building.holders:
        holder.decompose()
    return held


def _held(holder: LexborNode, parent: Element | None, before: Element | None) -> _Held:
    """A shadow root belongs to what its holder stands in, a frame's document to the frame before it."""
    markup = holder.attributes.get("srcdoc") if "srcdoc" in holder.attributes else holder.inner_html
    if holder.tag == SHADOW_TAG:
        return _Held("shadow", parent, markup or "")
    return _Held("frame", before if before is not None and before.tag in _FRAME_TAGS else None, markup or "")


class _Building:
    """A root's tree while it is made."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._holders_at: dict[int, int] = {}
        """By what it stands in: how many nodes there were before its last holder."""
        self.holders: list[tuple[LexborNode, Element | None, Element | None]] = []
        """The outermost holders, each with what it stands in and the element just before it. What is
        inside one comes when that is parsed.
        """

    def walk(self, start: LexborNode) -> None:
        """Add a node of the parser's and all below it, without recursion."""
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
        """The element before a holder, if no other holder stands between; each text is passed once."""
        key, count = id(parent), len(siblings)
        begin = self._holders_at.get(key, 0)
        self._holders_at[key] = count
        found = (node for at in range(count - 1, begin - 1, -1) if isinstance(node := siblings[at], Element))
        return next(found, None)
