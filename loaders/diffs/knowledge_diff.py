"""The difference of two knowledge bases, document by document, as a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from kb_schema import MODELS, KnowledgeBase
from kb_schema.base import Document

_NAMES = ("element_id", "step_id", "segment_id", "node_id", "overlay_id", "name")
"""Fields that identify the items of a list, whatever their position."""
MOST_ALIGNED = 1_000
"""The most items of a list without names that are aligned; in longer ones, items are compared by position."""


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One value inside a document. `before` or `after` is None if there was or is none."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """A document that only the new knowledge has."""

    kind: str
    local_id: str


@dataclass(frozen=True, slots=True)
class RemovedDocument:
    """A document that only the old knowledge has."""

    kind: str
    local_id: str


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """A document that both have, with every value that differs."""

    kind: str
    local_id: str
    changes: tuple[ValueChange, ...]


@dataclass(frozen=True, slots=True)
class KnowledgeDiff:
    """Every difference, in the order of kinds, then of ids. False if there is none."""

    entries: tuple[AddedDocument | RemovedDocument | ChangedDocument, ...]

    def __bool__(self) -> bool:
        return bool(self.entries)

    def by_kind(self) -> dict[str, list[AddedDocument | RemovedDocument | ChangedDocument]]:
        """Return the entries of each kind that has any."""
        found: dict[str, list[AddedDocument | RemovedDocument | ChangedDocument]] = {}
        for entry in self.entries:
            found.setdefault(entry.kind, []).append(entry)
        return found


def diff_knowledge(old: KnowledgeBase | None, new: KnowledgeBase) -> KnowledgeDiff:
    """Return what changes if `new` replaces `old` (None: there is no old one)."""
    entries: list[AddedDocument | RemovedDocument | ChangedDocument] = []
    for kind in MODELS:
        before = {} if old is None else old.by_kind.get(kind, {})
        after = new.by_kind.get(kind, {})
        for local_id in sorted({*before, *after}):
            entry = _entry(kind, local_id, before.get(local_id), after.get(local_id))
            if entry is not None:
                entries.append(entry)
    return KnowledgeDiff(tuple(entries))


def _entry(
    kind: str, local_id: str, before: Document | None, after: Document | None
) -> AddedDocument | RemovedDocument | ChangedDocument | None:
    if before is None:
        return AddedDocument(kind, local_id)
    if after is None:
        return RemovedDocument(kind, local_id)
    if before == after:
        return None
    changes = tuple(_changes(before.to_json(), after.to_json(), "$"))
    return ChangedDocument(kind, local_id, changes) if changes else None


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ValueChange]:
    """Return every value in which two JSON documents differ."""
    return _changes(before, after, "$")


def _changes(before: Any, after: Any, path: str) -> Iterator[ValueChange]:
    if before == after and type(before) is type(after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            yield from _changes(before.get(key), after.get(key), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(before, after, path)
    else:
        yield ValueChange(path, before, after)


def _list_changes(before: list[Any], after: list[Any], path: str) -> Iterator[ValueChange]:
    name = next((n for n in _NAMES if _named_by(n, before) and _named_by(n, after)), None)
    if name is None:
        yield from _placed_changes(before, after, path)
        return
    olds, news = {item[name]: item for item in before}, {item[name]: item for item in after}
    for key in dict.fromkeys([*olds, *news]):
        yield from _changes(olds.get(key), news.get(key), f"{path}[{key}]")
    kept_before, kept_after = [k for k in olds if k in news], [k for k in news if k in olds]
    if kept_before != kept_after:
        yield ValueChange(f"{path} (order)", kept_before, kept_after)


def _placed_changes(before: list[Any], after: list[Any], path: str) -> Iterator[ValueChange]:
    """Return the changes in a list without names; equal items are not reported as moved."""
    texts = [[json.dumps(each, sort_keys=True) for each in items] for items in (before, after)]
    blocks: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(before), 0, len(after))]
    if max(len(before), len(after)) <= MOST_ALIGNED:
        blocks = SequenceMatcher(a=texts[0], b=texts[1], autojunk=False).get_opcodes()
    for what, start, end, new_start, new_end in blocks:
        for offset in range(max(end - start, new_end - new_start) if what != "equal" else 0):
            old = before[start + offset] if start + offset < end else None
            new = after[new_start + offset] if new_start + offset < new_end else None
            yield from _changes(old, new, f"{path}[{(start if old is not None else new_start) + offset}]")


def _named_by(name: str, items: list[Any]) -> bool:
    names = [item.get(name) if isinstance(item, Mapping) else None for item in items]
    return all(isinstance(n, str) for n in names) and len(set(names)) == len(names)
