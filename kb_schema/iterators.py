"""Iterators as the knowledge states them, so that task steps stay linear (KS 9.10)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from kb_schema.action_calls import ActionCall
from kb_schema.base import Model, TaskRef
from kb_schema.conditions import Condition
from kb_schema.selectors import Selector


class ItemAction(Model):
    """What is done for each item: a task, one action, or the nodes of a workflow's group."""

    task_id: TaskRef | None = None
    reuse_task: bool = True
    """Always true: every item runs the task of `task_id` (KS 9.10)."""
    action: ActionCall | None = None
    runs_nodes: bool = False
    """Whether it runs the nodes of the iterator's group; only in workflows."""
    inputs: dict[str, str] = Field(default_factory=dict)
    """Input of the task -> template over `{item}`, `{item_index}` and the outer variables."""

    @field_validator("reuse_task")
    @classmethod
    def _reuses(cls, value: bool) -> bool:
        if not value:
            raise ValueError(
                "every item runs the same task: leave `reuse_task` out, and name another task in `task_id` or use `action`"
            )
        return value

    @model_validator(mode="after")
    def _does_something(self) -> ItemAction:
        if [self.task_id is not None, self.action is not None, self.runs_nodes].count(True) != 1:
            raise ValueError("an item action has either `task_id` or `action`, in a group `runs_nodes`")
        return self


class IterationErrors(Model):
    """What to do when an item fails."""

    max_consecutive_errors: int = Field(default=3, ge=1)
    on_error: Literal["abort", "skip", "retry"] = "abort"


class _Iterator(Model):
    item_action: ItemAction
    termination_condition: Condition | None = None
    max_iterations: int = Field(default=50, ge=1, le=10_000)
    continue_on_error: bool = False
    error_handling: IterationErrors = IterationErrors()

    @model_validator(mode="before")
    @classmethod
    def _termination_takes_the_iterators_own(cls, data: Any) -> Any:
        """Fill in the iterator's own values in termination conditions.

        `empty_collection` without a selector means the iterator's collection, `max_iterations_reached`
        without a number its `max_iterations`.
        """
        if not isinstance(data, dict) or not isinstance(data.get("termination_condition"), dict):
            return data
        condition = dict(data["termination_condition"])
        if condition.get("type") in ("empty_collection", "element_disappears"):
            named = {"selector", "element", "element_selector", "element_id", "field_id", "field_selector"}
            if not named & condition.keys() and data.get("collection_selector"):
                condition["selector"] = data["collection_selector"]
        counts = {"max_iterations", "value", "max"}
        if condition.get("type") == "max_iterations_reached" and not counts & condition.keys():
            condition["max_iterations"] = data.get("max_iterations", 50)
        return {**data, "termination_condition": condition}


class NoIterator(Model):
    """No iteration: the task is linear."""

    type: Literal["none"]


class CollectionIterator(_Iterator):
    """Iterates over the elements that match a selector, always taking the first."""

    type: Literal["collection_processing"]
    collection_selector: Annotated[str, Field(min_length=1)] | Selector
    """CSS or the id of an element, or a selector whose parameters are values of the run."""


class ListIterator(_Iterator):
    """Iterates over the items of a list input."""

    type: Literal["list_processing"]
    items: str = Field(min_length=1)
    """`{variable}` with the list."""
    item_name: str = "item"


class PaginationIterator(_Iterator):
    """Iterates over the pages of a list: the item action, then the next page, if there is one."""

    type: Literal["pagination"]
    next_page: ActionCall


class UntilIterator(_Iterator):
    """Iterates until a condition holds; the condition is required."""

    type: Literal["until"]
    termination_condition: Condition


IteratorSpec = Annotated[
    NoIterator | CollectionIterator | ListIterator | PaginationIterator | UntilIterator,
    Field(discriminator="type"),
]
