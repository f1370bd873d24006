"""How an exploration comes to be signed in: a kept session, a task of a loaded knowledge base, a login form."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, StorageState

from agent.context import Asker
from agent.redaction import Secrets
from kb_store import Stores
from kb_store.runs import RunStore
from periplus.errands import Errand, Gear, carry_out
from periplus.errors import UserError
from periplus.mapping.login_form import sign_in_by_form
from periplus.voyage import fresh_context
from periplus.websites import which_website

Again = Callable[[], Awaitable[StorageState | None]]
"""Signs in once more."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session of the site."""

    by: str
    """For the record: `task LOGIN`, `storage state`, `form`."""
    state: StorageState
    again: Again | None = None


def kept_session(file: Path) -> SignedIn:
    """A storage state as Playwright writes it. Raises `UserError`."""
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise UserError(
            f"{file} cannot be read: {exc}", fix="a storage state as Playwright writes it"
        ) from exc
    if not isinstance(state, dict) or not isinstance(state.get("cookies", []), list):
        raise UserError(f"{file} is no storage state", fix="a storage state as Playwright writes it")
    # Both parts are there for the driver, which takes no less.
    session: StorageState = {"cookies": state.get("cookies", []), "origins": state.get("origins", [])}
    return SignedIn("storage state", session)


async def by_form(browser: Browser, url: str, inputs: Mapping[str, str]) -> SignedIn:
    """By the form that the site shows. What is given is never written anywhere. Raises `UserError`."""
    _secrets_of(inputs)

    async def again() -> StorageState | None:
        try:
            return await sign_in_by_form(browser, url, inputs)
        except UserError:
            return None

    return SignedIn("form", await sign_in_by_form(browser, url, inputs), again)


@dataclass(frozen=True, slots=True)
class TaskSignIn:
    """Signing in by a task of a knowledge base that is loaded."""

    task_id: str
    website_id: str | None
    base_url: str
    inputs: Mapping[str, str]


async def by_task(
    browser: Browser, asked: TaskSignIn, stores: Stores, runs: RunStore, folder: Path, asker: Asker | None
) -> SignedIn:
    """By a task, run as `periplus run` does. Raises `UserError` where it does not come to its end."""
    known = sorted(generation.website_id for generation in await stores.documents.websites())
    website_id = which_website(asked.website_id if asked.website_id in known else None, known)

    async def run(asker: Asker | None = None) -> StorageState | None:
        kept: list[StorageState] = []

        @asynccontextmanager
        async def keeping(storage: StorageState | None) -> AsyncIterator[BrowserContext]:
            async with fresh_context(browser, storage) as context:
                yield context
                kept.append(await context.storage_state())

        errand = Errand(website_id, asked.task_id, base_url=asked.base_url, values=asked.inputs)
        result = await carry_out(errand, Gear(stores, runs, keeping, folder, asker=asker))
        return kept[0] if result.succeeded and kept else None

    state = await run(asker)
    if state is None:
        raise UserError(
            f"the task {asked.task_id} did not sign in", fix=f"see {folder}; try `periplus run` with it"
        )
    return SignedIn(f"task {asked.task_id}", state, run)


def _secrets_of(inputs: Mapping[str, str]) -> Secrets:
    """What is given to sign in is in no message and in no log of this process."""
    secrets = Secrets()
    secrets.keep(tuple(inputs.values()))
    return secrets
