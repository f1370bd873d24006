"""The compiled views of all websites: each compiled once, swapped whole when its revision changes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import NoReturn, Protocol, runtime_checkable

from kb_schema.knowledge import KnowledgeBase
from mcp_server.compiled import View, compile_view
from mcp_server.errors import DeskError, SourceDown, UnknownName
from mcp_server.source import KnowledgeSource


@dataclass(frozen=True, slots=True)
class Current:
    """The view to answer from. `note` says so where the store could not be asked whether it is current."""

    view: View
    note: str | None = None


@runtime_checkable
class DamageTeller(Protocol):
    """A source that serves what is left of damaged knowledge, and says so."""

    def damage(self, website_id: str) -> str | None:
        """What was left out of what was read last, for people; None: nothing."""
        ...


@runtime_checkable
class ChangeTeller(Protocol):
    """A source that tells of new revisions by itself."""

    def changes(self) -> AsyncIterator[str]:
        """Ids of websites whose revision changed, for as long as one iterates. Raises nothing."""
        ...


Compiling = Callable[[KnowledgeBase, str], View]
"""From checked knowledge and its generation."""
Listener = Callable[[View, View], Awaitable[None]]


class Views:
    """Views by website. Requests under way finish on the view they began with."""

    def __init__(self, source: KnowledgeSource, compiling: Compiling = compile_view) -> None:
        self._source = source
        self._compiling = compiling
        self._held: dict[str, View] = {}
        self._damage: dict[str, str | None] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._listeners: list[Listener] = []

    def on_change(self, listener: Listener) -> None:
        """Await `listener` with the view that was held and the one that took its place, from now on."""
        self._listeners.append(listener)

    @property
    def source(self) -> KnowledgeSource:
        """Where the knowledge comes from."""
        return self._source

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
            view = await self._fresh(website_id)
            return Current(view, self._damage.get(website_id))
        except SourceDown as exc:
            held = self._held.get(website_id)
            if held is None:
                raise
            note = f"from the copy of generation {held.generation}: {exc.message}"
            damage = self._damage.get(website_id)
            return Current(held, f"{note}; {damage}" if damage else note)

    async def follow(self) -> None:
        """Compile anew as soon as a held website changes, until cancelled; ends where nothing tells.

        Without it a change is found by the next question. With it, that question need not wait.
        """
        if not isinstance(self._source, ChangeTeller):
            return
        async for website_id in self._source.changes():
            if website_id in self._held:
                with suppress(DeskError):  # the next question says so
                    await self._fresh(website_id)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[Views]:
        """These views, followed for as long as the context is open."""
        task = asyncio.create_task(self.follow())
        try:
            yield self
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

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
        damage = self._source.damage(website_id) if isinstance(self._source, DamageTeller) else None
        view = await asyncio.to_thread(self._compiling, knowledge, generation)
        self._damage[website_id] = damage
        self._held[website_id] = view
        if held is not None:
            for listener in self._listeners:
                await listener(held, view)
        return view

    async def _refuse(self, website_id: str) -> NoReturn:
        self._held.pop(website_id, None)
        self._locks.pop(website_id, None)
        known = await self._source.websites()
        hint = "call list_websites" if known else "load one with `periplus kb load DIR`"
        raise UnknownName("website", website_id, known, hint=hint)
