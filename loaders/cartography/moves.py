"""Transitions: what was tried and where it led, with how often and how long; and what links say beside it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kb_schema.conditions import AllRequiredFieldsFilled, Authenticated, Condition, ContextEquals
from kb_schema.graph import Transition
from kb_schema.mapping import Passage
from kb_schema.screens import UIElement
from loaders.cartography.addresses import Addresses
from loaders.cartography.controls import Control
from loaders.cartography.screens import Charted
from loaders.cartography.wording import free

ARRIVED = frozenset({"arrived", "popup"})
FAILED = frozenset({"refused", "error", "vanished", "timeout", "stayed"})
UNTRIED = 0.8
"""Reliability of a link that was not tried here, but whose address is that of a screen."""
MOST_UNTRIED = 40
"""Of one screen."""
ROW = "row"
"""The parameter of row selectors."""


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A control of a screen with the element that it became."""

    screen: Charted
    control: Control
    element: UIElement


@dataclass(slots=True)
class _Tried:
    """What came of one control, for one screen it led to."""

    arrived: list[Passage] = field(default_factory=list)
    failed: int = 0


class Moves:
    """The transitions of a site. `told_apart`: whether the knowledge says how to tell that one is signed in."""

    def __init__(
        self, screens: Sequence[Charted], placed: Sequence[Placed], addresses: Addresses, *, told_apart: bool
    ) -> None:
        self._placed, self._addresses, self._told_apart = placed, addresses, told_apart
        self._screens = {screen.screen_id: screen for screen in screens}
        self._screen_of = {page: screen.screen_id for screen in screens for page in screen.page_ids}
        self._of_offer = {
            (look.page_id, offer.offer_id): each for each in placed for look, offer in each.control.seen
        }
        self._taken: set[str] = set()

    def of(self, passages: Sequence[Passage]) -> list[Transition]:
        """What was tried, then what links say that were not tried."""
        tried = self._tried(passages)
        found = [
            self._measured(each, to_screen, told)
            for (each, to_screen), told in tried.items()
            if told.arrived and to_screen != each.screen.screen_id
        ]
        known = {each for each, _ in tried}
        more: Counter[str] = Counter()
        for each in self._placed:
            to_screen = None if each in known else self._addressed(each)
            own = each.screen.screen_id
            if to_screen is None or to_screen == own or more[own] == MOST_UNTRIED:
                continue
            more[own] += 1
            found.append(self._untried(each, to_screen))
        return found

    def _tried(self, passages: Sequence[Passage]) -> dict[tuple[Placed, str], _Tried]:
        tried: dict[tuple[Placed, str], _Tried] = defaultdict(_Tried)
        times: Counter[Placed] = Counter()
        for passage in passages:
            each = self._of_offer.get((passage.from_page, passage.offer_id or ""))
            if passage.way != "offer" or each is None:
                continue
            to_screen = self._screen_of.get(passage.to_page or "")
            if passage.outcome in ARRIVED and to_screen is not None:
                tried[each, to_screen].arrived.append(passage)
                times[each] += 1
            elif passage.outcome in FAILED:
                times[each] += 1
        for (each, _), told in tried.items():
            told.failed = times[each] - len(told.arrived)
        return tried

    def _addressed(self, each: Placed) -> str | None:
        """The one screen that a link's addresses are known to be of."""
        hrefs = (o.href for _, o in each.control.seen if o.href is not None and o.danger is None)
        known = {screen for href in hrefs if (screen := self._addresses.screen(href)) is not None}
        return known.pop() if len(known) == 1 else None

    def _measured(self, each: Placed, to_screen: str, told: _Tried) -> Transition:
        times = sorted(passage.duration_ms for passage in told.arrived)
        mean = round(sum(times) / len(times), 1)
        first = told.arrived[0]
        return self._edge(
            each,
            to_screen,
            self._filled(first),
            new_tab="follow" if first.outcome == "popup" else None,
            duration={
                "avg_duration_ms": mean,
                "min": round(times[0] / 1000, 3),
                "max": round(times[-1] / 1000, 3),
            },
            cost={"estimated_ms": mean},
            reliability_metrics={
                "success_count": len(told.arrived),
                "failure_count": told.failed,
                "last_updated": max(passage.at for passage in told.arrived),
            },
        )

    def _untried(self, each: Placed, to_screen: str) -> Transition:
        return self._edge(
            each,
            to_screen,
            (),
            reliability_score=UNTRIED,
            description="By the address of the link; it was not tried from here",
        )

    def _edge(
        self, each: Placed, to_screen: str, filled: Sequence[str], *, new_tab: str | None = None, **more: Any
    ) -> Transition:
        row = f"{to_screen}_{ROW}" if each.element.selector.required_context else None
        call = {
            "action_type": each.element.affordances[0].action_type,
            "element_id": each.element.element_id,
            "new_tab": new_tab,
            **({"parameters": {ROW: f"{{{row}}}"}} if row is not None else {}),
        }
        ends = f"{each.screen.screen_id}.to.{to_screen}"
        transition_id = free(
            f"{ends}.{each.element.element_id}"[:190] if ends in self._taken else ends, self._taken
        )
        self._taken.add(transition_id)
        return Transition.model_validate(
            {
                "_from": each.screen.screen_id,
                "_to": to_screen,
                "type": "transition",
                "transition_id": transition_id,
                "triggered_by": call,
                "conditions": {"required": tuple(self._conditions(each.screen, to_screen, row, filled))},
                **more,
            }
        )

    def _conditions(
        self, screen: Charted, to_screen: str, row: str | None, filled: Sequence[str]
    ) -> Iterator[Condition]:
        if row is not None:
            why = "Somebody must say which row: words of it"
            yield ContextEquals(type="context_equals", name=row, reason=why)
        if filled:
            yield AllRequiredFieldsFilled(type="all_required_fields_filled", fields=tuple(filled))
        if self._told_apart and screen.signed_in and self._screens[to_screen].signed_in:
            yield Authenticated(type="authenticated")

    def _filled(self, passage: Passage) -> tuple[str, ...]:
        """The elements that were filled before: those that are required, or else all."""
        placed = [self._of_offer.get((passage.from_page, offer_id)) for offer_id in passage.filled]
        elements = [each.element for each in placed if each is not None]
        needed = [each for each in elements if any(a.required for a in each.affordances)]
        return tuple(dict.fromkeys(each.element_id for each in needed or elements))
