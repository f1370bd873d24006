"""Screenshots of screens, from the folders of `periplus map`.

The folder of maps has a folder for each website. The screenshot of a screen is the one that the exploration took of
its page (`seen_as` in the screen's metadata). A file `WEBSITE/pictures/SCREEN.jpg` (or `.png`, `.webp`) has priority.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kb_schema import KnowledgeError
from kb_schema.exploration_folder import PAGES_FILE, PICTURE_SUFFIX, ExplorationFolder
from kb_schema.former_ids import list_former_ids
from kb_schema.screens import Screen
from kb_schema.snapshot_folder import StoredSnapshot
from kb_schema.url_patterns import path_of
from periplus.exploration.map_folder import MapFolder

KINDS = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}
"""File name suffix of the supported picture formats -> media type."""
BY_HAND = "pictures"
SEEN_AS = "seen_as"
MOST_READ = 50
"""Number of explorations whose addresses are cached."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


class ScreenPictures:
    """Finds screenshots on request; values that are not ids are ignored."""

    def __init__(self, maps: Path | None = None) -> None:
        self._maps = maps
        self._read: dict[Path, tuple[tuple[int, int], Mapping[str, str]]] = {}

    def of(self, website: str, screen: Screen) -> Path | None:
        """Return the screenshot of a screen; None if there is none."""
        if self._maps is None or not _ID.fullmatch(website) or not (self._maps / website).is_dir():
            return None
        folder = MapFolder(self._maps / website)
        ids = (screen.screen_id, *list_former_ids(screen.metadata))
        by_hand = (
            folder.path / BY_HAND / f"{name}{kind}" for name in ids if _ID.fullmatch(name) for kind in KINDS
        )
        found = next((path for path in by_hand if path.is_file()), None)
        page = screen.metadata.get(SEEN_AS)
        if found is not None or not isinstance(page, str) or not _ID.fullmatch(page):
            return found
        seen = (folder.exploration.picture(page), folder.signed_out.picture(page))
        return next((path for path in seen if path is not None), None)

    def stored_pages(self, website: str) -> list[StoredSnapshot]:
        """Return the pages that the map of a website stored; none without a map. Raises `KnowledgeError`."""
        if self._maps is None or not _ID.fullmatch(website):
            return []
        return MapFolder(self._maps / website).stored_pages()

    def of_stored_page(self, website: str, name: str) -> Path | None:
        """Return the screenshot beside a stored page, by the page's name; None if there is none."""
        found = next((each for each in self.stored_pages(website) if each.name == name), None)
        picture = None if found is None else found.page.with_suffix(PICTURE_SUFFIX)
        return picture if picture is not None and picture.is_file() else None

    def of_page(self, website: str, url: str, names: Sequence[str] = ()) -> Path | None:
        """Return the map's screenshot of the page at an address; None if there is none.

        `names`: files of the exploration that name the page; they have priority.
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
        """Return address -> first page seen there; read again when the exploration has more pages."""
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
        except (OSError, KnowledgeError):  # missing or invalid
            return {}
        return held[1]

    def known(self, website: str, screens: Iterable[Screen]) -> frozenset[str]:
        """Return the ids of the screens that have a screenshot."""
        return frozenset(each.screen_id for each in screens if self.of(website, each) is not None)
