"""Finds the screen of an address, from explored pages."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

from kb_schema.url_patterns import relative_path
from loaders.exploration_import.explored_screens import ExploredScreen
from loaders.screen_learner.url_patterns import is_open, place

_Key = TypeVar("_Key", bound=Hashable)
_ROUTES = ("/", "!/")


class ScreenAddresses:
    """The addresses of a site and their screens."""

    def __init__(self, screens: Iterable[ExploredScreen], base: str) -> None:
        self._base = base
        self._exact: dict[str, str | None] = {}
        self._places: dict[tuple[str, ...], str | None] = {}
        for screen in screens:
            for look in screen.looks:
                if screen.failed or (look.page.layer and not look.page.openable):
                    continue  # no link leads to what lies on its page
                _only(self._exact, _plain(look.observed.path), screen.screen_id)
                _only(self._places, place(look.observed.path), screen.screen_id)

    def screen(self, href: str) -> str | None:
        """Return the screen of an address; None if it was not seen, belongs to several, or is a place on its own page: `#`."""
        if href.startswith("#") and not href[1:].startswith(_ROUTES):
            return None
        path = self.path(href)
        if path in self._exact:
            return self._exact[path]
        parts = place(path)
        return self._places.get(parts) if is_open(parts) else None

    def was_seen(self, href: str) -> bool:
        """Return whether a page at this very address was seen."""
        return self.path(href) in self._exact

    def path(self, href: str) -> str:
        """Return an address below the base URL, without a fragment that is not a route."""
        return _plain(relative_path(href, self._base))


def _plain(path: str) -> str:
    bare, _, fragment = path.partition("#")
    return path if fragment.startswith(_ROUTES) else bare


def _only(found: dict[_Key, str | None], key: _Key, screen_id: str) -> None:
    found[key] = screen_id if found.get(key, screen_id) == screen_id else None
