"""Reference checks that need more than a lookup: elements, steps, segments, signatures.

One function per model, entered in `CHECKS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.action_documents import Action
from kb_schema.base import Document
from kb_schema.conditions import BaseCondition
from kb_schema.error_handling import ErrorRule
from kb_schema.errors import Problem
from kb_schema.graph_documents import GlobalRecovery, Transition
from kb_schema.io_specs import InputSpec
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.read_backs import ReadBack
from kb_schema.rules.reference_names import ReferenceNames
from kb_schema.screens import Screen, StateSignature
from kb_schema.selectors import looks_like_css
from kb_schema.tasks import Task, TaskReversal

ReferenceCheck = Callable[[ReferenceNames, Document, Any, str], Iterator[Problem]]
"""Takes the names, the document, the model inside it and the model's JSON path; returns the problems."""


def _condition(
    names: ReferenceNames, _document: Document, condition: BaseCondition, path: str
) -> Iterator[Problem]:
    element = condition.__dict__.get("element")  # many have none: pydantic looks long for what is not there
    if isinstance(element, str) and names.lacks("element", element) and not looks_like_css(element):
        yield from names.missing("element", element, f"{path}.element")


def _call(names: ReferenceNames, _document: Document, call: ActionCall, path: str) -> Iterator[Problem]:
    target = call.target
    if isinstance(target, str) and names.lacks("element", target) and not looks_like_css(target):
        yield from names.missing("element", target, f"{path}.target")
    if target is None and call.action_type not in names.known["action"]:
        kind = action_types.action_type(call.action_type)
        if kind is not None and kind.target == "required":
            yield Problem(f"{call.action_type} needs a target", path, fix="name an element id or CSS")


def _rule(names: ReferenceNames, document: Document, rule: ErrorRule, path: str) -> Iterator[Problem]:
    if not isinstance(document, Task) or rule.retry_step is None:
        return
    if document.step(rule.retry_step) is None:
        steps = [step.step_id for step in document.steps]
        yield names.unknown("step", rule.retry_step, f"{path}.retry_step", steps)


def _input(names: ReferenceNames, _document: Document, spec: InputSpec, path: str) -> Iterator[Problem]:
    task = names.knowledge.tasks.get(spec.from_task or "")
    if task is None or spec.from_output is None:
        return
    outputs = [output.name for output in task.io_spec.outputs]
    if spec.from_output not in outputs:
        what = f'output of task "{task.task_id}"'
        yield names.unknown(what, spec.from_output, f"{path}.from_output", outputs)


def _action(names: ReferenceNames, _document: Document, action: Action, path: str) -> Iterator[Problem]:
    if action.reversible_by is not None and action_types.canonical(action.reversible_by) is None:
        yield from names.missing("action", action.reversible_by, f"{path}.reversible_by")


def _transition(names: ReferenceNames, _document: Document, edge: Transition, path: str) -> Iterator[Problem]:
    """Check that the element that triggers a transition is on the screen it leaves."""
    target = edge.triggered_by.target
    if not isinstance(target, str) or edge.from_screen not in names.knowledge.screens:
        return
    if target not in names.elements.get(edge.from_screen, ()):
        yield from _element_on(names, edge.from_screen, target, f"{path}.triggered_by.target")


def _recovery(
    _names: ReferenceNames, _document: Document, edge: GlobalRecovery, path: str
) -> Iterator[Problem]:
    if edge.triggered_by is None:
        yield Problem(
            "a recovery edge needs `triggered_by`",
            f"{path}.triggered_by",
            fix="state the action that recovers",
        )


def _task(names: ReferenceNames, _document: Document, task: Task, path: str) -> Iterator[Problem]:
    steps = [step.step_id for step in task.steps]
    for index, output in enumerate(task.io_spec.outputs):
        if output.after_step is not None and output.after_step not in steps:
            place = f"{path}.io_spec.outputs[{index}].after_step"
            yield names.unknown("step", output.after_step, place, steps)
    for index, step in enumerate(task.steps):
        yield from _inputs_of(names, step.action, f"{path}.steps[{index}].action")
    if task.read_back is not None:
        yield from _read_back(names, task, task.read_back, f"{path}.read_back")
    if task.reversibility is not None:
        yield from _inputs_of(names, task.reversibility, f"{path}.reversibility")
        for index, former in enumerate(task.reversibility.former):
            if former.before_step not in steps:
                place = f"{path}.reversibility.former[{index}].before_step"
                yield names.unknown("step", former.before_step, place, steps)


def _inputs_of(
    names: ReferenceNames, call: ActionCall | ReadBack | TaskReversal, path: str
) -> Iterator[Problem]:
    """Check that a called task has the inputs it is given."""
    called = names.knowledge.tasks.get(call.task_id or "")
    if called is None:
        return
    inputs = [spec.name for spec in called.io_spec.inputs]
    for name in call.inputs:
        if name not in inputs:
            yield names.unknown(f'input of task "{called.task_id}"', name, f"{path}.inputs.{name}", inputs)


def _read_back(names: ReferenceNames, task: Task, rule: ReadBack, path: str) -> Iterator[Problem]:
    yield from _inputs_of(names, rule, path)
    called = names.knowledge.tasks.get(rule.task_id or "")
    if called is not None and rule.output is not None:
        outputs = [output.name for output in called.io_spec.outputs]
        if rule.output not in outputs:
            yield names.unknown(f'output of task "{called.task_id}"', rule.output, f"{path}.output", outputs)
    own = [output.name for output in task.io_spec.outputs]
    for name in rule.gives:
        if name not in own:
            yield names.unknown(f'output of task "{task.task_id}"', name, f"{path}.gives.{name}", own)


def _flow(names: ReferenceNames, _document: Document, flow: PresentationFlow, path: str) -> Iterator[Problem]:
    segments = [segment.segment_id for segment in flow.segments]
    named: list[tuple[str, str]] = []
    for index, transition in enumerate(flow.transitions):
        named.append((transition.from_segment, f"{path}.transitions[{index}].from_segment"))
        named.append((transition.to_segment, f"{path}.transitions[{index}].to_segment"))
    for index, fallback in enumerate(flow.fallback_paths):
        for field in ("segments_to_skip", "segments_to_keep"):
            for number, name in enumerate(getattr(fallback, field)):
                named.append((name, f"{path}.fallback_paths[{index}].{field}[{number}]"))
    for name, place in named:
        if name not in segments:
            yield names.unknown("segment", name, place, segments)
    yield from _forwards(names, flow, path)
    for index, segment in enumerate(flow.segments):
        place = f"{path}.segments[{index}]"
        task = names.knowledge.tasks.get(segment.task_id or "")
        steps = [step.step_id for step in task.steps] if task else []
        for number, hook in enumerate(segment.narrative_hooks):
            if task is not None and hook.step_id is not None and hook.step_id not in steps:
                what = f'step of task "{task.task_id}"'
                yield names.unknown(what, hook.step_id, f"{place}.narrative_hooks[{number}].step_id", steps)
        for number, element in enumerate(segment.highlights):
            if segment.screen_id in names.knowledge.screens:
                yield from _element_on(
                    names, segment.screen_id or "", element, f"{place}.highlights[{number}]"
                )


def _forwards(names: ReferenceNames, flow: PresentationFlow, path: str) -> Iterator[Problem]:
    """Check that transitions, and the fallbacks of their conditions, lead to later segments.

    Otherwise a presentation would never end.
    """
    order = {segment.segment_id: place for place, segment in enumerate(flow.ordered_segments)}
    for index, transition in enumerate(flow.transitions):
        place = f"{path}.transitions[{index}]"
        leads_to = [(transition.to_segment, f"{place}.to_segment")]
        if transition.fallback_segment is not None:
            leads_to.append((transition.fallback_segment, f"{place}.condition.fallback"))
            if transition.fallback_segment not in order:
                yield names.unknown("segment", transition.fallback_segment, leads_to[1][1], [*order])
        for name, field in leads_to:
            here, there = order.get(transition.from_segment), order.get(name)
            if here is not None and there is not None and there <= here:
                yield Problem(
                    f'the transition from "{transition.from_segment}" leads back to "{name}"',
                    field,
                    fix="name a later segment",
                )


def _screen(names: ReferenceNames, _document: Document, screen: Screen, path: str) -> Iterator[Problem]:
    ids = [element.element_id for element in screen.ui_elements]
    if len(set(ids)) < len(ids):
        for twin in sorted(name for name, times in Counter(ids).items() if times > 1):
            yield Problem(f'two elements "{twin}"', f"{path}.ui_elements", fix="rename one")
    others = names.signatures.get(screen.screen_id, ())
    own = screen.state_signature if screen.state_signature and screen.state_signature.active else None
    if len(others) + (own is not None) > 1:
        yield Problem(
            "more than one active signature",
            f"{path}.state_signature",
            fix="set `active: false` on all but one",
        )
    if own is not None and not own.positive and not screen.url_patterns:
        yield _no_positive(screen.screen_id, f"{path}.state_signature")


def _signature(
    names: ReferenceNames, _document: Document, signature: StateSignature, path: str
) -> Iterator[Problem]:
    screen = names.knowledge.screens.get(signature.screen_id)
    if not signature.positive and not (screen and screen.url_patterns):
        yield _no_positive(signature.screen_id, path)


def _no_positive(screen_id: str, path: str) -> Problem:
    return Problem(
        f'the signature of "{screen_id}" has no positive indicator',
        path,
        fix="add a required, primary or optional indicator, or url_patterns",
    )


def _element_on(names: ReferenceNames, screen_id: str, name: str, path: str) -> Iterator[Problem]:
    if "{" in name or looks_like_css(name):
        return
    here = names.elements.get(screen_id, {})
    if name not in here:
        yield names.unknown(f'element on screen "{screen_id}":', name, path, here)


CHECKS: Mapping[type[BaseModel], ReferenceCheck] = {
    BaseCondition: _condition,
    ActionCall: _call,
    ErrorRule: _rule,
    InputSpec: _input,
    Action: _action,
    Transition: _transition,
    GlobalRecovery: _recovery,
    Task: _task,
    PresentationFlow: _flow,
    Screen: _screen,
    StateSignature: _signature,
}
"""Model -> its check beyond `REFERENCES`."""
