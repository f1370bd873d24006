"""Performs one planned action through `act_on_element`, on the element that the plan knows and on no other.

Used while a plan is built (to see the next page) and while it is executed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agent.healing.identity_check import ElementIdentity, ElementSighting, check_identity, take_sighting
from agent.locators.page_scan import scan_page
from agent.page.action_requests import ActionPace, ActionRequest, PerformedAction
from agent.page.actionability_gate import pass_gate
from agent.page.errors import ActionMisused, PageGone
from agent.page.live_selectors import summarize_selector
from agent.page.page_actions import act_on_element, perform_action
from agent.page.page_side_effects import ExpectedSideEffects
from agent.playwright_locators.expression_candidates import list_locator_candidates
from agent.playwright_locators.locator_proof import select_proven_expression
from agent.redaction import REDACTED
from agent.telemetry import span
from agent.verification.page_checks.element_discovery import ENTRIES, list_visible_lines, needs_element
from agent.verification.page_checks.overlay_dismissal import run_uncovered
from agent.verification.page_checks.text_evidence import remember_texts
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.action_calls import DialogAnswer
from kb_schema.action_types import ACTION_TYPES, canonical
from kb_schema.expected_outcomes import OUTCOMES
from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import Expression, to_source
from kb_schema.selectors import Selector
from kb_schema.url_patterns import resolve
from kb_schema.verification import ExpectedOutcome, PlanStep, RequirementStep

FIRST_ASKED = 12
"""Number of expressions that are tried first; those a person would write are among them."""
_FILE = "upload_file"


@dataclass(frozen=True, slots=True)
class ExaminedElement:
    """An element with its fingerprint and its Playwright expression."""

    sighting: ElementSighting
    expression: Expression

    @property
    def fingerprint(self) -> Fingerprint:
        """Its fingerprint."""
        return self.sighting.fingerprint


def find_side_effects(step: PlanStep) -> ExpectedSideEffects:
    """Return the side effects (dialog, tab, download) that the plan expects of the step."""
    dialog = None if step.dialog is None else DialogAnswer(accept=step.dialog == "accept")
    follow: Literal["follow"] | None = "follow" if step.new_tab else None
    return ExpectedSideEffects(dialog=dialog, new_tab=follow, download=True, file=step.intent.action == _FILE)


def may_lead_anywhere(intent: RequirementStep) -> ExpectedSideEffects:
    """Return the side effects allowed while a plan is built: dialogs accepted, tabs followed, downloads kept."""
    return ExpectedSideEffects(
        DialogAnswer(accept=True), "follow", download=True, file=intent.action == _FILE
    )


async def record_page_before(
    site_page: VerificationPage, intent: RequirementStep, outcomes: Sequence[ExpectedOutcome]
) -> None:
    """Record the page's state before an action; its texts, too, if a text is expected of a press. Raises `PageGone`.

    `outcomes`: what is expected of it, values filled in.
    """
    kind = ACTION_TYPES.get(canonical(intent.action) or "")
    pressing = kind is not None and not kind.idempotent
    await site_page.about_to_act(pressing=pressing)
    await remember_texts(site_page, outcomes, pressing=pressing)
    expects_text = any(OUTCOMES[each.kind].quotes for each in intent.expected)
    site_page.lines_before = site_page.entries_before = frozenset()
    if pressing and expects_text:
        index = await scan_page(site_page.page)
        site_page.lines_before = frozenset(list_visible_lines(site_page, index))
        site_page.entries_before = frozenset(list_visible_lines(site_page, index, kind=ENTRIES))


async def perform_planned_action(site_page: VerificationPage, step: PlanStep, gate_s: float) -> float:
    """The step's action; its secrets are resolved here, to be typed. The seconds it took after the gate: a site
    that answers late holds up the very press. Raises what `perform_action` raises, `ElementChanged` and
    `SecretMissing`.
    """
    name, began = canonical(step.intent.action) or step.intent.action, time.monotonic()
    with span("bench.act", action=name):
        try:
            performed = await _perform(site_page, step, name, gate_s)
            took_s = (performed.duration_ms - performed.gate_ms) / 1000
        except PageGone:
            await site_page.monitor.arrived(site_page.page, site_page.policy.late_pending_s)
            if not site_page.replaced:
                raise
            took_s = time.monotonic() - began  # the action loaded another document, later than the timeout
    await site_page.side_effects.settled()
    site_page.note_dialogs()
    return took_s


async def _perform(site_page: VerificationPage, step: PlanStep, name: str, gate_s: float) -> PerformedAction:
    intent = step.intent
    if name == "navigate":
        where = resolve(intent.value or intent.element, authored_base="", base=site_page.base_url)
        return await perform_action(site_page.page, name, url=where)
    if not needs_element(intent) and step.selector is None:
        return await perform_action(site_page.page, name, value=intent.value or None)
    return await _on_element(site_page, step, name, gate_s)


async def _on_element(
    site_page: VerificationPage, step: PlanStep, name: str, gate_s: float
) -> PerformedAction:
    if step.selector is None:
        raise ActionMisused(name, "needs an element")
    value: str | list[str] | None = step.intent.value or None
    secret = False
    if step.intent.types_value:
        typed = site_page.text_to_type(step.intent, password=step.password)
        value, secret = typed.text, typed.secret
        if secret:
            site_page.hidden.keep(value)
    elif name == _FILE:
        value = resolve_files(step.intent)
    request = ActionRequest(
        name,
        step.selector,
        value,
        pace=ActionPace(site_page.policy.key_delay_s) if step.intent.typed else ActionPace(),
        allowed_origins=site_page.origins if secret else frozenset(),
        secret=secret,
        secret_fields_only=site_page.secret_fields_only,
        keep_secret=site_page.hidden.keep,
        identity=None if step.fingerprint is None else ElementIdentity(step.fingerprint),
    )
    return await run_uncovered(
        site_page,
        gate_s,
        lambda timeout_s: act_on_element(site_page.page, replace(request, timeout_s=timeout_s)),
    )


async def examine_element(site_page: VerificationPage, selector: Selector, gate_s: float) -> ExaminedElement:
    """Return the fingerprint and the Playwright expression of an element that passes the gate.

    Raises `GateFailed`, `PageGone`.
    """
    gated = await run_uncovered(
        site_page, gate_s, lambda timeout_s: pass_gate(site_page.page, selector, timeout_s=timeout_s)
    )
    seen = await take_sighting(site_page.page, gated.element)
    if seen is None:
        gated = await pass_gate(site_page.page, selector, timeout_s=gate_s)
        seen = await take_sighting(site_page.page, gated.element)
    if seen is None:
        raise ActionMisused("look", "cannot be done: the element left the page twice")
    return ExaminedElement(seen, await expression_for(site_page, selector, seen.fingerprint))


async def expression_for(
    site_page: VerificationPage, selector: Selector, fingerprint: Fingerprint, *, without: str | None = None
) -> Expression:
    """Return the best expression that leads to the element alone, as proven on the page; empty if there is none.

    `without`: a text it may not ask for, unless nothing else leads there.
    """
    ways = list_locator_candidates(selector, fingerprint)
    ways = tuple(way for way in ways if REDACTED not in site_page.kept(to_source(way, text=str)))
    if without:
        preferred = [way for way in ways if without.casefold() not in to_source(way, text=str).casefold()]
        ways = (*preferred, *(way for way in ways if way not in preferred))
    first = await select_proven_expression(site_page.page, selector, ways[:FIRST_ASKED])
    if first and first[-1].method != "nth":
        return first
    return (
        await select_proven_expression(site_page.page, selector, ways) if len(ways) > FIRST_ASKED else first
    )


def resolve_files(intent: RequirementStep) -> list[str]:
    """Return the files to upload: absolute, else beside the requirement's file, else below the working folder."""
    beside = Path(intent.place.file).parent if intent.place.file else Path()
    names = [each.strip() for each in (intent.value or "").splitlines() if each.strip()]
    found = [beside / name for name in names]
    return [str(path if path.is_file() else name) for path, name in zip(found, names, strict=True)]


def require_same_element(known: Fingerprint, seen: Fingerprint, selector: Selector) -> None:
    """Raise `ElementChanged` unless both fingerprints are of one element."""
    check_identity(known, seen, summarize_selector(selector))
