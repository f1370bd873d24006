"""Sentence templates as text in documents: `Move {title} to "{folder}"`.

`{name}` is a slot, `"{name}"` a slot whose text is quoted, `{name:list}` an enumeration.
"""

from __future__ import annotations

import re

from agent.synthesis.utterances.utterance_templates import (
    UtteranceSlot,
    UtteranceTemplate,
    UtteranceWord,
    split_words,
)

_SLOT = re.compile(r"\{([A-Za-z_]\w*)(:list)?\}")
_MARK = "\ue000"
"""Stands for a slot while the words are split; a character that no keyboard has."""


def read_template(text: str) -> UtteranceTemplate:
    """Return the template that a document states.

    >>> read_template('Move {title} to "{folder}"').parse('Move Plans to "Old"')
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
                parts.append(UtteranceSlot(name=slot[1], quoted=word.quoted, many=slot[2] is not None))
            elif piece:
                parts.append(UtteranceWord(text=piece))
    return UtteranceTemplate(parts=tuple(parts))


def write_template(template: UtteranceTemplate) -> str:
    """Return the text of a template; the opposite of `read_template`."""
    text = str(template)
    for slot in template.slots:
        if slot.many:
            text = text.replace(f"{{{slot.name}}}", f"{{{slot.name}:list}}")
    return text
