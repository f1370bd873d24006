"""Finds an element by its words, where no fingerprint of it exists (PACTS 4.5, ladder of rounds).

Only words written for people count: labels, names, placeholders. Exactly one element must match all of them
by its own words; a destructive element needs a second witness.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.healing.fingerprint_comparison import compare_fingerprints
from agent.healing.fingerprint_search import FingerprintCandidate, FingerprintMatch, SearchOutcome
from agent.locators.candidate_ranking import rank_candidates
from agent.locators.discovery_strategies import DiscoveryFit
from agent.locators.element_descriptions import ElementDescription
from agent.locators.element_texts import ElementTexts
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import PageIndex
from agent.locators.word_comparison import WordFit, compare_words, normalize_words
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, ValueStrategy
from kb_schema.text_similarity import is_destructive

SAYS_IT_ITSELF = DiscoveryFit.NEIGHBOUR
"""The least fit that counts. A mere beginning with the words is no match."""
WITNESSES = 2
"""Needed for actions that cannot be undone."""


@dataclass(frozen=True, slots=True)
class ElementWords:
    """Words for an element, with its role if it is known."""

    words: str
    role: str | None = None


def collect_element_words(selector: Selector, label: object = None) -> tuple[ElementWords, ...]:
    """Return the words for people in a selector, and the element's label if it has one."""
    found = [said for strategy in selector.strategies for said in _read_strategy_words(strategy)]
    if isinstance(label, str) and label:
        found.append(ElementWords(label))
    return tuple(
        {
            (normalize_words(each.words), each.role): each for each in found if normalize_words(each.words)
        }.values()
    )


def _read_strategy_words(strategy: object) -> Iterator[ElementWords]:
    if isinstance(strategy, NameStrategy):
        yield ElementWords(strategy.name, strategy.role)
    elif isinstance(strategy, ValueStrategy) and strategy.type == "aria":
        yield ElementWords(strategy.value, strategy.role)
    elif isinstance(strategy, SemanticStrategy):
        said = (strategy.label_contains, strategy.placeholder_contains, strategy.text_contains)
        yield from (ElementWords(words, strategy.role) for words in said if words)


def find_by_words(
    index: PageIndex,
    calls: Sequence[ElementWords],
    *,
    action: str | None = None,
    identity: str = "",
    others: Sequence[Fingerprint] = (),
    careful: bool = False,
) -> tuple[FingerprintMatch, int]:
    """Return the element that the words mean, and the number of witnesses for it.

    `identity` is its id in the knowledge base: a witness, but not enough alone. `others` are known other
    elements of the page. Two close candidates are ambiguous. `careful`: the action cannot be undone.
    """
    texts, prints = ElementTexts(index), PageFingerprints(index)
    meant: dict[int, set[str]] = {}
    close: dict[int, ElementWords] = {}
    for call in calls:
        ranked = rank_candidates(index, ElementDescription(call.words, action), texts=texts)
        for candidate in (ranked.best, *ranked.rivals):
            if candidate is None or candidate.fit < SAYS_IT_ITSELF:
                continue
            if call.role is not None and candidate.element.role != call.role:
                continue
            close.setdefault(candidate.element.at, call)
            if candidate is ranked.best:
                meant.setdefault(candidate.element.at, set()).add(normalize_words(call.words))
    known = {(other.role, other.name) for other in others if other.name}
    candidates = [
        FingerprintCandidate(
            at,
            prints.of(at),
            compare_fingerprints(Fingerprint(name=call.words, role=call.role), prints.of(at)),
        )
        for at, call in close.items()
        if (index.elements[at].role, index.elements[at].name) not in known
    ]
    if not candidates:
        return FingerprintMatch(SearchOutcome.NOT_FOUND, None, (), "no element on the page has this name"), 0
    best, *rivals = candidates
    if rivals or best.at not in meant:
        return FingerprintMatch(
            SearchOutcome.AMBIGUOUS, best, tuple(rivals), "the words match more than one element"
        ), 0
    witnesses = len(meant[best.at]) + _is_identified(index, best.at, identity)
    destroys = any(map(is_destructive, (*(call.words for call in calls), *best.seen.words)))
    if (destroys or careful) and witnesses < WITNESSES:
        why = f"a {'destructive' if destroys else 'non-idempotent'} action needs more than the element's name"
        return FingerprintMatch(SearchOutcome.NOT_FOUND, best, (), why), witnesses
    return FingerprintMatch(
        SearchOutcome.FOUND, best, (), f"it is called {best.seen.name or close[best.at].words!r}", 1.0
    ), witnesses


def _is_identified(index: PageIndex, at: int, identity: str) -> bool:
    """Whether an id or test id of the element equals its id in the knowledge base."""
    said = index.elements[at].identities
    return bool(identity) and any(compare_words(identity, each) is WordFit.EXACT for each in said)
