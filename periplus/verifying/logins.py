"""Signing in once for many requirements: by a task of the knowledge base, or by another requirement.

What is learned of it is the browser's storage, given to every context that wants it, and a plan from which
the generator writes the fixture that signs in.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from playwright.async_api import Browser, StorageState

from agent.verifying.bench import BenchPolicy, build_plan, open_bench
from agent.verifying.flow.working import unique_word
from kb_schema.verification import Plan, Requirement
from kb_store.runs import RunStore
from periplus.errors import UserError
from periplus.shelves import open_chosen
from periplus.verifying.login_tasks import LoginFailed, do_task, secret_variables, told_as_test
from periplus.voyage import fresh_context, open_session

if TYPE_CHECKING:
    from periplus.verifying.verifier import VerifySettings


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who is signed in, and how."""

    by: str | None = None
    storage: StorageState | None = None
    plan: Plan | None = None
    """How: for the generator. None where it cannot be told as a test would do it."""
    note: str = ""
    """Why not."""


NOBODY = SignedIn()

LASTS_S = 900.0
"""How long somebody is taken to be signed in: a service verifies for days, and sites forget."""


class Logins:
    """Each login is done once for each of those that work at the same time, whoever asks first.

    Two at once do not share a session: sites keep things in it (the message after a form was sent, a draft)
    that one would take from the other.
    """

    def __init__(
        self,
        settings: VerifySettings,
        browser: Callable[[], Awaitable[Browser]],
        policy: BenchPolicy,
        runs: RunStore,
    ) -> None:
        self._settings, self._browser, self._policy, self._runs = settings, browser, policy, runs
        self.environment: dict[str, str] = {}
        """What tests that sign in read, by variable, where that is in no environment yet."""
        self._known: dict[tuple[str, str, int], tuple[float, asyncio.Task[SignedIn]]] = {}
        self._taken: set[int] = set()

    @contextmanager
    def lane(self) -> Iterator[int]:
        """A number that nobody has who works at the same time; sessions belong to it."""
        number = next(each for each in count() if each not in self._taken)
        self._taken.add(number)
        try:
            yield number
        finally:
            self._taken.discard(number)

    async def of(
        self,
        requirement: Requirement,
        base_url: str,
        website_id: str,
        secrets: Mapping[str, str],
        *,
        lane: int,
    ) -> SignedIn:
        """What the requirement begins with. Raises `LoginFailed` where signing in does not work, `UserError` where
        nobody knows how to.
        """
        by = requirement.login or self._settings.login
        if by is None or by == requirement.req_id:
            return NOBODY
        key = (by, base_url, lane)
        known = self._known.get(key)
        if known is None or time.monotonic() - known[0] > LASTS_S or _failed(known[1]):
            signing_in = asyncio.create_task(self._sign_in(by, base_url, website_id, secrets))
            known = self._known[key] = (time.monotonic(), signing_in)
        return await asyncio.shield(known[1])

    async def _sign_in(self, by: str, base_url: str, website_id: str, secrets: Mapping[str, str]) -> SignedIn:
        own = next((each for each in self._settings.requirements if each.req_id == by), None)
        if own is not None:
            return await self._by_requirement(own, base_url, website_id, secrets)
        return await self._by_task(by, base_url, website_id, secrets)

    async def _by_requirement(
        self, requirement: Requirement, base_url: str, website_id: str, secrets: Mapping[str, str]
    ) -> SignedIn:
        async with open_bench(
            await self._browser(), base_url=base_url, website_id=website_id, secrets=secrets,
            unique=unique_word(), policy=self._policy,
        ) as bench:  # fmt: skip
            plan = await build_plan(bench, requirement)
            if plan.missing:
                lost = plan.missing[0]
                raise LoginFailed(
                    f"signing in by {requirement.req_id} does not work: step {lost.step_idx + 1} {lost.intent}:"
                    f" {lost.reason}",
                    fix=f"verify it alone: --only {requirement.req_id}",
                )
            return SignedIn(requirement.req_id, await bench.context.storage_state(), plan)

    async def _by_task(
        self, task_id: str, base_url: str, website_id: str, secrets: Mapping[str, str]
    ) -> SignedIn:
        """The engine does the task, on the knowledge that is loaded."""
        settings = self._settings
        async with open_chosen(settings.mongodb_url) as stores:
            known = sorted(each.website_id for each in await stores.documents.websites())
            if website_id not in known and len(known) != 1:
                raise UserError(
                    f"login {task_id!r}: no requirement is called so, and the knowledge base has no website"
                    f" {website_id!r}",
                    fix="name the req_id of a requirement, or load the site's knowledge (periplus kb load DIR) "
                    "and name the site with --website",
                )
            name = website_id if website_id in known else known[0]
            async with (
                fresh_context(await self._browser()) as context,
                open_session(
                    stores, context, name, base_url=base_url, values=dict(settings.values), runs=self._runs
                ) as session,
            ):
                done = await do_task(session, task_id)
                storage = await context.storage_state()
                values = {each: str(value) for each, value in session.context.global_values.items()}
                for each in {each.secret for each in done if each.secret} - values.keys():
                    found = await session.context.vault.secret(each) if session.context.vault else None
                    values |= {each: found[0]} if found else {}
        variables = secret_variables(done, name, values, secrets)
        own = {variables[each]: values[each] for each in variables if each in values}
        self.environment |= own
        reason = ""
        # What was in the way of signing in is the tests' own business, unless it has to go first.
        for kept in dict.fromkeys((tuple(each for each in done if not each.aside), tuple(done))):
            async with open_bench(
                await self._browser(), base_url=base_url, website_id=website_id, secrets={**secrets, **own},
                unique=unique_word(), policy=self._policy,
            ) as bench:  # fmt: skip
                plan = await told_as_test(bench, task_id, kept, base_url, variables)
                if not isinstance(plan, str):
                    return SignedIn(task_id, await bench.context.storage_state(), plan)
                reason = plan
        return SignedIn(task_id, storage, None, f"no fixture signs in by {task_id!r}: {reason}")


def _failed(signing_in: asyncio.Task[SignedIn]) -> bool:
    return signing_in.done() and (signing_in.cancelled() or signing_in.exception() is not None)
