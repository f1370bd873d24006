"""A collection that a loop goes through: who is in it now, who went, and who is not to be tried again."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError, LoopStopped, StepFailed
from agent.page.changing import wait_for_change
from agent.page.errors import PageError
from agent.page.members import Member, Members, members
from kb_schema.read_backs import Happened

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run


class Collection:
    """The elements that a loop's selector leads to, on the screen it began on."""

    def __init__(
        self, engine: Engine, run: Run, reference: str, values: Mapping[str, Any], screen: str | None
    ) -> None:
        self._engine, self._run, self._values = engine, run, values
        self._screen, self._url = screen, engine.session.page.url
        self._failed: Counter[str] = Counter()
        self.name = reference

    async def look(self) -> Members:
        """Who is there now. Raises `StepFailed` where the collection cannot be looked up."""
        session = self._engine.session
        selector = (await session.scope(self._values)).element(self.name)
        if selector is None:
            raise StepFailed(f"no collection {self.name!r} here", error="element_not_found")
        found = await members(session.page, selector)
        if found.error:
            raise StepFailed(f"{self.name}: {found.error}", error="bad_selector")
        return found

    def not_failed(self, found: Members) -> list[tuple[int, Member]]:
        """Those that were not in vain before, with their places on the page."""
        passed_over, left = Counter[str](), []
        for position, member in enumerate(found.items):
            if passed_over[member.key] < self._failed[member.key]:
                passed_over[member.key] += 1
            else:
                left.append((position, member))
        return left

    def note_failed(self, member: Member) -> None:
        """This one is passed over from now on."""
        self._failed[member.key] += 1

    async def lost_any(self, before: Members, patience_s: float) -> bool:
        """Whether one that was there has gone since, in time. What came meanwhile does not count."""
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
        """The page is the one the loop began on: an empty page that is another one is no empty collection.

        Raises `LoopStopped`.
        """
        found = await self._engine.session.look_for([self._screen] if self._screen else None)
        if self._screen is not None and found.screen_id != self._screen:
            raise LoopStopped(
                f"on {found.screen_id or 'an unknown screen'} instead of {self._screen} after {done} items",
                error="lost_the_collection",
                done=done,
            )

    async def has_gone(self, mark: str, times: int) -> Happened:
        """Whether a member (`mark_of` it, and how often there was such a one) has gone, on the page as the
        site gives it now.
        """
        engine = self._engine
        try:
            for _ in range(2):
                await engine.guide.open(self._url)
                found = await engine.session.look_for([self._screen] if self._screen else None)
                if self._screen is None or found.screen_id == self._screen:
                    now = sum(mark_of(member) == mark for member in (await self.look()).items)
                    return Happened.HAPPENED if now < times else Happened.DID_NOT_HAPPEN
                if not await engine.resuming.sign_in(self._run):
                    break
        except (AgentError, PageError, PlaywrightError):
            pass
        return Happened.UNCLEAR


def mark_of(member: Member) -> str:
    """What tells a member from others in a journal, which must not hold what it says."""
    return hashlib.sha256(member.key.encode()).hexdigest()[:32]
