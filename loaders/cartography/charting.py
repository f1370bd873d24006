"""`chart`: a whole knowledge base from the folder of an exploration. Pure: nothing is opened, nothing asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from kb_schema import KnowledgeBase, KnowledgeError, Sourced, assemble
from kb_schema.base import Document
from kb_schema.errors import Severity
from kb_schema.mapping import Exploration, Passage
from kb_schema.mapping_folder import ExplorationFolder
from kb_schema.screens import Screen, UIElement
from kb_schema.websites import Website
from loaders.cartography.addresses import Addresses
from loaders.cartography.controls import Control, Key, controls_of
from loaders.cartography.elements import element_of
from loaders.cartography.groups import Groups, groups_of, memberships_of
from loaders.cartography.layouts import Layout, layouts_of
from loaders.cartography.looks import OUTSIDE, Look, Seen, looks_of
from loaders.cartography.moves import Moves, Placed
from loaders.cartography.overlays import overlays_of
from loaders.cartography.rows import Rows
from loaders.cartography.screens import Charted, charted
from loaders.cartography.signed_in import authenticated_when
from loaders.cartography.ways_out import recoveries_of


@dataclass(frozen=True, slots=True)
class Chart:
    """What an exploration came to."""

    knowledge: KnowledgeBase
    screens: Mapping[str, tuple[str, ...]]
    """The pages of each screen, by id."""
    warnings: tuple[str, ...] = ()


def chart(
    folder: ExplorationFolder, *, signed_out: ExplorationFolder | None = None, name: str | None = None
) -> Chart:
    """The knowledge base of what was explored. `name`: what the website is called; `signed_out`: what was seen
    of it without being signed in, where the rest was seen signed in.

    Raises `KnowledgeError` for a folder that cannot be read, or in which nothing was seen.
    """
    seen = Seen(folder, signed_out)
    looks, told = looks_of(seen)
    screens, more = charted(looks)
    return _Charting(seen.exploration, looks, tuple(seen.passages()), Rows(seen)).chart(
        screens, [*told, *more], name
    )


class _Charting:
    """One exploration on its way to a knowledge base."""

    def __init__(
        self, exploration: Exploration, looks: Sequence[Look], passages: Sequence[Passage], rows: Rows
    ) -> None:
        self._exploration, self._looks, self._passages, self._rows = exploration, looks, passages, rows

    def chart(self, screens: Sequence[Charted], told: list[str], name: str | None) -> Chart:
        """Screens that would break a rule of knowledge bases are left out, one after another, and told."""
        kept = list(screens)
        while True:
            documents = self._documents(kept, name)
            try:
                knowledge, warnings = assemble(Sourced(each) for each in documents)
            except KnowledgeError as exc:
                wrong = _blamed(exc, kept)
                told += [f"{screen.name} is left out: {reason}" for screen, reason in wrong.items()]
                kept = [screen for screen in kept if screen not in wrong]
                continue
            told += [f"{each.document}: {each.message}" for each in warnings]
            return Chart(knowledge, {each.screen_id: each.page_ids for each in kept}, tuple(told))

    def _documents(self, screens: Sequence[Charted], name: str | None) -> list[Document]:
        addresses = Addresses(screens, self._exploration.base_url)
        controls = {
            screen.screen_id: controls_of(screen.looks, addresses, self._used()) for screen in screens
        }
        layouts = layouts_of(controls)
        shared, by_layout = self._shared(layouts)
        own, placed = self._own(screens, controls, layouts, shared)
        told_apart = authenticated_when(self._looks)
        groups: Groups = groups_of(screens, controls, layouts)
        website = self._website(name, by_layout, told_apart, screens)
        moves = Moves(screens, placed, addresses, told_apart=bool(told_apart))
        return [
            website,
            *(_screen(each, own[each.screen_id], layouts) for each in screens),
            *(group for group, _ in groups.values()),
            *memberships_of(groups),
            *moves.of(self._passages),
            *recoveries_of(groups, screens, self._passages),
        ]

    def _used(self) -> frozenset[tuple[str, str]]:
        """Offers that led somewhere, by page."""
        return frozenset(
            (each.from_page, each.offer_id)
            for each in self._passages
            if each.offer_id is not None and each.outcome in ("arrived", "popup")
        )

    def _shared(
        self, layouts: Sequence[Layout]
    ) -> tuple[dict[tuple[str, Key], UIElement], dict[str, tuple[UIElement, ...]]]:
        """The elements of the layouts: by layout and key, and by layout."""
        found: dict[tuple[str, Key], UIElement] = {}
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
        screens: Sequence[Charted],
        controls: Mapping[str, Sequence[Control]],
        layouts: Sequence[Layout],
        shared: Mapping[tuple[str, Key], UIElement],
    ) -> tuple[dict[str, list[UIElement]], list[Placed]]:
        """The elements that are each screen's own, and all controls with what they became."""
        taken = {element.element_id for element in shared.values()}
        own: dict[str, list[UIElement]] = {}
        placed: list[Placed] = []
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
                    placed.append(Placed(screen, control, element))
            own[screen.screen_id] = elements
        return own, placed

    def _website(
        self,
        name: str | None,
        layouts: Mapping[str, tuple[UIElement, ...]],
        told_apart: Sequence[Any],
        screens: Sequence[Charted],
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
                "authenticated_when": tuple(told_apart),
                "default_recovery": {"actions": actions} if actions else None,
                "layouts": dict(layouts),
                "overlays": tuple(overlays_of(self._looks, self._passages, screen_of)),
                "metadata": {
                    "mapped_at": asked.started_at.isoformat(timespec="seconds"),
                    "pages": len(self._looks),
                },
            }
        )


def _screen(charted: Charted, elements: Sequence[UIElement], layouts: Sequence[Layout]) -> Screen:
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
        },
    )


def _blamed(error: KnowledgeError, screens: Sequence[Charted]) -> dict[Charted, str]:
    """Which screens break a rule, and how. Raises the error where none of them does."""
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
