"""The output folder of a command."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kb_schema.owner_folders import make_owner_folder
from periplus.errors import UserError
from periplus.settings import load_settings

TRACES = "traces"
"""The subfolder of `out` with the traces of recordings."""
_MADE = re.compile(r"-\d{8}-\d{6}$")
SESSION = "session"
"""The subfolder with the session's trace."""


def check_output_folder(folder: Path) -> Path:
    """Return the folder, without creating it. Raises `UserError` if it is a file or contains a session."""
    if (folder / SESSION).exists() and (folder / SESSION / _manifest()).exists():
        raise UserError(
            f"{folder} already contains the session of another run", fix="name another folder with --out"
        )
    if any(each.exists() and not each.is_dir() for each in (folder, *folder.parents)):
        raise UserError(f"{folder} is a file, or inside of one", fix="name a folder with --out")
    return folder


def _manifest() -> str:
    from kb_schema.session_reader import MANIFEST  # noqa: PLC0415 - decision 0140

    return MANIFEST


def prepare_output_folder(folder: Path) -> Path:
    """Create the folder if necessary and return it. Within the data directory it is for its owner only.

    Raises `UserError` if it is a file or contains a session.
    """
    check_output_folder(folder)
    data = load_settings().data_dir
    try:
        if folder.absolute().is_relative_to(data.absolute()):
            make_owner_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as exc:
        raise UserError(f"{folder} is a file, or inside of one", fix="name a folder with --out") from exc
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be created: {exc.strerror}", fix="name another folder with --out"
        ) from exc
    return folder


@contextmanager
def open_output_folder(folder: Path) -> Iterator[Path]:
    """Create the folder if necessary. An error that leaves it without anything done removes it again.

    Raises `UserError` as `prepare_output_folder` does.
    """
    is_new = not folder.exists()
    above = next(each for each in folder.absolute().parents if each.exists())
    prepare_output_folder(folder)
    try:
        yield folder
    except Exception:
        if is_new and _contains_nothing_done(folder):
            shutil.rmtree(folder, ignore_errors=True)
            _remove_empty_parents(folder.absolute().parent, above)
        raise


def list_old_outputs(folder: Path, age: timedelta) -> list[Path]:
    """Return the folders that commands made in a folder and whose newest file is older than `age`, sorted.

    They are recognised by the moment at the end of their names. Raises `UserError` if there is no such folder.
    """
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}", fix="name the folder of results, such as out")
    before = (datetime.now(UTC) - age).timestamp()
    found = [*folder.iterdir(), *(folder / TRACES).glob("*")]
    return sorted(
        each
        for each in found
        if each.is_dir()
        and not each.is_symlink()
        and _MADE.search(each.name)
        and all(path.lstat().st_mtime < before for path in (each, *each.rglob("*")))
    )


def _contains_nothing_done(folder: Path) -> bool:
    """Return whether a folder has only a session without an action, or less. An address that did not open is none."""
    session, manifest = folder / SESSION, _manifest()
    return all(
        path.is_dir() or (path.is_relative_to(session) and (path.name == manifest or not _has_action(path)))
        for path in folder.rglob("*")
    )


def _has_action(file: Path) -> bool:
    """Whether a file of a session is anything but a trace of addresses that did not open."""
    if file.suffix != ".jsonl":
        return file.stat().st_size > 0
    entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    return any(
        each.get("action_type") != "navigate" or (each.get("result") or {}).get("success", True)
        for each in entries
    )


def _remove_empty_parents(folder: Path, last: Path) -> None:
    """Remove a folder and those above it, below `last`, as long as they are empty."""
    while folder != last and folder.is_relative_to(last) and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
