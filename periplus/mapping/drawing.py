"""Draws the knowledge base of an exploration and writes it: no browser is needed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from loaders import FolderInTheWay, write_folder
from loaders.cartography import Chart, chart
from periplus.errors import UserError
from periplus.mapping.places import MapFolder

DRAWN = "drawn.json"
"""Beside the knowledge: its files as they were drawn, so that what somebody changed in them is noticed."""


def check_untouched(folder: MapFolder) -> None:
    """Raises `UserError` where the knowledge there is not as it was drawn: somebody worked on it."""
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
            f"{folder.knowledge} was changed since it was drawn ({changed[0]}{more})",
            fix="move it elsewhere, then draw again and see `periplus kb diff`; --force draws over it",
        )


def drawn(folder: MapFolder, *, name: str | None = None, force: bool = False) -> Chart:
    """The knowledge base of what is in the folder, written beside it.

    Raises `KnowledgeError` for a folder that cannot be read, `UserError` where nothing was seen, somebody changed
    the knowledge that is there (unless `force`), or it cannot be written.
    """
    if not force:
        check_untouched(folder)
    if not folder.exploration.pages():
        raise UserError(
            f"no page was seen: {folder.path}", fix="see whether the site can be opened, then map it again"
        )
    signed_out = folder.signed_out if folder.signed_out.exists else None
    result = chart(folder.exploration, signed_out=signed_out, name=name)
    try:
        write_folder(result.knowledge, folder.knowledge, force=force)
        (folder.path / DRAWN).write_text(json.dumps(_files(folder.knowledge), indent=1), encoding="utf-8")
    except FolderInTheWay as exc:
        raise UserError(str(exc), fix="name another folder with --out") from exc
    except OSError as exc:
        raise UserError(
            f"{folder.knowledge} cannot be written: {exc.strerror}", fix="name another with --out"
        ) from exc
    return result


def _files(folder: Path) -> dict[str, str]:
    """Each file below a folder by its name there, as a digest of what it says."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
