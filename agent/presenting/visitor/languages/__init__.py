"""How visitors put things and how they are answered, one YAML file per language, and its reader.

A pattern is words in a row: `[may be missing]`, `(this|that)`, `<topic>` and `<name>` for the words left.
`<Name>` is a name only where it is written as one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml
from pydantic import Field

from agent.presenting.visitor.requests import Kind
from kb_schema.base import Model

_FOLDER = Path(__file__).parent
_PART = re.compile(r"[\[\]()|]|<\w+>|[^\s\[\]()|<>]+")
_SPOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_BRACKETS = {"[": "(?:", "]": ")?", "(": "(?:", ")": ")", "|": "|"}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to put a request."""

    kind: Kind
    expression: re.Pattern[str]
    """Matches folded words, each with a blank after it."""


class Language(Model):
    """What is known of one language."""

    language: str
    openings: tuple[str, ...] = ()
    closings: tuple[str, ...] = ()
    interjections: frozenset[str] = frozenset()
    """Words said before others, that mean something only by themselves."""
    fillers: frozenset[str] = frozenset()
    articles: tuple[str, ...] = ()
    contractions: dict[str, str] = Field(default_factory=dict)
    small_words: frozenset[str] = frozenset()
    """Too common to be a request's subject."""
    endings: frozenset[str] = frozenset()
    """What words may end with and still be the same word."""
    place_words: frozenset[str] = frozenset()
    """Words, folded, that do not tell one place from another."""
    stop_words: frozenset[str] = frozenset()
    """Words, folded, that hold a sentence together and say nothing of what it is about."""
    strict_words: frozenset[str] = frozenset()
    """Words, folded, that turn a statement round or into a promise: an answer has only those of its facts."""
    questions: frozenset[str] = frozenset()
    """Words a question begins with."""
    question_openings: tuple[str, ...] = ()
    """Openings of what is a question without being one by its grammar."""
    how_questions: tuple[str, ...] = ()
    """Openings of questions that steps answer."""
    how_many: tuple[str, ...] = ()
    """Openings of questions that a number answers."""
    number_words: frozenset[str] = frozenset()
    amounts: frozenset[str] = frozenset()
    """What a question that a number answers may ask for."""
    which: tuple[str, ...] = ()
    """Openings of questions that a list of choices answers."""
    who: tuple[str, ...] = ()
    """Openings of questions that a person is the answer to."""
    weak_words: frozenset[str] = frozenset()
    """Words, folded, that others often stand for."""
    stories: tuple[str, ...] = ()
    """Openings of questions that ask to be told about something."""
    facts: dict[str, str] = Field(default_factory=dict)
    """How knowledge that was never meant to be spoken is put in words."""
    asks_for_name: tuple[str, ...] = ()
    not_names: frozenset[str] = frozenset()
    joins: frozenset[str] = frozenset()
    """What joins two things that are wanted."""
    ends_name: frozenset[str] = frozenset()
    patterns: dict[Kind, tuple[str, ...]]
    """In the order in which they are tried."""
    replies: dict[str, tuple[str, ...]]
    told: dict[Kind, str]
    """What was understood, for a caption."""

    @cached_property
    def compiled(self) -> tuple[tuple[Pattern, ...], tuple[Pattern, ...]]:
        """Every pattern, ready to be matched: those that are whole phrases, and those that take any words."""
        made = [
            Pattern(kind, re.compile(as_expression(pattern)))
            for kind, patterns in self.patterns.items()
            for pattern in patterns
        ]
        return (
            tuple(each for each in made if not each.expression.groups),
            tuple(each for each in made if each.expression.groups),
        )

    @cached_property
    def opening(self) -> re.Pattern[str]:
        """Any opening, at the beginning of folded words."""
        return re.compile("|".join(f"(?:{as_expression(each)})" for each in self.openings) or "(?!)")

    @cached_property
    def closing(self) -> re.Pattern[str]:
        """Any closing, at the end of folded words."""
        return re.compile("(?:^|(?<= ))(?:" + "|".join(as_expression(each) for each in self.closings) + ")$")

    @cached_property
    def asking(self) -> re.Pattern[str]:
        """Any opening of a question."""
        return re.compile("|".join(f"(?:{as_expression(each)})" for each in self.question_openings) or "(?!)")

    @cached_property
    def wants_name(self) -> re.Pattern[str]:
        """What asks somebody for a name, anywhere in folded words."""
        return re.compile("|".join(f"(?:{as_expression(each)})" for each in self.asks_for_name) or "(?!)")

    def opens(self, text: str, openings: tuple[str, ...]) -> bool:
        """Whether something that was said begins with one of some openings, after anything polite."""
        said = " ".join(self.contractions.get(word, word) for word in _SPOKEN.findall(text.casefold()))
        line = "".join(fold(word) + " " for word in said.split())
        line = line.removeprefix(match[0]) if (match := self.opening.match(line)) else line
        return any(line.startswith(fold(each) + " ") for each in openings)

    @cached_property
    def article(self) -> re.Pattern[str]:
        """Any words before a topic that are no part of it."""
        return re.compile("|".join(f"(?:{as_expression(each)})" for each in self.articles) or "(?!)")

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every word that a pattern names: what slips of the pen are mended to."""
        told = [
            *self.openings,
            *self.closings,
            *self.question_openings,
            *(p for ps in self.patterns.values() for p in ps),
        ]
        words = {fold(part) for pattern in told for part in _PART.findall(pattern)}
        words |= {
            fold(word) for word in (*self.fillers, *self.interjections, *self.questions, *self.small_words)
        }
        return tuple(sorted(word for word in words if word[0].isalnum()))


@cache
def language(name: str) -> Language:
    """A language by its code. Raises `KeyError` for one that is not there."""
    file = _FOLDER / f"{name}.yaml"
    if name not in languages():
        raise KeyError(name)
    return Language.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


@cache
def languages() -> tuple[str, ...]:
    """Every language there is a file for."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.yaml")))


def fold(word: str) -> str:
    """How words are compared: without case and accents, umlauts spelt out.

    >>> fold("Zurück"), fold("CAFÉ")
    ('zurueck', 'cafe')
    """
    spelt = word.casefold().translate(_UMLAUTS)
    return "".join(c for c in unicodedata.normalize("NFKD", spelt) if not unicodedata.combining(c))


def as_expression(pattern: str) -> str:
    """A pattern as a regular expression over folded words, each followed by a blank."""
    made: list[str] = []
    for part in _PART.findall(pattern):
        if part in _BRACKETS:
            made.append(_BRACKETS[part])
        elif part.startswith("<"):
            made.append(rf"(?P<{part[1:-1]}>(?:\S+ )+)")
        else:
            made.append(re.escape(fold(part)) + " ")
    return "".join(made)
