"""What is done on a website in words of people: the labels of elements and the names of screens instead of ids.

Where the knowledge does not say more, as the desk words it (`mcp_server.wording`).
"""

from __future__ import annotations

from kb_schema.calls import ActionCall
from mcp_server import wording
from mcp_server.compiled import View

_VERBS = {
    "navigate": "go to",
    "run_task": "do",
    "click_submit": "click",
    "select_option": "select",
    "choose_option": "choose",
}


def of_call(view: View, call: ActionCall, screen_id: str | None = None) -> str:
    """`click “Create agent”`, `go to “Agents”`; `screen_id`: where it is done, where that is known."""
    verb = _VERBS.get(call.canonical_type, call.canonical_type.replace("_", " "))
    if isinstance(call.target, str) and (label := _label(view, call.target, screen_id)) is not None:
        return f"{verb} “{label}”"
    screen = view.knowledge.screens.get(call.target_screen) if call.target_screen else None
    if screen is not None and call.target is None:
        return f"{verb} “{screen.name or screen.screen_id}”"
    task = view.knowledge.tasks.get(call.task_id) if call.task_id else None
    if task is not None and call.target is None:
        return f"{verb} “{task.name or task.task_id}”"
    return wording.of_call(call)


def _label(view: View, element_id: str, screen_id: str | None) -> str | None:
    """What people call an element; where the screen is not known, only if all that have that id are called so."""
    if screen_id is not None:
        element = view.elements.get(screen_id, {}).get(element_id)
        return None if element is None else element.label
    labels = {own[element_id].label for own in view.elements.values() if element_id in own}
    return labels.pop() if len(labels) == 1 else None
