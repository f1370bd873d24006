"""What all shows of one website share: its site, its knowledge, one browser, and where runs are kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser

from kb_schema.presentation import PresentationFlow
from kb_store import Stores, load_knowledge, open_stores
from kb_store.changing import Keeping, LearnedWouldBeLost
from kb_store.runs import RunStore
from loaders.files import read_knowledge_folder
from periplus.errors import UserError
from periplus.logbook import open_logbook
from periplus.seeds import Seed
from periplus.sites import running_site
from periplus.voyage import started_browser


@dataclass(frozen=True, slots=True)
class Venue:
    """Any number of shows may be open here at once, each in a browser context of its own."""

    website_id: str
    stores: Stores
    browser: Browser
    runs: RunStore
    data_dir: Path
    """Where spoken words and filmed segments are kept between shows."""
    base_url: str | None = None
    """Where the site runs; None: where its knowledge says."""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Global context of every show: an account to sign in with, sample files."""
    default_flow: str | None = None


@dataclass(frozen=True, slots=True)
class VenueSettings:
    """Where a venue is opened."""

    data_dir: Path
    base_url: str | None = None
    """Of a site that runs already; None: the seed's own is started."""
    mongodb_url: str | None = field(default=None, repr=False)
    """Where knowledge and runs are kept; None: knowledge in the data directory."""
    arangodb_url: str | None = field(default=None, repr=False)
    headed: bool | None = None
    """None: a window where there is a display."""


@asynccontextmanager
async def open_venue(
    seed: Seed,
    settings: VenueSettings,
    *,
    flow: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Venue]:
    """A seed's site, running, its knowledge loaded, a browser started; `tell` hears what is unusual.

    `flow` becomes the one that is played where a show names none. Raises `UserError` for what a person
    can put right, before anything is started where the flow is not known.
    """
    knowledge, _ = await asyncio.to_thread(read_knowledge_folder, seed.knowledge_folder)
    wanted = _flow(seed, flow, knowledge.flows)
    values = dict(seed.context)
    if seed.files:
        values["files"] = str(seed.folder / seed.files)
    async with AsyncExitStack() as stack:
        base_url = settings.base_url or await stack.enter_async_context(running_site(seed))
        stores = await stack.enter_async_context(
            open_stores(
                settings.data_dir, mongodb_url=settings.mongodb_url, arangodb_url=settings.arangodb_url
            )
        )
        try:
            keeping = Keeping(stores.proposals, knowledge)
            await load_knowledge(stores.documents, stores.graph, knowledge, check=keeping)
        except LearnedWouldBeLost as exc:
            tell(f"the store's own knowledge is used: it has {len(exc.lost)} accepted changes more")
        browser = await stack.enter_async_context(started_browser(headed=settings.headed))
        runs = await stack.enter_async_context(open_logbook(settings.mongodb_url, data_dir=settings.data_dir))
        yield Venue(
            knowledge.website.website_id,
            stores,
            browser,
            runs,
            settings.data_dir,
            base_url,
            values,
            wanted.flow_id,
        )


def _flow(seed: Seed, wanted: str | None, flows: dict[str, PresentationFlow]) -> PresentationFlow:
    name = wanted or seed.default_flow or next(iter(sorted(flows)), None)
    if name is None or name not in flows:
        known = ", ".join(sorted(flows)) or "none"
        raise UserError(f"the demo {seed.name!r} has no flow {name!r}", fix=f"--flow with one of: {known}")
    return flows[name]
