"""Referential integrity: whatever is named must exist (DESIGN 3).

Plain references are one table, `REFERENCES`: a field of a model that names something of a kind.
What needs more than looking a name up is a function in `reference_checks`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from kb_schema import vocabulary
from kb_schema.base import CURRENT_SCREEN
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
from kb_schema.screens import Affordance, Screen, StateSignature
from kb_schema.values import InputMapping, InputSpec
from kb_schema.websites import Website
from kb_schema.workflows import TaskNode

if TYPE_CHECKING:
    from kb_schema.knowledge import KnowledgeBase

RULE = "references"
ANY_ACTION = "action or action type"

REFERENCES: Mapping[type[BaseModel], Mapping[str, str]] = {
    BaseCondition: {"remediation_task_id": "task", "remediation_action": ANY_ACTION},
    OnScreen: {"screen_id": "screen"},
    ScreenTransition: {"from_screen": "screen", "to_screen": "screen"},
    Authenticated: {"screen_id": "screen"},
    FormValid: {"screen_id": "screen"},
    AllRequiredFieldsFilled: {"fields": "element"},
    ActionCall: {"action_type": ANY_ACTION, "target_screen": "screen", "task_id": "task"},
    Affordance: {"action_type": ANY_ACTION},
    ErrorRule: {"recovery": "recovery"},
    RecoveryStep: {"recovery": "recovery"},
    ErrorState: {"screen_id": "screen", "recovery": "recovery"},
    ItemAction: {"task_id": "task"},
    InputSpec: {"from_task": "task", "screen_id": "screen"},
    InputMapping: {"task_id": "task"},
    Website: {"login_task_id": "task"},
    Screen: {"layouts": "layout", "available_actions": ANY_ACTION},
    StateSignature: {"screen_id": "screen"},
    Segment: {"task_id": "task", "screen_id": "screen"},
    ErrorRecovery: {"screens": "screen", "actions": ANY_ACTION},
    TaskNode: {"task_id": "task"},
    Transition: {"from_screen": "screen", "to_screen": "screen"},
    GlobalRecovery: {"from_group": "group", "to_screen": "screen"},
    GroupMembership: {"screen": "screen", "group": "group"},
    TaskDependency: {"from_task": "task", "to_task": "task"},
    ActionTrigger: {"action": "action", "transition": "transition"},
}
"""Model -> field -> the kind of thing it names. A subclass has its base's references too."""


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Every name in every document that points nowhere."""
    from kb_schema.rules.reference_checks import CHECKS  # noqa: PLC0415 - they import this module

    names = Names(knowledge)
    for document in knowledge.documents():
        where = f"{document.kind}:{document.local_id}"
        for path, node in walk(document):
            problems = list(_plain(names, node, path))
            for model, checked in CHECKS.items():
                if isinstance(node, model):
                    problems += checked(names, document, node, path)
            for problem in problems:
                yield Problem(problem.message, problem.path, where, fix=problem.fix, rule=RULE)


def walk(node: Any, path: str = "$") -> Iterator[tuple[str, BaseModel]]:
    """Every model inside a document, with its JSON path."""
    if isinstance(node, BaseModel):
        yield path, node
        for name, field in type(node).model_fields.items():
            yield from walk(getattr(node, name), f"{path}.{field.alias or name}")
    elif isinstance(node, Mapping):
        for key, item in node.items():
            yield from walk(item, f"{path}.{key}")
    elif isinstance(node, list | tuple):
        for index, item in enumerate(node):
            yield from walk(item, f"{path}[{index}]")


def looks_like_css(target: str) -> bool:
    """Whether a target is meant as CSS rather than as an element id."""
    return any(char in target for char in "#.[]>: *,()=\"'")


class Names:
    """What exists, by kind, and the problem for what does not."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self.knowledge = knowledge
        elements = {name for screen in knowledge.screens for name in knowledge.elements(screen)}
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
        }

    def missing(self, kind: str, name: str | None, path: str) -> Iterator[Problem]:
        """A problem if `name` is not a known `kind`; templates are left to run time."""
        if name is None or "{" in name or name in self.known[kind]:
            return
        yield self.unknown(kind, name, path, self.known[kind])

    def unknown(self, kind: str, name: str, path: str, known: Collection[str]) -> Problem:
        """The problem for a name that is not among the known ones."""
        some = ", ".join(sorted(known)[:6]) or "none yet"
        return Problem(f'no {kind} "{name}"', path, fix=did_you_mean(name, sorted(known)) or f"known: {some}")


def _plain(names: Names, node: BaseModel, path: str) -> Iterator[Problem]:
    for model in type(node).__mro__:
        for field, kind in REFERENCES.get(model, {}).items():
            value = getattr(node, field)
            place = f"{path}.{type(node).model_fields[field].alias or field}"
            if isinstance(value, tuple):
                for index, name in enumerate(value):
                    yield from names.missing(kind, name, f"{place}[{index}]")
            else:
                yield from names.missing(kind, value, place)
