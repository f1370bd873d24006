"""XPath 1.0 queries on stored pages: lxml on the same tree that the CSS queries use."""

from __future__ import annotations

from typing import Any

from lxml import etree

from web_pages.css_queries import SelectorError
from web_pages.element_tree import Element, Root

_SVG, _MATHML = "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"
_NOT_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535))


class XPathQueries:
    """XPath queries on one page; a root's tree is built at its first query."""

    def __init__(self) -> None:
        self._trees: dict[int, tuple[etree._ElementTree, dict[etree._Element, Element]]] = {}

    def select(self, root: Root, expression: str) -> list[Element]:
        """Return the matching elements in document order. Raises `SelectorError`.

        As in browsers, XPath does not search shadow roots.
        """
        if root.kind == "shadow" or not root.elements:
            return []
        if id(root) not in self._trees:
            self._trees[id(root)] = _tree(root)
        tree, twins = self._trees[id(root)]
        try:
            result: Any = tree.xpath(expression, smart_strings=False)
        except (etree.XPathError, ValueError) as error:
            raise SelectorError(f"{expression!r} is not XPath: {error}") from error
        if not isinstance(result, list):
            raise SelectorError(f"{expression!r} does not select elements")
        return [twins[node] for node in result if node in twins]


def _tree(root: Root) -> tuple[etree._ElementTree, dict[etree._Element, Element]]:
    made: dict[int, etree._Element] = {}
    spaces: dict[int, str] = {}
    twins: dict[etree._Element, Element] = {}
    for element in root.elements:
        parent = made.get(id(element.parent)) if element.parent else None
        space = _namespace(element, spaces)
        tag = f"{{{space}}}{element.tag}" if space else element.tag
        try:
            node = etree.Element(tag) if parent is None else etree.SubElement(parent, tag)
        except ValueError:  # a tag name that XML does not allow
            node = etree.Element("unknown") if parent is None else etree.SubElement(parent, "unknown")
        for name, value in element.attributes.items():
            _set(node, name, value)
        made[id(element)] = node
        twins[node] = element
    for element in root.elements:
        _put_text(element, made)
    return etree.ElementTree(made[id(root.elements[0])]), twins


def _namespace(element: Element, spaces: dict[int, str]) -> str:
    inherited = spaces.get(id(element.parent), "") if element.parent else ""
    if element.parent is not None and element.parent.tag == "foreignobject":
        inherited = ""
    space = {"svg": _SVG, "math": _MATHML}.get(element.tag, inherited)
    spaces[id(element)] = space
    return space


def _set(node: etree._Element, name: str, value: str) -> None:
    try:
        node.set(name, value.translate(_NOT_XML))
    except ValueError:
        return  # a name that XML does not allow (`@click`, `:class`): XPath cannot address it


def _put_text(element: Element, made: dict[int, etree._Element]) -> None:
    node, before = made[id(element)], None
    for child in element.children:
        if isinstance(child, Element):
            before = made[id(child)]
        elif before is None:
            node.text = (node.text or "") + child.translate(_NOT_XML)
        else:
            before.tail = (before.tail or "") + child.translate(_NOT_XML)
