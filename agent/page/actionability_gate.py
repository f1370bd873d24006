"""The five-point gate before every action on an element: unique, visible, enabled, stable, scoped (PACTS 6).

The page itself judges (`js/7_*.js`), from the changes its observer has recorded and the timers the page has
set. This module sends one request, which is answered when the element passes or the time is over.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from playwright.async_api import ElementHandle, Page

from agent import retry_limits
from agent.page import in_page_library
from agent.page.errors import CoveringElement, GateFailed, GatePoint
from agent.page.live_selectors import summarize_selector
from kb_schema.selectors import Selector, Strategy

Intent = Literal["handle", "press", "double", "hover", "text"]
"""What the element is needed for: a handle, a point for the pointer, or typing into it.

All but `handle` raise a guard in the page, in the same turn in which the element passes."""


class ElementVanished(Exception):
    """The element was removed or moved after it was judged; nothing was done."""


class ElementRenamed(Exception):
    """The element got other words when the pointer arrived; it was not pressed."""


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """How long an element must be at rest to count as stable. Milliseconds unless the name says otherwise."""

    frame_ms: float = 17.0
    """Rest after a change on a page whose timers are all known: until its next frame is drawn."""
    short_look_ms: float = 34.0
    """The same on a page whose timers are not all known: two frames."""
    young_ms: float = 600.0
    """A document whose timers are not all known is young for this long: its repeated changes are not seen yet."""
    young_look_ms: float = 260.0
    """Rest for an element that was seen moving on a young document: as long as three samples 120 ms apart take."""
    horizon_ms: float = 260.0
    """The gate waits for a timer that is due within this time, unless an earlier run of it did not touch the element."""
    gap_factor: float = 1.5
    """A page that changes by itself every n ms must rest n times this: the next change would have come."""
    longest_look_ms: float = 370.0
    """The longest rest that changes around the element can demand: three samples 120 ms apart, plus their round
    trips. A document whose timers are not all known needs it while it is young or changes by itself."""
    habit_ms: float = 1_000.0
    """The longest rest that the element's own movement can demand: one that moves every 600 ms has moved again."""
    memory_ms: float = 1_000.0
    """Older changes are ignored."""
    unroll_after_ms: float = 150.0
    """After this rest without the element, the gate scrolls through lists that load on scrolling."""
    unroll_steps: int = 60
    """Scroll steps over all such lists together."""


@dataclass(frozen=True, slots=True)
class PointerPosition:
    """The pointer's position, in CSS pixels of the top-level viewport."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class JudgedElement:
    """The gate's answer for an element that passed all five points."""

    strategy: Strategy
    description: str
    evidence: str
    duration_ms: float
    looked: int
    """Number of judgements until it passed."""
    spot: PointerPosition | None
    guard: str | None
    """The token of the guard that was raised for the action; None for the intent `handle`."""
    state: str | None
    """`true` or `false` of a checkbox or radio button, the text of a field; None for the intent `handle`."""
    typable: bool
    """Text can be inserted as a whole after `prepare_typing`, which was left out because of `keep`."""
    token: str | None
    via_token: str | None
    glance: Mapping[str, Any] | None
    """Role, names and attributes of the element alone (`js/8_reveal.js`); None without `keep`."""


@dataclass(frozen=True, slots=True)
class GatedElement:
    """The handles of an element that passed all five points."""

    element: ElementHandle
    """Exactly the judged element."""
    pointer: ElementHandle
    """What a click must hit: the element, or the label or trigger of a hidden one."""
    strategy: Strategy
    description: str
    evidence: str
    duration_ms: float
    looked: int
    """Number of judgements until it passed."""


class PassedElement:
    """An element that passed the gate, before the action. Its handles are fetched on demand."""

    def __init__(self, page: Page, judged: JudgedElement) -> None:
        self.page, self.judged = page, judged
        self._gated: GatedElement | None = None

    @property
    def glance(self) -> Mapping[str, Any] | None:
        """Role, names and attributes of the element, read in the turn in which it passed."""
        return self.judged.glance

    async def gated(self) -> GatedElement:
        """Return its handles (one more round trip). Raises `ElementVanished` if its document was replaced."""
        if self._gated is None:
            self._gated = await fetch_handles(self.page, self.judged)
        if self._gated is None:
            raise ElementVanished("its document was replaced after it was judged")
        return self._gated


async def judge_element(
    page: Page,
    selector: Selector,
    *,
    intent: Intent = "handle",
    timeout_s: float = retry_limits.GATE_TIMEOUT_S,
    editable: bool = False,
    text: str | None = None,
    keep: bool = False,
    policy: GatePolicy | None = None,
) -> JudgedElement:
    """Judge the element until all five points hold, and prepare the action, in one round trip.

    `text` is what will be typed (intent `text`); for a field that does not take it as a whole, only a handle
    is prepared. `keep`: the element's identity is checked before the action, so nothing is focused yet,
    `fetch_handles` works, and `glance` is filled. Raises `GateFailed` with the first point that still failed
    at the end, and `PageGone`.
    """
    began = time.monotonic()
    rules = asdict(policy or GatePolicy()) | {
        "editable": editable,
        "intent": intent,
        "text": text,
        "keep": keep,
        "timeout_ms": timeout_s * 1000,
    }
    said = await in_page_library.call(page, "gate", selector.model_dump_json(), json.dumps(rules))
    if said["point"] is not None:
        cover = CoveringElement(**said["cover"]) if said["cover"] else None
        waited = time.monotonic() - began
        raise GateFailed(
            GatePoint(said["point"]),
            said["evidence"],
            summarize_selector(selector),
            waited_s=waited,
            cover=cover,
            complained=said["complained"],
        )
    return JudgedElement(
        strategy=selector.strategies[said["strategy"]],
        description=said["described"],
        evidence=said["evidence"],
        duration_ms=(time.monotonic() - began) * 1000,
        looked=said["looked"],
        spot=PointerPosition(**said["spot"]) if said["spot"] else None,
        guard=said["guard"],
        state=said["state"],
        typable=said["typable"],
        token=said["token"],
        via_token=said["via_token"],
        glance=said["glance"],
    )


async def focus_element(page: Page, judged: JudgedElement) -> None:
    """Focus the judged element. Raises `ElementVanished` if it is no longer there."""
    if not await in_page_library.call(page, "focus", judged.token):
        raise ElementVanished("it left the page after it was judged")


async def prepare_typing(page: Page, judged: JudgedElement) -> JudgedElement:
    """Focus a `typable` field, select its text, and raise the guard. Raises `ElementVanished`."""
    guard = await in_page_library.call(page, "prepareTyping", judged.token)
    if guard is None:
        raise ElementVanished("it left the page after it was judged")
    return replace(judged, guard=guard)


async def fetch_handles(page: Page, judged: JudgedElement) -> GatedElement | None:
    """Return the handles of the judged element; None if its document was replaced."""
    if judged.token is None:
        return None
    element = await in_page_library.take_element(page, judged.token)
    pointer = await in_page_library.take_element(page, judged.via_token) if judged.via_token else element
    if element is None or pointer is None:
        return None
    kept: dict[str, Any] = {
        name: getattr(judged, name)
        for name in ("strategy", "description", "evidence", "duration_ms", "looked")
    }
    return GatedElement(element=element, pointer=pointer, **kept)


async def pass_gate(
    page: Page,
    selector: Selector,
    *,
    timeout_s: float = retry_limits.GATE_TIMEOUT_S,
    editable: bool = False,
    policy: GatePolicy | None = None,
) -> GatedElement:
    """Return the element's handles once all five points hold, within `timeout_s` seconds.

    With `editable`, a read-only element fails. Raises `GateFailed` with the first point that still failed at
    the end, and `PageGone`.
    """
    began = time.monotonic()
    while True:
        left_s = max(0.0, timeout_s - (time.monotonic() - began))
        judged = await judge_element(page, selector, timeout_s=left_s, editable=editable, policy=policy)
        gated = await fetch_handles(page, judged)
        if gated is not None:
            return gated
        if time.monotonic() - began >= timeout_s:
            raise GateFailed(
                GatePoint.NOT_FOUND,
                "its document was replaced",
                summarize_selector(selector),
                waited_s=timeout_s,
            )
