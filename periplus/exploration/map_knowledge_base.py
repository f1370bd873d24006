"""Builds the knowledge base of an exploration and writes it, without a browser."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from loaders import TargetFolderOccupied, write_folder
from loaders.exploration_import import ExploredKnowledge, build_knowledge
from periplus.errors import UserError
from periplus.exploration.map_folder import MapFolder

DRAWN = "drawn.json"
"""File with the hashes of the generated files, to detect manual edits."""


def check_unedited(folder: MapFolder) -> None:
    """Raises `UserError` if generated files were edited."""
    there = _files(folder.knowledge)
    if not there:
        return
    try:
        was = json.loads((folder.path / DRAWN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        was = {}
    if there != was:
        changed = sorted(name for name in {*there, *was} if there.get(name) != was.get(name))
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise UserError(
            f"{folder.knowledge} was edited after it was generated ({changed[0]}{more})",
            fix="move it, generate it again and compare with `periplus kb diff`; --force overwrites it",
        )


def is_unedited(folder: MapFolder) -> bool:
    """Return whether the files are as they were generated."""
    try:
        check_unedited(folder)
    except UserError:
        return False
    return True


def note_generated(folder: MapFolder) -> None:
    """Note the files of the knowledge base as generated: later edits are detected. Raises `OSError`."""
    (folder.path / DRAWN).write_text(json.dumps(_files(folder.knowledge), indent=1), encoding="utf-8")


def write_knowledge_base(
    folder: MapFolder, *, name: str | None = None, force: bool = False
) -> ExploredKnowledge:
    """Build the knowledge base of an exploration and write it next to it.

    Raises `KnowledgeError` for an unreadable folder. Raises `UserError` if the exploration has no pages, if generated
    files were edited (unless `force`), or if writing fails.
    """
    if not force:
        check_unedited(folder)
    if not folder.exploration.pages():
        raise UserError(
            f"the exploration has no pages: {folder.path}",
            fix="check that the website opens, then map it again",
        )
    signed_out = folder.signed_out if folder.signed_out.exists else None
    result = build_knowledge(folder.exploration, signed_out=signed_out, name=name)
    try:
        write_folder(result.knowledge, folder.knowledge, force=force)
        note_generated(folder)
    except TargetFolderOccupied as exc:
        raise UserError(str(exc), fix="choose another folder with --out") from exc
    except OSError as exc:
        raise UserError(
            f"{folder.knowledge} cannot be written: {exc.strerror}", fix="choose another folder with --out"
        ) from exc
    return result


def _files(folder: Path) -> dict[str, str]:
    """Map the relative path of each file in a folder to the hash of its content."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
