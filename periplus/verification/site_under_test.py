"""Opens the site a verification runs on: one that is running already, or a seed's own site."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from kb_store import load_knowledge
from kb_store.proposals.accepted_changes import AcceptedChangesCheck, AcceptedChangesLost
from loaders.files.folder_reader import read_knowledge_folder
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from periplus.store_selection import open_selected_stores


@dataclass(frozen=True, slots=True)
class SiteUnderTest:
    """The site."""

    base_url: str | None = None
    """None: each requirement gives its own."""
    website_id: str | None = None
    values: Mapping[str, object] = field(default_factory=dict, repr=False)
    """An account to sign in with."""
    title: str = ""


@asynccontextmanager
async def open_site_under_test(
    seed_name: str | None, base_url: str | None, website: str | None, *, knowledge: bool
) -> AsyncIterator[SiteUnderTest]:
    """Open the site. With `knowledge`, a seed's knowledge is loaded, for a login task.

    Raises `UserError` if there is no such seed or its site does not start.
    """
    if seed_name is None:
        yield SiteUnderTest(base_url, website, title=website or "")
        return
    seed = find_seed(seed_name)
    known, _ = await asyncio.to_thread(read_knowledge_folder, seed.knowledge_folder)
    async with AsyncExitStack() as stack:
        address = base_url or await stack.enter_async_context(start_seed_site(seed))
        if knowledge:
            async with open_selected_stores() as stores:
                try:
                    keeping = AcceptedChangesCheck(stores.proposals, known)
                    await load_knowledge(stores.documents, stores.graph, known, check=keeping)
                except AcceptedChangesLost:
                    pass  # the store's own knowledge is used: it has more
        values = dict(seed.context)
        if seed.files:
            values["files"] = str(seed.folder / seed.files)
        yield SiteUnderTest(address, website or known.website.website_id, values, seed.title or seed.name)
