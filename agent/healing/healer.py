"""Heals: reveals, searches and acts again, in at most three rounds (PACTS 4.5: reveal, reprobe, stabilise).

A candidate is acted on only if it is judged to be the element, leads clearly over every other candidate, does
not contradict the step's postconditions, and passes the gate. Healing never chooses between close candidates.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urljoin

from playwright.async_api import Page

from agent import retry_limits
from agent.errors import PersonNeeded
from agent.events import Event, HealTried, Struggling
from agent.healing.alike_texts import find_alike_texts
from agent.healing.element_reveal import reveal_page, scan_scrolled_page
from agent.healing.element_wait import ElementWait
from agent.healing.fellow_search import find_among_fellows, find_by_icon
from agent.healing.fingerprint_comparison import read_link_target
from agent.healing.fingerprint_search import (
    DEFAULT_THRESHOLDS,
    FingerprintCandidate,
    FingerprintMatch,
    SearchOutcome,
    SearchThresholds,
    find_fingerprint,
    list_search_candidates,
)
from agent.healing.identity_check import ElementIdentity
from agent.healing.recorded_words import RecordedElement
from agent.healing.row_search import find_in_row
from agent.healing.word_search import ElementWords, find_by_words
from agent.locators.page_index import PageIndex
from agent.locators.page_scan import check_selectors, scan_page
from agent.locators.stable_selectors import choose_selectors
from agent.page.action_requests import ActionRequest, CheckedElement, PerformedAction
from agent.page.errors import ElementChanged, GateFailed, GatePoint
from agent.page.guarded_input import act_pointing
from agent.page.page_actions import act_on_element
from agent.telemetry import traced
from kb_schema.conditions import BaseCondition, UrlContains, UrlMatches
from kb_schema.excerpts import excerpt
from kb_schema.fingerprints import Fingerprint
from kb_schema.probes import ConditionScope, ProbeFacts, VerdictStatus
from kb_schema.selectors import Selector
from kb_schema.text_similarity import is_destructive

_ELSEWHERE = frozenset({GatePoint.NOT_FOUND, GatePoint.NOT_UNIQUE})


@dataclass(frozen=True, slots=True)
class HealPolicy:
    """Limits of healing."""

    max_rounds: int = retry_limits.HEALING_ROUNDS
    """`PERIPLUS_MAX_HEAL_ROUNDS`; 0 heals nothing."""
    gate_s: float | None = None
    """The gate's time in the first attempt; None: the step's time, else `GATE_TIMEOUT_S`."""
    healed_gate_s: float = 1.0
    """The gate's time for a candidate, and as much more every round (PACTS: base + 1 s a round)."""
    dismiss_gate_s: float = 1.0
    """The gate's time for a control that closes an overlay."""
    usual: SearchThresholds = DEFAULT_THRESHOLDS

    @property
    def while_dismissing(self) -> HealPolicy:
        """The policy while an overlay is being closed: its control is never healed, and the gate gives up soon."""
        gate_s = self.dismiss_gate_s if self.gate_s is None else min(self.gate_s, self.dismiss_gate_s)
        return replace(self, max_rounds=0, gate_s=gate_s)

    def first_gate_s(self, wait: ElementWait | None) -> float:
        """Return the gate's time in the first attempt, for a step that may wait so long."""
        if self.gate_s is not None:
            return self.gate_s if wait is None else min(self.gate_s, wait.gate_s)
        return retry_limits.GATE_TIMEOUT_S if wait is None else wait.gate_s


@dataclass(frozen=True, slots=True)
class CandidateChoice:
    """One of several similar elements."""

    at: int
    """Its position among the candidates."""
    reason: str
    """Who chose it and why, for reports."""


class CandidateDecider(Protocol):
    """Chooses among elements that are too similar: a person, or an inferencer."""

    async def choose(
        self, known: Fingerprint, candidates: Sequence[Fingerprint], *, strict: bool
    ) -> CandidateChoice | None:
        """Return the element that is meant; None if that cannot be decided.

        `strict`: the action cannot be undone, so a choice needs evidence that can be checked.
        """


@dataclass(frozen=True)
class IntendedElement:
    """The element an action is meant for, and what is known of it."""

    name: str
    """`screen.element`, for events and errors."""
    selector: Selector
    known: Fingerprint | None = None
    others: tuple[Fingerprint, ...] = ()
    """The other known elements of the screen."""
    calls: tuple[ElementWords, ...] = ()
    """Words for it in its selector and label; used where it has no fingerprint."""
    action: str | None = None
    """The action's canonical name."""
    compared: bool = True
    """Whether the element must match `known`; otherwise `known` only helps to find it again."""
    recorded: RecordedElement | None = None
    """The element as it was recorded for the step: its words must not contradict."""
    row: Selector | None = None
    """The row in which the selector means a control (`select_row_template`, filled)."""
    whichever: bool = False
    """It means the first (or last) of a list, whichever that is now: it must only be of the same kind."""
    careful: bool = False
    """The knowledge base marks the action as destructive or not idempotent."""
    expecting: tuple[BaseCondition, ...] = ()
    """The step's postconditions."""
    facts: ProbeFacts = field(default_factory=ProbeFacts)
    scope: ConditionScope | None = None
    traced: bool = False
    """A trace wants the fingerprint of the element, whatever is known of it."""

    @property
    def demand_is_strict(self) -> bool:
        """Whether a candidate must meet the stricter thresholds, because the action cannot be undone."""
        return self.careful or (self.known is not None and any(map(is_destructive, self.known.words)))


@dataclass(frozen=True)
class HealedElement:
    """How an element was healed."""

    selector: Selector
    score: float
    lead: float
    round: int
    reason: str
    moved: bool
    """Whether another selector was needed. An element that was merely covered says nothing about the knowledge."""
    witnesses: int = 0
    """Number of independent features that identified it."""


@dataclass(frozen=True)
class HealerResult:
    """An action that was done, and how its element was found."""

    performed: PerformedAction
    healed: HealedElement | None = None

    @property
    def checked(self) -> CheckedElement:
        """What the identity check saw of the element."""
        return self.performed.checked or CheckedElement()


@dataclass(frozen=True)
class _ReprobedElement:
    selector: Selector
    known: Fingerprint | None
    score: float
    lead: float
    reason: str
    moved: bool
    witnesses: int = 0


class Healer:
    """Acts on elements whose identity is checked; heals where they are not reached."""

    def __init__(
        self,
        page: Page,
        tell: Callable[[Event], None],
        *,
        policy: HealPolicy | None = None,
        dismiss: Callable[[], Awaitable[bool]] | None = None,
        decider: CandidateDecider | None = None,
        wait: ElementWait | None = None,
    ) -> None:
        """`wait`: the time of the step, which all its attempts share; None: the policy's time for each."""
        self._page, self._tell, self._dismiss, self._decider = page, tell, dismiss, decider
        self._wait = wait
        self.policy = policy or HealPolicy()

    async def act(self, meant: IntendedElement, request: ActionRequest) -> HealerResult:
        """Perform the request on the element; heal where it is not reached, at most `max_rounds` times.

        `meant` gives the selector, the identity check and the gate's time; those of the request are not
        used. Raises what `act_on_element` raises, and `PersonNeeded` where two elements are too close to
        tell apart.
        """
        first = _prepare_request(request, meant, meant.selector, self.policy.first_gate_s(self._wait))
        try:
            act = act_on_element(self._page, first)
            return HealerResult(await act_pointing(self._page, meant.selector, act))
        except (GateFailed, ElementChanged) as exc:
            self._note_wait(exc)
            if isinstance(exc, GateFailed) and exc.complained:
                raise
            failure = exc
        return await self._heal_and_act(meant, request, failure)

    async def _heal_and_act(
        self, meant: IntendedElement, request: ActionRequest, first: GateFailed | ElementChanged
    ) -> HealerResult:
        failure = first
        close: FingerprintMatch | None = None
        before: PageIndex | None = None
        # If nothing is known besides the selector, a second search would find the same.
        searchable = (
            meant.known is not None or bool(meant.calls) or meant.row is not None
        ) and not meant.whichever
        rounds = self.policy.max_rounds if searchable else min(1, self.policy.max_rounds)
        if rounds:
            self._tell(Struggling("healing", meant.name))
        for number in range(1, rounds + 1):
            began = time.monotonic()
            did: list[str] = []
            index = await self._reveal(failure, number, did)
            if number > 2 and before is not None and before.elements == index.elements:
                break  # the page did not change: another round would give the same result
            if _is_elsewhere(failure) and self._was_searched(meant, index):
                break
            before = index
            found = await self._find(meant, failure, number, index, did)
            if isinstance(found, FingerprintMatch):
                close = found if found.outcome is SearchOutcome.AMBIGUOUS else close
                self._report_round(
                    meant, number, did, found.outcome.value, found.best, began, found.reason, lead=found.lead
                )
                continue
            try:
                gate_s = self.policy.healed_gate_s * (1 + number)
                gate_s = gate_s if self._wait is None else min(gate_s, self._wait.gate_s)
                again = _prepare_request(request, meant, found.selector, gate_s, found.known, healed=True)
                performed = await act_on_element(self._page, again)
            except (GateFailed, ElementChanged) as exc:
                self._report_round(meant, number, did, "rejected", None, began, str(exc))
                if _covered_as_before(failure, exc) and not any(each.startswith("dismissed") for each in did):
                    break  # the cover cannot be closed: another round would give the same result
                failure = exc
                self._note_wait(exc)
                continue
            healed = HealedElement(
                found.selector, found.score, found.lead, number, found.reason, found.moved, found.witnesses
            )
            self._report_round(
                meant, number, did, "healed", None, began, found.reason, found.score, found.lead
            )
            return HealerResult(performed, healed)
        if close is not None:
            raise PersonNeeded(
                f"{meant.name} may be {' or '.join(_describe_candidate(each) for each in (close.best, *close.rivals[:1]) if each)}",
                hint="choose one of the elements, or correct the element's selector",
            )
        if self._wait is not None and before is not None and _is_elsewhere(failure):
            self._wait.searched = meant.name, before.elements
        if before is not None and isinstance(first, GateFailed) and first.value is not None:
            alike = find_alike_texts(first.value, before)
            if alike:
                first.add_alike(alike)
        raise first

    def _was_searched(self, meant: IntendedElement, index: PageIndex) -> bool:
        """Whether an attempt before this one searched the same page without success."""
        return self._wait is not None and self._wait.searched == (meant.name, index.elements)

    def _note_wait(self, failure: GateFailed | ElementChanged) -> None:
        if self._wait is not None and isinstance(failure, GateFailed):
            self._wait.note(failure.waited_s)

    async def locate(self, meant: IntendedElement) -> Selector | None:
        """Return another selector that leads to the element, without acting on it; None where that is not sure."""
        return await self._locate_in(await scan_page(self._page), meant)

    async def locate_in_lists(self, meant: IntendedElement) -> Selector | None:
        """The same while scrolling through the lists of the page that render only what is in view."""
        async for part in scan_scrolled_page(self._page):
            found = await self._locate_in(part, meant)
            if found is not None:
                return found
        return None

    async def _locate_in(self, index: PageIndex, meant: IntendedElement) -> Selector | None:
        known = meant.known
        if known is None or meant.whichever or self.policy.max_rounds == 0:
            return None
        began = time.monotonic()
        did: list[str] = []
        match = await self._reprobe(meant, known, index, did)
        found: _ReprobedElement | FingerprintMatch = match
        if match.outcome is SearchOutcome.FOUND and match.best is not None:
            found = await self._build_selector(meant, index, match, match.best)
        if isinstance(found, FingerprintMatch):
            self._report_round(
                meant, 1, did, found.outcome.value, found.best, began, found.reason, lead=found.lead
            )
            return None
        self._report_round(meant, 1, did, "healed", None, began, found.reason, found.score, found.lead)
        return found.selector

    # -- one round ---------------------------------------------------------------------------------

    @traced("heal.find")
    async def _find(
        self,
        meant: IntendedElement,
        failure: GateFailed | ElementChanged,
        number: int,
        index: PageIndex,
        did: list[str],
    ) -> _ReprobedElement | FingerprintMatch:
        """Search for the element. Appends what was done to `did`."""
        if not _is_elsewhere(failure) and number == 1:
            did.append("gate again")
            known = meant.known if meant.compared else None
            return _ReprobedElement(
                meant.selector, known, 1.0, 1.0, "it could be reached after that", moved=False
            )
        if meant.row is not None and meant.recorded is not None and not meant.whichever:
            return await self._find_in_row(meant, meant.row, meant.recorded.fingerprint, index, did)
        if meant.whichever or (meant.known is None and not meant.calls):
            return FingerprintMatch(
                SearchOutcome.NOT_FOUND, None, (), "nothing is known of it besides its selector"
            )
        if meant.known is None:
            return await self._find_by_words(meant, index, did)
        match = await self._reprobe(meant, meant.known, index, did)
        if match.outcome is SearchOutcome.NOT_FOUND and number == 2:
            async for part in scan_scrolled_page(self._page):
                index, match = part, await self._reprobe(meant, meant.known, part, did)
                if match.outcome is not SearchOutcome.NOT_FOUND:
                    break
            did.append("scrolled through")
        if match.outcome is SearchOutcome.AMBIGUOUS and self._decider is not None:
            match = await self._decide(meant, meant.known, match, did)
        if match.outcome is not SearchOutcome.FOUND or match.best is None:
            return match
        return await self._build_selector(meant, index, match, match.best)

    @traced("heal.reveal")
    async def _reveal(self, failure: GateFailed | ElementChanged, number: int, did: list[str]) -> PageIndex:
        covered = isinstance(failure, GateFailed) and failure.point is GatePoint.NOT_SCOPED
        did += await reveal_page(self._page, number, covered=covered, dismiss=self._dismiss)
        return await scan_page(self._page)

    async def _reprobe(
        self, meant: IntendedElement, known: Fingerprint, index: PageIndex, did: list[str]
    ) -> FingerprintMatch:
        candidates = list_search_candidates(index, known)
        if meant.recorded is not None:
            candidates = meant.recorded.keep_bearers(candidates)
        did.append(f"compared {len(candidates)} elements")
        demand = self.policy.usual.stricter if meant.demand_is_strict else self.policy.usual
        match = find_fingerprint(known, candidates, demand, others=meant.others)
        recorded = meant.recorded
        if match.outcome is SearchOutcome.NOT_FOUND and recorded is not None and not recorded.varies:
            fellow = find_among_fellows(index, recorded.fingerprint)
            if fellow.outcome is not SearchOutcome.FOUND and not meant.demand_is_strict:
                fellow = find_by_icon(recorded.fingerprint, candidates)
            match = fellow if fellow.outcome is SearchOutcome.FOUND else match
        if match.outcome is SearchOutcome.FOUND and match.best is not None:
            conflict = find_link_conflict(match.best.seen, index.url, meant)
            if conflict is not None:
                return FingerprintMatch(SearchOutcome.NOT_FOUND, match.best, match.rivals, conflict)
        return match

    async def _find_in_row(
        self, meant: IntendedElement, row: Selector, recorded: Fingerprint, index: PageIndex, did: list[str]
    ) -> _ReprobedElement | FingerprintMatch:
        demand = self.policy.usual.stricter if meant.demand_is_strict else self.policy.usual
        match = await find_in_row(self._page, index, row, recorded, demand, strict=meant.demand_is_strict)
        did.append("looked through its row")
        if match.outcome is not SearchOutcome.FOUND or match.best is None:
            return match
        return await self._build_selector(meant, index, match, match.best)

    async def _find_by_words(
        self, meant: IntendedElement, index: PageIndex, did: list[str]
    ) -> _ReprobedElement | FingerprintMatch:
        """Search by the words for it (PACTS 4.5's ladder)."""
        did.append(f"asked for {' / '.join(each.words for each in meant.calls)}")
        identity = meant.name.rpartition(".")[2]
        match, witnesses = find_by_words(
            index,
            meant.calls,
            action=meant.action,
            identity=identity,
            others=meant.others,
            careful=meant.careful,
        )
        if match.outcome is not SearchOutcome.FOUND or match.best is None:
            return match
        conflict = find_link_conflict(match.best.seen, index.url, meant)
        if conflict is not None:
            return FingerprintMatch(SearchOutcome.NOT_FOUND, match.best, (), conflict)
        found = await self._build_selector(meant, index, match, match.best)
        return found if isinstance(found, FingerprintMatch) else replace(found, witnesses=witnesses)

    async def _decide(
        self, meant: IntendedElement, known: Fingerprint, match: FingerprintMatch, did: list[str]
    ) -> FingerprintMatch:
        assert self._decider is not None  # noqa: S101 - checked by the caller
        assert match.best is not None  # noqa: S101 - ambiguous ones have one
        close = (match.best, *match.rivals)
        seen = [each.seen for each in close]
        chosen = await self._decider.choose(known, seen, strict=meant.demand_is_strict)
        did.append("asked which one")
        if chosen is None or not 0 <= chosen.at < len(close):
            return match
        best = close[chosen.at]
        others = tuple(each for each in close if each is not best)
        return FingerprintMatch(SearchOutcome.FOUND, best, others, chosen.reason, match.lead)

    async def _build_selector(
        self, meant: IntendedElement, index: PageIndex, match: FingerprintMatch, best: FingerprintCandidate
    ) -> _ReprobedElement | FingerprintMatch:
        """Build a selector: the stored strategies that lead to the element, then its own stable ones."""
        old = [Selector(strategies=(each,), frame=meant.selector.frame) for each in meant.selector.ordered]
        leads = await check_selectors(self._page, index, [(best.at, each) for each in old])
        kept = [each.strategies[0] for each, there in zip(old, leads, strict=True) if there]
        choice = (await choose_selectors(self._page, index, [best.at]))[0]
        new = list(choice.selector.strategies) if choice.selector is not None else []
        frame = choice.selector.frame if choice.selector is not None else meant.selector.frame
        if kept and frame != meant.selector.frame:
            kept = []
        strategies = tuple({each.model_dump_json(): each for each in [*kept, *new]}.values())
        if not strategies:
            return FingerprintMatch(
                SearchOutcome.NOT_FOUND, best, match.rivals, "no selector leads to it alone"
            )
        selector = Selector(strategies=strategies, frame=frame)
        anchors = len(best.judgement.anchors)
        return _ReprobedElement(
            selector, best.seen, best.score, match.lead, match.reason, moved=True, witnesses=anchors
        )

    def _report_round(
        self,
        meant: IntendedElement,
        number: int,
        did: Sequence[str],
        outcome: str,
        best: FingerprintCandidate | None,
        began: float,
        reason: str,
        score: float | None = None,
        lead: float | None = None,
    ) -> None:
        duration_ms = (time.monotonic() - began) * 1000
        score = best.score if best is not None and score is None else score
        self._tell(
            HealTried(
                meant.name, number, tuple(dict.fromkeys(did)), outcome, score, duration_ms, reason, lead
            )
        )


def _prepare_request(
    request: ActionRequest,
    meant: IntendedElement,
    selector: Selector,
    gate_s: float,
    known: Fingerprint | None = None,
    *,
    healed: bool = False,
) -> ActionRequest:
    """The request for one attempt: by this selector, on the element that this attempt must find.

    `known` is what a healed element was recognised by.
    """
    identity = ElementIdentity(
        known if healed else meant.known if meant.compared else None,
        same_kind_only=meant.whichever,
        count_agreeing=not healed and not meant.expecting,
        recorded=meant.recorded,
        always_looks=meant.traced,
    )
    return replace(request, selector=selector, timeout_s=gate_s, identity=identity)


def _is_elsewhere(failure: GateFailed | ElementChanged) -> bool:
    """Whether the selector did not lead to the element."""
    return not isinstance(failure, GateFailed) or failure.point in _ELSEWHERE


def _covered_as_before(before: GateFailed | ElementChanged, now: GateFailed | ElementChanged) -> bool:
    return (
        isinstance(before, GateFailed)
        and isinstance(now, GateFailed)
        and before.point is now.point is GatePoint.NOT_SCOPED
        and before.cover == now.cover
    )


def find_link_conflict(seen: Fingerprint, page_url: str, meant: IntendedElement) -> str | None:
    """Why following a link would contradict the step's URL postconditions; None if it would not.

    The address that was known of the link never contradicts: it may lead on to another page.
    """
    target = read_link_target(seen)
    if target is None or meant.scope is None:
        return None
    if meant.known is not None and read_link_target(meant.known) == target:
        return None
    facts = replace(meant.facts, url=urljoin(page_url, target))
    for condition in meant.expecting:
        if isinstance(condition, UrlMatches | UrlContains) and condition.success is not False:
            verdict = condition.judge(facts, meant.scope)
            if verdict.status is VerdictStatus.NOT_HELD:
                return f"it leads elsewhere than the step: {verdict.evidence}"
    return None


def _describe_candidate(candidate: FingerprintCandidate) -> str:
    seen = candidate.seen
    where = next(iter(seen.key or seen.row), seen.heading) or ""
    return f"{seen.role or seen.tag} {excerpt(seen.name or seen.text or '', 60)!r}{f' beside {excerpt(where, 40)!r}' if where else ''}"
