"""`REFERENCES`: which fields of which models name something of a website, and the kind of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel

from kb_schema.action_calls import ActionCall
from kb_schema.action_documents import ActionReversal
from kb_schema.conditions import (
    AllRequiredFieldsFilled,
    Authenticated,
    BaseCondition,
    FormValid,
    OnScreen,
    ScreenTransition,
)
from kb_schema.error_handling import ErrorRecovery, ErrorRule, RecoveryStep
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
from kb_schema.nested_models import json_names
from kb_schema.presentation_flows import Segment
from kb_schema.read_backs import ReadBack
from kb_schema.rules.reference_names import ANY_ACTION, ANY_WORK
from kb_schema.screens import Affordance, Screen, StateSignature
from kb_schema.tasks import Task, TaskReversal
from kb_schema.websites import Website
from kb_schema.workflows import TaskNode

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


@cache
def references_of(model: type[BaseModel]) -> tuple[tuple[str, str, str], ...]:
    """Return (field, its name in JSON, kind) for each reference of a model and its bases."""
    in_json = dict(json_names(model))
    return tuple(
        (field, in_json[field], kind)
        for base in model.__mro__
        for field, kind in REFERENCES.get(base, {}).items()
    )
