"""Which screen an address is of, as far as it was seen."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

from kb_schema.urls import relative_path
from loaders.cartography.screens import Charted
from loaders.signatures.addresses import place

_Key = TypeVar("_Key", bound=Hashable)
_ROUTES = ("/", "!/")


class Addresses:
    """Addresses of one site, and the screens they are of."""

    def __init__(self, screens: Iterable[Charted], base: str) -> None:
        self._base = base
        self._exact: dict[str, str | None] = {}
        self._places: dict[tuple[str, ...], str | None] = {}
        for screen in screens:
            for look in screen.looks:
                if screen.failed:
                    continue
                _only(self._exact, _plain(look.observed.path), screen.screen_id)
                _only(self._places, place(look.observed.path), screen.screen_id)

    def screen(self, href: str) -> str | None:
        """The screen of an address; None where it was not seen, or is of several."""
        path = self.path(href)
        if path in self._exact:
            return self._exact[path]
        parts = place(path)
        return self._places.get(parts) if "*" in parts else None

    def path(self, href: str) -> str:
        """An address below the base URL, without a fragment that is no route."""
        return _plain(relative_path(href, self._base))


def _plain(path: str) -> str:
    bare, _, fragment = path.partition("#")
    return path if fragment.startswith(_ROUTES) else bare


def _only(found: dict[_Key, str | None], key: _Key, screen_id: str) -> None:
    found[key] = screen_id if found.get(key, screen_id) == screen_id else None
