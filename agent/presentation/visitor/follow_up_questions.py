"""Completes questions that depend on the one before: `And a debit card?`, `How do I delete it?`.

Pure. A completed question says which words an answer must have, so that it is not about something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.presentation.visitor.languages import Language
from agent.presentation.visitor.word_similarity import split_words

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
LONGEST = 6
"""Most words of a question that leaves out its verb."""
FEWEST = 3
"""Most words of `What is that?`, which asks for what is shown."""


@dataclass(frozen=True, slots=True)
class CompletedQuestion:
    """A question that can be understood alone."""

    text: str
    needed: tuple[str, ...] = ()
    """Folded words that an answer must have; empty for a question that depends on no other."""


def complete_question(question: str, previous: str, language: Language) -> CompletedQuestion | None:
    """Return the question with what it takes from the previous one; None if it cannot be known what it means.

    `previous`: the question before; empty if there was none.
    """
    lead = language.find_opening(question, language.follow_ups)
    bare = " ".join(_WORD.findall(question)[len(lead.split()) :]) if lead else question
    spoken = [word.casefold() for word in _WORD.findall(bare)]
    if lead and len(spoken) <= LONGEST and language.questions.isdisjoint(spoken):
        return _with_frame(_telling(bare, language), previous, language)
    asked = _telling(bare, language)
    if len(asked) < 2 and _has_object_pronoun(spoken, language):
        return _with_object(bare, asked, previous, language)
    return CompletedQuestion(question)


def _with_frame(new: Sequence[str], previous: str, language: Language) -> CompletedQuestion | None:
    """Return what was asked before, about something else."""
    if not previous or not new:
        return None
    before = _telling(previous, language)
    for openings in (language.how_many, language.definitions):
        if opening := language.find_opening(previous, openings):
            return CompletedQuestion(f"{opening} {' '.join(new)}", tuple(new))
    for openings in (language.how_questions, language.where, language.yes_no):
        if (opening := language.find_opening(previous, openings)) and before:
            return CompletedQuestion(f"{opening} {' '.join([before[0], *new])}", (before[0], *new))
    return CompletedQuestion(f"{previous} {' '.join(new)}", (*before, *new))


def _with_object(
    question: str, asked: Sequence[str], previous: str, language: Language
) -> CompletedQuestion | None:
    """Return the question about what the previous one was about."""
    before = _telling(previous, language)
    if any(
        language.find_opening(previous, each)
        for each in (language.how_questions, language.where, language.yes_no)
    ):
        before = before[1:]  # without its verb
    if not before:
        return None
    return CompletedQuestion(f"{question.strip(' ?')} {' '.join(before)}", (*asked, *before))


def _telling(question: str, language: Language) -> list[str]:
    return [word for word in dict.fromkeys(split_words(question)) if word not in language.stop_words]


def _has_object_pronoun(words: Sequence[str], language: Language) -> bool:
    """Return whether a pronoun stands at the end: the `it` of `Can it export?` is the application."""
    return len(words) > FEWEST and words[-1] in language.pronouns
