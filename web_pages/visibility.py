"""Decides which elements of a stored page are visible (`kb_schema.probes` defines *visible*).

Our own snapshots carry annotations; other HTML is judged by its markup. `agent/page/js/1_roots.js`
does the same on a live page.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kb_schema.page_snapshots import CHECKED_ATTRIBUTE, HIDDEN_ATTRIBUTE
from web_pages.element_tree import Element
from web_pages.html_tags import HOLDER_TAGS, NEVER_SHOWN_TAGS

_HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE
)


def visible(element: Element) -> bool:
    """Return whether the element is visible."""
    seen = element.seen
    if seen is None:
        seen = element.seen = (
            _annotated_visible(element) if element.root.annotated else _markup_visible(element)
        )
    return seen


def _annotated_visible(element: Element) -> bool:
    return HIDDEN_ATTRIBUTE not in element.attributes and element.tag not in HOLDER_TAGS


def _markup_visible(element: Element) -> bool:
    """Judge other HTML: no `hidden`, no hiding inline style, none on an ancestor."""
    chain: list[Element] = []
    node = element.parent or element.root.host
    while node is not None and node.seen is None:
        chain.append(node)
        node = node.parent or node.root.host
    answer = True if node is None else bool(node.seen)
    for each in reversed(chain):
        answer = each.seen = answer and _shown_by_itself(each)
    return answer and _shown_by_itself(element)


def _shown_by_itself(element: Element) -> bool:
    shows, parent, attributes = _TAGS_SHOW.get(element.tag), element.parent, element.attributes
    if shows is not None and not shows(element):
        return False
    folded = parent is not None and parent.tag == "details" and "open" not in parent.attributes
    if folded and element.tag != "summary":
        return False
    if not attributes:
        return True
    return "hidden" not in attributes and not _HIDING_STYLE.search(attributes.get("style", ""))


def is_chosen(option: Element) -> bool:
    """Return whether an option is selected; a closed list without one shows its first enabled option."""
    if option.root.annotated and CHECKED_ATTRIBUTE in option.attributes:
        return option.attributes[CHECKED_ATTRIBUTE] == "true"
    chooser = _chooser(option)
    if chooser is None or "selected" in option.attributes:
        return "selected" in option.attributes
    if _is_opened(chooser):
        return False
    return _standing(chooser) is option


def _standing(chooser: Element) -> Element | None:
    """Return the option that a closed list without a selected one shows: its first enabled one."""
    standing = chooser.root.standing
    if id(chooser) not in standing:
        options = [node for node in chooser.descendants() if node.tag == "option"]
        marked = any("selected" in node.attributes for node in options)
        usable = (node for node in options if "disabled" not in node.attributes)
        standing[id(chooser)] = None if marked else next(usable, None)
    return standing[id(chooser)]


def _chooser(option: Element) -> Element | None:
    """Return the list of an option. Each ancestor is passed once, however deep options are nested."""
    known = option.root.choosers
    passed: list[int] = []
    node = option.parent
    while node is not None and node.tag != "select" and id(node) not in known:
        passed.append(id(node))
        node = node.parent
    found = node if node is None or node.tag == "select" else known[id(node)]
    known.update(dict.fromkeys(passed, found))
    return found


def _is_opened(chooser: Element) -> bool:
    size = chooser.get("size") or ""
    return "multiple" in chooser.attributes or (size.isdecimal() and int(size) > 1)


def _option_shows(option: Element) -> bool:
    if is_chosen(option):
        return True
    chooser = _chooser(option)
    return chooser is not None and _is_opened(chooser)


_TAGS_SHOW: dict[str, Callable[[Element], bool]] = {
    **dict.fromkeys(NEVER_SHOWN_TAGS, lambda _: False),
    "input": lambda element: element.input_type != "hidden",
    "option": _option_shows,
    "dialog": lambda element: "open" in element.attributes,
}
"""Tags that are not always visible."""
