"""Locates elements in lists: the list, the row, and the place in the row.

Elements of different rows correspond if the list, the place in the row and the element type agree. Menus,
tabs and toolbars do not count as lists, although their markup may be a list: their items are not data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agent.synthesis.traces.trace_pages import TracePages, build_path_template
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import Selector
from kb_schema.text_similarity import words
from web_pages.accessible_names import is_control, label_text, role_of
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze, text_of
from web_pages.selectors.element_terms import list_fellow_rows
from web_pages.selectors.generated_names import looks_generated
from web_pages.selectors.stable_attributes import list_stable_classes

_ROW_TAGS = frozenset({"tr", "li", "article", "option"})
_ROW_ROLES = frozenset({"row", "listitem", "article", "treeitem", "option"})
_PARTS = frozenset({"div", "label"})
"""Tags of rows that only their classes tell."""
_SLOT = "button"
_FEWEST_SLOTS = 3
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
    row = _find_nearest_row(element)
    return row if row is not None and _is_data(row, element) else None


def _find_nearest_row(element: Element) -> Element | None:
    return next((node for node in (element, *element.ancestors()) if _is_row(node, element)), None)


def _is_data(row: Element, element: Element) -> bool:
    """Whether a row with this element belongs to a list of data: no menu, and no form laid out as a list."""
    around = [row, *row.ancestors()]
    if row.parent is None or any(
        node.tag in _NO_LISTS or node.get("role") in _NO_LIST_ROLES for node in around
    ):
        return False
    # In a form that is laid out as a list each field has its own label, or a name of its own.
    return not (
        _is_typed(element)
        and (label_text(element) or _has_label_beside(row) or _has_name_of_its_own(element, row))
    )


def _is_typed(element: Element) -> bool:
    return is_control(element) and role_of(element) in _TYPED


def _has_label_beside(row: Element) -> bool:
    """Whether a row is one field with a label that names no field: `<label>Phone</label><input>`."""
    inside = list(row.descendants())
    labels = [each for each in inside if each.tag == "label" and text_of(each, everything=True).strip()]
    return len(labels) == 1 and sum(map(_is_typed, inside)) == 1


def _has_name_of_its_own(field: Element, row: Element) -> bool:
    """Whether the names of a field and of those in the other rows (`size`, `owner`) have no word in common.

    Fields of a list are called alike, apart from what tells the row: `amount_3`, `grade[ann]`.
    """
    rows = ([node for node in each.descendants() if _is_typed(node)] for each in list_sibling_rows(row))
    names = [set(words(fields[0].get("name") or "")) for fields in (*rows, [field]) if fields]
    lettered = [{word for word in each if not word.isdigit()} for each in names]
    return len(lettered) > 2 and all(lettered) and not set.intersection(*lettered)


def list_alike_parts(part: Element) -> list[Element]:
    """Return the siblings of one kind with a part: the same tag and a class in common, or none at all."""
    mine = set(list_stable_classes(part))
    return [
        other
        for other in (() if part.parent is None else part.parent.elements())
        if other is not part and other.tag == part.tag
        for its in (set(list_stable_classes(other)),)
        if mine & its or not (mine or its)
    ]


def list_sibling_rows(row: Element) -> list[Element]:
    """Return all rows of a row's list, in order, including the row."""
    if row.parent is None:
        return [row]
    if not is_marked_row(row):
        alike = list_alike_parts(row)
        return [node for node in row.parent.elements() if node is row or node in alike]
    return [
        node
        for node in list_fellow_rows(row)
        if node.get("role") == row.get("role")
        and not any(child.tag == "th" and child.get("scope") == "col" for child in node.elements())
    ]


def describe_place_in_row(element: Element, row: Element) -> str:
    """Return an element's place in its row: its text if other rows have it too, else a path of tags.

    In a path, a class that its siblings lack and other rows have stands for the number of an element, if the numbers
    lead elsewhere in some row: while a picture is drawn in, there may be one more element before it.
    """
    said = squeeze(text_of(element, everything=True))
    if (
        said
        and element is not row
        and any(_says_too(other, element.tag, said, row) for other in list_sibling_rows(row))
    ):
        return f"{element.tag}={said}"
    path = [element, *element.ancestors()]
    path = list(reversed(path[: path.index(row)])) if row in path else []
    classes = [_find_own_class(node, _list_same_tags(node), row) for node in path]
    numbers = [_list_same_tags(node).index(node) for node in path]
    if any(classes) and not _leads_to_the_same(path, classes, numbers, row):
        return "/".join(
            f"{node.tag}.{own}" if own else f"{node.tag}:{number + 1}"
            for node, own, number in zip(path, classes, numbers, strict=True)
        )
    return "/".join(f"{node.tag}:{number + 1}" for node, number in zip(path, numbers, strict=True))


def _list_same_tags(node: Element) -> list[Element]:
    """Return the element and its siblings with its tag."""
    return [] if node.parent is None else [each for each in node.parent.elements() if each.tag == node.tag]


def _leads_to_the_same(
    path: Sequence[Element], classes: Sequence[str], numbers: Sequence[int], row: Element
) -> bool:
    """Whether in every other row the numbers lead to elements with the classes."""
    for fellow in list_sibling_rows(row):
        node: Element | None = fellow
        for each, own, number in zip(path, classes, numbers, strict=True):
            same = [] if node is None else [child for child in node.elements() if child.tag == each.tag]
            node = same[number] if number < len(same) else None
            if own and (node is None or own not in list_stable_classes(node)):
                return False
    return True


def _find_own_class(node: Element, same: Sequence[Element], row: Element) -> str:
    """Return the class that the siblings of an element lack and elements of its tag in other rows have.

    Of several, the one that most of them have: a state is that of few rows.
    """
    others = {name for each in same if each is not node for name in list_stable_classes(each)}
    own = [name for name in list_stable_classes(node) if name not in others]
    if not own:
        return ""
    counts = Counter(
        name
        for fellow in list_sibling_rows(row)
        if fellow is not row
        for each in fellow.descendants()
        if each.tag == node.tag
        for name in list_stable_classes(each)
    )
    best = max(sorted(own), key=lambda name: counts[name])
    return best if counts[best] else ""


def build_list_path(row: Element) -> str:
    """Identify the list of a row: the tags from the root, with the ids that are not generated."""
    path: list[str] = []
    for node in (row, *row.ancestors()):
        given = node.get("id") if node is not row else None
        path.insert(0, f"{node.tag}#{given}" if given and not looks_generated(given) else node.tag)
    return "/".join(path)


def _list_slot_classes(row: Element) -> str:
    """Return the classes that all slots of a list share; empty for rows that are no slots."""
    if row.tag != _SLOT:
        return ""
    shared = set.intersection(*(set(list_stable_classes(each)) for each in (row, *list_alike_parts(row))))
    return f".{'.'.join(sorted(shared))}"


def build_item_token(step: TraceStep, pages: TracePages, earlier: Sequence[TraceStep] = ()) -> str | None:
    """Return a token that is equal for corresponding elements of all rows; None if the target is in no list.

    `earlier` are the steps of the trace before it: a list on their pages may have only one row left.
    """
    if not isinstance(step.target, Selector):
        return None
    element = None
    for look in (pages.standing_for, pages.get):  # try a page of that address that is already parsed first
        page = look(step.html_before or step.html_after, step.source_url)
        element = None if page is None else page.find(step.target)
        if element is not None and (look == pages.get or find_list_row(element) is None):
            break  # an element in a list may be in another list on the exact page
    if element is None:
        return None
    row = _find_nearest_row(element) or _find_last_row(element, earlier, pages)
    if row is None or not _is_data(row, element):
        return None
    where = f"{build_path_template(step.source_url)}|{build_list_path(row)}{_list_slot_classes(row)}"
    return f"{step.action_type}|row|{where}|{describe_place_in_row(element, row)}|{element.get('type') or ''}"


def _find_last_row(element: Element, earlier: Sequence[TraceStep], pages: TracePages) -> Element | None:
    """Return the part around an element of which an earlier page shows several, with an element like it in each.

    It says more than the element: what is only around a button ("Back", "Next") is no row.
    """
    said = squeeze(text_of(element, everything=True))
    seen = {(step.html_before, step.source_url): None for step in earlier if step.html_before}
    for node in element.ancestors():
        classes = set(list_stable_classes(node))
        if squeeze(text_of(node, everything=True)) == said:
            continue
        for page in (pages.get(*each) for each in seen if classes):
            there = [] if page is None else [each for root in page.stored.roots for each in root.elements]
            alike = [each for each in there if each.tag == node.tag and classes & _classes(each)]
            if len(alike) > 1 and all(_has_like(each, element) for each in alike):
                return node
    return None


def is_marked_row(node: Element) -> bool:
    """Whether its tag or role says that it is a row."""
    return node.tag in _ROW_TAGS or node.get("role") in _ROW_ROLES


def _is_row(node: Element, target: Element) -> bool:
    if is_marked_row(node):
        return True
    if node.tag == _SLOT:
        return node is target and _is_slot(node)
    kind = node.get("class")
    if node.tag not in _PARTS or not kind or node.parent is None:
        return False
    alike = [node, *list_alike_parts(node)]  # a selected one has a class of its own
    if len(alike) > 1 and all(any(each.elements()) or text_of(each, everything=True) for each in alike):
        return True
    return node is not target and any(_has_like(other, target) for other in list_alike_parts(node))


def _is_slot(button: Element) -> bool:
    """Whether a button and those beside it are data: at least three of one class, with different texts with digits.

    Days of a calendar and times of an appointment; the buttons of a toolbar have no digits.
    """
    said = [text_of(each, everything=True).strip() for each in (button, *list_alike_parts(button))]
    return len(said) >= _FEWEST_SLOTS and len(set(said)) == len(said) and all(map(_has_digit, said))


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _has_like(row: Element, target: Element) -> bool:
    """Whether another row has an element like the target."""
    classes = set(list_stable_classes(target))
    return any(
        node.tag == target.tag
        and node.get("type") == target.get("type")
        and bool(classes & _classes(node) if classes else not node.get("class"))
        for node in row.descendants()
    )


def _classes(node: Element) -> set[str]:
    return set((node.get("class") or "").split())


def _says_too(row: Element, tag: str, said: str, but: Element) -> bool:
    return row is not but and any(
        node.tag == tag and squeeze(text_of(node, everything=True)) == said for node in row.descendants()
    )
