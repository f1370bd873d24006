"""Converts sequences of actions to tasks of the knowledge base: steps, inputs and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.synthesis.alignment.step_equivalence import BUTTONS
from agent.synthesis.graph.action_graph import ActionNode, GraphParameter, GraphReading
from agent.synthesis.graph.runnable_actions import keep_stable_strategies, looks_like_template
from agent.synthesis.patterns.branch_conditions import is_queryable
from agent.synthesis.synthesis_prompts import render_target
from agent.synthesis.traces.element_fingerprints import merge_fingerprints
from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.conditions import OnScreen
from kb_schema.io_specs import DomExtraction, InputSpec, IoSpec, OutputSpec
from kb_schema.selectors import Selector, TemplateStrategy, ValueStrategy
from kb_schema.tasks import Task, TaskStep
from kb_schema.templates import is_xpath, selector_parameters, tree_variables, variables
from kb_schema.transforms import Arithmetic
from kb_schema.wait_triggers import ObservabilityTrigger

_STEP_TYPES = {
    "navigate": "navigation",
    "fill": "form_fill",
    "select_option": "form_fill",
    "check": "form_fill",
    "uncheck": "form_fill",
    "clear": "form_fill",
    "upload_file": "form_fill",
    "click": "click",
    "input_and_submit": "submit",
    "wait": "wait",
    "wait_for": "wait",
    "get_screen_content": "extract",
}
_CALL_FIELDS = frozenset(
    {"value", "url", "duration", "on_dialog", "new_tab", "download", "modifiers", "place", "drop"}
)


@dataclass(frozen=True, slots=True)
class WrittenTask:
    """A task with the variables that it needs and reads."""

    task: Task
    needs: frozenset[str]
    reads: tuple[str, ...]


class TaskWriter:
    """Builds the tasks of one workflow; equal sequences of actions become one task."""

    def __init__(
        self,
        workflow: str,
        parameters: Mapping[str, GraphParameter],
        screens: Mapping[int, str] | None = None,
    ) -> None:
        """`screens` maps positions to the ids of known screens."""
        self._workflow, self._parameters, self._screens = workflow, parameters, screens or {}
        self.tasks: list[Task] = []
        self._known: dict[str, WrittenTask] = {}

    def write(self, actions: Sequence[ActionNode]) -> WrittenTask:
        """Return the task for a sequence of actions."""
        steps: list[TaskStep] = []
        outputs: list[OutputSpec] = []
        literals: dict[str, Any] = {}
        screen: str | None = None
        for node in actions:
            first = len(steps)
            for reading in node.reads:
                if reading.name not in {output.name for output in outputs}:
                    step = self._step(len(steps), _reads(reading), f"read {reading.name}")
                    steps.append(step)
                    outputs.append(_output(reading, step.step_id))
            awaited = _build_wait_trigger(node)
            if awaited is not None:
                steps.append(self._step(len(steps), awaited, "wait for the next element"))
            steps.append(self._step(len(steps), self._call(node, literals), describe_action_node(node)))
            here = self._screens.get(-1 if node.position is None else node.position)
            here = None if node.action_type == "navigate" else here
            if here is not None and here != screen:
                steps[first] = _on_screen(steps[first], here)
            if node.already_done_when:
                steps[-1] = steps[-1].model_copy(update={"already_done_when": node.already_done_when})
            if node.postcondition is not None:
                steps[-1] = steps[-1].model_copy(update={"postconditions": (node.postcondition,)})
            if not _is_idempotent(node):
                steps[-1] = _on_screen(steps[-1], here, hard=True) if here else _at_address(steps[-1], node)
            screen = here
        used = tree_variables([step.to_json() for step in steps])
        used |= {name for step in steps for name in _parameters_of(step.action.target)}
        used |= tree_variables([each.extraction.to_json() for each in outputs])
        needs = used - {output.name for output in outputs} - literals.keys()
        computed = {name: each for name in needs if (each := self._parameters.get(name)) and each.formula}
        operands = {name for each in computed.values() for name in variables(each.formula)}
        needs = frozenset((needs - computed.keys()) | operands)
        inputs = [self._input(name) for name in sorted(needs)]
        inputs += [_compute(each) for _, each in sorted(computed.items())]
        inputs += [
            InputSpec(name=name, source=("hardcoded",), value=value)
            for name, value in sorted(literals.items())
        ]
        body = {
            "steps": [_without_fingerprint(step).to_json() for step in steps],
            "buttons": [_name_of_button(step) for step in steps],
            "outputs": [each.to_json() for each in outputs],
        }
        known = self._known.get(repr(body))
        if known is None:
            task = Task(
                task_id=f"{self._workflow}_{len(self.tasks) + 1}",
                name=describe_action_node(actions[0])
                if len(actions) == 1
                else f"{describe_action_node(actions[0])} ... {describe_action_node(actions[-1])}",
                io_spec=IoSpec(inputs=tuple(inputs), outputs=tuple(outputs)),
                steps=tuple(steps),
            )
            self.tasks.append(task)
            known = WrittenTask(task, needs, tuple(output.name for output in outputs))
        else:
            known = self._share(known, steps)
        self._known[repr(body)] = known
        return known

    def rename(self, written: WrittenTask, task: Task) -> WrittenTask:
        """Put a task in place of one that was written; later equal sequences become tasks of their own."""
        self.tasks[self.tasks.index(written.task)] = task
        self._known = {key: each for key, each in self._known.items() if each is not written}
        return replace(written, task=task)

    def _share(self, known: WrittenTask, steps: Sequence[TaskStep]) -> WrittenTask:
        """Use a task for further steps: what their elements do not have in common is not part of it."""
        shared = [
            _join_fingerprints(ours, theirs) for ours, theirs in zip(known.task.steps, steps, strict=True)
        ]
        task = known.task.model_copy(update={"steps": tuple(shared)})
        self.tasks[self.tasks.index(known.task)] = task
        return replace(known, task=task)

    def _step(self, number: int, call: ActionCall, description: str) -> TaskStep:
        return TaskStep.model_validate(
            {
                "step_id": f"s{number + 1}",
                "order": number + 1,
                "action": call,
                "description": description,
                "type": _STEP_TYPES.get(call.canonical_type, "interaction"),
            }
        )

    def _call(self, node: ActionNode, literals: dict[str, Any]) -> ActionCall:
        args = {key: self._value(each, literals) for key, each in node.args.items()}
        call = {key: each for key, each in args.items() if key in _CALL_FIELDS}
        more = {key: each for key, each in args.items() if key not in _CALL_FIELDS}
        target = keep_stable_strategies(node.target) if isinstance(node.target, Selector) else None
        return ActionCall.model_validate(
            {
                "action_type": node.action_type,
                "target": target,
                "parameters": more,
                "fingerprint": None if target is None else node.fingerprint,
                **call,
            }
        )

    def _value(self, value: Any, literals: dict[str, Any]) -> Any:
        """Return a value; a literal that looks like a template becomes an input with that value."""
        if isinstance(value, dict):
            return {key: self._value(each, literals) for key, each in value.items()}
        if not isinstance(value, str) or variables(value) <= self._parameters.keys():
            return value
        name = f"literal_{len(literals) + 1}"
        literals[name] = value
        return f"{{{name}}}"

    def _input(self, name: str) -> InputSpec:
        parameter = self._parameters.get(name)
        return InputSpec(
            name=name,
            description="" if parameter is None else parameter.description,
            source=("task_context", "session_context", "user_input"),
            required=parameter is None or not parameter.optional,
            secret=parameter is not None and parameter.secret,
        )


def _without_fingerprint(step: TaskStep) -> TaskStep:
    return step.model_copy(update={"action": step.action.model_copy(update={"fingerprint": None})})


def _name_of_button(step: TaskStep) -> str:
    """Return the words of a step's button: two buttons of one id are two buttons."""
    known = step.action.fingerprint
    return (known.name or "") if known is not None and known.role in BUTTONS else ""


def _join_fingerprints(ours: TaskStep, theirs: TaskStep) -> TaskStep:
    both = (ours.action.fingerprint, theirs.action.fingerprint)
    known = [each for each in both if each is not None]
    merged = merge_fingerprints(known) if len(known) == len(both) else None
    return ours.model_copy(update={"action": ours.action.model_copy(update={"fingerprint": merged})})


def _parameters_of(target: object) -> Iterator[str]:
    if isinstance(target, Selector):
        for each in target.strategies:
            if isinstance(each, TemplateStrategy):
                yield from selector_parameters(each.template)


def _reads(reading: GraphReading) -> ActionCall:
    target: dict[str, Any] = {"type": "css", "value": reading.selector}
    if is_xpath(reading.selector):
        names = sorted(variables(reading.selector))
        template = reading.selector
        for name in names:
            template = template.replace(f"{{{name}}}", f"{{{{{name}}}}}")
        target = {
            "type": "parameterized_xpath",
            "template": template,
            "parameters": names,
            "required_context": names,
        }
    return ActionCall.model_validate({"action_type": "get_screen_content", "target": target})


def _compute(parameter: GraphParameter) -> InputSpec:
    return InputSpec(
        name=parameter.name,
        description=parameter.description,
        source=("template",),
        template=parameter.formula,
        transforms=(Arithmetic(type="arithmetic"),),
    )


def _output(reading: GraphReading, step_id: str) -> OutputSpec:
    return OutputSpec(
        name=reading.name,
        extraction=reading.ranked
        or DomExtraction(method="dom_extraction", selector=reading.selector, pattern=reading.pattern),
        after_step=step_id,
        required=True,
    )


def _build_wait_trigger(node: ActionNode) -> ActionCall | None:
    """Return a wait for the element; None without a CSS selector, which triggers require."""
    if node.awaits is None or node.awaits.frame is not None:
        return None
    for each in node.awaits.strategies:
        if isinstance(each, ValueStrategy) and not each.fallback and not looks_like_template(each):
            value = _as_css(each)
            if value is not None:
                trigger = ObservabilityTrigger(event="element_visible", selector=value)
                return ActionCall(action_type="wait_for", observability_trigger=trigger)
    return None


def _as_css(strategy: ValueStrategy) -> str | None:
    if strategy.type == "css":
        return strategy.value
    plain = re.fullmatch(r"[^\"\\\n]+", strategy.value)
    return (
        f'[{strategy.type}="{strategy.value}"]'
        if plain and strategy.type in ("id", "data-testid", "data-qa")
        else None
    )


def _on_screen(step: TaskStep, screen: str, *, hard: bool = False) -> TaskStep:
    """Return the step with the screen that it is on as its precondition.

    It is a hard one for an action that must not be repeated: on another screen, the same selector may find a
    control with another meaning. For other steps, only the element must be present.
    """
    condition = OnScreen(type="on_screen", screen_id=screen, hard_dependency=hard)
    return step.model_copy(update={"preconditions": (condition,)})


def _at_address(step: TaskStep, node: ActionNode) -> TaskStep:
    """Return the step with its address as a hard precondition, where no screen could be derived."""
    if node.address is None or node.action_type == "navigate":
        return step
    return step.model_copy(update={"preconditions": (node.address,)})


def _is_idempotent(node: ActionNode) -> bool:
    known = action_types.action_type(node.action_type)
    return known is not None and known.idempotent


def describe_action_node(node: ActionNode) -> str:
    """Return a step's description: its action and target."""
    return f"{node.action_type} {render_target(node.target)}".strip()[:200]


__all__ = ["TaskWriter", "WrittenTask", "describe_action_node", "is_queryable"]
