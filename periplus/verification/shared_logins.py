"""Signs in once for many requirements, by a task of the knowledge base or by another requirement.

The result is the browser's storage, which other contexts start with, and a plan from which the generator writes
the fixture that signs in.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from playwright.async_api import Browser, StorageState

from agent.browser.storage_state import save_session
from agent.verification.graph.phase_page import make_unique_word
from agent.verification.page_checks import VerificationTimeouts, build_plan, open_verification_page
from kb_schema.verification import Requirement, VerificationPlan
from kb_store.runs.run_store import RunStore
from periplus.session_setup import open_fresh_context, open_session
from periplus.store_selection import open_selected_stores
from periplus.verification.login_checks import select_login_website
from periplus.verification.login_tasks import (
    LoginFailed,
    build_login_plan,
    name_secret_variables,
    run_login_task,
)
from periplus.verification.verifier_settings import VerifierSettings


@dataclass(frozen=True, slots=True)
class SharedLogin:
    """A login that requirements begin with."""

    by: str | None = None
    """The task or requirement that signed in; None: a new visitor."""
    storage: StorageState | None = None
    plan: VerificationPlan | None = None
    """For the generator; None: no test can sign in this way."""
    note: str = ""
    """Why there is no plan."""


NO_LOGIN = SharedLogin()
MAX_AGE_S = 900.0
"""Sign in again after this time: a service verifies for days, and sites end sessions."""


class SharedLogins:
    """Each login is done once per lane. A lane is one of the verifications that run at the same time.

    Lanes do not share a session: a site keeps things in it (a message after a form was sent, a draft) that one
    verification would take from the other.
    """

    def __init__(
        self,
        settings: VerifierSettings,
        browser: Callable[[], Awaitable[Browser]],
        policy: VerificationTimeouts,
        runs: RunStore,
    ) -> None:
        self._settings, self._browser, self._policy, self._runs = settings, browser, policy, runs
        self.environment: dict[str, str] = {}
        """Environment variables that the tests' login reads and that are not set yet."""
        self._known: dict[tuple[str, str, int], tuple[float, asyncio.Task[SharedLogin]]] = {}
        self._taken: set[int] = set()

    @contextmanager
    def lane(self) -> Iterator[int]:
        """Reserve a lane number. No other verification has it until the block ends."""
        number = next(each for each in count() if each not in self._taken)
        self._taken.add(number)
        try:
            yield number
        finally:
            self._taken.discard(number)

    async def sign_in(
        self,
        requirement: Requirement,
        base_url: str,
        website_id: str,
        secrets: Mapping[str, str],
        *,
        lane: int,
    ) -> SharedLogin:
        """Return the login the requirement begins with.

        Raises `LoginFailed` if signing in does not work, `UserError` if there is no such task or requirement.
        """
        by = requirement.login or self._settings.login
        if by is None or by == requirement.req_id:
            return NO_LOGIN
        key = (by, base_url, lane)
        known = self._known.get(key)
        if known is None or time.monotonic() - known[0] > MAX_AGE_S or _has_failed(known[1]):
            signing_in = asyncio.create_task(self._sign_in(by, base_url, website_id, secrets))
            known = self._known[key] = (time.monotonic(), signing_in)
        return await asyncio.shield(known[1])

    async def _sign_in(
        self, by: str, base_url: str, website_id: str, secrets: Mapping[str, str]
    ) -> SharedLogin:
        own = next((each for each in self._settings.requirements if each.req_id == by), None)
        if own is not None:
            return await self._sign_in_by_requirement(own, base_url, website_id, secrets)
        return await self._sign_in_by_task(by, base_url, website_id, secrets)

    async def _sign_in_by_requirement(
        self, requirement: Requirement, base_url: str, website_id: str, secrets: Mapping[str, str]
    ) -> SharedLogin:
        async with open_verification_page(
            await self._browser(),
            base_url=base_url,
            website_id=website_id,
            secrets=secrets,
            unique=make_unique_word(),
            policy=self._policy,
            origins=self._settings.origins,
            profile=self._settings.profile,
        ) as page:
            plan = await build_plan(page, requirement)
            if plan.missing:
                lost = plan.missing[0]
                raise LoginFailed(
                    f"the login requirement {requirement.req_id} failed: step {lost.step_idx + 1} {lost.intent}:"
                    f" {lost.reason}",
                    fix=f"verify it alone: --only {requirement.req_id}",
                )
            return SharedLogin(requirement.req_id, await save_session(page.context), plan)

    async def _sign_in_by_task(
        self, task_id: str, base_url: str, website_id: str, secrets: Mapping[str, str]
    ) -> SharedLogin:
        """Run the task on the loaded knowledge, then build a plan of what it did."""
        settings = self._settings
        async with open_selected_stores(settings.mongodb_url) as stores:
            name = await select_login_website(stores, website_id, task_id)
            async with (
                open_fresh_context(await self._browser(), profile=settings.profile) as context,
                open_session(
                    stores, context, name, base_url=base_url, values=dict(settings.values), runs=self._runs
                ) as session,
            ):
                done = await run_login_task(session, task_id)
                storage = await save_session(context)
                values = {each: str(value) for each, value in session.context.global_values.items()}
                for each in {each.secret for each in done if each.secret} - values.keys():
                    found = await session.context.vault.secret(each) if session.context.vault else None
                    values |= {each: found[0]} if found else {}
        variables = name_secret_variables(done, name, values, secrets)
        own = {variables[each]: values[each] for each in variables if each in values}
        self.environment |= own
        reason = ""
        # Overlays that were closed are left to the tests, unless the login does not work without closing them.
        for kept in dict.fromkeys((tuple(each for each in done if not each.aside), tuple(done))):
            async with open_verification_page(
                await self._browser(),
                base_url=base_url,
                website_id=website_id,
                secrets={**secrets, **own},
                unique=make_unique_word(),
                policy=self._policy,
                origins=self._settings.origins,
                profile=self._settings.profile,
            ) as page:
                plan = await build_login_plan(page, task_id, kept, base_url, variables)
                if not isinstance(plan, str):
                    return SharedLogin(task_id, await save_session(page.context), plan)
                reason = plan
        return SharedLogin(task_id, storage, None, f"no fixture signs in by {task_id!r}: {reason}")


def _has_failed(signing_in: asyncio.Task[SharedLogin]) -> bool:
    return signing_in.done() and (signing_in.cancelled() or signing_in.exception() is not None)
