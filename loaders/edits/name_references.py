"""Replaces the names that documents refer to, wherever a document states one.

Which field names what is in `kb_schema.rules.reference_fields`; the fields that name elements are here, because the
element that a name stands for depends on the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar

from pydantic import BaseModel

from kb_schema import KnowledgeBase
from kb_schema.action_calls import ActionCall
from kb_schema.action_documents import Action
from kb_schema.base import Document
from kb_schema.conditions import AllRequiredFieldsFilled, BaseCondition, OnScreen, ScreenTransition
from kb_schema.graph_documents import GlobalRecovery, Transition
from kb_schema.io_specs import DomExtraction, TableExtraction
from kb_schema.iterators import CollectionIterator
from kb_schema.narration_marks import rename_marks
from kb_schema.nested_models import json_names
from kb_schema.presentation_flows import DepthVariant, ScrollOptions, Segment
from kb_schema.rules.reference_fields import references_of
from kb_schema.rules.reference_names import ANY_ACTION
from kb_schema.screens import Screen, StateSignature
from kb_schema.tasks import Task, TaskStep
from kb_schema.wait_triggers import ObservabilityTrigger
from kb_schema.websites import Website

ELEMENT = "element"

ELEMENT_FIELDS: Mapping[type[BaseModel], tuple[str, ...]] = {
    BaseCondition: ("element",),
    AllRequiredFieldsFilled: ("fields",),
    ActionCall: ("target",),
    ObservabilityTrigger: ("selector",),
    DomExtraction: ("selector",),
    TableExtraction: ("selector",),
    CollectionIterator: ("collection_selector",),
    Segment: ("highlights",),
    DepthVariant: ("highlights",),
    ScrollOptions: ("elements",),
}
"""Model -> fields with the id of an element, or CSS."""

FURTHER_FIELDS: Mapping[type[BaseModel], Mapping[str, str]] = {
    Action: {"reversible_by": ANY_ACTION},
    Task: {"reusable_subtasks": "task"},
}
"""Model -> field -> kind, for names that `kb_schema` does not check, or checks in another way."""
_MARKED = "[[at:"

DocumentT = TypeVar("DocumentT", bound=Document)


@dataclass(frozen=True, slots=True)
class NameReference:
    """One name in a document."""

    kind: str
    """A kind of `kb_schema.rules.reference_fields`, or `element`."""
    name: str
    place: str
    """The document and the JSON path in it."""
    screens: frozenset[str]
    """For an element: the screens on which the place is. Empty: any screen."""


Rename = Callable[[NameReference], str]
"""Takes a reference and returns the name to put in its place."""


def replace_names(document: DocumentT, knowledge: KnowledgeBase, rename: Rename) -> DocumentT:
    """Return the document with every reference in it replaced by what `rename` returns for it."""
    where = f"{document.kind} {document.local_id}"
    return _Rewriter(knowledge, where, rename).document(document)


class _Rewriter:
    """Rewrites one document."""

    def __init__(self, knowledge: KnowledgeBase, where: str, rename: Rename) -> None:
        self._knowledge, self._where, self._rename = knowledge, where, rename

    def document(self, document: DocumentT) -> DocumentT:
        found: DocumentT = self._node(document, "$", self._screens_of(document))
        return found

    def _screens_of(self, document: Document) -> frozenset[str]:
        match document:
            case Screen() | StateSignature():
                return frozenset([document.screen_id])
            case Transition():
                return frozenset([document.from_screen])
            case GlobalRecovery():
                members = (m.screen for m in self._knowledge.memberships if m.group == document.from_group)
                return frozenset(members)
            case Task():
                return frozenset(screen for screens in self._walk_task(document) for screen in screens)
        return frozenset()

    def _node(self, node: Any, path: str, screens: frozenset[str]) -> Any:
        if isinstance(node, BaseModel):
            return self._model(node, path, screens)
        if isinstance(node, Mapping):
            made = {key: self._node(item, f"{path}.{key}", screens) for key, item in node.items()}
            return made if any(made[key] is not node[key] for key in node) else node
        if isinstance(node, list | tuple):
            items = [self._node(item, f"{path}[{n}]", screens) for n, item in enumerate(node)]
            changed = any(new is not old for new, old in zip(items, node, strict=True))
            return type(node)(items) if changed else node
        return node

    def _model(self, node: BaseModel, path: str, screens: frozenset[str]) -> BaseModel:
        named = _kinds_by_field(type(node))
        if isinstance(node, Segment) and node.screen_id is not None:
            screens = frozenset([node.screen_id])
        changed: dict[str, Any] = {}
        for field, json_name in json_names(type(node)):
            value, place = getattr(node, field), f"{path}.{json_name}"
            if isinstance(node, Task) and field == "steps":
                new: Any = self._steps(node, place)
            elif field in named and isinstance(value, str):
                new = self._name(named[field], value, place, screens)
            elif field in named and isinstance(value, tuple):
                new = tuple(
                    self._name(named[field], item, f"{place}[{number}]", screens)
                    for number, item in enumerate(value)
                )
            elif isinstance(value, str) and _MARKED in value:
                new = rename_marks(value, partial(self._mark, path=place, screens=screens))
            elif isinstance(node, Website) and field == "layouts":
                new = self._layouts(node, place)
            else:
                new = self._node(value, place, screens)
            if new is not value and new != value:
                changed[field] = new
        return node.model_copy(update=changed) if changed else node

    def _name(self, kinds: tuple[str, ...], name: str, path: str, screens: frozenset[str]) -> str:
        for kind in kinds:
            found = self._rename(NameReference(kind, name, f"{self._where} {path}", screens))
            if found != name:
                return found
        return name

    def _mark(self, name: str, path: str, screens: frozenset[str]) -> str:
        return self._name((ELEMENT, ANY_ACTION), name, path, screens)

    def _layouts(self, website: Website, path: str) -> dict[str, Any]:
        return {
            name: self._node(elements, f"{path}.{name}", _screens_with(self._knowledge, name))
            for name, elements in website.layouts.items()
        }

    def _steps(self, task: Task, path: str) -> tuple[TaskStep, ...]:
        order = {
            step.step_id: screens
            for step, screens in zip(task.ordered_steps, self._walk_task(task), strict=True)
        }
        return tuple(
            self._node(step, f"{path}[{number}]", order[step.step_id])
            for number, step in enumerate(task.steps)
        )

    def _walk_task(self, task: Task) -> Iterator[frozenset[str]]:
        """Yield for each step, in order, the screens it may be on: where it begins, and where it leads."""
        here = frozenset[str]()
        for step in task.ordered_steps:
            stated = frozenset(_stated_screens(step.preconditions))
            here = stated or here
            ahead = frozenset(_stated_screens(step.postconditions)) or self._leads_to(step, here)
            yield here | ahead
            here = ahead or here

    def _leads_to(self, step: TaskStep, here: Collection[str]) -> frozenset[str]:
        if step.action.target_screen is not None:
            return frozenset([step.action.target_screen])
        return frozenset(
            edge.to_screen
            for edge in self._knowledge.transitions.values()
            if edge.from_screen in here and edge.triggered_by.target == step.action.target
        )


def _stated_screens(conditions: Collection[BaseCondition]) -> Iterator[str]:
    for condition in conditions:
        if isinstance(condition, OnScreen):
            yield condition.screen_id
        elif isinstance(condition, ScreenTransition):
            yield condition.to_screen


def _screens_with(knowledge: KnowledgeBase, layout: str) -> frozenset[str]:
    return frozenset(each.screen_id for each in knowledge.screens.values() if layout in each.layouts)


@cache
def _kinds_by_field(model: type[BaseModel]) -> dict[str, tuple[str, ...]]:
    """Return the kinds of names that each field of a model may have."""
    found: dict[str, tuple[str, ...]] = {}
    for field, _, kind in references_of(model):
        found[field] = (*found.get(field, ()), kind)
    for base, further in FURTHER_FIELDS.items():
        if issubclass(model, base):
            found |= {field: (*found.get(field, ()), kind) for field, kind in further.items()}
    for base, fields in ELEMENT_FIELDS.items():
        if issubclass(model, base):
            for field in fields:
                if field in model.model_fields and ELEMENT not in found.get(field, ()):
                    found[field] = (*found.get(field, ()), ELEMENT)
    return found
