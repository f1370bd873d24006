"""Referential integrity: every name that a document refers to must exist.

`REFERENCES` maps a model's field to the kind of thing it names. Checks that need more than a lookup
are in `reference_checks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from pydantic import BaseModel

from kb_schema.action_calls import ActionCall
from kb_schema.action_documents import ActionReversal
from kb_schema.base import Document
from kb_schema.conditions import (
    AllRequiredFieldsFilled,
    Authenticated,
    BaseCondition,
    FormValid,
    OnScreen,
    ScreenTransition,
)
from kb_schema.error_handling import ErrorRecovery, ErrorRule, RecoveryStep
from kb_schema.errors import Problem
from kb_schema.graph_documents import (
    ActionTrigger,
    ErrorState,
    GlobalRecovery,
    GroupMembership,
    TaskDependency,
    Transition,
)
from kb_schema.io_specs import InputMapping, InputSpec
from kb_schema.iterators import ItemAction
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.nested_models import ModelFinder, json_names, walk
from kb_schema.presentation_flows import Segment
from kb_schema.read_backs import ReadBack
from kb_schema.rules.reference_checks import CHECKS, ReferenceCheck
from kb_schema.rules.reference_names import ANY_ACTION, ANY_WORK, ReferenceNames
from kb_schema.screens import Affordance, Screen, StateSignature
from kb_schema.tasks import Task, TaskReversal
from kb_schema.websites import Website
from kb_schema.workflows import TaskNode

RULE = "references"

REFERENCES: Mapping[type[BaseModel], Mapping[str, str]] = {
    BaseCondition: {"remediation_task_id": "task", "remediation_action": ANY_ACTION},
    OnScreen: {"screen_id": "screen"},
    ScreenTransition: {"from_screen": "screen", "to_screen": "screen"},
    Authenticated: {"screen_id": "screen"},
    FormValid: {"screen_id": "screen"},
    AllRequiredFieldsFilled: {"fields": "element"},
    ActionCall: {"action_type": ANY_ACTION, "target_screen": "screen", "task_id": "task"},
    ActionReversal: {"action_id": "action"},
    Affordance: {"action_type": ANY_ACTION},
    ErrorRule: {"recovery": "recovery", "fallback": "recovery"},
    RecoveryStep: {"recovery": "recovery"},
    ErrorState: {"screen_id": "screen", "recovery": "recovery"},
    ItemAction: {"task_id": "task"},
    Task: {"reversible_by": "task"},
    TaskReversal: {"task_id": "task"},
    InputSpec: {"from_task": "task", "screen_id": "screen"},
    InputMapping: {"task_id": "task", "screen_id": "screen"},
    ReadBack: {"screen_id": "screen", "task_id": "task"},
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
"""Model -> field -> the kind it refers to. A subclass has the references of its bases too."""


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Return a problem for each name in a document that refers to nothing."""
    names = ReferenceNames(knowledge)
    for document in knowledge.documents():
        if not any(_is_wrong(names, document, node) for node in _REFERRING.find(document)):
            continue
        where = f"{document.kind}:{document.local_id}"
        for path, node in walk(document):
            for problem in _problems(names, document, node, path):
                yield Problem(problem.message, problem.path, where, fix=problem.fix, rule=RULE)


_REFERRING = ModelFinder(*REFERENCES, *CHECKS)


def _is_wrong(names: ReferenceNames, document: Document, node: BaseModel) -> bool:
    """Return whether `_problems` finds any; without paths, since nearly every document has none."""
    model = type(node)
    for field, _, kind in references_of(model):
        value = getattr(node, field)
        if value is None:
            continue
        if isinstance(value, tuple):
            if any(names.lacks(kind, name) for name in value):
                return True
        elif names.lacks(kind, value):
            return True
    return any(True for checked in _checks_of(model) for _ in checked(names, document, node, ""))


def _problems(names: ReferenceNames, document: Document, node: BaseModel, path: str) -> list[Problem]:
    model = type(node)
    problems = list(_missing_names(names, node, path)) if references_of(model) else []
    for checked in _checks_of(model):
        problems += checked(names, document, node, path)
    return problems


def list_references(document: Document) -> list[tuple[str, str]]:
    """Return what a document refers to as (kind, name), each once; names with `{x}` are left out.

    Kinds are the values of `REFERENCES`.
    """
    found: dict[tuple[str, str], None] = {}
    for _, node in walk(document):
        for field, _, kind in references_of(type(node)):
            value = getattr(node, field)
            for name in value if isinstance(value, tuple) else (value,):
                if name is not None and "{" not in name:
                    found[kind, name] = None
    return list(found)


@cache
def references_of(model: type[BaseModel]) -> tuple[tuple[str, str, str], ...]:
    """Return (field, its name in JSON, kind) for each reference of a model and its bases."""
    in_json = dict(json_names(model))
    return tuple(
        (field, in_json[field], kind)
        for base in model.__mro__
        for field, kind in REFERENCES.get(base, {}).items()
    )


@cache
def _checks_of(model: type[BaseModel]) -> tuple[ReferenceCheck, ...]:
    """Return the checks of `CHECKS` that apply to a model, in that order."""
    return tuple(checked for base, checked in CHECKS.items() if issubclass(model, base))


def _missing_names(names: ReferenceNames, node: BaseModel, path: str) -> Iterator[Problem]:
    for field, json_name, kind in references_of(type(node)):
        value = getattr(node, field)
        if isinstance(value, tuple):
            for index, name in enumerate(value):
                yield from names.missing(kind, name, f"{path}.{json_name}[{index}]")
        else:
            yield from names.missing(kind, value, f"{path}.{json_name}")
