"""A stored page as trees: one root for the document, each shadow root and each frame document.

Visibility, text and values mean what `kb_schema.probes` says; on our own snapshots they are read
from the annotations, on foreign HTML from the markup. The live twin is `agent/page/js/1_roots.js`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kb_schema.snapshots import CHECKED_ATTRIBUTE, FRAME_TAG, HIDDEN_ATTRIBUTE, SHADOW_TAG, VALUE_ATTRIBUTE

NESTING_LIMIT = 4_000
"""Open tags at once; more would take the parser quadratic time."""
MOST_ROOTS = 500

VISUAL_TAGS = frozenset({"img", "svg", "area"})
FIELD_TAGS = frozenset({"input", "select", "textarea", "button"})
TEXTLESS_TAGS = frozenset({
    "script", "style", "template", "noscript", "textarea", "iframe", "frame", "noembed", "noframes",
    SHADOW_TAG, FRAME_TAG,
})  # fmt: skip
INLINE_TAGS = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "nobr",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tspan",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
NEVER_SHOWN_TAGS = frozenset({
    "head", "script", "style", "template", "noscript", "title", "meta", "link", "base", "datalist", "source",
    "track", "param", "area", SHADOW_TAG, FRAME_TAG,
})  # fmt: skip
INPUT_BUTTONS = frozenset({"button", "submit", "reset"})
TOGGLE_ROLES = frozenset({"checkbox", "switch", "radio", "menuitemcheckbox", "menuitemradio"})
_TEXT_ATTRIBUTES = ("aria-label", "alt", "title", "placeholder")
_INPUT_TYPES = frozenset(
    [
        "button",
        "checkbox",
        "color",
        "date",
        "datetime-local",
        "email",
        "file",
        "hidden",
        "image",
        "month",
        "number",
        "password",
        "radio",
        "range",
        "reset",
        "search",
        "submit",
        "tel",
        "text",
        "time",
        "url",
        "week",
    ]
)
_BLANK = re.compile(r"[ \t\n\r\f\u00a0]+")
_HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE
)
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)[^>]*?(/?)>")
# Elements the parser closes by itself, and those without contents: they do not nest.
_FLAT_TAGS = frozenset(
    [
        "p",
        "li",
        "dt",
        "dd",
        "td",
        "th",
        "tr",
        "tbody",
        "thead",
        "tfoot",
        "option",
        "optgroup",
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
        "rp",
        "rt",
        "html",
        "head",
        "body",
    ]
)


class PageRefused(ValueError):
    """HTML that is too large or too deeply nested to be looked at."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def squeeze(text: str) -> str:
    """Runs of white space as one space, none at the ends."""
    return _BLANK.sub(" ", text).strip(" ")


def fold(text: str) -> str:
    """For comparing without case."""
    return squeeze(text).lower()


@dataclass(eq=False, slots=True, repr=False)
class Element:
    """An element of a stored page."""

    tag: str
    attributes: dict[str, str]
    root: Root
    parent: Element | None
    order: int
    children: list[Element | str] = field(default_factory=list)
    shadow: Root | None = None
    frame_document: Root | None = None
    seen: bool | None = None
    """Visibility, once it was asked."""

    def get(self, name: str) -> str | None:
        """An attribute's value, or None."""
        return self.attributes.get(name)

    def elements(self) -> Iterator[Element]:
        """Child elements."""
        return (child for child in self.children if isinstance(child, Element))

    def ancestors(self) -> Iterator[Element]:
        """Parents up to the root's outermost element."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def descendants(self) -> Iterator[Element]:
        """Everything below, in document order, within the same root."""
        stack = [*self.elements()][::-1]
        while stack:
            node = stack.pop()
            yield node
            stack.extend([*node.elements()][::-1])

    @property
    def input_type(self) -> str:
        """The type an `input` has: `text` where it names none that exists."""
        given = (self.attributes.get("type") or "").lower()
        return given if given in _INPUT_TYPES else "text"

    def closest(self, *tags: str) -> Element | None:
        """The nearest ancestor with one of these tags."""
        return next((node for node in self.ancestors() if node.tag in tags), None)


@dataclass(eq=False, slots=True, repr=False)
class Root:
    """A document, shadow root or frame document. `kind` is `document`, `shadow` or `frame`."""

    kind: str
    host: Element | None
    annotated: bool
    parser: LexborHTMLParser
    elements: list[Element] = field(default_factory=list)
    top: list[Element | str] = field(default_factory=list)
    by_node: dict[int, Element] = field(default_factory=dict)
    ids: dict[str, Element] = field(default_factory=dict)

    labels: dict[int, list[Element]] | None = None
    """Label elements by the control they label, once they were asked for (`names.labels_of`)."""

    def by_id(self, wanted: str) -> Element | None:
        """The first element with this id."""
        return self.ids.get(wanted)


def parse_roots(html: str, *, annotated: bool) -> list[Root]:
    """The document's root, then every shadow root and frame document in it, outermost first.

    Raises `PageRefused` for nesting nobody writes.
    """
    roots = [_parse(html, "document", None, annotated)]
    for root in roots:
        for element in list(root.elements):
            if element.tag not in (SHADOW_TAG, FRAME_TAG):
                continue
            if len(roots) >= MOST_ROOTS:
                raise PageRefused(f"more than {MOST_ROOTS} shadow roots and frames")
            inner = _inner_root(element, annotated)
            if inner is not None:
                roots.append(inner)
    for root in roots:
        _drop_holders(root)
    return roots


def _inner_root(holder: Element, annotated: bool) -> Root | None:
    """The root a `<pp-...>` element holds, in `srcdoc` or inline."""
    kind = "shadow" if holder.tag == SHADOW_TAG else "frame"
    host = holder.parent if kind == "shadow" else _frame_before(holder)
    if any(up.tag in (SHADOW_TAG, FRAME_TAG) for up in holder.ancestors()):
        return None  # it comes again when the outer one is parsed
    markup = holder.get("srcdoc")
    if markup is None:
        node = next(
            node
            for node in holder.root.parser.css(holder.tag)
            if holder.root.by_node.get(node.mem_id) is holder
        )
        markup = node.inner_html or ""
    inner = _parse(markup, kind, host, annotated)
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
    holders = [element for element in root.elements if element.tag in (SHADOW_TAG, FRAME_TAG)]
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


def check_nesting(html: str) -> None:
    """Raises `PageRefused` where more tags are open at once than any page has."""
    depth = 0
    for match in _TAG.finditer(html):
        if match[2].lower() in _FLAT_TAGS or match[3]:
            continue
        depth = max(0, depth - 1) if match[1] else depth + 1
        if depth > NESTING_LIMIT:
            raise PageRefused(f"elements are nested more than {NESTING_LIMIT} deep")


def _parse(html: str, kind: str, host: Element | None, annotated: bool) -> Root:
    check_nesting(html)
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
    stack: list[tuple[LexborNode, Element | None]] = [(start, None)]
    while stack:
        node, parent = stack.pop()
        siblings = parent.children if parent is not None else root.top
        if node.is_text_node:
            siblings.append(node.text_content or "")
        elif node.is_element_node:
            tag = node.tag or ""
            attributes = {name: value or "" for name, value in node.attributes.items()}
            element = Element(tag, attributes, root, parent, len(root.elements))
            siblings.append(element)
            root.elements.append(element)
            root.by_node[node.mem_id] = element
            if attributes.get("id"):
                root.ids.setdefault(attributes["id"], element)
            child = node.last_child
            while child is not None:
                stack.append((child, element))
                child = child.prev


# -- visibility ----------------------------------------------------------------------------------


def visible(element: Element) -> bool:
    """Whether the element can be seen."""
    if element.seen is None:
        element.seen = _annotated_visible(element) if element.root.annotated else _markup_visible(element)
    return element.seen


def _annotated_visible(element: Element) -> bool:
    return HIDDEN_ATTRIBUTE not in element.attributes and element.tag not in (SHADOW_TAG, FRAME_TAG)


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


def _opened_list(option: Element) -> bool:
    chooser = option.closest("select")
    if chooser is None:
        return False
    size = chooser.get("size") or ""
    return "multiple" in chooser.attributes or (size.isdecimal() and int(size) > 1)


def is_chosen(option: Element) -> bool:
    """Whether an option is selected; without a mark, a closed list shows its first usable one."""
    if option.root.annotated and CHECKED_ATTRIBUTE in option.attributes:
        return option.attributes[CHECKED_ATTRIBUTE] == "true"
    chooser = option.closest("select")
    if chooser is None or "selected" in option.attributes:
        return "selected" in option.attributes
    if _opened_list(option):
        return False
    options = [node for node in chooser.descendants() if node.tag == "option"]
    if any("selected" in node.attributes for node in options):
        return False
    usable = [node for node in options if "disabled" not in node.attributes]
    return bool(usable) and usable[0] is option


# -- text and values -----------------------------------------------------------------------------


def text_of(node: Element | Root, *, everything: bool = False) -> str:
    """Visible text below a node, or all of it; words parted where elements other than inline begin."""
    out: list[str] = []
    stack: list[Element | str | None] = []
    if isinstance(node, Root):
        stack.extend(reversed(node.top))
    else:
        stack.append(node)
    while stack:
        at = stack.pop()
        if at is None:
            out.append(" ")
        elif isinstance(at, str):
            out.append(at)
        else:
            _gather(at, out, stack, everything=everything)
    return squeeze("".join(out))


def _gather(element: Element, out: list[str], stack: list[Element | str | None], *, everything: bool) -> None:
    parts = element.tag not in INLINE_TAGS
    if parts:
        out.append(" ")
    shown = everything or visible(element)
    if shown:
        out.extend(_spoken_attributes(element))
    if element.tag in TEXTLESS_TAGS:
        return
    if parts:
        stack.append(None)
    folded = element.tag == "details" and "open" not in element.attributes
    texts = everything or (shown and not folded)
    stack.extend(child for child in reversed(element.children) if texts or isinstance(child, Element))


def _spoken_attributes(element: Element) -> Iterator[str]:
    if element.tag not in FIELD_TAGS and element.tag not in VISUAL_TAGS and element.get("role") != "img":
        return
    if element.tag == "input" and element.input_type in INPUT_BUTTONS:
        yield f" {button_text(element)}"
    for name in _TEXT_ATTRIBUTES:
        if element.attributes.get(name):
            yield f" {element.attributes[name]}"
    yield " "


def button_text(element: Element) -> str:
    """What an input button says; the browser's own words where the page gives none."""
    given = element.get("value")
    if given is not None:
        return given
    return {"submit": "Submit", "reset": "Reset"}.get(element.input_type, "")


def raw_text(element: Element) -> str:
    """All text as it stands in the markup (`:has-text`)."""
    out: list[str] = []
    stack: list[Element | str] = [element]
    while stack:
        at = stack.pop()
        if isinstance(at, str):
            out.append(at)
        elif at.tag not in TEXTLESS_TAGS:
            if at.tag == "input" and at.input_type in INPUT_BUTTONS:
                out.append(button_text(at))
            stack.extend(reversed(at.children))
    return squeeze("".join(out))


def is_editing_host(element: Element) -> bool:
    """Whether the element itself is made editable."""
    flag = element.get("contenteditable")
    return flag is not None and flag.lower() != "false"


def is_toggle(element: Element) -> bool:
    """A checkbox or radio button."""
    return element.tag == "input" and element.input_type in ("checkbox", "radio")


def value_of(element: Element) -> str | None:
    """What a field holds; `true` / `false` for what is ticked; None for no field and for secrets."""
    if element.root.annotated:
        ticked = element.get(CHECKED_ATTRIBUTE)
        if element.tag != "option" and ticked is not None:
            return ticked
        return element.get(VALUE_ATTRIBUTE)
    return _markup_value(element)


def _markup_value(element: Element) -> str | None:
    if is_toggle(element):
        return "true" if "checked" in element.attributes else "false"
    if element.tag == "input":
        return "" if element.input_type == "file" else element.get("value") or ""
    if element.tag == "textarea":
        return "".join(child for child in element.children if isinstance(child, str)).removeprefix("\n")
    if element.tag == "select":
        chosen = [node for node in element.descendants() if node.tag == "option" and is_chosen(node)]
        return ", ".join(_option_value(node) for node in chosen)
    if element.get("role") in TOGGLE_ROLES:
        return "true" if element.get("aria-checked") == "true" else "false"
    return text_of(element, everything=True) if is_editing_host(element) else None


def _option_value(option: Element) -> str:
    given = option.get("value")
    return text_of(option, everything=True) if given is None else given


def is_secret(element: Element) -> bool:
    """A field of our own snapshot whose value was left out: it holds something."""
    return element.root.annotated and (
        element.tag in ("input", "select", "textarea") or is_editing_host(element)
    ) and value_of(element) is None  # fmt: skip


def disabled_natively(element: Element) -> bool:
    """What `:disabled` means in HTML."""
    if element.tag not in (*FIELD_TAGS, "option", "optgroup", "fieldset"):
        return False
    if "disabled" in element.attributes:
        return True
    if element.tag == "option":
        return any(up.tag == "optgroup" and "disabled" in up.attributes for up in element.ancestors())
    child = element
    for up in element.ancestors():
        if up.tag == "fieldset" and "disabled" in up.attributes:
            legend = next((node for node in up.elements() if node.tag == "legend"), None)
            if child is not legend:
                return True
        child = up
    return False


def enabled(element: Element) -> bool:
    """Whether it can be used: neither disabled, nor `aria-disabled` or `inert` itself or around."""
    if disabled_natively(element):
        return False
    node: Element | None = element
    while node is not None:
        if node.get("aria-disabled") == "true" or "inert" in node.attributes:
            return False
        node = node.parent or (node.root.host if node.root.kind == "shadow" else None)
    return True
