"""What can be done on a page of a known screen, most useful first: what the page shows now, its fields, then what it leads to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from playwright.async_api import Page

from agent.locators.page_index import PageIndex
from agent.locators.page_scan import Standing, find_standings
from kb_schema.excerpts import excerpt
from kb_schema.screens import UIElement
from kb_schema.selectors import TemplateStrategy
from kb_schema.tool_answers import AvailableActions, ElementAction
from mcp_server.descriptions.answer_text import render_actions
from mcp_server.descriptions.available_actions import summarize_actions
from periplus.browser_tools.element_targets import ENTERED, NamedElement, find_targets, role_selector

MOST_CHARACTERS, MOST_TASK_CHARACTERS, MOST_OTHER_CHARACTERS = 480, 90, 160
"""Of the actions, of the tasks, and of fields that are not known: about 200 tokens together with the text around them."""
_WHOLE, _LONGEST_CSS = 8, 120
"""How many times as much a whole look has; the longest CSS that is told."""
_ENTERS = frozenset({"fill", "type", "select_option", "check", "upload_file"})
_SELDOM = frozenset({"clear", "hover", "focus", "get_screen_content", "uncheck"})
"""Actions that need no line of their own: the element is listed, or there is nothing to do."""


async def find_elements(
    page: Page, index: PageIndex, elements: Mapping[str, UIElement]
) -> dict[str, Standing]:
    """Return where each element of the screen is on the page. Those whose selector has parameters are left out."""
    asked = {
        element_id: element.selector
        for element_id, element in elements.items()
        if not any(isinstance(each, TemplateStrategy) for each in element.selector.strategies)
    }
    found = await find_standings(page, index, list(asked.values()))
    return dict(zip(asked, found, strict=True))


def describe_known_page(
    listed: AvailableActions,
    index: PageIndex,
    found: Mapping[str, Standing],
    refs: Mapping[str, int],
    *,
    targets: bool,
    whole: bool = False,
) -> str:
    """Return the screen and what can be done there, in at most 250 tokens without the targets and what fields show.

    Each element is named once, with the first of its actions; actions without an element are for tasks, not for `act`.

    `listed`: all actions of the screen, at `working`. `found`: where its elements are; those that the page does not show are
    left out. `refs`: references of the outline, by which fields are listed that the screen does not have. `targets`: also what Playwright's tools take for the listed elements. `whole`: all of them, whatever their length.
    """
    shown = [
        each
        for each in listed.actions
        if each.element_id
        and each.action_type not in _SELDOM
        and not ((standing := found.get(each.element_id)) and not standing.visible and standing.error is None)
    ]
    text, named = describe_actions(listed, shown, whole=whole)
    if others := _list_other_fields(index, found, refs, MOST_OTHER_CHARACTERS * (_WHOLE if whole else 1)):
        text = f"{text}\nfields that are not known: {others}"
    taken = _list_targets(named, index, found) if targets else {}
    return "\n".join([text, "targets: " + ", ".join(map(" ".join, taken.items()))]) if taken else text


def describe_actions(
    listed: AvailableActions,
    shown: Sequence[ElementAction],
    *,
    whole: bool = False,
    more_with: str = "look with whole: true",
) -> tuple[str, list[ElementAction]]:
    """Return the screen with what can be done there, most useful first, and the elements that are named.

    `shown`: the actions of elements that the page shows. `more_with`: how a client gets the rest.
    """
    shown = sorted(shown, key=lambda each: (_rank(each), not each.required, not each.leads_to))
    first = {each.element_id: each for each in reversed(shown)}
    wanted = [each for each in shown if first[each.element_id] is each]
    lines, named = summarize_actions(wanted, MOST_CHARACTERS * (_WHOLE if whole else 1))
    tasks, used = [], 0
    for task in listed.tasks:
        used += len(task) + 2
        if used > MOST_TASK_CHARACTERS * (_WHOLE if whole else 1):
            break
        tasks.append(task)
    more = len(wanted) - len(named) + len(listed.tasks) - len(tasks)
    told = listed.model_copy(update={"actions": (), "can": lines, "tasks": tuple(tasks), "more": 0})
    text = render_actions(told)
    return (f"{text}\nand {more} more: {more_with}" if more else text), named


def _list_other_fields(
    index: PageIndex, found: Mapping[str, Standing], refs: Mapping[str, int], most: int
) -> str:
    """Return the fields of the page that no element of the screen is, with their references, as many as fit."""
    known = {each.at for each in found.values()}
    told: list[str] = []
    for ref, at in refs.items():
        element = index.elements[at]
        if at in known or element.role not in ENTERED or element.region is None:
            continue
        name = element.label or element.name or element.near.before or element.attributes.get("name", "")
        line = f'{ref} {element.role} "{excerpt(name, 40)}"'
        most -= len(line) + 2
        if most < 0:
            return ", ".join([*told, "..."])
        told.append(line)
    return ", ".join(told)


def list_values(index: PageIndex, found: Mapping[str, Standing]) -> dict[str, str]:
    """Return element id -> what the field shows, of those that show something."""
    at = {element_id: each.at for element_id, each in found.items() if each.at is not None}
    return {element_id: index.values[place] for element_id, place in at.items() if place in index.values}


def _list_targets(
    named: Sequence[ElementAction], index: PageIndex, found: Mapping[str, Standing]
) -> dict[str, str]:
    """Return element id -> what Playwright's tools take: role and name where they are there once, else CSS."""
    by_name = find_targets(
        [each for each in named if each.element_id not in found], list_named_elements(index)
    )
    times = Counter((each.role, each.name) for each in index.interactive)
    alone = _attributes_used_once(index)
    taken: dict[str, str] = {}
    for each in named:
        standing = found.get(each.element_id or "")
        if standing is None and each.element_id in by_name:
            taken[each.element_id] = by_name[each.element_id]
        if standing is None or standing.at is None or not each.element_id:
            continue
        element = index.elements[standing.at]
        own = element.attributes.get("name", "")
        if element.role and element.name and times[element.role, element.name] == 1:
            taken[each.element_id] = role_selector(element.role, element.name)
        elif own in alone and '"' not in own:
            taken[each.element_id] = f'[name="{own}"]'
        elif standing.css and len(standing.css) <= _LONGEST_CSS:
            taken[each.element_id] = standing.css
    return taken


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
