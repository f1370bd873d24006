"""One page under control of the agent: what it shows, which screen it is, whether conditions hold.

The task runner, the guide and the flow player share it. Navigation is `agent.guide`, executing tasks is
`agent.execution`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, Page

from agent import retry_limits
from agent.errors import LeftWebsite
from agent.events import EventBus, ScreenSeen
from agent.healing.element_memory import ElementMemory
from agent.healing.element_wait import ElementWait
from agent.healing.healed_conditions import add_healing_evidence, list_element_references
from agent.healing.healer import CandidateDecider, HealPolicy
from agent.inferencer import ReplanInferencer
from agent.judged_texts import TextJudgements
from agent.knowledge_client import KnowledgeClient
from agent.media.secret_mask import SecretMask
from agent.page.action_requests import ActionPace
from agent.page.condition_probes import PageFacts, answers_all, probe_page
from agent.page.live_selectors import fill_selector_parameters, prepend_strategies
from agent.page.page_changes import LONGEST_WAIT_S, wait_for_change
from agent.page.page_refusals import RefusalSigns
from agent.page.page_writes import PressAnswers
from agent.page.snapshot_capture import probe_and_take, take_snapshot_if_changed, take_snapshot_with_revision
from agent.ports import FailureMemory, KeptValuesPort, StepPicturesPort
from agent.run_context import RunContext
from agent.unsaved_entries import UnsavedEntries
from kb_schema.condition_evaluation import collect_probes, judge_conditions
from kb_schema.conditions import Authenticated, BaseCondition, NumberChanged
from kb_schema.objectives import DEFAULT_OBJECTIVE, Objective
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import Probe, ProbeAnswer, ProbeFacts, Verdict, VerdictStatus
from kb_schema.resilience_policy import ResiliencePolicy
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector, css, looks_like_css
from kb_schema.tool_answers import Identification
from kb_schema.url_patterns import origin_of
from kb_schema.websites import Website

SETTLE_S = 5.0
"""Seconds a page may take to become the expected screen (KS 4.7 `validation_timeout`)."""
ELSEWHERE_S = 1.5
"""Seconds another known screen may stay where an opened address leads on to the expected one by script."""


LOOKS = 3
"""How often a page is identified again for one judgement while it is being redirected."""
RECENT_S = LONGEST_WAIT_S
"""Seconds for which what the page answered may count as now, if nothing was done to it since: so late a wait sees a change that the
page does not tell."""
BROWSERS_OWN_ERROR = "chrome-error://"
"""Address of a page that got no answer: nothing more will appear on it."""


def elements_named(condition: BaseCondition) -> frozenset[str]:
    """Return the ids of the elements that a condition names."""
    return frozenset(each for each in list_element_references(condition) if not looks_like_css(each))


@dataclass(frozen=True, slots=True)
class ElementScope:
    """Looks up one screen's elements for conditions (`kb_schema.probes.ConditionScope`)."""

    elements: Mapping[str, UIElement]
    signed_in_when: tuple[Any, ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    healed: Mapping[str, Selector] = field(default_factory=dict)
    """CSS that finds nothing any more -> the selector that replaces it."""

    def element(self, reference: str | Selector) -> Selector | None:
        """Return an element's selector, by id, else as CSS; parameters are filled from the run's values."""
        if isinstance(reference, Selector):
            selector = reference
        elif reference in self.elements:
            selector = self.elements[reference].selector
        elif looks_like_css(reference):
            selector = css(reference)
            if reference in self.healed:
                selector = prepend_strategies(self.healed[reference], selector)
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
    knowledge: KnowledgeClient
    website: Website
    base_url: str
    browser: BrowserContext | None = None
    """Where further pages are opened; None: the context of the page."""
    lent: bool = False
    """Whether the browser is a person's: its cookies are not stored."""
    context: RunContext = field(default_factory=RunContext)
    bus: EventBus = field(default_factory=EventBus)
    pace: ActionPace = field(default_factory=ActionPace)
    secret_fields_only: bool = False
    """Whether secrets are typed only into fields that the page itself shows to be for secrets."""
    secret_fields: list[Selector] = field(default_factory=list)
    """Fields that were given a secret: snapshots leave their values out."""
    veil: SecretMask | None = None
    """Covers secrets while the page is filmed; None: it is not filmed."""
    pictures: StepPicturesPort | None = None
    """Takes a picture after each step; None: none are taken."""
    healing: HealPolicy = field(default_factory=HealPolicy)
    resilience: ResiliencePolicy = field(default_factory=ResiliencePolicy)
    """The configured limits of retrying and replanning (WR)."""
    lessons: FailureMemory | None = None
    """What failed and what worked in earlier runs; None: not stored."""
    kept_values: KeptValuesPort | None = None
    """Outputs of global scope from earlier runs; None: not stored."""
    inferencer: ReplanInferencer | None = None
    """Suggests other approaches after all else failed; None: there is no language model."""
    reasoning: str | None = None
    """Why the present action is done, where a model chose it: the goal of its agent step (MA 1)."""
    decider: CandidateDecider | None = None
    """Chooses between two elements with nearly equal scores; None: a person must."""
    end: PageSnapshot | None = None
    """The page at the end of the last step, where others are opened afterwards for evidence; None: the present one."""
    judgements: TextJudgements | None = None
    """Asks a language model about conditions whose author wants that; None: they stay unknown."""
    memory: ElementMemory = field(default_factory=ElementMemory)
    element_wait: ElementWait = field(default_factory=ElementWait)
    """How long the present step may wait for its element."""
    objective: Objective | None = None
    """`--objective`: by what paths are chosen, whatever tasks say; None: it was not given."""
    usual_objective: Objective = DEFAULT_OBJECTIVE
    """The setting, for tasks that state none."""
    task_objective: Objective | None = None
    """The objective of the task under way, or of one around it."""
    step_timeout_s: float | None = None
    """`--step-timeout`, which overrides what the knowledge and the settings say; None: it was not given."""
    download_folder: Path | None = None
    """Folder for the downloads that a task asks for; None: there is none."""
    most_download_mb: int = retry_limits.DOWNLOAD_MB
    """Size of one of them in MB; a larger one is stopped."""
    upload_folder: Path | None = None
    """The only folder from which files are uploaded; None: any folder."""
    presses: PressAnswers = field(default_factory=PressAnswers)
    """What presses of this run sent."""
    before_press: RefusalSigns | None = None
    """What the page showed before the last press; None: nothing was pressed yet, or it could not be read."""
    entries: UnsavedEntries = field(default_factory=UnsavedEntries)
    """What was entered on the page and sent nowhere."""
    beside: bool = False
    """It reads pages in a second tab, which is no step of the task."""
    criteria: Callable[[], Awaitable[bool]] | None = None
    """Whether the success criteria of the run hold now; None: it has none."""
    last_known: str | None = None
    """The last screen that was identified: recovery starts from it."""
    current: Identification | None = None
    _looked_at: str = ""
    """The address at the last identification."""
    _came_at: float = field(default_factory=time.monotonic)
    """When the page was first seen at this address and screen."""
    _stale: bool = True
    """True after an action that may have changed the screen."""
    _unsure: bool = False
    """True after an action that should not have changed the screen."""
    _revision: str | None = None
    """The page's revision at the last identification; None if it is unknown."""
    _seen: str | None = None
    """The page's revision at the last request to the page."""
    _answered: tuple[PageFacts, float] | None = None
    """What the page answered last, and when it was asked; None: something was done to it since, or it was waited for."""

    def touched(self, *, screen: bool = True) -> None:
        """Note that an action was performed: the identified screen may be out of date.

        `screen` False: the action shows another screen only if the page changes.
        """
        self._stale, self._unsure = self._stale or screen, True
        self.forget_answers()

    def forget_answers(self) -> None:
        """Note that something is done to the page, or waited for: what it answered before is not how it is now."""
        self._answered = None

    def on(self, page: Page) -> Session:
        """Return the same session on another page (a tab)."""
        return replace(
            self,
            page=page,
            beside=True,
            veil=None,
            pictures=None,
            entries=UnsavedEntries(),
            last_known=None,
            current=None,
            _stale=True,
            _revision=None,
            _answered=None,
            _came_at=time.monotonic(),
        )

    def check_origin(self) -> None:
        """Raises `LeftWebsite` if the page belongs to another website."""
        origin = origin_of(self.page.url)
        if origin.startswith(("http://", "https://")) and origin not in self.allowed_origins:
            raise LeftWebsite(self.page.url, origin, self.allowed_origins)

    @property
    def screen_id(self) -> str | None:
        """The screen of the last identification; it may be out of date after an action."""
        return self.current.screen_id if self.current else None

    @property
    def here_s(self) -> float:
        """Seconds since the page was first seen at this address and screen."""
        return time.monotonic() - self._came_at

    @property
    def allowed_origins(self) -> frozenset[str]:
        """Origins on which the agent may act."""
        return frozenset({origin_of(self.base_url), *(origin_of(o) for o in self.website.allowed_origins)})

    async def snapshot(self) -> PageSnapshot:
        """Return the page as it is now, without secrets."""
        asked_at = time.monotonic()
        taken, self._seen = await take_snapshot_with_revision(self.page, self.secret_fields)
        self._answered = PageFacts(taken.url, taken.title, taken.ready_state or "", self._seen), asked_at
        return self._without_secrets(taken)

    def _without_secrets(self, taken: PageSnapshot) -> PageSnapshot:
        redact = self.context.redact
        return taken.model_copy(
            update={"html": redact(taken.html), "title": redact(taken.title), "url": redact(taken.url)}
        )

    async def see(self) -> Identification:
        """Return which screen the page is; the last answer if the page has not changed."""
        if self._knows_the_address() and self.current is not None and self._revision is not None:
            taken, self._seen = await take_snapshot_if_changed(self.page, self.secret_fields, self._revision)
            if taken is None:
                self._unsure = False
                return self.current
            self.forget_answers()
            self.check_origin()
            return await self._identify(self._without_secrets(taken))
        return await self.look()

    def _knows_the_address(self) -> bool:
        return not self._stale and self.context.redact(self.page.url) == self._looked_at

    async def look(self) -> Identification:
        """Ask the knowledge server which screen the page is. Raises `LeftWebsite`."""
        self.check_origin()
        return await self._identify(await self.snapshot())

    async def _identify(self, snapshot: PageSnapshot) -> Identification:
        revision = self._seen
        found = await self.knowledge.identify(snapshot, self.last_known)
        changed = self.current is None or self.current.screen_id != found.screen_id
        if changed or snapshot.url != self._looked_at:
            self._came_at = time.monotonic()
        self._looked_at, self._revision = snapshot.url, revision  # without secrets, like everything stored
        self._stale = self._unsure = False
        self.current = found
        if found.screen_id is not None:
            self.last_known = found.screen_id
        if changed:
            self.bus.tell(ScreenSeen(found.screen_id, found.name, found.confidence, self.page.url))
        return found

    async def look_for(
        self,
        screens: Iterable[str] | None = None,
        timeout_s: float = SETTLE_S,
        *,
        elsewhere_s: float | None = None,
    ) -> Identification:
        """Identify the page until it is one of `screens` (None: any known screen), at most `timeout_s`.

        `elsewhere_s`: at most so long while it stays the same known screen that is none of them. Returns the last
        identification, whatever it is.
        """
        wanted = frozenset(screens) if screens is not None else None
        deadline, other, until = time.monotonic() + timeout_s, None, 0.0
        while True:
            found = await self.see()
            if found.screen_id is not None and (wanted is None or found.screen_id in wanted):
                return found
            now, ends = time.monotonic(), deadline
            if elsewhere_s is not None and found.screen_id is not None:
                if found.screen_id != other:
                    other, until = found.screen_id, now + elsewhere_s
                ends = min(deadline, until)
            else:
                other = None
            if ends <= now:
                return found
            await wait_for_change(self.page, ends - now, self._seen)

    async def elements(self) -> dict[str, UIElement]:
        """Return the elements of the present screen by id; empty if the screen is unknown."""
        if self.screen_id is None or not self._knows_the_address():
            await self.look()
        elif self._unsure:
            await self.see()
        return await self._list_elements()

    async def _list_elements(self) -> dict[str, UIElement]:
        """Return the elements of the screen that was identified last, without asking the page."""
        if self.screen_id is None:
            return {}
        screen = await self.knowledge.screen(self.screen_id)
        elements = {element.element_id: element for element in screen.ui_elements}
        for element_id, element in elements.items():
            healed = self.memory.healed((self.screen_id, element_id))
            if healed is not None:
                selector = prepend_strategies(healed, element.selector)
                elements[element_id] = element.model_copy(update={"selector": selector})
        return elements

    async def scope(self, values: Mapping[str, Any] | None = None) -> ElementScope:
        """Return how conditions look up elements now."""
        return ElementScope(await self.elements(), self.website.authenticated_when, values or {})

    async def judge(
        self,
        conditions: Sequence[BaseCondition],
        values: Mapping[str, Any] | None = None,
        facts: ProbeFacts | None = None,
        *,
        recent: bool = False,
        ahead: tuple[Sequence[BaseCondition], Mapping[str, Any]] = ((), {}),
    ) -> list[Verdict]:
        """Judge conditions now. `facts` carries what neither the page nor the knowledge server can tell.

        One round trip to the page, and one to the knowledge server if a condition needs the screen and the
        page has changed since the last identification. `recent`: no round trip if the page answered all that is asked within the last
        `RECENT_S` seconds and nothing was done since. `ahead`: conditions that are judged next, with their values; the page is asked
        for them as well.
        """
        if not conditions:
            return []
        self.check_origin()
        known = replace(
            facts or ProbeFacts(),
            path_base=self.base_url,
            authored_base=self.website.base_url,
            accepted=None if self.presses.forgotten else tuple(self.presses.accepted),
            numbers=dict(self.presses.numbers),
            context={**self.context.session, **(values or {})},
        )
        by_screen = any(condition.needs_screen for condition in conditions)
        seen, scope = await self._answers(conditions, values or {}, ahead, by_screen=by_screen, recent=recent)
        if by_screen:
            known = replace(known, screen_known=True, screen_id=self.screen_id)
        now = replace(
            known, url=seen.url, title=seen.title, ready_state=seen.ready_state, answers=seen.answers
        )
        judged, healed = judge_conditions(conditions, now, scope), scope.healed
        self._note_numbers(conditions, seen.answers)
        verdicts = [add_healing_evidence(v, c, healed) for v, c in zip(judged, conditions, strict=True)]
        if self.judgements is None:
            return verdicts
        return await self.judgements.complete(self.page, conditions, verdicts)

    async def _answers(
        self,
        conditions: Sequence[BaseCondition],
        values: Mapping[str, Any],
        ahead: tuple[Sequence[BaseCondition], Mapping[str, Any]],
        *,
        by_screen: bool,
        recent: bool,
    ) -> tuple[PageFacts, ElementScope]:
        """Return what the page answers to the conditions, and the scope by which it was asked: of the screen that it is. See `judge`."""
        by_element = any(elements_named(condition) for condition in (*conditions, *ahead[0]))
        looked = 0
        while True:
            screen_id = self.screen_id
            elements = await self._list_elements() if by_element else {}
            healed = self._healed(conditions)
            scope = ElementScope(elements, self.website.authenticated_when, values, healed)
            look = self._may_be_elsewhere(by_screen=by_screen, by_element=by_element)
            asked = collect_probes(conditions, scope)
            following = collect_probes(ahead[0], replace(scope, values=ahead[1]))
            seen = await self._ask(asked, following, look=look, recent=recent and not looked)
            other = by_element and self.screen_id != screen_id
            left = by_screen and seen.revision != self._revision and not (look and self._knows_the_address())
            if looked == LOOKS or not (other or left):
                return seen, scope
            self._stale = self._stale or left  # the page changed since it was identified
            looked += 1

    def _may_be_elsewhere(self, *, by_screen: bool, by_element: bool) -> bool:
        """Whether the page has to be identified again for conditions about its screen, or about elements by id."""
        if by_screen and (self.current is None or self._revision is None or not self._knows_the_address()):
            return True
        return by_element and (self.screen_id is None or self._unsure or not self._knows_the_address())

    async def _ask(
        self, probes: Sequence[Probe], following: Sequence[Probe], *, look: bool, recent: bool
    ) -> PageFacts:
        """Return the page's answers to the probes; it is asked for those that follow, too. See `judge`.

        `look`: it is identified again, in the same round trip, unless it has not changed.
        """
        if recent and not look and self._answered is not None:
            facts, at = self._answered
            if time.monotonic() - at < RECENT_S and facts.url == self.page.url and answers_all(facts, probes):
                return facts
        asked_at, taken = time.monotonic(), None
        if look:
            sure = self._knows_the_address() and self.screen_id is not None
            facts, taken = await probe_and_take(
                self.page, (*probes, *following), self.secret_fields, self._revision if sure else None
            )
        else:
            facts = await probe_page(self.page, (*probes, *following))
        self._seen = facts.revision
        self._answered = facts, asked_at
        if taken is not None:
            self.check_origin()
            await self._identify(self._without_secrets(taken))
        elif look:
            self._unsure = False
        return facts

    def _note_numbers(self, conditions: Sequence[BaseCondition], answers: Mapping[str, ProbeAnswer]) -> None:
        """Remember what counters show where the run sees them first; after a resume that is not known."""
        for each in conditions:
            number = each.read(answers) if isinstance(each, NumberChanged) else None
            if isinstance(each, NumberChanged) and number is not None and not self.presses.forgotten:
                self.presses.numbers.setdefault(each.selector, number)

    def _healed(self, conditions: Sequence[BaseCondition]) -> dict[str, Selector]:
        """Return the selectors that replace broken ones among the elements that conditions name."""
        found: dict[str, Selector | None] = {}
        for reference in frozenset[str]().union(*map(list_element_references, conditions)):
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
        recent: bool = False,
    ) -> list[Verdict]:
        """Judge conditions whenever the page changes, until all hold or the time is up.

        The time is the condition's own timeout if it has one, else `timeout_s`. A condition with `success:
        false` is evidence of failure: the wait ends as soon as it holds. Conditions that no page change can
        affect are not waited for. `recent`: as in `judge`, the first time.
        """
        longest = max((timeout_s if c.timeout is None else c.timeout for c in conditions), default=0.0)
        deadline = time.monotonic() + longest
        while True:
            verdicts = await self.judge(conditions, values, recent=recent)
            recent = False
            done = all(
                verdict.held
                for condition, verdict in zip(conditions, verdicts, strict=True)
                if condition.success is not False
            )
            failed = any(
                verdict.held
                for condition, verdict in zip(conditions, verdicts, strict=True)
                if condition.success is False
            )
            hopeless = any(
                condition.of_the_run and condition.success is not False and not verdict.held
                for condition, verdict in zip(conditions, verdicts, strict=True)
            )
            remaining = deadline - time.monotonic()
            if done or failed or hopeless or remaining <= 0 or self.page.url.startswith(BROWSERS_OWN_ERROR):
                return verdicts
            if any(verdict.status is VerdictStatus.UNKNOWN for verdict in verdicts):
                self.touched()  # the screen may have changed
            await wait_for_change(self.page, remaining, self._seen)

    async def signed_in(self, *, recent: bool = False) -> bool | None:
        """Return whether the website's own conditions say that the session is signed in; None if they cannot
        tell.
        """
        (verdict,) = await self.judge([Authenticated(type="authenticated")], recent=recent)
        return None if verdict.status is VerdictStatus.UNKNOWN else verdict.held

    def choose_objective(self) -> Objective:
        """Return by what paths are chosen now: as the person says, the task, or the settings."""
        return self.objective or self.task_objective or self.usual_objective

    async def facts(self) -> dict[str, bool]:
        """Return the facts that path finding and recovery use."""
        signed_in = await self.signed_in(recent=True)
        return {} if signed_in is None else {"authenticated": signed_in}
