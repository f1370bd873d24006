"""The environment that all demos of one website share: the site, its knowledge base, one browser, and the run
storage.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, StorageState

from kb_schema.objectives import Objective
from kb_schema.presentation_flows import PresentationFlow
from kb_store import Stores, load_knowledge, open_stores
from kb_store.proposals.accepted_changes import AcceptedChangesCheck, AcceptedChangesLost
from kb_store.runs.run_store import RunStore
from loaders.files.folder_reader import read_knowledge_folder
from periplus.demos.website_demo import WebsiteDemo, load_website_demo
from periplus.errors import UserError
from periplus.run_store_adapters import open_run_store
from periplus.runs.input_names import check_inputs_used
from periplus.seed_sites.seed_manifests import Seed
from periplus.seed_sites.site_process import start_seed_site
from periplus.session_setup import BrowserOptions, start_browser
from periplus.session_setup.storage_states import copy_session


@dataclass(frozen=True, slots=True)
class DemoEnvironment:
    """Several presentations may be open at once, each in a browser context of its own."""

    website_id: str
    stores: Stores
    browser: Browser
    runs: RunStore
    data_dir: Path
    """Folder for synthesised speech and filmed segments, kept between demos."""
    base_url: str | None = None
    """Base URL of the site; None: the one in the knowledge base."""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Global values of every presentation: an account to sign in with, sample files."""
    default_flow: str | None = None
    storage: StorageState | None = field(default=None, repr=False)
    """A signed-in session with which every presentation begins."""
    objective: Objective | None = None
    """By what paths are chosen; None: as the tasks and the settings say."""


@dataclass(frozen=True, slots=True)
class DemoEnvironmentSettings:
    """Where the environment runs and stores its data."""

    data_dir: Path
    base_url: str | None = None
    """Base URL of a running site; None: the seed's own site is started."""
    mongodb_url: str | None = field(default=None, repr=False)
    """Stores of knowledge and runs; None: the embedded store in the data directory."""
    arangodb_url: str | None = field(default=None, repr=False)
    headed: bool | None = None
    """None: a window if there is a display."""
    objective: Objective | None = None
    """By what paths are chosen; None: as the tasks and the settings say."""
    browser: BrowserOptions | None = None
    """The browser to start, or a given one; None: Chromium, as `headed` says."""

    def browser_options(self) -> BrowserOptions:
        """Return the browser to use."""
        return self.browser or BrowserOptions(headed=self.headed)


@asynccontextmanager
async def open_demo_environment(
    demo: Seed | WebsiteDemo,
    settings: DemoEnvironmentSettings,
    *,
    flow: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[DemoEnvironment]:
    """Start a seed's site, load its knowledge base and start a browser. `tell` receives warnings.

    A loaded website is used as it is, at the address where it runs. `flow` becomes the default flow. Raises
    `UserError` for errors that the user can fix; an unknown flow is reported before anything is started.
    """
    opening = (
        _open_website(demo, settings, flow)
        if isinstance(demo, WebsiteDemo)
        else _open_seed(demo, settings, flow, tell)
    )
    async with opening as environment:
        yield environment


@asynccontextmanager
async def _open_seed(
    seed: Seed, settings: DemoEnvironmentSettings, flow: str | None, tell: Callable[[str], None]
) -> AsyncIterator[DemoEnvironment]:
    knowledge, _ = await asyncio.to_thread(read_knowledge_folder, seed.knowledge_folder)
    wanted = _flow(seed, flow, knowledge.flows)
    values = dict(seed.context)
    if seed.files:
        values["files"] = str(seed.folder / seed.files)
    async with AsyncExitStack() as stack:
        base_url = settings.base_url or await stack.enter_async_context(start_seed_site(seed))
        stores = await stack.enter_async_context(_open_stores(settings))
        try:
            keeping = AcceptedChangesCheck(stores.proposals, knowledge)
            await load_knowledge(stores.documents, stores.graph, knowledge, check=keeping)
        except AcceptedChangesLost as exc:
            tell(
                f"the store's own knowledge base is used, because it has {len(exc.lost)} accepted changes that "
                "loading would lose"
            )
        browser = await stack.enter_async_context(start_browser(options=settings.browser_options()))
        runs = await stack.enter_async_context(_open_runs(settings))
        website_id = knowledge.website.website_id
        yield DemoEnvironment(
            website_id,
            stores,
            browser,
            runs,
            settings.data_dir,
            base_url,
            values,
            wanted.flow_id,
            objective=settings.objective,
        )


@asynccontextmanager
async def _open_website(
    demo: WebsiteDemo, settings: DemoEnvironmentSettings, flow: str | None
) -> AsyncIterator[DemoEnvironment]:
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(_open_stores(settings))
        knowledge, wanted = await load_website_demo(demo, stores, flow)
        if not demo.sign_in_form:  # else the names are those of its fields, too
            works = {each.task_id for each in wanted.segments if each.task_id is not None}
            await check_inputs_used(stores, demo.website_id, works, demo.values, flow=wanted)
        browser = await stack.enter_async_context(start_browser(options=settings.browser_options()))
        base_url = settings.base_url or knowledge.website.base_url
        storage = await demo.sign_in(browser, base_url)
        if storage is None and settings.browser_options().given:
            storage = await copy_session(browser, (base_url, *knowledge.website.allowed_origins))
        runs = await stack.enter_async_context(_open_runs(settings))
        yield DemoEnvironment(
            demo.website_id,
            stores,
            browser,
            runs,
            settings.data_dir,
            settings.base_url,
            demo.values,
            wanted.flow_id,
            storage,
            settings.objective,
        )


def _open_stores(settings: DemoEnvironmentSettings) -> AbstractAsyncContextManager[Stores]:
    return open_stores(
        settings.data_dir, mongodb_url=settings.mongodb_url, arangodb_url=settings.arangodb_url
    )


def _open_runs(settings: DemoEnvironmentSettings) -> AbstractAsyncContextManager[RunStore]:
    return open_run_store(settings.mongodb_url, data_dir=settings.data_dir)


def _flow(seed: Seed, wanted: str | None, flows: Mapping[str, PresentationFlow]) -> PresentationFlow:
    name = wanted or seed.default_flow or next(iter(sorted(flows)), None)
    if name is None or name not in flows:
        known = ", ".join(sorted(flows)) or "none"
        raise UserError(
            f"the demo {seed.name!r} has no flow {name!r}", fix=f"use --flow with one of: {known}"
        )
    return flows[name]
