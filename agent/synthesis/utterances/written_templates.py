"""Sentence templates as text in documents: `Move {title} to "{folder}"`.

`{name}` is a slot, `"{name}"` a slot whose text is quoted, `{name:list}` an enumeration (`{name:list by commas}`: an "and" belongs to an item), and `{name:open|closed}` a slot
with the texts that are known for it; `{name:|virtual}` may be empty.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from agent.synthesis.utterances.utterance_templates import UtteranceSlot, UtteranceTemplate
from agent.synthesis.utterances.utterance_words import UtteranceWord, split_words
from agent.synthesis.utterances.value_forms import FORMS
from kb_schema.base import Model

_SLOT = re.compile(r"\{([A-Za-z_]\w*)(?::([^{}]+))?\}")
_MARK = "\ue000"
"""Stands for a slot while the words are split; a character that no keyboard has."""
_LIST, _COMMAS = "list", "list by commas"


class SentenceTemplate(Model):
    """A template, and the texts that are known for some of its slots."""

    template: UtteranceTemplate
    known: Mapping[str, tuple[str, ...]] = {}
    """Slot -> its known texts. Another text may ask for something else."""


def read_template(text: str) -> SentenceTemplate:
    """Return the template that a document states.

    >>> read_template('Move {title} to "{folder}"').template.parse('Move Plans to "Old"')
    {'title': 'Plans', 'folder': 'Old'}
    """
    slots = list(_SLOT.finditer(text))
    parts: list[UtteranceWord | UtteranceSlot] = []
    found = iter(slots)
    for word in split_words(_SLOT.sub(_MARK, text)):
        if _MARK not in word.text:
            parts.append(word)
            continue
        for piece in re.split(f"({_MARK})", word.text):
            if piece == _MARK:
                slot = next(found)
                empty = slot[2] is not None and "" in slot[2].split("|")
                parts.append(
                    UtteranceSlot(
                        name=slot[1],
                        quoted=word.quoted,
                        many=slot[2] in (_LIST, _COMMAS),
                        commas_only=slot[2] == _COMMAS,
                        may_be_empty=empty,
                    )
                )
            elif piece:
                parts.append(UtteranceWord(text=piece))
    known = {each[1]: tuple(each[2].split("|")) for each in slots if each[2] not in (None, _LIST, _COMMAS)}
    return SentenceTemplate(template=UtteranceTemplate(parts=tuple(parts)), known=known)


def write_template(
    template: UtteranceTemplate, sentences: Sequence[str], inputs: Collection[str]
) -> str | None:
    """Return the text of a template that was learned from sentences; None if it cannot be written.

    A slot has its known texts if it gives no input, or if all its texts are plain words in lower case, such as
    "enable": another text there would ask for another task.
    """
    if template.unused_parts:
        return None  # a written slot cannot say that a date is of this year
    seen = [template.texts(each) for each in sentences]
    text = str(template)
    for slot in template.slots:
        texts = sorted({each[slot] for each in seen})
        gives = any(name in inputs for name in (slot.name, *(f"{slot.name}_{form}" for form in FORMS)))
        if gives and slot.many:
            note = _COMMAS if slot.commas_only else _LIST
        elif gives and (slot.quoted or not all(map(is_plain, texts))):
            continue
        elif any(set("|{}") & set(each) for each in texts):
            return None
        else:
            note = "|".join(texts)
        text = text.replace(f"{{{slot.name}}}", f"{{{slot.name}:{note}}}")
    return text


def is_plain(text: str) -> bool:
    """Whether a text has nothing but words in lower case."""
    return re.fullmatch(r"[^\W\d_A-Z]+(?:[ -][^\W\d_A-Z]+)*", text) is not None and text == text.lower()
