"""Translates a visitor's question into English by dictionary, word by word. No model is used.

Pure. The result is for retrieval, not for reading: function words are left out. Words without a translation stay as they are and are
listed, so that an answer without them can be refused. One YAML file per language in `dictionaries`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import takewhile
from pathlib import Path

import yaml

from agent.negations import list_negations
from agent.presentation.visitor.languages import fold_words, list_languages, load_language
from kb_schema.base import Model

INTO = "en"
"""The language that the dictionaries translate into."""
_FOLDER = Path(__file__).parent / "dictionaries"
_WORD = re.compile(r"[\w\u0900-\u097f]+")
_FEWEST_LETTERS = {"hi": 2}
"""Letters that two forms of a word must share; 4 in other languages."""
_MARKS = "\u0900\u097f"


@dataclass(frozen=True, slots=True)
class TranslatedQuestion:
    """A question in English words."""

    text: str
    language: str
    """The language it was asked in."""
    untranslated: tuple[str, ...] = ()
    """Folded words that the dictionary does not have, and negations."""


class _Dictionary(Model):
    phrases: dict[str, str]
    """Beginnings of questions, and what English begins with."""
    stop_words: frozenset[str]
    """Words that are left out."""
    follow_ups: frozenset[str] = frozenset()
    """First words of a question that leaves out what the one before said; of languages that have no phrases."""
    endings: frozenset[str]
    words: dict[str, tuple[str, ...]]
    """English word -> its forms."""

    @cached_property
    def by_form(self) -> dict[str, str]:
        """Folded form -> English word."""
        return {fold(form): word for word, forms in self.words.items() for form in forms}

    @cached_property
    def by_phrase(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Folded words of each phrase, the longest first."""
        told = [(tuple(map(fold, phrase.split())), meaning) for phrase, meaning in self.phrases.items()]
        return tuple(sorted(told, key=lambda each: -len(each[0])))

    @cached_property
    def silent(self) -> frozenset[str]:
        """Folded words that are left out."""
        return frozenset(map(fold, self.stop_words))


def detect_language(text: str, otherwise: str) -> str:
    """Return the language of a text by its usual words; `otherwise` if unclear.

    >>> detect_language("Was kostet das?", "en"), detect_language("What does it cost?", "de")
    ('de', 'en')
    """
    words = [fold(word) for word in _WORD.findall(text)]
    if not words:
        return otherwise
    scores = {name: _measure_known(words, name) for name in {*list_dictionaries(), INTO, otherwise}}
    best = max(scores, key=lambda name: (scores[name], name == otherwise))
    return best if scores[best] > scores[otherwise] else otherwise


def translate_question(text: str, language: str) -> TranslatedQuestion | None:
    """Return a question in English words; None if there is no dictionary for its language."""
    if language not in list_dictionaries():
        return None
    known = _load_dictionary(language)
    words = [fold(word) for word in _WORD.findall(text)]
    said: list[str] = []
    missing: list[str] = []
    at = 0
    while at < len(words):
        phrase = next(
            (each for each in known.by_phrase if tuple(words[at : at + len(each[0])]) == each[0]), None
        )
        if phrase is not None:
            said.append(phrase[1])
            at += len(phrase[0])
            continue
        word = words[at]
        at += 1
        if word in list_negations(language):
            missing.append(word)
        elif (meaning := _find_meaning(word, known, _FEWEST_LETTERS.get(language, 4))) is not None:
            said.append(meaning)
        elif word not in known.silent:
            said.append(word)
            missing.append(word)
    return TranslatedQuestion(_in_english_order(said), language, tuple(dict.fromkeys(missing)))


def begins_as_follow_up(text: str, language: str) -> bool:
    """Return whether a question leaves out what the one before said: `¿Y una tarjeta?`."""
    words = [fold(word) for word in _WORD.findall(text)]
    return (
        bool(words)
        and language in list_dictionaries()
        and words[0] in set(map(fold, _load_dictionary(language).follow_ups))
    )


def list_dictionaries() -> tuple[str, ...]:
    """Return the languages that can be translated."""
    return _list_dictionaries()


def fold(word: str) -> str:
    """Return a word as words are compared; signs of Devanagari are kept, except the dot below."""
    if any(_MARKS[0] <= letter <= _MARKS[1] for letter in word):
        return unicodedata.normalize("NFD", word).replace("\u093c", "").replace("\u0901", "\u0902")
    return fold_words(word)


def _find_meaning(word: str, known: _Dictionary, fewest: int) -> str | None:
    if word in known.by_form:
        return known.by_form[word]
    endings = {"", *map(fold, known.endings)}
    for form, meaning in known.by_form.items():
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, form, strict=False)))
        if common >= fewest and {word[common:], form[common:]} <= endings:
            return meaning
    return None


def _in_english_order(said: Sequence[str]) -> str:
    """Return the words with the question's beginning first, which may stand elsewhere in Hindi."""
    opening = next((each for each in said if " " in each or each in _OPENINGS), None)
    rest = list(said)
    if opening is not None:
        rest.remove(opening)
    return " ".join([*([opening] if opening else []), *rest])


_OPENINGS = frozenset({"which", "who", "what", "where", "when", "why"})


def _measure_known(words: Sequence[str], language: str) -> float:
    """Return the share of the words that are usual in a language."""
    return sum(word in _usual_words(language) for word in words) / len(words)


@cache
def _usual_words(language: str) -> frozenset[str]:
    usual: frozenset[str] = frozenset()
    if language in list_languages():
        own = load_language(language)
        usual = own.stop_words | own.questions | own.small_words | own.fillers
    if language in list_dictionaries():
        known = _load_dictionary(language)
        phrases = {word for phrase, _ in known.by_phrase for word in phrase}
        usual |= known.silent | phrases | set(known.by_form) | set(map(fold, list_negations(language)))
    return usual


@cache
def _load_dictionary(language: str) -> _Dictionary:
    return _Dictionary.model_validate(
        yaml.safe_load((_FOLDER / f"{language}.yaml").read_text(encoding="utf-8"))
    )


@cache
def _list_dictionaries() -> tuple[str, ...]:
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.yaml")))
