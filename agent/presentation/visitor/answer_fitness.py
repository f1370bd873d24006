"""Decides whether a passage is of a kind that can answer a question, whatever words the two share.

Pure. A passage that shares the question's rare word is often beside the point: who did it, when, where, how many of what.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from agent.presentation.visitor.knowledge_passages import KnowledgePassage
from agent.presentation.visitor.languages import Language, fold_words
from agent.presentation.visitor.word_similarity import SAME_STEM, best_word_similarity, split_words

NEAR = 3
"""Words between a number and what it counts, at most."""
_ITEMS = re.compile(r"[,.;!?]|\b(?:and|or|und|oder)\b")
LONGEST_ITEM = 3
"""Most words of an item of a list: `name, agent and first day`."""
_PARTS = re.compile(r"[^\W\d_]+|\d+")


class AnswerFitness:
    """The kind of one question, and which passages can answer that."""

    def __init__(self, question: str, asked: Sequence[str], language: Language) -> None:
        """`asked`: the distinctive words of the question."""
        self._asked, self._language = asked, language
        self._telling = [word for word in asked if word not in language.weak_words]
        self._promised = language.strict_words.intersection(asked)
        opens = language.opens
        self._person, self._place = opens(question, language.who), opens(question, language.where)
        self._is_where = " " in language.find_opening(question, language.where)
        """`where are my filters?`: no word of it is a verb."""
        self._time, self._count = opens(question, language.when), opens(question, language.how_many)
        self._steps = opens(question, language.how_questions)
        self._choice = opens(question, tuple(each for each in language.which if not each.startswith("what")))
        self._yes_no = opens(question, language.yes_no)
        self._tells = opens(question, language.which + language.stories)
        words = split_words(question)
        self._about = opens(question, language.stories) and language.particles.isdisjoint(words)
        """`what does it do?`, and not `what is on it?`"""
        self._length = not language.length_words.isdisjoint(words)
        self._value = opens(question, language.which) and not self._yes_no
        """`what is the cheapest plan?`: that something can be filtered by plan is no answer."""
        acts = [after for before, after in pairwise(words) if before in language.who]
        self._vague = self._person and len(asked) == 1 and asked[0] not in acts
        """`who can see the calls?`: all that is left of it is `calls`."""
        begins = next((at for at, word in enumerate(words) if at and word in language.clauses), len(words))
        self._condition = [word for word in words[begins + 1 :] if word in asked]
        """`what does it read before it calls?`: that it reads is not enough."""
        self._verbs = [pair for pair in pairwise(words) if pair[0] in asked and pair[1] in language.particles]
        groups = [[each for each in language.verbs if _any_in([word], each)] for word in asked]
        self._verb_groups = [frozenset().union(*each) for each in groups if each]
        """For each verb of the question the verbs that say the same."""
        self._all = not language.all_words.isdisjoint(words)

    def fits(self, passage: KnowledgePassage) -> bool:
        """Return whether the passage may answer the question."""
        said = split_words(f"{passage.text} {passage.context}")
        if not self._is_about(passage, said):
            return False
        if passage.kind == "steps":
            return self._fits_steps(passage, said)
        if self._person or self._place or self._time or self._count:
            return self._fits_fact(passage)
        wants_label = ("choices", "note") if self._choice else ("choices",) if self._value else ()
        if passage.kind in wants_label:  # an option is not what is chosen from
            return _any_in(self._asked, split_words(passage.label))
        told = passage.source.startswith("segment/")
        if self._steps:  # that the presenter does it is not how, nor is what one of a task's values may be
            given = passage.source.startswith("task/") and passage.kind in ("note", "choices")
            done = all(any(_any_in([each], said) for each in group) for group in self._verb_groups)
            return not told and not given and done and _all_in(self._telling, said)
        of_screen = passage.kind == "choices" and not passage.source.startswith("task/")
        return not self._yes_no or of_screen or self._affirms(passage, said)

    def keeps_promises(self, passage: KnowledgePassage) -> bool:
        """Return whether the passage has all numbers, negations and promises of the question: a trial need not be a free one."""
        return _all_in(self._promised, split_words(f"{passage.text} {passage.context}"))

    def _is_about(self, passage: KnowledgePassage, said: Sequence[str]) -> bool:
        """Return whether the passage tells something of what is asked, whatever kind of answer is wanted."""
        if not self.keeps_promises(passage):
            return False
        if not _all_in(self._condition, said) or self._has_other_verb(passage):
            return False
        if passage.kind == "told" and self._tells_beside(passage):
            return False
        if passage.kind not in ("told", "note"):  # a limit counts the characters of a text, nothing else
            return passage.kind != "limit" or self._length
        wants_some = self._choice or self._count
        return not (
            ((wants_some or self._value) and self._lists_beside_others(passage))
            or (wants_some and self._asks_itself(passage))
        )

    def _tells_beside(self, passage: KnowledgePassage) -> bool:
        """Return whether what a passage tells is known from the question, or about something else."""
        if not self._yes_no and self._says_nothing_new(passage):
            return True  # `Let us register a boat.` does not say what is needed to register one
        if passage.source.startswith("task/") and self._tells:
            return True  # what a task is for says nothing about the place where it is done
        named = _any_in(self._asked, split_words(passage.text))
        # `Here you find Ada and Bea.` does not say what the place is for
        return self._about and passage.source.startswith("segment/") and not named

    def _fits_steps(self, passage: KnowledgePassage, said: Sequence[str]) -> bool:
        """Return whether how a task is done may answer: not who does it, when, or how often, and not whether another is possible."""
        if self._person or self._time or self._count or (self._tells and not self._steps):
            return False
        if self._yes_no and not _all_in(self._telling, said):
            return False
        if self._place and (self._is_where or not self._verb_groups):
            return False  # where labels are, or are seen, is not how one is deleted
        place = split_words(passage.place)
        of_all = not self._language.all_words.isdisjoint(place)
        if of_all is not self._all and (of_all or not self._language.one_words.isdisjoint(place)):
            return False  # how one message is deleted is not how all are, nor the other way round
        if not all(any(_any_in([each], place) for each in group) for group in self._verb_groups):
            return False  # how an account is confirmed is not how one is added
        return _any_in(self._telling, place)  # how to sign in with a password is not how to change it

    def _has_other_verb(self, passage: KnowledgePassage) -> bool:
        """Return whether the passage has a verb of the question with another particle, and never with that one."""
        pairs = list(pairwise(_PARTS.findall(fold_words(f"{passage.text} {passage.place}"))))
        for verb, particle in self._verbs:
            found = {after for before, after in pairs if _any_in([verb], [before])} & self._language.particles
            if found and particle not in found:
                return True
        return False

    def _says_nothing_new(self, passage: KnowledgePassage) -> bool:
        """Return whether the passage has no telling word beside those of the question and of its place: `And here is Invoices`."""
        language = self._language
        plain = (
            *language.controls,
            *language.weak_words,
            *(verb for group in language.verbs for verb in group),
        )
        known = (*self._asked, *split_words(passage.place), *plain)
        told = [word for word in split_words(passage.text) if word not in self._language.stop_words]
        return all(_any_in([word], known) for word in told)

    def _asks_itself(self, passage: KnowledgePassage) -> bool:
        """Return whether the passage asks what the question asks: `Say which notifications arrive`, `how many a day`."""
        words = _PARTS.findall(fold_words(passage.text))
        return any(
            word in self._language.indirect and at and _any_in(self._asked, words[at + 1 : at + 1 + NEAR])
            for at, word in enumerate(words)
        )

    def _lists_beside_others(self, passage: KnowledgePassage) -> bool:
        """Return whether a list of the passage has what is asked for as one of its items: it says nothing about what that has."""
        text = passage.text.removeprefix(f"{passage.label}:") if passage.label else passage.text
        items = [_PARTS.findall(fold_words(each)) for each in _ITEMS.split(text) if each.strip()]
        return len(items) > 2 and any(
            len(each) <= LONGEST_ITEM and _any_in(self._asked, each) for each in items
        )

    def _affirms(self, passage: KnowledgePassage, said: Sequence[str]) -> bool:
        """Return whether the passage says or denies all that a question for yes or no asks."""
        if passage.kind in ("note", "choices") and passage.source.startswith("task/"):
            # a value of a task is not what is done
            return _all_in(self._telling, split_words(f"{passage.place} {passage.label}"))
        if len(self._telling) > 1:
            return _all_in(self._telling, said)
        named = passage.kind != "note" or _all_in(split_words(passage.label), self._asked)
        return named and _all_in(self._asked, said)

    def _fits_fact(self, passage: KnowledgePassage) -> bool:
        """Return whether the passage may say who, where, when or how many."""
        if self._place and (len(self._asked) == 1 or passage.source.startswith("segment/")):
            return False  # where something is, is shown
        if self._place and passage.kind in ("note", "choices") and passage.source.startswith("task/"):
            return False  # what a value of a task may be is no place
        if self._person:  # knowledge of a website rarely names people
            told = passage.kind == "told" and not passage.source.startswith("task/")
            return told and not self._vague and self._names(passage)
        if self._time:
            return passage.kind in ("told", "note") and has_number(passage.text, self._language)
        return not self._count or passage.kind != "told" or self._counts(passage)

    def _names(self, passage: KnowledgePassage) -> bool:
        """Return whether the passage says who does what the question asks."""
        words = _PARTS.findall(fold_words(passage.text))
        people = [at for at, word in enumerate(words) if word in self._language.who]
        return any(_any_in(self._asked, words[at + 1 : at + 1 + NEAR]) for at in people)

    def _counts(self, passage: KnowledgePassage) -> bool:
        """Return whether a number of the passage stands near a word of the question, or answers a question of the presenter's."""
        if _all_in(self._asked, split_words(passage.context)):
            return has_number(passage.text, self._language)
        words = _PARTS.findall(fold_words(passage.text))
        numbers = [at for at, word in enumerate(words) if is_number(word, self._language)]
        meant = [at for at, word in enumerate(words) if _any_in(self._asked, [word])]
        return any(abs(one - other) <= NEAR for one in numbers for other in meant)


def is_number(word: str, language: Language) -> bool:
    """Return whether a folded word is a number."""
    return word.isdigit() or word in language.number_words


def has_number(text: str, language: Language) -> bool:
    """Return whether a text has a number, in digits or in words."""
    return any(is_number(word, language) for word in _PARTS.findall(fold_words(text)))


def _any_in(words: Sequence[str], said: Sequence[str]) -> bool:
    return any(best_word_similarity(word, said) >= SAME_STEM for word in words)


def _all_in(words: Sequence[str] | frozenset[str], said: Sequence[str]) -> bool:
    return all(best_word_similarity(word, said) >= SAME_STEM for word in words)
