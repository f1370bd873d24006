"""The actions that are available on a screen (KS 7.7): all of them, or a summary of the most useful ones.

A summary has the same size on every page: it lists as many actions as fit and says how many are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from kb_schema import action_types
from kb_schema.tool_answers import AvailableActions, Detail, ElementAction, Identification
from mcp_server.descriptions import document_summaries
from mcp_server.document_text import condition_text
from mcp_server.knowledge.compiled_view import KnowledgeView

SUMMARY_CHARACTERS = 230
"""Most words of actions in a summary: about 60 tokens together with the text around them."""
SUMMARY_TASK_CHARACTERS = 70
_SHOWN_NAME = 40
"""Longest id in a summary, in characters. Longer ids are cut."""


def available_actions(view: KnowledgeView, screen_id: str, detail: Detail = "working") -> AvailableActions:
    """Return what the elements of a screen afford, where their transitions lead, and the tasks that use the screen.

    A transition that needs no element of the screen is listed with an empty `element_id`.
    """
    actions = list(_actions(view, screen_id, detail))
    tasks = view.tasks_of.get(screen_id, ())
    if detail != "summary":
        return AvailableActions(
            website_id=view.website_id, screen_id=screen_id, actions=tuple(actions), tasks=tasks
        )
    own = {element.element_id for element in view.knowledge.screens[screen_id].ui_elements}
    actions.sort(key=lambda each: _relevance(each, own))
    can, shown = summarize_actions(actions, SUMMARY_CHARACTERS)
    fitting = _count_fitting([task[:_SHOWN_NAME] for task in tasks], SUMMARY_TASK_CHARACTERS)
    return AvailableActions(
        website_id=view.website_id,
        screen_id=screen_id,
        can=can,
        more=len(actions) - len(shown) + len(tasks) - fitting,
        tasks=tuple(task[:_SHOWN_NAME] for task in tasks[:fitting]),
    )


def describe_identified_screen(
    view: KnowledgeView, found: Identification, detail: Detail
) -> AvailableActions:
    """Return the available actions on an identified page. For an unknown page, return the recovery options."""
    if found.screen_id is None:
        ways_out = found.recovery[:1] if detail == "summary" else found.recovery
        return AvailableActions(
            website_id=view.website_id, screen_id=None, recovery=ways_out, hint=found.hint
        )
    answer = available_actions(view, found.screen_id, detail)
    hint = f"also possible: {'; '.join(found.distinguishing)[:200]}" if found.ambiguous else None
    told = {"confidence": round(found.confidence, 2), "ambiguous": found.ambiguous, "hint": hint}
    return answer.model_copy(update=told)


def _actions(view: KnowledgeView, screen_id: str, detail: Detail) -> Iterator[ElementAction]:
    leads: dict[tuple[str, str], list[str]] = defaultdict(list)
    labels: dict[tuple[str, str], str] = {}
    for edge in view.leaving.get(screen_id, ()):
        call = edge.triggered_by
        named = call.target if isinstance(call.target, str) else ""
        key = (named, call.canonical_type) if named else ("", f"{call.canonical_type}:{edge.local_id}")
        leads[key].append(edge.to_screen)
        labels[key] = edge.description or edge.local_id.replace("_", " ")
    for key, action in _afforded(view, screen_id, detail):
        yield action.model_copy(update={"leads_to": tuple(dict.fromkeys(leads.pop(key, ())))})
    yield from _listed_actions(view, screen_id)
    for (element_id, action_type), screens in leads.items():
        yield ElementAction(
            element_id=element_id,
            label=labels[element_id, action_type],
            action_type=action_type.partition(":")[0],
            leads_to=tuple(dict.fromkeys(screens)),
        )


def _listed_actions(view: KnowledgeView, screen_id: str) -> Iterator[ElementAction]:
    """The actions that the screen itself lists as available (KS 4.1) and that none of its elements affords."""
    afforded = {
        action_types.canonical(each.action_type) or each.action_type
        for element in view.elements[screen_id].values()
        for each in element.affordances
    }
    for name in view.knowledge.screens[screen_id].available_actions:
        action_type = action_types.canonical(name) or name
        if action_type in afforded:
            continue
        afforded.add(action_type)
        caused = document_summaries.list_triggered(view, name)
        yield ElementAction(
            element_id="",
            label=name.replace("_", " "),
            action_type=action_type,
            leads_to=tuple(dict.fromkeys(each.to_screen for each in caused if each.from_screen == screen_id)),
        )


def _afforded(
    view: KnowledgeView, screen_id: str, detail: Detail
) -> Iterator[tuple[tuple[str, str], ElementAction]]:
    for element_id, element in view.elements[screen_id].items():
        for affordance in element.affordances:
            action_type = action_types.canonical(affordance.action_type) or affordance.action_type
            yield (
                (element_id, action_type),
                ElementAction(
                    element_id=element_id,
                    label=element.label,
                    action_type=action_type,
                    required=affordance.required,
                    preconditions=tuple(
                        condition_text.describe_condition(each) for each in affordance.preconditions
                    ),
                    find=condition_text.describe_selector(element.selector) if detail == "full" else "",
                ),
            )


def _relevance(action: ElementAction, own: Collection[str]) -> tuple[bool, bool, bool]:
    """Sort key: required actions first, then the screen's own actions that lead somewhere, its other actions,
    and last those of its layouts.
    """
    return (not action.required, action.element_id not in own, not action.leads_to)


def summarize_actions(
    actions: Sequence[ElementAction], characters: int
) -> tuple[tuple[str, ...], list[ElementAction]]:
    """Return one line per action type with as many actions as fit, from the first, and these actions."""
    shown = list(actions[: _count_fitting([_action_name(each) for each in actions], characters)])
    return tuple(_lines(shown)), shown


def _action_name(action: ElementAction) -> str:
    """`agent_name*`, `save -> agent_list`."""
    name = (action.element_id or action.label)[:_SHOWN_NAME]
    leads = f" -> {'|'.join(action.leads_to)[:_SHOWN_NAME]}" if action.leads_to else ""
    return f"{name}{'*' * action.required}{leads}"


def _lines(actions: Iterable[ElementAction]) -> Iterator[str]:
    by_type: dict[str, list[str]] = defaultdict(list)
    for action in actions:
        by_type[action.action_type].append(_action_name(action))
    for action_type, words in by_type.items():
        yield f"{action_type} {', '.join(words)}"


def _count_fitting(words: list[str], characters: int) -> int:
    """Return how many of the words fit, counted from the first."""
    used = 0
    for number, word in enumerate(words):
        used += len(word) + 2
        if used > characters:
            return number
    return len(words)
