"""Connects to the browser of a waiting test, and decides what its failing locator meant, if that is certain.

Conservative: an element that is present but not usable is no drift, an element expected to be gone gets no
substitute, and two close candidates are no answer. The root cause is decided elsewhere.
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

from agent.browser.browser_life import close_browser
from agent.browser.launch import launch
from agent.browser.program_priority import keep_priority
from agent.healing.element_reveal import wait_for_idle
from agent.healing.fingerprint_comparison import compare_fingerprints
from agent.healing.identity_check import take_sighting
from agent.locators.page_scan import scan_page
from agent.locators.stable_selectors import choose_element_selectors
from agent.optimization.locator_candidates import LocatorCandidates, NearestCandidate, find_locator_candidates
from agent.optimization.locator_description import describe_locator
from agent.optimization.past_executions import find_page_at_failure
from agent.optimization.source_history import RecordedRename, find_renames
from agent.optimization.suite_runner import (
    FailureAnswer,
    FailureHandler,
    LiveFailure,
    RaiseFailure,
    SubstituteLocator,
    WaitLonger,
)
from agent.page import actionability_gate
from agent.page.errors import GateFailed, GatePoint, PageError
from agent.page.page_problems import read_page_problems
from agent.telemetry import span
from kb_schema.fingerprints import Fingerprint
from kb_schema.suite_optimization import FailedTest
from kb_schema.verification import FailureKind

FingerprintLookup = Callable[[LiveFailure], Fingerprint | None]
"""What the failing locator led to when the test passed, if that is known."""

OWN_TIMEOUT_MS = 30_000.0
"""Playwright's time for an action if a suite sets none."""
HIDDEN = "<redacted>"
"""The probe writes this for a secret."""
_FIELDS = frozenset({"fill", "type", "press_sequentially", "clear"})
_FAILURES = {
    GatePoint.NOT_FOUND: FailureKind.TIMEOUT,
    GatePoint.NOT_UNIQUE: FailureKind.NOT_UNIQUE,
    GatePoint.NOT_VISIBLE: FailureKind.NOT_VISIBLE,
    GatePoint.DISABLED: FailureKind.DISABLED,
    GatePoint.UNSTABLE: FailureKind.UNSTABLE,
    GatePoint.NOT_SCOPED: FailureKind.NOT_SCOPED,
}


@dataclass(frozen=True, slots=True)
class LivePolicy:
    """How long is looked. Seconds."""

    late_s: float = 3.0
    """How long to wait for a locator that leads nowhere, if nothing else was found."""
    late_beside_s: float = 0.5
    """The same if another element was found for it."""
    gate_s: float = 1.0
    """For a candidate to pass the gate."""
    idle_s: float = 0.5
    """For the page to have no open request, after the element was waited for."""
    blocked_s: float = 3.0
    """For the element itself, which is present, to become ready."""


@asynccontextmanager
async def open_healer(
    known: FingerprintLookup | None = None, *, policy: LivePolicy | None = None
) -> AsyncIterator[FailureHandler]:
    """Answers the failures that `run_suite` reports."""
    keep_priority()
    async with async_playwright() as playwright:

        async def ask(failure: LiveFailure) -> FailureAnswer:
            return await answer_failure(playwright, failure, known=known and known(failure), policy=policy)

        yield ask


async def answer_failure(
    playwright: Playwright,
    failure: LiveFailure,
    *,
    known: Fingerprint | None = None,
    others: Sequence[Fingerprint] = (),
    policy: LivePolicy | None = None,
) -> FailureAnswer:
    """Return what to do about a failure. Raises nothing for problems of the page.

    `known`: what the locator led to when the test passed; `others`: other known elements of the page.
    """
    with span("optimize.live", action=failure.failed.action, test=failure.failed.test_id):
        evidence = failure.failed.evidence
        try:
            if failure.debug_url is None or failure.target_id is None:
                return await _answer_from_trace(playwright, failure, known)
            async with connect_to_target(playwright, failure.debug_url, failure.target_id) as page:
                if page is None:
                    return RaiseFailure(
                        "the page is gone", evidence.model_copy(update={"browser_alive": False})
                    )
                look = _LiveDiagnosis(page, failure, known, tuple(others), policy or LivePolicy())
                return await look.verdict()
        except (DriverError, PageError) as error:
            return RaiseFailure(f"the page cannot be looked at: {str(error).splitlines()[0]}", evidence)


async def _answer_from_trace(
    playwright: Playwright, failure: LiveFailure, known: Fingerprint | None
) -> FailureAnswer:
    """Look for the element in the snapshot of a trace, if there is no live page; nothing can be tried on it."""
    failed = failure.failed
    file = Path(failed.trace) if failed.trace else None
    moment = await asyncio.to_thread(find_page_at_failure, file) if file is not None else None
    if (
        moment is None
        or failed.locator is None
        or failure.negative
        or failed.action.startswith("expect.not_")
    ):
        return RaiseFailure("the page cannot be reached", failed.evidence)
    browser = await launch(playwright)
    try:
        context = await browser.new_context(java_script_enabled=False, offline=True)
        page = await context.new_page()
        await page.set_content(moment.html, wait_until="commit")
        if await page.locator(failed.locator.selector).count():
            return RaiseFailure("the element is there", failed.evidence)
        renames = () if known is not None else await find_recorded_renames(failed)
        found = await find_locator_candidates(page, failed, known=known, stored=True, renames=renames)
    finally:
        await close_browser(browser)
    if not found.candidates:
        return RaiseFailure(found.reason, failed.evidence)
    return SubstituteLocator(found.candidates[0], failed.evidence, found.candidates[1:])


async def find_recorded_renames(failed: FailedTest) -> tuple[RecordedRename, ...]:
    """Return what git says the words and identifiers of a failing locator were replaced by."""
    meaning = describe_locator(failed.locator.links) if failed.locator is not None else None
    if meaning is None:
        return ()
    return await find_renames(failed.file, meaning.searchable)


@asynccontextmanager
async def connect_to_target(
    playwright: Playwright, debug_url: str, target_id: str
) -> AsyncIterator[Page | None]:
    """Connect to a page of a running Chromium; None if there is no such target. Closes only the connection."""
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


class _LiveDiagnosis:
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

    async def verdict(self) -> FailureAnswer:
        await self._complaints()
        locator = self.failed.locator
        if locator is None:
            return self._raised("no call on a locator failed")
        if HIDDEN in locator.selector:
            return self._raised("its locator contains a secret value")
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

    async def _there(self, selector: str, count: int, began: float) -> FailureAnswer:
        """The locator leads to an element: no drift, unless that is known to be another one."""
        if count > 1:
            self._note(
                failure=FailureKind.NOT_UNIQUE if self.failed.kind == "action" else FailureKind.TIMEOUT
            )
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

    async def _another(self, selector: str) -> LocatorCandidates | None:
        """Return what was meant, if the locator leads to another element now."""
        if self.known is None or not self._in_main_document(selector):
            return None
        await scan_page(self.page)  # the library is in the document
        seen = await take_sighting(self.page, await self.root.locator(selector).element_handle(timeout=1000))
        if seen is None or compare_fingerprints(self.known, seen.fingerprint).same:
            return None
        return await self._synthesized()

    async def _blocked(self, selector: str) -> str | None:
        """Return why the element, which is present, cannot be used; None if it became ready."""
        stuck = "the element is there, and the action does not come off"
        if not self._in_main_document(selector):
            return stuck
        element = await self.root.locator(selector).element_handle(timeout=1000)
        choice = await choose_element_selectors(self.page, element)
        if choice.selector is None:
            return stuck
        editable = self.failed.action in _FIELDS
        try:
            await actionability_gate.judge_element(
                self.page, choice.selector, timeout_s=self.policy.blocked_s, editable=editable
            )
        except GateFailed as error:
            cover = error.cover.described if error.cover else None
            self._note(failure=_FAILURES[error.point], cover=cover, moving=error.point is GatePoint.UNSTABLE)
            return f"the element is there: {error.evidence}"
        return None

    def _in_main_document(self, selector: str) -> bool:
        return self.root is self.page and "internal:control=enter-frame" not in selector

    # -- it is not there ---------------------------------------------------------------------------

    async def _gone(self, selector: str, began: float) -> FailureAnswer:
        found = await self._synthesized()
        late_s = self.policy.late_beside_s if found.candidates else self.policy.late_s
        if await self._comes(selector, late_s):
            return self._late(time.monotonic() - began)
        self._note(page_idle=self.failure.idle and await wait_for_idle(self.page, self.policy.idle_s))
        return self._substituted(found)

    async def _comes(self, selector: str, late_s: float) -> bool:
        try:
            await self.root.locator(selector).first.wait_for(state="attached", timeout=late_s * 1000)
        except DriverError:
            return False
        return True

    def _late(self, more_s: float) -> WaitLonger:
        came_s = self.failure.waited_ms / 1000 + more_s
        own = self.failure.timeout_ms or (
            OWN_TIMEOUT_MS if self.failure.shortened else self.failure.waited_ms
        )
        within = self.failure.shortened and came_s * 1000 < own
        needed = own if within else math.ceil(came_s * 2 / 5) * 5000.0
        self._note(came_late_s=max(0.0, more_s))
        return WaitLonger(
            timeout_ms=needed, came_after_s=came_s, within_own_time=within, evidence=self.evidence
        )

    async def _synthesized(self) -> LocatorCandidates:
        found = await find_locator_candidates(
            self.page,
            self.failed,
            known=self.known,
            others=self.others,
            gate_s=self.policy.gate_s,
            renames=() if self.known is not None else await find_recorded_renames(self.failed),
        )
        if found.nearest is not None:
            self._nearest(found.nearest)
        return found

    def _substituted(self, found: LocatorCandidates) -> FailureAnswer:
        if not found.candidates:
            return self._raised(found.reason)
        best, *others = found.candidates
        return SubstituteLocator(best, self.evidence, tuple(others))

    # -- what was seen -----------------------------------------------------------------------------

    def _note(self, **seen: object) -> None:
        self.evidence = self.evidence.model_copy(update=seen)

    def _nearest(self, nearest: NearestCandidate) -> None:
        self._note(nearest=nearest.called, nearest_score=nearest.score, nearest_verdict=nearest.verdict)

    async def _complaints(self) -> None:
        said = await read_page_problems(self.page, {})
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

    def _raised(self, reason: str) -> RaiseFailure:
        return RaiseFailure(reason, self.evidence)
