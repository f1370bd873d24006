"""Makes changes in the files of a knowledge base in place, so that `git diff` shows only them.

`kb_store.proposals.accepted_changes` computes and checks the new knowledge; this module edits the affected
files and adds files for new documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_schema import KnowledgeBase, KnowledgeError, parse_document
from kb_schema.base import Document
from kb_schema.proposals import KnowledgeChange
from kb_store.proposals.accepted_changes import apply_change, contains_change
from loaders.files.folder_layout import FOLDER_OF, WEBSITE_STEM
from loaders.files.folder_reader import add_type, kind_of_place, read_knowledge_folder
from loaders.files.folder_writer import stem_of, to_canonical
from loaders.files.yaml_edits import NAMES, edit_yaml
from loaders.files.yaml_files import from_yaml, read_file, to_yaml, write_whole

_PLACE = re.compile(r"^(?P<file>.*?)(?:\[(?P<index>\d+)\])?$")


@dataclass(frozen=True, slots=True)
class FolderChangeReport:
    """The result of changing a folder: files by their names in it."""

    changed: tuple[str, ...]
    added: tuple[str, ...]
    held: tuple[KnowledgeChange, ...]
    """Changes that its files contained already."""


def apply_changes(folder: Path, changes: Sequence[KnowledgeChange]) -> FolderChangeReport:
    """Make the changes, one after the other, in a folder's files: all of them or none.

    Raises `NothingToChange`, and `KnowledgeError` if the folder is invalid or would become so.
    """
    old, _ = read_knowledge_folder(folder)
    new = old
    held = []
    for change in changes:
        if contains_change(new, change):
            held.append(change)
        else:
            new = apply_change(new, change)[0]
    texts: dict[str, str] = {}
    added = []
    known = {(each.kind, each.local_id): each for each in old.documents()}
    for document in new.documents():
        before = known.get((document.kind, document.local_id))
        if before is None:
            name = f"{FOLDER_OF[document.kind]}/{_choose_file_name(folder, document, texts)}.yaml"
            texts[name] = to_yaml(to_canonical(document, new), compact=True)
            added.append(name)
        elif before != document:
            _edit(folder, before, document, old, new, texts)
    for name, text in texts.items():
        write_whole(folder / name, text)
    return FolderChangeReport(tuple(sorted(texts.keys() - set(added))), tuple(sorted(added)), tuple(held))


def _edit(
    folder: Path,
    before: Document,
    after: Document,
    old: KnowledgeBase,
    new: KnowledgeBase,
    texts: dict[str, str],
) -> None:
    """Add to `texts` the text of the file that contains a document, with its new value."""
    found = _PLACE.match(old.sources.get((before.kind, before.local_id), f"{WEBSITE_STEM}.yaml"))
    assert found is not None  # noqa: S101 - the pattern takes any text
    name, index = found["file"], found["index"]
    path = folder / name
    text = texts.get(name) or path.read_text(encoding="utf-8-sig")
    data = _data(text, path, name, again=name in texts)
    raw = data if index is None else data[int(index)]
    merged = _merge_values(raw, to_canonical(before, old), to_canonical(after, new))
    if not _matches_document(merged, after, name, new):
        merged = to_canonical(after, new)
    whole = merged if index is None else [*data[: int(index)], merged, *data[int(index) + 1 :]]
    if path.suffix == ".json":
        texts[name] = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    else:
        texts[name] = edit_yaml(text, data, whole)


def _data(text: str, path: Path, name: str, *, again: bool) -> Any:
    """Return the file's data; if it was edited before (`again`), that of the new text."""
    if path.suffix != ".json":
        return from_yaml(text, name)
    return json.loads(text) if again else read_file(path, name)


def _merge_values(raw: Any, before: Any, after: Any) -> Any:
    """Return the data as its author wrote it, with the differences of the two canonical forms."""
    if before == after:
        return raw
    if isinstance(raw, Mapping) and isinstance(before, Mapping) and isinstance(after, Mapping):
        kept = {
            key: _merge_values(value, before.get(key), after[key]) if key in after else value
            for key, value in raw.items()
            if key in after or key not in before
        }
        return kept | {
            key: value for key, value in after.items() if key not in raw and value != before.get(key)
        }
    if (
        isinstance(raw, list)
        and isinstance(before, list)
        and isinstance(after, list)
        and len(raw) == len(before)
    ):
        name = next((each for each in NAMES if _all_have(each, (raw, before, after))), None)
        if name is not None:
            own = {item[name]: item for item in raw}
            olds = {item[name]: item for item in before}
            return [
                _merge_values(own[item[name]], olds[item[name]], item)
                if item[name] in own and item[name] in olds
                else item
                for item in after
            ]
        if len(before) == len(after):
            return [_merge_values(*each) for each in zip(raw, before, after, strict=True)]
    return after


def _all_have(name: str, lists: Sequence[Sequence[Any]]) -> bool:
    return all(
        isinstance(item, Mapping) and isinstance(item.get(name), str) for items in lists for item in items
    )


def _matches_document(data: Any, document: Document, name: str, knowledge: KnowledgeBase) -> bool:
    """Return whether the data, read as its file is, gives that document."""
    stated = {"schema_version": knowledge.website.schema_version, "website_id": knowledge.website.website_id}
    try:
        read = parse_document({**stated, **add_type(data, kind_of_place(Path(name)))}, source=name)
    except KnowledgeError:
        return False
    return read == document


def _choose_file_name(folder: Path, document: Document, texts: Mapping[str, str]) -> str:
    """Return an unused file name."""
    stem = stem_of(document)
    home = folder / FOLDER_OF[document.kind]
    number = 1
    while (home / f"{stem}{_numbered(number)}.yaml").exists() or (
        f"{FOLDER_OF[document.kind]}/{stem}{_numbered(number)}.yaml" in texts
    ):
        number += 1
    return f"{stem}{_numbered(number)}"


def _numbered(number: int) -> str:
    return "" if number == 1 else f"-{number}"
