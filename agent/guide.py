"""Navigation: open the website, follow transitions, return from unknown pages (KS 6.2, 9.8, 9.13).

The guide performs transitions through a `CallPerformer` (the task runner), so that a click on the way passes
the same gate and the same waits as a click of a task.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Protocol

from playwright.async_api import Error as PlaywrightError

from agent import retry_limits
from agent.errors import (
    AgentError,
    InputMissing,
    KnowledgeUnavailable,
    NoKnownScreen,
    NoPath,
    SiteUnreachable,
    StepFailed,
    UnknownToKnowledge,
)
from agent.events import Recovered, Struggling, TransitionTaken
from agent.page.errors import (
    ActionMisused,
    GateFailed,
    GatePoint,
    OriginRefused,
    PageError,
    PageGone,
    SelectorNotFilled,
)
from agent.run_records.action_reports import report_opening
from agent.session import SETTLE_S, Session
from kb_schema.action_calls import ActionCall
from kb_schema.base import CURRENT_SCREEN
from kb_schema.conditions import ContextEquals
from kb_schema.graph_documents import Transition
from kb_schema.selectors import Selector
from kb_schema.templates import tree_variables
from kb_schema.tool_answers import Identification, Path, PathStep, RecoveryOption
from kb_schema.url_patterns import origin_of, resolve

CHANGES = ("creates_entity", "updates_entity", "deletes_entity")
"""Effects of transitions that are never used for navigation: they save or delete something."""

_ERRORS_OF_VALUES = frozenset({"missing_variable", "bad_value", "missing_parameter"})
"""Errors of steps that lack a value, or have one that cannot be used."""
_ERRORS_OF_RUN = (
    InputMissing,
    KnowledgeUnavailable,
    SiteUnreachable,
    UnknownToKnowledge,
    ActionMisused,
    OriginRefused,
    PageGone,
    SelectorNotFilled,
)
"""Errors of which the transition is not the cause."""


class EdgeRecovery(Protocol):
    """Applies the recoveries that transitions name."""

    async def recover_transition(self, name: str, error: Exception) -> bool:
        """Apply one; True if the transition may be tried again."""


class CallPerformer(Protocol):
    """Performs one action call on the session's page."""

    @property
    def recovering(self) -> EdgeRecovery:
        """Applies the recoveries of transitions that did not arrive."""

    async def perform_call(self, call: ActionCall, values: Mapping[str, object]) -> None:
        """Perform one call. Raises `StepFailed` or a `PageError`."""


class Guide:
    """Navigates a session's page between screens."""

    def __init__(self, session: Session, performer: CallPerformer) -> None:
        self._session = session
        self._performer = performer
        self._recovering = False
        self._recovering_transition = False
        self._failures: dict[str, str] = {}
        """Transition -> why it did not arrive when it was taken last."""

    async def arrive(self, *, leaves: bool = False) -> None:
        """Open the website if the page is elsewhere, and wait until a screen is known. Raises `SiteUnreachable`.

        `leaves`: what comes next opens a page of its own, so nothing is waited for.
        """
        session = self._session
        if origin_of(session.page.url) in session.allowed_origins:
            return
        await self.open(session.base_url)
        await session.look_for(timeout_s=0.0 if leaves else SETTLE_S)

    async def go_to(
        self,
        screen_id: str,
        *,
        method: str | None = None,
        url: str | None = None,
        patience_s: float = 0.0,
    ) -> Identification:
        """Go to a screen along transitions, or by its URL if there is no path or `method` is `direct_url`.

        `patience_s`: seconds the screen may take to appear, if these are more than its signature allows (KS 4.3, 4.7).
        Transitions that need a value, for example the row that is pressed, take it from the task under way, else from
        the run. Returns at once if the page shows the screen already. Raises `UnknownToKnowledge`, `NoPath`,
        `NoKnownScreen`, `SiteUnreachable`.
        """
        session = self._session
        if method == "direct_url" and origin_of(session.page.url) not in session.allowed_origins:
            address = url or (await session.knowledge.screen(screen_id)).url
            if address is not None:  # skip the start page
                return await self._open_screen(screen_id, address, patience_s)
        await self.arrive()
        here = await session.look_for(timeout_s=1.0)
        if here.screen_id == screen_id and (url is None or session.page.url == self.resolved(url)):
            return here
        screen = await session.knowledge.screen(screen_id)
        direct = url or screen.url
        if url is not None and here.screen_id == screen_id:
            method = "direct_url"  # the same screen with another record
        if method == "direct_url" and direct is not None:
            return await self._open_screen(screen_id, direct, patience_s)
        return await self._along(screen_id, None if method == "path" else direct, patience_s)

    async def _along(self, screen_id: str, direct: str | None, patience_s: float) -> Identification:
        """Go to a screen along transitions; open `direct` if they do not lead there, or to an unknown page."""
        session = self._session
        avoid: set[str] = set()
        needed: dict[str, str] = {}
        self._failures.clear()
        for _ in range(retry_limits.NAVIGATION_PATHS):
            start = session.screen_id
            if start is None:
                try:
                    start = (await self.recover()).screen_id
                except NoKnownScreen:
                    if direct is None:
                        raise
                    return await self._open_screen(screen_id, direct, patience_s)
            if start == screen_id:
                break
            path = await self._path_with_values(start, screen_id, avoid, needed) if start else None
            if path is None:
                if direct is None:
                    raise NoPath(start, screen_id, needed, self._failures)
                return await self._open_screen(screen_id, direct, patience_s)
            failed = await self._follow(path, patience_s)
            if failed is None:
                break
            avoid.add(failed)
        if session.screen_id != screen_id and direct is not None:
            return await self._open_screen(screen_id, direct, patience_s)
        if session.screen_id != screen_id or session.current is None:
            raise NoPath(session.screen_id, screen_id, needed, self._failures)
        return session.current

    async def follow(self, path: Path) -> None:
        """Perform a path that was found already. Raises `StepFailed` if a transition did not arrive."""
        failed = await self._follow(path)
        if failed is not None:
            raise StepFailed(
                f"transition {failed} did not lead to its target screen: {self._failures[failed]}",
                error="navigation_failed",
            )

    async def recover_by(self, option: RecoveryOption) -> None:
        """Perform one recovery edge. Raises `NoKnownScreen` if the page is unknown after it."""
        found = await self._try_recovery(option)
        known = found.screen_id is not None
        self._session.bus.tell(Recovered(option.recovery_id, option.to_screen, known))
        if not known:
            raise NoKnownScreen(self._session.page.url, (option.recovery_id,))

    async def recover(self) -> Identification:
        """Return from an unknown page to a known screen by the recovery edges of the last known screen.

        Raises `NoKnownScreen`.
        """
        session = self._session
        tried: list[str] = []
        found = await session.look_for(timeout_s=1.0)
        if found.screen_id is not None:
            return found
        if self._recovering:
            raise NoKnownScreen(session.page.url, ())  # a recovery edge led to an unknown page
        self._recovering = True
        try:
            return await self._recover(found, tried)
        finally:
            self._recovering = False

    async def _recover(self, found: Identification, tried: list[str]) -> Identification:
        session = self._session
        options = found.recovery or await session.knowledge.recoveries(
            session.last_known, await session.facts()
        )
        if options:
            session.bus.tell(Struggling("recovering", session.last_known or ""))
        for option in options[: retry_limits.RECOVERY_EDGES]:
            tried.append(option.recovery_id)
            found = await self._try_recovery(option)
            session.bus.tell(Recovered(option.recovery_id, option.to_screen, found.screen_id is not None))
            if found.screen_id is not None:
                return found
        raise NoKnownScreen(session.page.url, tuple(tried))

    async def _try_recovery(self, option: RecoveryOption) -> Identification:
        """Perform the edge's action, then its fallbacks, until the page is a known screen."""
        session = self._session
        session.entries.check_may_leave()
        call = ActionCall.model_validate(option.action)
        stays = option.to_screen == CURRENT_SCREEN
        found = session.current
        for attempt in (call, *call.fallback_actions):
            try:
                await self._performer.perform_call(attempt, {})
            except (AgentError, PageError):
                continue
            found = await session.look_for(None if stays else [option.to_screen], timeout_s=SETTLE_S)
            if found.screen_id is not None:
                return found
        return found or await session.look()

    async def _path_with_values(
        self, start: str, goal: str, avoid: set[str], needed: dict[str, str]
    ) -> Path | None:
        """Return the best path whose transitions have the values that they need; None if there is none.

        Transitions without their values are put into `avoid`, and what they lack into `needed`: name -> reason.
        """
        known = self._session.context.known_values()
        while (path := await self._path(start, goal, avoid)) is not None:
            lacking = {step.transition_id: list_lacking_values(step, known) for step in path.steps}
            if not any(lacking.values()):
                return path
            for transition_id, values in lacking.items():
                if values:
                    avoid.add(transition_id)
                    needed |= values
        return None

    async def _path(self, start: str, goal: str, avoid: set[str]) -> Path | None:
        session = self._session
        try:
            answer = await session.knowledge.paths(
                start,
                goal,
                objective=session.choose_objective(),
                avoid={"transitions": sorted(avoid), "effects": list(CHANGES)},
                facts=await session.facts(),
            )
        except UnknownToKnowledge:
            return None
        return answer.paths[0] if answer.paths else None

    async def _follow(self, path: Path, patience_s: float = 0.0) -> str | None:
        """Perform a path; return the id of the transition that failed, or None on arrival. `patience_s`: for its end."""
        self._session.entries.check_may_leave()
        for step in path.steps:
            patience = patience_s if step is path.steps[-1] else 0.0
            if not await self._take(step, patience) and not await self._recover_transition(step):
                return step.transition_id
        return None

    async def _take(self, step: PathStep, patience_s: float = 0.0) -> bool:
        """Perform a transition; return whether its target screen appeared."""
        session, edge = self._session, step.edge
        values = session.context.known_values()
        started = time.monotonic()
        arrived = ours = False
        try:
            await self._require(edge, values)
        except StepFailed as exc:  # nothing was tried: that says nothing about the transition
            self._failures[step.transition_id] = str(exc)
            await session.look()
            return False
        try:
            await self._performer.perform_call(edge.triggered_by, values)
            slowest_s = max(edge.duration.max or 0.0, (edge.duration.p95_duration_ms or 0.0) / 1000)
            patience = await self._find_patience(step.to_screen, patience_s, slowest_s)
            found = await session.look_for(_list_arrival_screens(step), timeout_s=patience)
            arrived = found.screen_id == step.to_screen
            reason = f"it led to {found.screen_id or 'an unknown page'}"
        except (AgentError, PageError) as exc:
            reason, ours = str(exc), await self._lies_with_run(edge, exc)
            await session.look()
        if not arrived:
            self._failures[step.transition_id] = reason
        if ours:
            return False
        session.bus.tell(
            TransitionTaken(
                step.transition_id,
                step.from_screen,
                step.to_screen,
                arrived,
                (time.monotonic() - started) * 1000,
            )
        )
        return arrived

    async def _lies_with_run(self, edge: Transition, error: Exception) -> bool:
        """Whether a transition failed for a reason of this run, which says nothing about its reliability.

        A value is missing or names no row that is there, a person is needed, or website, browser or knowledge server
        do not answer.
        """
        if isinstance(error, StepFailed):
            return error.error in _ERRORS_OF_VALUES
        if isinstance(error, GateFailed) and error.point is GatePoint.NOT_FOUND:
            call, elements = edge.triggered_by, await self._session.elements()
            element = elements.get(call.target) if isinstance(call.target, str) else None
            selector = call.target if isinstance(call.target, Selector) else element and element.selector
            return bool(tree_variables(call.to_json()) or (selector and selector.parameterized))
        return isinstance(error, _ERRORS_OF_RUN)

    async def _recover_transition(self, step: PathStep) -> bool:
        """Apply the recovery that the transition's `error_states` name for this screen (KS 4.4), then try
        the transition once more if the page is at its start. Return whether the target screen appeared.
        """
        session, edge = self._session, step.edge
        state = next((s for s in edge.error_states if s.screen_id == session.screen_id and s.recovery), None)
        if state is None or state.recovery is None or self._recovering_transition:
            return False
        self._recovering_transition = True
        try:
            error = StepFailed(f"{edge.local_id}: {state.reason}", error=state.reason, acted=True)
            again = await self._performer.recovering.recover_transition(state.recovery, error)
            found = await session.look_for([step.to_screen, step.from_screen], timeout_s=SETTLE_S)
            if found.screen_id == step.to_screen:
                return True
            return again and found.screen_id == step.from_screen and await self._take(step)
        finally:
            self._recovering_transition = False

    async def _require(self, transition: Transition, values: Mapping[str, object]) -> None:
        """Check the conditions a transition requires. A condition that cannot be judged does not hold."""
        conditions = transition.conditions.required
        verdicts = await self._session.judge(conditions, values, recent=True)
        for condition, verdict in zip(conditions, verdicts, strict=True):
            if not verdict.held:
                raise StepFailed(f"{transition.local_id} requires {condition.type}: {verdict.evidence}")

    async def _open_screen(self, screen_id: str, url: str, patience_s: float = 0.0) -> Identification:
        await self.open(url)
        patience = await self._find_patience(screen_id, patience_s)
        found = await self._session.look_for([screen_id], timeout_s=patience)
        if found.screen_id != screen_id:
            raise NoPath(found.screen_id, screen_id)
        return found

    async def _find_patience(self, screen_id: str, *allowed_s: float) -> float:
        """Return the seconds to wait for a screen: the longest that is allowed, by its signature too, at least
        `SETTLE_S`.
        """
        signature = (await self._session.knowledge.screen(screen_id)).state_signature
        return max(SETTLE_S, 0.0 if signature is None else signature.validation_timeout, *allowed_s)

    def resolved(self, url: str) -> str:
        """Return an authored address with the site's present base URL."""
        return resolve(url, authored_base=self._session.website.base_url, base=self._session.base_url)

    async def open(self, url: str) -> None:
        """Load an address. Raises `OriginRefused`, `SiteUnreachable`, `StepFailed`."""
        session = self._session
        session.entries.check_may_leave()
        target = self.resolved(url)
        if origin_of(target) not in session.allowed_origins:
            raise OriginRefused(target, origin_of(target), session.allowed_origins)
        session.touched()
        try:
            async with report_opening(session, target):
                await session.page.goto(target, wait_until="domcontentloaded")
        except PlaywrightError as exc:
            reason = exc.message.splitlines()[0].removeprefix("Page.goto: ")
            raise SiteUnreachable(target, reason) from exc


def list_lacking_values(step: PathStep, known: Mapping[str, object]) -> dict[str, str]:
    """Return the values that a transition needs and that are not known, or are others: name -> reason."""
    lacking = {name: "" for name in step.needs if known.get(name) in (None, "")}
    for each in step.edge.conditions.required:
        if isinstance(each, ContextEquals) and not _has_value(each, known.get(each.name)):
            lacking[each.name] = each.reason or ""
    return lacking


def _has_value(condition: ContextEquals, value: object) -> bool:
    return value not in (None, "") if condition.value is None else value == condition.value


def _list_arrival_screens(step: PathStep) -> set[str]:
    """Return the screens that end the wait for arrival: the transition's target and its error states.

    The start screen is not among them: the page shows it before anything happened.
    """
    astray = {state.screen_id for state in step.edge.error_states} - {step.from_screen}
    return {step.to_screen, *astray}
