"""Straight actions of a graph as tasks of the knowledge base: linear steps, their inputs and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.synthesis.deciding import usable
from agent.synthesis.graph import ActionNode, GraphParameter, GraphReading
from agent.synthesis.prompts import told_target
from kb_schema import vocabulary
from kb_schema.calls import ActionCall
from kb_schema.conditions import OnScreen
from kb_schema.selectors import Selector, SessionStrategy, Strategy, TemplateStrategy, ValueStrategy
from kb_schema.tasks import Task, TaskStep
from kb_schema.templates import selector_parameters, strings, variables
from kb_schema.triggers import ObservabilityTrigger
from kb_schema.values import DomExtraction, InputSpec, IoSpec, OutputSpec

_STEP_TYPES = {
    "navigate": "navigation", "fill": "form_fill", "select_option": "form_fill", "check": "form_fill",
    "uncheck": "form_fill", "clear": "form_fill", "upload_file": "form_fill", "click": "click",
    "input_and_submit": "submit", "wait": "wait", "wait_for": "wait", "get_screen_content": "extract",
}  # fmt: skip
_CALL_FIELDS = frozenset({"value", "url", "duration", "on_dialog", "new_tab", "download"})


@dataclass(frozen=True, slots=True)
class Written:
    """A task, what it needs and what it gives."""

    task: Task
    needs: frozenset[str]
    reads: tuple[str, ...]


class TaskWriter:
    """Writes tasks of one workflow; two stretches that do the same are one task."""

    def __init__(
        self,
        workflow: str,
        parameters: Mapping[str, GraphParameter],
        screens: Mapping[int, str] | None = None,
    ) -> None:
        """`screens`: position -> the screen it is on, where that is known."""
        self._workflow, self._parameters, self._screens = workflow, parameters, screens or {}
        self.tasks: list[Task] = []
        self._known: dict[str, Written] = {}

    def can_write(self, node: ActionNode) -> bool:
        """Whether an action can be done by a step: it is of the vocabulary, and its target can be found."""
        known = vocabulary.action_type(node.action_type)
        if known is None:
            return False
        if known.target == "required":
            return isinstance(node.target, Selector) and _lasting(node.target) is not None
        return node.action_type != "navigate" or bool(node.args.get("url"))

    def write(self, actions: Sequence[ActionNode]) -> Written:
        """The task of some actions."""
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
            awaited = _awaits(node)
            if awaited is not None:
                steps.append(self._step(len(steps), awaited, "wait for what comes next"))
            steps.append(self._step(len(steps), self._call(node, literals), _told(node)))
            here = self._screens.get(-1 if node.position is None else node.position)
            here = None if node.action_type == "navigate" else here
            if here is not None and here != screen:
                steps[first] = steps[first].model_copy(update={"preconditions": (_on(here),)})
            screen = here
        used = {name for step in steps for _, text in strings(step.to_json()) for name in variables(text)}
        used |= {name for step in steps for name in _parameters_of(step.action.target)}
        needs = frozenset(used - {output.name for output in outputs} - literals.keys())
        inputs = [self._input(name) for name in sorted(needs)]
        inputs += [
            InputSpec(name=name, source=("hardcoded",), value=value)
            for name, value in sorted(literals.items())
        ]
        body = {"steps": [step.to_json() for step in steps], "outputs": [each.to_json() for each in outputs]}
        known = self._known.get(repr(body))
        if known is None:
            task = Task(
                task_id=f"{self._workflow}_{len(self.tasks) + 1}",
                name=_told(actions[0])
                if len(actions) == 1
                else f"{_told(actions[0])} ... {_told(actions[-1])}",
                io_spec=IoSpec(inputs=tuple(inputs), outputs=tuple(outputs)),
                steps=tuple(steps),
            )
            self.tasks.append(task)
            known = Written(task, needs, tuple(output.name for output in outputs))
            self._known[repr(body)] = known
        return known

    def _step(self, number: int, call: ActionCall, description: str) -> TaskStep:
        return TaskStep.model_validate({
            "step_id": f"s{number + 1}", "order": number + 1, "action": call, "description": description,
            "type": _STEP_TYPES.get(call.canonical_type, "interaction"),
        })  # fmt: skip

    def _call(self, node: ActionNode, literals: dict[str, Any]) -> ActionCall:
        args = {key: self._value(each, literals) for key, each in node.args.items()}
        call = {key: each for key, each in args.items() if key in _CALL_FIELDS}
        more = {key: each for key, each in args.items() if key not in _CALL_FIELDS}
        target = _lasting(node.target) if isinstance(node.target, Selector) else None
        return ActionCall.model_validate(
            {"action_type": node.action_type, "target": target, "parameters": more, **call}
        )

    def _value(self, value: Any, literals: dict[str, Any]) -> Any:
        """A value; one that only looks like a template becomes an input with this very value."""
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
            secret=parameter is not None and parameter.secret,
        )


def _lasting(target: Selector) -> Selector | None:
    """A target without what only its session or an agent can find, and without words in braces, which
    would be filled in.
    """
    kept = tuple(
        each for each in target.strategies if not isinstance(each, SessionStrategy) and not _braced(each)
    )
    return target.model_copy(update={"strategies": kept}) if kept else None


def _braced(strategy: Strategy) -> bool:
    told = strategy.template if isinstance(strategy, TemplateStrategy) else None
    return any(variables(text) for _, text in strings(strategy.model_dump(mode="json")) if text != told)


def _parameters_of(target: object) -> Iterator[str]:
    if isinstance(target, Selector):
        for each in target.strategies:
            if isinstance(each, TemplateStrategy):
                yield from selector_parameters(each.template)


def _reads(reading: GraphReading) -> ActionCall:
    return ActionCall.model_validate(
        {"action_type": "get_screen_content", "target": {"type": "css", "value": reading.selector}}
    )


def _output(reading: GraphReading, step_id: str) -> OutputSpec:
    return OutputSpec(
        name=reading.name,
        extraction=DomExtraction(method="dom_extraction", selector=reading.selector, pattern=reading.pattern),
        after_step=step_id,
        required=True,
    )


def _awaits(node: ActionNode) -> ActionCall | None:
    """A wait for the element, where CSS can say it: triggers know no other selectors."""
    if node.awaits is None or node.awaits.frame is not None:
        return None
    for each in node.awaits.strategies:
        if isinstance(each, ValueStrategy) and not each.fallback and not _braced(each):
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


def _on(screen: str) -> OnScreen:
    """Where a step takes place. Soft: the step's own element is what must be there, and the screen is where
    one goes back to if it is not.
    """
    return OnScreen(type="on_screen", screen_id=screen, hard_dependency=False)


def _told(node: ActionNode) -> str:
    return f"{node.action_type} {told_target(node.target)}".strip()[:200]


__all__ = ["TaskWriter", "Written", "usable"]
