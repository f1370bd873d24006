"""What a site lays over its pages (a cookie notice, a newsletter), and putting it away.

Only by its own control, and only one that closes and agrees to nothing; what is asked to be confirmed is
no obstacle.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent.healing.identity import sight
from agent.healing.reveal import CLOSING
from agent.locating.index import PageIndex
from agent.locating.looking import element_at, look_around
from agent.locating.selecting import selectors_at
from agent.page.acting import perform
from agent.page.errors import Cover, GateFailed, Point
from agent.playwright_python.expressions import candidates, proven
from agent.verifying.bench.bench import Bench
from kb_schema.verification import Obstacle
from kb_schema.wording import words

FIRST_S = 1.0
"""How long the gate is asked before what covers an element is looked at; then for the rest of its time."""

R = TypeVar("R")


async def uncovered(bench: Bench, gate_s: float, act: Callable[[float], Awaitable[R]]) -> R:
    """Do what needs a gated element, given the gate's time in seconds; what lies over it is put away first.

    Raises what `act` raises.
    """
    try:
        return await act(min(FIRST_S, gate_s))
    except GateFailed as exc:
        left_s = gate_s - FIRST_S
        if exc.point is Point.NOT_SCOPED and exc.cover is not None and await put_away(bench, exc.cover):
            left_s = gate_s
        elif left_s <= 0:
            raise
    return await act(left_s)


async def put_away(bench: Bench, cover: Cover) -> bool:
    """Close what covers an element; whether it could be. The bench remembers it."""
    closer = cover.dismissible_by or ""
    if " ".join(words(closer)) not in CLOSING:
        return False
    index = await look_around(bench.page)
    named = [each.at for each in index.interactive if (each.name or each.text) == closer]
    if len(named) != 1:
        return False
    obstacle = await _obstacle(bench, index, named[0], closer)
    if obstacle is None:
        return False
    await perform(bench.page, "click", selector=obstacle.selector, timeout_s=bench.policy.healed_gate_s)
    if obstacle not in bench.obstacles:
        bench.obstacles.append(obstacle)
    return True


async def _obstacle(bench: Bench, index: PageIndex, at: int, name: str) -> Obstacle | None:
    choice = (await selectors_at(bench.page, index, [at]))[0]
    element = await element_at(bench.page, index, at)
    seen = None if element is None else await sight(bench.page, element)
    if choice.selector is None or seen is None:
        return None
    ways = candidates(choice.selector, seen.fingerprint)
    expression = await proven(bench.page, choice.selector, ways)
    return Obstacle(name=name, selector=choice.selector, expression=expression)
