"""Roles, accessible names and labels on stored pages.

Follows ARIA in HTML, HTML-AAM and accname 1.2 as far as the markup allows. Our own snapshots carry the
browser's name (`NAME_ATTRIBUTE`) if the markup alone could give another one. `agent/page/js/3_names.js` does
the same on a live page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kb_schema.page_snapshots import NAME_ATTRIBUTE
from web_pages.element_tree import Element
from web_pages.form_fields import is_editing_host, value_of
from web_pages.html_tags import FIELD_TAGS, INLINE_TAGS, INPUT_BUTTONS, TEXTLESS_TAGS, VISUAL_TAGS
from web_pages.page_texts import button_text, squeeze, text_of
from web_pages.visibility import is_chosen, visible

_SECTIONING = frozenset({"article", "aside", "main", "nav", "section"})
_TAG_ROLES = {
    "address": "group",
    "article": "article",
    "aside": "complementary",
    "blockquote": "blockquote",
    "button": "button",
    "caption": "caption",
    "circle": "graphics-symbol",
    "code": "code",
    "datalist": "listbox",
    "dd": "definition",
    "del": "deletion",
    "details": "group",
    "dfn": "term",
    "dialog": "dialog",
    "dt": "term",
    "ellipse": "graphics-symbol",
    "em": "emphasis",
    "fieldset": "group",
    "figure": "figure",
    "form": "form",
    "h1": "heading",
    "h2": "heading",
    "h3": "heading",
    "h4": "heading",
    "h5": "heading",
    "h6": "heading",
    "hgroup": "group",
    "hr": "separator",
    "ins": "insertion",
    "line": "graphics-symbol",
    "main": "main",
    "mark": "mark",
    "math": "math",
    "menu": "list",
    "meter": "meter",
    "nav": "navigation",
    "ol": "list",
    "optgroup": "group",
    "option": "option",
    "output": "status",
    "p": "paragraph",
    "path": "graphics-symbol",
    "polygon": "graphics-symbol",
    "polyline": "graphics-symbol",
    "progress": "progressbar",
    "rect": "graphics-symbol",
    "search": "search",
    "strong": "strong",
    "sub": "subscript",
    "summary": "button",
    "sup": "superscript",
    "svg": "img",
    "table": "table",
    "tbody": "rowgroup",
    "textarea": "textbox",
    "tfoot": "rowgroup",
    "thead": "rowgroup",
    "time": "time",
    "tr": "row",
    "ul": "list",
}
_INPUT_ROLES = {
    "button": "button",
    "submit": "button",
    "reset": "button",
    "image": "button",
    "file": "button",
    "checkbox": "checkbox",
    "radio": "radio",
    "range": "slider",
    "number": "spinbutton",
    "search": "searchbox",
    "email": "textbox",
    "tel": "textbox",
    "text": "textbox",
    "url": "textbox",
    "password": "textbox",
}
_ARIA_ROLES = frozenset(
    {
        "alert",
        "alertdialog",
        "application",
        "article",
        "banner",
        "blockquote",
        "button",
        "caption",
        "cell",
        "checkbox",
        "code",
        "columnheader",
        "combobox",
        "comment",
        "complementary",
        "contentinfo",
        "definition",
        "deletion",
        "dialog",
        "document",
        "emphasis",
        "feed",
        "figure",
        "form",
        "generic",
        "grid",
        "gridcell",
        "group",
        "heading",
        "img",
        "insertion",
        "link",
        "list",
        "listbox",
        "listitem",
        "log",
        "main",
        "mark",
        "marquee",
        "math",
        "menu",
        "menubar",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "meter",
        "navigation",
        "note",
        "option",
        "paragraph",
        "presentation",
        "progressbar",
        "radio",
        "radiogroup",
        "region",
        "row",
        "rowgroup",
        "rowheader",
        "scrollbar",
        "search",
        "searchbox",
        "separator",
        "slider",
        "spinbutton",
        "status",
        "strong",
        "subscript",
        "suggestion",
        "superscript",
        "switch",
        "tab",
        "table",
        "tablist",
        "tabpanel",
        "term",
        "textbox",
        "time",
        "timer",
        "toolbar",
        "tooltip",
        "tree",
        "treegrid",
        "treeitem",
    }
)
_ROLE_SYNONYMS = {"none": "presentation", "image": "img", "directory": "list"}
_NAMED_BY_CONTENT = frozenset(
    {
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
        "rowheader",
        "switch",
        "tab",
        "tooltip",
        "treeitem",
    }
)
INTERACTIVE_ROLES = frozenset(
    {
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
    }
)
_VALUE_ROLES = frozenset(
    {
        "textbox",
        "searchbox",
        "combobox",
        "listbox",
        "slider",
        "spinbutton",
        "progressbar",
        "meter",
        "scrollbar",
    }
)
_NAMING_CHILD = {"fieldset": "legend", "table": "caption", "svg": "title"} | {
    shape: "title" for shape, role in _TAG_ROLES.items() if role == "graphics-symbol"
}
_DEEPEST = 100
"""The nesting depth inside one name below which only text counts."""
_LABELABLE = frozenset({"input", "select", "textarea", "button", "meter", "output", "progress"})


# -- roles -------------------------------------------------------------------------------------------


def role_of(element: Element) -> str | None:
    """Return the ARIA role: the first known explicit one that applies, else the role of the tag."""
    for token in (element.get("role") or "").lower().split():
        role = _ROLE_SYNONYMS.get(token, token)
        if role not in _ARIA_ROLES:
            continue
        if role == "presentation" and _is_there_for_everybody(element):
            break
        if role == "generic":
            break
        return role
    special = _ROLES_THAT_DEPEND.get(element.tag)
    return special(element) if special is not None else _TAG_ROLES.get(element.tag)


def _is_there_for_everybody(element: Element) -> bool:
    """Return whether a presentational role is ignored: the element is focusable or has its own name."""
    attributes = element.attributes
    return "tabindex" in attributes or _says_its_name(element, "aria-label") or is_interactive(element)


def _says_its_name(element: Element, *more: str) -> bool:
    return any(name in element.attributes for name in ("aria-labelledby", *more))


def _names_itself(element: Element) -> bool:
    return bool((element.get("aria-label") or "").strip()) or any(
        element.get(name) for name in ("aria-labelledby", "title")
    )


def _link_role(element: Element) -> str | None:
    return "link" if "href" in element.attributes else None


def _image_role(element: Element) -> str:
    decorative = element.get("alt") == "" and not _names_itself(element) and not is_interactive(element)
    return "presentation" if decorative else "img"


def _input_role(element: Element) -> str | None:
    role = _INPUT_ROLES.get(element.input_type)
    return "combobox" if role in ("textbox", "searchbox") and "list" in element.attributes else role


def _select_role(element: Element) -> str:
    size = element.get("size") or ""
    many = "multiple" in element.attributes or (size.isdecimal() and int(size) > 1)
    return "listbox" if many else "combobox"


def _item_role(element: Element) -> str | None:
    around = element.parent
    return "listitem" if around is not None and role_of(around) in ("list", "menu", "group") else None


def _cell_role(element: Element) -> str:
    table = element.closest("table")
    return "gridcell" if table is not None and table.get("role") in ("grid", "treegrid") else "cell"


def _header_role(element: Element) -> str:
    scope = (element.get("scope") or "").lower()
    if scope in ("row", "rowgroup"):
        return "rowheader"
    if scope in ("col", "colgroup"):
        return "columnheader"
    row = element.parent
    in_head = row is not None and row.parent is not None and row.parent.tag == "thead"
    beside_data = row is not None and any(cell.tag == "td" for cell in row.elements())
    return "rowheader" if beside_data and not in_head else "columnheader"


_ROLES_THAT_DEPEND: dict[str, Callable[[Element], str | None]] = {
    "a": _link_role,
    "area": _link_role,
    "img": _image_role,
    "input": _input_role,
    "li": _item_role,
    "select": _select_role,
    "td": _cell_role,
    "th": _header_role,
    "section": lambda element: "region" if _names_itself(element) else None,
    "header": lambda element: None if _in_section(element) else "banner",
    "footer": lambda element: None if _in_section(element) else "contentinfo",
}


def _in_section(element: Element) -> bool:
    node = element.parent or _shadow_host(element)
    while node is not None:
        if node.tag in _SECTIONING:
            return True
        node = node.parent or _shadow_host(node)
    return False


def _shadow_host(element: Element) -> Element | None:
    return element.root.host if element.root.kind == "shadow" else None


# -- labels ------------------------------------------------------------------------------------------


def _named_by(element: Element, attribute: str) -> list[Element]:
    ids = (element.get(attribute) or "").split()
    return [found for found in (element.root.by_id(each) for each in ids) if found is not None]


def labels_of(element: Element) -> list[Element]:
    """Return the label elements of a control in document order: by `for`, or wrapped around it."""
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
    """Return the label of a control: from `aria-labelledby`, `aria-label`, or label elements."""
    kept = element.get(NAME_ATTRIBUTE) if element.root.annotated else None
    if kept is not None and labels_of(element) and not _says_its_name(element, "aria-label"):
        return kept
    parts = [
        *(_referenced(node) for node in _named_by(element, "aria-labelledby")),
        element.get("aria-label") or "",
        *(_referenced(node, element) for node in labels_of(element)),
    ]
    return squeeze(" ".join(parts))


# -- names -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _NameTraversal:
    """How the computation of a name reached an element."""

    seen: set[int]
    """Elements already used in this name."""
    referred: bool = False
    """Reached by an id or a label; these are followed once."""
    inside: bool = False
    """Reached as part of another element."""
    hidden: bool = False
    """Hidden parts count, because the referenced element itself is hidden."""
    depth: int = 0


def name_of(element: Element) -> str:
    """Return the accessible name: the browser's own if the snapshot carries it."""
    kept = element.get(NAME_ATTRIBUTE) if element.root.annotated else None
    return squeeze(_alternative(element, _NameTraversal(set()))) if kept is None else kept


def calling_name(element: Element) -> str:
    """Return the name that `role_name` compares: the accessible name; for a row without one, its content."""
    name = name_of(element)
    if name or role_of(element) != "row":
        return name
    return squeeze(_content(element, _NameTraversal({id(element)})))


def _referenced(element: Element, *used: Element) -> str:
    way = _NameTraversal({id(each) for each in used}, referred=True, inside=True, hidden=not _shows(element))
    return squeeze(_alternative(element, way))


def _alternative(element: Element, way: _NameTraversal) -> str:
    """Return the text alternative of one element (accname 1.2, 4.3.2)."""
    if id(element) in way.seen:
        return ""
    way.seen.add(id(element))
    given = _given_name(element, way)
    if given is not None:
        return given
    role = role_of(element)
    native = "" if role == "presentation" else _native_name(element, way)
    if native or (not way.inside and _is_text_field(element) and labels_of(element)):
        return native
    if way.inside or _named_by_content(element, role):
        content = _content(element, way)
        if squeeze(content) or (way.inside and role is None):
            return content
    hint = element.get("placeholder") or element.get("aria-placeholder") or ""
    return element.get("title") or (hint if _is_text_field(element) else "")


def _given_name(element: Element, way: _NameTraversal) -> str | None:
    """Return the name from `aria-labelledby`, from a field's value inside a label, or from `aria-label`."""
    if not way.referred:
        named = " ".join(_referenced(node) for node in _named_by(element, "aria-labelledby"))
        if squeeze(named):
            return named
    value = _embedded_value(element, way) if way.inside else None
    if value is not None:
        return value
    own = element.get("aria-label") or ""
    return own if own.strip() else None


def _is_text_field(element: Element) -> bool:
    return element.tag in ("input", "textarea") or "aria-placeholder" in element.attributes


def _named_by_content(element: Element, role: str | None) -> bool:
    """Return whether the content names the element; rows only in grids, or if they are focusable."""
    if role == "row":
        return "tabindex" in element.attributes or any(
            around.get("role") in ("grid", "treegrid") for around in element.ancestors()
        )
    return role in _NAMED_BY_CONTENT or (element.tag == "dt" and role == "term")


def _embedded_value(element: Element, way: _NameTraversal) -> str | None:
    """Return what a field inside a label adds to the label; None if it is not such a field."""
    role = role_of(element)
    if role not in _VALUE_ROLES:
        return None
    if element.tag == "select":
        chosen = (node for node in element.descendants() if node.tag == "option" and is_chosen(node))
        return " ".join(_option_text(option) for option in chosen)
    if element.tag == "input" and element.input_type == "password":
        return ""
    if element.tag in ("input", "textarea"):
        return value_of(element) or ""
    if role in ("textbox", "searchbox"):
        return _content(element, way)
    return element.get("aria-valuetext") or element.get("aria-valuenow") or ""


def _option_text(option: Element) -> str:
    return squeeze("".join(child for child in option.children if isinstance(child, str)))


def _native_name(element: Element, way: _NameTraversal) -> str:
    """Return the name from HTML itself: a button's value, labels, alternative texts, captions."""
    tag = element.tag
    if tag in FIELD_TAGS or tag in ("meter", "progress", "output"):
        return _field_name(element, way)
    if tag in ("img", "area"):
        return element.get("alt") or ""
    if tag in ("option", "optgroup"):
        return element.get("label") or (_option_text(element) if tag == "option" else "")
    child = _NAMING_CHILD.get(tag)
    naming = next((node for node in element.elements() if node.tag == child), None)
    if naming is None:
        return ""
    if child == "title":
        return "".join(part for part in naming.children if isinstance(part, str))
    return _alternative(naming, replace(way, inside=True))


def _field_name(element: Element, way: _NameTraversal) -> str:
    if element.tag == "input" and element.input_type == "image":
        return element.get("alt") or element.get("title") or "Submit"
    if element.tag == "input" and element.input_type == "file":
        return _label_name(element, way) or ("" if way.inside else _file_button(element))
    own = button_text(element) if element.tag == "input" and element.input_type in INPUT_BUTTONS else ""
    return own or _label_name(element, way)


def _file_button(element: Element) -> str:
    """Return the browser's default label of a file field without a name."""
    if "title" in element.attributes:
        return ""
    return "Choose Files" if "multiple" in element.attributes else "Choose File"


def _label_name(element: Element, way: _NameTraversal) -> str:
    if way.inside:
        return ""
    return " ".join(text for label in labels_of(element) if (text := _referenced(label, element)))


def _content(element: Element, way: _NameTraversal) -> str:
    """Return the text alternatives of everything inside."""
    if way.depth > _DEEPEST:
        return text_of(element)
    children = element.shadow.top if element.shadow is not None else element.children
    return "".join(child if isinstance(child, str) else _part(child, way) for child in children)


def _part(child: Element, way: _NameTraversal) -> str:
    tag = child.tag
    if tag == "br":
        return " "
    if tag in TEXTLESS_TAGS and tag not in ("textarea", "iframe"):
        return ""
    if child.get("aria-hidden") == "true" and not way.hidden:
        return ""
    if not way.hidden and not _shows(child):
        return ""
    said = _alternative(child, replace(way, inside=True, depth=way.depth + 1))
    runs_on = tag in INLINE_TAGS and tag not in VISUAL_TAGS and tag not in FIELD_TAGS
    return said if runs_on else f" {said} "


def _shows(element: Element) -> bool:
    return visible(element) or any(visible(node) for node in element.descendants())


def is_interactive(element: Element) -> bool:
    """Return whether a person can operate it: `dom_index` counts these, `semantic` prefers them."""
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
    """Return whether it can have a label."""
    if element.tag == "input":
        return element.input_type != "hidden"
    if element.tag in ("select", "textarea", "button", "meter", "progress", "output"):
        return True
    return is_editing_host(element) or (
        "role" in element.attributes and role_of(element) in INTERACTIVE_ROLES
    )
