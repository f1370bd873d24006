"""Full-text search over the words of one website's knowledge, without help of a store.

Each word of the query matches as a whole word, as a prefix, and with one typing mistake. Rare words count more, and
so do words in a name. A hit says how much of the query its document says (`match`), so that a caller can leave out
documents that share only a word with it.
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
PREFIX_MATCH = 0.9
TYPO_MATCHES = (0.8, 0.5)
"""How much of a word of the query is said by one that begins with it, or has one or two typing mistakes."""
LEAST_MATCH = 0.48
"""Below this, a document is not about the query. Chosen on the questions of tests/data/search_questions.yaml; the
test leaves out one knowledge base at a time (docs/decisions/0103-nothing-on-this.md)."""
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


class _AskedWord:
    """A word of a query: the known words that it may mean, and how much it tells."""

    def __init__(self, word: str, index: SearchIndex) -> None:
        self.word = word
        self.share = STOP_WORD_WEIGHT if word in STOP_WORDS else 1.0
        self.like = tuple(index.alike(word))
        self.tells = self.share * index.tells([known for known, _, _ in self.like])
        self._matches: dict[str, float] = {}
        for known, _, match in self.like:
            self._matches[known] = max(match, self._matches.get(known, 0.0))

    def match(self, words: Collection[str]) -> float:
        """Return how much of it these words say, 0 to 1."""
        return max((match for known, match in self._matches.items() if known in words), default=0.0)


def _match(entry: _SearchEntry, asked: Collection[_AskedWord]) -> float:
    """Return how much of a query the document's names and one of its texts say together, 0 to 1.

    Not all of its texts: a demo of many segments says most words somewhere.
    """
    named = [each.match(_distinct(f"{entry.name} {entry.document.local_id}")) for each in asked]
    every = sum(each.tells for each in asked)
    return max(
        sum(each.tells * max(by_name, each.match(words)) for each, by_name in zip(asked, named, strict=True))
        / every
        for words in map(_distinct, entry.texts)
    )


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

    def hits(
        self, query: str, limit: int, *, kinds: Collection[str] = (), skip: int = 0, least: float = 0.0
    ) -> SearchHits:
        """Best first, equals by kind and id; of some kinds only where those are named.

        `least`: leave out documents with a lower `match`.
        """
        asked = [_AskedWord(word, self) for word in dict.fromkeys(split_words(query)[:MOST_WORDS])]
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
        measured = ((-score, number, _match(self._entries[number], asked)) for score, number in ranked)
        about = (each for each in measured if each[2] >= least)
        shown = list(islice(about, skip, skip + limit + 1))
        words = [each.word for each in asked]
        return SearchHits(
            tuple(self._hit(number, score, match, words) for score, number, match in shown[:limit]),
            more=len(shown) > limit,
        )

    def unknown_words(self, query: str) -> tuple[str, ...]:
        """Return the words of a query that no document says, nor one like it; function words left out."""
        asked = dict.fromkeys(split_words(query)[:MOST_WORDS])
        return tuple(word for word in asked if word not in STOP_WORDS and not any(self.alike(word)))

    def _best(self, asked: _AskedWord) -> dict[int, float]:
        """What a word of a query is worth, by the number of each document that says it or something like it."""
        best: dict[int, float] = {}
        for known, likeness, _ in asked.like:
            worth = likeness * self.rarity(known) * asked.share
            for number, weight in self._found[known].items():
                if worth * weight > best.get(number, 0.0):
                    best[number] = worth * weight
        return best

    def rarity(self, word: str) -> float:
        """How much a word tells: the more, the fewer documents say it; 0 for one that none says."""
        said = self._found.get(word)
        return math.log(1 + len(self._entries) / len(said)) if said else 0.0

    def alike(self, word: str) -> Iterator[tuple[str, float, float]]:
        """Return the known words that a word of a query may mean, each with its weight and its match."""
        if word in self._found:
            yield word, 1.0, 1.0
        if word.endswith("s") and word[:-1] in self._found:
            yield word[:-1], PREFIX_WEIGHT, PREFIX_MATCH
        if len(word) >= 3:
            first = bisect_right(self._vocabulary, word)
            longer = takewhile(lambda known: known.startswith(word), islice(self._vocabulary, first, None))
            yield from ((known, PREFIX_WEIGHT, PREFIX_MATCH) for known in longer)
        slips = max((most for letters, most in TYPOS_ALLOWED if len(word) >= letters), default=0)
        if word not in self._found and slips:
            close = process.extract(
                word, self._vocabulary, scorer=OSA.distance, score_cutoff=slips, limit=MOST_ALIKE
            )
            yield from ((known, TYPO_WEIGHT, TYPO_MATCHES[max(wrong, 1) - 1]) for known, wrong, _ in close)

    def tells(self, like: Collection[str]) -> float:
        """How much a word tells that may mean these. One that no document says tells the most."""
        return max(map(self.rarity, like), default=math.log(1 + len(self._entries)))

    def _hit(self, number: int, score: float, match: float, asked: Collection[str]) -> SearchHit:
        entry = self._entries[number]
        return SearchHit(
            kind=entry.document.kind,
            id=entry.document.local_id,
            name=entry.name,
            excerpt=_excerpt(entry.texts, asked),
            score=score,
            match=round(match, 2),
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
