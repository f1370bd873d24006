"""Reprobe by the ladder (PACTS 4.5): an element of which nothing is known but what it is called.

Only words that somebody wrote down for people count: labels, names, placeholders. One element must be
what all of them mean, and say it itself; whatever destroys needs a second witness.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.healing.judging import judge
from agent.healing.matching import Candidate, Match, Outcome
from agent.locating.fingerprints import Fingerprints
from agent.locating.index import PageIndex
from agent.locating.ranking import rank
from agent.locating.strategies import Fit
from agent.locating.texts import Texts
from agent.locating.wanted import Wanted
from agent.locating.words import Grade, grade, plain
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, ValueStrategy
from kb_schema.wording import is_destructive

SAYS_IT_ITSELF = Fit.NEIGHBOUR
"""The least fit that counts: what only begins with the words, or is alone there, may be anything."""
WITNESSES = 2
"""For what cannot be taken back."""


@dataclass(frozen=True, slots=True)
class Called:
    """What somebody calls an element."""

    words: str
    role: str | None = None


def called(selector: Selector, label: object = None) -> tuple[Called, ...]:
    """The words for people in a selector, and the label somebody gave the element, if any."""
    found = [said for strategy in selector.strategies for said in _said(strategy)]
    if isinstance(label, str) and label:
        found.append(Called(label))
    return tuple({(plain(each.words), each.role): each for each in found if plain(each.words)}.values())


def _said(strategy: object) -> Iterator[Called]:
    if isinstance(strategy, NameStrategy):
        yield Called(strategy.name, strategy.role)
    elif isinstance(strategy, ValueStrategy) and strategy.type == "aria":
        yield Called(strategy.value, strategy.role)
    elif isinstance(strategy, SemanticStrategy):
        said = (strategy.label_contains, strategy.placeholder_contains, strategy.text_contains)
        yield from (Called(words, strategy.role) for words in said if words)


def find_by_words(
    index: PageIndex,
    calls: Sequence[Called],
    *,
    action: str | None = None,
    identity: str = "",
    others: Sequence[Fingerprint] = (),
    careful: bool = False,
) -> tuple[Match, int]:
    """The element that the words mean, and how many witnesses say so.

    `identity` is what the knowledge base calls it: a witness, never a reason. `others` are known other
    elements of the page. Two that are close are ambiguous. `careful`: what is done cannot be taken back.
    """
    texts, prints = Texts(index), Fingerprints(index)
    meant: dict[int, set[str]] = {}
    close: dict[int, Called] = {}
    for call in calls:
        ranked = rank(index, Wanted(call.words, action), texts=texts)
        for candidate in (ranked.best, *ranked.rivals):
            if candidate is None or candidate.fit < SAYS_IT_ITSELF:
                continue
            if call.role is not None and candidate.element.role != call.role:
                continue
            close.setdefault(candidate.element.at, call)
            if candidate is ranked.best:
                meant.setdefault(candidate.element.at, set()).add(plain(call.words))
    known = {(other.role, other.name) for other in others if other.name}
    candidates = [
        Candidate(at, prints.of(at), judge(Fingerprint(name=call.words, role=call.role), prints.of(at)))
        for at, call in close.items()
        if (index.elements[at].role, index.elements[at].name) not in known
    ]
    if not candidates:
        return Match(Outcome.NOT_FOUND, None, (), "nothing on the page is called so"), 0
    best, *rivals = candidates
    if rivals or best.at not in meant:
        return Match(Outcome.AMBIGUOUS, best, tuple(rivals), "its words fit more than one element"), 0
    witnesses = len(meant[best.at]) + _is_identified(index, best.at, identity)
    destroys = any(map(is_destructive, (*(call.words for call in calls), *best.seen.words)))
    if (destroys or careful) and witnesses < WITNESSES:
        why = f"what {'destroys' if destroys else 'may not be done twice'} is not taken by its name alone"
        return Match(Outcome.NOT_FOUND, best, (), why), witnesses
    return Match(
        Outcome.FOUND, best, (), f"it is called {best.seen.name or close[best.at].words!r}", 1.0
    ), witnesses


def _is_identified(index: PageIndex, at: int, identity: str) -> bool:
    """Whether its author calls it as the knowledge base does."""
    said = index.elements[at].identities
    return bool(identity) and any(grade(identity, each) is Grade.EXACT for each in said)
