"""Opens presentations for visitors: one browser, started on first use, with a context each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from playwright.async_api import Browser

from agent.browser.browser_life import wait_until_usable
from agent.errors import AgentError, UnknownToKnowledge
from agent.knowledge_client import KnowledgeClient
from kb_schema.presentation_flows import PresentationFlow
from kb_store import Stores
from kb_store.runs.run_store import RunStore
from periplus.demos.demo_environment import DemoEnvironment
from periplus.demos.live_presentation import (
    LivePresentation,
    LivePresentationSettings,
    open_live_presentation,
)
from periplus.errors import UserError
from periplus.knowledge_server import connect_knowledge_client
from periplus.service.visits.visit_ports import VisitWish
from periplus.session_setup import start_browser


class VisitPresentations:
    """`visit_ports.ShowOpener` on the service's stores, or on the environment of the demo it was started
    with.
    """

    def __init__(
        self,
        stores: Stores,
        runs: RunStore,
        data_dir: Path,
        *,
        base_urls: Mapping[str, str] | None = None,
        environment: DemoEnvironment | None = None,
    ) -> None:
        """`base_urls`: of websites that run elsewhere than in the knowledge base. `environment`: of the demo that
        runs beside the service; used by links that name no website.
        """
        self._stores, self._runs, self._data_dir = stores, runs, data_dir
        self._base_urls, self._environment = dict(base_urls or {}), environment
        self._stack, self._opening = AsyncExitStack(), asyncio.Lock()
        self._browser: Browser | None = None if environment is None else environment.browser

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[VisitPresentations]:
        """Context manager that closes the browser, if one was started."""
        async with self._stack:
            yield self

    async def flow(self, website: str | None, flow: str | None) -> tuple[str, PresentationFlow]:
        """Implements `ShowOpener`."""
        named = website or (self._environment.website_id if self._environment else None)
        if named is None:
            raise UserError(
                "no website was given", fix="name a website, or start the service with --demo NAME"
            )
        own = (
            self._environment
            if self._environment is not None and named == self._environment.website_id
            else None
        )
        flow_id = flow or (own.default_flow if own else None)
        if flow_id is None:
            raise UserError("no flow was given", fix=f"name one of the presentation flows of {named}")
        stores = own.stores if own else self._stores
        async with connect_knowledge_client(stores, self._base_urls) as client:
            try:
                return named, await KnowledgeClient(client, named).flow(flow_id)
            except UnknownToKnowledge as exc:
                raise UserError(
                    str(exc), fix=f"list them with: periplus kb export --website {named}"
                ) from exc
            except AgentError as exc:
                raise UserError(
                    f"could not read the knowledge base of {named}: {exc}", fix="try again"
                ) from exc

    @asynccontextmanager
    async def open(self, wish: VisitWish) -> AsyncIterator[LivePresentation]:
        """Implements `ShowOpener`."""
        environment = await self._at(wish.website)
        settings = LivePresentationSettings(
            flow=wish.flow, speed=wish.speed, voice=wish.voice, language=wish.language, captions=False
        )
        async with open_live_presentation(environment, settings) as show:
            yield show

    async def _at(self, website: str) -> DemoEnvironment:
        browser = await self._running()
        if self._environment is not None and website == self._environment.website_id:
            return replace(self._environment, browser=browser)
        return DemoEnvironment(
            website, self._stores, browser, self._runs, self._data_dir, self._base_urls.get(website)
        )

    async def _running(self) -> Browser:
        """Return the browser; start a new one if it was closed."""
        async with self._opening:
            if self._browser is None or not await wait_until_usable(self._browser):
                self._browser = await self._stack.enter_async_context(start_browser(headed=False))
            return self._browser
