"""The folder of a map: contains the exploration and the knowledge base that is built from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kb_schema.exploration_folder import ExplorationFolder
from periplus.errors import UserError

EXPLORATION, SIGNED_OUT, KNOWLEDGE = "exploration", "signed-out", "kb"
MAPS = "maps"
"""Name of the folder for maps in the data directory."""
_ADDRESS = re.compile(r"[\d.]+|\[.*\]|localhost")
_NO_NAME = frozenset({"www", "app", "my", "web", "portal"})


@dataclass(frozen=True, slots=True)
class MapFolder:
    """The folder of one map."""

    path: Path

    @property
    def exploration(self) -> ExplorationFolder:
        """The exploration."""
        return ExplorationFolder(self.path / EXPLORATION)

    @property
    def signed_out(self) -> ExplorationFolder:
        """The exploration without sign-in, if the main exploration is signed in."""
        return ExplorationFolder(self.path / SIGNED_OUT)

    @property
    def knowledge(self) -> Path:
        """The folder of the knowledge base."""
        return self.path / KNOWLEDGE


def find_map_folder(path: Path) -> MapFolder:
    """Return the map in a folder or around an exploration folder. Raises `UserError` if there is none."""
    for folder in (MapFolder(path), MapFolder(path.parent)):
        if folder.exploration.exists and (folder.path == path or path.name == EXPLORATION):
            return folder
    raise UserError(f"{path} contains no map", fix="use a folder that `periplus map` created")


def suggest_website_id(url: str) -> str:
    """Return a website id from the domain of a URL.

    >>> suggest_website_id("https://app.spadeworks.co/x"), suggest_website_id("http://127.0.0.1:8080/")
    ('spadeworks', 'site_8080')
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _ADDRESS.fullmatch(host) or "." not in host:
        named = host if host and not _ADDRESS.fullmatch(host) else "site"
        return _plain(named if parts.port is None else f"{named}_{parts.port}")
    labels = [label for label in host.split(".")[:-1] if label not in _NO_NAME]
    return _plain(labels[-1] if labels else host)


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "site"
