"""A change made in the files of a knowledge base's folder, in place, so that `git diff` shows just that.

What the change makes of the knowledge is `kb_store.changing`'s to say, which checks it like a load; here
only the files that it touches are edited, and new documents get files of their own.
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
from kb_schema.proposals import Change
from kb_store.changing import changed, holds
from loaders.editing import NAMES, edited
from loaders.export import canonical, stem_of
from loaders.files import kind_of_place, read_knowledge_folder, typed
from loaders.layout import FOLDER_OF, WEBSITE_STEM
from loaders.text import from_yaml, read_file, to_yaml, write_whole

_PLACE = re.compile(r"^(?P<file>.*?)(?:\[(?P<index>\d+)\])?$")


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a folder: files by their names in it."""

    changed: tuple[str, ...]
    added: tuple[str, ...]
    held: tuple[Change, ...]
    """Changes that its files said already."""


def apply_changes(folder: Path, changes: Sequence[Change]) -> Applied:
    """Make the changes, one after the other, in a folder's files: all of them or none.

    Raises `NothingToChange`, and `KnowledgeError` where the folder is wrong or would be.
    """
    old, _ = read_knowledge_folder(folder)
    new = old
    held = []
    for change in changes:
        if holds(new, change):
            held.append(change)
        else:
            new = changed(new, change)[0]
    texts: dict[str, str] = {}
    added = []
    known = {(each.kind, each.local_id): each for each in old.documents()}
    for document in new.documents():
        before = known.get((document.kind, document.local_id))
        if before is None:
            name = f"{FOLDER_OF[document.kind]}/{_free(folder, document, texts)}.yaml"
            texts[name] = to_yaml(canonical(document, new), compact=True)
            added.append(name)
        elif before != document:
            _edit(folder, before, document, old, new, texts)
    for name, text in texts.items():
        write_whole(folder / name, text)
    return Applied(tuple(sorted(texts.keys() - set(added))), tuple(sorted(added)), tuple(held))


def _edit(
    folder: Path,
    before: Document,
    after: Document,
    old: KnowledgeBase,
    new: KnowledgeBase,
    texts: dict[str, str],
) -> None:
    """The text of the file that holds a document, with the document as it is now."""
    found = _PLACE.match(old.sources.get((before.kind, before.local_id), f"{WEBSITE_STEM}.yaml"))
    assert found is not None  # noqa: S101 - the pattern takes any text
    name, index = found["file"], found["index"]
    path = folder / name
    text = texts.get(name) or path.read_text(encoding="utf-8-sig")
    data = _data(text, path, name, again=name in texts)
    raw = data if index is None else data[int(index)]
    merged = _merged(raw, canonical(before, old), canonical(after, new))
    if not _says(merged, after, name, new):
        merged = canonical(after, new)
    whole = merged if index is None else [*data[: int(index)], merged, *data[int(index) + 1 :]]
    if path.suffix == ".json":
        texts[name] = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    else:
        texts[name] = edited(text, data, whole)


def _data(text: str, path: Path, name: str, *, again: bool) -> Any:
    """The file's data; where it was edited already (`again`), that of the new text."""
    if path.suffix != ".json":
        return from_yaml(text, name)
    return json.loads(text) if again else read_file(path, name)


def _merged(raw: Any, before: Any, after: Any) -> Any:
    """The data as its author wrote it, with what differs between the two forms of ours."""
    if before == after:
        return raw
    if isinstance(raw, Mapping) and isinstance(before, Mapping) and isinstance(after, Mapping):
        kept = {
            key: _merged(value, before.get(key), after[key]) if key in after else value
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
                _merged(own[item[name]], olds[item[name]], item)
                if item[name] in own and item[name] in olds
                else item
                for item in after
            ]
        if len(before) == len(after):
            return [_merged(*each) for each in zip(raw, before, after, strict=True)]
    return after


def _all_have(name: str, lists: Sequence[Sequence[Any]]) -> bool:
    return all(
        isinstance(item, Mapping) and isinstance(item.get(name), str) for items in lists for item in items
    )


def _says(data: Any, document: Document, name: str, knowledge: KnowledgeBase) -> bool:
    """Whether the data, read as its file is, is that document."""
    stated = {"schema_version": knowledge.website.schema_version, "website_id": knowledge.website.website_id}
    try:
        read = parse_document({**stated, **typed(data, kind_of_place(Path(name)))}, source=name)
    except KnowledgeError:
        return False
    return read == document


def _free(folder: Path, document: Document, texts: Mapping[str, str]) -> str:
    """A name of a file that is not there yet."""
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
