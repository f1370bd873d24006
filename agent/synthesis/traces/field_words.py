"""Tells fields by the words beside them, if nothing else does: a form may have no labels in its markup.

The words are the text of the smallest part of the page that contains only this field, or the text right
before it in a form whose fields follow their texts. They identify a step if its selector is only a place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector, SessionStrategy, ValueStrategy
from kb_schema.templates import xpath_literal
from web_pages.accessible_names import label_text
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze

FIELD_ACTIONS = frozenset({"fill", "clear", "select_option", "check", "uncheck", "upload_file"})
"""Actions that only set a field. The last one on a field counts; on different fields the order is irrelevant."""
FIELD_WORDS = "field_words"
"""Metadata key of a step: the words beside its field, if its selector is only a place."""
LONGEST_WORDS = 60
MOST_LEVELS = 6
"""Maximum number of ancestors that are searched for the words of a field."""

_TAGS = frozenset({"input", "select", "textarea"})
_SILENT = frozenset({"script", "style", "option", "button", "template", "textarea"})
_PLACE = re.compile(r"\[\d+\]|nth-|last\(\)|:(?:first|last|only)-")
_FIELD = "self::input[not(@type='hidden')] or self::select or self::textarea"


def mark_field_words(traces: Iterable[ExecutionTrace], pages: TracePages) -> list[ExecutionTrace]:
    """Return the traces with the words beside each field that only its place identifies."""
    return [
        trace.model_copy(update={"steps": tuple(_marked(step, pages) for step in trace.steps)})
        for trace in traces
    ]


def is_place(strategy: object) -> bool:
    """Whether a strategy finds an element only by its place, its tag or a session id."""
    if isinstance(strategy, SessionStrategy):
        return True
    told = getattr(strategy, "value", None) or getattr(strategy, "template", None) or ""
    return bool(getattr(strategy, "fallback", False) or _PLACE.search(str(told)))


def find_field_words(element: Element) -> str | None:
    """Return the words beside a field; None if there are none, or if they could belong to another field."""
    given = squeeze(label_text(element))
    if given:
        return given[:LONGEST_WORDS]
    texts = _texts_around(element)
    return texts[0] if texts else _text_before(element)


def list_field_word_strategies(element: Element) -> Iterator[ValueStrategy]:
    """Yield selectors that find a field by the words beside it, the most certain first."""
    texts = _texts_around(element)
    for words in texts[:2]:
        around = f"[.//text()[normalize-space()={xpath_literal(words)}][not(ancestor::option)]]"
        alone = f"[count(.//*[{_FIELD}])=1]"
        yield ValueStrategy(type="xpath-text", value=f"//*{around}{alone}//*[{_FIELD}]")
    before = None if texts else _text_before(element)
    if before is not None:
        told = f"preceding::text()[normalize-space()][1][normalize-space()={xpath_literal(before)}]"
        yield ValueStrategy(type="xpath-text", value=f"//*[{_FIELD}][{told}]")


def _marked(step: TraceStep, pages: TracePages) -> TraceStep:
    if step.action_type not in FIELD_ACTIONS or not isinstance(step.target, Selector):
        return step
    if not all(map(is_place, step.target.strategies)):
        return step
    page = pages.get(step.html_before, step.source_url)
    element = None if page is None else page.find(step.target)
    words = find_field_words(element) if element is not None and _is_field(element) else None
    return (
        step if words is None else step.model_copy(update={"metadata": {**step.metadata, FIELD_WORDS: words}})
    )


def _texts_around(element: Element) -> list[str]:
    """Return the texts in the smallest part of the page with a text and no other field."""
    node = element
    for _ in range(MOST_LEVELS):
        if node.parent is None or node.tag in ("form", "body"):
            return []
        node = node.parent
        if sum(map(_is_field, node.descendants())) != 1:
            return []
        texts = list(dict.fromkeys(_texts(node)))
        if texts:
            return texts
    return []


def _text_before(element: Element) -> str | None:
    """Return the text before a field, if every field beside it has its own text before it."""
    if element.parent is None:
        return None
    before: str | None = None
    found: dict[int, str | None] = {}
    for child in element.parent.children:
        if isinstance(child, Element) and (_is_field(child) or any(map(_is_field, child.descendants()))):
            found[id(child)], before = before, None
        else:
            said = [squeeze(child)] if isinstance(child, str) else list(_texts(child))
            before = next((each for each in reversed(said) if each), before)
    complete = bool(found) and None not in found.values() and len(set(found.values())) == len(found)
    return found.get(id(element)) if complete else None


def _texts(node: Element) -> Iterator[str]:
    if node.tag in _SILENT:
        return
    for child in node.children:
        if isinstance(child, str):
            said = squeeze(child)
            if said and len(said) <= LONGEST_WORDS and any(map(str.isalpha, said)):
                yield said
        else:
            yield from _texts(child)


def _is_field(element: Element) -> bool:
    return element.tag in _TAGS and not (element.tag == "input" and element.input_type == "hidden")


__all__ = [
    "FIELD_WORDS",
    "find_field_words",
    "is_place",
    "list_field_word_strategies",
    "mark_field_words",
]
