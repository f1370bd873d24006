"""Referential integrity: whatever is named must exist (DESIGN 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
from kb_schema.graph import ActionTrigger, ErrorState, GlobalRecovery, GroupMembership, TaskDependency, Transition
from kb_schema.handling import ErrorRecovery, ErrorRule, RecoveryStep
from kb_schema.iterators import ItemAction
from kb_schema.presentation import PresentationFlow
from kb_schema.screens import Affordance, Screen, StateSignature
from kb_schema.tasks import Task
from kb_schema.values import InputMapping, InputSpec
from kb_schema.websites import Website
from kb_schema.workflows import TaskNode, Workflow

if TYPE_CHECKING:
    from kb_schema.knowledge import KnowledgeBase

RULE = "references"


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Every name in every document that points nowhere."""
    seen = _Names(knowledge)
    for document in knowledge.documents():
        name = f"{document.kind}:{document.local_id}"
        for path, node in walk(document):
            for problem in _node_problems(seen, document, node, path):
                yield Problem(
                    problem.message, problem.path, document=name, fix=problem.fix, rule=RULE
                )
        yield from (
            Problem(p.message, p.path, document=name, fix=p.fix, rule=RULE)
            for p in _document_problems(seen, document)
        )


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


class _Names:
    """What exists, by kind, and the problem for what does not."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self.knowledge = knowledge
        self.elements = {e for screen in knowledge.screens for e in knowledge.elements(screen)}
        self.elements |= {e.element_id for layout in knowledge.website.layouts.values() for e in layout}
        self.known: dict[str, Iterable[str]] = {
            "screen": [*knowledge.screens, CURRENT_SCREEN],
            "task": knowledge.tasks,
            "action": knowledge.actions,
            "group": knowledge.groups,
            "transition": knowledge.transitions,
            "layout": knowledge.website.layouts,
            "recovery": [*vocabulary.RECOVERIES, *knowledge.error_recoveries, *knowledge.tasks],
            "element": self.elements,
            "action or action type": [*knowledge.actions, *vocabulary.known_names()],
        }

    def missing(self, kind: str, name: str | None, path: str) -> Iterator[Problem]:
        """A problem if `name` is not a known `kind`; templates are left to run time."""
        known = self.known[kind]
        if name is None or "{" in name or name in known:
            return
        yield Problem(f'no {kind} "{name}"', path, fix=did_you_mean(name, list(known)) or f"add it or name one of the {len(list(known))} known")

    def element_on(self, screen_id: str, name: str, path: str) -> Iterator[Problem]:
        """A problem if the screen has no such element."""
        if "{" in name or looks_like_css(name):
            return
        here = self.knowledge.elements(screen_id)
        if name not in here:
            yield Problem(
                f'no element "{name}" on screen "{screen_id}"',
                path,
                fix=did_you_mean(name, here) or f"add it to the screen or to one of its layouts",
            )


def _node_problems(seen: _Names, document: Document, node: BaseModel, path: str) -> Iterator[Problem]:
    match node:
        case BaseCondition():
            yield from seen.missing("task", node.remediation_task_id, f"{path}.remediation_task_id")
            if node.remediation_action is not None:
                yield from seen.missing(
                    "action or action type", node.remediation_action, f"{path}.remediation_action"
                )
            match node:
                case OnScreen():
                    yield from seen.missing("screen", node.screen_id, f"{path}.screen_id")
                case ScreenTransition():
                    yield from seen.missing("screen", node.from_screen, f"{path}.from")
                    yield from seen.missing("screen", node.to_screen, f"{path}.to")
                case Authenticated() | FormValid():
                    yield from seen.missing("screen", node.screen_id, f"{path}.screen_id")
                case AllRequiredFieldsFilled():
                    for index, field in enumerate(node.fields):
                        yield from seen.missing("element", field, f"{path}.fields[{index}]")
                case _:
                    element = getattr(node, "element", None)
                    if isinstance(element, str) and not looks_like_css(element):
                        yield from seen.missing("element", element, f"{path}.element")
        case ActionCall():
            yield from seen.missing("action or action type", node.action_type, f"{path}.action_type")
            yield from seen.missing("screen", node.target_screen, f"{path}.target_screen")
            yield from seen.missing("task", node.task_id, f"{path}.task_id")
            if isinstance(node.target, str) and not looks_like_css(node.target):
                yield from seen.missing("element", node.target, f"{path}.target")
            kind = vocabulary.action_type(node.action_type)
            if kind and kind.target == "required" and node.target is None and node.action_type not in seen.known["action"]:
                yield Problem(f"{node.action_type} needs a target", path, fix="name an element id or CSS")
        case Affordance():
            yield from seen.missing("action or action type", node.action_type, f"{path}.action_type")
        case ErrorRule():
            yield from seen.missing("recovery", node.recovery, f"{path}.recovery")
            if isinstance(document, Task) and node.retry_step and document.step(node.retry_step) is None:
                yield Problem(
                    f'no step "{node.retry_step}"',
                    f"{path}.retry_step",
                    fix=did_you_mean(node.retry_step, [s.step_id for s in document.steps]),
                )
        case RecoveryStep():
            yield from seen.missing("recovery", node.recovery, f"{path}.recovery")
        case ErrorState():
            yield from seen.missing("screen", node.screen_id, f"{path}.screen_id")
            yield from seen.missing("recovery", node.recovery, f"{path}.recovery")
        case ItemAction():
            yield from seen.missing("task", node.task_id, f"{path}.task_id")
        case InputSpec():
            yield from seen.missing("task", node.from_task, f"{path}.from_task")
            yield from seen.missing("screen", node.screen_id, f"{path}.screen_id")
            source_task = seen.knowledge.tasks.get(node.from_task or "")
            if source_task is not None and node.from_output is not None:
                outputs = [o.name for o in source_task.io_spec.outputs]
                if node.from_output not in outputs:
                    yield Problem(
                        f'task "{node.from_task}" has no output "{node.from_output}"',
                        f"{path}.from_output",
                        fix=did_you_mean(node.from_output, outputs),
                    )
        case InputMapping():
            yield from seen.missing("task", node.task_id, f"{path}.task_id")


def _document_problems(seen: _Names, document: Document) -> Iterator[Problem]:
    match document:
        case Website():
            yield from seen.missing("task", document.login_task_id, "$.login_task_id")
        case Screen():
            for index, layout in enumerate(document.layouts):
                yield from seen.missing("layout", layout, f"$.layouts[{index}]")
            for index, action in enumerate(document.available_actions):
                yield from seen.missing("action or action type", action, f"$.available_actions[{index}]")
            ids = [e.element_id for e in document.ui_elements]
            for twin in sorted({i for i in ids if ids.count(i) > 1}):
                yield Problem(f'two elements "{twin}"', "$.ui_elements", fix="rename one")
            yield from _signature_problems(seen, document)
        case StateSignature():
            yield from seen.missing("screen", document.screen_id, "$.screen_id")
            if not document.positive and not _has_patterns(seen, document.screen_id):
                yield _no_positive(document.screen_id)
        case Transition():
            yield from seen.missing("screen", document.from_screen, "$._from")
            yield from seen.missing("screen", document.to_screen, "$._to")
            target = document.triggered_by.target
            if isinstance(target, str) and document.from_screen in seen.knowledge.screens:
                yield from seen.element_on(document.from_screen, target, "$.triggered_by.target")
        case GlobalRecovery():
            yield from seen.missing("group", document.from_group, "$._from")
            yield from seen.missing("screen", document.to_screen, "$._to")
            if document.triggered_by is None:
                yield Problem("a recovery edge needs `triggered_by`", "$.triggered_by", fix="say what to do")
        case GroupMembership():
            yield from seen.missing("screen", document.screen, "$._from")
            yield from seen.missing("group", document.group, "$._to")
        case TaskDependency():
            yield from seen.missing("task", document.from_task, "$._from")
            yield from seen.missing("task", document.to_task, "$._to")
        case ActionTrigger():
            yield from seen.missing("action", document.action, "$._from")
            yield from seen.missing("transition", document.transition, "$._to")
        case PresentationFlow():
            yield from _flow_problems(seen, document)
        case ErrorRecovery():
            for index, screen in enumerate(document.screens):
                yield from seen.missing("screen", screen, f"$.screens[{index}]")
            for index, action in enumerate(document.actions):
                yield from seen.missing("action or action type", action, f"$.actions[{index}]")
        case Workflow():
            yield from (
                problem
                for path, node in walk(document)
                if isinstance(node, TaskNode)
                for problem in seen.missing("task", node.task_id, f"{path}.task_id")
            )
        case Task():
            yield from _task_problems(seen, document)
        case _ if document.kind == "action":
            reversible_by = getattr(document, "reversible_by", None)
            if reversible_by is not None and vocabulary.canonical(reversible_by) is None:
                yield from seen.missing("action", reversible_by, "$.reversible_by")


def _task_problems(seen: _Names, task: Task) -> Iterator[Problem]:
    step_ids = [step.step_id for step in task.steps]
    for index, output in enumerate(task.io_spec.outputs):
        if output.after_step is not None and output.after_step not in step_ids:
            yield Problem(
                f'no step "{output.after_step}"',
                f"$.io_spec.outputs[{index}].after_step",
                fix=did_you_mean(output.after_step, step_ids),
            )
    for index, step in enumerate(task.steps):
        called = seen.knowledge.tasks.get(step.action.task_id or "")
        if called is not None:
            known = {spec.name for spec in called.io_spec.inputs}
            for name in step.action.inputs:
                if name not in known:
                    yield Problem(
                        f'task "{called.task_id}" has no input "{name}"',
                        f"$.steps[{index}].action.inputs.{name}",
                        fix=did_you_mean(name, sorted(known)),
                    )


def _flow_problems(seen: _Names, flow: PresentationFlow) -> Iterator[Problem]:
    segments = [segment.segment_id for segment in flow.segments]

    def segment_problem(name: str, path: str) -> Iterator[Problem]:
        if name not in segments:
            yield Problem(f'no segment "{name}"', path, fix=did_you_mean(name, segments))

    for index, segment in enumerate(flow.segments):
        path = f"$.segments[{index}]"
        yield from seen.missing("task", segment.task_id, f"{path}.task_id")
        yield from seen.missing("screen", segment.screen_id, f"{path}.screen_id")
        task = seen.knowledge.tasks.get(segment.task_id or "")
        if task is not None:
            for number, hook in enumerate(segment.narrative_hooks):
                if hook.step_id is not None and task.step(hook.step_id) is None:
                    yield Problem(
                        f'task "{task.task_id}" has no step "{hook.step_id}"',
                        f"{path}.narrative_hooks[{number}].step_id",
                        fix=did_you_mean(hook.step_id, [s.step_id for s in task.steps]),
                    )
        if segment.screen_id in seen.knowledge.screens:
            for number, element in enumerate(segment.highlights):
                yield from seen.element_on(segment.screen_id or "", element, f"{path}.highlights[{number}]")
    for index, transition in enumerate(flow.transitions):
        yield from segment_problem(transition.from_segment, f"$.transitions[{index}].from_segment")
        yield from segment_problem(transition.to_segment, f"$.transitions[{index}].to_segment")
    for index, fallback in enumerate(flow.fallback_paths):
        for name in ("segments_to_skip", "segments_to_keep"):
            for number, segment_id in enumerate(getattr(fallback, name)):
                yield from segment_problem(segment_id, f"$.fallback_paths[{index}].{name}[{number}]")


def _signature_problems(seen: _Names, screen: Screen) -> Iterator[Problem]:
    documents = [
        document
        for document in seen.knowledge.by_kind.get("state_signature", {}).values()
        if isinstance(document, StateSignature) and document.screen_id == screen.screen_id and document.active
    ]
    own = screen.state_signature is not None and screen.state_signature.active
    if len(documents) + own > 1:
        yield Problem(
            "more than one active signature", "$.state_signature", fix="set `active: false` on all but one"
        )
    if own and screen.state_signature and not screen.state_signature.positive and not screen.url_patterns:
        yield _no_positive(screen.screen_id)


def _has_patterns(seen: _Names, screen_id: str) -> bool:
    screen = seen.knowledge.screens.get(screen_id)
    return screen is not None and bool(screen.url_patterns)


def _no_positive(screen_id: str) -> Problem:
    return Problem(
        f'the signature of "{screen_id}" has no positive indicator',
        "$.state_signature",
        fix="add a required, primary or optional indicator, or url_patterns",
    )


