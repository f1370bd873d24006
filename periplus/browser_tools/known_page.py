"""What can be done on a page of a known screen, most useful first: what the page shows now, its fields, then what it leads to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from playwright.async_api import Page

from agent.locators.page_index import PageIndex
from agent.page.condition_probes import answer_probes
from kb_schema.probes import ElementProbe, probe_key
from kb_schema.screens import UIElement
from kb_schema.selectors import TemplateStrategy
from kb_schema.tool_answers import AvailableActions, ElementAction
from mcp_server.descriptions.answer_text import render_actions
from mcp_server.descriptions.available_actions import summarize_actions
from periplus.browser_tools.element_targets import NamedElement, find_targets, role_selector

MOST_CHARACTERS, MOST_TASK_CHARACTERS = 480, 90
"""Of the actions and of the tasks: about 200 tokens together with the text around them."""
_ENTERS = frozenset({"fill", "type", "select_option", "check", "upload_file"})
_SELDOM = frozenset({"clear", "hover", "focus", "get_screen_content", "uncheck"})
"""Actions that need no line of their own: the element is listed, or there is nothing to do."""


async def find_hidden(page: Page, elements: Mapping[str, UIElement]) -> frozenset[str]:
    """Return the ids of elements that the page does not show now. Those whose selector has parameters are not judged."""
    asked = {
        element_id: ElementProbe(selector=element.selector)
        for element_id, element in elements.items()
        if not any(isinstance(each, TemplateStrategy) for each in element.selector.strategies)
    }
    answers = await answer_probes(page, list(asked.values()))
    return frozenset(
        element_id
        for element_id, probe in asked.items()
        if (answer := answers.get(probe_key(probe))) is not None
        and not answer.visible
        and answer.error is None
    )


def describe_known_page(
    listed: AvailableActions, index: PageIndex, hidden: Collection[str], *, targets: bool
) -> str:
    """Return the screen and what can be done there, in at most 250 tokens without the targets.

    Each element is named once, with the first of its actions; actions without an element are for tasks, not for `act`.

    `listed`: all actions of the screen, at `working`. `hidden`: elements that the page does not show. `targets`: also what
    Playwright's tools take for the listed elements.
    """
    shown = [
        each
        for each in listed.actions
        if each.element_id and each.action_type not in _SELDOM and each.element_id not in hidden
    ]
    shown.sort(key=lambda each: (_rank(each), not each.required, not each.leads_to))
    first = {each.element_id: each for each in reversed(shown)}
    wanted = [each for each in shown if first[each.element_id] is each]
    lines, named = summarize_actions(wanted, MOST_CHARACTERS)
    tasks, used = [], 0
    for task in listed.tasks:
        used += len(task) + 2
        if used > MOST_TASK_CHARACTERS:
            break
        tasks.append(task)
    more = len(wanted) - len(named) + len(listed.tasks) - len(tasks)
    told = listed.model_copy(update={"actions": (), "can": lines, "tasks": tuple(tasks), "more": more})
    text = render_actions(told)
    found = find_targets(named, list_named_elements(index)) if targets else {}
    return "\n".join([text, "targets: " + ", ".join(map(" ".join, found.items()))]) if found else text


def _rank(action: ElementAction) -> int:
    return 0 if action.action_type in _ENTERS else 1


def list_named_elements(index: PageIndex) -> Iterable[NamedElement]:
    """Yield the controls of a page with what Playwright's tools take for them: by role and name, else by an attribute."""
    alone = _attributes_used_once(index)
    for each in index.interactive:
        if each.role and each.name:
            yield NamedElement(each.role, each.name, role_selector(each.role, each.name))
        elif each.role and (called := each.label or each.near.before or each.near.row):
            own = each.attributes.get("name", "")
            if own in alone and '"' not in own:
                yield NamedElement(each.role, called, f'[name="{own}"]')


def _attributes_used_once(index: PageIndex) -> frozenset[str]:
    def all_names() -> Iterator[str]:
        for each in index.interactive:
            if own := each.attributes.get("name"):
                yield own

    names = list(all_names())
    return frozenset(each for each in names if names.count(each) == 1)
