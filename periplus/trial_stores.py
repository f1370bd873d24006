"""Temporary stores, to try out knowledge before it is loaded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from kb_schema import KnowledgeBase
from kb_store import Stores, load_knowledge, open_stores


@asynccontextmanager
async def open_trial_stores(knowledge: KnowledgeBase) -> AsyncIterator[Stores]:
    """Open temporary embedded stores with only this knowledge."""
    with TemporaryDirectory(prefix="periplus-trial-") as folder:
        async with open_stores(Path(folder)) as stores:
            await load_knowledge(stores.documents, stores.graph, knowledge)
            yield stores
