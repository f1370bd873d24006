"""The folder a command leaves its results in."""

from __future__ import annotations

from pathlib import Path

from kb_schema.sessions import MANIFEST
from periplus.errors import UserError

SESSION = "session"
"""The trace, inside a command's folder."""


def output_folder(folder: Path) -> Path:
    """The folder, made where it is not there. Raises `UserError` where it cannot take a run: it is
    a file, or holds a session already.
    """
    if (folder / SESSION / MANIFEST).exists():
        raise UserError(f"{folder} holds the session of another run", fix="name another folder with --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as exc:
        raise UserError(f"{folder} is a file, or in one", fix="name a folder with --out") from exc
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be made: {exc.strerror}", fix="name another folder with --out"
        ) from exc
    return folder
