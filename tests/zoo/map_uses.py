"""Measures what a map can be used for: fields that it knows, and screens that it leads to from a fresh browser.

An arrival counts if the application's own route is that of the screen's pages (`map_screens.yaml`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.async_api import Browser

from agent.execution.navigation_tasks import reach_screen
from agent.execution.task_runner import TaskRunner
from kb_schema import KnowledgeBase
from kb_schema.conditions import ContextEquals
from kb_schema.screens import UIElement
from kb_schema.selectors import TemplateStrategy
from kb_store import load_knowledge
from kb_store.store_factory import open_stores
from periplus.session_setup import open_fresh_context, open_session
from tests.support.mapping_rates import MappedSite
from web_pages.element_tree import Element
from web_pages.field_words import is_field, mask_sent_name
from web_pages.stored_pages import StoredPage
from web_pages.visibility import visible

if TYPE_CHECKING:
    from tests.zoo.map_measurement import MapTruth

MOST_GOALS = 10
LARGEST_FORMS = 5
_BUTTONS = frozenset({"submit", "button", "reset", "image"})
Arrival = Literal["arrived", "wrong", "failed"]


@dataclass(frozen=True, slots=True)
class GoalFigures:
    """One screen that was to be reached, signed out."""

    screen: str
    arrival: Arrival
    """`wrong`: it was said to be reached, and another one is shown."""
    seconds: float
    told: str = ""


@dataclass(slots=True)
class FieldFigures:
    """The fields of the largest forms."""

    fields: int = 0
    known: int = 0
    """Fields with an element of their own, or of their column in a list of rows."""
    unknown: list[str] = field(default_factory=list)
    """Screen and name of each other one."""


async def measure_goals(
    browser: Browser,
    made: MappedSite,
    truth: MapTruth,
    base_url: str,
    account: Mapping[str, str],
    folder: Path,
) -> list[GoalFigures]:
    """Go to ten screens, each in a fresh browser that is signed out."""
    found = []
    wanted = _list_goals(made, truth)
    values = {**_give_account(made.knowledge, account), **dict(_list_rows(made.knowledge))}
    async with open_stores(folder) as stores:
        await load_knowledge(stores.documents, stores.graph, made.knowledge)
        website_id = made.knowledge.website.website_id
        for screen_id, address in wanted.items():
            began = time.monotonic()
            async with (
                open_fresh_context(browser) as context,
                open_session(stores, context, website_id, base_url=base_url, values=values) as session,
            ):
                result = await reach_screen(TaskRunner(session), screen_id)
                there = truth.screen_of(session.page.url) == address
            arrival: Arrival = "failed" if not result.succeeded else "arrived" if there else "wrong"
            seconds = round(time.monotonic() - began, 1)
            found.append(GoalFigures(screen_id, arrival, seconds, result.error or ""))
    return found


def _list_goals(made: MappedSite, truth: MapTruth) -> dict[str, str]:
    """Return up to ten screens with their addresses: those of most pages, each address once."""
    pages = {page.page_id: page for page in made.seen.pages()}
    found: dict[str, str] = {}
    sizes = Counter(made.labels.values())
    for screen_id, _ in sorted(sizes.items(), key=lambda each: (-each[1], each[0])):
        own = [pages[page] for page, screen in made.labels.items() if screen == screen_id and page in pages]
        if not any((page.status or 200) < 400 and page.signed_in for page in own):
            continue
        address = Counter(truth.screen_of(page.url) for page in own).most_common(1)[0][0]
        if address in truth.screens and address not in found.values():
            found[screen_id] = address
    return dict(list(found.items())[:MOST_GOALS])


def _give_account(knowledge: KnowledgeBase, account: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the inputs of the task that signs in: the last one is the secret."""
    login = knowledge.tasks.get(knowledge.website.login_task_id or "")
    if login is None or not account:
        return {}
    *told, secret = account.values()
    inputs = [each for each in login.io_spec.inputs if each.required]
    open_ones = [each.name for each in inputs if not each.secret]
    return {
        **dict(zip(open_ones, told, strict=False)),
        **{each.name: secret for each in inputs if each.secret},
    }


def _list_rows(knowledge: KnowledgeBase) -> Iterator[tuple[str, str]]:
    """Yield a row for each transition that asks for one."""
    for edge in knowledge.transitions.values():
        asked = [each.name for each in edge.conditions.required if isinstance(each, ContextEquals)]
        elements = knowledge.elements(edge.from_screen)
        element = elements.get(str(edge.triggered_by.target))
        row = "" if element is None else str(_example(element).get("row", ""))
        yield from ((name, row) for name in asked if row)


def _example(element: UIElement) -> Mapping[str, object]:
    found = element.metadata.get("example")
    return found if isinstance(found, dict) else {}


def measure_fields(made: MappedSite) -> FieldFigures:
    """Compare the visible fields of the five largest forms with the elements of their screens."""
    measured = sorted(
        (_measure_screen(made, screen_id) for screen_id in dict.fromkeys(made.labels.values())),
        key=lambda each: -each.fields,
    )
    total = FieldFigures()
    for each in measured[:LARGEST_FORMS]:
        total.fields, total.known = total.fields + each.fields, total.known + each.known
        total.unknown += each.unknown
    return total


def _measure_screen(made: MappedSite, screen_id: str) -> FieldFigures:
    seen_as = str(made.knowledge.screens[screen_id].metadata.get("seen_as"))
    page = StoredPage(made.seen.snapshot(seen_as))
    # below a dialog is the page on which it lies: its fields are that screen's
    behind = next((each.behind for each in made.seen.pages() if each.page_id == seen_as), None)
    screens = dict.fromkeys((screen_id, made.labels.get(behind or "", screen_id)))
    elements = [each for screen in screens for each in made.knowledge.elements(screen).values()]
    known = {id(found) for each in elements for found in _resolve(page, each)}
    fields = [each for root in page.roots for each in root.elements if _counts(each)]
    unknown = [each for each in fields if id(each) not in known]
    return FieldFigures(
        len(fields),
        len(fields) - len(unknown),
        [f"{screen_id}: {each.get('name') or each.tag}" for each in unknown],
    )


def _counts(element: Element) -> bool:
    return is_field(element) and element.input_type not in _BUTTONS and visible(element)


def _resolve(page: StoredPage, element: UIElement) -> Sequence[Element]:
    """Return what an element leads to on a page; for one of any row, the same field of each row."""
    rows = [each for each in element.selector.strategies if isinstance(each, TemplateStrategy)]
    if not rows:
        found = page.resolve(element.selector).element
        return [] if found is None else [found]
    row = str(_example(element).get("row", ""))
    given = page.resolve_template(rows[0].template, dict.fromkeys(rows[0].parameters, row))
    return [
        each
        for one in given
        for root in page.roots
        for each in root.elements
        if each.tag == one.tag and each.get("type") == one.get("type")
        and mask_sent_name(each.get("name")) == mask_sent_name(one.get("name")) and each.closest("tr", "li") is not None
        and one.closest("tr", "li") is not None
        and each.closest("table", "ul", "ol") is one.closest("table", "ul", "ol")
    ]  # fmt: skip
