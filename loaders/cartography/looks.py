"""The pages of an exploration as the cartographer takes them: what was told of each, and what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kb_schema.mapping import Passage, SeenPage
from kb_schema.mapping_folder import ExplorationFolder
from kb_schema.pages.limits import PageRefused
from kb_schema.pages.sketch import sketch
from kb_schema.pages.stored import StoredPage
from kb_schema.snapshots import PageSnapshot
from kb_schema.urls import relative_path
from loaders.signatures.seen import ObservedPage

OUTSIDE = "out-"
"""What the ids of pages begin with that were seen signed out, beside those that were seen signed in."""


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One page that was seen."""

    page: SeenPage
    observed: ObservedPage
    """As the learner takes it. Its path is below the base URL."""

    @property
    def page_id(self) -> str:
        """Of the page."""
        return self.page.page_id


class Seen:
    """An exploration, and what was seen of the same site without being signed in."""

    def __init__(self, main: ExplorationFolder, signed_out: ExplorationFolder | None = None) -> None:
        self._parts = {"": main} | ({OUTSIDE: signed_out} if signed_out is not None else {})
        self.exploration = main.exploration

    def pages(self) -> Iterator[SeenPage]:
        """In the order in which they were seen."""
        for prefix, folder in self._parts.items():
            for page in folder.pages():
                yield page.model_copy(update={"page_id": prefix + page.page_id}) if prefix else page

    def passages(self) -> Iterator[Passage]:
        """What was tried, in that order."""
        for prefix, folder in self._parts.items():
            for each in folder.passages():
                to_page = None if each.to_page is None else prefix + each.to_page
                yield each.model_copy(update={"from_page": prefix + each.from_page, "to_page": to_page})

    def snapshot(self, page_id: str) -> PageSnapshot:
        """A page as it was seen."""
        if OUTSIDE in self._parts and page_id.startswith(OUTSIDE):
            return self._parts[OUTSIDE].snapshot(page_id.removeprefix(OUTSIDE))
        return self._parts[""].snapshot(page_id)


def looks_of(seen: Seen) -> tuple[list[Look], list[str]]:
    """The pages in the order in which they were seen, and what to know of those that cannot be read.

    A page is a run of its own: what is learned of the others can be tried on it. Raises `KnowledgeError`.
    """
    base = seen.exploration.base_url
    looks, told = [], []
    for page in seen.pages():
        try:
            drawn = sketch(StoredPage(seen.snapshot(page.page_id)))
        except PageRefused as exc:
            told.append(f"page {page.page_id} is left out: {exc}")
            continue
        looks.append(Look(page, ObservedPage(drawn, relative_path(page.url, base), run=page.page_id)))
    return looks, told
