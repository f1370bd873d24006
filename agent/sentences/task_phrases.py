"""How a task may be called in a sentence: the verbs and nouns of its id and name."""

from __future__ import annotations

import re
from functools import cached_property

from agent.sentences.sentence_words import QUANTIFIERS, SMALL, split_verb, stem
from agent.sentences.value_texts import TaskInput
from kb_schema.base import Model
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow

Work = Task | Workflow

_FILLERS = frozenset(["editing", "form", "page"])
"""Nouns with which a map's names end, and which nobody says."""


class TaskPhrase(Model):
    """A task or workflow as sentences name it."""

    work: Work

    @cached_property
    def _name(self) -> list[str]:
        words = re.findall(r"[\w-]+", self.work.name.partition("(")[0])
        while len(words) > 2 and words[-1].casefold() in _FILLERS:
            words.pop()
        return words or self._id

    @cached_property
    def _id(self) -> list[str]:
        return [each for each in self.work.local_id.split("_") if each and not each.isdigit()]

    @cached_property
    def meanings(self) -> frozenset[str]:
        """What is done, by the first words of name and id."""
        return split_verb(self._name)[0] | split_verb(self._id)[0]

    @cached_property
    def nouns(self) -> frozenset[str]:
        """The stems of the words after the verb, in name and id."""
        words = [*split_verb(self._name)[1], *split_verb(self._id)[1]]
        return frozenset(stem(each) for each in words if each.casefold() not in SMALL | QUANTIFIERS)

    @cached_property
    def head(self) -> str | None:
        """The noun that a sentence must have; None for names such as "Sign out"."""
        nouns = [each for each in split_verb(self._name)[1] if each.casefold() not in SMALL | QUANTIFIERS]
        return stem(nouns[-1]) if nouns else None

    @cached_property
    def quantifiers(self) -> frozenset[str]:
        """The words such as "all" in name and id."""
        return frozenset(each.casefold() for each in (*self._name, *self._id)) & QUANTIFIERS

    @cached_property
    def inputs(self) -> tuple[TaskInput, ...]:
        """The inputs that a sentence can give."""
        made = (TaskInput(spec=spec, head=self.nouns) for spec in self.work.io_spec.inputs)
        return tuple(each for each in made if each.bindable)
