"""Closes what a site puts over its pages (a cookie notice, a newsletter form) before a planned action.

It uses only the overlay's own closing control, never one that agrees to something, and never answers a
confirmation. Each closed overlay is recorded, because the generated test must close it as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent.healing.element_reveal import find_cover_closer
from agent.healing.identity_check import take_sighting
from agent.locators.page_index import PageIndex
from agent.locators.page_scan import fetch_element
from agent.locators.stable_selectors import choose_selectors
from agent.page.errors import CoveringElement, GateFailed, GatePoint
from agent.page.page_actions import perform_action
from agent.playwright_locators.expression_candidates import list_locator_candidates
from agent.playwright_locators.locator_proof import select_proven_expression
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.verification import DismissedOverlay

FIRST_S = 1.0
"""The gate's time before a cover is examined; then it gets the rest of its time."""

R = TypeVar("R")


async def run_uncovered(
    site_page: VerificationPage, gate_s: float, act: Callable[[float], Awaitable[R]]
) -> R:
    """Do what needs a gated element, given the gate's time in seconds; what lies over it is put away first.

    Raises what `act` raises.
    """
    try:
        return await act(min(FIRST_S, gate_s))
    except GateFailed as exc:
        left_s = gate_s - FIRST_S
        if (
            exc.point is GatePoint.NOT_SCOPED
            and exc.cover is not None
            and await dismiss_overlay(site_page, exc.cover)
        ):
            left_s = gate_s
        elif left_s <= 0:
            raise
    return await act(left_s)


async def dismiss_overlay(site_page: VerificationPage, cover: CoveringElement) -> bool:
    """Close what covers an element; return whether that was possible. Adds it to the page's obstacles."""
    closer = await find_cover_closer(site_page.page, cover)
    obstacle = None if closer is None else await _obstacle(site_page, *closer)
    if obstacle is None:
        return False
    await perform_action(
        site_page.page, "click", selector=obstacle.selector, timeout_s=site_page.policy.healed_gate_s
    )
    if obstacle not in site_page.obstacles:
        site_page.obstacles.append(obstacle)
    return True


async def _obstacle(site_page: VerificationPage, index: PageIndex, at: int) -> DismissedOverlay | None:
    """The overlay as a generated test must close it."""
    selector = (await choose_selectors(site_page.page, index, [at]))[0].selector
    element = await fetch_element(site_page.page, index, at)
    seen = None if element is None else await take_sighting(site_page.page, element)
    if selector is None or seen is None:
        return None
    candidates = list_locator_candidates(selector, seen.fingerprint)
    expression = await select_proven_expression(site_page.page, selector, candidates)
    control = index.elements[at]
    return DismissedOverlay(name=control.name or control.text, selector=selector, expression=expression)
