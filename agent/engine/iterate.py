"""Loops stated in the knowledge (KS 9.10), each bounded and checked for progress.

What is done for one item is `items.py`, whether a member of a collection is gone `collection.py`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agent.engine.calls import fill_condition, filled
from agent.engine.collection import Collection
from agent.engine.items import Items
from agent.errors import LoopStopped, StepFailed
from agent.page import library
from agent.page.changing import wait_for_change
from agent.page.errors import GateFailed, Point
from kb_schema.conditions import ElementHidden
from kb_schema.iterators import (
    CollectionIterator,
    ListIterator,
    NoIterator,
    PaginationIterator,
    UntilIterator,
)
from kb_schema.probes import Facts, Status

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run

_NO_NEXT = frozenset({Point.NOT_FOUND, Point.NOT_VISIBLE, Point.DISABLED})
"""How the control for the next page fails on the last one."""
PROGRESS_S = 5.0
"""How long what was done for an item may take to show, where the iterator gives no time of its own."""
UNKNOWN_S = 3.0
"""How long a page may take until a termination condition can be evaluated."""

AnyIterator = CollectionIterator | ListIterator | PaginationIterator | UntilIterator


async def run_iterator(engine: Engine, run: Run, step_id: str) -> int:
    """Run a task's iterator to its end; how many items that makes, those of an earlier life of the run
    included.

    Raises `LoopStopped` where it makes no progress, comes to its bound, or too many items fail in a row.
    """
    task = run.task
    spec = task.iterator_spec
    match spec:
        case NoIterator():
            raise StepFailed(f"task {task.task_id!r} has no iterator to execute", error="no_iterator")
        case ListIterator():
            return await _Loop(engine, spec, run, step_id).over_list(spec)
        case PaginationIterator():
            return await _Loop(engine, spec, run, step_id).over_pages(spec)
        case CollectionIterator():
            return await _Loop(engine, spec, run, step_id).over_collection(spec)
        case UntilIterator():
            return await _Loop(engine, spec, run, step_id).until()


class _Loop:
    """One iterator's run."""

    def __init__(self, engine: Engine, spec: AnyIterator, run: Run, step_id: str) -> None:
        self._engine, self._spec, self._run = engine, spec, run
        self._values = dict(run.values)
        self._items = Items(engine, spec, run, step_id)

    # -- collections -----------------------------------------------------------------------------

    async def over_collection(self, spec: CollectionIterator) -> int:
        """While it shrinks: the first member each time that did not fail before. Else one after the other.

        It shrinks where it ends when nothing is left of it (`element_disappears`, `empty_collection`).
        """
        items = self._items
        screen = (await self._engine.session.look_for(timeout_s=1.0)).screen_id
        collection = Collection(self._engine, self._run, spec.collection_selector, self._values, screen)
        if await items.carry_on(collection):
            await items.deal_with("", position=1, collection=collection)
        if isinstance(spec.termination_condition, ElementHidden):
            await self._shrink(spec, collection)
        else:
            await self._walk(collection)
        return items.end()

    async def _shrink(self, spec: CollectionIterator, collection: Collection) -> None:
        items, patience = self._items, PROGRESS_S
        if spec.termination_condition is not None and spec.termination_condition.timeout is not None:
            patience = spec.termination_condition.timeout
        while True:
            members = await collection.look()
            left = collection.not_failed(members)
            if not left:
                await collection.still_there(items.done)
                return
            items.within_bound(len(left))
            position, member = left[0]
            done = await items.deal_with(
                member.text, position=position + 1, collection=collection, member=member
            )
            await collection.still_there(items.done)
            if done and not await collection.lost_any(members, patience):
                done = False
                await items.failed_after_all(
                    LoopStopped(
                        f"{collection.name}: still {members.count} after item {items.done}: no progress",
                        error="no_progress", done=items.done - 1, left=len(left),
                    )
                )  # fmt: skip
            if not done:
                collection.note_failed(member)

    async def _walk(self, collection: Collection) -> None:
        items = self._items
        while True:
            members = await collection.look()
            left = members.count - items.done
            if left <= 0:
                await collection.still_there(items.done)
                return
            if await self._finished():
                return
            items.within_bound(left)
            member = members.items[min(items.done, len(members.items) - 1)]
            await items.deal_with(member.text, position=items.done + 1, collection=collection, member=member)
            await collection.still_there(items.done)

    # -- lists -----------------------------------------------------------------------------------

    async def over_list(self, spec: ListIterator) -> int:
        """Every item of the list, at most `max_iterations`."""
        items, values = self._items, filled(spec.items, self._values)
        if not isinstance(values, list | tuple):
            raise StepFailed(f"{spec.items} is not a list", error="not_a_list")
        await items.carry_on()
        while items.done < len(values):
            if await self._finished():
                break
            items.within_bound(len(values) - items.done)
            await items.deal_with(values[items.done], position=items.done + 1, name=spec.item_name)
        return items.end()

    # -- pages -----------------------------------------------------------------------------------

    async def over_pages(self, spec: PaginationIterator) -> int:
        """The item action on each page, then the next page, until there is none."""
        items = self._items
        if not await items.carry_on():
            for _ in range(items.done):  # pages of an earlier life of the run
                if not await self._next_page(spec):
                    return items.end()
        while True:
            await items.deal_with(items.done, position=items.done + 1)
            if await self._finished() or not await self._next_page(spec):
                return items.end()
            items.within_bound(None)

    async def _next_page(self, spec: PaginationIterator) -> bool:
        """False where there is nothing to go on to: this was the last page."""
        before = await self._page_now()
        try:
            async with self._engine.unkept():
                await self._engine.actions.perform(spec.next_page, self._values)
        except GateFailed as exc:
            if exc.point not in _NO_NEXT:
                raise
            return False
        deadline = time.monotonic() + PROGRESS_S
        while await self._page_now() == before:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise LoopStopped(
                    f"page {self._items.done}: what leads to the next one leads to the same page: no progress",
                    error="no_progress",
                    done=self._items.done,
                )
            await wait_for_change(self._engine.session.page, remaining)
        return True

    async def _page_now(self) -> tuple[str, str]:
        page = self._engine.session.page
        return page.url, str(await library.call(page, "text", "null"))

    # -- until -----------------------------------------------------------------------------------

    async def until(self) -> int:
        """Until the condition holds."""
        items = self._items
        if await items.carry_on():
            await items.deal_with(items.done, position=items.done + 1)
        while not await self._finished():
            if items.done >= self._spec.max_iterations:
                raise LoopStopped(
                    f"the condition did not hold after {items.done} iterations",
                    error="max_iterations_reached",
                    done=items.done,
                    failed=len(items.failed),
                )
            await items.deal_with(items.done, position=items.done + 1)
        return items.end()

    # -- the end ---------------------------------------------------------------------------------

    async def _finished(self) -> bool:
        """Whether the termination condition holds. One that cannot be evaluated neither ends the loop nor
        lets it go on: raises `LoopStopped` after a while.
        """
        condition = self._spec.termination_condition
        if condition is None:
            return False
        session, told = self._engine.session, fill_condition(condition, self._values)
        deadline = time.monotonic() + UNKNOWN_S
        while True:
            (verdict,) = await session.judge([told], self._values, Facts(iteration=self._items.done))
            if verdict.status is not Status.UNKNOWN:
                return verdict.held
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise LoopStopped(
                    f"whether the loop is over could not be evaluated: {condition.type}: {verdict.evidence}",
                    error="condition_unknown",
                    done=self._items.done,
                    failed=len(self._items.failed),
                )
            session.touched()
            await wait_for_change(session.page, remaining)
