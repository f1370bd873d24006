"""Tells for which element an action is meant: one of the screen, or one that a task names by its own selector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.healing.element_memory import ElementKey, build_selector_key
from agent.healing.healer import IntendedElement
from agent.healing.identity_check import remove_parameter_values
from agent.healing.recorded_words import RecordedElement
from agent.healing.row_search import select_row_template
from agent.healing.word_search import collect_element_words
from agent.page.errors import SelectorNotFilled
from agent.page.live_selectors import (
    fill_selector_parameters,
    means_first_or_last,
    order_learned_first,
    prepend_strategies,
    summarize_selector,
)
from agent.session import Session
from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.conditions import BaseCondition
from kb_schema.fingerprints import Fingerprint
from kb_schema.probes import ProbeFacts
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector
from kb_schema.url_patterns import resolve


@dataclass(frozen=True, slots=True)
class ElementUse:
    """The element an action is meant for, and what the session's memory stores of its use."""

    meant: IntendedElement
    key: ElementKey | None
    """None: nothing is stored of it."""
    url: str
    cached: Selector | None
    parameterized: bool = False
    written: Selector | None = None
    """The task's own selector, where no screen has the element."""


async def find_element_use(
    session: Session,
    name: str,
    call: ActionCall,
    selector: Selector,
    values: Mapping[str, Any],
    expecting: tuple[BaseCondition, ...],
) -> ElementUse:
    """Return the element that the call is meant for.

    `selector` is the call's target filled with `values`; `expecting` are the postconditions of its step.
    """
    elements = await session.elements()
    screen_id, element_id = session.screen_id, call.target
    recorded = find_recorded(session, call, selector)
    if screen_id is None or not isinstance(element_id, str) or element_id not in elements:
        helpful = None if recorded is None or recorded.varies else recorded.fingerprint
        return await _find_unlisted_use(
            session, name, selector, _find_row(call, values), recorded, helpful, expecting
        )
    url, memory = session.context.redact(session.page.url), session.memory
    authored = elements[element_id].selector
    parameterized = authored.parameterized or any(s.type == "dom_index" for s in authored.strategies)
    known = memory.known(screen_id, elements[element_id])
    if parameterized and known is not None:
        known = remove_parameter_values(known, call.parameters)
    if known is not None:
        selector = order_learned_first(selector)
    cached = None if parameterized else await memory.cached((screen_id, element_id), url)
    meant = IntendedElement(
        name=f"{screen_id}.{element_id}",
        selector=selector if cached is None else prepend_strategies(cached, selector),
        known=known,
        recorded=recorded,
        calls=()
        if parameterized
        else collect_element_words(authored, elements[element_id].metadata.get("label")),
        action=name,
        whichever=known is not None and bool(known.row) and means_first_or_last(authored),
        others=memory.others(screen_id, elements, element_id),
        careful=_needs_care(elements[element_id], name),
        expecting=expecting,
        facts=_read_facts(session),
        scope=await session.scope(),
    )
    return ElementUse(meant, (screen_id, element_id), url, cached, parameterized)


async def _find_unlisted_use(
    session: Session,
    name: str,
    selector: Selector,
    row: Selector | None,
    recorded: RecordedElement | None,
    helpful: Fingerprint | None,
    expecting: tuple[BaseCondition, ...],
) -> ElementUse:
    """Return an element that a task names by its own selector.

    The selector is trusted unless the words of the element contradict the recorded ones. Fingerprints only help
    to find the element where the selector leads nowhere: the session's, else `helpful`.
    """
    url, memory = session.context.redact(session.page.url), session.memory
    key = build_selector_key(selector, url)
    positional = key is None
    if key is not None and session.context.redact(key[1]) != key[1]:
        key = None  # an element that a secret leads to is not stored
    cached = None if key is None else await memory.cached(key, url)  # this also reads the stored fingerprint
    stored = None if key is None else memory.known_unlisted(key)
    meant = IntendedElement(
        name=summarize_selector(selector),
        selector=selector if cached is None else prepend_strategies(cached, selector),
        known=stored or (None if positional else helpful),
        recorded=recorded,
        row=row,
        calls=() if key is None else collect_element_words(selector),
        action=name,
        compared=False,
        expecting=expecting,
        facts=_read_facts(session),
        scope=await session.scope(),
    )
    return ElementUse(meant, key, url, cached, written=selector)


def find_recorded(session: Session, call: ActionCall, selector: Selector) -> RecordedElement | None:
    """Return what recordings show of the call's element, with its address under the base in force."""
    known = call.fingerprint
    if known is None:
        return None
    known = remove_parameter_values(known, call.parameters) if _varies(call) else known
    whichever = means_first_or_last(selector) or any(each.type == "dom_index" for each in selector.strategies)
    return RecordedElement(_move_to_base(known, session), whichever, _varies(call))


def _find_row(call: ActionCall, values: Mapping[str, Any]) -> Selector | None:
    """Return the row in which the call's selector means a control; None if it means none."""
    template = select_row_template(call.target) if isinstance(call.target, Selector) else None
    if template is None:
        return None
    try:
        return fill_selector_parameters(template, {**values, **call.parameters})
    except SelectorNotFilled:
        return None


def _varies(call: ActionCall) -> bool:
    """Whether the call means another element for other values: none is found by what all have in common."""
    return isinstance(call.target, Selector) and call.target.parameterized


def _move_to_base(known: Fingerprint, session: Session) -> Fingerprint:
    href = known.attributes.get("href", "")
    if not href.startswith(("http://", "https://")):
        return known
    moved = resolve(href, authored_base=session.website.base_url, base=session.base_url)
    return known.model_copy(update={"attributes": {**known.attributes, "href": moved}})


def _read_facts(session: Session) -> ProbeFacts:
    return ProbeFacts(path_base=session.base_url, authored_base=session.website.base_url)


def _needs_care(element: UIElement, action: str) -> bool:
    """Whether the knowledge base marks the action as destructive or not idempotent."""
    return any(
        affordance.destructive or affordance.idempotent is False
        for affordance in element.affordances
        if action_types.canonical(affordance.action_type) == action
    )
