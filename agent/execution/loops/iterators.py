"""Loops that the knowledge base states (KS 9.10), each bounded and checked for progress.

One item's work is `loop_items`; whether a member of a collection is gone is `loop_collection`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agent.errors import IteratorStopped, StepFailed
from agent.execution.call_templates import fill_condition, fill_templates
from agent.execution.loops.loop_collection import LoopCollection
from agent.execution.loops.loop_items import LoopItems
from agent.page import in_page_library
from agent.page.errors import GateFailed, GatePoint
from agent.page.page_changes import wait_for_change
from kb_schema.conditions import ElementHidden
from kb_schema.iterators import (
    CollectionIterator,
    ListIterator,
    NoIterator,
    PaginationIterator,
    UntilIterator,
)
from kb_schema.probes import ProbeFacts, VerdictStatus
from kb_schema.selectors import Selector

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun

_NO_NEXT = frozenset({GatePoint.NOT_FOUND, GatePoint.NOT_VISIBLE, GatePoint.DISABLED})
"""How the control for the next page fails on the last page."""
PROGRESS_S = 5.0
"""Seconds an item's effect may take to show, if the iterator gives no time."""
UNKNOWN_S = 3.0
"""Seconds until a termination condition must be judgeable."""

AnyIterator = CollectionIterator | ListIterator | PaginationIterator | UntilIterator


async def run_iterator(engine: TaskExecution, run: TaskRun, step_id: str) -> int:
    """Run a task's iterator to its end; return the number of items, including those done before a resume.

    Raises `IteratorStopped` if it makes no progress, reaches its bound, or too many items fail in a row.
    """
    task = run.task
    spec = task.iterator_spec
    match spec:
        case NoIterator():
            raise StepFailed(f"task {task.task_id!r} has no iterator to execute", error="no_iterator")
        case ListIterator():
            return await _IteratorRun(engine, spec, run, step_id).over_list(spec)
        case PaginationIterator():
            return await _IteratorRun(engine, spec, run, step_id).over_pages(spec)
        case CollectionIterator():
            return await _IteratorRun(engine, spec, run, step_id).over_collection(spec)
        case UntilIterator():
            return await _IteratorRun(engine, spec, run, step_id).until()


class _IteratorRun:
    """One iterator's run."""

    def __init__(self, engine: TaskExecution, spec: AnyIterator, run: TaskRun, step_id: str) -> None:
        self._engine, self._spec, self._run = engine, spec, run
        self._values = dict(run.values)
        self._items = LoopItems(engine, spec, run, step_id)
        self._turned = False

    # -- collections -----------------------------------------------------------------------------

    async def over_collection(self, spec: CollectionIterator) -> int:
        """Iterate over a collection.

        If the iterator ends when nothing is left (`element_disappears`, `empty_collection`), take the first
        member that did not fail before; else take one after the other.
        """
        items = self._items
        screen = (await self._engine.session.look_for(timeout_s=1.0)).screen_id
        collection = LoopCollection(self._engine, self._run, spec.collection_selector, self._values, screen)
        if await items.carry_on(collection):
            await items.deal_with("", position=1, collection=collection)
        await collection.wait_until_loaded(PROGRESS_S)
        told = isinstance(spec.collection_selector, Selector) and spec.collection_selector.parameterized
        if told and items.done == 0:
            await self._require_members(collection)
        if isinstance(spec.termination_condition, ElementHidden):
            await self._shrink(spec, collection)
        else:
            await self._walk(collection)
        done = items.end()
        if done == 0:
            self._engine.session.presses.idle_loop = True
        return done

    async def _require_members(self, collection: LoopCollection) -> None:
        """Wait until the rows that an input tells are there. Raises `StepFailed` if there are none.

        Nothing to do would be no success: the demonstrations had such rows.
        """
        session = self._engine.session
        deadline = time.monotonic() + session.element_wait.gate_s
        while not (await collection.look()).count:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise StepFailed(f"not_found: nothing matches {collection.name}", error="element_not_found")
            await wait_for_change(session.page, remaining)

    async def _shrink(self, spec: CollectionIterator, collection: LoopCollection) -> None:
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
                    IteratorStopped(
                        f"{collection.name}: still {members.count} after item {items.done}: no progress",
                        error="no_progress",
                        done=items.done - 1,
                        left=len(left),
                    )
                )
            if not done:
                collection.note_failed(member)

    async def _walk(self, collection: LoopCollection) -> None:
        items = self._items
        while True:
            left = collection.list_left(await collection.look_for_all(PROGRESS_S), items.done)
            if not left:
                await collection.still_there(items.done)
                return
            if await self._finished():
                return
            items.within_bound(len(left))
            position, member = left[0]
            await items.deal_with(member.text, position=position + 1, collection=collection, member=member)
            collection.note_dealt_with(member)
            await collection.still_there(items.done)

    # -- lists -----------------------------------------------------------------------------------

    async def over_list(self, spec: ListIterator) -> int:
        """Iterate over a list, at most `max_iterations` items."""
        items, values = self._items, fill_templates(spec.items, self._values)
        if not isinstance(values, list | tuple):
            raise StepFailed(
                f"iterator items {spec.items}: expected a list, found {type(values).__name__}",
                error="not_a_list",
            )
        await items.carry_on()
        while items.done < len(values):
            if await self._finished():
                break
            items.within_bound(len(values) - items.done)
            await items.deal_with(values[items.done], position=items.done + 1, name=spec.item_name)
        return items.end()

    # -- pages -----------------------------------------------------------------------------------

    async def over_pages(self, spec: PaginationIterator) -> int:
        """Run the item action on each page until there is no next page."""
        items = self._items
        if not await items.carry_on():
            for _ in range(items.done):  # pages done before the resume
                if not await self._next_page(spec):
                    return items.end()
        while True:
            await items.deal_with(items.done, position=items.done + 1)
            if await self._finished() or not await self._next_page(spec):
                return items.end()
            items.within_bound(None)

    async def _next_page(self, spec: PaginationIterator) -> bool:
        """Return False on the last page.

        The control is looked for by its fingerprint on the first page only: once it was found, a page without it is the
        last one.
        """
        before = await self._page_now()
        call = spec.next_page.model_copy(update={"fingerprint": None}) if self._turned else spec.next_page
        try:
            async with self._engine.without_checkpoints():
                await self._engine.actions.perform(call, self._values)
        except GateFailed as exc:
            if exc.point not in _NO_NEXT:
                raise
            return False
        deadline = time.monotonic() + PROGRESS_S
        while await self._page_now() == before:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise IteratorStopped(
                    f"page {self._items.done}: the control for the next page shows the same page: no progress",
                    error="no_progress",
                    done=self._items.done,
                )
            await wait_for_change(self._engine.session.page, remaining)
        self._turned = True
        return True

    async def _page_now(self) -> tuple[str, str]:
        page = self._engine.session.page
        return page.url, str(await in_page_library.call(page, "text", "null"))

    # -- until -----------------------------------------------------------------------------------

    async def until(self) -> int:
        """Repeat until the condition holds."""
        items = self._items
        if await items.carry_on():
            await items.deal_with(items.done, position=items.done + 1)
        while not await self._finished():
            if items.done >= self._spec.max_iterations:
                raise IteratorStopped(
                    f"the condition did not hold after {items.done} iterations",
                    error="max_iterations_reached",
                    done=items.done,
                    failed=len(items.failed),
                )
            await items.deal_with(items.done, position=items.done + 1)
        return items.end()

    # -- the end ---------------------------------------------------------------------------------

    async def _finished(self) -> bool:
        """Return whether the termination condition holds. Raises `IteratorStopped` if it cannot be judged in
        time.
        """
        condition = self._spec.termination_condition
        if condition is None:
            return False
        session, filled = self._engine.session, fill_condition(condition, self._values)
        deadline = time.monotonic() + UNKNOWN_S
        while True:
            (verdict,) = await session.judge([filled], self._values, ProbeFacts(iteration=self._items.done))
            if verdict.status is not VerdictStatus.UNKNOWN:
                return verdict.held
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise IteratorStopped(
                    f"the termination condition {condition.type} could not be evaluated: {verdict.evidence}",
                    error="condition_unknown",
                    done=self._items.done,
                    failed=len(self._items.failed),
                )
            session.touched()
            await wait_for_change(session.page, remaining)
