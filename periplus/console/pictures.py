"""Pictures of screens: where explorations left them, and which may be shown.

The folder of maps has a folder for each website (`periplus map`). The picture of a screen is the one that its
exploration took of the page it is known by (`seen_as` in the screen's metadata); one that somebody put into
`WEBSITE/pictures/SCREEN.jpg` (or `.png`, `.webp`) goes before it. Not here: taking pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kb_schema.screens import Screen
from periplus.mapping.places import MapFolder

KINDS = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}
"""What may be shown as a picture, by the end of its name."""
BY_HAND = "pictures"
SEEN_AS = "seen_as"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


class Pictures:
    """Looks for them when they are asked for. What is no id is not looked for."""

    def __init__(self, maps: Path | None = None) -> None:
        self._maps = maps

    def of(self, website: str, screen: Screen) -> Path | None:
        """The picture of one screen; None: there is none."""
        if self._maps is None or not _ID.fullmatch(website) or not (self._maps / website).is_dir():
            return None
        folder = MapFolder(self._maps / website)
        by_hand = (folder.path / BY_HAND / f"{screen.screen_id}{kind}" for kind in KINDS)
        found = next((path for path in by_hand if path.is_file()), None)
        page = screen.metadata.get(SEEN_AS)
        if found is not None or not isinstance(page, str) or not _ID.fullmatch(page):
            return found
        seen = (folder.exploration.picture(page), folder.signed_out.picture(page))
        return next((path for path in seen if path is not None), None)

    def known(self, website: str, screens: Iterable[Screen]) -> frozenset[str]:
        """Which of these screens have one."""
        return frozenset(each.screen_id for each in screens if self.of(website, each) is not None)
