"""From a page to the screens that it may be, without judging every screen there is.

The URL comes first. Where it leaves only a few screens possible, all of them are judged and named.
Where it leaves many (screens without URL patterns, or one URL for a whole application), those are
judged whose guard the page shows: each screen is filed under the anchors of its guard, all literal
texts are looked for in one go, and selectors come down to a look-up of ids, classes, attributes
and tags.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kb_schema.screens import Screen
from mcp_server.anchors import Anchor, Kind, Medium
from mcp_server.guards import guards
from mcp_server.literals import Literals
from mcp_server.sightings import Sightings
from mcp_server.signatures import CompiledSignature
from mcp_server.url_index import UrlIndex

FEW = 16
"""So many screens that a URL leaves possible are all judged; of more, those that come near."""

_TEXTS = (Kind.TEXT, Kind.FOLDED, Kind.NAME, Kind.LABEL, Kind.PLACEHOLDER)
"""Kinds whose needles are closed up where the page's texts are."""


@dataclass(frozen=True, slots=True)
class Possible:
    """What a URL leaves possible: screens with a pattern that matches it, and those without any."""

    matching: tuple[frozenset[str], ...]
    """By pattern. Without doubles unless several patterns of a screen match."""
    anywhere: frozenset[str]

    @property
    def few_matching(self) -> bool:
        """Whether the URL tells enough."""
        if any(len(each) > FEW for each in self.matching):
            return False
        return len(frozenset().union(*self.matching)) <= FEW

    @property
    def few_anywhere(self) -> bool:
        """Whether there are only a few screens without URL patterns."""
        return len(self.anywhere) <= FEW

    def __contains__(self, screen_id: str) -> bool:
        return screen_id in self.anywhere or any(screen_id in each for each in self.matching)

    def __iter__(self) -> Iterator[str]:
        return iter(self.anywhere.union(*self.matching))


class ScreenIndex:
    """All screens of one view; built once, and for each medium when the first page of it comes."""

    def __init__(
        self, signatures: Mapping[str, CompiledSignature], screens: Mapping[str, Screen], authored_base: str
    ) -> None:
        self._signatures = signatures
        self._authored_base = authored_base
        patterns = {screen_id: screens[screen_id].url_patterns for screen_id in signatures}
        self._urls = UrlIndex(patterns, authored_base)
        self._anywhere = frozenset(screen_id for screen_id, each in patterns.items() if not each)
        self._files: dict[Medium, _File] = {}

    def possible(self, url: str, base: str) -> Possible:
        """What the URL leaves possible under the base URL in force. One that is not known leaves all."""
        if not url:
            return Possible((), frozenset(self._signatures))
        return Possible(self._urls.matching(url, base), self._anywhere)

    def considered(self, possible: Possible, seen: Sightings, base: str) -> list[str]:
        """Those of the possible screens that must be judged, in no order."""
        found: set[str] = set()
        if possible.few_matching:
            found.update(*possible.matching)
        if possible.few_anywhere:
            found |= possible.anywhere
        if not (possible.few_matching and possible.few_anywhere):
            found.update(
                screen_id
                for screen_id in self.filed(seen.medium).look_up(seen, base)
                if screen_id in possible
            )
            found.update(
                *(each & self.filed(seen.medium).open for each in (*possible.matching, possible.anywhere))
            )
        return [*found]

    def filed(self, medium: Medium) -> _File:
        """The screens as they are looked up on pages of a medium."""
        if medium not in self._files:
            self._files[medium] = _File(self._signatures.values(), medium, self._authored_base)
        return self._files[medium]


class _File:
    """Screens by the anchors of their guards, for one medium."""

    def __init__(self, signatures: Iterable[CompiledSignature], medium: Medium, authored_base: str) -> None:
        close = medium in (Medium.OUTLINE, Medium.PART)
        by_anchor: dict[Anchor, list[str]] = defaultdict(list)
        unguarded = []
        for screen_id, guard in guards(signatures, medium).items():
            if guard is None:
                unguarded.append(screen_id)
            else:
                for anchor in guard:
                    by_anchor[_closed_up(anchor) if close else anchor].append(screen_id)
        self.open = frozenset(unguarded)
        """Screens without a guard: judged on every page that their URL patterns leave possible."""
        self._screens = {anchor: tuple(screens) for anchor, screens in by_anchor.items()}
        self._urls = UrlIndex(
            {anchor.needle: [anchor.needle] for anchor in by_anchor if anchor.kind is Kind.URL}, authored_base
        )
        self._tokens = frozenset(anchor.needle for anchor in by_anchor if anchor.kind is Kind.TOKEN)
        needles: dict[tuple[Kind, str], list[str]] = defaultdict(list)
        for anchor in by_anchor:
            if anchor.kind not in (Kind.TOKEN, Kind.URL):
                needles[anchor.kind, anchor.where].append(anchor.needle)
        self._literals = {place: Literals(each) for place, each in needles.items()}

    def look_up(self, seen: Sightings, base: str) -> set[str]:
        """The screens of whose guard the page shows an anchor."""
        return {screen_id for anchor in self._seen(seen, base) for screen_id in self._screens[anchor]}

    def _seen(self, seen: Sightings, base: str) -> Iterator[Anchor]:
        for (kind, where), literals in self._literals.items():
            yield from (Anchor(kind, needle, where) for needle in literals.within(seen.read(kind, where)))
        if self._tokens:
            yield from (Anchor(Kind.TOKEN, token) for token in self._tokens & seen.tokens)
        for patterns in self._urls.matching(seen.page.snapshot.url, base):
            yield from (Anchor(Kind.URL, pattern) for pattern in patterns)


def _closed_up(anchor: Anchor) -> Anchor:
    if anchor.kind not in _TEXTS:
        return anchor
    return anchor._replace(needle=anchor.needle.replace(" ", ""))
