"""The tabs in which clients work: each has a page, the website that it shows, and what was seen of it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Self, TypeVar

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from agent.events import ActionDone, Event
from agent.execution.task_runner import TaskRunner
from agent.locators.page_index import PageIndex
from agent.locators.page_outline import PageOutline, RefNames
from agent.page.errors import PageError
from agent.run_records.session_trace import SessionTrace
from agent.session import Session
from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from kb_schema.owner_folders import make_owner_folder
from kb_schema.url_patterns import origin_of
from kb_store import Stores
from kb_store.runs.run_store import RunStore
from mcp_server.knowledge.view_cache import ViewCache
from periplus.browser_tools.address_policy import AddressPolicy, AddressRefused, OpenMode
from periplus.browser_tools.browser_source import BrowserSource
from periplus.browser_tools.errors import NoPage, UnknownTab
from periplus.browser_tools.websites_by_origin import find_only_address, find_website
from periplus.run_store_adapters import RunStoreKeeping
from periplus.session_setup import open_session
from periplus.trial_stores import open_trial_stores

TRACES = "browser"
"""Subfolder of the data directory with the traces of what was done in tabs."""
WITHOUT_KNOWLEDGE = "unknown_site"
"""The website of a page that no knowledge base is about."""


_LEAVING_MS = 5_000
"""The most time that leaving a page takes."""
Value = TypeVar("Value")


class HeldContext(Generic[Value]):
    """Keeps an async context manager open in a task of its own: the MCP client must be closed by the task that opened it."""

    def __init__(self, manager: AbstractAsyncContextManager[Value]) -> None:
        self._manager = manager
        self._opened: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._task = asyncio.create_task(self._hold(), name="session of a tab")

    async def open(self) -> Value:
        """Return what the context manager yields. Raises what it raises."""
        return await self._opened

    async def close(self) -> None:
        """Leave the context manager."""
        self._closing.set()
        await self._task

    async def _hold(self) -> None:
        try:
            async with self._manager as value:
                self._opened.set_result(value)
                await self._closing.wait()
        except Exception as exc:
            if self._opened.done():
                raise
            self._opened.set_exception(exc)


@dataclass(slots=True, eq=False)
class SeenPage:
    """What a client was told of a tab's page last."""

    url: str
    index: PageIndex | None = None
    outline: PageOutline | None = None
    known: str = ""
    """The text about the known screen; empty: none was known."""
    tools: tuple[str, ...] = ()
    """Lines about what only a person can do, and about the tools that the page offers."""
    head: str = ""
    """Title and address, as the client was told them."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Reference or element id -> what the field shows; no secrets."""


@dataclass(slots=True, eq=False)
class BrowserTab:
    """One tab. Its session is that of the website it shows."""

    tab_id: str
    page: Page
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while something is done in the tab."""
    session: Session | None = None
    engine: TaskRunner | None = None
    website_id: str | None = None
    """None: no knowledge base is about the page."""
    names: RefNames = field(default_factory=RefNames)
    seen: SeenPage | None = None
    trace: Path | None = None
    """The folder of the recorded acts; None: nothing was done on this website."""
    held: HeldContext[tuple[Session, TaskRunner, Path]] | None = None
    """Keeps the session open."""

    @property
    def url(self) -> str:
        """The page's address, without secrets."""
        return self.page.url if self.session is None else str(self.session.context.redact(self.page.url))

    def working_session(self) -> tuple[Session, TaskRunner]:
        """Return the session and its engine. Raises `NoPage` where the tab shows no web page."""
        if self.page.is_closed():
            raise NoPage("the tab is closed", hint="call tabs to choose or open another one")
        if self.session is None or self.engine is None:
            raise NoPage("the tab shows no web page yet", hint="call go_to with a url")
        return self.session, self.engine

    async def leave_website(self) -> None:
        """Close the session; the page stays."""
        self.session = self.engine = self.website_id = None
        held, self.held = self.held, None
        if held is not None:
            await held.close()


class BrowserTabs:
    """The tabs of one server. An async context manager; pages that it opened are closed with the browser source."""

    def __init__(
        self,
        source: BrowserSource,
        stores: Stores,
        runs: RunStore,
        views: ViewCache,
        *,
        base_urls: Mapping[str, str],
        folder: Path,
        uploads: Path | None,
        shared: bool = False,
        addresses: AddressPolicy | None = None,
    ) -> None:
        """`addresses`: which may be opened beside known websites; None: all. `shared`: several clients use the server, so that each call names its tab. `folder`: for traces."""
        self.source, self.shared = source, shared
        self._stores, self._runs, self._views = stores, runs, views
        self._base_urls, self._folder, self._uploads = base_urls, folder, uploads
        self._addresses = addresses or AddressPolicy(OpenMode.ANY, this_machine=True)
        self._tabs: dict[str, BrowserTab] = {}
        self._current: str | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for tab in self._tabs.values():
            await tab.leave_website()

    def list_tabs(self) -> list[BrowserTab]:
        """Return the open tabs, those of the browser's other pages included; of a shared server only known ones."""
        self._tabs = {tab_id: tab for tab_id, tab in self._tabs.items() if not tab.page.is_closed()}
        if not self.shared:
            known = {tab.page for tab in self._tabs.values()}
            for page in self.source.pages:
                if page not in known:
                    self._add(page)
        return list(self._tabs.values())

    @property
    def current(self) -> str | None:
        """The tab that is meant if a call names none; None on a shared server."""
        return None if self.shared else self._current

    async def open_tab(self) -> BrowserTab:
        """Open a tab of our own and make it the present one."""
        tab = self._add(await self.source.open_page())
        self._current = tab.tab_id
        return tab

    def choose(self, tab_id: str) -> BrowserTab:
        """Make a tab the present one. Raises `UnknownTab`."""
        tab = self._named(tab_id)
        self._current = tab.tab_id
        return tab

    async def close_tab(self, tab_id: str) -> None:
        """Close a tab of ours. Raises `UnknownTab`, and `NoPage` for a page that was there before."""
        tab = self._named(tab_id)
        if self.source.attached and tab.page not in self.source.own:
            raise NoPage(f"{tab_id} is not ours: it was open before", hint="leave it open")
        await tab.leave_website()
        await tab.page.close()

    @asynccontextmanager
    async def working_tab(self, tab_id: str | None, *, leaves: bool = False) -> AsyncIterator[BrowserTab]:
        """Take a tab for one call, with the session of what it shows. Raises `UnknownTab`, `NoPage`, `AddressRefused`.

        `leaves`: the call opens another address, so that it does not matter what the tab shows.
        """
        tab = await self._wanted(tab_id)
        async with tab.lock:
            try:
                await self.follow(tab)
            except AddressRefused:
                if not leaves:
                    raise
            yield tab

    async def follow(self, tab: BrowserTab, url: str | None = None) -> None:
        """Give a tab the session of the website that its page shows now, or of the one at `url`.

        Raises `AddressRefused` for an address that may not be opened, also if a link or a redirect led there. A tab that
        a person opened may show any.
        """
        if tab.page.is_closed():
            raise NoPage("the tab is closed", hint="call tabs to choose or open another one")
        origin = origin_of(url or tab.page.url)
        if not origin.startswith(("http://", "https://")):
            if tab.session is not None:
                await tab.leave_website()
            return
        if tab.session is not None and origin in tab.session.allowed_origins:
            return
        await tab.leave_website()
        website_id = await find_website(self._views, self._base_urls, origin)
        if website_id is None and (url is not None or self._is_ours(tab.page)):
            await self._check_address(tab, url)
        await self.source.prepare(tab.page)
        tab.held = HeldContext(self._open_session(tab.page, website_id, origin))
        tab.session, tab.engine, tab.trace = await tab.held.open()
        tab.website_id = website_id

    async def _check_address(self, tab: BrowserTab, url: str | None) -> None:
        """Raise `AddressRefused`; a page that shows such an address is left, so that the tab can be used on."""
        try:
            await self._addresses.check(url or tab.page.url)
        except AddressRefused:
            if url is None:
                with suppress(PlaywrightError):
                    await tab.page.goto("about:blank", timeout=_LEAVING_MS)
            raise

    def _is_ours(self, page: Page) -> bool:
        return page in self.source.own or not self.source.attached

    @asynccontextmanager
    async def _open_session(
        self, page: Page, website_id: str | None, origin: str
    ) -> AsyncIterator[tuple[Session, TaskRunner, Path]]:
        """Open the session of a website on a page, with a recorder of what is done; None: a website without knowledge."""
        async with AsyncExitStack() as stack:
            stores, base_url = self._stores, self._base_urls.get(website_id or "")
            if website_id is None:
                stores = await stack.enter_async_context(open_trial_stores(_bare_knowledge(origin)))
                base_url = origin
            name = website_id or WITHOUT_KNOWLEDGE
            opening = open_session(
                stores,
                self.source.lent.as_context(),
                name,
                base_url=base_url,
                runs=self._runs,
                page=page,
                for_client=self.shared,
            )
            session = await stack.enter_async_context(opening)
            session.context.redacts_known = True
            session.upload_folder = self._uploads
            folder = self._folder / TRACES / session.context.run_id
            recorder = _ActRecorder(folder, name, session)
            session.bus.listen(recorder, pages=True)
            stack.push_async_callback(recorder.close)
            yield session, TaskRunner(session, keeping=RunStoreKeeping(self._runs)), folder

    async def find_only_address(self) -> str | None:
        """Return the address of the only website that is known; None if there is none or several."""
        return await find_only_address(self._views, self._base_urls)

    async def knowledge(self, website_id: str) -> KnowledgeBase:
        """Return what is known of a website. Raises `UnknownName`."""
        return (await self._views.current(website_id)).view.knowledge

    async def take_followed(self, tab: BrowserTab) -> BrowserTab:
        """Return the tab that an act in `tab` opened, now the present one. `tab` keeps its own page."""
        session, _ = tab.working_session()
        page, session.page = session.page, tab.page
        session.touched()
        self.source.lent.take(page)
        opened = next((each for each in self._tabs.values() if each.page == page), None) or self._add(page)
        self._current = opened.tab_id
        await self.follow(opened)
        return opened

    async def _wanted(self, tab_id: str | None) -> BrowserTab:
        if tab_id is not None:
            return self.choose(tab_id)
        if self.shared:
            raise NoPage(
                "no tab is named",
                hint="call tabs with open to get one of your own, and name it in every call",
            )
        tabs = {tab.tab_id: tab for tab in self.list_tabs()}
        if self._current in tabs:
            return tabs[self._current]
        for tab in tabs.values():
            if await _is_in_front(tab.page):
                return self.choose(tab.tab_id)
        return await self.open_tab()

    def _named(self, tab_id: str) -> BrowserTab:
        tabs = {tab.tab_id: tab for tab in self.list_tabs()}
        if tab_id not in tabs:
            raise UnknownTab("tab", tab_id, () if self.shared else tabs, hint="call tabs")
        return tabs[tab_id]

    def _add(self, page: Page) -> BrowserTab:
        tab_id = f"t{secrets.token_hex(8)}" if self.shared else f"t{len(self._tabs) + 1}"
        while tab_id in self._tabs:
            tab_id = f"{tab_id}a"
        tab = self._tabs[tab_id] = BrowserTab(tab_id, page)
        if self._is_ours(page):
            self.source.lent.take(page)
        return tab


class _ActRecorder:
    """Writes the acts in a tab as one turn of a session, which `synthesize` reads; nothing before the first act."""

    def __init__(self, folder: Path, website_id: str, session: Session) -> None:
        self._folder, self._website_id, self._session = folder, website_id, session
        self._trace: SessionTrace | None = None

    def __call__(self, event: Event) -> None:
        """Handle one event of the session."""
        if not isinstance(event, ActionDone):
            return
        if self._trace is None:
            make_owner_folder(self._folder.parent)
            self._trace = SessionTrace(
                self._folder, website_id=self._website_id, context=self._session.context
            )
        self._trace(event)

    async def close(self) -> None:
        """Write the rest."""
        if self._trace is None:
            return
        html = None
        with suppress(PageError, PlaywrightError):  # the browser may be gone; the trace is kept all the same
            html = (await self._session.snapshot()).html
        self._trace.close(html, complete=True)


def _bare_knowledge(origin: str) -> KnowledgeBase:
    document = {"type": "website", "website_id": WITHOUT_KNOWLEDGE, "name": origin, "base_url": origin}
    knowledge, _ = assemble([SourcedDocument(parse_document(document))])
    return knowledge


async def _is_in_front(page: Page) -> bool:
    """Whether a person sees this tab."""
    try:
        return bool(await page.evaluate("document.visibilityState === 'visible' && !document.hidden"))
    except PlaywrightError:
        return False
