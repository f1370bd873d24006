"""From a page to its candidate screens, without judging every screen.

The URL comes first. If it leaves only a few screens, all of them are judged. If it leaves many (screens without URL
patterns, or one URL for the whole application), only those are judged whose keys the page shows: each screen is filed
under its keys, all literal texts are searched in one pass, and selectors become look-ups of ids, classes, attributes
and tags.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from mcp_server.screen_index.compiled_signatures import CompiledSignature
from mcp_server.screen_index.index_keys import IndexKey, IndexKeyKind, SnapshotFormat
from mcp_server.screen_index.key_selection import ScreenKeys, select_keys
from mcp_server.screen_index.literal_matcher import LiteralMatcher
from mcp_server.screen_index.page_keys import PageKeys
from mcp_server.screen_index.url_index import UrlIndex

FEW = 16
"""So many screens that a URL leaves possible are all judged; of more, those that come near."""

_TEXTS = (
    IndexKeyKind.TEXT,
    IndexKeyKind.FOLDED,
    IndexKeyKind.NAME,
    IndexKeyKind.LABEL,
    IndexKeyKind.PLACEHOLDER,
)
"""Kinds whose needles are closed up where the page's texts are."""


@dataclass(frozen=True, slots=True)
class PossibleScreens:
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


class SelectedKeys(Protocol):
    """Keeps the index keys of the screens of one content, so that another process need not select them again."""

    def find(self, medium: SnapshotFormat) -> ScreenKeys | None:
        """Return the keys for a medium; None if they are not kept."""
        ...

    def keep(self, medium: SnapshotFormat, keys: ScreenKeys) -> None:
        """Keep them. Raises nothing."""
        ...


class ScreenIndex:
    """All screens of one view; built when it is first asked, and for each medium when the first page of it comes."""

    def __init__(
        self,
        signatures: Mapping[str, CompiledSignature],
        patterns: Mapping[str, Sequence[str]],
        authored_base: str,
        kept: SelectedKeys | None = None,
    ) -> None:
        """`patterns`: screen id -> its URL patterns, of every screen with a signature."""
        self._signatures = signatures
        self.patterns = patterns
        self._authored_base = authored_base
        self.kept = kept
        """Where index keys are kept; None: they are selected again by each process."""
        self._anywhere = frozenset(screen_id for screen_id, each in patterns.items() if not each)
        self._files: dict[SnapshotFormat, _ScreensByKey] = {}

    @cached_property
    def _urls(self) -> UrlIndex:
        return UrlIndex(self.patterns, self._authored_base)

    def possible(self, url: str, base: str) -> PossibleScreens:
        """What the URL leaves possible under the base URL in force. One that is not known leaves all."""
        if not url:
            return PossibleScreens((), frozenset(self._signatures))
        return PossibleScreens(self._urls.matching(url, base), self._anywhere)

    def considered(self, possible: PossibleScreens, seen: PageKeys, base: str) -> list[str]:
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

    def filed(self, medium: SnapshotFormat) -> _ScreensByKey:
        """The screens as they are looked up on pages of a medium."""
        if medium not in self._files:
            self._files[medium] = _ScreensByKey(self._keys(medium), medium, self._authored_base)
        return self._files[medium]

    def _keys(self, medium: SnapshotFormat) -> ScreenKeys:
        found = None if self.kept is None else self.kept.find(medium)
        if found is None:
            found = select_keys(self._signatures.values(), medium)
            if self.kept is not None:
                self.kept.keep(medium, found)
        return found


class _ScreensByKey:
    """Screens by their index keys, for one snapshot format."""

    def __init__(self, keys: ScreenKeys, medium: SnapshotFormat, authored_base: str) -> None:
        close = medium in (SnapshotFormat.OUTLINE, SnapshotFormat.PART)
        by_anchor: dict[IndexKey, list[str]] = defaultdict(list)
        unguarded = []
        for screen_id, guard in keys.items():
            if guard is None:
                unguarded.append(screen_id)
            else:
                for anchor in guard:
                    by_anchor[_without_spaces(anchor) if close else anchor].append(screen_id)
        self.open = frozenset(unguarded)
        """Screens without a key set: judged on every page that their URL patterns leave possible."""
        self._screens = {anchor: tuple(screens) for anchor, screens in by_anchor.items()}
        self._urls = UrlIndex(
            {anchor.needle: [anchor.needle] for anchor in by_anchor if anchor.kind is IndexKeyKind.URL},
            authored_base,
        )
        self._tokens = frozenset(anchor.needle for anchor in by_anchor if anchor.kind is IndexKeyKind.TOKEN)
        needles: dict[tuple[IndexKeyKind, str], list[str]] = defaultdict(list)
        for anchor in by_anchor:
            if anchor.kind not in (IndexKeyKind.TOKEN, IndexKeyKind.URL):
                needles[anchor.kind, anchor.where].append(anchor.needle)
        self._literals = {place: LiteralMatcher(each) for place, each in needles.items()}

    def look_up(self, seen: PageKeys, base: str) -> set[str]:
        """The screens of whose key set the page shows an index key."""
        return {screen_id for anchor in self._seen(seen, base) for screen_id in self._screens[anchor]}

    def _seen(self, seen: PageKeys, base: str) -> Iterator[IndexKey]:
        for (kind, where), literals in self._literals.items():
            yield from (IndexKey(kind, needle, where) for needle in literals.within(seen.read(kind, where)))
        if self._tokens:
            yield from (IndexKey(IndexKeyKind.TOKEN, token) for token in self._tokens & seen.tokens)
        for patterns in self._urls.matching(seen.page.snapshot.url, base):
            yield from (IndexKey(IndexKeyKind.URL, pattern) for pattern in patterns)


def _without_spaces(anchor: IndexKey) -> IndexKey:
    if anchor.kind not in _TEXTS:
        return anchor
    return anchor._replace(needle=anchor.needle.replace(" ", ""))
