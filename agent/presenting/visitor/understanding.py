"""From what a visitor said to what is wanted: grammar, and patience with slips of the pen. No model is asked.

Pure. A whole utterance is matched first, then its clauses; what is left over is never guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

from agent.presenting.visitor.languages import Language, fold, language, languages
from agent.presenting.visitor.requests import Kind, Request

LONGEST_TEXT = 300
"""Characters of an utterance that are looked at."""
SLIPS = ((4, 1), (10, 2))
"""From so many letters on a word may have so many slips: a letter more, less, other, or two swapped."""
LONGEST_NAME = 4
"""Words of a name."""
SHORTEST_STRAY = 2
"""A word of so few letters that nobody knows is a slip of the finger."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019.@-][^\W_]+)*")
_SENTENCE = re.compile(r"[.!?;\n]+\s|[.!?;]+$")
_CLAUSE = re.compile(
    r"[,:\u2013\u2014]+\s*(?:(?:and|but|und|aber)\b\s+)?| - |\s+\b(?:and|but|und|aber)\b\s+", re.IGNORECASE
)
_LITTLE_WORTH = (Kind.UNKNOWN, Kind.YES, Kind.NO, Kind.GREET, Kind.THANKS)
"""From the least telling: what stands beside one of these is what is meant."""


@dataclass(frozen=True, slots=True)
class _Word:
    said: str
    known: str
    """Folded, its slips mended."""


def understand(
    text: str, in_language: str = "en", *, presenter: str = "", name_asked: bool = False
) -> Request:
    """What a visitor wants; `Kind.UNKNOWN` where that cannot be told.

    Tried in the show's own language first. `presenter`: by what name one is spoken to. `name_asked`: the
    visitor was just asked for a name, so that a bare name is one.
    """
    heard = unicodedata.normalize("NFKC", text)[:LONGEST_TEXT].replace("\u2019", "'").strip()
    own = in_language if in_language in languages() else "en"
    first: Request | None = None
    for name in (own, *(each for each in languages() if each != own)):
        request = _Understanding(language(name), presenter, name_asked=name_asked).of(heard)
        if request.kind is not Kind.UNKNOWN:
            return request if not _only_a_guess(request, name_asked) else _named(heard, request)
        first = first or request
    assert first is not None  # noqa: S101 - there is at least one language
    return _named(heard, first) if name_asked else first


def asks_for_name(text: str, in_language: str = "en") -> bool:
    """Whether words that were spoken ask who is listening."""
    own = language(in_language if in_language in languages() else "en")
    return own.wants_name.search("".join(fold(word) + " " for word in _WORD.findall(text))) is not None


def _only_a_guess(request: Request, name_asked: bool) -> bool:
    """Whether what looks like a request may as well be the name that was asked for."""
    return name_asked and request.kind is Kind.QUESTION and "?" not in request.text


def _named(text: str, otherwise: Request) -> Request:
    """A bare name, where one was asked for; else what it was taken for."""
    words = _WORD.findall(text)
    strange = any(char.isdigit() for char in text) or any(fold(word) in _no_names() for word in words)
    if 0 < len(words) < LONGEST_NAME and not strange:
        return Request(Kind.INTRODUCE, text, name=_as_name(words), language=otherwise.language)
    return otherwise


@cache
def _no_names() -> frozenset[str]:
    known = [language(name) for name in languages()]
    words = (each.stop_words | each.small_words | each.not_names | each.weak_words for each in known)
    return frozenset().union(*words, *(each.fillers | each.interjections for each in known))


class _Understanding:
    def __init__(self, known: Language, presenter: str, *, name_asked: bool) -> None:
        self._language, self._name_asked = known, name_asked
        self._address = frozenset(fold(word) for word in presenter.split())

    def of(self, text: str) -> Request:
        """The most telling of what it says, and what it says besides."""
        sentences = [each for each in _SENTENCE.split(text) if each.strip()]
        told: list[Request] = []
        for number, sentence in enumerate(sentences, start=1):
            marked = number == len(sentences) and text.rstrip().endswith("?")
            told += self._sentence(sentence, text, marked=marked)
        weighty = [request for request in told if request.kind not in _LITTLE_WORTH]
        if len(weighty) > 1:  # `stop and show me ...` is not the end
            weighty = [request for request in weighty if request.kind is not Kind.STOP] or weighty
        if weighty:
            besides = next((each for each in weighty[1:] if each.kind is not weighty[0].kind), None)
            return replace(weighty[0], then=besides)
        return told[0] if told else Request(Kind.UNKNOWN, text, language=self._language.language)

    def _sentence(self, sentence: str, text: str, *, marked: bool) -> list[Request]:
        """The whole of it; else it is a question by its beginning; else its clauses; else a question by its
        mark.
        """
        whole = self._matched(sentence, text)
        if whole is not None:
            return [whole]
        words = [word for word in self._words(sentence) if not self._empty(word)]
        polite = self._language.opening.match(_line(words)) is not None
        if self._asks(sentence) and not polite:
            return [self._question(sentence, text)]
        clauses = [clause for clause in _CLAUSE.split(sentence) if clause.strip()]
        clauses = [clause for clause in clauses if not self._only_interjects(clause)] or clauses
        found = [self._clause(each, text) for each in clauses]
        told = [each for each in found if each is not None]
        if not told and (self._asks(sentence) or (marked and len(words) > 1)):
            return [self._question(sentence, text)]
        return told

    def _only_interjects(self, clause: str) -> bool:
        return all(word.known in self._language.interjections for word in self._words(clause))

    def _clause(self, clause: str, text: str) -> Request | None:
        request = self._matched(clause, text)
        if request is None and self._asks(clause):
            return self._question(clause, text)
        if request is None and self._name_asked:
            named = _named(clause, Request(Kind.UNKNOWN, text, language=self._language.language))
            return named if named.kind is Kind.INTRODUCE else None
        return request

    def _question(self, question: str, text: str) -> Request:
        return Request(Kind.QUESTION, text, topic=question.strip(" ?"), language=self._language.language)

    def _matched(self, text: str, whole: str) -> Request | None:
        versions = [(_line(words), words) for words in self._versions(self._words(text)) if words]
        for patterns in self._language.compiled:  # whole phrases before those that take any words
            for line, words in versions:
                for pattern in patterns:
                    match = pattern.expression.fullmatch(line)
                    request = self._request(pattern.kind, match, words, whole) if match else None
                    if request is not None:
                        return request
        return None

    def _versions(self, words: Sequence[_Word]) -> Iterator[Sequence[_Word]]:
        """As it was said, without what is only polite, without slips of the finger; each without what it
        opens and closes with first.
        """
        known = self._language
        plain = [word for word in words if not self._empty(word)]
        steady = [
            word for word in plain if len(word.known) > SHORTEST_STRAY or word.known in known.vocabulary
        ]
        for version in (words, plain, steady):
            bare = self._opened(version)
            yield bare
            yield self._closed(bare)
            yield version
            yield self._closed(version)

    def _opened(self, words: Sequence[_Word]) -> Sequence[_Word]:
        while len(words) > 1 and words[0].known in self._language.interjections:
            words = words[1:]
        opening = self._language.opening.match(_line(words))
        return words if opening is None else words[opening[0].count(" ") :]

    def _closed(self, words: Sequence[_Word]) -> Sequence[_Word]:
        line = "".join((fold(word.said) if word.said else word.known) + " " for word in words)
        closing = self._language.closing.search(line)
        return words if closing is None else words[: len(words) - closing[0].count(" ")]

    def _empty(self, word: _Word) -> bool:
        return word.known in self._language.fillers or word.known in self._address

    def _words(self, text: str) -> list[_Word]:
        words: list[_Word] = []
        for said in _WORD.findall(text):
            spelt = self._language.contractions.get(said.casefold())
            if spelt is not None:
                words += [_Word(said if index == 0 else "", fold(w)) for index, w in enumerate(spelt.split())]
            else:
                words.append(_Word(said, self._mended(fold(said))))
        return words

    def _mended(self, word: str) -> str:
        """The word of the grammar that is meant, where it is nearly one."""
        slips = max((most for letters, most in SLIPS if len(word) >= letters), default=0)
        if not slips or word in self._language.vocabulary:
            return word
        near = process.extractOne(word, self._language.vocabulary, scorer=OSA.distance, score_cutoff=slips)
        return str(near[0]) if near is not None and len(near[0]) > SHORTEST_STRAY + 1 else word

    def _request(self, kind: Kind, match: re.Match[str], words: Sequence[_Word], text: str) -> Request | None:
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
        return Request(kind, text, topic, name, self._language.language)

    def _topic(self, words: Sequence[_Word]) -> str:
        """The words themselves, without articles; nothing where only small words are left."""
        words = list(words)
        words = list(self._closed(words))
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

    def _name(self, words: Sequence[_Word], *, written: bool) -> str:
        """A name, up to the first word that is none. `written`: only what is written as a name."""
        name: list[str] = []
        if any(word.known in self._language.joins for word in words):
            return ""  # the rest is another wish
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
        """Whether it is a question by its beginning."""
        words = self._words(sentence)
        while words and self._empty(words[0]):
            words = words[1:]
        if len(words) < 2:
            return False
        if self._language.asking.match(_line(words)):
            return True
        return words[0].known in self._language.questions


def _line(words: Sequence[_Word]) -> str:
    return "".join(word.known + " " for word in words)


def _within(match: re.Match[str], slot: str, words: Sequence[_Word]) -> list[_Word]:
    begin, end = match.span(slot)
    line = match.string
    return list(words[line[:begin].count(" ") : line[:end].count(" ")])


def _as_name(words: Sequence[str]) -> str:
    """As names are written: `o'brien` is O'Brien, what has a capital anywhere is left alone."""
    return " ".join(w if any(c.isupper() for c in w) else re.sub(r"(^|['-])(\w)", _upper, w) for w in words)


def _upper(match: re.Match[str]) -> str:
    return match[1] + match[2].upper()
