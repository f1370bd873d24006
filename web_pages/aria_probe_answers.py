"""Answers probes from an accessibility snapshot if it can, else returns an `error` with the reason.

An answer is given only if any page with this snapshot would give it. Assumptions: what `aria_css_queries`
infers about tags, and that a field's name is its label. Without an answer, a condition could not be
evaluated; it then neither rejects a screen nor counts for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kb_schema.probes import ElementProbe, Probe, ProbeAnswer, TextProbe
from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, Strategy, ValueStrategy
from web_pages.aria_css_queries import match_css
from web_pages.aria_snapshots import SAID_BY_NAME, AriaMatch, AriaNode, AriaSnapshot
from web_pages.css_queries import SelectorError
from web_pages.page_texts import fold, matches, squeeze

_PARTLY = ProbeAnswer(error="the snapshot covers only a part of the page")
_SPACING = ProbeAnswer(error="the text is there, but the snapshot does not show its spacing")

TEXT_LIMIT = 2_000
"""The most characters of an element's text in an answer."""
CONTROL_ROLES = frozenset(
    {
        "button",
        "checkbox",
        "combobox",
        "link",
        "listbox",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "option",
        "radio",
        "searchbox",
        "slider",
        "spinbutton",
        "switch",
        "tab",
        "textbox",
        "treeitem",
    }
)
_FIELD_ROLES = frozenset(
    {
        "checkbox",
        "combobox",
        "listbox",
        "menuitemcheckbox",
        "menuitemradio",
        "radio",
        "searchbox",
        "slider",
        "spinbutton",
        "switch",
        "textbox",
    }
)
_SURE_KINDS = {
    "checkbox": "checkbox",
    "number": "spinbutton",
    "radio": "radio",
    "range": "slider",
    "search": "searchbox",
}
"""Field types that a role determines."""


def answer_from_aria(probe: Probe, outline: AriaSnapshot) -> ProbeAnswer:
    """Return the answer to one probe; `error` says what the snapshot does not contain."""
    try:
        if isinstance(probe, TextProbe):
            return _answer_text(probe, outline)
        if isinstance(probe, ElementProbe):
            return _answer_element(probe.selector, outline)
    except SelectorError as error:
        return ProbeAnswer(error=str(error))
    return _answer_form(outline)


def _answer_text(probe: TextProbe, outline: AriaSnapshot) -> ProbeAnswer:
    words = squeeze(probe.value)
    anywhere = _says(None, probe, outline)
    if probe.css is None:
        if anywhere:
            return ProbeAnswer(present=1, visible=1)
        return _absent(outline, spacing=anywhere is None)
    match = match_css(probe.css, outline)  # first of all: a selector may be invalid
    spacing_known = [(node, _says(node, probe, outline)) for node in match.found]
    seen = [node for node, says in spacing_known if says]
    if seen:
        return ProbeAnswer(present=len(seen), visible=len(seen), text=outline.text_of(seen[0])[:TEXT_LIMIT])
    if anywhere is False or not outline.complete:
        return _absent(outline)
    maybe = [outline.says(words, node) for node in match.maybe]
    if match.hidden or any(maybe):
        return ProbeAnswer(error=f"the snapshot does not show which elements match {probe.css}")
    return _absent(outline, spacing=None in maybe or any(says is None for _, says in spacing_known))


def _says(node: AriaNode | None, probe: TextProbe, outline: AriaSnapshot) -> bool | None:
    """Return whether an element (None: the page) shows the text; None if the snapshot does not tell."""
    words = squeeze(probe.value)
    said = outline.says(words, node)
    text = outline.text if node is None else outline.text_of(node)
    return None if said and not matches(text, words, probe.match) else said


def _absent(outline: AriaSnapshot, *, spacing: bool = False) -> ProbeAnswer:
    """Return the answer for something that is not in the snapshot: absent, if the snapshot is complete."""
    if not outline.complete:
        return _PARTLY
    return _SPACING if spacing else ProbeAnswer()


def _answer_element(selector: Selector, outline: AriaSnapshot) -> ProbeAnswer:
    """Resolve like `resolve`: the first strategy with exactly one match wins, else the first with any."""
    if selector.frame is not None:
        return ProbeAnswer(error="the snapshot does not show which frame is meant")
    doubts: list[str] = []
    tried: list[tuple[AriaNode, ...]] = []
    for strategy in selector.ordered:
        match = _find(strategy, outline)
        if match is None or match.hidden or match.maybe:
            doubts.append(f"the snapshot does not show what {strategy.type} finds")
        if match is not None and len(match.found) == 1:
            return _described(match.found, outline)
        if match is not None and match.found:
            tried.append(match.found)
    if tried and not doubts:
        return _described(tried[0], outline)
    if doubts:
        return ProbeAnswer(error=doubts[0])
    return _absent(outline)


def _described(found: tuple[AriaNode, ...], outline: AriaSnapshot) -> ProbeAnswer:
    first = found[0]
    return ProbeAnswer(
        present=len(found),
        visible=len(found),
        enabled="disabled" not in first.states,
        value=first.value,
        text=outline.text_of(first)[:TEXT_LIMIT],
    )


def _answer_form(outline: AriaSnapshot) -> ProbeAnswer:
    fields = [node for node in outline.nodes if node.role in _FIELD_ROLES and "disabled" not in node.states]
    invalid = sum("invalid" in node.states for node in fields)
    if fields and not invalid:
        return ProbeAnswer(error="the snapshot does not show which fields are required")
    if not outline.complete:
        return _PARTLY
    return ProbeAnswer(present=len(fields), visible=invalid)


# -- strategies ----------------------------------------------------------------------------------


def _find(strategy: Strategy, outline: AriaSnapshot) -> AriaMatch | None:
    """Return what one strategy matches; None if a snapshot can never tell."""
    finder = _FINDERS.get(strategy.type)
    return None if finder is None else finder(strategy, outline)


def _by_css(strategy: ValueStrategy, outline: AriaSnapshot) -> AriaMatch:
    return match_css(strategy.value, outline)


def _by_role_and_name(strategy: NameStrategy, outline: AriaSnapshot) -> AriaMatch:
    nodes = outline.by_role.get(strategy.role or "", ())
    if strategy.exact:
        return _those(node for node in nodes if node.name == squeeze(strategy.name))
    name = fold(strategy.name)
    return _those(node for node in nodes if name in node.folded_name)


def _by_label(strategy: NameStrategy, outline: AriaSnapshot) -> AriaMatch:
    controls = (node for node in outline.nodes if node.role in CONTROL_ROLES)
    return _those(node for node in controls if _named(strategy, node, node.name))


def _by_placeholder(strategy: NameStrategy, outline: AriaSnapshot) -> AriaMatch:
    """Match a placeholder by name: a field whose only name is its placeholder has that name."""
    fields = (node for node in outline.nodes if node.role in _FIELD_ROLES)
    spacing_known = ((node, node.properties.get("placeholder", node.name)) for node in fields)
    return _those(node for node, placeholder in spacing_known if _named(strategy, node, placeholder))


def _by_aria(strategy: ValueStrategy, outline: AriaSnapshot) -> AriaMatch:
    """Match `aria-label` by name. For some roles the content gives the name if no attribute does."""
    nodes = [
        node
        for node in outline.nodes
        if node.name == strategy.value and strategy.role in (None, "", node.role)
    ]
    return AriaMatch(
        tuple(node for node in nodes if node.role not in SAID_BY_NAME),
        tuple(node for node in nodes if node.role in SAID_BY_NAME),
    )


def _by_semantics(strategy: SemanticStrategy, outline: AriaSnapshot) -> AriaMatch:
    nodes = [node for node in outline.nodes if _means(strategy, node, outline)]
    if strategy.label_contains or strategy.placeholder_contains or strategy.field_type:
        nodes = [node for node in nodes if node.role in CONTROL_ROLES]
    elif strategy.text_contains or strategy.button_type:
        operable = [node for node in nodes if node.role in CONTROL_ROLES]
        nodes = operable or ([] if strategy.button_type else _innermost(nodes))
    sure = strategy.button_type is None and (strategy.field_type or "checkbox").lower() in _SURE_KINDS
    return _those(nodes) if sure else AriaMatch(maybe=tuple(nodes), hidden=bool(nodes))


def _means(strategy: SemanticStrategy, node: AriaNode, outline: AriaSnapshot) -> bool:
    kind = (strategy.field_type or "").lower()
    if strategy.role and node.role != strategy.role:
        return False
    if kind and node.role not in ({_SURE_KINDS[kind]} if kind in _SURE_KINDS else _FIELD_ROLES):
        return False
    if strategy.button_type and node.role != "button":
        return False
    placeholder = node.properties.get("placeholder", node.name)
    asked = (
        (strategy.label_contains, node.name),
        (strategy.placeholder_contains, placeholder),
        (strategy.text_contains, outline.text_of(node)),
    )
    return all(not wanted or fold(wanted) in fold(spacing_known) for wanted, spacing_known in asked)


def _innermost(nodes: list[AriaNode]) -> list[AriaNode]:
    around = {id(up) for node in nodes for up in node.ancestors()}
    return [node for node in nodes if id(node) not in around]


def _named(strategy: NameStrategy, node: AriaNode, name: str) -> bool:
    if strategy.role and node.role != strategy.role:
        return False
    if strategy.exact:
        return squeeze(name) == squeeze(strategy.name)
    return fold(strategy.name) in fold(name)


def _those(nodes: Iterable[AriaNode]) -> AriaMatch:
    return AriaMatch(tuple(nodes))


_FINDERS: dict[str, Callable[..., AriaMatch]] = {
    "css": _by_css,
    "relational_css": _by_css,
    "fallback_css": _by_css,
    "role_name": _by_role_and_name,
    "label": _by_label,
    "placeholder": _by_placeholder,
    "aria": _by_aria,
    "semantic": _by_semantics,
}
