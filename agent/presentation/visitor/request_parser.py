"""Parses a visitor's words into requests by grammar, with tolerance for typing errors. No model is used.

Pure. A whole utterance is matched first, then its clauses. Unmatched text is not interpreted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

from agent.presentation.visitor.languages import Language, fold_words, list_languages, load_language
from agent.presentation.visitor.visitor_requests import RequestKind, VisitorRequest

LONGEST_TEXT = 300
"""Most characters of an utterance that are parsed."""
SLIPS = ((4, 1), (10, 2))
"""Minimum word lengths for one and two typing errors: a letter inserted, missing, replaced, or swapped."""
MOST_REQUESTS = 3
"""Most requests of one message that are handled."""
LONGEST_NAME = 4
"""Most words of a name."""
SHORTEST_STRAY = 2
"""An unknown word of at most this many letters is treated as a typing error."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019.@-][^\W_]+)*")
_SENTENCE = re.compile(r"[.!?;\n]+\s|[.!?;]+$")
_CLAUSE = re.compile(
    r"[,:\u2013\u2014]+\s*(?:(?:and|but|und|aber)\b\s+)?| - |\s+\b(?:and|but|und|aber)\b\s+", re.IGNORECASE
)
_JOINED = re.compile(r"^\s*(?:and|but|und|aber)\b[\s,]*(?=\S)", re.IGNORECASE)
"""What joins a sentence to the one before."""
_LITTLE_WORTH = (RequestKind.UNKNOWN, RequestKind.YES, RequestKind.NO, RequestKind.GREET, RequestKind.THANKS)
"""Least specific request kinds: a request beside one of these wins."""

_LEADS_AWAY = frozenset(
    {
        RequestKind.BACK,
        RequestKind.SKIP,
        RequestKind.SHOW,
        RequestKind.JUMP,
        RequestKind.REPLAY,
        RequestKind.RESTART,
        RequestKind.STOP,
    }
)
"""Requests after which the flow goes on elsewhere: what else was asked is answered before."""


@dataclass(frozen=True, slots=True)
class _RequestWord:
    said: str
    known: str
    """Folded, with typing errors corrected."""


def parse_request(
    text: str, in_language: str = "en", *, presenter: str = "", name_asked: bool = False
) -> VisitorRequest:
    """Return what a visitor wants; `RequestKind.UNKNOWN` if unclear.

    The presentation's language is tried first. `presenter`: the presenter's name. `name_asked`: the visitor
    was just asked for a name, so that a bare name is accepted.
    """
    heard = unicodedata.normalize("NFKC", text)[:LONGEST_TEXT].replace("\u2019", "'").strip()
    own = in_language if in_language in list_languages() else "en"
    first: VisitorRequest | None = None
    for name in (own, *(each for each in list_languages() if each != own)):
        request = _RequestParser(load_language(name), presenter, name_asked=name_asked).parse(heard)
        if request.kind is not RequestKind.UNKNOWN:
            return request if not _only_a_guess(request, name_asked) else _named(heard, request)
        first = first or request
    assert first is not None  # noqa: S101 - there is at least one language
    return _named(heard, first) if name_asked else first


def asks_for_name(text: str, in_language: str = "en") -> bool:
    """Return whether the spoken words ask the visitor for a name."""
    own = load_language(in_language if in_language in list_languages() else "en")
    return own.wants_name.search("".join(fold_words(word) + " " for word in _WORD.findall(text))) is not None


def _only_a_guess(request: VisitorRequest, name_asked: bool) -> bool:
    """Return whether an apparent request may be the name that was asked for."""
    return name_asked and request.kind is RequestKind.QUESTION and "?" not in request.text


def _named(text: str, otherwise: VisitorRequest) -> VisitorRequest:
    """Return a request with a bare name if one was asked for; otherwise the given request."""
    words = _WORD.findall(text)
    strange = any(char.isdigit() for char in text) or any(fold_words(word) in _no_names() for word in words)
    if 0 < len(words) < LONGEST_NAME and not strange:
        return VisitorRequest(RequestKind.INTRODUCE, text, name=_as_name(words), language=otherwise.language)
    return otherwise


@cache
def _no_names() -> frozenset[str]:
    known = [load_language(name) for name in list_languages()]
    words = (each.stop_words | each.small_words | each.not_names | each.weak_words for each in known)
    return frozenset().union(*words, *(each.fillers | each.interjections for each in known))


class _RequestParser:
    def __init__(self, known: Language, presenter: str, *, name_asked: bool) -> None:
        self._language, self._name_asked = known, name_asked
        self._address = frozenset(fold_words(word) for word in presenter.split())

    def parse(self, text: str) -> VisitorRequest:
        """Return the most specific request in a text, with the others as additional ones."""
        sentences = [each for each in _SENTENCE.split(text) if each.strip()]
        requests: list[VisitorRequest] = []
        for number, sentence in enumerate(sentences, start=1):
            marked = number == len(sentences) and text.rstrip().endswith("?")
            requests += self._sentence(sentence, text, marked=marked)
        weighty = [request for request in requests if request.kind not in _LITTLE_WORTH]
        if len(weighty) > 1:  # `stop and show me ...` does not end the presentation
            weighty = [request for request in weighty if request.kind is not RequestKind.STOP] or weighty
        if weighty:
            return _chain(weighty)
        return (
            requests[0]
            if requests
            else VisitorRequest(RequestKind.UNKNOWN, text, language=self._language.language)
        )

    def _sentence(self, sentence: str, text: str, *, marked: bool) -> list[VisitorRequest]:
        """Return the requests in an utterance: as a whole, as a question by its start, by clauses, or as a
        question by its question mark.
        """
        sentence = _JOINED.sub("", sentence)
        whole = self._match(sentence, text)
        if whole is not None:
            return [whole]
        words = [word for word in self._words(sentence) if not self._empty(word)]
        polite = self._language.opening.match(_line(words)) is not None
        clauses = [clause for clause in _CLAUSE.split(sentence) if clause.strip()]
        if self._asks(sentence) and not polite:
            each_asks = len(clauses) > 1 and all(self._asks(clause) for clause in clauses)
            return [
                self._match(part, text) or self._question(part, text)
                for part in (clauses if each_asks else [sentence])
            ]
        clauses = [clause for clause in clauses if not self._only_interjects(clause)] or clauses
        found = [self._clause(each, text) for each in clauses]
        requests = [each for each in found if each is not None]
        if not requests and (self._asks(sentence) or (marked and len(words) > 1)):
            return [self._question(sentence, text)]
        return requests

    def _only_interjects(self, clause: str) -> bool:
        return all(word.known in self._language.interjections for word in self._words(clause))

    def _clause(self, clause: str, text: str) -> VisitorRequest | None:
        request = self._match(clause, text)
        if request is None and self._asks(clause):
            return self._question(clause, text)
        if request is None and self._name_asked:
            named = _named(
                clause, VisitorRequest(RequestKind.UNKNOWN, text, language=self._language.language)
            )
            return named if named.kind is RequestKind.INTRODUCE else None
        return request

    def _question(self, question: str, text: str) -> VisitorRequest:
        return VisitorRequest(
            RequestKind.QUESTION, text, topic=question.strip(" ?"), language=self._language.language
        )

    def _match(self, text: str, whole: str) -> VisitorRequest | None:
        versions = [(_line(words), words) for words in self._list_variants(self._words(text)) if words]
        for patterns in self._language.compiled:  # whole phrases before those with free words
            for line, words in versions:
                for pattern in patterns:
                    match = pattern.expression.fullmatch(line)
                    request = self._request(pattern.kind, match, words, whole) if match else None
                    if request is not None:
                        return request
        return None

    def _list_variants(self, words: Sequence[_RequestWord]) -> Iterator[Sequence[_RequestWord]]:
        """Return variants of the words: as given, without polite words, with typing errors corrected; each
        first without openings and closings.
        """
        known = self._language
        plain = [word for word in words if not self._empty(word)]
        steady = [
            word for word in plain if len(word.known) > SHORTEST_STRAY or word.known in known.vocabulary
        ]
        for version in (words, plain, steady):
            bare = self._strip_opening(version)
            yield bare
            yield self._strip_closing(bare)
            yield version
            yield self._strip_closing(version)

    def _strip_opening(self, words: Sequence[_RequestWord]) -> Sequence[_RequestWord]:
        while len(words) > 1 and words[0].known in self._language.interjections:
            words = words[1:]
        opening = self._language.opening.match(_line(words))
        return words if opening is None else words[opening[0].count(" ") :]

    def _strip_closing(self, words: Sequence[_RequestWord]) -> Sequence[_RequestWord]:
        line = "".join((fold_words(word.said) if word.said else word.known) + " " for word in words)
        closing = self._language.closing.search(line)
        return words if closing is None else words[: len(words) - closing[0].count(" ")]

    def _empty(self, word: _RequestWord) -> bool:
        return word.known in self._language.fillers or word.known in self._address

    def _words(self, text: str) -> list[_RequestWord]:
        words: list[_RequestWord] = []
        for said in _WORD.findall(text):
            spelt = self._language.contractions.get(said.casefold())
            if spelt is not None:
                words += [
                    _RequestWord(said if index == 0 else "", fold_words(w))
                    for index, w in enumerate(spelt.split())
                ]
            else:
                words.append(_RequestWord(said, self._correct_typos(fold_words(said))))
        return words

    def _correct_typos(self, word: str) -> str:
        """Return the grammar word that is nearly spelt like this."""
        slips = max((most for letters, most in SLIPS if len(word) >= letters), default=0)
        if not slips or word in self._language.vocabulary:
            return word
        near = process.extractOne(word, self._language.vocabulary, scorer=OSA.distance, score_cutoff=slips)
        return str(near[0]) if near is not None and len(near[0]) > SHORTEST_STRAY + 1 else word

    def _request(
        self, kind: RequestKind, match: re.Match[str], words: Sequence[_RequestWord], text: str
    ) -> VisitorRequest | None:
        slots = match.groupdict()
        topic = name = ""
        if slots.get("topic"):
            topic = self._topic(_within(match, "topic", words))
            if not topic:
                return None
        for slot in ("name", "Name"):
            if slots.get(slot):
                name = self._name(_within(match, slot, words), written=slot == "Name")
                if not name:
                    return None
        return VisitorRequest(kind, text, topic, name, self._language.language)

    def _topic(self, words: Sequence[_RequestWord]) -> str:
        """Return the topic's words without articles; empty if only function words are left."""
        words = list(words)
        words = list(self._strip_closing(words))
        while words and self._empty(words[-1]):
            words.pop()
        while words:
            article = self._language.article.match(_line(words))
            if article is None and not self._empty(words[0]):
                break
            words = words[article[0].count(" ") if article else 1 :]
        if all(word.known in self._language.small_words for word in words):
            return ""
        return " ".join(word.said for word in words if word.said)

    def _name(self, words: Sequence[_RequestWord], *, written: bool) -> str:
        """Return a name up to the first word that is none. `written`: only words with a capital letter."""
        name: list[str] = []
        if any(word.known in self._language.joins for word in words):
            return ""  # the rest is another request
        for word in words:
            plain = word.known in self._language.ends_name or word.known in self._language.not_names
            if not word.said or plain or len(name) == LONGEST_NAME:
                break
            if written and not self._name_asked and not word.said[0].isupper():
                break
            name.append(word.said)
        ended = len(name) < len(words) and words[len(name)].known not in self._language.ends_name
        return "" if not name or (ended and written) else _as_name(name)

    def _asks(self, sentence: str) -> bool:
        """Return whether it starts as a question."""
        words = self._words(sentence)
        while words and self._empty(words[0]):
            words = words[1:]
        if len(words) < 2:
            return False
        if self._language.asking.match(_line(words)):
            return True
        return words[0].known in self._language.questions


def _chain(requests: Sequence[VisitorRequest]) -> VisitorRequest:
    """Return the first request with the next ones attached. Of other kinds than questions, only the first one counts."""
    kept: list[VisitorRequest] = []
    for each in requests:
        question = each.kind is RequestKind.QUESTION and each.topic not in (other.topic for other in kept)
        if question or all(each.kind is not other.kind for other in kept):
            kept.append(each)
    kept = sorted(
        kept[:MOST_REQUESTS], key=lambda each: each.kind in _LEADS_AWAY
    )  # what leads away ends the conversation
    chained: VisitorRequest | None = None
    for each in reversed(kept):
        chained = replace(each, then=chained)
    assert chained is not None  # noqa: S101 - the first request is always kept
    return chained


def _line(words: Sequence[_RequestWord]) -> str:
    return "".join(word.known + " " for word in words)


def _within(match: re.Match[str], slot: str, words: Sequence[_RequestWord]) -> list[_RequestWord]:
    begin, end = match.span(slot)
    line = match.string
    return list(words[line[:begin].count(" ") : line[:end].count(" ")])


def _as_name(words: Sequence[str]) -> str:
    """Return a name in its usual case: `o'brien` becomes O'Brien; words with a capital letter stay unchanged."""
    return " ".join(w if any(c.isupper() for c in w) else re.sub(r"(^|['-])(\w)", _upper, w) for w in words)


def _upper(match: re.Match[str]) -> str:
    return match[1] + match[2].upper()
