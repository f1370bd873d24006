"""Writes a knowledge base as a folder of canonical files, which replaces the old one at once.

Everything is written into a new folder beside the old one, then the two are swapped: a crash leaves the old
export or the new one.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from kb_schema import MODELS, KnowledgeBase
from kb_schema.base import Document
from loaders.files.folder_layout import FOLDER_OF, FOLDERS, SUFFIXES, WEBSITE_STEM
from loaders.files.yaml_files import to_yaml

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,150}")
_FIRST = ("type", "schema_version", "website_id")


class TargetFolderOccupied(Exception):
    """The target has files that are not from an export. Nothing was changed."""

    def __init__(self, path: Path, found: str) -> None:
        self.path, self.found = path, found
        super().__init__(f"{path} is not an export of a knowledge base: it holds {found}")


def write_folder(knowledge: KnowledgeBase, path: Path, *, force: bool = False) -> int:
    """Write a knowledge base as files; return their number.

    The folder may be missing, empty, or an earlier export, which is replaced. Anything else raises
    `TargetFolderOccupied`; with `force`, files that do not belong to a knowledge base are kept and the rest
    is replaced. Raises `OSError`.
    """
    path = path.resolve()
    strangers = _find_foreign_entries(path)
    if strangers and not force:
        raise TargetFolderOccupied(path, ", ".join(map(str, strangers[:3])))
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = get_sibling_path(path, "new")
    fresh.mkdir()
    try:
        for name in strangers:
            _copy(path / name, fresh / name)
        count = _write_all(knowledge, fresh)
        if path.exists():
            shutil.copymode(path, fresh)
        swap_folders(fresh, path)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return count


def to_canonical(document: Document, knowledge: KnowledgeBase) -> dict[str, Any]:
    """Return a document in the form for its file: type first, notes last.

    The values that the website document states for all (its id, the schema version) are left out.
    """
    body = document.to_json()
    fields = {
        "type": body.pop("type", MODELS[document.kind].model_fields["type"].default),
        "schema_version": document.schema_version,
        "website_id": document.website_id,
    }
    if document is not knowledge.website:
        if document.schema_version == knowledge.website.schema_version:
            del fields["schema_version"]
        del fields["website_id"]
    metadata = body.pop("metadata", None)
    rest = {key: value for key, value in body.items() if key not in _FIRST}
    return {**fields, **rest, **({"metadata": metadata} if metadata else {})}


def _write_all(knowledge: KnowledgeBase, folder: Path) -> int:
    count = 0
    for kind in knowledge.by_kind.keys() & FOLDER_OF.keys():
        (folder / FOLDER_OF[kind]).mkdir(exist_ok=True)
    for name, document in _named(knowledge):
        with (folder / name).open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(to_yaml(to_canonical(document, knowledge)))
        count += 1
    return count


def _named(knowledge: KnowledgeBase) -> Iterator[tuple[str, Document]]:
    """Yield every document with a file name that is unique even on case-insensitive file systems."""
    taken: set[str] = set()
    for document in knowledge.documents():
        if document is knowledge.website:
            yield f"{WEBSITE_STEM}.yaml", document
            continue
        stem = stem_of(document, taken)
        taken.add(f"{document.kind}/{stem.casefold()}")
        yield f"{FOLDER_OF[document.kind]}/{stem}.yaml", document


def stem_of(document: Document, taken: Container[str] = ()) -> str:
    """Return a document's file name without suffix. `taken`: `kind/name`, in lower case."""
    stem = document.local_id
    if not _SAFE_NAME.fullmatch(stem) or f"{document.kind}/{stem.casefold()}" in taken:
        digest = hashlib.sha256(stem.encode()).hexdigest()[:12]
        stem = f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', stem)[:100].lstrip('._-')}-{digest}"
    return stem


def _find_foreign_entries(path: Path) -> list[Path]:
    """Return the entries of a folder that no export wrote, relative to it: files, and whole folders."""
    if not path.exists():
        return []
    if not path.is_dir():
        raise TargetFolderOccupied(path, "a file")
    entries = sorted(path.iterdir())
    if not any(_is_website(entry) for entry in entries):
        return [
            entry.relative_to(path) for entry in entries
        ]  # not an export, whatever its folders are called
    found: list[Path] = []
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink() and entry.name in FOLDERS:
            found += [f.relative_to(path) for f in sorted(entry.rglob("*")) if not _is_ours(f)]
        elif not _is_website(entry):
            found.append(entry.relative_to(path))
    return found


def _is_website(entry: Path) -> bool:
    return (
        entry.stem == WEBSITE_STEM and entry.suffix in SUFFIXES and entry.is_file() and not entry.is_symlink()
    )


def _is_ours(entry: Path) -> bool:
    """Return whether an entry of a kind's folder contains only knowledge."""
    if entry.is_symlink():
        return False
    return entry.is_dir() or entry.suffix in SUFFIXES


def _copy(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    if old.is_dir() and not old.is_symlink():
        shutil.copytree(old, new, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(old, new, follow_symlinks=False)


def swap_folders(fresh: Path, path: Path) -> None:
    """Replace an old folder by a new one; the old one exists until the new one does."""
    if not path.exists():
        fresh.rename(path)
        return
    old = get_sibling_path(path, "old")
    path.rename(old)
    try:
        fresh.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def get_sibling_path(path: Path, what: str) -> Path:
    """Return a new hidden name beside a folder, on the same file system."""
    return path.with_name(f".{path.name}.{what}-{secrets.token_hex(6)}")
