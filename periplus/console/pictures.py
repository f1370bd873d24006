"""Pictures of screens: where explorations left them, and which may be shown.

The picture of a screen is `FOLDER/WEBSITE/SCREEN.jpg` (or `.png`, `.webp`) in one of the folders that were handed in. Not
here: taking pictures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

KINDS = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}
"""What may be shown as a picture, by the end of its name."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


class Pictures:
    """Looks for them when they are asked for. What is no id is not looked for."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = tuple(folders)

    def of(self, website: str, screen: str) -> Path | None:
        """The picture of one screen; None: there is none."""
        if not _ID.fullmatch(website) or not _ID.fullmatch(screen):
            return None
        tried = (folder / website / f"{screen}{kind}" for folder in self._folders for kind in KINDS)
        return next((path for path in tried if path.is_file()), None)

    def known(self, website: str) -> frozenset[str]:
        """Screens of a website that have one."""
        if not _ID.fullmatch(website):
            return frozenset()
        folders = (folder / website for folder in self._folders)
        return frozenset(
            path.stem
            for folder in folders
            if folder.is_dir()
            for path in folder.iterdir()
            if path.suffix in KINDS
        )
