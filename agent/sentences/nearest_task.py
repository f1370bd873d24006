"""The task that comes nearest to a sentence that means none: a hint for the person, never run.

It has the sentence's verb and a noun of it in its name, its id or its sentence templates, and of those most of the sentence's nouns. Where none
has both, none is near: what does something else to the same thing is no help.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.sentences.sentence_words import QUANTIFIERS, SMALL, split_verb, stem
from agent.sentences.task_phrases import TaskPhrase
from agent.synthesis.utterances.utterance_words import UtteranceWord
from agent.synthesis.utterances.written_templates import read_template
from kb_schema.base import Model

_UNTELLING = SMALL | QUANTIFIERS


class NearTask(Model):
    """A task that a sentence comes near to, and what a sentence for it has to say."""

    task_id: str
    name: str
    needs: tuple[str, ...] = ()
    """Its required inputs."""


def find_nearest_task(words: Sequence[UtteranceWord], phrases: Iterable[TaskPhrase]) -> NearTask | None:
    """Return the task that shares the verb and most nouns with a sentence; None if none shares both.

    `words`: the sentence without forms of politeness.
    """
    spoken = [each.text for each in words if not each.quoted]
    meanings, rest = split_verb(spoken)
    said, told = _list_stems(rest), {each.casefold() for each in rest} & QUANTIFIERS
    ranked = [
        (
            (
                len(phrase.quantifiers - told),
                -2 * len(shared) - len(said & _list_labels(phrase)),
                phrase.work.local_id,
            ),
            phrase,
        )
        for phrase in phrases
        if meanings & _list_meanings(phrase) and (shared := said & _list_nouns(phrase))
    ]
    if not ranked:
        return None
    _, best = min(ranked, key=lambda each: each[0])
    return NearTask(
        task_id=best.work.local_id,
        name=best.work.name or best.work.local_id,
        needs=tuple(each.spec.name for each in best.inputs if each.needed),
    )


def _list_stems(words: Iterable[str]) -> set[str]:
    return {stem(each) for each in words if each.casefold() not in _UNTELLING and any(map(str.isalpha, each))}


def _list_fixed_words(phrase: TaskPhrase) -> Iterable[list[str]]:
    """Yield the words of each sentence template of a task, without its values."""
    for text in phrase.work.sentences:
        yield [each.text for each in read_template(text).template.parts if isinstance(each, UtteranceWord)]


def _list_meanings(phrase: TaskPhrase) -> frozenset[str]:
    return phrase.meanings.union(*(split_verb(words)[0] for words in _list_fixed_words(phrase)))


def _list_nouns(phrase: TaskPhrase) -> frozenset[str]:
    return phrase.nouns.union(*(_list_stems(split_verb(words)[1]) for words in _list_fixed_words(phrase)))


def _list_labels(phrase: TaskPhrase) -> set[str]:
    return {word for each in phrase.inputs for label in each.labels for word in label}
