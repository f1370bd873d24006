"""Values in a sentence, and which of a task's inputs can have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from agent.sentences.sentence_words import SMALL, stem
from agent.synthesis.utterances.utterance_words import UtteranceWord
from kb_schema.base import Model
from kb_schema.determiners import DETERMINERS
from kb_schema.io_specs import InputSpec

Kind = Literal["quoted", "name", "word", "number", "date", "file", "email", "code"]

_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("date", re.compile(r"\d{1,2}/\d{1,2}/\d{4}|\d{4}-\d{2}-\d{2}|\d{1,2}\.\d{1,2}\.\d{4}")),
    ("number", re.compile(r"-?\d+(?:[.,]\d+)*")),
    ("email", re.compile(r"[^\s@]+@[^\s@]+\.\w+")),
    ("file", re.compile(r"(?:[\w .~-]*/)*[\w ~-][\w .~-]*\.[A-Za-z][A-Za-z0-9]{1,4}")),
    ("code", re.compile(r"(?=.*[\d-])[A-Za-z]+-\w+(?:-\w+)*")),
)
_ONE_OF = re.compile(r"\bone of (.+)$")
_LISTED = re.compile(r"^([^;.]+?) or ([^;.,]+)(?:$|[;.,])")
_EXAMPLE = re.compile(r"(?:such as|e\.g\.) ['\"]?([\w-]+)")
_LONGEST_OPTION = 3
"""Words; a longer part of a description is no option."""
_GENERIC = frozenset(["new", "target", "row"])
_DATE_NOTE = re.compile(r"MM/DD/YYYY|YYYY-MM-DD|DD\.MM\.YYYY")
_UNTELLING = frozenset(map(stem, DETERMINERS))
"""Synthesis may name an input by one of them ("Update your {your}"), but no value is found by it."""
_YES = frozenset(["true", "false", "yes", "no", "on", "off"])


class ValueText(Model):
    """A value as the sentence has it."""

    text: str
    kind: Kind


class TaskInput(Model):
    """An input as sentences name it."""

    spec: InputSpec
    head: frozenset[str] = frozenset()
    """The nouns of the task's name, as stems: `agent_name` of a task for agents is called "name", too."""

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The names that a sentence may use, as stems, the longest first."""
        whole = tuple(each for each in self.spec.name.casefold().split("_") if each not in _GENERIC)
        told = re.findall(r"[\w-]+", self.spec.description.partition(":")[0])
        found = {tuple(map(stem, whole)), tuple(stem(each) for each in whole if stem(each) not in self.head)}
        if len(told) <= _LONGEST_OPTION:
            found.add(tuple(map(stem, told)))
        return tuple(sorted(filter(_says_something, found), key=lambda each: (-len(each), each)))

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The values that the description lists; none if it lists none."""
        stated = _ONE_OF.search(self.spec.description)
        if stated is not None:
            return tuple(each.strip() for each in stated[1].split(", "))
        listed = _LISTED.match(self.spec.description)
        if listed is None or self._is_label(listed[0]):
            return ()
        found = (*(each.strip() for each in listed[1].split(",")), listed[2].strip())
        return found if all(0 < len(each.split()) <= _LONGEST_OPTION for each in found) else ()

    def _is_label(self, text: str) -> bool:
        """Whether a text is the label from which the name was made, as for a search by `URL, title or text`: it lists no values."""
        return "_".join(re.findall(r"\w+", text.casefold())).startswith(self.spec.name.casefold())

    @cached_property
    def is_date(self) -> bool:
        """Whether it takes dates."""
        return self.spec.type == "date" or _DATE_NOTE.search(self.spec.description) is not None

    @cached_property
    def example(self) -> str | None:
        """The shape of the description's example, `a-9` for `agt-1024`; None if it has none."""
        found = _EXAMPLE.search(self.spec.description)
        return None if found is None else _shape(found[1])

    @cached_property
    def bindable(self) -> bool:
        """Whether a sentence may have its value: a secret is not written in sentences."""
        return not self.spec.secret and self.spec.type != "object"

    @cached_property
    def needed(self) -> bool:
        """Whether nothing but the sentence or a question gives its value."""
        spec = self.spec
        elsewhere = (spec.default, spec.value, spec.extraction, spec.template, spec.generator)
        return spec.required and not spec.secret and all(each is None for each in elsewhere)

    def accept(self, value: ValueText) -> str | None:
        """Return the value as the input takes it; None if it cannot be the input's."""
        if self.options:
            said = value.text.casefold()
            return next((each for each in self.options if each.casefold() == said), None)
        kind = self.spec.type
        if kind in ("number", "integer"):
            whole = kind == "number" or re.fullmatch(r"-?\d+", value.text)
            return value.text if value.kind == "number" and whole else None
        if kind == "boolean":
            return value.text.casefold() if value.text.casefold() in _YES else None
        if self.is_date:
            return value.text if value.kind == "date" else None
        if self.example is not None:
            return value.text if _shape(value.text) == self.example else None
        return value.text


def _says_something(label: tuple[str, ...]) -> bool:
    return not all(each in _UNTELLING or each.isdigit() for each in label)


def _shape(text: str) -> str:
    return re.sub(r"\d+", "9", re.sub(r"[A-Z]+", "A", re.sub(r"[a-z]+", "a", text)))


def classify(word: UtteranceWord) -> Kind:
    """Return the kind of a word that may be a value."""
    found = next((kind for kind, pattern in _KINDS if pattern.fullmatch(word.text)), None)
    if found is not None:
        return found
    if word.quoted:
        return "quoted"
    return "name" if word.text[:1].isupper() else "word"


def read_value(
    words: Sequence[UtteranceWord], at: int, known: frozenset[str]
) -> tuple[ValueText, int] | None:
    """Return the value that begins at a word, and where it ends; None if none does.

    A name is as many capitalised words as follow each other. `known`: stems of words that are no names.
    """
    word = words[at]
    kind = classify(word)
    if kind == "word" or (kind == "name" and stem(word.text) in known):
        return None
    if kind != "name":
        return ValueText(text=word.text, kind=kind), at + 1
    end = at + 1
    while end < len(words) and not words[end].quoted and classify(words[end]) == "name":
        end += 1
    while end < len(words) and re.fullmatch(r"[A-Z]|\.", words[end].text) and words[end].text not in SMALL:
        end += 1
    return ValueText(text=" ".join(each.text for each in words[at:end]), kind="name"), end
