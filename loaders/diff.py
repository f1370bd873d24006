"""What two knowledge bases differ in, document by document, as a tree a person can read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from kb_schema import MODELS, KnowledgeBase
from kb_schema.base import Document

_NAMES = ("element_id", "step_id", "segment_id", "node_id", "overlay_id", "name")
"""Fields by which the items of a list are told apart, whatever their place."""
MOST_ALIGNED = 1_000
"""Items of a list without names; of a longer one each is compared with the one at its place."""


@dataclass(frozen=True, slots=True)
class Change:
    """One value inside a document. `before` or `after` is None where there was or is nothing."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Added:
    """A document only the new one has."""

    kind: str
    local_id: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A document only the old one has."""

    kind: str
    local_id: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A document both have, with every value that differs."""

    kind: str
    local_id: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class KnowledgeDiff:
    """Every difference, in the order of kinds, then of ids. False where there is none."""

    entries: tuple[Added | Removed | Changed, ...]

    def __bool__(self) -> bool:
        return bool(self.entries)

    def by_kind(self) -> dict[str, list[Added | Removed | Changed]]:
        """The entries of each kind that has any."""
        found: dict[str, list[Added | Removed | Changed]] = {}
        for entry in self.entries:
            found.setdefault(entry.kind, []).append(entry)
        return found


def diff(old: KnowledgeBase | None, new: KnowledgeBase) -> KnowledgeDiff:
    """What changes when `new` takes the place of `old` (None: there is nothing yet)."""
    entries: list[Added | Removed | Changed] = []
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
) -> Added | Removed | Changed | None:
    if before is None:
        return Added(kind, local_id)
    if after is None:
        return Removed(kind, local_id)
    if before == after:
        return None
    changes = tuple(_changes(before.to_json(), after.to_json(), "$"))
    return Changed(kind, local_id, changes) if changes else None


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Every value in which two JSON documents differ."""
    return _changes(before, after, "$")


def _changes(before: Any, after: Any, path: str) -> Iterator[Change]:
    if before == after and type(before) is type(after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            yield from _changes(before.get(key), after.get(key), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(before, after, path)
    else:
        yield Change(path, before, after)


def _list_changes(before: list[Any], after: list[Any], path: str) -> Iterator[Change]:
    name = next((n for n in _NAMES if _named_by(n, before) and _named_by(n, after)), None)
    if name is None:
        yield from _placed_changes(before, after, path)
        return
    olds, news = {item[name]: item for item in before}, {item[name]: item for item in after}
    for key in dict.fromkeys([*olds, *news]):
        yield from _changes(olds.get(key), news.get(key), f"{path}[{key}]")
    kept_before, kept_after = [k for k in olds if k in news], [k for k in news if k in olds]
    if kept_before != kept_after:
        yield Change(f"{path} (order)", kept_before, kept_after)


def _placed_changes(before: list[Any], after: list[Any], path: str) -> Iterator[Change]:
    """What came, went and changed in a list without names: what is the same before and after is not told as moved."""
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
