"""A store, and a website of it that is open in a browser: identify pages, find paths, run tasks, go to screens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import BrowserContext, Page, StorageState
from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError
from agent.page.errors import PageError
from agent.page.snapshot_capture import take_snapshot
from agent.session import Session
from kb_schema import KnowledgeBase
from kb_schema.run_records import RunResult
from kb_schema.tool_answers import Identification, PathSearchResult
from kb_schema.url_patterns import is_web_address
from kb_store import Stores, load_knowledge, read_knowledge
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import open_runs, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.agent_failures import to_user_error
from periplus.errors import UserError
from periplus.language_model import load_inferencer
from periplus.output_folder import prepare_output_folder
from periplus.runs.run_checks import check_run_request
from periplus.runs.task_runs import TaskRunRequest, TaskRunResources, execute_task_run
from periplus.session_setup import open_browser_context, open_session
from periplus.settings import load_settings
from periplus.store_selection import get_store_urls
from periplus.website_selection import list_websites, select_website

RUNS = "runs"
"""The subfolder of the data directory with the files of runs."""


@dataclass(frozen=True)
class Store:
    """The knowledge bases, what was learned about them, and the runs. `open_store` opens one."""

    stores: Stores = field(repr=False)
    runs: RunStore = field(repr=False)
    data_dir: Path
    mongodb_url: str | None = field(default=None, repr=False)
    arangodb_url: str | None = field(default=None, repr=False)

    async def load(self, folder: str | Path) -> str:
        """Load the knowledge base of a folder, replacing the website's present one; return the website's id.

        Raises `KnowledgeError` with every problem, its file and its place.
        """
        knowledge, _ = read_knowledge_folder(Path(folder))
        return await self.add(knowledge)

    async def add(self, knowledge: KnowledgeBase) -> str:
        """Load a knowledge base, such as the one of `map_website`; return the website's id."""
        await load_knowledge(self.stores.documents, self.stores.graph, knowledge)
        return knowledge.website.website_id

    async def websites(self) -> list[str]:
        """Return the ids of all websites, sorted."""
        return await list_websites(self.stores)

    async def knowledge(self, website: str | None = None) -> KnowledgeBase:
        """Return the knowledge base of a website; None: of the only one.

        Raises `UserError` if it must be named, and `NoSuchWebsite`.
        """
        website_id = select_website(website, await self.websites())
        return (await read_knowledge(self.stores.documents, self.stores.graph, website_id))[0]


@asynccontextmanager
async def open_store(
    data_dir: str | Path | None = None, *, mongodb_url: str | None = None, arangodb_url: str | None = None
) -> AsyncIterator[Store]:
    """Open the store in a folder, created if necessary, or in MongoDB and ArangoDB.

    Default: what the settings `PERIPLUS_DATA_DIR`, `PERIPLUS_MONGODB_URL` and `PERIPLUS_ARANGODB_URL` say. A given folder
    is an embedded store whatever the settings say. Raises `StoreError` if a database is not available.
    """
    folder = load_settings().data_dir if data_dir is None else Path(data_dir)
    mongodb, arangodb = (
        get_store_urls(mongodb_url, arangodb_url) if data_dir is None else (mongodb_url, arangodb_url)
    )
    async with (
        open_stores(folder, mongodb_url=mongodb, arangodb_url=arangodb) as stores,
        open_runs(folder, mongodb) as runs,
    ):
        yield Store(stores, runs, folder, mongodb, arangodb)


@dataclass(frozen=True)
class Site:
    """A website of a store, open on one page of a browser. `open_site` opens one; do one thing at a time with it."""

    store: Store
    website_id: str
    page: Page
    """The Playwright page that everything happens on. You may use it between the calls."""
    base_url: str
    values: Mapping[str, object] = field(default_factory=dict, repr=False)

    async def identify(self) -> Identification:
        """Return which screen the page shows, with the evidence; `screen_id` is None for an unknown page."""
        async with self._session() as session:
            try:
                return await session.knowledge.identify(await take_snapshot(self.page))
            except (AgentError, PageError, PlaywrightError) as exc:
                raise to_user_error(exc, session.context) from exc

    async def find_path(
        self, screen: str, *, start: str | None = None, alternatives: int = 1
    ) -> PathSearchResult:
        """Return the best paths to a screen, with their expected milliseconds and reliability.

        `start`: the screen to begin on; None: the one that the page shows. Raises `UserError` for an unknown screen, and if
        the page is none that the knowledge base has.
        """
        if start is None:
            start = (await self.identify()).screen_id
        if start is None:
            raise UserError(
                f"the page at {self.page.url} is no known screen", fix="name the first screen with `start`"
            )
        async with self._session() as session:
            try:
                return await session.knowledge.paths(start, screen, k=alternatives)
            except (AgentError, PageError, PlaywrightError) as exc:
                raise to_user_error(exc, session.context) from exc

    async def run(self, task: str, *, goal: str | None = None, **inputs: object) -> RunResult:
        """Run a task or workflow on the page, and return the result with its evidence; the run is stored.

        `inputs`: its inputs, and those of tasks that it calls. `goal`: the screen to end on. A task that failed is a result,
        too. Raises `UserError` for an unknown task, screen or input, for an input without a value, and if the page is gone.
        """
        return await self._run(TaskRunRequest(self.website_id, task, goal, self.base_url, self._all(inputs)))

    async def go_to(self, screen: str, **inputs: object) -> RunResult:
        """Go to a screen on the page, signing in where it is necessary; return the result. Raises as `run` does."""
        return await self._run(
            TaskRunRequest(self.website_id, None, screen, self.base_url, self._all(inputs))
        )

    async def _run(self, request: TaskRunRequest) -> RunResult:
        checked = await check_run_request(request, self.store.stores)
        folder = prepare_output_folder(self.store.data_dir / RUNS / request.run_id)
        resources = TaskRunResources(
            self.store.stores,
            self.store.runs,
            self._lend_context,
            folder,
            page=self.page,
            model=load_inferencer("plan"),
        )
        return await execute_task_run(checked, resources)

    def _lend_context(self, _storage: StorageState | None) -> AbstractAsyncContextManager[BrowserContext]:
        return nullcontext(self.page.context)

    def _all(self, inputs: Mapping[str, object]) -> dict[str, object]:
        return {**self.values, **inputs}

    def _session(self) -> AbstractAsyncContextManager[Session]:
        return open_session(
            self.store.stores,
            self.page.context,
            self.website_id,
            base_url=self.base_url,
            values=self.values,
            page=self.page,
        )


@asynccontextmanager
async def open_site(
    store: Store,
    website: str | None = None,
    *,
    page: Page | None = None,
    base_url: str | None = None,
    values: Mapping[str, object] | None = None,
    headed: bool | None = None,
    storage_state: StorageState | None = None,
) -> AsyncIterator[Site]:
    """Open a website of the store in a browser.

    `website`: its id; None: the only one in the store. `page`: a Playwright page of your own, which stays open; None: a new
    Chromium is started, visible if `headed` (None: if there is a display), signed in by `storage_state`. `base_url`: where
    the site runs, if not where the knowledge base says. `values`: inputs of every run, such as the account to sign in with.
    Raises `UserError` if the website must be named, an address is none or no browser starts, and `NoSuchWebsite`.
    """
    if base_url is not None and not is_web_address(base_url):
        raise UserError(f"{base_url!r} is not a web address", fix="write it like http://127.0.0.1:8080")
    if page is not None and not isinstance(page, Page):
        raise UserError(
            f"page: expected a page of playwright.async_api, found {type(page).__module__}.{type(page).__name__}",
            fix="open it with async_playwright(); synchronous tests use the fixture `site` (docs/pytest.md)",
        )
    known = await store.knowledge(website)
    address = (base_url or known.website.base_url).rstrip("/")
    async with AsyncExitStack() as stack:
        if page is None:
            opening = open_browser_context(headed=headed, storage=storage_state)
            page = await (await stack.enter_async_context(opening)).new_page()
        yield Site(store, known.website.website_id, page, address, dict(values or {}))
