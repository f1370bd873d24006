"""Decides on which pages the exit actions are tried: reload, back, Escape, and opening a start page by its address."""

from __future__ import annotations

from collections import Counter

from agent.exploration.pages.page_addresses import build_place_path
from kb_schema.explorations import AttemptedTransition, ExplorationPage

ENOUGH = 3
"""On so many pages of a kind an exit action is tried if it works on all of them: on further ones it takes a load and tells nothing."""


class TriedExits:
    """The exit actions that were tried, by place, and of which kinds of pages that is enough."""

    def __init__(self) -> None:
        self.tried: set[tuple[str, str]] = set()
        """Pairs of a place's path and an exit action that was tried there, and of a kind of page and one that was tried enough."""
        self._worked: Counter[tuple[str, str]] = Counter()
        """How often an exit action worked on pages of a kind, less how often it did not."""
        self._kinds: dict[str, str] = {}
        """The kind of each page, by its id."""

    def note(self, page: ExplorationPage, passage: AttemptedTransition, end: ExplorationPage | None) -> None:
        """Note an exit action that was tried on a page, and where it ended."""
        self.tried.add((build_place_path(page.url), passage.way))
        kind = (self._kind_of(page), passage.way)
        self._worked[kind] += _judge(page, passage, end)
        if self._worked[kind] >= ENOUGH:
            self.tried.add(kind)

    def settle(self, page: ExplorationPage) -> None:
        """Note that no address is to be opened from the place of a page."""
        self.tried.add((build_place_path(page.url), "address"))

    def wants(self, page: ExplorationPage, way: str) -> bool:
        """Return whether an exit action is still to be tried on a page: not yet at its place, nor enough on pages of its kind."""
        here = (build_place_path(page.url), way) in self.tried
        return not here and (self._kind_of(page), way) not in self.tried

    def _kind_of(self, page: ExplorationPage) -> str:
        known = self._kinds.get(page.page_id)
        if known is None:
            known = self._kinds[page.page_id] = _describe(page)
        return known


def _judge(page: ExplorationPage, passage: AttemptedTransition, end: ExplorationPage | None) -> int:
    """Return 1 if an exit action worked, -1 if it did not, 0 if an address was opened that is no start: that of a link which could
    not be clicked.
    """
    if passage.outcome not in ("arrived", "stayed") or end is None:
        return -1
    if passage.way == "address":
        return 0 if end.depth else 1
    return 1 if passage.way != "reload" or end.page_id == page.page_id else -1


def _describe(page: ExplorationPage) -> str:
    """Return the kind of a page for exit actions, with the layer on it: `form` if a reload loses what was entered, `list` if it has
    rows, else `page`.
    """
    form = any(
        each.action_type != "click" and (each.form or "").upper().startswith("POST") for each in page.offers
    )
    rows = any(each.in_row and each.href for each in page.offers)
    return f"{page.layer}:{'form' if form else 'list' if rows else 'page'}"
