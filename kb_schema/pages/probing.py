"""Answers to probes from a stored page. The live twin is `agent/page/js/5_probes.js`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kb_schema.pages.css import SelectorError
from kb_schema.pages.resolve import Queries, resolve
from kb_schema.pages.tree import (
    INPUT_BUTTONS,
    TOGGLE_ROLES,
    Element,
    Root,
    enabled,
    is_editing_host,
    is_secret,
    squeeze,
    text_of,
    value_of,
    visible,
)
from kb_schema.probes import ElementProbe, FormProbe, Probe, ProbeAnswer, TextProbe

TEXT_LIMIT = 2_000
"""Characters of an element's text in an answer: evidence, not content."""


def answer(probe: Probe, roots: list[Root], queries: Queries) -> ProbeAnswer:
    """The answer to one probe; what cannot be answered is said in `error`."""
    try:
        return _ANSWERS[type(probe)](probe, roots, queries)
    except SelectorError as error:
        return ProbeAnswer(error=str(error))


def _answer_text(probe: TextProbe, roots: list[Root], queries: Queries) -> ProbeAnswer:
    wanted = squeeze(probe.value)

    def says(text: str) -> bool:
        return wanted in text if wanted else bool(text)

    if probe.css is None:
        seen = sum(_root_visible(root) and says(text_of(root)) for root in roots)
        return ProbeAnswer(present=sum(says(text_of(root, everything=True)) for root in roots), visible=seen)
    found = [element for root in roots for element in queries.css.select(root, probe.css)]
    texts = [text for element in found if visible(element) and says(text := text_of(element))]
    return ProbeAnswer(
        present=sum(says(text_of(element, everything=True)) for element in found),
        visible=len(texts),
        text=texts[0][:TEXT_LIMIT] if texts else None,
    )


def _root_visible(root: Root) -> bool:
    return root.kind != "frame" or root.host is None or visible(root.host)


def _answer_element(probe: ElementProbe, roots: list[Root], queries: Queries) -> ProbeAnswer:
    result = resolve(probe.selector, roots, queries)
    seen = [element for element in result.found if visible(element)]
    first = next(iter([*seen, *result.found]), None)
    if first is None:
        return ProbeAnswer(error=result.error)
    return ProbeAnswer(
        present=len(result.found),
        visible=len(seen),
        enabled=enabled(first),
        value=value_of(first),
        text=text_of(first, everything=not visible(first))[:TEXT_LIMIT],
        error=result.error,
    )


def _answer_form(_probe: FormProbe, roots: list[Root], _queries: Queries) -> ProbeAnswer:
    every = (element for root in roots for element in root.elements)
    fields = [e for e in every if _is_form_field(e) and visible(e) and enabled(e)]
    return ProbeAnswer(present=len(fields), visible=sum(map(_is_invalid, fields)))


_ANSWERS: dict[type[Any], Callable[..., ProbeAnswer]] = {
    TextProbe: _answer_text,
    ElementProbe: _answer_element,
    FormProbe: _answer_form,
}


def _is_form_field(element: Element) -> bool:
    if element.tag == "input":
        return element.input_type not in (*INPUT_BUTTONS, "image") or "aria-invalid" in element.attributes
    return (
        element.tag in ("select", "textarea")
        or is_editing_host(element)
        or element.get("role") in TOGGLE_ROLES
        or "aria-invalid" in element.attributes
    )


def _is_invalid(element: Element) -> bool:
    if element.get("aria-invalid") == "true":
        return True
    if "required" not in element.attributes and element.get("aria-required") != "true":
        return False
    if is_secret(element):
        return False  # its value was left out because it has one
    if element.tag == "input" and element.input_type == "radio":
        return not any(value_of(other) == "true" for other in _radio_group(element))
    return value_of(element) in ("", "false")


def _radio_group(radio: Element) -> list[Element]:
    name, form = radio.get("name"), radio.closest("form")
    if not name:
        return [radio]
    return [
        other
        for other in radio.root.elements
        if other.tag == "input"
        and other.input_type == "radio"
        and other.get("name") == name
        and other.closest("form") is form
    ]
