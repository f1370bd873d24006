"""One item of a loop: what is done for it, what is kept of it, and what happens where it fails.

An item that is a task keeps itself (its steps are journalled like any). A single action is
journalled here, where it may not be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from agent.engine.calls import filled_inputs
from agent.engine.collection import Collection, mark_of
from agent.errors import AgentError, LoopStopped, NotKept, PersonNeeded, touched_the_page
from agent.page.errors import PageError, PageGone
from agent.page.members import Member
from kb_schema.calls import ActionCall
from kb_schema.iterators import (
    CollectionIterator,
    ItemAction,
    ListIterator,
    PaginationIterator,
    UntilIterator,
)
from kb_schema.read_backs import Happened

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run

MAX_TRIES = 3
"""Of an action that may not be repeated and that is known, each time, not to have happened."""
MAX_KEPT = 1_000
"""Items whose outputs are kept in the result; a longer loop keeps the first."""
FAILED = "failed"


class Items:
    """The items of one loop, those of earlier lives of the run included."""

    def __init__(
        self,
        engine: Engine,
        spec: CollectionIterator | ListIterator | PaginationIterator | UntilIterator,
        run: Run,
        step_id: str,
    ) -> None:
        self._engine, self._spec, self._run, self._step_id = engine, spec, run, step_id
        self._depth, self._in_a_row = run.depth, 0
        self._kept: list[dict[str, Any]] = list(run.outputs.get(self.output, ()))
        self.done = run.frame.items.get(step_id, 0)
        """Dealt with, well or not."""
        self.failed: list[str] = [str(kept["error"]) for kept in self._kept if kept["status"] == FAILED]
        """Why each that went wrong did."""
        self._left: int | None = None
        """Items still to come, the one that is dealt with among them; None where that is not known."""

    @property
    def output(self) -> str:
        """Under this name the run's result has what each item gave."""
        return f"{self._step_id}_items"

    @property
    def _place(self) -> str | None:
        """Path of the item that is next."""
        path = self._run.path
        return None if path is None else f"{path}/{self._step_id}[{self.done}]"

    def within_bound(self, left: int | None) -> None:
        """Raises `LoopStopped` where the bound comes before the end. `left`: None where it is not known."""
        self._left = left
        if self.done >= self._spec.max_iterations:
            rest = "more" if left is None else str(left)
            raise LoopStopped(
                f"stopped after {self.done} items with {rest} left (max_iterations)",
                error="max_iterations_reached",
                done=self.done,
                left=left,
                failed=len(self.failed),
            )

    def end(self) -> int:
        """The count of a loop that went through. Raises `LoopStopped` where items failed on the way."""
        if self.failed:
            raise LoopStopped(
                f"{len(self.failed)} of {self.done} items failed; the first: {self.failed[0]}",
                error="items_failed",
                done=self.done,
                failed=len(self.failed),
            )
        return self.done

    # -- one item --------------------------------------------------------------------------------

    async def carry_on(self, collection: Collection | None = None) -> bool:
        """Look at the item that an earlier life of the run was at. Whether it is a task that is to be gone
        on with: it finds its own way back. Of an action that may not be repeated, it is settled here
        whether it was done.
        """
        place, keeper = self._place, self._engine.keeper
        if place is None:
            return False
        if self._spec.item_action.action is None:
            return bool(keeper.state.below(place))
        entry = keeper.entry(place)
        if entry is None or entry.outcome == "did_not_happen":
            return False
        happened = Happened.HAPPENED
        if entry.outcome is None:
            mark, times = entry.details.get("mark"), entry.details.get("times")
            happened = await self._happened(
                collection,
                mark if isinstance(mark, str) else "",
                times if isinstance(times, int) else 1,
                "the run was cut off in the middle of it",
            )
            await keeper.conclude(entry.key, _concluded(happened))
        if happened is Happened.HAPPENED:
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
        collection: Collection | None = None,
        member: Member | None = None,
    ) -> bool:
        """Do what is to be done for one item; whether that went well.

        Raises `LoopStopped` where the iterator's rules say to stop.
        """
        engine, rules = self._engine, self._spec.error_handling
        values = {
            **self._run.values, **fields_of(item, name), "item": item, name: item, "item_index": self.done,
            "item_position": position,
        }  # fmt: skip
        place, engine.place = self._place, self._place
        engine.steps.refused = None
        failed_before = dict(self._run.ledger.failed)
        while True:
            try:
                outputs = await self._carry_out(self._spec.item_action, values, place, collection, member)
            except NotKept:
                raise
            except (AgentError, PageError) as exc:
                if isinstance(exc, PersonNeeded) and not (self._goes_on and engine.steps.refused is not None):
                    raise  # only a value of this item would be passed over with it
                self._in_a_row += 1
                again = rules.on_error == "retry" and self._in_a_row < rules.max_consecutive_errors
                if again and place is not None and not isinstance(exc, PageGone):
                    self._run.ledger.failed = dict(failed_before)  # authored retries are one approach
                    engine.place = place
                    continue
                self._stop_if_told(exc)
                self.done += 1
                self._failed(item, exc)
                await self._note(place)
                return False
            self.done += 1
            self._in_a_row = 0
            self._keep(item, outputs, None)
            await self._note(place)
            return True

    async def failed_after_all(self, error: LoopStopped) -> None:
        """What was done for the last item shows no effect. Raises `LoopStopped` where that stops the loop."""
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

    def _stop_if_told(self, error: Exception) -> None:
        """Raises `LoopStopped` where the rules say so; the item is not counted then: a run that is carried
        on begins with it.
        """
        too_many = self._in_a_row >= self._spec.error_handling.max_consecutive_errors
        if self._goes_on and not too_many and not isinstance(error, PageGone):
            return
        raise LoopStopped(
            f"item {self.done + 1}: {error}",
            error="item_failed",
            done=self.done,
            left=self._left,
            failed=len(self.failed),
        ) from error

    async def _carry_out(
        self,
        action: ItemAction,
        values: Mapping[str, Any],
        place: str | None,
        collection: Collection | None,
        member: Member | None,
    ) -> dict[str, Any]:
        """The item's task or action; what the task gave."""
        engine = self._engine
        if action.task_id is not None:
            result = await engine.sub_task(action.task_id, filled_inputs(action.inputs, values), self._depth)
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
        collection: Collection | None,
        member: Member | None,
    ) -> None:
        """A single action: written down before and after where it may not be repeated."""
        engine, entry = self._engine, None
        if await engine.steps.harmless(call):
            await engine.actions.perform(call, values)
            return
        mark, times = "", 1
        if collection is not None and member is not None:
            mark = mark_of(member)
            times = sum(mark_of(each) == mark for each in (await collection.look()).items)
        for attempt in range(1, MAX_TRIES + 1):
            if place is not None:
                await engine.keep(self._run)
                entry = await engine.keeper.begin(place, call.canonical_type, {"mark": mark, "times": times})
            doubt = await self._failure_of(call, values, collection)
            if doubt is None:
                happened = Happened.HAPPENED
            elif touched_the_page(doubt):
                happened = await self._happened(collection, mark, times, str(doubt))
            else:
                happened = Happened.DID_NOT_HAPPEN
            if entry is not None:
                await engine.keeper.conclude(entry, _concluded(happened))
            if doubt is None or happened is Happened.HAPPENED:
                return
            if attempt == MAX_TRIES or not touched_the_page(doubt):
                raise doubt

    async def _failure_of(
        self, call: ActionCall, values: Mapping[str, Any], collection: Collection | None
    ) -> AgentError | PageError | None:
        """Do it; what went wrong, if anything did. An action after which the collection is not to be seen
        any more is in doubt like one that broke off.
        """
        try:
            await self._engine.actions.perform(call, values)
            if collection is not None:
                await collection.still_there(self.done)
        except (PersonNeeded, NotKept):
            raise
        except (AgentError, PageError) as exc:
            return exc
        return None

    async def _happened(self, collection: Collection | None, mark: str, times: int, error: str) -> Happened:
        """What the collection says of an action in doubt. Raises `PersonNeeded` where nothing tells."""
        found = Happened.UNCLEAR
        if collection is not None and mark:
            found = await collection.has_gone(mark, times)
        if found is Happened.UNCLEAR:
            found = self._engine.resuming.take_decision() or found
        if found is Happened.UNCLEAR:
            raise PersonNeeded(
                f"item {self.done + 1} of step {self._step_id!r} of {self._run.task.task_id!r} may have been"
                f" done or not: {error}; nothing tells",
                hint="look on the site whether it happened; then `periplus run --resume last"
                " --it-happened`, or `--it-did-not`",
            )
        return found

    # -- what is kept ----------------------------------------------------------------------------

    def _failed(self, item: Any, error: Exception) -> None:
        told = str(error)
        self.failed.append(told)
        self._keep(item, {}, told)

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
        """The item is dealt with: it is not begun again if the run is carried on."""
        self._run.frame.items[self._step_id] = self.done
        if place is not None:
            self._engine.keeper.state.forget(place)
        if self._run.path is not None:
            await self._engine.keep(self._run)


def fields_of(item: Any, *names: str) -> dict[str, Any]:
    """The fields of an item by `item.field`, and by other names that the item goes by.

    >>> fields_of({"name": "Ann"}, "row")
    {'item.name': 'Ann', 'row.name': 'Ann'}
    """
    if not isinstance(item, Mapping):
        return {}
    return {f"{name}.{key}": value for name in ("item", *names) for key, value in item.items()}


def _concluded(happened: Happened) -> Literal["happened", "did_not_happen"]:
    return "happened" if happened is Happened.HAPPENED else "did_not_happen"
