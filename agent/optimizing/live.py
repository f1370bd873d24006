"""Attaches to the browser of a test that waits, and says what its failing locator meant, if that is sure.

Conservative: what is there and does not do is no drift, what is expected to be gone gets no substitute, and
two that are close are nobody's guess. Which root cause the evidence speaks for is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Error as DriverError
from playwright.async_api import Frame, Page, Playwright, async_playwright

from agent.browser.launch import launch
from agent.healing.identity import sight
from agent.healing.judging import judge
from agent.locating.looking import look_around
from agent.locating.selecting import selectors_of
from agent.optimizing.reading import moment_of_failure
from agent.optimizing.running import Ask, LiveFailure, Raise, Substitute, Verdict, Wait
from agent.optimizing.synthesis import Nearest, Synthesis, synthesize
from agent.page import gate
from agent.page.complaints import complaints
from agent.page.errors import GateFailed, PageError, Point
from agent.telemetry import span
from kb_schema.fingerprints import Fingerprint
from kb_schema.verification import Failure

Known = Callable[[LiveFailure], Fingerprint | None]
"""What the failing locator led to when the test passed, where that is known."""

OWN_TIMEOUT_MS = 30_000.0
"""Playwright's time for an action where a suite says nothing."""
HIDDEN = "<redacted>"
"""What the probe writes for a secret."""
_FIELDS = frozenset({"fill", "type", "press_sequentially", "clear"})
_FAILURES = {
    Point.NOT_FOUND: Failure.TIMEOUT, Point.NOT_UNIQUE: Failure.NOT_UNIQUE, Point.NOT_VISIBLE: Failure.NOT_VISIBLE,
    Point.DISABLED: Failure.DISABLED, Point.UNSTABLE: Failure.UNSTABLE, Point.NOT_SCOPED: Failure.NOT_SCOPED,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LivePolicy:
    """How long is looked. Seconds."""

    late_s: float = 3.0
    """A locator that leads nowhere may still come; asked where nothing else was found."""
    late_beside_s: float = 0.5
    """The same where another element was found for it."""
    gate_s: float = 1.0
    """For a candidate to pass the gate."""
    blocked_s: float = 3.0
    """For the element itself, which is there, to become ready."""


@asynccontextmanager
async def open_healer(known: Known | None = None, *, policy: LivePolicy | None = None) -> AsyncIterator[Ask]:
    """What `run_suite` asks about failures."""
    async with async_playwright() as playwright:

        async def ask(failure: LiveFailure) -> Verdict:
            return await answer(playwright, failure, known=known and known(failure), policy=policy)

        yield ask


async def answer(
    playwright: Playwright,
    failure: LiveFailure,
    *,
    known: Fingerprint | None = None,
    others: Sequence[Fingerprint] = (),
    policy: LivePolicy | None = None,
) -> Verdict:
    """What is to be done about a failure. Never raises for the page's troubles.

    `known`: what the locator led to when the test passed; `others`: other known elements of the page.
    """
    with span("optimize.live", action=failure.failed.action, test=failure.failed.test_id):
        evidence = failure.failed.evidence
        try:
            if failure.debug_url is None or failure.target_id is None:
                return await _stored(playwright, failure, known)
            async with attached(playwright, failure.debug_url, failure.target_id) as page:
                if page is None:
                    return Raise("the page is gone", evidence.model_copy(update={"browser_alive": False}))
                look = _Look(page, failure, known, tuple(others), policy or LivePolicy())
                return await look.verdict()
        except (DriverError, PageError) as error:
            return Raise(f"the page cannot be looked at: {str(error).splitlines()[0]}", evidence)


async def _stored(playwright: Playwright, failure: LiveFailure, known: Fingerprint | None) -> Verdict:
    """What the page of a trace says, where no live page can be reached: nothing can be tried on it."""
    failed = failure.failed
    file = Path(failed.trace) if failed.trace else None
    moment = await asyncio.to_thread(moment_of_failure, file) if file is not None else None
    if (
        moment is None
        or failed.locator is None
        or failure.negative
        or failed.action.startswith("expect.not_")
    ):
        return Raise("the page cannot be reached", failed.evidence)
    browser = await launch(playwright)
    try:
        context = await browser.new_context(java_script_enabled=False, offline=True)
        page = await context.new_page()
        await page.set_content(moment.html, wait_until="commit")
        if await page.locator(failed.locator.selector).count():
            return Raise("the element is there", failed.evidence)
        found = await synthesize(page, failed, known=known, stored=True)
    finally:
        await browser.close()
    if not found.candidates:
        return Raise(found.reason, failed.evidence)
    return Substitute(found.candidates[0], failed.evidence, found.candidates[1:])


@asynccontextmanager
async def attached(playwright: Playwright, debug_url: str, target_id: str) -> AsyncIterator[Page | None]:
    """A page of a running Chromium; None where there is no such target. Only the connection is closed."""
    browser = await playwright.chromium.connect_over_cdp(debug_url)
    try:
        yield await _target(tuple(page for context in browser.contexts for page in context.pages), target_id)
    finally:
        await browser.close()


async def _target(pages: Sequence[Page], target_id: str) -> Page | None:
    for page in pages:
        session = await page.context.new_cdp_session(page)
        told = await session.send("Target.getTargetInfo")
        await session.detach()
        if told["targetInfo"]["targetId"] == target_id:
            return page
    return None


class _Look:
    """One failure on its live page."""

    def __init__(
        self,
        page: Page,
        failure: LiveFailure,
        known: Fingerprint | None,
        others: tuple[Fingerprint, ...],
        policy: LivePolicy,
    ) -> None:
        self.page, self.failure, self.known, self.others, self.policy = page, failure, known, others, policy
        self.failed = failure.failed
        self.evidence = failure.failed.evidence

    @property
    def root(self) -> Page | Frame:
        """Where the locator begins."""
        if self.failure.frame_url is None:
            return self.page
        return next((each for each in self.page.frames if each.url == self.failure.frame_url), self.page)

    async def verdict(self) -> Verdict:
        await self._complaints()
        locator = self.failed.locator
        if locator is None:
            return self._raised("no call on a locator failed")
        if HIDDEN in locator.selector:
            return self._raised("its locator holds a value that nobody may read")
        began = time.monotonic()
        try:
            count = await self.root.locator(locator.selector).count()
        except DriverError as error:
            return self._raised(f"Playwright does not take the selector: {str(error).splitlines()[0]}")
        self._note(matched=count, element=self._called())
        if self.failure.negative or self.failed.action.startswith("expect.not_"):
            return self._raised("the test expects that it is not so: nothing stands in for that")
        if count:
            return await self._there(locator.selector, count, began)
        return await self._gone(locator.selector, began)

    # -- it is there -------------------------------------------------------------------------------

    async def _there(self, selector: str, count: int, began: float) -> Verdict:
        """It leads somewhere: no drift, unless that is known to be something else."""
        if count > 1:
            self._note(failure=Failure.NOT_UNIQUE if self.failed.kind == "action" else Failure.TIMEOUT)
            if self.known is None or self.failed.kind == "assertion":
                return self._raised(f"it leads to {count} elements")
            return self._substituted(await self._synthesized())
        found = await self._another(selector)
        if found is not None and found.candidates:
            return self._substituted(found)
        if self.failed.kind == "assertion":
            return self._raised("the element is there, and does not show what is expected")
        blocked = await self._blocked(selector)
        return self._late(time.monotonic() - began) if blocked is None else self._raised(blocked)

    async def _another(self, selector: str) -> Synthesis | None:
        """What was meant, where the locator leads to something else now."""
        if self.known is None or not self._in_main_document(selector):
            return None
        await look_around(self.page)  # the library is in the document
        seen = await sight(self.page, await self.root.locator(selector).element_handle(timeout=1000))
        if seen is None or judge(self.known, seen.fingerprint).same:
            return None
        return await self._synthesized()

    async def _blocked(self, selector: str) -> str | None:
        """Why nothing can be done to the element, which is there; None where it became ready."""
        stuck = "the element is there, and the action does not come off"
        if not self._in_main_document(selector):
            return stuck
        element = await self.root.locator(selector).element_handle(timeout=1000)
        choice = await selectors_of(self.page, element)
        if choice.selector is None:
            return stuck
        editable = self.failed.action in _FIELDS
        try:
            await gate.judge(self.page, choice.selector, timeout_s=self.policy.blocked_s, editable=editable)
        except GateFailed as error:
            cover = error.cover.described if error.cover else None
            self._note(failure=_FAILURES[error.point], cover=cover, moving=error.point is Point.UNSTABLE)
            return f"the element is there: {error.evidence}"
        return None

    def _in_main_document(self, selector: str) -> bool:
        return self.root is self.page and "internal:control=enter-frame" not in selector

    # -- it is not there ---------------------------------------------------------------------------

    async def _gone(self, selector: str, began: float) -> Verdict:
        found = await self._synthesized()
        late_s = self.policy.late_beside_s if found.candidates else self.policy.late_s
        if await self._comes(selector, late_s):
            return self._late(time.monotonic() - began)
        return self._substituted(found)

    async def _comes(self, selector: str, late_s: float) -> bool:
        try:
            await self.root.locator(selector).first.wait_for(state="attached", timeout=late_s * 1000)
        except DriverError:
            return False
        return True

    def _late(self, more_s: float) -> Wait:
        came_s = self.failure.waited_ms / 1000 + more_s
        own = self.failure.timeout_ms or (
            OWN_TIMEOUT_MS if self.failure.shortened else self.failure.waited_ms
        )
        within = self.failure.shortened and came_s * 1000 < own
        needed = own if within else math.ceil(came_s * 2 / 5) * 5000.0
        self._note(came_late_s=max(0.0, more_s))
        return Wait(timeout_ms=needed, came_after_s=came_s, within_own_time=within, evidence=self.evidence)

    async def _synthesized(self) -> Synthesis:
        found = await synthesize(
            self.page, self.failed, known=self.known, others=self.others, gate_s=self.policy.gate_s
        )
        if found.nearest is not None:
            self._nearest(found.nearest)
        return found

    def _substituted(self, found: Synthesis) -> Verdict:
        if not found.candidates:
            return self._raised(found.reason)
        best, *others = found.candidates
        return Substitute(best, self.evidence, tuple(others))

    # -- what was seen -----------------------------------------------------------------------------

    def _note(self, **seen: object) -> None:
        self.evidence = self.evidence.model_copy(update=seen)

    def _nearest(self, nearest: Nearest) -> None:
        self._note(nearest=nearest.called, nearest_score=nearest.score, nearest_verdict=nearest.verdict)

    async def _complaints(self) -> None:
        said = await complaints(self.page, {})
        self._note(
            status=said.status or self.evidence.status,
            alerts=said.alerts,
            refused_fields=tuple(
                f"{each.label}: {each.message}" if each.message else each.label
                for each in said.fields
                if each.marked
            ),
        )

    def _called(self) -> str:
        links = self.failed.locator.links if self.failed.locator else ()
        said = [each.keywords.get("name") or (each.arguments[0] if each.arguments else "") for each in links]
        words = next((each for each in reversed(said) if isinstance(each, str) and each), "")
        return words or self.evidence.element

    def _raised(self, reason: str) -> Raise:
        return Raise(reason, self.evidence)
