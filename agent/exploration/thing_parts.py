"""Knows the parts of things by their addresses: `/projects/quay/wiki` is to one project what `/projects/yard/wiki` is to another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from agent.exploration.pages.page_addresses import build_place_path
from agent.exploration.pages.page_digests import PageDigests
from kb_schema.explorations import ExplorationPage

LEAST_PARTS = 3
"""So many pages below two names have equal ends of their paths and equal structure, if the names are those of things of one kind."""
_ABOVE = 3
"""The number of the first part of an address that may name a thing, behind the origin."""


class ThingParts:
    """The pages that were kept, by the thing that their path names."""

    def __init__(self) -> None:
        self._kept: defaultdict[str, dict[str, set[tuple[str, str]]]] = defaultdict(dict)
        """By the path above a thing, and its name: the ends of the paths of the pages below it, with their structure."""

    def note_page(self, page: ExplorationPage) -> None:
        """Note a kept page."""
        bones = PageDigests.of(page.state).bones
        for above, name, end in _split(page.url):
            self._kept[above].setdefault(name, set()).add((end, bones))

    def knows(self, url: str) -> bool:
        """Whether the same part of another thing of its kind is kept."""
        for above, name, end in _split(url):
            own = self._kept[above].get(name, set())
            for other, parts in self._kept[above].items():
                if (
                    other != name
                    and len(own & parts) >= LEAST_PARTS
                    and any(end == each for each, _ in parts)
                ):
                    return True
        return False


def _split(url: str) -> Iterator[tuple[str, str, str]]:
    """Yield what is above each part of a path, the part, and what is below it; nothing for the last part."""
    parts = build_place_path(url).split("/")
    for at in range(_ABOVE, len(parts) - 1):
        yield "/".join(parts[:at]), parts[at], "/".join(parts[at + 1 :])
