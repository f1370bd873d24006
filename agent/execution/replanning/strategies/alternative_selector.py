"""Another selector, or another element with the same affordance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent.execution.replanning.replanner import UnresolvedStepFailure
from agent.execution.task_run import StepReplan
from agent.page.errors import ElementChanged, GateFailed, GatePoint
from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector
from kb_schema.tasks import TaskStep

NAME = "other_selector"


class AlternativeSelector:
    """The action's own fallbacks, the selector's later strategies, then elements with the same affordance."""

    name = NAME

    async def plans(self, failure: UnresolvedStepFailure) -> Sequence[StepReplan]:
        """Return plans in that order."""
        step = failure.step
        call = step.action.model_copy(update={"fallback_actions": ()})  # they are plans of their own
        found = [
            plan_fallback(step, fallback, number)
            for number, fallback in enumerate(step.action.fallback_actions, start=1)
        ]
        elements = await _elements(failure)
        own = elements.get(call.target) if isinstance(call.target, str) else None
        selector = call.target if isinstance(call.target, Selector) else own.selector if own else None
        if selector is not None and not _is_no_other_way(failure.error):
            same = step.model_copy(
                update={"repeatable": failure.repeatable}
            )  # as the element's affordance says
            found += [
                _plan(same, call.model_copy(update={"target": each}), _named(each))
                for each in _later(selector)
            ]
        if own is not None:
            found += [
                _plan(step, call.model_copy(update={"target": each.element_id}), each.element_id)
                for each in _alike(own, elements.values(), call)
            ]
        return found


async def _elements(failure: UnresolvedStepFailure) -> dict[str, UIElement]:
    """The elements of the screen where the step began, from the knowledge base."""
    screen_id = failure.situation.screen_id
    if screen_id is None:
        return {}
    screen = await failure.engine.session.knowledge.screen(screen_id)
    return {element.element_id: element for element in screen.ui_elements}


_KNOWN = frozenset({GatePoint.NOT_FOUND, GatePoint.DISABLED})
"""No strategy finds an element, or one found it and it is disabled: what another finds is another element."""


def _is_no_other_way(error: Exception) -> bool:
    """Whether another strategy cannot lead to the element."""
    if isinstance(error, ElementChanged):
        return error.by_words
    return isinstance(error, GateFailed) and error.point in _KNOWN


def _later(selector: Selector) -> Iterator[Selector]:
    """Yield each strategy but the first by itself; the first was used already."""
    for strategy in selector.ordered[1:]:
        yield Selector(strategies=(strategy,), frame=selector.frame)


def _alike(own: UIElement, elements: Iterable[UIElement], call: ActionCall) -> Iterator[UIElement]:
    """Yield elements with the same promise: the same action with the same postconditions, or the same label."""
    promised = _promises(own, call)
    for each in elements:
        if each.element_id == own.element_id:
            continue
        label = own.metadata.get("label")
        same_label = label is not None and each.metadata.get("label") == label and each.type == own.type
        if same_label or (promised and _promises(each, call) == promised):
            yield each


def _promises(element: UIElement, call: ActionCall) -> list[object]:
    """The postconditions of the element's affordances for this action."""
    return [
        condition.to_json() | {"type": condition.type}
        for affordance in element.affordances
        if action_types.canonical(affordance.action_type) == call.canonical_type
        for condition in affordance.postconditions
    ]


def _named(selector: Selector) -> str:
    """A short name of its strategy: `css #save`, `role_name button Save`."""
    (strategy,) = selector.strategies
    fields = strategy.model_dump(
        mode="json",
        exclude_none=True,
        exclude_defaults=True,
        exclude={"type", "meta", "confidence", "fallback", "parameters", "required_context"},
    )
    return " ".join([strategy.type, *(str(value) for value in fields.values())])


def plan_fallback(step: TaskStep, fallback: ActionCall, number: int) -> StepReplan:
    """Return the plan that performs the step's fallback action of this number, from 1."""
    return _plan(step, fallback, f"fallback action {number}")


def _plan(step: TaskStep, call: ActionCall, detail: str) -> StepReplan:
    return StepReplan(NAME, detail, step.model_copy(update={"action": call}))
