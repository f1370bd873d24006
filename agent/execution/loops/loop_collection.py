"""The collection of a loop: its members now, those that are gone, and those not to be tried again."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError, IteratorStopped, StepFailed
from agent.page.errors import PageError
from agent.page.live_selectors import (
    CollectionMember,
    CollectionMembers,
    fill_selector_parameters,
    read_collection_members,
    summarize_selector,
)
from agent.page.page_changes import wait_for_change
from agent.page.page_requests import watch_requests
from kb_schema.read_backs import ReadBackStatus
from kb_schema.selectors import Selector

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun

REST_S = 0.5
"""Seconds without a request or another member after which a collection is complete."""


class LoopCollection:
    """The elements that a loop's selector finds, on the screen where the loop began."""

    def __init__(
        self,
        engine: TaskExecution,
        run: TaskRun,
        reference: str | Selector,
        values: Mapping[str, Any],
        screen: str | None,
    ) -> None:
        self._engine, self._run, self._values = engine, run, values
        self._screen, self._url = screen, engine.session.page.url
        self._failed: Counter[str] = Counter()
        self._dealt_with: Counter[str] = Counter()
        self._first: int | None = None
        """Members there were at first."""
        self._most = 0
        """Members there were when the present round began."""
        self._reference = (
            fill_selector_parameters(reference, values) if isinstance(reference, Selector) else reference
        )
        self.name = (
            summarize_selector(self._reference) if isinstance(self._reference, Selector) else self._reference
        )

    async def look(self) -> CollectionMembers:
        """Return the members now. Raises `StepFailed` if the collection cannot be found."""
        session = self._engine.session
        selector = (await session.scope(self._values)).element(self._reference)
        if selector is None:
            raise StepFailed(f"no collection {self.name!r} on this screen", error="element_not_found")
        found = await read_collection_members(session.page, selector)
        if found.error:
            raise StepFailed(f"{self.name}: {found.error}", error="bad_selector")
        return found

    async def wait_until_loaded(self, patience_s: float) -> None:
        """Wait until the page loads nothing and the members stay the same: those of before a search are others."""
        page = self._engine.session.page
        requests = watch_requests(page)
        deadline, rested_since, keys = time.monotonic() + patience_s, time.monotonic(), None
        while (now := time.monotonic()) < deadline:
            found = [member.key for member in (await self.look()).items]
            if found != keys or requests.is_loading or requests.may_ask:
                keys, rested_since = found, now
            elif now - rested_since >= REST_S:
                return
            await wait_for_change(page, REST_S)

    def not_failed(self, found: CollectionMembers) -> list[tuple[int, CollectionMember]]:
        """Return the members that did not fail before, with their positions on the page."""
        passed_over, left = Counter[str](), []
        for position, member in enumerate(found.items):
            if passed_over[member.key] < self._failed[member.key]:
                passed_over[member.key] += 1
            else:
                left.append((position, member))
        return left

    def note_failed(self, member: CollectionMember) -> None:
        """Pass over this member from now on."""
        self._failed[member.key] += 1

    async def look_for_all(self, patience_s: float) -> CollectionMembers:
        """Return the members of a collection that keeps them; waits while there are fewer than there were before.

        The page may still be loading after a round.
        """
        deadline = time.monotonic() + patience_s
        while True:
            found = await self.look()
            remaining = deadline - time.monotonic()
            if found.count >= self._most or remaining <= 0:
                self._most = found.count
                return found
            await wait_for_change(self._engine.session.page, remaining)

    def list_left(self, found: CollectionMembers, done: int) -> list[tuple[int, CollectionMember]]:
        """Return the members that were not dealt with, with their positions on the page.

        A list may put what was changed in another place, or leave it out. Where members are not known again, as
        after a resume or with other texts, those behind the number done are left. Raises `IteratorStopped` if more are
        gone than were dealt with: that list says nothing about the others.
        """
        seen, left = Counter(self._dealt_with), []
        for position, member in enumerate(found.items):
            if seen[member.key] > 0:
                seen[member.key] -= 1
            else:
                left.append((position, member))
        self._first = found.count if self._first is None else self._first
        known, gone = len(found.items) - len(left), max(0, self._first - found.count)
        if gone > sum(self._dealt_with.values()):
            raise IteratorStopped(
                f"{self.name}: {found.count} of {self._first} are left after {done} items",
                error="lost_the_collection",
                done=done,
            )
        are_known = known + gone == sum(self._dealt_with.values()) == done
        return left if are_known else list(enumerate(found.items))[done:]

    def note_dealt_with(self, member: CollectionMember) -> None:
        """Remember a member of a collection that keeps its members."""
        self._dealt_with[member.key] += 1

    async def lost_any(self, before: CollectionMembers, patience_s: float) -> bool:
        """Return whether a member disappeared in time. New members do not count."""
        deadline = time.monotonic() + patience_s
        earlier = Counter(member.key for member in before.items)
        while True:
            if earlier - Counter(member.key for member in (await self.look()).items):
                return True
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            await wait_for_change(self._engine.session.page, remaining)

    async def still_there(self, done: int) -> None:
        """Check that the page is the one the loop began on: another page is not an empty collection.

        A bar that appears with the first chosen row makes another screen of it: it is the same page if its address is
        and all members are there. Raises `IteratorStopped`. Of a loop that began on an unknown page nothing can be said.
        """
        if self._screen is None:
            return
        found = await self._engine.session.look_for([self._screen])
        if found.screen_id != self._screen and not await self._shows_all():
            raise IteratorStopped(
                f"on {found.screen_id or 'an unknown screen'} instead of {self._screen} after {done} items",
                error="lost_the_collection",
                done=done,
            )

    async def _shows_all(self) -> bool:
        """Whether the address is that of the beginning, and every member of a collection that keeps them is there."""
        if self._first is None or self._engine.session.page.url != self._url:
            return False
        return (await self.look()).count == self._first

    async def has_gone(self, mark: str, times: int) -> ReadBackStatus:
        """Return whether one of `times` equal members with that mark is gone, after loading the page again."""
        engine = self._engine
        try:
            for _ in range(2):
                await engine.guide.open(self._url)
                found = await engine.session.look_for([self._screen] if self._screen else None)
                if self._screen is None or found.screen_id == self._screen:
                    now = sum(compute_member_mark(member) == mark for member in (await self.look()).items)
                    return ReadBackStatus.HAPPENED if now < times else ReadBackStatus.DID_NOT_HAPPEN
                if not await engine.resumption.sign_in(self._run):
                    break
        except (AgentError, PageError, PlaywrightError):
            pass
        return ReadBackStatus.UNCLEAR


def compute_member_mark(member: CollectionMember) -> str:
    """Return a hash that identifies a member in the journal, which must not hold the member's text."""
    return hashlib.sha256(member.key.encode()).hexdigest()[:32]
