"""One item of a loop: its action, its record, and what happens if it fails.

If the item is a task, its steps write their own journal entries. A single action that must not be repeated
is journalled here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from agent import retry_limits
from agent.errors import AgentError, IteratorStopped, JournalWriteRefused, PersonNeeded, touched_the_page
from agent.execution.call_templates import fill_task_inputs
from agent.execution.loops.loop_collection import LoopCollection, compute_member_mark
from agent.page.errors import PageError, PageGone
from agent.page.live_selectors import CollectionMember
from kb_schema.action_calls import ActionCall
from kb_schema.iterators import (
    CollectionIterator,
    ItemAction,
    ListIterator,
    PaginationIterator,
    UntilIterator,
)
from kb_schema.read_backs import ReadBackStatus

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun

MAX_KEPT = 1_000
"""Items whose outputs are in the result; a longer loop keeps the first."""
FAILED = "failed"


class LoopItems:
    """The items of one loop, including those done before a resume."""

    def __init__(
        self,
        engine: TaskExecution,
        spec: CollectionIterator | ListIterator | PaginationIterator | UntilIterator,
        run: TaskRun,
        step_id: str,
    ) -> None:
        self._engine, self._spec, self._run, self._step_id = engine, spec, run, step_id
        self._depth, self._in_a_row = run.depth, 0
        self._kept: list[dict[str, Any]] = list(run.outputs.get(self.output, ()))
        self.done = run.frame.items.get(step_id, 0)
        """Items dealt with, successful or not."""
        self.failed: list[str] = [str(kept["error"]) for kept in self._kept if kept["status"] == FAILED]
        """The error of each item that failed."""
        self._left: int | None = None
        """Items left, including the present one; None if unknown."""

    @property
    def output(self) -> str:
        """The name under which the result has each item's outputs."""
        return f"{self._step_id}_items"

    @property
    def _place(self) -> str | None:
        """Path of the next item."""
        path = self._run.path
        return None if path is None else f"{path}/{self._step_id}[{self.done}]"

    def within_bound(self, left: int | None) -> None:
        """Raises `IteratorStopped` if the bound is reached before the end. `left`: None if unknown."""
        self._left = left
        if self.done >= self._spec.max_iterations:
            rest = "more" if left is None else str(left)
            raise IteratorStopped(
                f"stopped after {self.done} items with {rest} left (max_iterations)",
                error="max_iterations_reached",
                done=self.done,
                left=left,
                failed=len(self.failed),
            )

    def end(self) -> int:
        """Return the number of items. Raises `IteratorStopped` if items failed."""
        if self.failed:
            raise IteratorStopped(
                f"{len(self.failed)} of {self.done} items failed; the first: {self.failed[0]}",
                error="items_failed",
                done=self.done,
                failed=len(self.failed),
            )
        return self.done

    # -- one item --------------------------------------------------------------------------------

    async def carry_on(self, collection: LoopCollection | None = None) -> bool:
        """Settle the item at which the run was interrupted.

        Returns whether it is a task that must be resumed; it finds its own way back. For an action that must
        not be repeated, it is decided here whether it happened.
        """
        place, checkpoints = self._place, self._engine.checkpoints
        if place is None:
            return False
        if self._spec.item_action.action is None:
            return bool(checkpoints.state.below(place))
        entry = checkpoints.entry(place)
        if entry is None or entry.outcome == "did_not_happen":
            return False
        happened = ReadBackStatus.HAPPENED
        if entry.outcome is None:
            mark, times = entry.details.get("mark"), entry.details.get("times")
            happened = await self._happened(
                collection,
                mark if isinstance(mark, str) else "",
                times if isinstance(times, int) else 1,
                "the run was interrupted during it",
            )
            await checkpoints.conclude(entry.key, _concluded(happened))
        if happened is ReadBackStatus.HAPPENED:
            self.done += 1
            self._keep("", {}, None)
            await self._note()
        return False

    async def deal_with(
        self,
        item: Any,
        *,
        position: int,
        name: str = "item",
        collection: LoopCollection | None = None,
        member: CollectionMember | None = None,
    ) -> bool:
        """Run the action of one item; return whether it succeeded.

        Raises `IteratorStopped` if the iterator's rules say to stop.
        """
        engine, rules = self._engine, self._spec.error_handling
        values = {
            **self._run.values,
            **read_item_fields(item, name),
            "item": item,
            name: item,
            "item_index": self.done,
            "item_position": position,
        }
        place, engine.place = self._place, self._place
        engine.steps.refused = None
        engine.session.element_wait.restart()
        failed_before = dict(self._run.ledger.failed)
        while True:
            try:
                outputs = await self._run_item_action(
                    self._spec.item_action, values, place, collection, member
                )
            except JournalWriteRefused:
                raise
            except (AgentError, PageError) as exc:
                if isinstance(exc, PersonNeeded) and not (self._goes_on and engine.steps.refused is not None):
                    raise  # pass over the item only if its own value was refused
                self._in_a_row += 1
                again = rules.on_error == "retry" and self._in_a_row < rules.max_consecutive_errors
                if again and place is not None and not isinstance(exc, PageGone):
                    self._run.ledger.failed = dict(failed_before)  # authored retries count as one approach
                    engine.place = place
                    continue
                self._stop_by_rules(exc)
                self.done += 1
                self._failed(item, exc)
                await self._note(place)
                return False
            self.done += 1
            self._in_a_row = 0
            self._keep(item, outputs, None)
            await self._note(place)
            return True

    async def failed_after_all(self, error: IteratorStopped) -> None:
        """Note that the last item had no effect. Raises `IteratorStopped` if that stops the loop."""
        self._in_a_row += 1
        last = self._kept.pop() if self._kept and len(self._kept) < MAX_KEPT else {"item": ""}
        self._failed(last["item"], error)
        await self._note()
        rules = self._spec.error_handling
        if not self._goes_on or self._in_a_row >= rules.max_consecutive_errors:
            raise error

    @property
    def _goes_on(self) -> bool:
        """Whether an item that failed is passed over."""
        return self._spec.continue_on_error or self._spec.error_handling.on_error == "skip"

    def _stop_by_rules(self, error: Exception) -> None:
        """Raises `IteratorStopped` if the rules say so; the item is not counted then, so that a resumed run
        begins with it. Raises `PageGone` if that is the error: the loop is interrupted, not done in part.
        """
        if isinstance(error, PageGone):
            raise error
        too_many = self._in_a_row >= self._spec.error_handling.max_consecutive_errors
        if self._goes_on and not too_many:
            return
        raise IteratorStopped(
            f"item {self.done + 1}: {error}",
            error="item_failed",
            done=self.done,
            left=self._left,
            failed=len(self.failed),
        ) from error

    async def _run_item_action(
        self,
        action: ItemAction,
        values: Mapping[str, Any],
        place: str | None,
        collection: LoopCollection | None,
        member: CollectionMember | None,
    ) -> dict[str, Any]:
        """Run the item's task or action; return the task's outputs."""
        engine = self._engine
        if action.task_id is not None:
            result = await engine.sub_task(
                action.task_id, fill_task_inputs(action.inputs, values), self._depth
            )
            self._run.note_part(result.evidence)
            return dict(result.outputs)
        if action.runs_nodes:
            return await engine.groups[self._run.task.task_id](values)
        if action.action is not None:
            await self._act(action.action, values, place, collection, member)
        return {}

    async def _act(
        self,
        call: ActionCall,
        values: Mapping[str, Any],
        place: str | None,
        collection: LoopCollection | None,
        member: CollectionMember | None,
    ) -> None:
        """Perform a single action, with journal entries if it must not be repeated."""
        engine, entry = self._engine, None
        if await engine.steps.harmless(call):
            await engine.actions.perform(call, values)
            return
        mark, times = "", 1
        if collection is not None and member is not None:
            mark = compute_member_mark(member)
            times = sum(compute_member_mark(each) == mark for each in (await collection.look()).items)
        for attempt in range(1, retry_limits.LOOP_ITEM_ATTEMPTS + 1):
            if place is not None:
                await engine.keep(self._run)
                entry = await engine.checkpoints.begin(
                    place, call.canonical_type, {"mark": mark, "times": times}
                )
            failure = await self._failure_of(call, values, collection)
            if failure is None:
                happened = ReadBackStatus.HAPPENED
            elif touched_the_page(failure):
                happened = await self._happened(collection, mark, times, str(failure))
            else:
                happened = ReadBackStatus.DID_NOT_HAPPEN
            if entry is not None:
                await engine.checkpoints.conclude(entry, _concluded(happened))
            if failure is None or happened is ReadBackStatus.HAPPENED:
                return
            if attempt == retry_limits.LOOP_ITEM_ATTEMPTS or not touched_the_page(failure):
                raise failure

    async def _failure_of(
        self, call: ActionCall, values: Mapping[str, Any], collection: LoopCollection | None
    ) -> AgentError | PageError | None:
        """Perform the action; return its error or None. If the collection is no longer visible afterwards,
        the effect is uncertain, as after an error.
        """
        try:
            await self._engine.actions.perform(call, values)
            if collection is not None:
                await collection.still_there(self.done)
        except (PersonNeeded, JournalWriteRefused):
            raise
        except (AgentError, PageError) as exc:
            return exc
        return None

    async def _happened(
        self, collection: LoopCollection | None, mark: str, times: int, error: str
    ) -> ReadBackStatus:
        """Return what the collection shows about an uncertain effect. Raises `PersonNeeded` if nothing can
        tell.
        """
        found = ReadBackStatus.UNCLEAR
        if collection is not None and mark:
            found = await collection.has_gone(mark, times)
        if found is ReadBackStatus.UNCLEAR:
            found = self._engine.resumption.take_decision() or found
        if found is ReadBackStatus.UNCLEAR:
            raise PersonNeeded(
                f"item {self.done + 1} of step {self._step_id!r} of {self._run.task.task_id!r} may or may not"
                f" have happened: {error}; nothing on the page tells",
                hint="check on the website whether it happened; then `periplus run --resume last"
                " --it-happened`, or `--it-did-not`",
            )
        return found

    # -- what is kept ----------------------------------------------------------------------------

    def _failed(self, item: Any, error: Exception) -> None:
        message = str(error)
        self.failed.append(message)
        self._keep(item, {}, message)

    def _keep(self, item: Any, outputs: Mapping[str, Any], error: str | None) -> None:
        if len(self._kept) >= MAX_KEPT:
            return
        kept: dict[str, Any] = {"item": item, "status": "done" if error is None else FAILED}
        if outputs:
            kept["outputs"] = dict(outputs)
        if error is not None:
            kept["error"] = error
        self._kept.append(kept)
        self._run.outputs[self.output] = list(self._kept)

    async def _note(self, place: str | None = None) -> None:
        """Store that the item is done; a resumed run does not begin it again."""
        self._run.frame.items[self._step_id] = self.done
        if place is not None:
            self._engine.checkpoints.state.forget(place)
        if self._run.path is not None:
            await self._engine.keep(self._run)


def read_item_fields(item: Any, *names: str) -> dict[str, Any]:
    """Return an item's fields by `item.field`, and by other names of the item.

    >>> read_item_fields({"name": "Ann"}, "row")
    {'item.name': 'Ann', 'row.name': 'Ann'}
    """
    if not isinstance(item, Mapping):
        return {}
    return {f"{name}.{key}": value for name in ("item", *names) for key, value in item.items()}


def _concluded(happened: ReadBackStatus) -> Literal["happened", "did_not_happen"]:
    return "happened" if happened is ReadBackStatus.HAPPENED else "did_not_happen"
