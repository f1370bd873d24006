"""What can be seen of a stored page (`kb_schema.probes` says what *visible* means).

On our own snapshots it is read from the annotations, on foreign HTML from the markup. The live twin
is `agent/page/js/1_roots.js`.
"""

from __future__ import annotations

import re

from kb_schema.pages.tags import HOLDER_TAGS, NEVER_SHOWN_TAGS
from kb_schema.pages.tree import Element
from kb_schema.snapshots import CHECKED_ATTRIBUTE, HIDDEN_ATTRIBUTE

_HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE
)


def visible(element: Element) -> bool:
    """Whether the element can be seen."""
    if element.seen is None:
        element.seen = _annotated_visible(element) if element.root.annotated else _markup_visible(element)
    return element.seen


def _annotated_visible(element: Element) -> bool:
    return HIDDEN_ATTRIBUTE not in element.attributes and element.tag not in HOLDER_TAGS


def _markup_visible(element: Element) -> bool:
    """Foreign HTML: no `hidden`, no hiding inline style, nothing of the kind around it."""
    chain: list[Element] = []
    node: Element | None = element
    while node is not None and node.seen is None:
        chain.append(node)
        node = node.parent or node.root.host
    answer = True if node is None else bool(node.seen)
    for each in reversed(chain):
        answer = answer and _shown_by_itself(each)
        each.seen = answer
    return answer


def _shown_by_itself(element: Element) -> bool:
    if element.tag in NEVER_SHOWN_TAGS or "hidden" in element.attributes:
        return False
    if element.tag == "input" and element.input_type == "hidden":
        return False
    if element.tag == "option" and not is_chosen(element):
        return _opened_list(element)
    if (
        element.parent is not None
        and element.parent.tag == "details"
        and "open" not in element.parent.attributes
    ):
        return element.tag == "summary"
    return not _HIDING_STYLE.search(element.get("style") or "") and not (
        element.tag == "dialog" and "open" not in element.attributes
    )


def is_chosen(option: Element) -> bool:
    """Whether an option is selected; without a mark, a closed list shows its first usable one."""
    if option.root.annotated and CHECKED_ATTRIBUTE in option.attributes:
        return option.attributes[CHECKED_ATTRIBUTE] == "true"
    chooser = option.closest("select")
    if chooser is None or "selected" in option.attributes:
        return "selected" in option.attributes
    if _opened_list(option):
        return False
    return _standing(chooser) is option


def _standing(chooser: Element) -> Element | None:
    """What a closed list shows although nothing is marked: its first usable option."""
    standing = chooser.root.standing
    if id(chooser) not in standing:
        options = [node for node in chooser.descendants() if node.tag == "option"]
        marked = any("selected" in node.attributes for node in options)
        usable = (node for node in options if "disabled" not in node.attributes)
        standing[id(chooser)] = None if marked else next(usable, None)
    return standing[id(chooser)]


def _opened_list(option: Element) -> bool:
    chooser = option.closest("select")
    if chooser is None:
        return False
    size = chooser.get("size") or ""
    return "multiple" in chooser.attributes or (size.isdecimal() and int(size) > 1)
