"""Where a map is kept: the exploration and the knowledge base drawn from it, side by side in one folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kb_schema.mapping_folder import ExplorationFolder
from periplus.errors import UserError

EXPLORATION, SIGNED_OUT, KNOWLEDGE = "exploration", "signed-out", "kb"
MAPS = "maps"
"""Below the data directory."""
_ADDRESS = re.compile(r"[\d.]+|\[.*\]|localhost")
_NO_NAME = frozenset({"www", "app", "my", "web", "portal"})


@dataclass(frozen=True, slots=True)
class MapFolder:
    """The folder of one map."""

    path: Path

    @property
    def exploration(self) -> ExplorationFolder:
        """What was seen."""
        return ExplorationFolder(self.path / EXPLORATION)

    @property
    def signed_out(self) -> ExplorationFolder:
        """What was seen without being signed in, where the rest was seen signed in."""
        return ExplorationFolder(self.path / SIGNED_OUT)

    @property
    def knowledge(self) -> Path:
        """The folder of the knowledge base."""
        return self.path / KNOWLEDGE


def map_folder(path: Path) -> MapFolder:
    """The map in a folder, also where the exploration inside it is named. Raises `UserError` for any other."""
    for folder in (MapFolder(path), MapFolder(path.parent)):
        if folder.exploration.exists and (folder.path == path or path.name == EXPLORATION):
            return folder
    raise UserError(f"there is no map in {path}", fix="name the folder that `periplus map` wrote")


def website_id_of(url: str) -> str:
    """What a site is called where nobody said: by its domain.

    >>> website_id_of("https://app.spadeworks.co/x"), website_id_of("http://127.0.0.1:8080/")
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
