"""Full-text search over the words of one website's knowledge, without help of a store.

Each word of the query matches as a whole word, as a prefix, and with one typing mistake. Rare words count more, and
so do words in a name.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, takewhile

from pydantic import BaseModel
from rapidfuzz import process
from rapidfuzz.distance import OSA

from kb_schema.base import Document
from kb_schema.conditions import DomContains, TitleContains
from kb_schema.documents import EDGE_KINDS
from kb_schema.error_handling import ErrorRecovery
from kb_schema.former_ids import list_former_ids
from kb_schema.graph_documents import GlobalRecovery, Transition
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.nested_models import walk
from kb_schema.screens import Option, UIElement
from kb_schema.tool_answers import SearchHit

NAME_WEIGHT = 3.0
PREFIX_WEIGHT = 0.7
TYPO_WEIGHT = 0.5
TYPOS_ALLOWED = ((4, 1), (8, 2))
"""Word length -> typing mistakes allowed from that length: a letter added, missing, replaced, or two swapped."""
MOST_ALIKE = 8
MOST_WORDS = 32
"""Words of a query that are used; the rest is ignored."""

STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "at",
        "be",
        "by",
        "can",
        "do",
        "for",
        "from",
        "how",
        "i",
        "in",
        "is",
        "it",
        "me",
        "my",
        "of",
        "on",
        "or",
        "that",
        "the",
        "this",
        "to",
        "what",
        "where",
        "which",
        "with",
    ]
)
"""Function words. They only decide between two documents that fit the rest equally well."""
STOP_WORD_WEIGHT = 0.1
KIND_WEIGHTS = {"task": 1.0, "screen": 1.0, "presentation_flow": 1.0, "workflow": 1.0, "transition": 0.6}
"""Kinds of documents in order of interest: screens and tasks before transitions."""
OTHER_WEIGHT, EDGE_WEIGHT = 0.8, 0.4

_WORD = re.compile(r"[^\W_]+")
_TEXT_FIELDS = ("description", "title", "narration_template", "narration", "prompt", "goal")
_EXCERPT = 160


@dataclass(frozen=True, slots=True)
class _SearchEntry:
    document: Document
    name: str
    texts: tuple[str, ...]

    @property
    def place(self) -> tuple[str, str]:
        """Where it comes among equals."""
        return self.document.kind, self.document.local_id


@dataclass(frozen=True, slots=True)
class SearchHits:
    """One page of hits."""

    hits: tuple[SearchHit, ...]
    more: bool
    """Whether there are further ones."""


class SearchIndex:
    """Built once per view."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self._entries = sorted(map(_entry, knowledge.documents()), key=lambda entry: entry.place)
        self._found: dict[str, dict[int, float]] = defaultdict(dict)
        for number, entry in enumerate(self._entries):
            named = ((NAME_WEIGHT, entry.name), (NAME_WEIGHT, entry.document.local_id))
            for weight, text in (*named, *((1.0, text) for text in entry.texts)):
                for word in split_words(text):
                    self._found[word][number] = max(weight, self._found[word].get(number, 0.0))
        self._vocabulary = sorted(self._found)
        self._weights = [_kind_weight(entry.document.kind) for entry in self._entries]

    def hits(self, query: str, limit: int, *, kinds: Collection[str] = (), skip: int = 0) -> SearchHits:
        """Best first, equals by kind and id; of some kinds only where those are named."""
        asked = list(dict.fromkeys(split_words(query)))[:MOST_WORDS]
        scores: dict[int, float] = {}
        for word in asked:
            for number, score in self._best(word).items():
                scores[number] = scores.get(number, 0.0) + score
        weights = self._weights
        ranked = sorted(
            (-round(score * weights[number], 3), number)
            for number, score in scores.items()
            if not kinds or self._entries[number].document.kind in kinds
        )
        shown = ranked[skip : skip + limit]
        hits = tuple(self._hit(number, -score, asked) for score, number in shown)
        return SearchHits(hits, more=len(ranked) > skip + limit)

    def _best(self, word: str) -> dict[int, float]:
        """What a word of a query is worth, by the number of each document that says it or something like it."""
        best: dict[int, float] = {}
        little = STOP_WORD_WEIGHT if word in STOP_WORDS else 1.0
        for known, likeness in self._alike(word):
            worth = likeness * self.rarity(known) * little
            for number, weight in self._found[known].items():
                if worth * weight > best.get(number, 0.0):
                    best[number] = worth * weight
        return best

    def rarity(self, word: str) -> float:
        """How much a word tells: the more, the fewer documents say it; 0 for one that none says."""
        said = self._found.get(word)
        return math.log(1 + len(self._entries) / len(said)) if said else 0.0

    def _alike(self, word: str) -> Iterator[tuple[str, float]]:
        if word in self._found:
            yield word, 1.0
        if len(word) >= 3:
            first = bisect_right(self._vocabulary, word)
            longer = takewhile(lambda known: known.startswith(word), islice(self._vocabulary, first, None))
            yield from ((known, PREFIX_WEIGHT) for known in longer)
        slips = max((most for letters, most in TYPOS_ALLOWED if len(word) >= letters), default=0)
        if word not in self._found and slips:
            close = process.extract(
                word, self._vocabulary, scorer=OSA.distance, score_cutoff=slips, limit=MOST_ALIKE
            )
            yield from ((known, TYPO_WEIGHT) for known, _, _ in close)

    def _hit(self, number: int, score: float, asked: Collection[str]) -> SearchHit:
        entry = self._entries[number]
        return SearchHit(
            kind=entry.document.kind,
            id=entry.document.local_id,
            name=entry.name,
            excerpt=_excerpt(entry.texts, asked),
            score=score,
        )


def _kind_weight(kind: str) -> float:
    return KIND_WEIGHTS.get(kind, EDGE_WEIGHT if kind in EDGE_KINDS else OTHER_WEIGHT)


def split_words(text: str) -> list[str]:
    """Lower-case words; `create_agent` is two."""
    return _WORD.findall(text.lower())


@lru_cache(maxsize=10_000)
def _distinct(text: str) -> frozenset[str]:
    """The words of a text that was found; those that are found often are read once."""
    return frozenset(split_words(text))


def _entry(document: Document) -> _SearchEntry:
    name = str(getattr(document, "name", "") or document.local_id)
    former = list_former_ids(document.metadata)
    texts = [document.local_id, *former, *(text for _, node in walk(document) for text in _texts(node))]
    return _SearchEntry(document, name, tuple(dict.fromkeys(text for text in texts if text)))


def _texts(node: BaseModel) -> Iterator[str]:
    for field in _TEXT_FIELDS:
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield value
    if isinstance(node, UIElement):
        yield node.label
        yield from list_former_ids(node.metadata)
    if isinstance(node, Transition | GlobalRecovery):
        yield from node.use_cases
    if isinstance(node, DomContains | TitleContains):
        yield node.value
    if isinstance(node, ErrorRecovery):
        yield " ".join(node.conditions)
    if isinstance(node, Option):
        yield node.label or node.value


def _excerpt(texts: tuple[str, ...], asked: Collection[str]) -> str:
    """The text with most of the words asked for, around the first of them."""
    wanted = frozenset(asked)
    said = max(texts, key=lambda text: len(wanted & _distinct(text)), default="")
    if len(said) <= _EXCERPT:
        return said
    places = [place for word in asked if (place := said.lower().find(word)) >= 0]
    begin = max(0, min(places, default=0) - _EXCERPT // 4)
    return ("..." if begin else "") + said[begin : begin + _EXCERPT] + "..."
