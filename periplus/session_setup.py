"""Opens browsers, browser contexts and sessions for the commands, and closes them in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page, StorageState, async_playwright
from playwright.async_api import Error as PlaywrightError

from agent.browser.browser_profile import BrowserProfile, Engine
from agent.browser.launch import (
    ENGINE_NAMES,
    ENV_SANDBOX,
    BrowserMissing,
    LaunchSettings,
    SandboxModeUnknown,
    has_display,
    launch,
)
from agent.errors import UnknownToKnowledge
from agent.events import EventBus
from agent.healing.element_memory import ElementMemory
from agent.healing.healer import HealPolicy
from agent.knowledge_client import KnowledgeClient
from agent.page import in_page_library
from agent.page.page_watchdog import watch_context
from agent.presentation.page_overlay import PageOverlay
from agent.run_context import InputProvider, RunContext, TimestampedValues
from agent.run_records.outcome_reports import report_outcomes
from agent.session import Session
from kb_schema.objectives import Objective
from kb_store import Stores
from mcp_server.failures.failed_runs import RunReader
from periplus.errors import UserError
from periplus.knowledge_server import connect_knowledge_client
from periplus.resilience_settings import load_resilience_policy
from periplus.settings import load_settings
from periplus.vault_setup import open_vault


@asynccontextmanager
async def open_browser_context(
    *, headed: bool | None = None, storage: StorageState | None = None
) -> AsyncIterator[BrowserContext]:
    """Open a context in a new browser; see `start_browser` and `open_fresh_context`."""
    async with start_browser(headed=headed) as browser, open_fresh_context(browser, storage) as context:
        yield context


@asynccontextmanager
async def start_browser(
    *, headed: bool | None = None, debugging_port: int | None = None, engine: Engine = "chromium"
) -> AsyncIterator[Browser]:
    """Start a browser. `headed` None: show it if there is a display. Raises `UserError` if it cannot start.

    `debugging_port`: a port of this machine at which other clients reach the browser; None: there is none.
    """
    args = () if debugging_port is None else (f"--remote-debugging-port={debugging_port}",)
    if headed and not has_display():
        raise UserError(
            "no display to show the browser on", fix="use --headless, xvfb-run, or a machine with a display"
        )
    headless = not (has_display() if headed is None else headed)
    async with async_playwright() as playwright:
        try:
            settings = LaunchSettings(engine=engine, extra_args=args)
            browser = await launch(playwright, headless=headless, settings=settings)
        except BrowserMissing as exc:
            raise UserError(f"no {ENGINE_NAMES[engine]} found", fix=str(exc)) from exc
        except SandboxModeUnknown as exc:
            raise UserError(str(exc), fix=f"correct or unset {ENV_SANDBOX}") from exc
        except PlaywrightError as exc:
            reason = exc.message.splitlines()[0]
            own = (
                "set PERIPLUS_CHROMIUM=/path/to/chromium, use --headless, or set PERIPLUS_BROWSER_SANDBOX=off"
            )
            raise UserError(
                f"{ENGINE_NAMES[engine]} does not start: {reason}",
                fix=own
                if engine == "chromium"
                else f"playwright install --with-deps {engine}, or use --headless",
            ) from exc
        try:
            yield browser
        finally:
            with suppress(PlaywrightError):  # it may be gone
                await browser.close()


@asynccontextmanager
async def open_fresh_context(
    browser: Browser, storage: StorageState | None = None, profile: BrowserProfile | None = None
) -> AsyncIterator[BrowserContext]:
    """Open a new context (1280 x 720, or as `profile` says) with the in-page libraries; `storage`: an optional
    storage state.
    """
    options = (profile or BrowserProfile()).context_options()
    context = await browser.new_context(**options, storage_state=storage)
    try:
        watch_context(context)
        await in_page_library.install(context)
        await PageOverlay.install(context)
        yield context
    finally:
        with suppress(PlaywrightError):  # the browser may be gone
            await context.close()


@asynccontextmanager
async def open_session(
    stores: Stores,
    browser: BrowserContext,
    website_id: str,
    *,
    base_url: str | None = None,
    values: Mapping[str, Any] | None = None,
    asker: InputProvider | None = None,
    healing: HealPolicy | None = None,
    runs: RunReader | None = None,
    run_id: str | None = None,
    step_timeout_s: float | None = None,
    objective: Objective | None = None,
    page: Page | None = None,
) -> AsyncIterator[Session]:
    """Open a session on a new page, or on `page`, with knowledge over MCP.

    `values`: global values, such as an account. `runs`: the run store, so that the knowledge server can explain
    failed runs. `run_id`: the id of an existing run. `objective`: by what paths are chosen, whatever tasks say. Raises `UserError` for an unknown website.
    """
    urls = {website_id: base_url} if base_url else {}
    async with connect_knowledge_client(stores, urls, runs=runs) as client:
        knowledge = KnowledgeClient(client, website_id, base_url)
        try:
            website = await knowledge.website()
        except UnknownToKnowledge as exc:
            raise UserError(str(exc), fix="load its knowledge base first: periplus kb load DIR") from exc
        context = RunContext(asker=asker) if run_id is None else RunContext(asker=asker, run_id=run_id)
        context.global_values = TimestampedValues({**website.global_context, **(values or {})})
        context.said, context.vault = dict(values or {}), open_vault(website_id)
        session = Session(
            page or await browser.new_page(),
            knowledge,
            website,
            (base_url or website.base_url).rstrip("/"),
            context=context,
            bus=EventBus(context.redact),
            healing=healing or HealPolicy(max_rounds=load_settings().max_heal_rounds),
            memory=ElementMemory(website_id),
            resilience=load_resilience_policy(),
            step_timeout_s=step_timeout_s,
            objective=objective,
            usual_objective=load_settings().objective,
        )
        is_personal = context.personal.within
        async with report_outcomes(session.bus, knowledge, context.run_id, is_personal=is_personal):
            yield session
