"""Roles, accessible names and labels on stored pages. The live twin is `agent/page/js/3_names.js`."""

from __future__ import annotations

from collections.abc import Callable

from kb_schema.pages.tree import (
    FIELD_TAGS,
    INLINE_TAGS,
    INPUT_BUTTONS,
    TEXTLESS_TAGS,
    Element,
    button_text,
    is_editing_host,
    squeeze,
    visible,
)

_LANDMARKS = frozenset({"article", "aside", "main", "nav", "section"})
_TAG_ROLES = {
    "article": "article", "aside": "complementary", "button": "button", "datalist": "listbox",
    "dd": "definition", "details": "group", "dialog": "dialog", "dt": "term", "fieldset": "group",
    "figure": "figure", "form": "form", "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading",
    "h5": "heading", "h6": "heading", "hr": "separator", "li": "listitem", "main": "main", "math": "math",
    "menu": "list", "meter": "meter", "nav": "navigation", "ol": "list", "optgroup": "group",
    "option": "option", "output": "status", "progress": "progressbar", "search": "search", "table": "table",
    "tbody": "rowgroup", "textarea": "textbox", "tfoot": "rowgroup", "thead": "rowgroup", "tr": "row",
    "ul": "list", "td": "cell", "svg": "img", "p": "paragraph", "blockquote": "blockquote",
    "caption": "caption", "code": "code", "em": "emphasis", "strong": "strong", "time": "time",
    "address": "group", "summary": "button",
}  # fmt: skip
_INPUT_ROLES = {
    "button": "button", "submit": "button", "reset": "button", "image": "button", "checkbox": "checkbox",
    "radio": "radio", "range": "slider", "number": "spinbutton", "search": "searchbox", "email": "textbox",
    "tel": "textbox", "text": "textbox", "url": "textbox",
}  # fmt: skip
_NAMED_BY_CONTENT = frozenset(
    [
        "button",
        "cell",
        "checkbox",
        "columnheader",
        "gridcell",
        "heading",
        "link",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "option",
        "radio",
        "row",
        "rowheader",
        "switch",
        "tab",
        "tooltip",
        "treeitem",
    ]
)
INTERACTIVE_ROLES = frozenset(
    [
        "button",
        "link",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "tab",
        "option",
        "checkbox",
        "switch",
        "radio",
        "treeitem",
        "textbox",
        "searchbox",
        "combobox",
        "listbox",
        "slider",
        "spinbutton",
    ]
)
_LABELABLE = frozenset({"input", "select", "textarea", "button", "meter", "output", "progress"})


def role_of(element: Element) -> str | None:
    """The ARIA role: the one given, else what HTML says."""
    given = (element.get("role") or "").split()
    if given:
        return given[0].lower()
    special = _ROLES_THAT_DEPEND.get(element.tag)
    return special(element) if special is not None else _TAG_ROLES.get(element.tag)


def _link_role(element: Element) -> str | None:
    return "link" if "href" in element.attributes else None


def _input_role(element: Element) -> str | None:
    role = _INPUT_ROLES.get(element.input_type)
    return "combobox" if role in ("textbox", "searchbox") and "list" in element.attributes else role


def _select_role(element: Element) -> str:
    size = element.get("size") or ""
    many = "multiple" in element.attributes or (size.isdecimal() and int(size) > 1)
    return "listbox" if many else "combobox"


def _section_role(element: Element) -> str | None:
    return "region" if "aria-label" in element.attributes or "aria-labelledby" in element.attributes else None


_ROLES_THAT_DEPEND: dict[str, Callable[[Element], str | None]] = {
    "a": _link_role,
    "area": _link_role,
    "img": lambda element: "presentation" if element.get("alt") == "" else "img",
    "input": _input_role,
    "select": _select_role,
    "th": lambda element: "rowheader" if element.get("scope") == "row" else "columnheader",
    "section": _section_role,
    "header": lambda element: None if _in_landmark(element) else "banner",
    "footer": lambda element: None if _in_landmark(element) else "contentinfo",
}


def _in_landmark(element: Element) -> bool:
    node: Element | None = element
    while node is not None:
        if node.tag in _LANDMARKS:
            return True
        node = node.parent or (node.root.host if node.root.kind == "shadow" else None)
    return False


def _named_by(element: Element, attribute: str) -> list[Element]:
    ids = (element.get(attribute) or "").split()
    return [found for found in (element.root.by_id(each) for each in ids) if found is not None]


def labels_of(element: Element) -> list[Element]:
    """Label elements of a control, in document order: `for`, or wrapped around it."""
    root = element.root
    if root.labels is None:
        root.labels = {}
        for label in root.elements:
            control = _labelled(label) if label.tag == "label" else None
            if control is not None:
                root.labels.setdefault(id(control), []).append(label)
    return root.labels.get(id(element), [])


def _labelled(label: Element) -> Element | None:
    target = label.get("for")
    if target is not None:
        found = label.root.by_id(target)
        return found if found is not None and _labelable(found) else None
    return next((node for node in label.descendants() if _labelable(node)), None)


def _labelable(element: Element) -> bool:
    return element.tag in _LABELABLE and not (element.tag == "input" and element.input_type == "hidden")


def label_text(element: Element) -> str:
    """What labels a control: `aria-labelledby`, `aria-label`, label elements."""
    parts = [
        *(_name_from_content(node, named=True) for node in _named_by(element, "aria-labelledby")),
        element.get("aria-label") or "",
        *(_label_content(node, element) for node in labels_of(element)),
    ]
    return squeeze(" ".join(parts))


def _label_content(label: Element, control: Element) -> str:
    """A label's own words, without what the control inside it says."""
    out: list[str] = []
    stack: list[Element | str] = [*reversed(label.children)]
    while stack:
        at = stack.pop()
        if isinstance(at, str):
            out.append(at)
        elif at is not control and at.tag not in TEXTLESS_TAGS and at.tag != "select":
            apart = "" if at.tag in INLINE_TAGS else " "
            out.append(apart)
            if at.tag == "img":
                out.append(at.get("alt") or "")
            stack.append(apart)
            stack.extend(reversed(at.children))
    return squeeze("".join(out))


def name_of(element: Element) -> str:
    """The accessible name."""
    labelled = squeeze(
        " ".join(_name_from_content(node, named=True) for node in _named_by(element, "aria-labelledby"))
    )
    if labelled:
        return labelled
    own = squeeze(element.get("aria-label") or "") or _native_name(element)
    if own:
        return own
    if role_of(element) in _NAMED_BY_CONTENT:
        content = _name_from_content(element, named=False)
        if content:
            return content
    return squeeze(element.get("title") or "") or squeeze(element.get("placeholder") or "")


def _native_name(element: Element) -> str:
    tag = element.tag
    if tag == "input" and element.input_type in INPUT_BUTTONS:
        return squeeze(button_text(element))
    if tag == "input" and element.input_type == "image":
        return squeeze(element.get("alt") or element.get("title") or "Submit")
    if tag in FIELD_TAGS:
        text = squeeze(" ".join(_label_content(node, element) for node in labels_of(element)))
        if text or tag != "button":
            return text
    if tag in ("img", "area"):
        return squeeze(element.get("alt") or "")
    child = {"fieldset": "legend", "table": "caption", "figure": "figcaption", "svg": "title"}.get(tag)
    naming = next((node for node in element.elements() if node.tag == child), None)
    return _name_from_content(naming, named=True) if naming is not None else ""


def _name_from_content(element: Element, *, named: bool) -> str:
    own = element.get("aria-label") or _child_name(element)
    if named and own:
        return squeeze(own)
    everything = named and not visible(element)
    out: list[str] = []
    stack: list[Element | str] = [*reversed(element.children)]
    while stack:
        at = stack.pop()
        if isinstance(at, str):
            out.append(at)
        elif _speaks(at, everything=everything):
            apart = "" if at.tag in INLINE_TAGS else " "
            said = at.get("aria-label") or _child_name(at)
            out.append(apart + said)
            stack.append(apart)
            stack.extend([] if said else reversed(at.children))
    return squeeze("".join(out))


def _speaks(child: Element, *, everything: bool) -> bool:
    if child.tag in TEXTLESS_TAGS or child.get("aria-hidden") == "true":
        return False
    return everything or visible(child) or any(visible(node) for node in child.descendants())


def _child_name(element: Element) -> str:
    if element.tag in ("img", "area"):
        return element.get("alt") or element.get("title") or ""
    if element.tag == "input" and element.input_type in INPUT_BUTTONS:
        return button_text(element)
    if element.tag == "svg":
        title = next((node for node in element.elements() if node.tag == "title"), None)
        return "".join(child for child in title.children if isinstance(child, str)) if title else ""
    return ""


def is_interactive(element: Element) -> bool:
    """What a person can operate: counted by `dom_index`, preferred by `semantic`."""
    tag, role = element.tag, (element.get("role") or "").split()
    if tag == "input":
        return element.input_type != "hidden"
    if tag in ("a", "area"):
        return "href" in element.attributes or element.get("role") in INTERACTIVE_ROLES
    if tag == "option":
        return False
    if tag in ("button", "select", "textarea", "summary") or (role and role[0] in INTERACTIVE_ROLES):
        return True
    stop = (element.get("tabindex") or "").strip()
    return is_editing_host(element) or (stop.isascii() and stop.isdigit())


def is_control(element: Element) -> bool:
    """What can be labelled."""
    if element.tag == "input":
        return element.input_type != "hidden"
    if element.tag in ("select", "textarea", "button", "meter", "progress", "output"):
        return True
    return is_editing_host(element) or (
        "role" in element.attributes and role_of(element) in INTERACTIVE_ROLES
    )
