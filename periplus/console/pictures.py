"""Pictures of screens: where explorations left them, and which may be shown.

The folder of maps has a folder for each website (`periplus map`). The picture of a screen is the one that its
exploration took of the page it is known by (`seen_as` in the screen's metadata); one that somebody put into
`WEBSITE/pictures/SCREEN.jpg` (or `.png`, `.webp`) goes before it. Not here: taking pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kb_schema import KnowledgeError
from kb_schema.mapping_folder import PAGES_FILE, ExplorationFolder
from kb_schema.screens import Screen
from kb_schema.urls import path_of
from periplus.mapping.places import MapFolder

KINDS = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}
"""What may be shown as a picture, by the end of its name."""
BY_HAND = "pictures"
SEEN_AS = "seen_as"
MOST_READ = 50
"""Explorations whose addresses are held."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


class Pictures:
    """Looks for them when they are asked for. What is no id is not looked for."""

    def __init__(self, maps: Path | None = None) -> None:
        self._maps = maps
        self._read: dict[Path, tuple[tuple[int, int], Mapping[str, str]]] = {}

    def of(self, website: str, screen: Screen) -> Path | None:
        """The picture of one screen; None: there is none."""
        if self._maps is None or not _ID.fullmatch(website) or not (self._maps / website).is_dir():
            return None
        folder = MapFolder(self._maps / website)
        names = KINDS if _ID.fullmatch(screen.screen_id) else ()
        by_hand = (folder.path / BY_HAND / f"{screen.screen_id}{kind}" for kind in names)
        found = next((path for path in by_hand if path.is_file()), None)
        page = screen.metadata.get(SEEN_AS)
        if found is not None or not isinstance(page, str) or not _ID.fullmatch(page):
            return found
        seen = (folder.exploration.picture(page), folder.signed_out.picture(page))
        return next((path for path in seen if path is not None), None)

    def of_page(self, website: str, url: str, names: Sequence[str] = ()) -> Path | None:
        """The picture that the website's map has of the page at an address; None: there is none.

        `names`: files of the exploration by which the page is named, which go before.
        """
        if self._maps is None or not _ID.fullmatch(website) or not (self._maps / website).is_dir():
            return None
        folder = MapFolder(self._maps / website)
        for exploration in (folder.exploration, folder.signed_out):
            root = exploration.path.resolve()
            for name in names:
                named = (root / name).resolve()
                if named.is_relative_to(root) and named.suffix in KINDS and named.is_file():
                    return named
            page = self._pages(exploration).get(path_of(url)) if url else None
            found = None if page is None else exploration.picture(page)
            if found is not None:
                return found
        return None

    def _pages(self, exploration: ExplorationFolder) -> Mapping[str, str]:
        """Address below the site -> the page that was seen there first; read anew once more was seen."""
        file = exploration.path / PAGES_FILE
        try:
            stat = file.stat()
            state = (stat.st_mtime_ns, stat.st_size)
            held = self._read.get(file)
            if held is None or held[0] != state:
                pages = exploration.pages()
                held = (state, {path_of(each.url): each.page_id for each in reversed(pages) if each.picture})
                if len(self._read) >= MOST_READ:
                    self._read.clear()
                self._read[file] = held
        except (OSError, KnowledgeError):  # it is not there, or is none
            return {}
        return held[1]

    def known(self, website: str, screens: Iterable[Screen]) -> frozenset[str]:
        """Which of these screens have one."""
        return frozenset(each.screen_id for each in screens if self.of(website, each) is not None)
