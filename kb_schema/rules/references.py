"""Referential integrity: whatever is named must exist (DESIGN 3).

Plain references are one table, `REFERENCES`: a field of a model that names something of a kind.
What needs more than looking a name up is a function in `reference_checks`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from kb_schema import vocabulary
from kb_schema.base import CURRENT_SCREEN, Document
from kb_schema.calls import ActionCall
from kb_schema.conditions import (
    AllRequiredFieldsFilled,
    Authenticated,
    BaseCondition,
    FormValid,
    OnScreen,
    ScreenTransition,
)
from kb_schema.documents import did_you_mean
from kb_schema.errors import Problem
from kb_schema.graph import (
    ActionTrigger,
    ErrorState,
    GlobalRecovery,
    GroupMembership,
    TaskDependency,
    Transition,
)
from kb_schema.handling import ErrorRecovery, ErrorRule, RecoveryStep
from kb_schema.iterators import ItemAction
from kb_schema.presentation import Segment
from kb_schema.screens import Affordance, Screen, StateSignature, UIElement
from kb_schema.tasks import Task, TaskReversal
from kb_schema.values import InputMapping, InputSpec
from kb_schema.websites import Website
from kb_schema.workflows import TaskNode

if TYPE_CHECKING:
    from kb_schema.knowledge import KnowledgeBase

Check = Callable[["Names", Document, Any, str], Iterator[Problem]]
"""Names, the document, the model inside it, and that one's path -> what is wrong."""

RULE = "references"
ANY_ACTION = "action or action type"
ANY_WORK = "task or workflow"

REFERENCES: Mapping[type[BaseModel], Mapping[str, str]] = {
    BaseCondition: {"remediation_task_id": "task", "remediation_action": ANY_ACTION},
    OnScreen: {"screen_id": "screen"},
    ScreenTransition: {"from_screen": "screen", "to_screen": "screen"},
    Authenticated: {"screen_id": "screen"},
    FormValid: {"screen_id": "screen"},
    AllRequiredFieldsFilled: {"fields": "element"},
    ActionCall: {"action_type": ANY_ACTION, "target_screen": "screen", "task_id": "task"},
    Affordance: {"action_type": ANY_ACTION},
    ErrorRule: {"recovery": "recovery", "fallback": "recovery"},
    RecoveryStep: {"recovery": "recovery"},
    ErrorState: {"screen_id": "screen", "recovery": "recovery"},
    ItemAction: {"task_id": "task"},
    Task: {"reversible_by": "task"},
    TaskReversal: {"task_id": "task"},
    InputSpec: {"from_task": "task", "screen_id": "screen"},
    InputMapping: {"task_id": "task", "screen_id": "screen"},
    Website: {"login_task_id": "task"},
    Screen: {"layouts": "layout", "available_actions": ANY_ACTION},
    StateSignature: {"screen_id": "screen"},
    Segment: {"task_id": ANY_WORK, "screen_id": "screen"},
    ErrorRecovery: {"screens": "screen", "actions": ANY_ACTION},
    TaskNode: {"task_id": "task"},
    Transition: {"from_screen": "screen", "to_screen": "screen"},
    GlobalRecovery: {"from_group": "group", "to_screen": "screen"},
    GroupMembership: {"screen": "screen", "group": "group"},
    TaskDependency: {"from_task": "task", "to_task": "task"},
    ActionTrigger: {"action": "action", "transition": "transition"},
}
"""Model -> field -> the kind of thing it names. A subclass has its base's references too."""

_LEAVES = frozenset({str, int, float, bool, NoneType})
"""Types of values inside which there is no model."""


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Every name in every document that points nowhere."""
    names = Names(knowledge)
    for document in knowledge.documents():
        where = f"{document.kind}:{document.local_id}"
        for path, node in walk(document):
            model = type(node)
            problems = list(_plain(names, node, path)) if _references_of(model) else []
            for checked in _checks_of(model):
                problems += checked(names, document, node, path)
            for problem in problems:
                yield Problem(problem.message, problem.path, where, fix=problem.fix, rule=RULE)


def walk(node: Any, path: str = "$") -> Sequence[tuple[str, BaseModel]]:
    """Every model inside a document, the outer before the inner, with its JSON path."""
    found: list[tuple[str, BaseModel]] = []
    _collect(node, path, found)
    return found


def _collect(node: Any, path: str, found: list[tuple[str, BaseModel]]) -> None:
    """`walk`, into one list: this runs for every value of every document."""
    if isinstance(node, BaseModel):
        found.append((path, node))
        values = node.__dict__
        for name, said in _fields_of(type(node)):
            value = values[name]
            if value and type(value) not in _LEAVES:
                _collect(value, f"{path}.{said}", found)
    elif isinstance(node, Mapping):
        for key, item in node.items():
            if type(item) not in _LEAVES:
                _collect(item, f"{path}.{key}", found)
    elif isinstance(node, list | tuple):
        for index, item in enumerate(node):
            if type(item) not in _LEAVES:
                _collect(item, f"{path}[{index}]", found)


@cache
def _fields_of(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """A model's fields, each with the name that JSON has for it."""
    return tuple((name, field.alias or name) for name, field in model.model_fields.items())


@cache
def _references_of(model: type[BaseModel]) -> tuple[tuple[str, str, str], ...]:
    """(field, its name in JSON, kind) of everything a model names, its bases' references included."""
    said = dict(_fields_of(model))
    return tuple(
        (field, said[field], kind)
        for base in model.__mro__
        for field, kind in REFERENCES.get(base, {}).items()
    )


@cache
def _checks_of(model: type[BaseModel]) -> tuple[Check, ...]:
    """What is checked of a model beyond its references, in the order of `CHECKS`."""
    from kb_schema.rules.reference_checks import CHECKS  # noqa: PLC0415 - they import this module

    return tuple(checked for base, checked in CHECKS.items() if issubclass(model, base))


def looks_like_css(target: str) -> bool:
    """Whether a target is meant as CSS rather than as an element id."""
    return any(char in target for char in "#.[]>: *,()=\"'")


class Names:
    """What exists, by kind, and the problem for what does not."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self.knowledge = knowledge
        self.elements: Mapping[str, Mapping[str, UIElement]] = {
            screen: knowledge.elements(screen) for screen in knowledge.screens
        }
        """Screen -> the elements one can use there."""
        self.signatures: Mapping[str, Sequence[StateSignature]] = _active_signatures(knowledge)
        """Screen -> the active signatures that are documents of their own."""
        elements = {name for each in self.elements.values() for name in each}
        elements |= {e.element_id for layout in knowledge.website.layouts.values() for e in layout}
        self.known: dict[str, Collection[str]] = {
            "screen": {*knowledge.screens, CURRENT_SCREEN},
            "task": knowledge.tasks,
            "action": knowledge.actions,
            "group": knowledge.groups,
            "transition": knowledge.transitions,
            "layout": knowledge.website.layouts,
            "recovery": {*vocabulary.RECOVERIES, *knowledge.error_recoveries, *knowledge.tasks},
            "element": elements,
            ANY_ACTION: {*knowledge.actions, *vocabulary.known_names()},
            ANY_WORK: {*knowledge.tasks, *knowledge.workflows},
        }
        self._fixes: dict[tuple[str, str], str] = {}

    def missing(self, kind: str, name: str | None, path: str) -> Iterator[Problem]:
        """A problem if `name` is not a known `kind`; templates are left to run time."""
        if name is None or "{" in name or name in self.known[kind]:
            return
        if (kind, name) not in self._fixes:  # one mistake may stand in thousands of places
            self._fixes[kind, name] = _fix(name, self.known[kind])
        yield Problem(f'no {kind} "{name}"', path, fix=self._fixes[kind, name])

    def unknown(self, kind: str, name: str, path: str, known: Collection[str]) -> Problem:
        """The problem for a name that is not among the known ones."""
        return Problem(f'no {kind} "{name}"', path, fix=_fix(name, known))


def _fix(name: str, known: Collection[str]) -> str:
    return did_you_mean(name, sorted(known)) or f"known: {', '.join(sorted(known)[:6]) or 'none yet'}"


def _active_signatures(knowledge: KnowledgeBase) -> Mapping[str, Sequence[StateSignature]]:
    found: dict[str, list[StateSignature]] = defaultdict(list)
    for document in knowledge.by_kind.get("state_signature", {}).values():
        if isinstance(document, StateSignature) and document.active:
            found[document.screen_id].append(document)
    return found


def _plain(names: Names, node: BaseModel, path: str) -> Iterator[Problem]:
    for field, said, kind in _references_of(type(node)):
        value = getattr(node, field)
        if isinstance(value, tuple):
            for index, name in enumerate(value):
                yield from names.missing(kind, name, f"{path}.{said}[{index}]")
        else:
            yield from names.missing(kind, value, f"{path}.{said}")
