"""What `demo` and `run` share: stores, desk, browser, page and session, opened and closed in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, BrowserContext, StorageState, async_playwright
from playwright.async_api import Error as PlaywrightError

from agent.browser.launch import BrowserMissing, has_display, launch
from agent.context import Asker, Context
from agent.errors import NotInKnowledge
from agent.events import Bus
from agent.healing.healer import HealPolicy
from agent.healing.memory import ElementMemory
from agent.knowledge import Knowledge
from agent.outcomes import reporting
from agent.page import library
from agent.presenting.stage import Stage
from agent.session import Session
from kb_store import Stores
from mcp_server.failures.runs import RunReader
from periplus.desk import desk_client
from periplus.errors import UserError
from periplus.resilience import load_policy
from periplus.settings import load_settings
from periplus.vaults import vault_for

VIEWPORT = (1280, 720)


@asynccontextmanager
async def browser_context(
    *, headed: bool | None = None, storage: StorageState | None = None
) -> AsyncIterator[BrowserContext]:
    """A context in a browser of its own, as `started_browser` and `fresh_context` have them."""
    async with started_browser(headed=headed) as browser, fresh_context(browser, storage) as context:
        yield context


@asynccontextmanager
async def started_browser(*, headed: bool | None = None) -> AsyncIterator[Browser]:
    """A Chromium. `headed` None: a window where there is a display. Raises `UserError` without one."""
    headless = not (has_display() if headed is None else headed)
    async with async_playwright() as playwright:
        try:
            browser = await launch(playwright, headless=headless)
        except BrowserMissing as exc:
            raise UserError("no Chromium to drive", fix=str(exc)) from exc
        except PlaywrightError as exc:
            reason = exc.message.splitlines()[0]
            raise UserError(
                f"Chromium does not start: {reason}",
                fix="try PERIPLUS_CHROMIUM=/path/to/chromium, or --headless",
            ) from exc
        try:
            yield browser
        finally:
            if browser.is_connected():
                await browser.close()


@asynccontextmanager
async def fresh_context(
    browser: Browser, storage: StorageState | None = None
) -> AsyncIterator[BrowserContext]:
    """A context of 1280 x 720 with our in-page libraries, that knows nothing or what another one knew
    (`storage`).
    """
    context = await browser.new_context(
        viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]}, storage_state=storage
    )
    try:
        await library.install(context)
        await Stage.install(context)
        yield context
    finally:
        if browser.is_connected():
            await context.close()


@asynccontextmanager
async def open_session(
    stores: Stores,
    browser: BrowserContext,
    website_id: str,
    *,
    base_url: str | None = None,
    values: Mapping[str, Any] | None = None,
    asker: Asker | None = None,
    healing: HealPolicy | None = None,
    runs: RunReader | None = None,
    run_id: str | None = None,
) -> AsyncIterator[Session]:
    """A session on a new page, its knowledge coming over MCP.

    `values` are global context (an account to sign in with); `runs` are recorded runs, its own among
    them, for the desk to explain; `run_id` is the run's, where it has one already. Raises `UserError`
    where the store has no such website.
    """
    urls = {website_id: base_url} if base_url else {}
    async with desk_client(stores, urls, runs=runs) as client:
        knowledge = Knowledge(client, website_id, base_url)
        try:
            website = await knowledge.website()
        except NotInKnowledge as exc:
            raise UserError(str(exc), fix="load it first: periplus kb load DIR") from exc
        context = Context(asker=asker) if run_id is None else Context(asker=asker, run_id=run_id)
        context.global_values = {**website.global_context, **(values or {})}
        context.said, context.vault = dict(values or {}), vault_for(website_id)
        page = await browser.new_page()
        session = Session(
            page,
            knowledge,
            website,
            (base_url or website.base_url).rstrip("/"),
            context=context,
            bus=Bus(context.redact),
            healing=healing or HealPolicy(max_rounds=load_settings().max_heal_rounds),
            memory=ElementMemory(website_id),
            resilience=load_policy(),
        )
        is_personal = context.personal.within
        async with reporting(session.bus, knowledge, context.run_id, is_personal=is_personal):
            yield session
