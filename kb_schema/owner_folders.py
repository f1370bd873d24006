"""Folders and files that only their owner can read: the data directory, its stores and logs.

Modes of what exists already are the owner's decision and stay. Windows has no such modes: there the folder's own
permissions hold.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OTHERS = 0o077


def make_owner_folder(folder: Path) -> Path:
    """Create a folder and those above it that are missing, each for its owner only; return it. Raises `OSError`."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)
    if not missing:
        folder.mkdir(exist_ok=True)  # raises `FileExistsError` for a file
    return folder


def make_owner_file(path: Path) -> None:
    """Create an empty file for its owner only, if there is none. What fails, fails again where the file is opened."""
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def is_open_to_others(path: Path) -> bool:
    """Whether the mode lets other users of this machine read, write or enter. False if it cannot be told."""
    if os.name == "nt":
        return False
    try:
        return bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False
