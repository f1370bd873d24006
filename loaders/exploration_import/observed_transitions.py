"""Makes transitions of attempts, with reliability and duration, and of links and entries of shared menus that were not tried."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kb_schema.action_types import canonical
from kb_schema.conditions import AllRequiredFieldsFilled, Authenticated, Condition, ContextEquals
from kb_schema.explorations import ENTER, WENT_BACK, AttemptedTransition, Offer
from kb_schema.graph_documents import Transition
from kb_schema.screens import UIElement
from loaders.exploration_import.explored_pages import ExploredPage
from loaders.exploration_import.explored_screens import ExploredScreen
from loaders.exploration_import.readable_ids import make_unique_id
from loaders.exploration_import.screen_addresses import ScreenAddresses
from loaders.exploration_import.screen_controls import ScreenControl

ARRIVED = frozenset({"arrived", "popup"})
FAILED = frozenset({"refused", "error", "vanished", "timeout", "stayed"})
UNTRIED = 0.8
"""The reliability of an untried link with the address of a known screen."""
UNSEEN = 0.5
"""The same, if that address itself was not seen: only others that differ in ids."""
PRESS_MS = 100.0
"""The least that a press costs, in milliseconds: a page that changes at once is not reached for nothing, and a way of many
presses is not as fast as one of few."""
TOLD_BY_ADDRESS = "From the link's address"
TOLD_BY_OTHERS = "It led there from other screens"
MOST_UNTRIED = 40
"""The most untried links of one screen."""
ROW = "row"
"""The parameter of row selectors."""


def name_text_input(screen_id: str) -> str:
    """Return the name of the text to type into a field that searches, which leads to a screen with what it finds."""
    return f"{'' if screen_id[0].isalpha() else 'n_'}{screen_id}_text"


def name_row_input(screen_id: str) -> str:
    """Return the name of the value that says which row leads to a screen."""
    return f"{'' if screen_id[0].isalpha() else 'n_'}{screen_id}_{ROW}"


@dataclass(frozen=True, slots=True, eq=False)
class PlacedControl:
    """A control of a screen with its element."""

    screen: ExploredScreen
    control: ScreenControl
    element: UIElement


@dataclass(slots=True)
class _TransitionTally:
    """The outcomes of one control, for one target screen."""

    arrived: list[AttemptedTransition] = field(default_factory=list)
    failed: int = 0


class ObservedTransitions:
    """The transitions of a site. `has_sign_in_conditions`: whether the knowledge has sign-in conditions."""

    def __init__(
        self,
        screens: Sequence[ExploredScreen],
        placed: Sequence[PlacedControl],
        addresses: ScreenAddresses,
        *,
        has_sign_in_conditions: bool,
    ) -> None:
        self._placed, self._addresses, self._told_apart = placed, addresses, has_sign_in_conditions
        self._screens = {screen.screen_id: screen for screen in screens}
        self._screen_of = {page: screen.screen_id for screen in screens for page in screen.page_ids}
        self._below = {
            look.page_id: self._screen_of.get(look.page.behind or "")
            for screen in screens
            if screen.layer
            for look in screen.looks
        }
        """Page of what lies on pages -> the screen below it."""
        self._of_offer = {
            (look.page_id, offer.offer_id): each for each in placed for look, offer in each.control.seen
        }
        self._taken: set[str] = set()

    def of(self, passages: Sequence[AttemptedTransition]) -> list[Transition]:
        """Return the attempted transitions, then those of untried links."""
        tried = self._tried(passages)
        found = [
            self._measured(each, to_screen, tally)
            for (each, to_screen), tally in tried.items()
            if tally.arrived and to_screen != each.screen.screen_id
        ]
        slowest = max((each.duration.avg_duration_ms or 0.0 for each in found), default=0.0)
        known = {each for each, _ in tried}
        shared = self._find_shared(tried)
        more: Counter[str] = Counter()
        for each in self._placed:
            to_screen = None if each in known else self._addressed(each) or shared.get(id(each.element))
            own = each.screen.screen_id
            if to_screen is None or to_screen == own or more[own] == MOST_UNTRIED:
                continue
            more[own] += 1
            found.append(self._untried(each, to_screen, slowest))
        return found

    def list_arrivals(self, passages: Sequence[AttemptedTransition]) -> list[tuple[PlacedControl, str]]:
        """Return the controls that led to another screen, each with that."""
        return [
            (each, to_screen)
            for (each, to_screen), tally in self._tried(passages).items()
            if tally.arrived and to_screen != each.screen.screen_id
        ]

    def list_openings(self, passages: Sequence[AttemptedTransition]) -> list[tuple[PlacedControl, str, str]]:
        """Return the controls that led to another page, such as one with an open menu, each with its screen and that page."""
        return [
            (each, to_screen, passage.to_page)
            for (each, to_screen), tally in self._tried(passages).items()
            for passage in tally.arrived
            if passage.to_page is not None and passage.to_page != passage.from_page
        ]

    def _tried(
        self, passages: Sequence[AttemptedTransition]
    ) -> dict[tuple[PlacedControl, str], _TransitionTally]:
        tried: dict[tuple[PlacedControl, str], _TransitionTally] = defaultdict(_TransitionTally)
        times: Counter[PlacedControl] = Counter()
        for passage in passages:
            each = self._of_offer.get((passage.from_page, passage.offer_id or ""))
            if passage.way != "offer" or each is None:
                continue
            if any(offer.why == WENT_BACK for _, offer in each.control.seen):
                continue  # who goes there does something
            to_screen = self._screen_of.get(passage.to_page or "")
            if passage.outcome in ARRIVED and to_screen is not None:
                tried[each, to_screen].arrived.append(passage)
                times[each] += 1
            elif passage.outcome in FAILED:
                times[each] += 1
        for (each, _), tally in tried.items():
            tally.failed = times[each] - len(tally.arrived)
        closing = self._find_closing(tried)
        return {key: tally for key, tally in tried.items() if key[0] not in closing}

    def _find_closing(
        self, tried: Mapping[tuple[PlacedControl, str], _TransitionTally]
    ) -> set[PlacedControl]:
        """Return the controls that close what lies on pages of several screens: to where that leads, the page below tells.

        `Close` of a dialog that lay on the start page is no way from another page to the start page.
        """
        spread: dict[str, set[str | None]] = defaultdict(set)
        for page_id, below in self._below.items():
            spread[self._screen_of[page_id]].add(below)
        back: dict[PlacedControl, list[bool]] = defaultdict(list)
        for (each, to_screen), tally in tried.items():
            back[each] += [to_screen == self._below.get(passage.from_page) for passage in tally.arrived]
        return {
            each
            for each, ways in back.items()
            if all(ways)
            and len(spread[each.screen.screen_id]) > 1
            and not any(_has_own_address(look, offer) for look, offer in each.control.seen)
        }

    def _find_shared(self, tried: Mapping[tuple[PlacedControl, str], _TransitionTally]) -> dict[int, str]:
        """Return where an element of a layout led, by the element: an entry of a menu leads there from all its screens.

        It must have led to one screen only, wherever it was tried.
        """
        times = Counter(id(each.element) for each in self._placed)
        led: dict[int, set[str]] = defaultdict(set)
        for (each, to_screen), tally in tried.items():
            if tally.arrived and to_screen != each.screen.screen_id and times[id(each.element)] > 1:
                led[id(each.element)].add(to_screen)
        return {element: screens.pop() for element, screens in led.items() if len(screens) == 1}

    def _addressed(self, each: PlacedControl) -> str | None:
        """Return the one screen that a link's addresses belong to, or None."""
        hrefs = (o.href for _, o in each.control.seen if o.href is not None and o.danger is None)
        known = {screen for href in hrefs if (screen := self._addresses.screen(href)) is not None}
        return known.pop() if len(known) == 1 else None

    def _measured(self, each: PlacedControl, to_screen: str, tally: _TransitionTally) -> Transition:
        times = sorted(passage.duration_ms for passage in tally.arrived)
        mean = max(round(sum(times) / len(times), 1), PRESS_MS)
        first = tally.arrived[0]
        return self._edge(
            each,
            to_screen,
            self._filled(first),
            new_tab="follow" if first.outcome == "popup" else None,
            entered=first.typed.endswith(ENTER),
            duration={
                "avg_duration_ms": mean,
                "min": round(times[0] / 1000, 3),
                "max": round(times[-1] / 1000, 3),
            },
            cost={"estimated_ms": mean},
            reliability_metrics={
                "success_count": len(tally.arrived),
                "failure_count": tally.failed,
                "last_updated": max(passage.at for passage in tally.arrived),
            },
        )

    def _untried(self, each: PlacedControl, to_screen: str, slowest: float) -> Transition:
        """Return the transition of a control that was not tried here: what was tried is preferred to it.

        `slowest`: the mean duration of the slowest one that was tried, in milliseconds.
        """
        hrefs = [o.href for _, o in each.control.seen if o.href is not None]
        seen = not hrefs or any(map(self._addresses.was_seen, hrefs))
        return self._edge(
            each,
            to_screen,
            (),
            reliability_score=UNTRIED if seen else UNSEEN,
            cost={"estimated_ms": slowest} if slowest else {},
            description=f"{TOLD_BY_ADDRESS if hrefs else TOLD_BY_OTHERS}; not tried from here",
        )

    def _edge(
        self,
        each: PlacedControl,
        to_screen: str,
        filled: Sequence[str],
        *,
        new_tab: str | None = None,
        entered: bool = False,
        **more: Any,
    ) -> Transition:
        row = name_row_input(to_screen) if each.element.selector.required_context else None
        action = "input_and_submit" if entered else each.element.affordances[0].action_type
        text = name_text_input(to_screen) if entered or canonical(action) == "fill" else None
        call = {
            "action_type": action,
            "element_id": each.element.element_id,
            "new_tab": new_tab,
            **({"parameters": {ROW: f"{{{row}}}"}} if row is not None else {}),
            **({"value": f"{{{text}}}"} if text is not None else {}),
        }
        ends = f"{each.screen.screen_id}.to.{to_screen}"
        transition_id = make_unique_id(
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
                "conditions": {
                    "required": tuple(self._conditions(each.screen, to_screen, row or text, filled))
                },
                **more,
            }
        )

    def _conditions(
        self, screen: ExploredScreen, to_screen: str, asked: str | None, filled: Sequence[str]
    ) -> Iterator[Condition]:
        """Yield them. `asked`: the value that tells the row, or what is typed."""
        if asked is not None:
            row = asked.endswith(f"_{ROW}")
            why = "The row must be given by some of its text" if row else "What is searched must be given"
            yield ContextEquals(type="context_equals", name=asked, reason=why)
        if filled:
            yield AllRequiredFieldsFilled(type="all_required_fields_filled", fields=tuple(filled))
        if self._told_apart and screen.signed_in and self._screens[to_screen].signed_in:
            yield Authenticated(type="authenticated")

    def _filled(self, passage: AttemptedTransition) -> tuple[str, ...]:
        """Return the elements that were filled before: the required ones, or else all."""
        placed = [self._of_offer.get((passage.from_page, offer_id)) for offer_id in passage.filled]
        elements = [each.element for each in placed if each is not None]
        needed = [each for each in elements if any(a.required for a in each.affordances)]
        return tuple(dict.fromkeys(each.element_id for each in needed or elements))


def _has_own_address(look: ExploredPage, offer: Offer) -> bool:
    """Whether it is a link to another address than that of its page."""
    return offer.href is not None and offer.href.partition("#")[0] != look.page.url.partition("#")[0]
