"""Opening shows for visitors: one browser for all of them, a context each, started when first wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from playwright.async_api import Browser

from agent.errors import AgentError, NotInKnowledge
from agent.knowledge import Knowledge
from kb_schema.presentation import PresentationFlow
from kb_store import Stores
from kb_store.runs import RunStore
from periplus.desk import desk_client
from periplus.errors import UserError
from periplus.presenting.show import Show, ShowSettings, open_show
from periplus.presenting.venue import Venue
from periplus.service.visiting.ports import Wish
from periplus.voyage import started_browser


class Shows:
    """`ports.ShowOpener` over the service's stores, or over the venue of the demo it was started with."""

    def __init__(
        self,
        stores: Stores,
        runs: RunStore,
        data_dir: Path,
        *,
        base_urls: Mapping[str, str] | None = None,
        venue: Venue | None = None,
    ) -> None:
        """`base_urls`: where websites run, if not where their knowledge says. `venue`: of a demo whose site
        runs beside us; what a link shows that names no website.
        """
        self._stores, self._runs, self._data_dir = stores, runs, data_dir
        self._base_urls, self._venue = dict(base_urls or {}), venue
        self._stack, self._opening = AsyncExitStack(), asyncio.Lock()
        self._browser: Browser | None = None if venue is None else venue.browser

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Shows]:
        """For as long as one is inside; then the browser is closed, if one was started."""
        async with self._stack:
            yield self

    async def flow(self, website: str | None, flow: str | None) -> tuple[str, PresentationFlow]:
        """As `ShowOpener` has it."""
        named = website or (self._venue.website_id if self._venue else None)
        if named is None:
            raise UserError("no website is named", fix="name one, or start the service with --demo NAME")
        own = self._venue if self._venue is not None and named == self._venue.website_id else None
        flow_id = flow or (own.default_flow if own else None)
        if flow_id is None:
            raise UserError("no flow is named", fix=f"name one of the presentation flows of {named}")
        stores = own.stores if own else self._stores
        async with desk_client(stores, self._base_urls) as client:
            try:
                return named, await Knowledge(client, named).flow(flow_id)
            except NotInKnowledge as exc:
                raise UserError(
                    str(exc), fix=f"see what there is: periplus kb export --website {named}"
                ) from exc
            except AgentError as exc:
                raise UserError(f"the knowledge of {named} cannot be asked: {exc}", fix="try again") from exc

    @asynccontextmanager
    async def open(self, wish: Wish) -> AsyncIterator[Show]:
        """As `ShowOpener` has it."""
        venue = await self._at(wish.website)
        settings = ShowSettings(
            flow=wish.flow, speed=wish.speed, voice=wish.voice, language=wish.language, captions=False
        )
        async with open_show(venue, settings) as show:
            yield show

    async def _at(self, website: str) -> Venue:
        browser = await self._running()
        if self._venue is not None and website == self._venue.website_id:
            return replace(self._venue, browser=browser)
        return Venue(website, self._stores, browser, self._runs, self._data_dir, self._base_urls.get(website))

    async def _running(self) -> Browser:
        """The browser; another one where it is gone."""
        async with self._opening:
            if self._browser is None or not self._browser.is_connected():
                self._browser = await self._stack.enter_async_context(started_browser(headed=False))
            return self._browser
