"""Where a verification takes place: a site that runs already, or a seed's own, started for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from kb_store import load_knowledge
from kb_store.changing import Keeping, LearnedWouldBeLost
from loaders.files import read_knowledge_folder
from periplus.seeds import find_seed
from periplus.shelves import open_chosen
from periplus.sites import running_site


@dataclass(frozen=True, slots=True)
class Where:
    """The site."""

    base_url: str | None = None
    """None: each requirement says it."""
    website_id: str | None = None
    values: Mapping[str, object] = field(default_factory=dict, repr=False)
    """An account to sign in with."""
    title: str = ""


@asynccontextmanager
async def opened_site(
    seed_name: str | None, base_url: str | None, website: str | None, *, knowledge: bool
) -> AsyncIterator[Where]:
    """The site, for as long as one is inside. Of a seed `knowledge` is loaded where a task is to sign in.

    Raises `UserError` for a seed there is not or whose site does not start.
    """
    if seed_name is None:
        yield Where(base_url, website, title=website or "")
        return
    seed = find_seed(seed_name)
    known, _ = await asyncio.to_thread(read_knowledge_folder, seed.knowledge_folder)
    async with AsyncExitStack() as stack:
        address = base_url or await stack.enter_async_context(running_site(seed))
        if knowledge:
            async with open_chosen() as stores:
                try:
                    keeping = Keeping(stores.proposals, known)
                    await load_knowledge(stores.documents, stores.graph, known, check=keeping)
                except LearnedWouldBeLost:
                    pass  # the store's own knowledge is used: it has more
        values = dict(seed.context)
        if seed.files:
            values["files"] = str(seed.folder / seed.files)
        yield Where(address, website or known.website.website_id, values, seed.title or seed.name)
