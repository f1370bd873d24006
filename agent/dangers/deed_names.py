"""Finds the deed in the name that a program gives it: `deleteUser`, `acme.DeleteUserRequest`, `PAY_INVOICE`, `users.remove`.

A name of a verb and a thing is that of an operation, wherever it stands; one word (`remove`) is so only in a field of operations.
`named_operations` decides what the places in a body mean.
"""

from __future__ import annotations

import re
from functools import lru_cache

from agent.dangers.danger_addresses import find_danger_of_called, find_deed_of_path_part
from agent.dangers.danger_words import HARM, load_danger_words
from kb_schema.explorations import Danger
from kb_schema.text_similarity import words

_NAME = re.compile(r"\A[\w.:/#+$-]{1,120}\Z")
_ASSEMBLY = re.compile(r"\A([\w.+`]{3,100}), ?[\w.]{2,60}(?:, .{0,120})?\Z")
"""A class of .NET with where it is: `Acme.DeleteAccountCommand, Acme`."""
_PARTS = re.compile(r"[/.:#+$]")
_MOST_WORDS = 5


@lru_cache(maxsize=20_000)
def find_deed_of_name(name: str, *, most_words: int = 4, pressed: bool) -> Danger | None:
    """Return the harm of an operation that is called so: `DELETE_ITEM`, `item_delete`, `todos/remove`; None if it is no name or does
    none. `pressed`: the words of buttons count; else only those of links.
    """
    if not _NAME.match(name) or len(words(name)) > most_words or is_told(name):
        return None
    parts = [each for each in _PARTS.split(name) if each]
    if not parts or not load_danger_words().addresses.words_of_no_deed.isdisjoint(words(parts[-1])[:1]):
        return None
    danger = find_danger_of_called(parts[-1], "".join(parts[-2:-1]), pressed=pressed)
    if danger in HARM:
        return danger
    part = find_deed_of_path_part(parts[-1])
    return part if part in {"deletes", "signs_out"} else None


@lru_cache(maxsize=20_000)
def find_deed_of_verb_and_thing(name: str) -> Danger | None:
    """Return the harm of an operation that is called by a verb and what it is done to; None of other names, and of what tells of a deed,
    tests for it, takes it back or says when it is done (`list_deleted`, `can_delete`, `delete_after_days`).
    """
    found = _ASSEMBLY.match(name)
    name = found.group(1) if found else name
    if not _NAME.match(name) or is_told(name):
        return None
    known = load_danger_words().addresses
    parts = [each for each in _PARTS.split(name) if each]
    said = [each for each in words(parts[-1] if parts else "") if not each.isdigit()]
    while len(said) > 2 and said[-1] in known.words_of_orders:
        said.pop()
    thing = words(parts[-2])[-1:] if len(parts) > 1 else ()
    if not said or len(said) > _MOST_WORDS or len(said) + len(thing) < 2:
        return None
    verb = next((at for at, each in enumerate(said) if _is_deed(each)), 0)
    looking = known.words_of_looking if verb < len(said) - 1 else frozenset()
    if not known.words_of_when.isdisjoint(said) or not (known.words_of_no_deed | looking).isdisjoint(
        said[:verb]
    ):
        return None
    deed = find_deed_of_name(
        "_".join((*thing, *said) if len(said) == 1 else said), most_words=_MOST_WORDS + 1, pressed=True
    )
    if deed == "deletes" or deed is None or len(said) == 1:
        return deed
    return None if _is_deed(said[-1]) and not _is_deed(said[0]) else deed  # `bank_transfer` is a thing


def _is_deed(word: str) -> bool:
    return find_deed_of_name(word, pressed=True) is not None


def is_told(value: str) -> bool:
    """Return whether a value tells of a deed instead of ordering it: `delete_clicked`."""
    said = words(value)
    return len(said) > 1 and said[-1] in load_danger_words().addresses.told


@lru_cache(maxsize=20_000)
def says_operations(field: str) -> bool:
    """Return whether a field holds names of operations by its own name: `operationType`, `$type`, `mutation`, `m`."""
    known, said = load_danger_words().addresses, words(field)
    if not said or not known.fields_of_data.isdisjoint(said):
        return False
    return len("".join(said)) <= 1 or not known.words_of_operations.isdisjoint((said[0], said[-1]))


@lru_cache(maxsize=20_000)
def holds_data(field: str) -> bool:
    """Return whether a field says by its name that it holds data, whatever its value is called."""
    return not load_danger_words().addresses.fields_of_data.isdisjoint(words(field))
