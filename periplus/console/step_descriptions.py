"""Descriptions of action calls and conditions for people, with labels and names instead of ids.

What has no label or name is described as in `mcp_server.document_text.condition_text`.
"""

from __future__ import annotations

from kb_schema.action_calls import ActionCall
from kb_schema.conditions import (
    AllRequiredFieldsFilled,
    Authenticated,
    BaseCondition,
    Combined,
    ContextEquals,
    CustomCondition,
    DomContains,
    ElementCount,
    ElementEnabled,
    ElementHidden,
    ElementVisible,
    FieldFilled,
    FieldHasValue,
    FormValid,
    OnScreen,
    ScreenTransition,
    ShowsMessage,
    UrlContains,
    WriteAccepted,
)
from mcp_server.document_text import condition_text
from mcp_server.knowledge.compiled_view import KnowledgeView

_VERBS = {
    "navigate": "go to",
    "run_task": "do",
    "click_submit": "click",
    "select_option": "select",
    "choose_option": "choose",
}
_COMBINED = {"all_of": "all of", "any_of": "any of", "none_of": "none of"}


def describe_call(view: KnowledgeView, call: ActionCall, screen_id: str | None = None) -> str:
    """Return a description such as `click “Create agent”`; `screen_id`: the screen of the action, if known."""
    verb = _VERBS.get(call.canonical_type, call.canonical_type.replace("_", " "))
    if isinstance(call.target, str):
        return f"{verb} “{_label(view, call.target, screen_id)}”"
    if call.target_screen is not None and call.target is None:
        return f"{verb} {_screen(view, call.target_screen)}"
    if call.task_id is not None and call.target is None:
        return f"{verb} {name_task(view, call.task_id)}"
    return condition_text.describe_call(call)


def describe_condition(view: KnowledgeView, condition: BaseCondition, screen_id: str | None = None) -> str:
    """Return a description such as `on “Agents”`; `screen_id`: the screen where it is judged, if known."""
    said = ""
    match condition:
        case OnScreen():
            said = f"on {_screen(view, condition.screen_id)}"
        case ScreenTransition():
            start = f"from {_screen(view, condition.from_screen)} " if condition.from_screen else ""
            said = f"{start}to {_screen(view, condition.to_screen)}"
        case Authenticated():
            said = "signed in" if condition.expected else "signed out"
        case Combined(type="none_of", conditions=[ContextEquals() as only]):
            said = _describe_input(only, "is not")
        case Combined():
            parts = [describe_condition(view, each, screen_id) for each in condition.conditions]
            said = f"{_COMBINED[condition.type]}: {'; '.join(parts)}"
        case CustomCondition():
            said = describe_condition(view, condition.condition, screen_id)
        case ContextEquals():
            said = _describe_input(condition, "is")
        case DomContains():
            place = f" in {condition.selector}" if condition.selector else ""
            said = f"the page says “{condition.value}”{place}"
        case UrlContains():
            said = f"the address contains {condition.value}"
        case ShowsMessage(selector=None, text_contains=text):
            said = f"a message says “{text}”" if text else "a message is shown"
        case WriteAccepted(count=1, redirect=False):
            said = f"the application accepts a {condition.method} to {condition.pattern}"
        case _:
            said = _describe_elements(view, condition, screen_id)
    return said or condition_text.describe_condition(condition)


def _describe_input(condition: ContextEquals, verb: str) -> str:
    name = condition.name.replace("_", " ")
    return f"“{name}” {verb} {'given' if condition.value is None else repr(condition.value)}"


def name_task(view: KnowledgeView, task_id: str) -> str:
    """Return the name of a task or workflow in quotation marks, or its id."""
    task = view.knowledge.tasks.get(task_id) or view.knowledge.workflows.get(task_id)
    return task_id if task is None else f"“{task.name or task_id}”"


def _describe_elements(view: KnowledgeView, condition: BaseCondition, screen_id: str | None) -> str:
    """Return the words of a condition about fields or about an element that has a name; empty for another condition."""
    if isinstance(condition, FormValid):
        return "the form is valid"
    if isinstance(condition, AllRequiredFieldsFilled):
        labels = (f"“{_label(view, each, screen_id)}”" for each in condition.fields)
        return f"{', '.join(labels) or 'all required fields'} filled in"
    element = getattr(condition, "element", None)
    said = ""
    match condition:
        case ElementVisible():
            said = "is shown"
        case ElementHidden():
            said = "is not shown"
        case ElementEnabled():
            said = "can be used"
        case FieldFilled():
            said = "is filled in"
        case FieldHasValue():
            said = f"has the value {condition.value!r}"
        case ElementCount():
            most = " or more" if condition.max is None else f" to {condition.max}"
            said = f"is shown {condition.min}{most} times"
    return f"“{_label(view, element, screen_id)}” {said}" if said and isinstance(element, str) else ""


def _screen(view: KnowledgeView, screen_id: str) -> str:
    screen = view.knowledge.screens.get(screen_id)
    return screen_id if screen is None else f"“{screen.name or screen_id}”"


def _label(view: KnowledgeView, element_id: str, screen_id: str | None) -> str:
    """Return an element's label on a screen, else the one that all elements with this id have, else the id as words."""
    element = view.elements.get(screen_id or "", {}).get(element_id)
    if element is not None and element.label:
        return element.label
    labels = {own[element_id].label for own in view.elements.values() if element_id in own} - {""}
    return labels.pop() if len(labels) == 1 else element_id.replace("_", " ")
