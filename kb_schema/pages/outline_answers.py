"""Answers to probes from an accessibility snapshot, where it can tell; else an `error` that says why.

An answer is given only if any page with this snapshot would give it, taking for granted what
`outline_css` says of tags and that a field's name is its label. Everything else could not be
evaluated, which neither rejects a screen nor speaks for it (DESIGN 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kb_schema.pages.css import SelectorError
from kb_schema.pages.outline import SAID_BY_NAME, Node, Outline
from kb_schema.pages.outline_css import Match, match_css
from kb_schema.pages.texts import fold, squeeze
from kb_schema.probes import ElementProbe, Probe, ProbeAnswer, TextProbe
from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, Strategy, ValueStrategy

_PARTLY = ProbeAnswer(error="the snapshot is only of a part of the page")
_SPACING = ProbeAnswer(error="the words are there, but the snapshot does not tell how they are spaced")

TEXT_LIMIT = 2_000
"""Characters of an element's text in an answer: evidence, not content."""
CONTROL_ROLES = frozenset({
    "button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio",
    "option", "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem",
})  # fmt: skip
_FIELD_ROLES = frozenset({
    "checkbox", "combobox", "listbox", "menuitemcheckbox", "menuitemradio", "radio", "searchbox", "slider",
    "spinbutton", "switch", "textbox",
})  # fmt: skip
_SURE_KINDS = {"checkbox": "checkbox", "number": "spinbutton", "radio": "radio", "range": "slider",
               "search": "searchbox"}  # fmt: skip
"""Kinds of fields that a role tells."""


def answer(probe: Probe, outline: Outline) -> ProbeAnswer:
    """The answer to one probe; what the snapshot cannot tell is said in `error`."""
    try:
        if isinstance(probe, TextProbe):
            return _answer_text(probe, outline)
        if isinstance(probe, ElementProbe):
            return _answer_element(probe.selector, outline)
    except SelectorError as error:
        return ProbeAnswer(error=str(error))
    return _answer_form(outline)


def _answer_text(probe: TextProbe, outline: Outline) -> ProbeAnswer:
    words = squeeze(probe.value)
    anywhere = outline.says(words)
    if probe.css is None:
        if anywhere:
            return ProbeAnswer(present=1, visible=1)
        return _absent(outline, spacing=anywhere is None)
    match = match_css(probe.css, outline)  # before anything is said: a selector may be unreadable
    said = [(node, outline.says(words, node)) for node in match.found]
    seen = [node for node, says in said if says]
    if seen:
        return ProbeAnswer(present=len(seen), visible=len(seen), text=outline.text_of(seen[0])[:TEXT_LIMIT])
    if anywhere is False or not outline.complete:
        return _absent(outline)
    maybe = [outline.says(words, node) for node in match.maybe]
    if match.hidden or any(maybe):
        return ProbeAnswer(error=f"the snapshot does not tell which elements match {probe.css}")
    return _absent(outline, spacing=None in maybe or any(says is None for _, says in said))


def _absent(outline: Outline, *, spacing: bool = False) -> ProbeAnswer:
    """What is not in the snapshot is not on the page, where the snapshot tells that."""
    if not outline.complete:
        return _PARTLY
    return _SPACING if spacing else ProbeAnswer()


def _answer_element(selector: Selector, outline: Outline) -> ProbeAnswer:
    """As `resolve` does: the first strategy that finds exactly one wins, else the first that finds any."""
    if selector.frame is not None:
        return ProbeAnswer(error="the snapshot does not tell which frame is meant")
    doubts: list[str] = []
    tried: list[tuple[Node, ...]] = []
    for strategy in selector.ordered:
        match = _find(strategy, outline)
        if match is None or match.hidden or match.maybe:
            doubts.append(f"the snapshot does not tell what {strategy.type} finds")
        if match is not None and len(match.found) == 1:
            return _described(match.found, outline)
        if match is not None and match.found:
            tried.append(match.found)
    if tried and not doubts:
        return _described(tried[0], outline)
    if doubts:
        return ProbeAnswer(error=doubts[0])
    return _absent(outline)


def _described(found: tuple[Node, ...], outline: Outline) -> ProbeAnswer:
    first = found[0]
    return ProbeAnswer(
        present=len(found),
        visible=len(found),
        enabled="disabled" not in first.states,
        value=first.value,
        text=outline.text_of(first)[:TEXT_LIMIT],
    )


def _answer_form(outline: Outline) -> ProbeAnswer:
    fields = [node for node in outline.nodes if node.role in _FIELD_ROLES and "disabled" not in node.states]
    invalid = sum("invalid" in node.states for node in fields)
    if fields and not invalid:
        return ProbeAnswer(error="the snapshot does not tell which fields are required")
    if not outline.complete:
        return _PARTLY
    return ProbeAnswer(present=len(fields), visible=invalid)


# -- strategies ----------------------------------------------------------------------------------


def _find(strategy: Strategy, outline: Outline) -> Match | None:
    """What one strategy finds; None where a snapshot never tells."""
    finder = _FINDERS.get(strategy.type)
    return None if finder is None else finder(strategy, outline)


def _by_css(strategy: ValueStrategy, outline: Outline) -> Match:
    return match_css(strategy.value, outline)


def _by_role_and_name(strategy: NameStrategy, outline: Outline) -> Match:
    nodes = outline.by_role.get(strategy.role or "", ())
    if strategy.exact:
        return _those(node for node in nodes if node.name == squeeze(strategy.name))
    name = fold(strategy.name)
    return _those(node for node in nodes if name in node.folded_name)


def _by_label(strategy: NameStrategy, outline: Outline) -> Match:
    controls = (node for node in outline.nodes if node.role in CONTROL_ROLES)
    return _those(node for node in controls if _named(strategy, node, node.name))


def _by_placeholder(strategy: NameStrategy, outline: Outline) -> Match:
    """A placeholder that is the field's only name is given as its name."""
    fields = (node for node in outline.nodes if node.role in _FIELD_ROLES)
    said = ((node, node.properties.get("placeholder", node.name)) for node in fields)
    return _those(node for node, placeholder in said if _named(strategy, node, placeholder))


def _by_aria(strategy: ValueStrategy, outline: Outline) -> Match:
    """`aria-label`: of some roles the content gives the name where no attribute does."""
    nodes = [
        node
        for node in outline.nodes
        if node.name == strategy.value and strategy.role in (None, "", node.role)
    ]
    return Match(
        tuple(node for node in nodes if node.role not in SAID_BY_NAME),
        tuple(node for node in nodes if node.role in SAID_BY_NAME),
    )


def _by_semantics(strategy: SemanticStrategy, outline: Outline) -> Match:
    nodes = [node for node in outline.nodes if _means(strategy, node, outline)]
    if strategy.label_contains or strategy.placeholder_contains or strategy.field_type:
        nodes = [node for node in nodes if node.role in CONTROL_ROLES]
    elif strategy.text_contains or strategy.button_type:
        operable = [node for node in nodes if node.role in CONTROL_ROLES]
        nodes = operable or ([] if strategy.button_type else _innermost(nodes))
    sure = strategy.button_type is None and (strategy.field_type or "checkbox").lower() in _SURE_KINDS
    return _those(nodes) if sure else Match(maybe=tuple(nodes), hidden=bool(nodes))


def _means(strategy: SemanticStrategy, node: Node, outline: Outline) -> bool:
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
    return all(not wanted or fold(wanted) in fold(said) for wanted, said in asked)


def _innermost(nodes: list[Node]) -> list[Node]:
    around = {id(up) for node in nodes for up in node.ancestors()}
    return [node for node in nodes if id(node) not in around]


def _named(strategy: NameStrategy, node: Node, name: str) -> bool:
    if strategy.role and node.role != strategy.role:
        return False
    if strategy.exact:
        return squeeze(name) == squeeze(strategy.name)
    return fold(strategy.name) in fold(name)


def _those(nodes: Iterable[Node]) -> Match:
    return Match(tuple(nodes))


_FINDERS: dict[str, Callable[..., Match]] = {
    "css": _by_css,
    "relational_css": _by_css,
    "fallback_css": _by_css,
    "role_name": _by_role_and_name,
    "label": _by_label,
    "placeholder": _by_placeholder,
    "aria": _by_aria,
    "semantic": _by_semantics,
}
