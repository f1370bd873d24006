"""Binds a sentence by the sentence templates of a task: those that synthesis learned, or an author wrote."""

from __future__ import annotations

import re

from agent.sentences.phrase_binding import Values
from agent.sentences.sentence_words import CHANGING, QUANTIFIERS, SMALL, drop_politeness
from agent.sentences.task_phrases import TaskPhrase
from agent.sentences.value_texts import ValueText
from agent.synthesis.utterances.utterance_templates import (
    UtteranceMismatch,
    UtteranceSlot,
    UtteranceTemplate,
    expand_value_forms,
)
from agent.synthesis.utterances.utterance_words import split_words
from agent.synthesis.utterances.value_forms import is_date
from agent.synthesis.utterances.written_templates import SentenceTemplate, is_plain, read_template
from kb_schema.base import Model
from kb_schema.ranked_values import read_ranking
from kb_schema.sentence_quotes import list_quotes

LONGEST_PLAIN = 8
"""Most words of a value without quotes."""
LEAST_FIXED = 2
"""Fixed words, without small ones, of a template that is enough: "Change {x} to {y}" fits too much."""
_ENDED = re.compile(
    r"""['\u2019](?!\w).*?(?<!\w)['\u2018]\w|["\u201d](?!\w).*?(?<!\w)["\u201c]\w""", re.DOTALL
)
"""A quoted text ends and another begins: `Lamp' and the colour 'red`. It may be two values, of which the template has one."""
_LINKING = frozenset(
    ["to", "from", "with", "into", "if", "unless", "except", "without", "then", "not", "don't", "never"]
)
"""Words that begin another part of a sentence; a value without quotes has none of them in lower case."""
_SEVERAL = CHANGING | frozenset(["and", "or", "but", "second", "third", "previous", "same"])
"""Words in lower case of a text that may name several things, or another one at another time: "Slack and GitHub", "second Chrome"."""


class TemplateMatch(Model):
    """A template that fits a sentence."""

    values: Values
    fixed: int
    """The number of its fixed words."""
    sure: bool
    """Whether the template says enough, and every slot with known texts has one of them."""


def bind_template(sentence: str, phrase: TaskPhrase) -> TemplateMatch | None:
    """Return the match of the most specific template that fits; None if none fits."""
    found = (_match(sentence, read_template(text), phrase) for text in phrase.work.sentences)
    fitting = [each for each in found if each is not None]
    return max(fitting, key=lambda each: (each.sure, each.fixed), default=None)


def _match(sentence: str, stated: SentenceTemplate, phrase: TaskPhrase) -> TemplateMatch | None:
    template = _without_end(stated.template)
    words = drop_politeness(split_words(sentence))
    if not words:
        return None
    end = words[-1].end
    try:
        texts = template.texts(sentence[words[0].begin : end])
    except UtteranceMismatch:
        return None
    if not all(_is_value(text, slot) for slot, text in texts.items()):
        return None
    values = expand_value_forms({slot.name: slot.value(text) for slot, text in texts.items()})
    specs = {spec.name for spec in phrase.work.io_spec.inputs if not spec.secret}
    if any(each.needed and each.spec.name not in values for each in phrase.inputs):
        return None
    fixed = [part for part in template.parts if not isinstance(part, UtteranceSlot)]
    telling = [each for each in fixed if each.text.casefold() not in SMALL and each.text[:1].isalnum()]
    return TemplateMatch(
        values={name: value for name, value in values.items() if name in specs},
        fixed=len(fixed),
        sure=len(telling) >= LEAST_FIXED
        and all(
            _is_sure(text, slot, stated, phrase, quoted=text in list_quotes(sentence))
            for slot, text in texts.items()
        ),
    )


def _is_sure(
    text: str, slot: UtteranceSlot, stated: SentenceTemplate, phrase: TaskPhrase, *, quoted: bool
) -> bool:
    """Whether a text in this slot asks for nothing else, as "visibility" in "Change your profile {part}" may, and for one thing."""
    if slot.name in stated.known:
        return text in stated.known[slot.name]
    if slot.quoted or slot.many:
        return slot.many or _ENDED.search(text) is None
    asked = next((each for each in phrase.inputs if each.spec.name == slot.name), None)
    if asked is not None and (asked.options or asked.spec.type == "file"):
        return asked.accept(ValueText(text=text, kind="word")) is not None
    words = split_words(text)
    return (
        is_date(text)
        or (len(words) == 1 and words[0].quoted)
        or not (is_plain(text) or any(_tells_several(each.text, quoted=quoted) for each in words))
    )


def _tells_several(word: str, *, quoted: bool) -> bool:
    return word == "," or (
        not quoted and word.islower() and (word in _SEVERAL or read_ranking(word) is not None)
    )


def _without_end(template: UtteranceTemplate) -> UtteranceTemplate:
    parts = list(template.parts)
    while parts and not isinstance(parts[-1], UtteranceSlot) and parts[-1].text in (".", "!"):
        parts.pop()
    return UtteranceTemplate(parts=tuple(parts))


def _is_value(text: str, slot: UtteranceSlot) -> bool:
    """Whether a text can be a value: not the rest of another sentence."""
    if not text.strip():
        return slot.may_be_empty
    if slot.quoted or slot.many:
        return True
    words = split_words(text)
    if not words or len(words) > LONGEST_PLAIN:
        return False
    if len(words) == 1:
        return words[0].quoted or words[0].text.casefold() not in QUANTIFIERS
    return not any(not each.quoted and each.text in _LINKING for each in words)
