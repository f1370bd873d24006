"""Brings an element back: reveal, reprobe, stabilise, at most three rounds (PACTS 4.5).

A candidate is acted on only if it is judged to be the element, leads over every other, does not
contradict what the step is for, and passes the gate. Two that are close are nobody's guess.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urljoin

from playwright.async_api import Page

from agent.errors import PersonNeeded
from agent.events import Event, HealTried, Struggling
from agent.healing.by_words import Called, find_by_words
from agent.healing.identity import Sighting, check, sight, unchanged
from agent.healing.judging import leads_to, like_it
from agent.healing.matching import USUAL, Candidate, Demand, Match, Outcome, find_again
from agent.healing.reveal import dismiss_dialogs, parts, wait_for_idle
from agent.locating.fingerprints import Fingerprints
from agent.locating.index import PageIndex
from agent.locating.looking import lead_to, look_around
from agent.locating.selecting import selectors_at
from agent.page.acting import Inspect, Performed
from agent.page.errors import ElementChanged, GateFailed, Point
from agent.page.gate import Passed
from agent.page.locating import summary
from agent.telemetry import traced
from kb_schema.conditions import BaseCondition, UrlContains, UrlMatches
from kb_schema.fingerprints import Fingerprint
from kb_schema.probes import Facts, Scope, Status
from kb_schema.selectors import Selector
from kb_schema.wording import is_destructive

Act = Callable[[Selector, Inspect, float], Awaitable[Performed]]
"""Does the step's action by a selector, showing the gated element first; the gate's time in seconds."""
_ELSEWHERE = frozenset({Point.NOT_FOUND, Point.NOT_UNIQUE})


@dataclass(frozen=True, slots=True)
class HealPolicy:
    """How far healing goes."""

    max_rounds: int = 3
    """`PERIPLUS_MAX_HEAL_ROUNDS`; 0 heals nothing."""
    gate_s: float = 5.0
    """The gate's time at first (the page layer's own)."""
    healed_gate_s: float = 1.0
    """The gate's time for a candidate, and as much more every round (PACTS: base + 1 s a round)."""
    dismiss_gate_s: float = 1.0
    """The gate's time for a control that puts away what is in the way."""
    usual: Demand = USUAL

    @property
    def while_dismissing(self) -> HealPolicy:
        """For such a control: it is there or it is not, and nothing is healed for its sake."""
        return replace(self, max_rounds=0, gate_s=min(self.gate_s, self.dismiss_gate_s))


class Decider(Protocol):
    """Chooses among elements that are too close to call: a person, or an inferencer."""

    async def choose(self, known: Fingerprint, candidates: Sequence[Fingerprint]) -> int | None:
        """The number of the one that is meant; None where one cannot tell."""


@dataclass(frozen=True)
class Meant:
    """The element an action is meant for, and what is known of it."""

    name: str
    """`screen.element`, for events and errors."""
    selector: Selector
    known: Fingerprint | None = None
    others: tuple[Fingerprint, ...] = ()
    """The other known elements of the screen."""
    calls: tuple[Called, ...] = ()
    """What people call it: all there is to go by where nothing else is known."""
    action: str | None = None
    """What is to be done to it, by the vocabulary's name."""
    compared: bool = True
    """Whether what its selector leads to must be what is known; else that only helps to find it again."""
    whichever: bool = False
    """It is the first (or last) of a list, whichever that is now: it must be of the same sort, no more."""
    careful: bool = False
    """What is done to it destroys, or may not be done twice: somebody says so in the knowledge."""
    expecting: tuple[BaseCondition, ...] = ()
    """The step's postconditions."""
    facts: Facts = field(default_factory=Facts)
    scope: Scope | None = None

    @property
    def demand_is_strict(self) -> bool:
        """Whether more is asked of a candidate: what is done cannot be taken back (DESIGN 6)."""
        return self.careful or (self.known is not None and any(map(is_destructive, self.known.words)))


@dataclass(frozen=True)
class Healed:
    """How an element was brought back."""

    selector: Selector
    score: float
    lead: float
    round: int
    reason: str
    moved: bool
    """Whether another selector was needed: one that was only covered is no news about the knowledge."""
    witnesses: int = 0
    """How many independent things told it."""


@dataclass(frozen=True)
class Done:
    """An action that was done, on what, and how that was found."""

    performed: Performed
    sighting: Sighting | None
    """None where a glance showed that nothing about it is new."""
    recognised: bool = False
    """It was compared with what is known of it, and is it."""
    agreeing: int = 0
    """Strategies of the selector that lead to it alone; only counted where nothing else can prove it."""
    healed: Healed | None = None


@dataclass(frozen=True)
class _Found:
    selector: Selector
    known: Fingerprint | None
    score: float
    lead: float
    reason: str
    moved: bool
    witnesses: int = 0


class Healer:
    """Acts on elements that are proven to be the ones meant, healing where they are not reached."""

    def __init__(
        self,
        page: Page,
        tell: Callable[[Event], None],
        *,
        policy: HealPolicy | None = None,
        dismiss: Callable[[], Awaitable[bool]] | None = None,
        decider: Decider | None = None,
    ) -> None:
        self._page, self._tell, self._dismiss, self._decider = page, tell, dismiss, decider
        self.policy = policy or HealPolicy()

    async def act(self, meant: Meant, act: Act) -> Done:
        """Do the action. Raises what the action raises, `ElementChanged`, and `PersonNeeded` where two
        elements are too close to call.
        """
        try:
            known = meant.known if meant.compared else None
            return await self._once(
                meant, meant.selector, known, act, self.policy.gate_s, count=not meant.expecting
            )
        except (GateFailed, ElementChanged) as exc:
            first: GateFailed | ElementChanged = exc
        failure = first
        close: Match | None = None
        before: PageIndex | None = None
        # Without anything known beside the selector, a second look could only find the same.
        again = (meant.known is not None or bool(meant.calls)) and not meant.whichever
        rounds = self.policy.max_rounds if again else min(1, self.policy.max_rounds)
        if rounds:
            self._tell(Struggling("healing", meant.name))
        for number in range(1, rounds + 1):
            began = time.monotonic()
            did: list[str] = []
            index = await self._reveal(failure, number, did)
            if number > 2 and before is not None and before.elements == index.elements:
                break  # nothing came or went: another round would say the same
            before = index
            found = await self._find(meant, failure, number, index, did)
            if isinstance(found, Match):
                close = found if found.outcome is Outcome.AMBIGUOUS else close
                self._told(
                    meant, number, did, found.outcome.value, found.best, began, found.reason, lead=found.lead
                )
                continue
            try:
                gate_s = self.policy.healed_gate_s * (1 + number)
                done = await self._once(meant, found.selector, found.known, act, gate_s)
            except (GateFailed, ElementChanged) as exc:
                self._told(meant, number, did, "rejected", None, began, str(exc))
                if _covered_as_before(failure, exc) and not any(each.startswith("dismissed") for each in did):
                    break  # what is in the way cannot be put away: another round would say the same
                failure = exc
                continue
            healed = Healed(
                found.selector, found.score, found.lead, number, found.reason, found.moved, found.witnesses
            )
            self._told(meant, number, did, "healed", None, began, found.reason, found.score, found.lead)
            return replace(done, healed=healed)
        if close is not None:
            raise PersonNeeded(
                f"{meant.name} may be {' or '.join(_shown(each) for each in (close.best, *close.rivals[:1]) if each)}",
                hint="say which one is meant, or correct the element's selector",
            )
        raise first

    async def _once(
        self,
        meant: Meant,
        selector: Selector,
        known: Fingerprint | None,
        act: Act,
        gate_s: float,
        *,
        count: bool = False,
    ) -> Done:
        seen: list[Sighting | None] = []
        agreeing: list[int] = []

        async def inspect(passed: Passed) -> None:
            if meant.whichever:
                seen[:] = [await sight(self._page, (await passed.gated()).element)]
                if known is not None and seen[0] is not None and (why := like_it(known, seen[0].fingerprint)):
                    raise ElementChanged(summary(selector), why)
                return
            if known is not None and unchanged(passed.glance, known):
                return
            seen[:] = [await sight(self._page, (await passed.gated()).element)]
            if known is not None:
                check(known, seen[0].fingerprint if seen[0] else None, summary(selector))
            elif count and seen[0] is not None:
                ways = [Selector(strategies=(each,), frame=selector.frame) for each in selector.strategies]
                agreeing.append(
                    sum(await lead_to(self._page, seen[0].index, [(seen[0].at, w) for w in ways]))
                )

        performed = await act(selector, inspect, gate_s)
        return Done(performed, seen[0] if seen else None, known is not None, agreeing[-1] if agreeing else 0)

    async def locate(self, meant: Meant) -> Selector | None:
        """Another selector that leads to the element, without doing anything to it; None where it cannot
        be said which one it is.
        """
        if meant.known is None or meant.whichever or self.policy.max_rounds == 0:
            return None
        began = time.monotonic()
        did: list[str] = []
        index = await look_around(self._page)
        match = await self._reprobe(meant, meant.known, index, did)
        found: _Found | Match = match
        if match.outcome is Outcome.FOUND and match.best is not None:
            found = await self._expressed(meant, index, match, match.best)
        if isinstance(found, Match):
            self._told(meant, 1, did, found.outcome.value, found.best, began, found.reason, lead=found.lead)
            return None
        self._told(meant, 1, did, "healed", None, began, found.reason, found.score, found.lead)
        return found.selector

    # -- one round ---------------------------------------------------------------------------------

    @traced("heal.find")
    async def _find(
        self,
        meant: Meant,
        failure: GateFailed | ElementChanged,
        number: int,
        index: PageIndex,
        did: list[str],
    ) -> _Found | Match:
        """Look for it. Notes what was done in `did`."""
        reached = isinstance(failure, GateFailed) and failure.point not in _ELSEWHERE
        if reached and number == 1:
            did.append("gate again")
            return _Found(
                meant.selector, meant.known, 1.0, 1.0, "it could be reached after that", moved=False
            )
        if meant.whichever or (meant.known is None and not meant.calls):
            return Match(Outcome.NOT_FOUND, None, (), "nothing is known of it beside its selector")
        if meant.known is None:
            return await self._called(meant, index, did)
        match = await self._reprobe(meant, meant.known, index, did)
        if match.outcome is Outcome.NOT_FOUND and number == 2:
            async for part in parts(self._page):
                index, match = part, await self._reprobe(meant, meant.known, part, did)
                if match.outcome is not Outcome.NOT_FOUND:
                    break
            did.append("scrolled through")
        if match.outcome is Outcome.AMBIGUOUS and self._decider is not None:
            match = await self._decided(meant.known, match, did)
        if match.outcome is not Outcome.FOUND or match.best is None:
            return match
        return await self._expressed(meant, index, match, match.best)

    @traced("heal.reveal")
    async def _reveal(self, failure: GateFailed | ElementChanged, number: int, did: list[str]) -> PageIndex:
        if isinstance(failure, GateFailed) and failure.point is Point.NOT_SCOPED:
            if self._dismiss is not None and await self._dismiss():
                did.append("dismissed known overlay")
            did += [
                f"dismissed {each}"
                for each in await dismiss_dialogs(self._page, await look_around(self._page))
            ]
        if await wait_for_idle(self._page, float(number)):
            did.append("waited for idle")
        return await look_around(self._page)

    async def _reprobe(self, meant: Meant, known: Fingerprint, index: PageIndex, did: list[str]) -> Match:
        prints = Fingerprints(index)
        candidates = list(prints.all())
        if known.place is None:  # it is read, not operated
            candidates = [(each.at, prints.of(each.at)) for each in index.elements if each.tag == known.tag]
        did.append(f"compared {len(candidates)} elements")
        demand = self.policy.usual.stricter if meant.demand_is_strict else self.policy.usual
        match = find_again(known, candidates, demand, others=meant.others)
        if match.outcome is Outcome.FOUND and match.best is not None:
            astray = leads_astray(match.best.seen, index.url, meant)
            if astray is not None:
                return Match(Outcome.NOT_FOUND, match.best, match.rivals, astray)
        return match

    async def _called(self, meant: Meant, index: PageIndex, did: list[str]) -> _Found | Match:
        """By the words people have for it (PACTS 4.5's ladder)."""
        did.append(f"asked for {' / '.join(each.words for each in meant.calls)}")
        identity = meant.name.rpartition(".")[2]
        match, witnesses = find_by_words(
            index, meant.calls, action=meant.action, identity=identity, others=meant.others,
            careful=meant.careful,
        )  # fmt: skip
        if match.outcome is not Outcome.FOUND or match.best is None:
            return match
        astray = leads_astray(match.best.seen, index.url, meant)
        if astray is not None:
            return Match(Outcome.NOT_FOUND, match.best, (), astray)
        found = await self._expressed(meant, index, match, match.best)
        return found if isinstance(found, Match) else replace(found, witnesses=witnesses)

    async def _decided(self, known: Fingerprint, match: Match, did: list[str]) -> Match:
        assert self._decider is not None  # noqa: S101 - asked by the caller
        assert match.best is not None  # noqa: S101 - ambiguous ones have one
        close = (match.best, *match.rivals)
        chosen = await self._decider.choose(known, [each.seen for each in close])
        did.append("asked which one")
        if chosen is None or not 0 <= chosen < len(close):
            return match
        return Match(Outcome.FOUND, close[chosen], match.rivals, "somebody chose it", match.lead)

    async def _expressed(
        self, meant: Meant, index: PageIndex, match: Match, best: Candidate
    ) -> _Found | Match:
        """The strategies known before that lead to it, then its own stable ones."""
        old = [Selector(strategies=(each,), frame=meant.selector.frame) for each in meant.selector.ordered]
        leads = await lead_to(self._page, index, [(best.at, each) for each in old])
        kept = [each.strategies[0] for each, there in zip(old, leads, strict=True) if there]
        choice = (await selectors_at(self._page, index, [best.at]))[0]
        new = list(choice.selector.strategies) if choice.selector is not None else []
        frame = choice.selector.frame if choice.selector is not None else meant.selector.frame
        if kept and frame != meant.selector.frame:
            kept = []
        strategies = tuple({each.model_dump_json(): each for each in [*kept, *new]}.values())
        if not strategies:
            return Match(Outcome.NOT_FOUND, best, match.rivals, "no selector leads to it alone")
        selector = Selector(strategies=strategies, frame=frame)
        told = len(best.judgement.anchors)
        return _Found(selector, best.seen, best.score, match.lead, match.reason, moved=True, witnesses=told)

    def _told(
        self,
        meant: Meant,
        number: int,
        did: Sequence[str],
        outcome: str,
        best: Candidate | None,
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


def _covered_as_before(before: GateFailed | ElementChanged, now: GateFailed | ElementChanged) -> bool:
    return (
        isinstance(before, GateFailed) and isinstance(now, GateFailed)
        and before.point is now.point is Point.NOT_SCOPED and before.cover == now.cover
    )  # fmt: skip


def leads_astray(seen: Fingerprint, page_url: str, meant: Meant) -> str | None:
    """Why a link cannot be what the step is for: it leads where the step must not end."""
    target = leads_to(seen)
    if target is None or meant.scope is None:
        return None
    facts = replace(meant.facts, url=urljoin(page_url, target))
    for condition in meant.expecting:
        if isinstance(condition, UrlMatches | UrlContains) and condition.success is not False:
            verdict = condition.judge(facts, meant.scope)
            if verdict.status is Status.NOT_HELD:
                return f"it leads elsewhere than the step: {verdict.evidence}"
    return None


def _shown(candidate: Candidate) -> str:
    seen = candidate.seen
    where = next(iter(seen.key or seen.row), seen.heading) or ""
    return f"{seen.role or seen.tag} {(seen.name or seen.text or '')[:60]!r}{f' beside {where[:40]!r}' if where else ''}"
