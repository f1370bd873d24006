"""Makes changes in the files of a knowledge base in place, so that `git diff` shows only them.

`kb_store.proposals.accepted_changes` computes and checks the new knowledge; this module edits the affected
files and adds files for new documents.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

from kb_schema import KnowledgeBase, KnowledgeError, parse_document
from kb_schema.base import Document
from kb_schema.proposals import KnowledgeChange
from kb_store.proposals.accepted_changes import apply_change, contains_change
from loaders.files.folder_layout import FOLDER_OF, WEBSITE_STEM
from loaders.files.folder_reader import add_type, kind_of_place, read_knowledge_folder
from loaders.files.folder_writer import stem_of, to_canonical
from loaders.files.yaml_edits import NAMES, edit_yaml, keep_their_places
from loaders.files.yaml_files import from_yaml, read_file, to_yaml, write_whole

_PLACE = re.compile(r"^(?P<file>.*?)(?:\[(?P<index>\d+)\])?$")


@dataclass(frozen=True, slots=True)
class FolderChangeReport:
    """The result of changing a folder: files by their names in it."""

    changed: tuple[str, ...]
    added: tuple[str, ...]
    held: tuple[KnowledgeChange, ...]
    """Changes that its files contained already."""
    removed: tuple[str, ...] = ()
    """Files that are no longer there, those with a new name included."""


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
    report = write_new_knowledge(folder, old, new)
    return FolderChangeReport(report.changed, report.added, tuple(held))


def write_new_knowledge(
    folder: Path,
    old: KnowledgeBase,
    new: KnowledgeBase,
    renamed: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> FolderChangeReport:
    """Make the files of a folder, which contain `old`, contain `new`.

    `renamed` maps the old (kind, id) of documents to their new ids: they stay in their files, and a file that is
    called like its document is renamed. Files of documents that are gone are deleted, after all others are
    written. Raises `OSError`.
    """
    texts: dict[str, str] = {}
    added, moved = [], dict[str, str]()
    known = {(each.kind, each.local_id): each for each in old.documents()}
    before_of = {
        (kind, new_id): known.pop((kind, old_id))
        for (kind, old_id), new_id in renamed.items()
        if (kind, old_id) in known and new_id in new.by_kind.get(kind, {}) and (kind, new_id) not in known
    }
    for document in new.documents():
        key = (document.kind, document.local_id)
        before = before_of.get(key) or known.pop(key, None)
        if before is None:
            name = f"{FOLDER_OF[document.kind]}/{_choose_file_name(folder, document, texts)}.yaml"
            texts[name] = to_yaml(to_canonical(document, new), compact=True)
            added.append(name)
        elif before != document:
            name = _edit(folder, before, document, old, new, texts)
            alone = _place_of(before, old)[1] is None
            if alone and before.local_id != document.local_id and PurePath(name).stem == stem_of(before):
                suffix = PurePath(name).suffix
                moved[name] = str(
                    PurePath(name).with_name(f"{_choose_file_name(folder, document, texts, suffix)}{suffix}")
                )
                texts[moved[name]] = texts[name]
    removed = _remove(folder, known.values(), old, texts)
    for name in moved:
        texts.pop(name, None)
    for name, text in texts.items():
        write_whole(folder / name, text)
    for name in (*removed, *moved):
        (folder / name).unlink(missing_ok=True)
    changed = texts.keys() - {*added, *moved.values()}
    return FolderChangeReport(
        tuple(sorted(changed)),
        tuple(sorted({*added, *moved.values()})),
        (),
        tuple(sorted({*removed, *moved})),
    )


def _remove(
    folder: Path, documents: Iterable[Document], old: KnowledgeBase, texts: dict[str, str]
) -> list[str]:
    """Remove documents from the files that have several; return the files of the others."""
    gone = []
    items: dict[str, list[int]] = defaultdict(list)
    for document in documents:
        name, index = _place_of(document, old)
        if index is None:
            gone.append(name)
            texts.pop(name, None)
        else:
            items[name].append(index)
    for name, indices in items.items():
        path = folder / name
        text = texts.get(name) or path.read_text(encoding="utf-8-sig")
        data = _data(text, path, name, again=name in texts)
        rest = [item for number, item in enumerate(data) if number not in indices]
        if not rest:
            gone.append(name)
            texts.pop(name, None)
            continue
        texts[name] = _to_text(text, path, data, rest)
    return gone


def _place_of(document: Document, knowledge: KnowledgeBase) -> tuple[str, int | None]:
    """Return the file of a document, and its place there if the file has a list of them."""
    found = _PLACE.match(knowledge.sources.get((document.kind, document.local_id), f"{WEBSITE_STEM}.yaml"))
    assert found is not None  # noqa: S101 - the pattern takes any text
    return found["file"], None if found["index"] is None else int(found["index"])


def _to_text(text: str, path: Path, before: Any, after: Any) -> str:
    if path.suffix == ".json":
        return json.dumps(after, indent=2, ensure_ascii=False) + "\n"
    return edit_yaml(text, before, after)


def _edit(
    folder: Path,
    before: Document,
    after: Document,
    old: KnowledgeBase,
    new: KnowledgeBase,
    texts: dict[str, str],
) -> str:
    """Add to `texts` the text of the file that contains a document, with its new value; return the file."""
    name, index = _place_of(before, old)
    path = folder / name
    text = texts.get(name) or path.read_text(encoding="utf-8-sig")
    data = _data(text, path, name, again=name in texts)
    raw = data if index is None else data[index]
    merged = _merge_values(raw, to_canonical(before, old), to_canonical(after, new))
    if not _matches_document(merged, after, name, new):
        merged = to_canonical(after, new)
    whole = merged if index is None else [*data[:index], merged, *data[index + 1 :]]
    texts[name] = _to_text(text, path, data, whole)
    return name


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
        return _merge_mappings(raw, before, after)
    if isinstance(raw, str) and isinstance(before, str) and isinstance(after, str):
        prefix = raw.removesuffix(before)
        return f"{prefix}{after}" if prefix.endswith("/") and raw != prefix else after
    if (
        isinstance(raw, list)
        and isinstance(before, list)
        and isinstance(after, list)
        and len(raw) == len(before)
    ):
        name = next((each for each in NAMES if _all_have(each, (raw, before, after))), None)
        if name is not None and not keep_their_places(name, before, after):
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


def _merge_mappings(
    raw: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, Any]:
    kept = {
        key: _merge_values(value, before.get(key), after[key]) if key in after else value
        for key, value in raw.items()
        if key in after or key not in before
    }
    for key, value in after.items():
        if key in raw or value == before.get(key):
            continue
        other_name = next((each for each in raw if each not in before and raw[each] == before.get(key)), key)
        kept[other_name] = value  # `element_id: x` may be how the author wrote `target: x`
    return kept


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


def _choose_file_name(
    folder: Path, document: Document, texts: Mapping[str, str], suffix: str = ".yaml"
) -> str:
    """Return an unused file name."""
    stem = stem_of(document)
    home = folder / FOLDER_OF[document.kind]
    number = 1
    while (home / f"{stem}{_numbered(number)}{suffix}").exists() or (
        f"{FOLDER_OF[document.kind]}/{stem}{_numbered(number)}{suffix}" in texts
    ):
        number += 1
    return f"{stem}{_numbered(number)}"


def _numbered(number: int) -> str:
    return "" if number == 1 else f"-{number}"
