"""Writes the tools that pages offer themselves (WebMCP) as actions, and tasks that open the page and call them.

Names and descriptions are words of the page. Nothing was called when the site was explored. A tool that asks for a
secret is left out: secrets are typed into fields only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kb_schema.action_documents import Action
from kb_schema.explorations import OfferedTool, ToolInput
from kb_schema.secret_fields import is_secret_name
from kb_schema.tasks import DRAFT, Task
from loaders.exploration_import.explored_screens import ExploredScreen
from loaders.exploration_import.readable_ids import make_unique_id, to_id_words
from loaders.exploration_import.task_drafts import open_screen

PAGE_TOOL = "page_tool"
"""Category of the actions, and the key of `metadata` with the tool's name."""
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class _PlacedTool:
    """A tool and the screens that offer it."""

    tool: OfferedTool
    screens: tuple[ExploredScreen, ...]


def draft_tool_actions(
    screens: Sequence[ExploredScreen], taken: Collection[str], login: str | None
) -> tuple[list[Action], list[Task]]:
    """Return the actions, and a task for each tool that does something and is offered on a screen with an address.

    `taken`: ids of tasks. `login`: the task that signs in.
    """
    actions: list[Action] = []
    tasks: list[Task] = []
    for placed in _list_tools(screens):
        words = to_id_words(_HUMPS.sub(" ", placed.tool.name), numbers=True) or "tool"
        names = _name_inputs(placed.tool.inputs)
        action_id = make_unique_id(f"{PAGE_TOOL}_{words}", {each.action_id for each in actions})
        actions.append(_action(placed, action_id, names))
        start = next((each for each in placed.screens if each.url), None)
        if placed.tool.sends and start is not None:
            task_id = make_unique_id(words, {*taken, *(each.task_id for each in tasks)})
            tasks.append(_task(placed, task_id, action_id, names, start, login))
    return actions, tasks


def _list_tools(screens: Sequence[ExploredScreen]) -> Iterator[_PlacedTool]:
    """Yield each tool once; tools of one name with other inputs are others."""
    found: dict[tuple[str, ...], OfferedTool] = {}
    places: dict[tuple[str, ...], dict[str, ExploredScreen]] = {}
    for screen in screens:
        for tool in (tool for look in screen.looks for tool in look.page.tools):
            key = (tool.name, *(each.name for each in tool.inputs))
            found.setdefault(key, tool)
            places.setdefault(key, {})[screen.screen_id] = screen
    for key, tool in found.items():
        if not any(is_secret_name(each.name) for each in tool.inputs):
            yield _PlacedTool(tool, tuple(places[key].values()))


def _name_inputs(inputs: Sequence[ToolInput]) -> dict[str, str]:
    """Return the name of each input -> the name of the parameter, which may hold no other characters."""
    named: dict[str, str] = {}
    for each in inputs:
        words = to_id_words(_HUMPS.sub(" ", each.name), numbers=True) or "value"
        named[each.name] = make_unique_id(words if words[0].isalpha() else f"n_{words}", named.values())
    return named


def _action(placed: _PlacedTool, action_id: str, names: Mapping[str, str]) -> Action:
    tool = placed.tool
    return Action.model_validate(
        {
            "type": "action",
            "action_id": action_id,
            "name": tool.name,
            "description": _describe(tool),
            "category": PAGE_TOOL,
            "parameters": {
                names[each.name]: {
                    "type": each.type,
                    "required": each.required,
                    "description": _describe_input(each),
                }
                for each in tool.inputs
            },
            "preconditions": [_on_any(placed.screens)],
            "execution_steps": [
                {
                    "step": 1,
                    "action_type": "call_page_tool",
                    "value": tool.name,
                    "parameters": {each.name: f"{{{names[each.name]}}}" for each in tool.inputs},
                }
            ],
            "metadata": {PAGE_TOOL: tool.name, DRAFT: "offered by the page, not called"},
        }
    )


def _task(
    placed: _PlacedTool,
    task_id: str,
    action_id: str,
    names: Mapping[str, str],
    start: ExploredScreen,
    login: str | None,
) -> Task:
    tool = placed.tool
    inputs = [
        {
            "name": names[each.name],
            "type": each.type,
            "required": each.required,
            "description": _describe_input(each),
            "source": "user_input",
        }
        for each in tool.inputs
    ]
    call = {
        "action_type": action_id,
        "parameters": {names[each.name]: f"{{{names[each.name]}}}" for each in tool.inputs},
    }
    return Task.model_validate(
        {
            "type": "task",
            "task_id": task_id,
            "name": _HUMPS.sub(" ", tool.name).replace("_", " "),
            "description": f"{_describe(tool)}, by the tool that {start.name} offers",
            "io_spec": {"inputs": inputs},
            "steps": [
                {**open_screen(start.screen_id, login if start.signed_in else None), "order": 1},
                {"step_id": "call", "order": 2, "type": "interaction", "action": call},
            ],
            "metadata": {DRAFT: "written from a tool that the page offers, not called"},
        }
    )


def _on_any(screens: Sequence[ExploredScreen]) -> Mapping[str, Any]:
    conditions = [{"type": "on_screen", "screen_id": each.screen_id} for each in screens]
    return conditions[0] if len(conditions) == 1 else {"type": "any_of", "conditions": conditions}


def _describe(tool: OfferedTool) -> str:
    said = " ".join(tool.description.split()) or tool.name
    return said if tool.sends else f"{said} (fills a form without sending it)"


def _describe_input(each: ToolInput) -> str:
    said = " ".join(each.description.split())
    return "; ".join(
        part for part in (said, f"one of {', '.join(each.allowed)}" * bool(each.allowed)) if part
    )
