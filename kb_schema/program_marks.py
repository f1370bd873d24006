"""A text that stands for the program's own files: what one version of the code checked is not taken from another."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path


@cache
def program_mark(packages: tuple[str, ...]) -> str:
    """Return a text that differs for another version of Python or of the files of these packages."""
    root = Path(__file__).resolve().parents[1]
    mark = hashlib.blake2b(sys.version.encode(), digest_size=16)
    for package in packages:
        for folder, _, names in sorted(os.walk(root / package)):
            for name in sorted(names):
                if name.endswith(".py"):
                    found = Path(folder, name).stat()
                    mark.update(f"{folder}/{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return mark.hexdigest()
