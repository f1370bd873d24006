"""Opens sessions: a page with the knowledge of its website, over MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import BrowserContext, Page

from agent.errors import UnknownToKnowledge
from agent.events import EventBus
from agent.healing.element_memory import ElementMemory
from agent.healing.healer import HealPolicy
from agent.knowledge_client import KnowledgeClient
from agent.run_context import InputProvider, RunContext, TimestampedValues
from agent.run_records.outcome_reports import report_outcomes
from agent.session import Session
from kb_schema.objectives import Objective
from kb_schema.secret_fields import is_secret_name
from kb_store import Stores
from mcp_server.failures.failed_runs import RunReader
from periplus.errors import UserError
from periplus.knowledge_server import connect_knowledge_client
from periplus.resilience_settings import load_resilience_policy
from periplus.session_setup.lent_context import find_lent
from periplus.settings import load_settings
from periplus.vault_setup import open_vault
from periplus.website_selection import list_websites


def keep_secret_values(context: RunContext, values: Mapping[str, Any]) -> None:
    """Register the values that are called like a secret: they may have been typed before the session, into a sign-in form."""
    for name, value in values.items():
        if is_secret_name(name):
            context.keep_secret(value)


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
    for_client: bool = False,
) -> AsyncIterator[Session]:
    """Open a session on a new page, or on `page`, with knowledge over MCP.

    `values`: global values, such as an account. `runs`: the run store, so that the knowledge server can explain
    failed runs. `run_id`: the id of an existing run. `objective`: by what paths are chosen, whatever tasks say. `for_client`: a client of a
    server works in it: only secrets that the operator named for the website, and only in fields for secrets.
    Raises `UserError` for an unknown website.
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
        websites = await list_websites(stores) if for_client else ()
        context.said = dict(values or {})
        keep_secret_values(context, values or {})
        context.vault = open_vault(website_id, for_client=for_client, websites=websites)
        lent = find_lent(browser)
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
            browser=browser,
            lent=lent is not None and lent.foreign,
            secret_fields_only=for_client,
        )
        is_personal = context.personal.within
        async with report_outcomes(session.bus, knowledge, context.run_id, is_personal=is_personal):
            yield session
