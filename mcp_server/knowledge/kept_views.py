"""Compiled views on disk, by the digest of their content: the second time nothing is validated or compiled.

    FOLDER/DIGEST.view            lines of JSON: a checksum, the indexes, the costs of transitions by objective
    FOLDER/DIGEST.MEDIUM.keys     the index keys of the screens, for one medium

What is kept holds no documents: they are read from the store each time, and only content whose digest is known is not checked
again. The digest stands for the program's own files, too. Files may be deleted at any time; a damaged one is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from kb_schema.graph_documents import Transition
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.objectives import Objective
from kb_schema.owner_folders import make_owner_file, make_owner_folder
from kb_schema.program_marks import program_mark
from kb_schema.screens import Signature, StateSignature
from kb_schema.websites import Website
from kb_store.stored_contents import StoredContents
from mcp_server.knowledge.compiled_view import (
    NO_STATISTICS,
    KnowledgeView,
    SearchableTransitions,
    add_side_effects,
    lazy_signatures,
    lazy_ways,
    recovery_ms,
)
from mcp_server.lazy_values import LazyMapping
from mcp_server.screen_index.index_keys import IndexKey, IndexKeyKind, SnapshotFormat
from mcp_server.screen_index.key_selection import ScreenKeys
from mcp_server.screen_index.screen_index import ScreenIndex
from mcp_server.transition_graph.transition_network import TransitionNetwork
from mcp_server.transition_graph.transition_weights import WeightedTransition, weigh_transition

LEAST_DOCUMENTS = 1_000
"""Websites with fewer are compiled sooner than found."""
MOST_FILES = 40
"""More are deleted, the longest unused first."""
_PROGRAM = ("kb_schema", "kb_store", "web_pages", "mcp_server")
"""Packages whose code decides what a view contains."""


class KeptViews:
    """The files of one folder, readable by their owner only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, contents: StoredContents) -> KnowledgeView | None:
        """Return the view of this content; None if it is not kept, or damaged."""
        name = self._name(contents)
        lines = self._read(f"{name}.view")
        if lines is None:
            return None
        try:
            return restore_view(lines, contents, _FiledKeys(self, name))
        except (ValueError, KeyError, TypeError):
            return None

    def keep(self, view: KnowledgeView, contents: StoredContents) -> None:
        """Keep a view that was compiled from this content, and the index keys that it will select. Raises nothing."""
        name = self._name(contents)
        self._write(f"{name}.view", view_lines(view))
        view.screens.kept = _FiledKeys(self, name)

    def _name(self, contents: StoredContents) -> str:
        both = f"{contents.digest} {program_mark(_PROGRAM)}"
        return hashlib.blake2b(both.encode(), digest_size=16).hexdigest()

    def _read(self, name: str) -> list[bytes] | None:
        """Return the lines after the checksum."""
        path = self._folder / name
        try:
            checksum, _, rest = path.read_bytes().partition(b"\n")
            os.utime(path)  # it was used
        except OSError:
            return None
        return rest.split(b"\n") if checksum.decode(errors="replace") == _checksum(rest) else None

    def _write(self, name: str, lines: Iterable[bytes]) -> None:
        rest = b"\n".join(lines)
        fresh = self._folder / f"{name}.{os.getpid()}.new"
        with contextlib.suppress(OSError):  # a full disk costs time, no answer
            make_owner_folder(self._folder)
            make_owner_file(fresh)
            fresh.write_bytes(_checksum(rest).encode() + b"\n" + rest)
            fresh.replace(self._folder / name)
            files = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in files[MOST_FILES:]:
                path.unlink()


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=32).hexdigest()


@dataclass(frozen=True, slots=True)
class _FiledKeys:
    """`SelectedKeys` in the files of one view."""

    views: KeptViews
    name: str

    def find(self, medium: SnapshotFormat) -> ScreenKeys | None:
        """See `SelectedKeys`."""
        lines = self.views._read(f"{self.name}.{medium.value}.keys")  # noqa: SLF001 - one module
        if lines is None:
            return None
        keys, by_screen = json.loads(lines[0])
        known = [IndexKey(IndexKeyKind(kind), needle, where) for kind, needle, where in keys]
        return {
            screen_id: None if own is None else frozenset(known[number] for number in own)
            for screen_id, own in by_screen.items()
        }

    def keep(self, medium: SnapshotFormat, keys: ScreenKeys) -> None:
        """See `SelectedKeys`."""
        numbers: dict[IndexKey, int] = {}
        by_screen = {
            screen_id: None
            if own is None
            else [numbers.setdefault(each, len(numbers)) for each in sorted(own)]
            for screen_id, own in keys.items()
        }
        line = json.dumps([[[*each] for each in numbers], by_screen], separators=(",", ":"))
        self.views._write(f"{self.name}.{medium.value}.keys", [line.encode()])  # noqa: SLF001


@dataclass(frozen=True)
class _KeptKnowledge(KnowledgeBase):
    """Knowledge whose documents are parsed when they are asked for."""

    signed: Mapping[str, str | None] = field(default_factory=dict)
    """Screen id -> the document of its active signature; None: the screen's own."""

    @cached_property
    def signatures(self) -> Mapping[str, Signature]:
        """The active signatures, by screen id."""
        return LazyMapping(self.signed, self._signature)

    def _signature(self, screen_id: str) -> Signature:
        document = self.signed[screen_id]
        found = (
            self.screens[screen_id].state_signature
            if document is None
            else self._all("state_signature")[document]
        )
        assert isinstance(found, Signature)  # noqa: S101 - the content is the one that was compiled
        return found


class _StoredSources(Mapping[tuple[str, str], str]):
    """(kind, local id) -> the name that problems of a stored document have."""

    def __init__(self, by_kind: Mapping[str, Mapping[str, object]]) -> None:
        self._by_kind = by_kind

    def __getitem__(self, key: tuple[str, str]) -> str:
        if key[1] not in self._by_kind.get(key[0], ()):
            raise KeyError(key)
        return f"{key[0]}/{key[1]}"

    def __iter__(self) -> Any:
        return ((kind, each) for kind, own in self._by_kind.items() for each in own)

    def __len__(self) -> int:
        return sum(map(len, self._by_kind.values()))


def view_lines(view: KnowledgeView) -> list[bytes]:
    """Return the lines of a compiled view's file: its indexes, then the costs of its transitions by objective."""
    knowledge = view.knowledge
    index: dict[str, Any] = {
        "ids": {kind: [*own] for kind, own in knowledge.by_kind.items()},
        "signed": {
            screen_id: each.local_id if isinstance(each, StateSignature) else None
            for screen_id, each in knowledge.signatures.items()
        },
        "patterns": view.screens.patterns,
        "groups_of": view.groups_of,
        "recoveries_of": _ids_of(view.recoveries_of),
        "leaving": _ids_of(view.leaving),
        "tasks_of": view.tasks_of,
        "network": None if view.roads is None else view.network.facets(),
    }
    lines: list[Any] = [index]
    if view.roads is not None:
        lines += [view.network.arcs(objective).costs for objective in get_args(Objective)]
    return [json.dumps(each, separators=(",", ":")).encode() for each in lines]


def _ids_of(edges: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    return {name: [edge.local_id for edge in own] for name, own in edges.items()}


def restore_view(lines: Sequence[bytes], contents: StoredContents, keys: _FiledKeys) -> KnowledgeView:
    """Return the view that `view_lines` came from, on the same content. Raises `ValueError` or `KeyError` for other lines."""
    index = json.loads(lines[0])
    if set(index["ids"]) != set(contents.records):
        raise ValueError("other kinds of documents")
    by_kind = {kind: contents.documents(kind, ids) for kind, ids in index["ids"].items()}
    (website,) = by_kind["website"].values()
    assert isinstance(website, Website)  # noqa: S101 - documents are parsed by their kind
    knowledge = _KeptKnowledge(website, by_kind, _StoredSources(by_kind), index["signed"])
    elements = LazyMapping(index["ids"].get("screen", ()), knowledge.elements)

    def edges(screen_id: str) -> tuple[Transition, ...]:
        own = (knowledge.transitions[each] for each in index["leaving"][screen_id])
        return tuple(add_side_effects(knowledge, each) for each in own)

    groups_of = {screen_id: tuple(own) for screen_id, own in index["groups_of"].items()}
    recoveries = {
        group: tuple(knowledge.recoveries[each] for each in own)
        for group, own in index["recoveries_of"].items()
    }
    leaving = LazyMapping(index["leaving"], edges)
    signatures = lazy_signatures(knowledge, index["patterns"], elements)

    def weighed(screen_id: str) -> tuple[WeightedTransition, ...]:
        ms = recovery_ms(knowledge, groups_of.get(screen_id, ()), recoveries, NO_STATISTICS)
        return tuple(weigh_transition(each, ms) for each in leaving[screen_id])

    roads = None
    if index["network"] is not None:
        ways = LazyMapping(index["leaving"], weighed)
        network = _restore_network(index["network"], ways, lines[1:])
        roads = SearchableTransitions(ways, network)
    return KnowledgeView(
        knowledge=knowledge,
        generation=str(contents.generation),
        elements=elements,
        signatures=signatures,
        screens=ScreenIndex(signatures, index["patterns"], website.base_url, keys),
        groups_of=groups_of,
        recoveries_of=recoveries,
        leaving=leaving,
        roads=roads,
        tasks_of={screen_id: tuple(own) for screen_id, own in index["tasks_of"].items()},
    )


def _restore_network(
    facets: Mapping[str, Any], ways: Mapping[str, Sequence[WeightedTransition]], costs: Sequence[bytes]
) -> TransitionNetwork:
    ids, screens, tails = facets["transition_ids"], facets["screens"], facets["tails"]

    by_objective: Mapping[Objective, bytes] = dict(zip(get_args(Objective), costs, strict=True))
    parsed: Callable[[Objective], Sequence[int]] = lambda objective: json.loads(by_objective[objective])  # noqa: E731
    lazy = lazy_ways(ids, [screens[tail] for tail in tails], ways)
    return TransitionNetwork.restored(facets, lazy, parsed)
