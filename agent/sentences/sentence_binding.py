"""Finds the task that a sentence means, and the values of its inputs, without a model.

Sentences that were shown come first, then sentence templates, then the words of names and inputs. Values are bound whole or not at all, and a sentence
with a word that nothing explains means no task: refusing is better than a wrong task.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.sentences.nearest_task import NearTask, find_nearest_task
from agent.sentences.phrase_binding import Values, bind_phrase
from agent.sentences.sentence_words import drop_politeness
from agent.sentences.shown_sentences import find_shown_values, find_similar_values
from agent.sentences.task_phrases import TaskPhrase, Work
from agent.sentences.template_binding import bind_template
from agent.synthesis.utterances.utterance_words import split_words
from kb_schema.base import Model

MOST_SHOWN = 2
"""Tasks that are shown where none is clear."""
LONGEST_SENTENCE = 2_000
"""Characters."""


class BoundTask(Model):
    """A task that a sentence may mean."""

    task_id: str
    name: str
    values: dict[str, str | list[str]]
    missing: tuple[str, ...] = ()
    """Required inputs without a value."""


class SentenceMeaning(Model):
    """What a sentence means."""

    sentence: str
    task: BoundTask | None = None
    """The only task that fits, with all its values; None if there is none, or if it must be asked."""
    similar: tuple[BoundTask, ...] = ()
    """Without a task: those that may be meant, at most `MOST_SHOWN`."""
    nearest: NearTask | None = None
    """If none is meant: the one that comes nearest. It does something else, and is only named."""


def bind_sentence(sentence: str, works: Iterable[Work]) -> SentenceMeaning:
    """Return which of the tasks and workflows a sentence means."""
    if len(sentence) > LONGEST_SENTENCE:
        return SentenceMeaning(sentence=sentence)
    phrases = [TaskPhrase(work=work) for work in works]
    shown = [
        _bound(phrase, dict(values))
        for phrase in phrases
        if (values := find_shown_values(sentence, phrase.work)) is not None
    ]
    if shown:
        return _decide(sentence, [(task, True) for task in shown])
    matches = [
        (match, phrase) for phrase in phrases if (match := bind_template(sentence, phrase)) is not None
    ]
    if matches:
        most = max((match.sure, match.fixed) for match, _ in matches)
        best = [(match, phrase) for match, phrase in matches if (match.sure, match.fixed) == most]
        return _decide(sentence, [(_bound(phrase, match.values), match.sure) for match, phrase in best])
    words = drop_politeness(split_words(sentence))
    found = [(bound, phrase) for phrase in phrases if (bound := bind_phrase(words, phrase)) is not None]
    if found:
        return _decide(sentence, [(_bound(phrase, values), sure) for (values, sure), phrase in found])
    similar = [
        (_bound(phrase, values), False)
        for phrase in phrases
        if (values := find_similar_values(sentence, phrase.work)) is not None
    ]
    if similar:
        return _decide(sentence, similar)
    return SentenceMeaning(sentence=sentence, nearest=find_nearest_task(words, phrases))


def _bound(phrase: TaskPhrase, values: Values) -> BoundTask:
    missing = tuple(each.spec.name for each in phrase.inputs if each.needed and each.spec.name not in values)
    return BoundTask(
        task_id=phrase.work.local_id,
        name=phrase.work.name or phrase.work.local_id,
        values=values,
        missing=missing,
    )


def _decide(sentence: str, found: list[tuple[BoundTask, bool]]) -> SentenceMeaning:
    """Return the only complete task; else those to ask about."""
    clear = [task for task, sure in found if sure and not task.missing]
    if len(clear) == 1:
        return SentenceMeaning(sentence=sentence, task=clear[0])
    shown = clear or [task for task, _ in found]
    return SentenceMeaning(sentence=sentence, similar=tuple(shown[:MOST_SHOWN]))
