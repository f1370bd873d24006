"""Says how a task is done, step by step: `go to Cards, then press Link a Card, then fill in the form, then press Link`.

What is left out would be a wrong instruction, so a task with a step that has no words has no steps at all.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agent.errors import UnknownToKnowledge
from agent.presentation.visitor.languages import Language
from agent.session import Session
from kb_schema.conditions import Combined, ContextEquals, OnScreen
from kb_schema.screens import Screen, UIElement
from kb_schema.tasks import Task, TaskStep

_ENTERED = ("fill", "select_option", "check", "upload_file")
_SHOWN = ("navigate", "click", *_ENTERED)
MOST_FIELDS, MOST_NAMES = 3, 6
"""Most fields that are steps of their own, and most that a form's step names."""
_NAMELESS = frozenset({"control", "option", "item", "field", "button", "link", "row"})
"""Last words of the label that a map makes for an element without a name."""


@dataclass(frozen=True, slots=True)
class _StepWords:
    text: str
    field: str = ""
    """The field that it fills."""
    chooses: str = ""
    """The input whose value decides which of several steps is done."""


async def describe_steps(task: Task, session: Session, language: Language) -> list[str]:
    """Return the steps of a task in words; none if a step of it cannot be said."""
    said: list[_StepWords] = []
    screen: Screen | None = None
    for step in task.ordered_steps:
        for condition in step.preconditions:
            screen = await _screen_of(condition, session) or screen
        told = await _describe(step, task, screen, session, language)
        if told is None:
            return []
        said += [each for each in told if not (each.chooses and said and said[-1].chooses == each.chooses)]
        target = step.action.target_screen
        reached = None if target is None else await _read_screen(target, session)
        screen = reached or screen
        for condition in step.postconditions:
            screen = await _screen_of(condition, session) or screen
    return _fold_forms(said, language)


def clean_label(label: str) -> str:
    """Return a label without the marks that forms add: `Card Number *`, `Name:`."""
    return " ".join(label.split()).rstrip(" *:") or label


async def _describe(
    step: TaskStep, task: Task, screen: Screen | None, session: Session, language: Language
) -> list[_StepWords] | None:
    """Return the words of a step, none for one that a person does not see; None if it cannot be said."""
    call, facts = step.action, language.facts
    if call.target_screen is not None or call.task_id is not None:
        kind, name = await _name_aim(step, session)
        return [_StepWords(facts[kind].format(name=name))] if name else None
    if call.iterator_spec is not None or step.type == "iterator":
        return None  # what is done with each row is no step
    kind = call.canonical_type
    document = await session.knowledge.action(call.action_type)
    if document is not None:
        recipe = (each.canonical_type for each in document.execution_steps)
        kind = next((each for each in recipe if each in _SHOWN), kind)
    if kind not in _SHOWN:
        return []
    element = _find_element(screen, call.target)
    chooses = _decides(step)
    if element is None or (_is_nameless(element) and not chooses):
        return None
    if chooses:
        name = _name_input(chooses, task)
        return [_StepWords(facts["select_option"].format(name=name), name, chooses)]
    name = clean_label(element.label)
    return [_StepWords(facts[kind].format(name=name), name if kind in _ENTERED else "")]


async def _name_aim(step: TaskStep, session: Session) -> tuple[str, str]:
    """Return what leads to a screen or runs another task, and what that is called; an empty name if it is unknown."""
    call = step.action
    with suppress(UnknownToKnowledge):
        if call.target_screen is not None:
            return "navigate", (await session.knowledge.screen(call.target_screen)).name
        if call.task_id is not None:
            return "do", (await session.knowledge.task(call.task_id)).name
    return "do", ""


def _is_nameless(element: UIElement) -> bool:
    """Return whether nothing on the page is called like the element: `row control`."""
    label = clean_label(element.label).casefold()
    return label == element.element_id.replace("_", " ") and label.split()[-1] in _NAMELESS


def _decides(step: TaskStep) -> str:
    """Return the input that has to have one value for the step to be done; empty if there is none."""
    for condition in step.skip_when:
        if isinstance(condition, Combined) and condition.type == "none_of":
            for each in condition.conditions:
                if isinstance(each, ContextEquals) and each.value is not None:
                    return each.name
    return ""


def _name_input(name: str, task: Task) -> str:
    given = next((each for each in task.io_spec.inputs if each.name == name), None)
    described = "" if given is None else given.description.partition(":")[0]
    return clean_label((described or name).replace("_", " ").replace("-", " "))


def _fold_forms(said: list[_StepWords], language: Language) -> list[str]:
    """Return the words, with a form of many fields as one step."""
    words: list[str] = []
    at = 0
    while at < len(said):
        end = at
        while end < len(said) and said[end].field:
            end += 1
        if end - at > MOST_FIELDS:
            names = [each.field for each in said[at:end]]
            more = ", ..." if len(names) > MOST_NAMES else ""
            words.append(language.facts["form"].format(names=", ".join(names[:MOST_NAMES]) + more))
        else:
            words += [each.text for each in said[at : max(end, at + 1)]]
        at = max(end, at + 1)
    return words


async def _screen_of(condition: object, session: Session) -> Screen | None:
    return await _read_screen(condition.screen_id, session) if isinstance(condition, OnScreen) else None


async def _read_screen(screen_id: str, session: Session) -> Screen | None:
    with suppress(UnknownToKnowledge):
        return await session.knowledge.screen(screen_id)
    return None


def _find_element(screen: Screen | None, target: Any) -> UIElement | None:
    elements = () if screen is None or not isinstance(target, str) else screen.ui_elements
    return next((element for element in elements if element.element_id == target), None)
