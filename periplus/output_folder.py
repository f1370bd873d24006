"""The output folder of a command."""

from __future__ import annotations

from pathlib import Path

from kb_schema.session_reader import MANIFEST
from periplus.errors import UserError

SESSION = "session"
"""The subfolder with the session's trace."""


def check_output_folder(folder: Path) -> Path:
    """Return the folder, without creating it. Raises `UserError` if it is a file or contains a session."""
    if (folder / SESSION / MANIFEST).exists():
        raise UserError(
            f"{folder} already contains the session of another run", fix="name another folder with --out"
        )
    if any(each.exists() and not each.is_dir() for each in (folder, *folder.parents)):
        raise UserError(f"{folder} is a file, or inside of one", fix="name a folder with --out")
    return folder


def prepare_output_folder(folder: Path) -> Path:
    """Create the folder if necessary and return it. Raises `UserError` if it is a file or contains a session."""
    check_output_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as exc:
        raise UserError(f"{folder} is a file, or inside of one", fix="name a folder with --out") from exc
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be created: {exc.strerror}", fix="name another folder with --out"
        ) from exc
    return folder
