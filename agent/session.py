"""One page being guided: what it shows, which screen it is, whether conditions hold.

Everything the engine, the guide and the player share about a page lives here; how to get
somewhere is `agent.guide`, how to do work is `agent.engine`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.async_api import Page

from agent.context import Context
from agent.errors import LedAway
from agent.events import Bus, ScreenSeen
from agent.healing.conditions import references, told
from agent.healing.healer import Decider, HealPolicy
from agent.healing.memory import ElementMemory
from agent.knowledge import Knowledge
from agent.media.veil import Veil
from agent.page.acting import Pace
from agent.page.changing import wait_for_change
from agent.page.evaluating import evaluate
from agent.page.locating import beginning_with, fill_selector_parameters
from agent.page.snapshot import snapshot_and_revision, snapshot_unless
from kb_schema.answers import Identification
from kb_schema.conditions import Authenticated, BaseCondition
from kb_schema.probes import Facts, Status, Verdict
from kb_schema.resilience import ResiliencePolicy
from kb_schema.rules.references import looks_like_css
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector, css
from kb_schema.snapshots import PageSnapshot
from kb_schema.urls import origin_of
from kb_schema.websites import Website

if TYPE_CHECKING:
    from agent.resilience.memory import Lessons
    from agent.resilience.strategies import ReplanInferencer

SETTLE_S = 5.0
"""How long a page may take to become the screen one expects (KS 4.7 `validation_timeout`)."""


LOOKS = 3
"""How often a page is identified anew for one judgement while it goes from address to address."""
BROWSERS_OWN_ERROR = "chrome-error://"
"""Where a page is for which no answer came: nothing more will appear on it."""


def elements_named(condition: BaseCondition) -> frozenset[str]:
    """The elements a condition names by the ids they have on the current screen."""
    return frozenset(each for each in references(condition) if not looks_like_css(each))


@dataclass(frozen=True, slots=True)
class ElementScope:
    """Looks up the elements of one screen for conditions (`kb_schema.probes.Scope`)."""

    elements: Mapping[str, UIElement]
    signed_in_when: tuple[Any, ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    healed: Mapping[str, Selector] = field(default_factory=dict)
    """What CSS was found again by that leads nowhere any more."""

    def element(self, reference: str | Selector) -> Selector | None:
        """By id, else as CSS; parameters are filled from the run's values."""
        if isinstance(reference, Selector):
            selector = reference
        elif reference in self.elements:
            selector = self.elements[reference].selector
        elif looks_like_css(reference):
            selector = css(reference)
            if reference in self.healed:
                selector = beginning_with(self.healed[reference], selector)
        else:
            return None
        if not selector.parameterized:
            return selector
        if not selector.required_context <= self.values.keys():
            return None
        return fill_selector_parameters(selector, self.values)


@dataclass
class Session:
    """A page, the knowledge about its website, and the values of the run."""

    page: Page
    knowledge: Knowledge
    website: Website
    base_url: str
    context: Context = field(default_factory=Context)
    bus: Bus = field(default_factory=Bus)
    pace: Pace = field(default_factory=Pace)
    secret_fields: list[Selector] = field(default_factory=list)
    """Fields that were given a secret: their values are left out of snapshots."""
    veil: Veil | None = None
    """Covers secrets while the page is filmed; None: nobody films it."""
    healing: HealPolicy = field(default_factory=HealPolicy)
    resilience: ResiliencePolicy = field(default_factory=ResiliencePolicy)
    """How far runs may go astray, as it is configured (WR)."""
    lessons: Lessons | None = None
    """What failed and what worked in earlier runs; None: nobody keeps it."""
    inferencer: ReplanInferencer | None = None
    """Asked for other approaches after all else; None: there is no LLM."""
    decider: Decider | None = None
    """Chooses where two elements are too close to call; None: a person is needed then."""
    memory: ElementMemory = field(default_factory=ElementMemory)
    download_folder: Path | None = None
    """Where downloads are kept that a task asks for; None: nowhere."""
    upload_folder: Path | None = None
    """The only place from which files are given to pages; None: anywhere."""
    last_known: str | None = None
    """The last screen that was recognised: where recovery starts."""
    current: Identification | None = None
    _looked_at: str = ""
    """The address of the last look."""
    _came_at: float = field(default_factory=time.monotonic)
    """When the page was first seen to be what it is: at this address, this screen."""
    _stale: bool = True
    """Something was done since the last look that may have changed the screen."""
    _unsure: bool = False
    """Something was done since the last look that should not have changed the screen."""
    _revision: str | None = None
    """The page's state at the last look; None where it could not be told."""
    _seen: str | None = None
    """The page's state when it was last asked anything."""

    def touched(self, *, screen: bool = True) -> None:
        """Something was done on the page: what is known of the screen may be out of date.

        `screen` False: it shows another screen only if the page changed for it.
        """
        self._stale, self._unsure = self._stale or screen, True

    def on(self, page: Page) -> Session:
        """The same session on another page (a tab)."""
        return replace(
            self, page=page, veil=None, last_known=None, current=None, _stale=True, _revision=None,
            _came_at=time.monotonic(),
        )  # fmt: skip

    def check_origin(self) -> None:
        """Raises `LedAway` where the page is one of another website."""
        origin = origin_of(self.page.url)
        if origin.startswith(("http://", "https://")) and origin not in self.allowed_origins:
            raise LedAway(self.page.url, origin, self.allowed_origins)

    @property
    def screen_id(self) -> str | None:
        """The screen of the last look; it may be out of date after an action."""
        return self.current.screen_id if self.current else None

    @property
    def here_s(self) -> float:
        """How long the page has been what it is, as far as it was looked at."""
        return time.monotonic() - self._came_at

    @property
    def allowed_origins(self) -> frozenset[str]:
        """Where the agent may act."""
        return frozenset({origin_of(self.base_url), *(origin_of(o) for o in self.website.allowed_origins)})

    async def snapshot(self) -> PageSnapshot:
        """The page as it is, without secrets."""
        taken, self._seen = await snapshot_and_revision(self.page, self.secret_fields)
        return self._without_secrets(taken)

    def _without_secrets(self, taken: PageSnapshot) -> PageSnapshot:
        redact = self.context.redact
        return taken.model_copy(
            update={"html": redact(taken.html), "title": redact(taken.title), "url": redact(taken.url)}
        )

    async def see(self) -> Identification:
        """Which screen the page is: as at the last look where nothing changed since then."""
        if self._knows_the_address() and self.current is not None and self._revision is not None:
            taken, self._seen = await snapshot_unless(self.page, self.secret_fields, self._revision)
            if taken is None:
                self._unsure = False
                return self.current
            self.check_origin()
            return await self._identify(self._without_secrets(taken))
        return await self.look()

    def _knows_the_address(self) -> bool:
        return not self._stale and self.context.redact(self.page.url) == self._looked_at

    async def look(self) -> Identification:
        """Ask the desk which screen the page is. Raises `LedAway`."""
        self.check_origin()
        return await self._identify(await self.snapshot())

    async def _identify(self, snapshot: PageSnapshot) -> Identification:
        revision = self._seen
        found = await self.knowledge.identify(snapshot, self.last_known)
        changed = self.current is None or self.current.screen_id != found.screen_id
        if changed or snapshot.url != self._looked_at:
            self._came_at = time.monotonic()
        self._looked_at, self._revision = snapshot.url, revision  # without secrets, as all that is written
        self._stale = self._unsure = False
        self.current = found
        if found.screen_id is not None:
            self.last_known = found.screen_id
        if changed:
            self.bus.tell(ScreenSeen(found.screen_id, found.name, found.confidence, self.page.url))
        return found

    async def look_for(
        self, screens: Iterable[str] | None = None, timeout_s: float = SETTLE_S
    ) -> Identification:
        """Look until the page is one of `screens` (None: any known screen), at most `timeout_s`.

        Returns the last identification, whatever it is.
        """
        wanted = frozenset(screens) if screens is not None else None
        deadline = time.monotonic() + timeout_s
        while True:
            found = await self.see()
            if found.screen_id is not None and (wanted is None or found.screen_id in wanted):
                return found
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return found
            await wait_for_change(self.page, remaining, self._seen)

    async def elements(self) -> dict[str, UIElement]:
        """The elements of the screen the page is now, by id; empty where it is unknown."""
        if self.screen_id is None or not self._knows_the_address():
            await self.look()
        elif self._unsure:
            await self.see()
        if self.screen_id is None:
            return {}
        screen = await self.knowledge.screen(self.screen_id)
        elements = {element.element_id: element for element in screen.ui_elements}
        for element_id, element in elements.items():
            healed = self.memory.healed((self.screen_id, element_id))
            if healed is not None:
                selector = beginning_with(healed, element.selector)
                elements[element_id] = element.model_copy(update={"selector": selector})
        return elements

    async def scope(self, values: Mapping[str, Any] | None = None) -> ElementScope:
        """How conditions look elements up right now."""
        return ElementScope(await self.elements(), self.website.authenticated_when, values or {})

    async def judge(
        self,
        conditions: Sequence[BaseCondition],
        values: Mapping[str, Any] | None = None,
        facts: Facts | None = None,
    ) -> list[Verdict]:
        """How conditions come out now: one round trip to the page, and one to the desk where a
        condition asks for the screen and the page has changed since the last look. `facts` carries what
        neither can say.
        """
        if not conditions:
            return []
        self.check_origin()
        known = replace(
            facts or Facts(),
            path_base=self.base_url,
            authored_base=self.website.base_url,
            context={**self.context.session, **(values or {})},
        )
        by_screen = any(condition.needs_screen for condition in conditions)
        by_element = any(elements_named(condition) for condition in conditions)
        looked = 0
        if by_screen and (self.current is None or self._revision is None or not self._knows_the_address()):
            await self.look()
            looked = 1
        while True:
            elements = await self.elements() if by_element else {}
            healed = self._healed(conditions)
            scope = ElementScope(elements, self.website.authenticated_when, values or {}, healed)
            if by_screen:
                known = replace(known, screen_known=True, screen_id=self.screen_id)
            judged, seen = await evaluate(self.page, conditions, scope, known)
            verdicts = [told(v, c, healed) for v, c in zip(judged, conditions, strict=True)]
            self._seen = seen.revision
            same = looked > 0 and self._knows_the_address()  # what moved on it did so while it was looked at
            if not by_screen or same or seen.revision == self._revision or looked == LOOKS:
                return verdicts
            await self.look()  # the page is not the one that was identified any more
            looked += 1

    def _healed(self, conditions: Sequence[BaseCondition]) -> dict[str, Selector]:
        """What the elements that conditions name were found by, where they are not as they are written."""
        found: dict[str, Selector | None] = {}
        for reference in frozenset[str]().union(*map(references, conditions)):
            if looks_like_css(reference):
                found[reference] = self.memory.healed_unlisted(css(reference), self.page.url)
            elif self.screen_id is not None:
                found[reference] = self.memory.healed((self.screen_id, reference))
        return {reference: selector for reference, selector in found.items() if selector is not None}

    async def judge_until_held(
        self,
        conditions: Sequence[BaseCondition],
        values: Mapping[str, Any] | None = None,
        *,
        timeout_s: float = SETTLE_S,
    ) -> list[Verdict]:
        """Judge again whenever the page changes, until all hold or the time is up: that of a condition where
        it has one of its own, else `timeout_s`.

        A condition with `success: false` is evidence of failure: it is judged too, and ends the
        waiting as soon as it holds. What no page can change is not waited for.
        """
        longest = max((timeout_s if c.timeout is None else c.timeout for c in conditions), default=0.0)
        deadline = time.monotonic() + longest
        while True:
            verdicts = await self.judge(conditions, values)
            done = all(
                verdict.held for condition, verdict in zip(conditions, verdicts, strict=True)
                if condition.success is not False
            )  # fmt: skip
            failed = any(
                verdict.held for condition, verdict in zip(conditions, verdicts, strict=True)
                if condition.success is False
            )  # fmt: skip
            hopeless = any(
                condition.of_the_run and condition.success is not False and not verdict.held
                for condition, verdict in zip(conditions, verdicts, strict=True)
            )
            remaining = deadline - time.monotonic()
            if done or failed or hopeless or remaining <= 0 or self.page.url.startswith(BROWSERS_OWN_ERROR):
                return verdicts
            if any(verdict.status is Status.UNKNOWN for verdict in verdicts):
                self.touched()  # perhaps the screen is another one by now
            await wait_for_change(self.page, remaining, self._seen)

    async def signed_in(self) -> bool | None:
        """Whether the website's own conditions say so; None where they cannot tell."""
        (verdict,) = await self.judge([Authenticated(type="authenticated")])
        return None if verdict.status is Status.UNKNOWN else verdict.held

    async def facts(self) -> dict[str, bool]:
        """What is known for path finding and recovery."""
        signed_in = await self.signed_in()
        return {} if signed_in is None else {"authenticated": signed_in}
