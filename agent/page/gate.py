"""The five-point gate: unique, visible, enabled, stable, scoped (PACTS 6, DESIGN 6).

The judging happens in the page (`js/7_gate.js`) over evidence its observer has gathered; here it
is asked until it passes or the time is over.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass

from playwright.async_api import ElementHandle, Page

from agent.page import library
from agent.page.errors import GateFailed, Point
from agent.page.locating import summary
from kb_schema.selectors import Selector, Strategy


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """How much rest the gate asks of an element. Milliseconds; FACTS has the measurements."""

    short_look_ms: float = 30.0
    """After one recent disturbance: two frames (33 ms was measured as their floor)."""
    young_ms: float = 500.0
    """A document is young for this long: too young to have shown its habits."""
    young_look_ms: float = 190.0
    """Asked in a young document: the 100 ms jumps that two frames miss, and timers that come late."""
    gap_factor: float = 1.5
    """A page that changes every n ms, unasked, must rest n times this: the next change would have come."""
    longest_look_ms: float = 370.0
    """The most that is ever asked: what three samples 120 ms apart see, and a frame."""
    memory_ms: float = 1_000.0
    """Disturbances older than this say nothing about now."""


@dataclass(frozen=True, slots=True)
class Gated:
    """An element that passed all five points, and may be acted on."""

    element: ElementHandle
    """Exactly the element that was judged."""
    pointer: ElementHandle
    """What a click must go to: the element, or the label or trigger that stands for a hidden one."""
    strategy: Strategy
    description: str
    evidence: str
    duration_ms: float
    looked: int
    """How often it was judged before it passed."""


async def pass_gate(
    page: Page,
    selector: Selector,
    *,
    timeout_s: float = 5.0,
    editable: bool = False,
    policy: GatePolicy | None = None,
) -> Gated:
    """Judge the element until all five points hold, at most `timeout_s` seconds.

    `editable` also asks that it is not read-only. Raises `GateFailed` with the first point that
    failed at last, and `PageGone`.
    """
    began = time.monotonic()
    rules = asdict(policy or GatePolicy()) | {"editable": editable}
    while True:
        left_ms = max(0.0, (timeout_s - (time.monotonic() - began)) * 1000)
        asked = json.dumps(rules | {"timeout_ms": left_ms})
        said = await library.call(page, "gate", selector.model_dump_json(), asked)
        if said["point"] is not None:
            waited = time.monotonic() - began
            raise GateFailed(Point(said["point"]), said["evidence"], summary(selector), waited_s=waited)
        element = await library.take(page, said["token"])
        pointer = await library.take(page, said["via_token"]) if said["via_token"] else element
        if element is not None and pointer is not None:
            return Gated(
                element=element,
                pointer=pointer,
                strategy=selector.strategies[said["strategy"]],
                description=said["described"],
                evidence=said["evidence"],
                duration_ms=(time.monotonic() - began) * 1000,
                looked=said["looked"],
            )
        if time.monotonic() - began >= timeout_s:  # the document was replaced between judging and taking
            raise GateFailed(
                Point.NOT_FOUND, "its document was replaced", summary(selector), waited_s=timeout_s
            )
