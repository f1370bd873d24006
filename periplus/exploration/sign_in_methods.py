"""Signs in for an exploration: with a storage state, a task of a loaded knowledge base, or a login form."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, StorageState

from agent.browser.storage_state import save_session
from agent.run_context import InputProvider
from kb_schema.explorations import SentSignInForm
from kb_store import Stores
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError
from periplus.exploration.login_form import sign_in_by_form
from periplus.exploration.sign_in_requests import collect_secrets
from periplus.runs.task_runs import TaskRunRequest, TaskRunResources, execute_task_run
from periplus.session_setup import open_fresh_context
from periplus.session_setup.storage_states import copy_session, read_storage_state_file
from periplus.website_selection import list_websites, select_website

RenewSignIn = Callable[[], Awaitable[StorageState | None]]
"""Signs in again."""


@dataclass(frozen=True, slots=True)
class ExplorationSignIn:
    """A signed-in session of the website."""

    by: str
    """The method as it is stored: `task LOGIN`, `storage state` or `form`."""
    state: StorageState
    again: RenewSignIn | None = None
    forms: tuple[SentSignInForm, ...] = ()
    """The forms that were sent."""
    home: str = ""
    """Where a map begins, if the page that was named asks to sign in also those who have."""


def sign_in_by_storage_state(file: Path) -> ExplorationSignIn:
    """Read a Playwright storage state. Raises `UserError` if the file is invalid."""
    return ExplorationSignIn("storage state", read_storage_state_file(file))


async def take_given_session(browser: Browser, urls: Iterable[str]) -> ExplorationSignIn | None:
    """Return a copy of what a given browser has for these addresses; None if it has nothing. Raises `UserError`."""
    state = await copy_session(browser, urls)
    return ExplorationSignIn("given browser", state) if state["cookies"] or state["origins"] else None


async def sign_in_with_form(browser: Browser, url: str, inputs: Mapping[str, str]) -> ExplorationSignIn:
    """Sign in with the website's login form. The inputs are never stored. Raises `UserError`."""
    collect_secrets(inputs)

    async def again() -> StorageState | None:
        try:
            return (await sign_in_by_form(browser, url, inputs)).state
        except UserError:
            return None

    signed = await sign_in_by_form(browser, url, inputs)
    return ExplorationSignIn("form", signed.state, again, signed.forms, signed.home)


@dataclass(frozen=True, slots=True)
class TaskSignIn:
    """The options for signing in with a task of a loaded knowledge base."""

    task_id: str
    website_id: str | None
    base_url: str
    inputs: Mapping[str, str]


async def sign_in_by_task(
    browser: Browser,
    asked: TaskSignIn,
    stores: Stores,
    runs: RunStore,
    folder: Path,
    asker: InputProvider | None,
) -> ExplorationSignIn:
    """Sign in with a task, run as by `periplus run`. Raises `UserError` if the task does not succeed."""
    known = await list_websites(stores)
    website_id = select_website(asked.website_id if asked.website_id in known else None, known)

    async def run(asker: InputProvider | None = None) -> StorageState | None:
        kept: list[StorageState] = []

        @asynccontextmanager
        async def keeping(storage: StorageState | None) -> AsyncIterator[BrowserContext]:
            async with open_fresh_context(browser, storage) as context:
                yield context
                kept.append(await save_session(context))

        errand = TaskRunRequest(website_id, asked.task_id, base_url=asked.base_url, values=asked.inputs)
        result = await execute_task_run(errand, TaskRunResources(stores, runs, keeping, folder, asker=asker))
        return kept[0] if result.complete and kept else None

    state = await run(asker)
    if state is None:
        raise UserError(
            f"the task {asked.task_id} did not sign in", fix=f"see {folder}; try `periplus run` with it"
        )
    return ExplorationSignIn(f"task {asked.task_id}", state, run)
