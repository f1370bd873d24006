"""`build_knowledge`: makes a knowledge base of the folder of an exploration. Pure: it opens no page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from kb_schema import KnowledgeBase, KnowledgeError, SourcedDocument, assemble
from kb_schema.base import Document
from kb_schema.errors import Severity
from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.explorations import AttemptedTransition, Exploration
from kb_schema.nested_models import change_texts
from kb_schema.placeholders import replace_secret_placeholders
from kb_schema.screens import LAYER, Screen, UIElement
from kb_schema.secret_placement import may_mention_secret
from kb_schema.websites import Website
from loaders.exploration_import.control_elements import element_of
from loaders.exploration_import.control_tasks import draft_control_tasks
from loaders.exploration_import.drawn_lists import find_drawn_lists
from loaders.exploration_import.explored_pages import OUTSIDE, ExploredPage, ExploredSite, read_explored_pages
from loaders.exploration_import.explored_screens import ExploredScreen, build_screens
from loaders.exploration_import.form_tasks import draft_tasks
from loaders.exploration_import.observed_overlays import overlays_of
from loaders.exploration_import.observed_transitions import ARRIVED, ObservedTransitions, PlacedControl
from loaders.exploration_import.recovery_edges import recoveries_of
from loaders.exploration_import.row_controls import RowControls
from loaders.exploration_import.screen_addresses import ScreenAddresses
from loaders.exploration_import.screen_controls import ControlKey, ScreenControl, controls_of
from loaders.exploration_import.screen_groups import GroupsWithMembers, groups_of, memberships_of
from loaders.exploration_import.shared_layouts import SharedLayout, layouts_of
from loaders.exploration_import.sign_in_conditions import authenticated_when
from loaders.exploration_import.task_drafts import SIGN_IN
from loaders.exploration_import.tool_actions import draft_tool_actions
from loaders.screen_learner.url_patterns import is_open, place


@dataclass(frozen=True, slots=True)
class ExploredKnowledge:
    """The result of importing an exploration."""

    knowledge: KnowledgeBase
    screens: Mapping[str, tuple[str, ...]]
    """The pages of each screen, by id."""
    warnings: tuple[str, ...] = ()
    elements: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Page and offer -> the screen and the element that they became."""


def build_knowledge(
    folder: ExplorationFolder, *, signed_out: ExplorationFolder | None = None, name: str | None = None
) -> ExploredKnowledge:
    """Return the knowledge base of an exploration.

    `name`: the name of the website. `signed_out`: an exploration without being signed in, if the other one
    was signed in. Raises `KnowledgeError` for an unreadable folder, or one without pages.
    """
    seen = ExploredSite(folder, signed_out)
    looks, remarks = read_explored_pages(seen)
    screens, more = build_screens(looks)
    return _KnowledgeBuilder(seen.exploration, looks, tuple(seen.passages()), RowControls(seen)).chart(
        screens, [*remarks, *more], name
    )


class _KnowledgeBuilder:
    """The state of an import."""

    def __init__(
        self,
        exploration: Exploration,
        looks: Sequence[ExploredPage],
        passages: Sequence[AttemptedTransition],
        rows: RowControls,
    ) -> None:
        self._exploration, self._looks, self._passages, self._rows = exploration, looks, passages, rows
        self._leads: Mapping[tuple[str, str], str] = {}

    def chart(
        self, screens: Sequence[ExploredScreen], remarks: list[str], name: str | None
    ) -> ExploredKnowledge:
        """Assemble the knowledge; screens that would break a rule are left out, one after another, and
        reported.
        """
        kept = list(screens)
        while True:
            documents, placed = self._documents(kept, name)
            try:
                knowledge, warnings = assemble(SourcedDocument(each) for each in documents)
            except KnowledgeError as exc:
                wrong = _find_invalid_screens(exc, kept)
                remarks += [f"{screen.name} is left out: {reason}" for screen, reason in wrong.items()]
                kept = [screen for screen in kept if screen not in wrong]
                continue
            remarks += [f"{each.document}: {each.message}" for each in warnings]
            elements = {
                (look.page_id, offer.offer_id): (each.screen.screen_id, each.element.element_id)
                for each in placed
                for look, offer in each.control.seen
            }
            pages = {each.screen_id: each.page_ids for each in kept}
            return ExploredKnowledge(knowledge, pages, tuple(remarks), elements)

    def _documents(
        self, screens: Sequence[ExploredScreen], name: str | None
    ) -> tuple[list[Document], list[PlacedControl]]:
        """Return the documents, and the controls with their elements."""
        addresses = ScreenAddresses(screens, self._exploration.base_url)
        self._leads = self._find_leads(screens)
        controls = {
            screen.screen_id: list(self._separate(controls_of(screen.looks, addresses, self._used())))
            for screen in screens
        }
        layouts = layouts_of(controls)
        shared, by_layout = self._shared(layouts)
        own, placed = self._own(screens, controls, layouts, shared)
        has_sign_in_conditions = authenticated_when(self._looks)
        groups: GroupsWithMembers = groups_of(screens, controls, layouts)
        moves = ObservedTransitions(
            screens, placed, addresses, has_sign_in_conditions=bool(has_sign_in_conditions)
        )
        arrivals = moves.list_arrivals(self._passages)
        openings = moves.list_openings(self._passages)
        lists = find_drawn_lists(placed, arrivals, openings, self._rows.words_beside)
        tasks = draft_tasks(
            placed,
            addresses,
            arrivals,
            lists,
            openings,
            has_sign_in_conditions=bool(has_sign_in_conditions),
            sent=self._exploration.sign_in_forms,
            base_url=self._exploration.base_url,
        )
        tasks += draft_control_tasks(
            placed, arrivals, tasks, lists, openings, self._rows.words_beside, self._find_idle()
        )
        login = SIGN_IN if any(task.task_id == SIGN_IN for task in tasks) else None
        actions, calls = draft_tool_actions(screens, {task.task_id for task in tasks}, login)
        website = self._website(name, by_layout, has_sign_in_conditions, screens)
        if login is not None:
            website = website.model_copy(update={"login_task_id": login})
        documents: list[Document] = [
            website,
            *(_screen(each, own[each.screen_id], layouts) for each in screens),
            *(group for group, _ in groups.values()),
            *memberships_of(groups),
            *moves.of(self._passages),
            *recoveries_of(groups, screens, self._passages),
            *tasks,
            *actions,
            *calls,
        ]
        return [_without_placeholders(each) for each in documents], placed

    def _separate(self, controls: Sequence[ScreenControl]) -> Iterator[ScreenControl]:
        """Yield the controls; of those in rows that no text tells apart, each: one element never stands for two."""
        for control in controls:
            if control.repeated:
                for part in self._rows.split(control):
                    yield from part.separate() if self._leads_apart(part) else (part,)
                continue
            needs_row = control.offer.action_type != "click" or control.named_by_data
            rows = self._rows.of(control) if control.in_rows else None
            told = rows is not None and (
                not needs_row or (rows.row is not None and not self._leads_apart(control))
            )
            if control.in_rows and not told:
                yield from control.separate()
            else:
                yield control

    def _leads_apart(self, control: ScreenControl) -> bool:
        """Return whether a control of several rows led to different screens."""
        led = {self._leads.get((look.page_id, offer.offer_id)) for look, offer in control.seen}
        return len(led - {None}) > 1

    def _find_leads(self, screens: Sequence[ExploredScreen]) -> dict[tuple[str, str], str]:
        """Return where an offer of a page led: the place of one of many things, else the screen."""
        screen_of = {
            look.page_id: screen.screen_id if look.page.layer else _find_place(look) or screen.screen_id
            for screen in screens
            for look in screen.looks
        }
        return {
            (each.from_page, each.offer_id): screen_of[each.to_page]
            for each in self._passages
            if each.offer_id is not None and each.outcome in ARRIVED and each.to_page in screen_of
        }

    def _find_idle(self) -> set[tuple[str, str]]:
        """Return the offers that would change something, and at whose press nothing happened, by page."""
        changing = {
            (look.page_id, offer.offer_id)
            for look in self._looks
            for offer in look.page.offers
            if offer.danger is not None
        }
        stayed = (
            (each.from_page, each.offer_id)
            for each in self._passages
            if each.offer_id is not None and each.outcome == "stayed"
        )
        return changing.intersection(stayed)

    def _used(self) -> frozenset[tuple[str, str]]:
        """Return the offers that led somewhere, by page."""
        return frozenset(
            (each.from_page, each.offer_id)
            for each in self._passages
            if each.offer_id is not None and each.outcome in ARRIVED
        )

    def _shared(
        self, layouts: Sequence[SharedLayout]
    ) -> tuple[dict[tuple[str, ControlKey], UIElement], dict[str, tuple[UIElement, ...]]]:
        """Return the elements of the layouts: by layout and key, and by layout."""
        found: dict[tuple[str, ControlKey], UIElement] = {}
        for layout in layouts:
            for control in layout.controls:
                element = element_of(control, {each.element_id for each in found.values()})
                if element is not None:
                    found[layout.layout_id, control.key] = element
        by_layout = {
            layout.layout_id: tuple(e for (owner, _), e in found.items() if owner == layout.layout_id)
            for layout in layouts
        }
        return found, by_layout

    def _own(
        self,
        screens: Sequence[ExploredScreen],
        controls: Mapping[str, Sequence[ScreenControl]],
        layouts: Sequence[SharedLayout],
        shared: Mapping[tuple[str, ControlKey], UIElement],
    ) -> tuple[dict[str, list[UIElement]], list[PlacedControl]]:
        """Return each screen's own elements, and all controls with their elements."""
        taken = {element.element_id for element in shared.values()}
        own: dict[str, list[UIElement]] = {}
        placed: list[PlacedControl] = []
        for screen in screens:
            mine = [layout for layout in layouts if screen.screen_id in layout.screens]
            elements: list[UIElement] = []
            for control in controls[screen.screen_id]:
                element = next(
                    (e for layout in mine if (e := shared.get((layout.layout_id, control.key)))), None
                )
                if element is None:
                    rows = self._rows.of(control) if control.in_rows else None
                    element = element_of(control, taken | {each.element_id for each in elements}, rows)
                    if element is not None:
                        elements.append(element)
                if element is not None:
                    placed.append(PlacedControl(screen, control, element))
            own[screen.screen_id] = elements
        return own, placed

    def _website(
        self,
        name: str | None,
        layouts: Mapping[str, tuple[UIElement, ...]],
        has_sign_in_conditions: Sequence[Any],
        screens: Sequence[ExploredScreen],
    ) -> Website:
        asked = self._exploration
        screen_of = {page: screen.screen_id for screen in screens for page in screen.page_ids}
        starts = [
            each.url
            for each in screens
            if each.url is not None
            and any(e.page.start and not e.page_id.startswith(OUTSIDE) for e in each.looks)
        ]
        actions = [{"action_type": "navigate", "url": url} for url in (starts or asked.starts)[:1]]
        return Website.model_validate(
            {
                "type": "website",
                "website_id": asked.website_id,
                "name": name or asked.website_id,
                "base_url": asked.base_url,
                "allowed_origins": tuple(each for each in asked.origins if each != asked.base_url),
                "description": f"Mapped from {urlsplit(asked.base_url).netloc}",
                "authenticated_when": tuple(has_sign_in_conditions),
                "default_recovery": {"actions": actions} if actions else None,
                "layouts": dict(layouts),
                "overlays": tuple(overlays_of(self._looks, self._passages, screen_of)),
                "metadata": {
                    "mapped_at": asked.started_at.isoformat(timespec="seconds"),
                    "pages": len(self._looks),
                },
            }
        )


def _screen(
    charted: ExploredScreen, elements: Sequence[UIElement], layouts: Sequence[SharedLayout]
) -> Screen:
    return Screen(
        type="screen",
        screen_id=charted.screen_id,
        name=charted.name,
        url_patterns=charted.patterns,
        url=charted.url,
        state_signature=charted.signature,
        layouts=tuple(each.layout_id for each in layouts if charted.screen_id in each.screens),
        ui_elements=tuple(elements),
        metadata={
            "learned": charted.evidence,
            "pages": len(charted.looks),
            "seen_as": charted.looks[0].page_id,
            **({LAYER: layer} if (layer := charted.layer) else {}),
        },
    )


def _find_place(look: ExploredPage) -> str:
    """Return the address of a page with its ids left open; empty if it has none."""
    parts = place(look.observed.path)
    return "/".join(parts) if is_open(parts) else ""


def _without_placeholders(document: Document) -> Document:
    """Return a document in which texts of the website name no secret: `{secret:NAME}` is data there, though it was put together from parts."""
    return change_texts(document, replace_secret_placeholders) if may_mention_secret(document) else document


def _find_invalid_screens(
    error: KnowledgeError, screens: Sequence[ExploredScreen]
) -> dict[ExploredScreen, str]:
    """Return which screens break a rule, and how. Raises the error if none of them does."""
    wrong = {
        screen: problem.message
        for problem in error.problems
        if problem.severity is Severity.ERROR
        for screen in screens
        if problem.document == f"screen:{screen.screen_id}"
    }
    if not wrong:
        raise error
    return wrong
