"""Descriptions of action calls for people, with element labels and screen names instead of ids.

Without labels and names, the descriptions are those of `mcp_server.document_text.condition_text`.
"""

from __future__ import annotations

from kb_schema.action_calls import ActionCall
from mcp_server.document_text import condition_text
from mcp_server.knowledge.compiled_view import KnowledgeView

_VERBS = {
    "navigate": "go to",
    "run_task": "do",
    "click_submit": "click",
    "select_option": "select",
    "choose_option": "choose",
}


def describe_call(view: KnowledgeView, call: ActionCall, screen_id: str | None = None) -> str:
    """Return a description such as `click “Create agent”`; `screen_id`: the screen of the action, if known."""
    verb = _VERBS.get(call.canonical_type, call.canonical_type.replace("_", " "))
    if isinstance(call.target, str) and (label := _label(view, call.target, screen_id)) is not None:
        return f"{verb} “{label}”"
    screen = view.knowledge.screens.get(call.target_screen) if call.target_screen else None
    if screen is not None and call.target is None:
        return f"{verb} “{screen.name or screen.screen_id}”"
    task = view.knowledge.tasks.get(call.task_id) if call.task_id else None
    if task is not None and call.target is None:
        return f"{verb} “{task.name or task.task_id}”"
    return condition_text.describe_call(call)


def _label(view: KnowledgeView, element_id: str, screen_id: str | None) -> str | None:
    """Return an element's label; without `screen_id` only if all elements with this id have the same label."""
    if screen_id is not None:
        element = view.elements.get(screen_id, {}).get(element_id)
        return None if element is None else element.label
    labels = {own[element_id].label for own in view.elements.values() if element_id in own}
    return labels.pop() if len(labels) == 1 else None
