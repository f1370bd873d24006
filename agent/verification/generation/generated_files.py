"""Writes generated files into a folder: atomically, and never over what a person changed.

A manifest beside them stores the hash of each file as it was generated.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from agent.verification.generation.errors import ChangedByHand

MANIFEST = ".generated.json"


def sha256(content: bytes) -> str:
    """Return the hash as PACTS writes it in reports: `sha256:...`."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def write_files(folder: Path, contents: Mapping[str, bytes], *, overwrite: bool = False) -> dict[str, str]:
    """Write the files, all or none, and return their hashes by path below the folder.

    A file that differs both from the generated and from the new content is only overwritten with
    `overwrite`. Raises `ChangedByHand`, with all such files.
    """
    known = _manifest(folder)
    changed = [
        name for name, content in contents.items() if _is_changed(folder / name, content, known.get(name))
    ]
    if changed and not overwrite:
        raise ChangedByHand(folder, changed)
    hashes = {name: sha256(content) for name, content in contents.items()}
    for name, content in contents.items():
        _replace(folder / name, content)
    kept = {name: said for name, said in known.items() if (folder / name).is_file()}
    listed = json.dumps(dict(sorted({**kept, **hashes}.items())), indent=2) + "\n"
    _replace(folder / MANIFEST, listed.encode())
    return hashes


def is_as_generated(folder: Path, name: str) -> bool:
    """Return whether a file of a generated suite is unchanged since it was generated."""
    try:
        return _manifest(folder).get(name) == sha256((folder / name).read_bytes())
    except OSError:
        return False


def _manifest(folder: Path) -> dict[str, str]:
    """Return the hash of each generated file; empty if the manifest cannot be read."""
    try:
        said = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(name): str(value) for name, value in said.items()} if isinstance(said, dict) else {}


def _is_changed(path: Path, content: bytes, generated: str | None) -> bool:
    try:
        now = path.read_bytes()
    except FileNotFoundError:
        return False
    return now != content and sha256(now) != generated


def _replace(path: Path, content: bytes) -> None:
    """Write the file atomically, and only if it differs: the times of unchanged files stay."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(content)
    os.replace(beside, path)  # noqa: PTH105 - atomic
