"""Answers probes from a stored page. `agent/page/js/5_probes.js` does the same on a live page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kb_schema.probes import ElementProbe, FormProbe, Probe, ProbeAnswer, TextProbe
from web_pages.css_queries import SelectorError
from web_pages.element_tree import Element, Root
from web_pages.form_fields import enabled, is_editing_host, is_secret, value_of
from web_pages.html_tags import INPUT_BUTTONS, TOGGLE_ROLES
from web_pages.page_texts import matches, says, squeeze, text_of
from web_pages.selector_resolution import PageQueries, resolve
from web_pages.visibility import visible

TEXT_LIMIT = 2_000
"""The most characters of an element's text in an answer."""


def answer_probe(probe: Probe, roots: list[Root], queries: PageQueries) -> ProbeAnswer:
    """Return the answer to one probe; `error` says why it cannot be answered."""
    try:
        return _ANSWERS[type(probe)](probe, roots, queries)
    except SelectorError as error:
        return ProbeAnswer(error=str(error))


def _answer_text(probe: TextProbe, roots: list[Root], queries: PageQueries) -> ProbeAnswer:
    wanted = squeeze(probe.value)
    if probe.css is None:
        shown = [root for root in roots if _root_visible(root) and _says(root, probe, wanted)]
        rest = (root for root in roots if root not in shown)
        return ProbeAnswer(
            present=len(shown) + sum(_says(root, probe, wanted, everything=True) for root in rest),
            visible=len(shown),
        )
    found = [element for root in roots for element in queries.css.select(root, probe.css)]
    seen = [element for element in found if visible(element) and _says(element, probe, wanted)]
    hidden = set(found).difference(seen)
    return ProbeAnswer(
        present=len(seen) + sum(_says(element, probe, wanted, everything=True) for element in hidden),
        visible=len(seen),
        text=text_of(seen[0])[:TEXT_LIMIT] if seen else None,
    )


def _says(node: Element | Root, probe: TextProbe, wanted: str, *, everything: bool = False) -> bool:
    if probe.match == "part":
        return says(node, wanted, everything=everything)
    return matches(text_of(node, everything=everything), wanted, probe.match)


def _root_visible(root: Root) -> bool:
    return root.kind != "frame" or root.host is None or visible(root.host)


def _answer_element(probe: ElementProbe, roots: list[Root], queries: PageQueries) -> ProbeAnswer:
    result = resolve(probe.selector, roots, queries, with_frames=True)
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


def _answer_form(_probe: FormProbe, roots: list[Root], _queries: PageQueries) -> ProbeAnswer:
    every = [element for root in roots for element in root.elements]
    fields = [e for e in every if _is_form_field(e) and visible(e) and enabled(e)]
    ticked = {_group_of(e) for e in every if _is_radio(e) and value_of(e) == "true"}
    return ProbeAnswer(present=len(fields), visible=sum(_is_invalid(e, ticked) for e in fields))


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


def _is_invalid(element: Element, ticked: set[tuple[str | int | None, ...]]) -> bool:
    if element.get("aria-invalid") == "true":
        return True
    if "required" not in element.attributes and element.get("aria-required") != "true":
        return False
    if is_secret(element):
        return False  # its value was left out because it has one
    if _is_radio(element):
        return _group_of(element) not in ticked
    return value_of(element) in ("", "false")


def _is_radio(element: Element) -> bool:
    return element.tag == "input" and element.input_type == "radio"


def _group_of(radio: Element) -> tuple[str | int | None, ...]:
    """Return the key of a radio button's group; one without a name is a group of its own."""
    name = radio.get("name")
    form = radio.closest("form")
    return (id(radio.root), name, None if form is None else id(form)) if name else (id(radio),)
