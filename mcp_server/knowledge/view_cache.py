"""The compiled views of all websites: each compiled once, and replaced when its revision changes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import NoReturn, Protocol, runtime_checkable
from weakref import WeakMethod

from kb_schema.knowledge_base import KnowledgeBase
from mcp_server.errors import KnowledgeServerError, SourceUnavailable, UnknownName
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from mcp_server.knowledge.knowledge_sources import KnowledgeSource


@dataclass(frozen=True, slots=True)
class CurrentView:
    """The view to answer from. `note` warns if the store could not confirm that it is current."""

    view: KnowledgeView
    note: str | None = None


@runtime_checkable
class DamageReporter(Protocol):
    """A source that serves the intact part of damaged knowledge, and reports the damage."""

    def damage(self, website_id: str) -> str | None:
        """Return a text about what was left out of the last read; None if nothing."""
        ...


@runtime_checkable
class ChangeNotifier(Protocol):
    """A source that reports new revisions by itself."""

    def changes(self) -> AsyncIterator[str]:
        """Yield the ids of websites whose revision changed, without end. Raises nothing."""
        ...


@runtime_checkable
class ViewKeeper(Protocol):
    """A source that keeps compiled views, so that another process need not compile them again."""

    async def kept_view(self, website_id: str) -> KnowledgeView | None:
        """Return the view of the current revision, if it is kept. Raises `SourceUnavailable`."""
        ...

    async def keep_view(self, view: KnowledgeView) -> None:
        """Keep a view that was just compiled. Raises `SourceUnavailable`."""
        ...


ViewCompiler = Callable[[KnowledgeBase, str], KnowledgeView]
"""From checked knowledge and its generation."""
ViewListener = Callable[[KnowledgeView, KnowledgeView], Awaitable[None]]


class ViewCache:
    """Views by website. Requests under way finish on the view they began with."""

    def __init__(self, source: KnowledgeSource, compiling: ViewCompiler = compile_view) -> None:
        self._source = source
        self._compiling = compiling
        self._held: dict[str, KnowledgeView] = {}
        self._damage: dict[str, str | None] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._listeners: list[WeakMethod[ViewListener]] = []

    def on_change(self, listener: ViewListener) -> None:
        """Await `listener`, a method, with the old and the new view at every change while its object lives."""
        self._listeners = [each for each in self._listeners if each() is not None] + [WeakMethod(listener)]

    @property
    def source(self) -> KnowledgeSource:
        """Where the knowledge comes from."""
        return self._source

    async def websites(self) -> list[str]:
        """Ids of every website; those held in memory when the store is down."""
        try:
            return sorted(await self._source.websites())
        except SourceUnavailable:
            if self._held:
                return sorted(self._held)
            raise

    async def current(self, website_id: str) -> CurrentView:
        """The view at the revision in force. Raises `UnknownName`, and `SourceUnavailable` without a copy."""
        try:
            view = await self._fresh(website_id)
            return CurrentView(view, self._damage.get(website_id))
        except SourceUnavailable as exc:
            held = self._held.get(website_id)
            if held is None:
                raise
            note = f"from the copy of generation {held.generation}: {exc.message}"
            damage = self._damage.get(website_id)
            return CurrentView(held, f"{note}; {damage}" if damage else note)

    def peek(self, website_id: str) -> KnowledgeView | None:
        """Return the compiled view that is in memory, whether it is current or not."""
        return self._held.get(website_id)

    async def follow(self) -> None:
        """Recompile as soon as a cached website changes, until cancelled. Ends if the source does not report changes.

        Without it the next query finds the change, and waits for the compilation.
        """
        if not isinstance(self._source, ChangeNotifier):
            return
        async for website_id in self._source.changes():
            if website_id in self._held:
                with suppress(KnowledgeServerError):  # the next query reports it
                    await self._fresh(website_id)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[ViewCache]:
        """Yield these views, followed while the context is open."""
        task = asyncio.create_task(self.follow())
        try:
            yield self
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _fresh(self, website_id: str) -> KnowledgeView:
        held = self._held.get(website_id)
        revision = await self._source.revision(website_id)
        if held is not None and held.generation == revision:
            return held
        if revision is None:
            await self._refuse(website_id)
        async with self._locks[website_id]:
            return await self._compiled(website_id)

    async def _compiled(self, website_id: str) -> KnowledgeView:
        """Compile the current revision, unless another call did so while this one waited."""
        held = self._held.get(website_id)
        if held is not None and held.generation == await self._source.revision(website_id):
            return held
        keeper = self._source if isinstance(self._source, ViewKeeper) else None
        view = None if keeper is None else await keeper.kept_view(website_id)
        if view is None:
            read = await self._source.read(website_id)
            if read is None:
                await self._refuse(website_id)
            view = await asyncio.to_thread(self._compiling, *read)
            if keeper is not None:
                with suppress(SourceUnavailable):
                    await keeper.keep_view(view)
        damage = self._source.damage(website_id) if isinstance(self._source, DamageReporter) else None
        self._damage[website_id] = damage
        self._held[website_id] = view
        if held is not None:
            for listener in [each() for each in self._listeners]:
                if listener is not None:
                    await listener(held, view)
        return view

    async def _refuse(self, website_id: str) -> NoReturn:
        self._held.pop(website_id, None)
        self._locks.pop(website_id, None)
        known = await self._source.websites()
        hint = "call list_websites" if known else "load one with `periplus kb load DIR`"
        raise UnknownName("website", website_id, known, hint=hint)
