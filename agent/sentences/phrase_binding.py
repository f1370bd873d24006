"""Binds a sentence by the words of a task's name and of its inputs: every word must be explained, or nothing is bound.

A value belongs to the input whose label is beside it, else to the only input with such options, such a kind or such an
example, else to the input that the noun before it names, else to the only required input that is left. What a change leads away from
("set the theme from dark") is no value of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.sentences.sentence_words import NAMING, QUANTIFIERS, SMALL, split_verb, stem
from agent.sentences.task_phrases import TaskPhrase
from agent.sentences.value_texts import TaskInput, ValueText, read_value
from agent.synthesis.utterances.utterance_words import UtteranceWord
from kb_schema.determiners import DETERMINERS

Values = dict[str, str | list[str]]

_COUNTING = frozenset([",", "and", ";"])
_LISTED = frozenset(["search", "show", "browse"])
"""What is done to things that are in a list: the word says no more than their name."""
_REPLACING = frozenset(["change", "edit", "modify", "move", "rename", "set", "switch", "transfer", "update"])
"""Verbs by which something gets another value: that behind "from" is the one before."""
_SOURCES = frozenset(["current", "former", "from", "old", "origin", "previous", "source"])
"""Words in the name of an input for what was before."""
_GOES_ON = DETERMINERS | NAMING | frozenset(["of", ":", "="])
"""Small words between "from" and its value."""
_LOOSE = frozenset(["quoted", "name"])
"""The kinds of values that need no label if only one required input is left."""


def bind_phrase(words: Sequence[UtteranceWord], phrase: TaskPhrase) -> tuple[Values, bool] | None:
    """Return the values, and whether the sentence says as much as the task's name; None if it means another task.

    `words`: the sentence without forms of politeness.
    """
    spoken = [each.text for each in words if not each.quoted]
    meanings, _ = split_verb(spoken)
    if not words or words[0].quoted or not meanings & phrase.meanings:
        return None
    left = words[len(spoken) - len(split_verb(spoken)[1]) :]
    said = {stem(each.text) for each in left if not each.quoted}
    labelled = any(
        len(label) > 1 and said.issuperset(label) for each in phrase.inputs for label in each.labels
    )
    by_label = labelled and meanings & {"edit"}
    if phrase.head is not None and phrase.head not in said and not by_label:
        return None
    told = {each.text.casefold() for each in left if not each.quoted} & QUANTIFIERS
    if told - phrase.quantifiers:
        return None
    replaces = spoken[0].casefold() in _REPLACING
    values = _PhraseReader(left, phrase, lists=bool(meanings & _LISTED), replaces=replaces).read()
    if values is None:
        return None
    several = any(isinstance(each, list) for each in values.values())
    plural = any(stem(each) == phrase.head and stem(each) != each.casefold() for each in spoken)
    if several and not plural:
        return None  # "an agent named Ada, Bo" is one agent
    sure = several or not phrase.quantifiers or bool(told)
    return values, sure and bool(values or "edit" not in phrase.meanings)


class _PhraseReader:
    """Reads the words after the verb from left to right."""

    def __init__(
        self, words: Sequence[UtteranceWord], phrase: TaskPhrase, *, lists: bool, replaces: bool
    ) -> None:
        """`lists`: the verb is done to things of a list. `replaces`: it gives something another value."""
        self._words, self._phrase, self._lists, self._replaces = words, phrase, lists, replaces
        labels = {word for each in phrase.inputs for label in each.labels for word in label}
        self._known = frozenset(labels | phrase.nouns)
        self._values: Values = {}
        self._label: TaskInput | None = None
        """The input whose label was read and whose value is to come."""
        self._later: TaskInput | None = None
        """The same, where the words say of what: "the greeting of the agent Ada to ..."."""
        self._noun: str | None = None
        self._from = False
        """Whether "from" was read, and its value is to come."""
        self._refused = False
        """Whether a value was read that the task cannot have."""
        self._begin = self._end = 0
        self._list_end: int | None = None
        """Where the last item of a list ended."""

    def read(self) -> Values | None:
        """Return the values; None if a word is not explained."""
        at = 0
        while at < len(self._words):
            end = self._step(at)
            if end is None:
                return None
            at = end
        whole = self._label is None and self._later is None and not self._refused
        return self._values if whole and self._lists_hold() else None

    def _is_listed(self) -> bool:
        """Whether a list's item follows the one before, with nothing but a comma or "and" between them."""
        last, self._list_end = self._list_end, self._end
        return last is None or all(
            each.text.casefold() in _COUNTING for each in self._words[last : self._begin]
        )

    def _lists_hold(self) -> bool:
        return all(not isinstance(each, list) or len(each) > 1 for each in self._values.values())

    def _step(self, at: int) -> int | None:
        """Return where the next part begins; None if the word is not explained."""
        word = self._words[at]
        option = self._read_option(at)
        if option is not None:
            return option
        found = None if word.quoted else self._read_label(at)
        if found is not None:
            return found
        value = read_value(self._words, at, self._known)
        if value is not None:
            self._begin, self._end = at, value[1]
            return value[1] if self._bind(value[0]) else None
        return self._step_over(at)

    def _step_over(self, at: int) -> int | None:
        """Return where the next part begins behind a word that is no value; None if it is not explained."""
        word = self._words[at]
        said = stem(word.text)
        if word.text.casefold() in SMALL | self._phrase.quantifiers:
            return self._read_small(word.text.casefold(), at)
        listed = said == "list" and (self._lists or said in self._phrase.nouns)
        if listed or said == "new" or (said in self._known and said != "list"):
            self._noun = said if said in self._known else self._noun
            return at + 1
        before = self._words[at - 1].text.casefold() if at else ""
        if (
            self._label is not None
            and before not in DETERMINERS  # "the epic of the issue": another noun
            and self._label.accept(ValueText(text=word.text, kind="word")) is not None
        ):
            self._bind(ValueText(text=word.text, kind="word"))
            return at + 1
        return None

    def _read_small(self, word: str, at: int) -> int:
        self._from = word == "from" or (self._from and word in _GOES_ON)
        if word == "of" and self._label is not None and self._label.needed is False:
            self._label, self._later = None, self._label
        if word == "to" and self._later is not None:
            self._label, self._later = self._later, None
        return at + 1

    def _read_option(self, at: int) -> int | None:
        """Return the end of an option that only one input lists, and bind it."""
        for end in range(min(len(self._words), at + 3), at, -1):
            span = self._words[at:end]
            text = " ".join(each.text for each in span)
            value = ValueText(text=text, kind="word")
            told = [each for each in self._phrase.inputs if each.options and each.accept(value) is not None]
            if self._label is not None and self._label not in told:
                continue
            fitting = [self._label] if self._label is not None else told
            if len(fitting) == 1 and fitting[0].spec.name not in self._values:
                self._set(fitting[0], value)
                return end
        return None

    def _read_label(self, at: int) -> int | None:
        """Return the end of the label that begins here; None if none does."""
        best: tuple[int, TaskInput] | None = None
        for each in self._phrase.inputs:
            for label in each.labels:
                here = [stem(word.text) for word in self._words[at : at + len(label)] if not word.quoted]
                alone = len(label) == 1 and label[0] == self._phrase.head and len(self._phrase.nouns) > 1
                if tuple(here) == label and not alone and (best is None or len(label) > best[0]):
                    best = len(label), each
        if best is None or self._label is not None:
            return None
        length, found = best
        behind = self._words[at + length : at + length + 1]
        followed = any(not each.quoted and stem(each.text) in self._phrase.nouns for each in behind)
        if length == 1 and followed and stem(self._words[at].text) in self._phrase.nouns:
            return None  # "AI voice agent" of a task with an input "voice"
        self._noun = stem(self._words[at + length - 1].text)
        if found.spec.name in self._values:
            return at + length if found.options else None  # "the light theme"
        if found.spec.type != "array" and self._value_follows(at + length):
            self._label = found
        elif self._noun not in self._phrase.nouns and length == 1:
            return None if found.spec.type == "boolean" else at + length
        return at + length

    def _value_follows(self, at: int) -> bool:
        """Whether more than small words follow: without a value a label is only a noun."""
        return any(word.quoted or word.text.casefold() not in SMALL for word in self._words[at:])

    def _bind(self, value: ValueText) -> bool:
        """Give a value to the input it belongs to; whether there is one."""
        if self._label is not None:
            found = self._label if self._label.accept(value) is not None else None
        else:
            found = self._find_by_kind(value) or self._find_by_noun(value) or self._find_left(value)
        return found is not None and self._set(found, value)

    def _set(self, found: TaskInput, value: ValueText) -> bool:
        taken = found.accept(value)
        name, kept = found.spec.name, self._values.get(found.spec.name)
        self._refused = self._refused or self._is_replaced(found, value)
        if taken is None or self._refused or (kept is not None and not isinstance(kept, list)):
            return False
        self._from = False
        if found.spec.type == "array":
            if not self._is_listed():
                return False
            self._values[name] = [*(kept or []), taken]
        else:
            self._values[name] = taken
        self._label = None if found is self._label else self._label
        return True

    def _is_replaced(self, found: TaskInput, value: ValueText) -> bool:
        """Whether a change leads away from the value. A file is what it comes from, and a day is when it begins."""
        told = {word for label in found.labels for word in label}
        return (
            self._from and self._replaces and value.kind not in ("file", "date") and told.isdisjoint(_SOURCES)
        )

    def _free(self, value: ValueText) -> list[TaskInput]:
        return [
            each
            for each in self._phrase.inputs
            if (each.spec.name not in self._values or each.spec.type == "array")
            and each.accept(value) is not None
        ]

    def _find_by_kind(self, value: ValueText) -> TaskInput | None:
        free = self._free(value)
        fitting = [
            each
            for each in free
            if each.options
            or (each.example is not None)
            or (value.kind == "date" and each.is_date)
            or (value.kind == "file" and each.spec.type == "file")
            or (value.kind == "email" and "email" in each.spec.name.replace("e_mail", "email"))
            or (value.kind == "number" and each.spec.type in ("number", "integer"))
        ]
        return fitting[0] if len(fitting) == 1 else None

    def _find_by_noun(self, value: ValueText) -> TaskInput | None:
        if self._noun is None:
            return None
        wanted = ((self._noun,), (self._noun, "name"), (self._noun, "id"))
        fitting = [each for each in self._free(value) if any(label in wanted for label in each.labels)]
        return fitting[0] if len(fitting) == 1 else None

    def _find_left(self, value: ValueText) -> TaskInput | None:
        """Return the only required input that is left, for a value that a noun or nothing else precedes."""
        left = [each for each in self._phrase.inputs if each.needed and each.spec.name not in self._values]
        several = [each for each in self._phrase.inputs if each.spec.type == "array" and each.needed]
        left = several or left
        by_noun = self._noun is not None and self._noun == self._phrase.head
        if len(left) != 1 or (value.kind not in _LOOSE and not by_noun):
            return None
        typed = left[0].spec.type in ("file", "date", "boolean")
        return left[0] if not typed and left[0].accept(value) is not None else None
