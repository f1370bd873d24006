"""The five-point gate: unique, visible, enabled, stable, scoped (PACTS 6, DESIGN 6).

The judging happens in the page (`js/7_*.js`) over evidence its observer has gathered and over what
the page has told the browser to do later; here it is asked until it passes or the time is over.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from playwright.async_api import ElementHandle, Page

from agent.page import library
from agent.page.errors import Cover, GateFailed, Point
from agent.page.locating import summary
from kb_schema.selectors import Selector, Strategy

Intent = Literal["handle", "press", "double", "hover", "text"]
"""What the element is wanted for: a handle of it, the pointer's point, or typing into it.

All but `handle` end with a guard in the page, raised in the turn in which the element passed."""


class Vanished(Exception):
    """The element went away, or from under the pointer, after it was judged; nothing was done."""


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """How much rest the gate asks of an element. Milliseconds unless the name says otherwise."""

    frame_ms: float = 17.0
    """After a disturbance of a page whose timers are all known: until its next frame has been drawn."""
    short_look_ms: float = 34.0
    """The same where they are not known: two frames."""
    young_ms: float = 600.0
    """A document that is not wholly known is young for this long: too young to have shown its habits."""
    young_look_ms: float = 260.0
    """Asked of what was seen moving: as far as sampling 3 x 120 ms looks."""
    horizon_ms: float = 260.0
    """A timer due within this time is waited for, unless it ran before and did nothing to the element."""
    gap_factor: float = 1.5
    """A page that changes every n ms, unasked, must rest n times this: the next change would have come."""
    longest_look_ms: float = 370.0
    """The most that the page around can ask for: three samples 120 ms apart, with what asking costs.

    As much is asked of a document that is not wholly known while it is young or stirs unasked."""
    habit_ms: float = 1_000.0
    """The most that its own movements can ask for: who moved every 600 ms has moved again by then."""
    memory_ms: float = 1_000.0
    """Disturbances older than this say nothing about now."""
    unroll_after_ms: float = 150.0
    """A page that rested this long without the element is looked through for lists that load by scrolling."""
    unroll_steps: int = 60
    """How often such lists are scrolled on, all of them together."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where the pointer must go, in CSS pixels of the outermost view."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Judged:
    """An element that passed all five points, as the page holds it."""

    strategy: Strategy
    description: str
    evidence: str
    duration_ms: float
    looked: int
    """How often it was judged before it passed."""
    spot: Spot | None
    guard: str | None
    """The token of the guard that was raised for the action; None for the intent `handle`."""
    state: str | None
    """`true` or `false` where it can be ticked, the text of a field; None for the intent `handle`."""
    typable: bool
    """It takes real text as a whole, once `prepare_typing` was called: it was to be looked at first."""
    token: str | None
    via_token: str | None
    glance: Mapping[str, Any] | None
    """What `js/8_reveal.js` says of the element alone, where it was to be looked at first."""


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


class Passed:
    """An element that passed and that nothing was done to yet: what the page said, its handles on demand."""

    def __init__(self, page: Page, judged: Judged) -> None:
        self.page, self.judged = page, judged
        self._gated: Gated | None = None

    @property
    def glance(self) -> Mapping[str, Any] | None:
        """What the page said of the element in the turn in which it passed."""
        return self.judged.glance

    async def gated(self) -> Gated:
        """Its handles, for one more round trip. Raises `Vanished` where its document was replaced since."""
        if self._gated is None:
            self._gated = await handles(self.page, self.judged)
        if self._gated is None:
            raise Vanished("its document was replaced after it was judged")
        return self._gated


async def judge(
    page: Page,
    selector: Selector,
    *,
    intent: Intent = "handle",
    timeout_s: float = 5.0,
    editable: bool = False,
    text: str | None = None,
    keep: bool = False,
    policy: GatePolicy | None = None,
) -> Judged:
    """One round trip: judge the element until all five points hold, and make ready for the action.

    `text` is what will be typed (intent `text`); a field that does not take it as a whole is answered
    with a handle instead. `keep`: somebody looks at it before anything is done, so that nothing is
    focused yet, it can also be had by `handles`, and a glance at it comes with the answer. Raises
    `GateFailed` with the first point that failed at last, and `PageGone`.
    """
    began = time.monotonic()
    rules = asdict(policy or GatePolicy()) | {
        "editable": editable,
        "intent": intent,
        "text": text,
        "keep": keep,
        "timeout_ms": timeout_s * 1000,
    }
    said = await library.call(page, "gate", selector.model_dump_json(), json.dumps(rules))
    if said["point"] is not None:
        cover = Cover(**said["cover"]) if said["cover"] else None
        waited = time.monotonic() - began
        raise GateFailed(
            Point(said["point"]), said["evidence"], summary(selector), waited_s=waited, cover=cover
        )
    return Judged(
        strategy=selector.strategies[said["strategy"]],
        description=said["described"],
        evidence=said["evidence"],
        duration_ms=(time.monotonic() - began) * 1000,
        looked=said["looked"],
        spot=Spot(**said["spot"]) if said["spot"] else None,
        guard=said["guard"],
        state=said["state"],
        typable=said["typable"],
        token=said["token"],
        via_token=said["via_token"],
        glance=said["glance"],
    )


async def focus(page: Page, judged: Judged) -> None:
    """Give what was judged the keyboard focus. Raises `Vanished` where it is no longer there."""
    if not await library.call(page, "focus", judged.token):
        raise Vanished("it left the page after it was judged")


async def prepare_typing(page: Page, judged: Judged) -> Judged:
    """Focus a field that was judged `typable`, select what it holds, and raise the guard.

    Raises `Vanished` where it is no longer there.
    """
    guard = await library.call(page, "prepareTyping", judged.token)
    if guard is None:
        raise Vanished("it left the page after it was judged")
    return replace(judged, guard=guard)


async def handles(page: Page, judged: Judged) -> Gated | None:
    """The handles of what was judged; None where its document was replaced in between."""
    if judged.token is None:
        return None
    element = await library.take(page, judged.token)
    pointer = await library.take(page, judged.via_token) if judged.via_token else element
    if element is None or pointer is None:
        return None
    kept: dict[str, Any] = {
        name: getattr(judged, name)
        for name in ("strategy", "description", "evidence", "duration_ms", "looked")
    }
    return Gated(element=element, pointer=pointer, **kept)


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
    while True:
        left_s = max(0.0, timeout_s - (time.monotonic() - began))
        judged = await judge(page, selector, timeout_s=left_s, editable=editable, policy=policy)
        gated = await handles(page, judged)
        if gated is not None:
            return gated
        if time.monotonic() - began >= timeout_s:
            raise GateFailed(
                Point.NOT_FOUND, "its document was replaced", summary(selector), waited_s=timeout_s
            )
