"""Locates elements in lists: the list, the row, and the place in the row.

Elements of different rows correspond if the list, the place in the row and the element type agree. Menus,
tabs and toolbars do not count as lists, although their markup may be a list: their items are not data.
"""

from __future__ import annotations

from agent.synthesis.traces.trace_pages import TracePages, build_path_template
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import Selector
from web_pages.accessible_names import is_control, label_text, role_of
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze, text_of
from web_pages.selectors.generated_names import looks_generated

_ROW_TAGS = frozenset({"tr", "li", "article", "option"})
_ROW_ROLES = frozenset({"row", "listitem", "article", "treeitem", "option"})
_NO_LISTS = frozenset({"nav", "header", "footer", "thead", "menu"})
_NO_LIST_ROLES = frozenset(
    {
        "navigation",
        "menu",
        "menubar",
        "tablist",
        "toolbar",
        "banner",
        "contentinfo",
        "radiogroup",
    }
)
_TYPED = frozenset({"textbox", "searchbox", "combobox", "spinbutton", "slider"})


def find_list_row(element: Element) -> Element | None:
    """Return the list row that contains the element or is the element; None if there is none."""
    row = next((node for node in (element, *element.ancestors()) if _is_row(node)), None)
    if row is None or row.parent is None:
        return None
    around = [row, *row.ancestors()]
    if any(node.tag in _NO_LISTS or node.get("role") in _NO_LIST_ROLES for node in around):
        return None
    if is_control(element) and role_of(element) in _TYPED and label_text(element):
        return None  # a form laid out as a list: each field has its own label
    return row


def list_sibling_rows(row: Element) -> list[Element]:
    """Return all rows of a row's list, including the row."""
    if row.parent is None:
        return [row]
    return [
        node
        for node in row.parent.elements()
        if node.tag == row.tag
        and node.get("role") == row.get("role")
        and not any(child.tag == "th" and child.get("scope") == "col" for child in node.elements())
    ]


def describe_place_in_row(element: Element, row: Element) -> str:
    """Return an element's place in its row: its text if other rows have it too, else a path of tags."""
    said = squeeze(text_of(element, everything=True))
    if (
        said
        and element is not row
        and any(_says_too(other, element.tag, said, row) for other in list_sibling_rows(row))
    ):
        return f"{element.tag}={said}"
    path: list[str] = []
    node = element
    while node is not row and node.parent is not None:
        same = [child for child in node.parent.elements() if child.tag == node.tag]
        path.insert(0, f"{node.tag}:{same.index(node) + 1}")
        node = node.parent
    return "/".join(path)


def build_list_path(row: Element) -> str:
    """Identify the list of a row: the tags from the root, with the ids that are not generated."""
    path: list[str] = []
    for node in (row, *row.ancestors()):
        given = node.get("id") if node is not row else None
        path.insert(0, f"{node.tag}#{given}" if given and not looks_generated(given) else node.tag)
    return "/".join(path)


def build_item_token(step: TraceStep, pages: TracePages) -> str | None:
    """Return a token that is equal for corresponding elements of all rows; None if the target is in no list."""
    if not isinstance(step.target, Selector):
        return None
    element = None
    for look in (pages.standing_for, pages.get):  # try a page of that address that is already parsed first
        page = look(step.html_before or step.html_after, step.source_url)
        element = None if page is None else page.find(step.target)
        if element is not None and (look == pages.get or find_list_row(element) is None):
            break  # an element in a list may be in another list on the exact page
    row = None if element is None else find_list_row(element)
    if row is None or element is None:
        return None
    where = f"{build_path_template(step.source_url)}|{build_list_path(row)}"
    return f"{step.action_type}|row|{where}|{describe_place_in_row(element, row)}|{element.get('type') or ''}"


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
