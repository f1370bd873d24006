"""Loops stated in the knowledge (KS 9.10), each bounded and checked for progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from agent.engine.calls import fill_condition, filled
from agent.engine.extract import as_css
from agent.errors import AgentError, NotKept, PersonNeeded, StepFailed
from agent.page.errors import GateFailed, PageError, PageGone, Point
from agent.page.probing import answer_probes
from kb_schema.conditions import ElementCount, ElementHidden
from kb_schema.iterators import (
    CollectionIterator,
    ItemAction,
    ListIterator,
    NoIterator,
    PaginationIterator,
    UntilIterator,
)
from kb_schema.probes import ElementProbe, Facts, ProbeAnswer, probe_key

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run

_NO_NEXT = frozenset({Point.NOT_FOUND, Point.NOT_VISIBLE, Point.DISABLED})
"""How the control for the next page fails on the last one."""

AnyIterator = CollectionIterator | ListIterator | PaginationIterator | UntilIterator


async def run_iterator(engine: Engine, run: Run, step_id: str) -> int:
    """Run a task's iterator to its end; how many items that makes, those of an earlier life of the run
    included.

    Raises `StepFailed` where it makes no progress or too many items fail in a row.
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
        self._engine, self._spec, self._run, self._step_id = engine, spec, run, step_id
        self._values, self._depth = dict(run.values), run.depth
        self._done = run.frame.items.get(step_id, 0)
        self._failures = 0
        self._failed: list[str] = []

    async def over_collection(self, spec: CollectionIterator) -> int:
        """The first element each time while the collection shrinks, else one after the other."""
        shrinking = isinstance(spec.termination_condition, ElementHidden)
        if self._interrupted:
            await self._item(spec.item_action, item="")
        screen = (await self._engine.session.look_for(timeout_s=1.0)).screen_id
        while True:
            answer = await self._collection(spec.collection_selector)
            left = answer.visible if shrinking else answer.visible - self._done
            if left <= 0:
                await self._still_on(screen)
                break
            if not shrinking and await self._finished():
                break
            if self._done >= spec.max_iterations:
                raise self._partial(left)
            await self._item(spec.item_action, item=await self._text(spec, 0 if shrinking else self._done))
            await self._still_on(screen)
            if shrinking and not await self._shrank(spec, answer.visible):
                raise StepFailed(
                    f"{spec.collection_selector}: still {answer.visible} after item {self._done}: no progress",
                    error="no_progress",
                    acted=True,
                )
        return self._end()

    async def over_list(self, spec: ListIterator) -> int:
        """Every item of the list, at most `max_iterations`."""
        items = filled(spec.items, self._values)
        if not isinstance(items, list | tuple):
            raise StepFailed(f"{spec.items} is not a list", error="not_a_list")
        for item in items[self._done :]:
            if await self._finished():
                break
            if self._done >= spec.max_iterations:
                raise self._partial(len(items) - self._done)
            await self._item(spec.item_action, item=item, name=spec.item_name)
        return self._end()

    async def over_pages(self, spec: PaginationIterator) -> int:
        """The item action on each page, then the next page, until there is none."""
        if not self._interrupted:
            for _ in range(self._done):  # pages of an earlier life of the run
                if not await self._next_page(spec):
                    return self._end()
        while True:
            await self._item(spec.item_action, item=self._done)
            if await self._finished() or not await self._next_page(spec):
                return self._end()
            if self._done >= spec.max_iterations:
                raise self._partial(None)

    async def _next_page(self, spec: PaginationIterator) -> bool:
        """False where there is nothing to go on to: this was the last page."""
        try:
            async with self._engine.unkept():
                await self._engine.actions.perform(spec.next_page, self._values)
        except GateFailed as exc:
            if exc.point not in _NO_NEXT:
                raise
            return False
        return True

    async def until(self) -> int:
        """Until the condition holds."""
        if self._interrupted:
            await self._item(self._spec.item_action, item=self._done)
        while not await self._finished():
            if self._done >= self._spec.max_iterations:
                raise StepFailed(
                    f"the condition did not hold after {self._done} iterations",
                    error="max_iterations_reached",
                    acted=True,
                )
            await self._item(self._spec.item_action, item=self._done)
        return self._end()

    @property
    def _place(self) -> str | None:
        """Path of the item that is dealt with."""
        path = self._run.path
        return None if path is None else f"{path}/{self._step_id}[{self._done}]"

    @property
    def _interrupted(self) -> bool:
        """Whether an earlier life of the run was in the middle of this item."""
        return self._place is not None and bool(self._engine.keeper.state.below(self._place))

    def _end(self) -> int:
        """The count of a loop that went through; an item that failed on the way is told."""
        if self._failed:
            raise StepFailed(
                f"{len(self._failed)} of {self._done} items failed; the first: {self._failed[0]}",
                error="items_failed",
                acted=True,
            )
        return self._done

    def _partial(self, left: int | None) -> StepFailed:
        """The loop is bounded, and the bound came before the end."""
        rest = "more" if left is None else str(left)
        return StepFailed(
            f"stopped after {self._done} items with {rest} left (max_iterations)",
            error="max_iterations_reached",
            acted=True,
        )

    async def _still_on(self, screen: str | None) -> None:
        """An empty page that is another page is no empty collection."""
        found = await self._engine.session.look_for([screen] if screen else None)
        if screen is not None and found.screen_id != screen:
            raise StepFailed(
                f"on {found.screen_id or 'an unknown screen'} instead of {screen} after {self._done} items",
                error="lost_the_collection",
                acted=True,
            )

    async def _text(self, spec: CollectionIterator, index: int) -> str:
        """What the element says that is dealt with now."""
        scope = await self._engine.session.scope(self._values)
        selector = scope.element(spec.collection_selector)
        rule = next((as_css(s) for s in selector.ordered if as_css(s)), "") if selector else ""
        if not rule:
            return ""
        found = self._engine.session.page.locator(rule).filter(visible=True).nth(index)
        try:
            return " ".join((await found.inner_text(timeout=1_000)).split())
        except PlaywrightError:
            return ""  # it went away; what is done for it will say so

    async def _item(self, action: ItemAction, *, item: Any, name: str = "item") -> None:
        """One item; errors are counted as the iterator says."""
        engine, values = self._engine, {**self._values, "item": item, name: item, "item_index": self._done}
        place, engine.place = self._place, self._place
        self._done += 1
        try:
            if action.task_id is not None:
                inputs = filled(dict(action.inputs), values)
                await engine.sub_task(action.task_id, inputs, self._depth)
            elif action.action is not None:
                await engine.actions.perform(action.action, values)
        except (PersonNeeded, NotKept):
            raise
        except (AgentError, PageError) as exc:
            self._failures += 1
            self._failed.append(str(exc))
            rules = self._spec.error_handling
            stop = rules.on_error == "abort" and not self._spec.continue_on_error
            if stop or isinstance(exc, PageGone) or self._failures >= rules.max_consecutive_errors:
                raise StepFailed(f"item {self._done}: {exc}", error="item_failed", acted=True) from exc
        else:
            self._failures = 0
        self._run.frame.items[self._step_id] = self._done
        if place is not None:
            engine.keeper.state.forget(place)
            await engine.keep(self._run)

    async def _finished(self) -> bool:
        condition = self._spec.termination_condition
        if condition is None:
            return False
        told = fill_condition(condition, self._values)
        return (await self._engine.session.judge([told], self._values, Facts(iteration=self._done)))[0].held

    async def _shrank(self, spec: CollectionIterator, before: int) -> bool:
        """Whether the collection has fewer elements than before, within the condition's time."""
        fewer = ElementCount(type="element_count", element=spec.collection_selector, max=before - 1)
        timeout = spec.termination_condition.timeout if spec.termination_condition else None
        (verdict,) = await self._engine.session.judge_until_held(
            [fewer], self._values, timeout_s=timeout or 5.0
        )
        return verdict.held

    async def _collection(self, reference: str) -> ProbeAnswer:
        scope = await self._engine.session.scope(self._values)
        selector = scope.element(reference)
        if selector is None:
            raise StepFailed(f"no collection {reference!r} here", error="element_not_found")
        probe = ElementProbe(selector=selector)
        answers = await answer_probes(self._engine.session.page, [probe])
        answer = answers[probe_key(probe)]
        if answer.error:
            raise StepFailed(f"{reference}: {answer.error}", error="bad_selector")
        return answer
