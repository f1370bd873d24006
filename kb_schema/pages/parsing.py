"""From HTML to trees: the document, then every shadow root and frame document in it."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kb_schema.pages.limits import Allowance, check_tree
from kb_schema.pages.tags import HOLDER_TAGS
from kb_schema.pages.tree import Element, Root
from kb_schema.snapshots import FRAME_TAG, SHADOW_TAG


def parse_roots(html: str, *, annotated: bool, most_characters: int) -> list[Root]:
    """The document's root, then every shadow root and frame document in it, outermost first.

    `most_characters` is how much HTML all of them together may have. Raises `PageRefused` for that,
    and for markup nobody writes.
    """
    left = Allowance(most_characters)
    roots = [_parse(html, "document", None, annotated, left)]
    for root in roots:
        for element in list(root.elements):
            if element.tag not in HOLDER_TAGS:
                continue
            inner = _inner_root(element, annotated, left)
            if inner is not None:
                roots.append(inner)
    for root in roots:
        _drop_holders(root)
    return roots


def _inner_root(holder: Element, annotated: bool, left: Allowance) -> Root | None:
    """The root a `<pp-...>` element holds, in `srcdoc` or inline."""
    kind = "shadow" if holder.tag == SHADOW_TAG else "frame"
    host = holder.parent if kind == "shadow" else _frame_before(holder)
    if any(up.tag in HOLDER_TAGS for up in holder.ancestors()):
        return None  # it comes again when the outer one is parsed
    markup = holder.get("srcdoc")
    if markup is None:
        node = next(
            node
            for node in holder.root.parser.css(holder.tag)
            if holder.root.by_node.get(node.mem_id) is holder
        )
        markup = node.inner_html or ""
    inner = _parse(markup, kind, host, annotated, left)
    if host is not None and kind == "shadow":
        host.shadow = inner
    elif host is not None:
        host.frame_document = inner
    return inner


def _frame_before(holder: Element) -> Element | None:
    siblings: list[Element | str] = holder.parent.children if holder.parent else holder.root.top
    before = [node for node in siblings[: siblings.index(holder)] if isinstance(node, Element)]
    return before[-1] if before and before[-1].tag in ("iframe", "frame") else None


def _drop_holders(root: Root) -> None:
    """The holders are ours, not the page's: nobody's query may find them or what is in them."""
    holders = [element for element in root.elements if element.tag in HOLDER_TAGS]
    if not holders:
        return
    gone = {id(node) for holder in holders for node in (holder, *holder.descendants())}
    for holder in holders:
        siblings = holder.parent.children if holder.parent else root.top
        if holder in siblings:
            siblings.remove(holder)
    root.elements = [element for element in root.elements if id(element) not in gone]
    root.by_node = {key: element for key, element in root.by_node.items() if id(element) not in gone}
    root.ids = {key: element for key, element in root.ids.items() if id(element) not in gone}
    # The parser's own tree loses them too, so that `:nth-child` and `+` count as they did live.
    for node in root.parser.css(f"{SHADOW_TAG}, {FRAME_TAG}"):
        node.decompose()


def _parse(html: str, kind: str, host: Element | None, annotated: bool, left: Allowance) -> Root:
    left.spend(html)
    parser = LexborHTMLParser(html, is_fragment=kind == "shadow")
    root = Root(kind, host, annotated, parser)
    node: LexborNode | None = parser.root
    if kind == "shadow":
        while node is not None:
            _build(root, node)
            node = node.next
    elif node is not None:
        _build(root, node)
    return root


def _build(root: Root, start: LexborNode) -> None:
    """Walk the parser's tree without recursion and make ours of it."""
    stack: list[tuple[LexborNode, Element | None, int]] = [(start, None, 0)]
    while stack:
        node, parent, depth = stack.pop()
        siblings = parent.children if parent is not None else root.top
        if node.is_text_node:
            siblings.append(node.text_content or "")
        elif node.is_element_node:
            check_tree(depth, len(root.elements))
            attributes = {name: value or "" for name, value in node.attributes.items()}
            element = Element(node.tag or "", attributes, root, parent, len(root.elements))
            siblings.append(element)
            root.elements.append(element)
            root.by_node[node.mem_id] = element
            if attributes.get("id"):
                root.ids.setdefault(attributes["id"], element)
            child = node.last_child
            while child is not None:
                stack.append((child, element, depth + 1))
                child = child.prev
