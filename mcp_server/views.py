"""The compiled views of all websites: each compiled once, swapped whole when its revision changes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from typing import NoReturn

from mcp_server.compiled import View, compile_view
from mcp_server.errors import SourceDown, UnknownName
from mcp_server.source import KnowledgeSource


@dataclass(frozen=True, slots=True)
class Current:
    """The view to answer from. `note` says so where the store could not be asked whether it is current."""

    view: View
    note: str | None = None


class Views:
    """Views by website. Requests under way finish on the view they began with."""

    def __init__(self, source: KnowledgeSource) -> None:
        self._source = source
        self._held: dict[str, View] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def websites(self) -> list[str]:
        """Ids of every website; those held in memory when the store is down."""
        try:
            return sorted(await self._source.websites())
        except SourceDown:
            if self._held:
                return sorted(self._held)
            raise

    async def current(self, website_id: str) -> Current:
        """The view at the revision in force. Raises `UnknownName`, and `SourceDown` without a copy."""
        try:
            return Current(await self._fresh(website_id))
        except SourceDown as exc:
            held = self._held.get(website_id)
            if held is None:
                raise
            return Current(held, f"from the copy of generation {held.generation}: {exc.message}")

    async def _fresh(self, website_id: str) -> View:
        held = self._held.get(website_id)
        revision = await self._source.revision(website_id)
        if held is not None and held.generation == revision:
            return held
        if revision is None:
            await self._refuse(website_id)
        async with self._locks[website_id]:
            return await self._compiled(website_id)

    async def _compiled(self, website_id: str) -> View:
        """Compile what is in force now, unless somebody else did while we waited."""
        held = self._held.get(website_id)
        if held is not None and held.generation == await self._source.revision(website_id):
            return held
        read = await self._source.read(website_id)
        if read is None:
            await self._refuse(website_id)
        knowledge, generation = read
        view = await asyncio.to_thread(compile_view, knowledge, generation)
        self._held[website_id] = view
        return view

    async def _refuse(self, website_id: str) -> NoReturn:
        self._held.pop(website_id, None)
        self._locks.pop(website_id, None)
        known = await self._source.websites()
        hint = "call list_websites" if known else "load one with `periplus kb load DIR`"
        raise UnknownName("website", website_id, known, hint=hint)
