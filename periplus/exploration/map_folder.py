"""The folder of a map: contains the exploration and the knowledge base that is built from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kb_schema.exploration_folder import PAGES_FOLDER, ExplorationFolder
from kb_schema.snapshot_folder import StoredSnapshot, list_snapshots
from periplus.errors import UserError

EXPLORATION, SIGNED_OUT, KNOWLEDGE = "exploration", "signed-out", "kb"
MAPS = "maps"
"""Name of the folder for maps in the data directory."""


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

    def stored_pages(self) -> list[StoredSnapshot]:
        """Return the stored pages of both explorations; none if there is no map. Raises `KnowledgeError`."""
        found: list[StoredSnapshot] = []
        for exploration, prefix in ((self.exploration, ""), (self.signed_out, f"{SIGNED_OUT}/")):
            pages = exploration.path / PAGES_FOLDER
            if pages.is_dir():
                found += [replace(each, name=f"{prefix}{each.name}") for each in list_snapshots(pages)]
        return found


def find_map_folder(path: Path) -> MapFolder:
    """Return the map in a folder or around an exploration folder. Raises `UserError` if there is none."""
    for folder in (MapFolder(path), MapFolder(path.parent)):
        if folder.exploration.exists and (folder.path == path or path.name == EXPLORATION):
            return folder
    raise UserError(f"{path} contains no map", fix="use a folder that `periplus map` created")
