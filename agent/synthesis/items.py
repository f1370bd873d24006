"""Things that stand in lists: which list, which row, and where in the row (MA *beyond*: varying targets).

Two elements are the same thing of different rows where list, place in the row and kind agree. Menus,
tabs and toolbars are lists only in their markup: what is chosen there is the step itself, not data.
"""

from __future__ import annotations

from agent.synthesis.pages import Pages, place_of
from kb_schema.pages.names import is_control, label_text, role_of
from kb_schema.pages.selecting.made_up import looks_made_up
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Element
from kb_schema.selectors import Selector
from kb_schema.traces import TraceStep

_ROW_TAGS = frozenset({"tr", "li", "article", "option"})
_ROW_ROLES = frozenset({"row", "listitem", "article", "treeitem", "option"})
_NO_LISTS = frozenset({"nav", "header", "footer", "thead", "menu"})
_NO_LIST_ROLES = frozenset({
    "navigation", "menu", "menubar", "tablist", "toolbar", "banner", "contentinfo", "radiogroup",
})  # fmt: skip
_TYPED = frozenset({"textbox", "searchbox", "combobox", "spinbutton", "slider"})


def row_of(element: Element) -> Element | None:
    """The row of a list that an element stands in, or is; None where it stands in none."""
    row = next((node for node in (element, *element.ancestors()) if _is_row(node)), None)
    if row is None or row.parent is None:
        return None
    around = [row, *row.ancestors()]
    if any(node.tag in _NO_LISTS or node.get("role") in _NO_LIST_ROLES for node in around):
        return None
    if is_control(element) and role_of(element) in _TYPED and label_text(element):
        return None  # a form that is laid out as a list: each field has its own name
    return row


def siblings_of(row: Element) -> list[Element]:
    """All rows of a row's list, itself included."""
    if row.parent is None:
        return [row]
    return [
        node
        for node in row.parent.elements()
        if node.tag == row.tag and node.get("role") == row.get("role")
        and not any(child.tag == "th" and child.get("scope") == "col" for child in node.elements())
    ]  # fmt: skip


def place_in_row(element: Element, row: Element) -> str:
    """Where in its row: by what it says, where other rows say the same, else by tags and numbers."""
    said = squeeze(text_of(element, everything=True))
    if (
        said
        and element is not row
        and any(_says_too(other, element.tag, said, row) for other in siblings_of(row))
    ):
        return f"{element.tag}={said}"
    path: list[str] = []
    node = element
    while node is not row and node.parent is not None:
        same = [child for child in node.parent.elements() if child.tag == node.tag]
        path.insert(0, f"{node.tag}:{same.index(node) + 1}")
        node = node.parent
    return "/".join(path)


def list_path(row: Element) -> str:
    """What list a row is of: tags from the root, with ids that a person gave."""
    path: list[str] = []
    for node in (row, *row.ancestors()):
        given = node.get("id") if node is not row else None
        path.insert(0, f"{node.tag}#{given}" if given and not looks_made_up(given) else node.tag)
    return "/".join(path)


def item_token(step: TraceStep, pages: Pages) -> str | None:
    """One string for the same thing in any row of one list; None where the target stands in no list."""
    if not isinstance(step.target, Selector):
        return None
    element = None
    for look in (pages.standing_for, pages.get):  # a page of that address may show it, and is parsed already
        page = look(step.html_before or step.html_after, step.source_url)
        element = None if page is None else page.find(step.target)
        if element is not None and (look == pages.get or row_of(element) is None):
            break  # what stands in a list may stand in another one by then
    row = None if element is None else row_of(element)
    if row is None or element is None:
        return None
    where = f"{place_of(step.source_url)}|{list_path(row)}"
    return f"{step.action_type}|row|{where}|{place_in_row(element, row)}|{element.get('type') or ''}"


def _is_row(element: Element) -> bool:
    if element.tag in _ROW_TAGS or element.get("role") in _ROW_ROLES:
        return True
    kind = element.get("class")
    if element.tag != "div" or not kind or element.parent is None:
        return False
    alike = [node for node in element.parent.elements() if node.tag == "div" and node.get("class") == kind]
    return len(alike) > 1 and all(any(node.elements()) or text_of(node, everything=True) for node in alike)


def _says_too(row: Element, tag: str, said: str, but: Element) -> bool:
    return row is not but and any(
        node.tag == tag and squeeze(text_of(node, everything=True)) == said for node in row.descendants()
    )
