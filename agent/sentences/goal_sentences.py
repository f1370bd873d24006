"""Goals of a demonstration as the sentences that `sentence_binding` reads: "show how a boat is created" is "create a boat"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.sentences.sentence_words import is_verb

_FRAME = re.compile(
    r"^(?:please\s+)?(?:(?:show|demonstrate|explain|present|tell)(?:\s+(?:me|us|them))?\s+)?(?:how\s+)?(?:(?:to|you|we|i|one|people)\s+)?",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"^(?P<what>.+?)\s+(?:is|are|was|were|gets?|can\s+be)\s+(?P<done>[a-z]+)\b(?P<rest>.*)$", re.IGNORECASE
)
_IRREGULAR = {"made": "make", "found": "find", "chosen": "choose", "set": "set", "seen": "see", "sent": "send", "put": "put",
              "written": "write", "taken": "take", "given": "give", "paid": "pay", "bought": "buy", "sold": "sell"}  # fmt: skip


def list_requests(goal: str) -> tuple[str, ...]:
    """Return what a goal asks to be shown, as requests; the surest reading first.

    >>> list_requests("Show how a boat is created")
    ('create a boat', 'a boat is created', 'Show how a boat is created')
    >>> list_requests("how to book a charter")
    ('book a charter', 'how to book a charter')
    """
    said = " ".join(goal.split())
    bare = _FRAME.sub("", said, count=1)
    found = [bare, said]
    passive = _PASSIVE.match(bare)
    if passive is not None:
        what, rest = passive["what"], passive["rest"]
        found = [*(f"{verb} {what}{rest}" for verb in _list_verbs(passive["done"])), *found]
    return tuple(dict.fromkeys(each for each in found if each))


def _list_verbs(done: str) -> Sequence[str]:
    """Return the verbs of which a word may be the participle: those that sentences know, else all."""
    found = list_base_forms(done)
    return [each for each in found if is_verb(each)] or found


def list_base_forms(word: str) -> Sequence[str]:
    """Return the verbs of which an English word may be the participle; none if it is none.

    >>> list_base_forms("Deleted"), list_base_forms("sent")
    (['delet', 'delete'], ['send'])
    """
    return list(dict.fromkeys(_iterate_verbs(word.casefold())))


def _iterate_verbs(done: str) -> Iterator[str]:
    if done in _IRREGULAR:
        yield _IRREGULAR[done]
    elif done.endswith("ied"):
        yield f"{done[:-3]}y"
    elif done.endswith("ed"):
        if len(done) > 4 and done[-3] == done[-4]:
            yield done[:-3]  # dropped
        yield done[:-2]
        yield done[:-1]
