from __future__ import annotations

import asyncio

import pytest

from mcp_server.errors import SourceUnavailable, UnknownName
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.knowledge.view_cache import ViewCache
from tests.mcp_server import pantry


class Counting(MemorySource):
    """Counts reads, and can be out of reach."""

    def __init__(self, *knowledge):
        super().__init__(*knowledge)
        self.reads = 0
        self.down = False

    async def read(self, website_id):
        self._reach()
        self.reads += 1
        await asyncio.sleep(0)
        return await super().read(website_id)

    async def revision(self, website_id):
        self._reach()
        return await super().revision(website_id)

    async def websites(self):
        self._reach()
        return await super().websites()

    def _reach(self):
        if self.down:
            raise SourceUnavailable("the store at nowhere is not available")


async def test_a_view_is_compiled_once_until_the_revision_changes():
    source = Counting(pantry.knowledge())
    views = ViewCache(source)
    first, second = await asyncio.gather(views.current("pantry"), views.current("pantry"))
    assert first.view is second.view
    assert source.reads == 1
    source.put([pantry.knowledge()])
    third = await views.current("pantry")
    assert third.view is not first.view
    assert (third.view.generation, first.view.generation, source.reads) == ("2", "1", 2)


async def test_without_its_store_a_server_answers_from_its_copy_and_says_so():
    source = Counting(pantry.knowledge())
    views = ViewCache(source)
    await views.current("pantry")
    source.down = True
    current = await views.current("pantry")
    assert "generation 1" in (current.note or "")
    assert await views.websites() == ["pantry"]
    source.down = False
    assert (await views.current("pantry")).note is None


async def test_without_store_and_copy_the_error_names_the_store():
    source = Counting(pantry.knowledge())
    source.down = True
    with pytest.raises(SourceUnavailable, match="nowhere"):
        await ViewCache(source).current("pantry")


async def test_an_unknown_website_is_refused_and_corrected():
    with pytest.raises(UnknownName, match="did you mean") as refused:
        await ViewCache(MemorySource(pantry.knowledge())).current("pantri")
    assert refused.value.hint == "call list_websites"
    with pytest.raises(UnknownName, match="kb load"):
        await ViewCache(MemorySource()).current("pantry")
