"""Binds a sentence by the sentence templates of a task: those that synthesis learned, or an author wrote."""

from __future__ import annotations

from collections.abc import Sequence

from agent.sentences.sentence_words import QUANTIFIERS, drop_politeness
from agent.sentences.task_phrases import TaskPhrase
from agent.sentences.written_templates import read_template
from agent.synthesis.utterances.utterance_templates import (
    UtteranceMismatch,
    UtteranceSlot,
    UtteranceTemplate,
    expand_value_forms,
    split_words,
)

LONGEST_PLAIN = 8
"""Most words of a value without quotes."""
_LINKING = frozenset("to from with into if unless except without then not don't never".split())
"""Words that begin another part of a sentence: a value without quotes has none in lower case, beside lower case."""


def bind_template(sentence: str, phrase: TaskPhrase) -> tuple[dict[str, str | list[str]], int] | None:
    """Return the values by the most specific template that fits, and its number of fixed words; None if none fits."""
    fitting = []
    for text in phrase.work.sentences:
        template = _without_end(read_template(text))
        values = _parse(sentence, template)
        if values is not None and (taken := _take(values, phrase)) is not None:
            fitting.append((taken, sum(not isinstance(part, UtteranceSlot) for part in template.parts)))
    return max(fitting, key=lambda each: each[1], default=None)


def _without_end(template: UtteranceTemplate) -> UtteranceTemplate:
    parts = list(template.parts)
    while parts and not isinstance(parts[-1], UtteranceSlot) and parts[-1].text in (".", "!"):
        parts.pop()
    return UtteranceTemplate(parts=tuple(parts))


def _parse(sentence: str, template: UtteranceTemplate) -> dict[str, str | list[str]] | None:
    words = drop_politeness(split_words(sentence))
    if not words:
        return None
    told = sentence[words[0].begin : words[-1].end]
    try:
        texts = template.texts(told)
    except UtteranceMismatch:
        return None
    if not all(_is_value(text, slot) for slot, text in texts.items()):
        return None
    return expand_value_forms({slot.name: slot.value(text) for slot, text in texts.items()})


def _is_value(text: str, slot: UtteranceSlot) -> bool:
    """Whether a text can be a value: not the rest of another sentence."""
    if slot.quoted or slot.many:
        return bool(text.strip())
    words = split_words(text)
    if not words or len(words) > LONGEST_PLAIN:
        return False
    if len(words) == 1:
        return words[0].quoted or words[0].text.casefold() not in QUANTIFIERS
    return not any(not each.quoted and each.text in _LINKING for each in words)


def _take(values: dict[str, str | list[str]], phrase: TaskPhrase) -> dict[str, str | list[str]] | None:
    """Return the values that the task takes; None if it needs one that the sentence has not."""
    specs = {spec.name for spec in phrase.work.io_spec.inputs}
    taken = {name: value for name, value in values.items() if name in specs}
    needed: Sequence[str] = [each.spec.name for each in phrase.inputs if each.needed]
    return taken if all(name in taken for name in needed) else None
