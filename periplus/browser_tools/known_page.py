"""What can be done on a page of a known screen, most useful first: what the page shows now, its fields, then what it leads to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.locators.page_index import IndexedElement, PageIndex
from agent.locators.word_comparison import normalize_words
from kb_schema.tool_answers import AvailableActions, ElementAction
from mcp_server.descriptions.answer_text import render_actions
from mcp_server.descriptions.available_actions import summarize_actions
from periplus.browser_tools.element_targets import NamedElement, find_targets, role_selector

MOST_CHARACTERS, MOST_TASK_CHARACTERS = 480, 90
"""Of the actions and of the tasks: about 200 tokens together with the text around them."""
_ENTERS = frozenset({"fill", "type", "select_option", "check", "upload_file"})
_SELDOM = frozenset({"clear", "hover", "focus", "get_screen_content", "uncheck"})
"""Actions that need no line of their own: the element is listed, or there is nothing to do."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """The words by which elements of the page are called."""

    whole: frozenset[str]
    begun: tuple[str, ...]

    def has(self, action: ElementAction) -> bool:
        """Whether an element of the page is called so."""
        for words in (action.label, action.element_id):
            told = normalize_words(words.replace("_", " ")) if words else ""
            if told and (told in self.whole or any(each.startswith(f"{told} ") for each in self.begun)):
                return True
        return False


def describe_known_page(listed: AvailableActions, index: PageIndex, *, targets: bool) -> str:
    """Return the screen and what can be done there, in at most 250 tokens without the targets.

    `listed`: all actions of the screen, at `working`. `targets`: also what Playwright's tools take for the listed elements.
    """
    shown = _words_of(index)
    wanted = [each for each in listed.actions if each.action_type not in _SELDOM]
    present = {id(each): not each.element_id or shown.has(each) for each in wanted}
    wanted.sort(key=lambda each: (not present[id(each)], _rank(each), not each.required, not each.leads_to))
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


def _words_of(index: PageIndex) -> _Shown:
    words = {normalize_words(each) for element in index.interactive for each in _names(element) if each}
    return _Shown(frozenset(words), tuple(words))


def _names(element: IndexedElement) -> Sequence[str]:
    own = (element.name, element.label, element.placeholder, element.near.before, element.near.row)
    return own if element.visible or element.by_label else ()


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
