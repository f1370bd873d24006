"""Finding the way: open the site, follow transitions, recover when lost (KS 6.2, 9.8, 9.13).

The guide carries out edges through a `Performer` (the engine), so that a click on the way passes
the same gate and the same waiting as a click of a task.
"""

from __future__ import annotations

import time
from typing import Protocol

from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError, Lost, NotInKnowledge, NoWay, SiteUnreachable, StepFailed
from agent.events import Recovered, Struggling, TransitionTaken
from agent.page.errors import OriginRefused, PageError
from agent.recovering.cases import Outcome
from agent.session import SETTLE_S, Session
from kb_schema.answers import Identification, Path, PathStep, RecoveryOption
from kb_schema.base import CURRENT_SCREEN
from kb_schema.calls import ActionCall
from kb_schema.graph import Transition
from kb_schema.urls import origin_of, resolve

MAX_RECOVERIES = 3
"""Ways out tried before giving up as lost."""
CHANGES = ("creates_entity", "updates_entity", "deletes_entity")
"""Effects of edges that do more than lead somewhere: nobody saves or deletes on the way."""
MAX_REPLANS = 3
"""New paths looked for on the way to one screen (WR: replans per step)."""


class OnTheWay(Protocol):
    """Carries out recoveries that edges name."""

    async def on_the_way(self, name: str, error: Exception) -> Outcome:
        """What it came to."""


class Performer(Protocol):
    """Carries out one action call on the session's page."""

    @property
    def recovering(self) -> OnTheWay:
        """What is done where an edge did not arrive."""

    async def perform_call(self, call: ActionCall, values: dict[str, object]) -> None:
        """Raises `StepFailed` or a `PageError`."""


class Guide:
    """Gets a session's page to screens."""

    def __init__(self, session: Session, performer: Performer) -> None:
        self._session = session
        self._performer = performer
        self._recovering = False
        self._mending = False

    async def arrive(self) -> None:
        """Open the website if the page is not on it. Raises `SiteUnreachable`."""
        session = self._session
        if origin_of(session.page.url) in session.allowed_origins:
            return
        await self.open(session.base_url)
        await session.look_for(timeout_s=SETTLE_S)

    async def go_to(
        self, screen_id: str, *, method: str | None = None, url: str | None = None
    ) -> Identification:
        """Get to a screen along transitions, or by its URL where there is no way (or `method` says
        `direct_url`). Being there already is enough.

        Raises `NotInKnowledge`, `NoWay`, `Lost`, `SiteUnreachable`.
        """
        session = self._session
        if method == "direct_url" and origin_of(session.page.url) not in session.allowed_origins:
            address = url or (await session.knowledge.screen(screen_id)).url
            if address is not None:  # nothing is gained by seeing another page first
                return await self._open_screen(screen_id, address)
        await self.arrive()
        here = await session.look_for(timeout_s=1.0)
        if here.screen_id == screen_id and (url is None or session.page.url == self.resolved(url)):
            return here
        screen = await session.knowledge.screen(screen_id)
        direct = url or screen.url
        if url is not None and here.screen_id == screen_id:
            method = "direct_url"  # the same kind of screen, of another thing
        if method == "direct_url" and direct is not None:
            return await self._open_screen(screen_id, direct)
        return await self._along(screen_id, None if method == "path" else direct)

    async def _along(self, screen_id: str, direct: str | None) -> Identification:
        """To a screen along transitions; by its address, where one may, if they do not lead there."""
        session = self._session
        avoid: set[str] = set()
        for _ in range(MAX_REPLANS):
            start = session.screen_id
            if start is None:
                start = (await self.recover()).screen_id
            if start == screen_id:
                break
            path = await self._path(start, screen_id, avoid) if start else None
            if path is None:
                if direct is None:
                    raise NoWay(start, screen_id)
                return await self._open_screen(screen_id, direct)
            failed = await self._follow(path)
            if failed is None:
                break
            avoid.add(failed)
        if session.screen_id != screen_id and direct is not None:
            return await self._open_screen(screen_id, direct)
        if session.screen_id != screen_id or session.current is None:
            raise NoWay(session.screen_id, screen_id)
        return session.current

    async def follow(self, path: Path) -> None:
        """Carry out a path that was found already. Raises `StepFailed` where one did not arrive."""
        failed = await self._follow(path)
        if failed is not None:
            raise StepFailed(f"{failed} did not lead where it should", error="navigation_failed")

    async def recover_by(self, option: RecoveryOption) -> None:
        """Take one recovery edge. Raises `Lost` where the page is no known screen after it."""
        found = await self._try_recovery(option)
        known = found.screen_id is not None
        self._session.bus.tell(Recovered(option.recovery_id, option.to_screen, known))
        if not known:
            raise Lost(self._session.page.url, (option.recovery_id,))

    async def recover(self) -> Identification:
        """From an unknown page back to a known screen, by the recovery edges of where one was last.

        Raises `Lost`.
        """
        session = self._session
        tried: list[str] = []
        found = await session.look_for(timeout_s=1.0)
        if found.screen_id is not None:
            return found
        if self._recovering:
            raise Lost(session.page.url, ())  # the way out needs a way out itself
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
        for option in options[:MAX_RECOVERIES]:
            tried.append(option.recovery_id)
            found = await self._try_recovery(option)
            session.bus.tell(Recovered(option.recovery_id, option.to_screen, found.screen_id is not None))
            if found.screen_id is not None:
                return found
        raise Lost(session.page.url, tuple(tried))

    async def _try_recovery(self, option: RecoveryOption) -> Identification:
        """The edge's action, then its fallbacks, until the page is known again."""
        session = self._session
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

    async def _path(self, start: str, goal: str, avoid: set[str]) -> Path | None:
        session = self._session
        try:
            answer = await session.knowledge.paths(
                start,
                goal,
                avoid={"transitions": sorted(avoid), "effects": list(CHANGES)},
                facts=await session.facts(),
            )
        except NotInKnowledge:
            return None
        return answer.paths[0] if answer.paths else None

    async def _follow(self, path: Path) -> str | None:
        """Carry out a path; the id of the transition that failed, or None on arrival."""
        for step in path.steps:
            if not await self._take(step) and not await self._mended(step):
                return step.transition_id
        return None

    async def _take(self, step: PathStep) -> bool:
        """Do what leads over an edge; whether one arrived."""
        session, edge = self._session, step.edge
        started = time.monotonic()
        arrived = False
        try:
            await self._require(edge)
            await self._performer.perform_call(edge.triggered_by, {})
            found = await session.look_for(_ends(step), timeout_s=_patience(edge))
            arrived = found.screen_id == step.to_screen
        except (AgentError, PageError):
            await session.look()
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

    async def _mended(self, step: PathStep) -> bool:
        """Where the edge says what to do about ending up here (KS 4.4 `error_states`): that, and the edge
        once more where it begins here. Whether one arrived after all.
        """
        session, edge = self._session, step.edge
        state = next((s for s in edge.error_states if s.screen_id == session.screen_id and s.recovery), None)
        if state is None or state.recovery is None or self._mending:
            return False
        self._mending = True
        try:
            error = StepFailed(f"{edge.local_id}: {state.reason}", error=state.reason, acted=True)
            outcome = await self._performer.recovering.on_the_way(state.recovery, error)
            found = await session.look_for([step.to_screen, step.from_screen], timeout_s=SETTLE_S)
            if found.screen_id == step.to_screen:
                return True
            return outcome is Outcome.AGAIN and found.screen_id == step.from_screen and await self._take(step)
        finally:
            self._mending = False

    async def _require(self, transition: Transition) -> None:
        """What the edge requires holds on the page; what cannot be told does not count as holding."""
        conditions = transition.conditions.required
        verdicts = await self._session.judge(conditions)
        for condition, verdict in zip(conditions, verdicts, strict=True):
            if not verdict.held:
                raise StepFailed(f"{transition.local_id} requires {condition.type}: {verdict.evidence}")

    async def _open_screen(self, screen_id: str, url: str) -> Identification:
        await self.open(url)
        found = await self._session.look_for([screen_id])
        if found.screen_id != screen_id:
            raise NoWay(found.screen_id, screen_id)
        return found

    def resolved(self, url: str) -> str:
        """An authored address where the site is now."""
        return resolve(url, authored_base=self._session.website.base_url, base=self._session.base_url)

    async def open(self, url: str) -> None:
        """Load an address. Raises `OriginRefused`, `SiteUnreachable`."""
        session = self._session
        target = self.resolved(url)
        if origin_of(target) not in session.allowed_origins:
            raise OriginRefused(target, origin_of(target), session.allowed_origins)
        session.touched()
        try:
            await session.page.goto(target, wait_until="domcontentloaded")
        except PlaywrightError as exc:
            reason = exc.message.splitlines()[0].removeprefix("Page.goto: ")
            raise SiteUnreachable(target, reason) from exc


def _ends(step: PathStep) -> set[str]:
    """Where the edge ends, and where it is known to end up instead: one waits for neither any longer. The
    screen it begins on tells nothing, since one is there before anything happened.
    """
    astray = {state.screen_id for state in step.edge.error_states} - {step.from_screen}
    return {step.to_screen, *astray}


def _patience(transition: Transition) -> float:
    """Seconds to wait for arrival: the edge's own maximum, at least the usual."""
    return max(transition.duration.max or 0.0, SETTLE_S)
