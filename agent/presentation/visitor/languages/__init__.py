"""Reads the phrases of visitors and of answers: one YAML file per language.

A pattern is a row of words: `[optional]`, `(this|that)`, and `<topic>` or `<name>` for the remaining words.
`<Name>` only matches words with a capital letter.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml
from pydantic import Field

from agent.presentation.visitor.visitor_requests import RequestKind
from kb_schema.base import Model

_FOLDER = Path(__file__).parent
_PART = re.compile(r"[\[\]()|]|<\w+>|[^\s\[\]()|<>]+")
_SPOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_BRACKETS = {"[": "(?:", "]": ")?", "(": "(?:", ")": ")", "|": "|"}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


@dataclass(frozen=True, slots=True)
class RequestPattern:
    """One pattern of a request."""

    kind: RequestKind
    expression: re.Pattern[str]
    """Matches folded words, each followed by a blank."""


class Language(Model):
    """The phrases of one language."""

    language: str
    openings: tuple[str, ...] = ()
    closings: tuple[str, ...] = ()
    interjections: frozenset[str] = frozenset()
    """Words before a request that only count when they stand alone."""
    fillers: frozenset[str] = frozenset()
    articles: tuple[str, ...] = ()
    contractions: dict[str, str] = Field(default_factory=dict)
    small_words: frozenset[str] = frozenset()
    """Words too common to be the subject of a request."""
    endings: frozenset[str] = frozenset()
    """Word endings that do not change a word's meaning."""
    place_words: frozenset[str] = frozenset()
    """Folded words that do not distinguish targets."""
    stop_words: frozenset[str] = frozenset()
    """Folded function words, which do not tell what a sentence is about."""
    strict_words: frozenset[str] = frozenset()
    """Folded words that negate or promise; an answer may only use those of its facts."""
    questions: frozenset[str] = frozenset()
    """First words of a question."""
    question_openings: tuple[str, ...] = ()
    """Openings of questions that are not questions by grammar."""
    how_questions: tuple[str, ...] = ()
    """Openings of questions that are answered with steps."""
    how_many: tuple[str, ...] = ()
    """Openings of questions that are answered with a number."""
    number_words: frozenset[str] = frozenset()
    amounts: frozenset[str] = frozenset()
    """Units that a question for a number may ask for."""
    which: tuple[str, ...] = ()
    """Openings of questions that are answered with a list of choices."""
    who: tuple[str, ...] = ()
    """Openings of questions that are answered with a person."""
    where: tuple[str, ...] = ()
    """Openings of questions that are answered with a place."""
    when: tuple[str, ...] = ()
    """Openings of questions that are answered with a time."""
    yes_no: tuple[str, ...] = ()
    """Openings of questions that are answered with yes or no."""
    clauses: frozenset[str] = frozenset()
    """Folded words that begin a condition of a question: an answer must be about it."""
    particles: frozenset[str] = frozenset()
    """Folded words that change the verb before them: to sign in is not to sign out."""
    all_words: frozenset[str] = frozenset()
    one_words: frozenset[str] = frozenset()
    """Folded words for the whole, and for one of it."""
    indirect: frozenset[str] = frozenset()
    """Folded words that begin an indirect question; a sentence with one asks, and does not answer."""
    weak_words: frozenset[str] = frozenset()
    """Folded words with many synonyms."""
    verbs: tuple[tuple[str, ...], ...] = ()
    """Folded verbs that say the same of what is done in an application, by group."""
    controls: frozenset[str] = frozenset()
    """Folded words for what a page consists of, which say nothing about the application."""
    length_words: frozenset[str] = frozenset()
    """Folded words of questions for the length of a text."""
    follow_ups: tuple[str, ...] = ()
    """Openings of questions that leave out what the question before said."""
    pronouns: frozenset[str] = frozenset()
    """Folded words for what the question before was about."""
    definitions: tuple[str, ...] = ()
    """Openings of questions for what something is."""
    stories: tuple[str, ...] = ()
    """Openings of requests to explain something."""
    language_names: dict[str, str] = Field(default_factory=dict)
    """What languages are called in this one, by code."""
    facts: dict[str, str] = Field(default_factory=dict)
    """Templates that put knowledge into spoken words."""
    asks_for_name: tuple[str, ...] = ()
    not_names: frozenset[str] = frozenset()
    joins: frozenset[str] = frozenset()
    """Words that join two wishes."""
    ends_name: frozenset[str] = frozenset()
    patterns: dict[RequestKind, tuple[str, ...]]
    """Patterns in the order of matching."""
    replies: dict[str, tuple[str, ...]]
    told: dict[RequestKind, str]
    """Templates for the caption of a recognised request."""

    @cached_property
    def compiled(self) -> tuple[tuple[RequestPattern, ...], tuple[RequestPattern, ...]]:
        """All patterns, compiled: first those of whole phrases, then those with free words."""
        made = [
            RequestPattern(kind, re.compile(compile_pattern(pattern)))
            for kind, patterns in self.patterns.items()
            for pattern in patterns
        ]
        return (
            tuple(each for each in made if not each.expression.groups),
            tuple(each for each in made if each.expression.groups),
        )

    @cached_property
    def opening(self) -> re.Pattern[str]:
        """Matches an opening at the start of folded words."""
        return re.compile("|".join(f"(?:{compile_pattern(each)})" for each in self.openings) or "(?!)")

    @cached_property
    def closing(self) -> re.Pattern[str]:
        """Matches a closing at the end of folded words."""
        return re.compile(
            "(?:^|(?<= ))(?:" + "|".join(compile_pattern(each) for each in self.closings) + ")$"
        )

    @cached_property
    def asking(self) -> re.Pattern[str]:
        """Matches the opening of a question."""
        return re.compile(
            "|".join(f"(?:{compile_pattern(each)})" for each in self.question_openings) or "(?!)"
        )

    @cached_property
    def wants_name(self) -> re.Pattern[str]:
        """Matches a request for a name, anywhere in folded words."""
        return re.compile("|".join(f"(?:{compile_pattern(each)})" for each in self.asks_for_name) or "(?!)")

    def opens(self, text: str, openings: tuple[str, ...]) -> bool:
        """Return whether words begin with one of these openings, after optional polite words."""
        return bool(self.find_opening(text, openings))

    def find_opening(self, text: str, openings: tuple[str, ...]) -> str:
        """Return the longest of these openings that words begin with, after optional polite words; empty if there is none."""
        said = " ".join(self.contractions.get(word, word) for word in _SPOKEN.findall(text.casefold()))
        line = "".join(fold_words(word) + " " for word in said.split())
        line = line.removeprefix(match[0]) if (match := self.opening.match(line)) else line
        found = (fold_words(each) for each in openings)
        return max((each for each in found if line.startswith(f"{each} ")), key=len, default="")

    @cached_property
    def article(self) -> re.Pattern[str]:
        """Matches words before a topic that do not belong to it."""
        return re.compile("|".join(f"(?:{compile_pattern(each)})" for each in self.articles) or "(?!)")

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every word of the patterns; misspelt words are corrected to these."""
        told = [
            *self.openings,
            *self.closings,
            *self.question_openings,
            *(p for ps in self.patterns.values() for p in ps),
        ]
        words = {fold_words(part) for pattern in told for part in _PART.findall(pattern)}
        words |= {
            fold_words(word)
            for word in (*self.fillers, *self.interjections, *self.questions, *self.small_words)
        }
        return tuple(sorted(word for word in words if word[0].isalnum()))


@cache
def load_language(name: str) -> Language:
    """Return a language by its code. Raises `KeyError` if there is no file for it."""
    file = _FOLDER / f"{name}.yaml"
    if name not in list_languages():
        raise KeyError(name)
    return Language.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


@cache
def list_languages() -> tuple[str, ...]:
    """Return all languages that have a file."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.yaml")))


def fold_words(word: str) -> str:
    """Return a text as words are compared: lower case, no accents, umlauts spelt out.

    >>> fold("Zurück"), fold("CAFÉ")
    ('zurueck', 'cafe')
    """
    spelt = word.casefold().translate(_UMLAUTS)
    return "".join(c for c in unicodedata.normalize("NFKD", spelt) if not unicodedata.combining(c))


def compile_pattern(pattern: str) -> str:
    """Return a pattern as a regular expression over folded words, each followed by a blank."""
    made: list[str] = []
    for part in _PART.findall(pattern):
        if part in _BRACKETS:
            made.append(_BRACKETS[part])
        elif part.startswith("<"):
            made.append(rf"(?P<{part[1:-1]}>(?:\S+ )+)")
        else:
            made.append(re.escape(fold_words(part)) + " ")
    return "".join(made)
