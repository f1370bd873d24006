"""Finds the deeds that objects of JSON and forms name as their operation: `{"op": "remove", "path": ..}`, `{"delete": {..}}`.

A deed is an operation, not data: `{"name": .., "type": "delete_flag"}` says what a thing is. So below the outermost fields, and for
fields such as `type`, an object counts only if nothing but arguments stands beside.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from agent.dangers.danger_addresses import (
    find_danger_of_called,
    find_deed_of_path_part,
    find_deed_of_value,
)
from agent.dangers.danger_words import HARM, find_danger_in_words, load_danger_words
from kb_schema.explorations import Danger
from kb_schema.text_similarity import words

MOST_OBJECTS = 3_000
"""Objects of one body that are looked at."""
MOST_FIELDS = 1_000
LONGEST_VALUE = 200
_MOST_WORDS = 4
_NAME = re.compile(r"\A[\w.:/#-]{1,80}\Z")
_IDENTIFYING = frozenset({"id", "ids", "uuid", "guid", "key", "keys", "token", "index"})
"""The last words of fields that say which thing is meant."""
UNSET = frozenset({"", "0", "false", "off", "no", "null", "none"})
"""What a field holds that is not set."""
_WHAT_IT_IS = frozenset({"type", "kind", "event", "mode"})
"""Fields that say what a thing is more often than what is done with it: only words of links count."""

Harm = tuple[Danger, str]
"""What it does, and what shows it."""


@dataclass(frozen=True, slots=True)
class SentObject:
    """An object of JSON, or the fields of a form."""

    fields: tuple[tuple[str, Any], ...]
    depth: int = 1
    """1 for the outermost one, and for those of an outermost list."""
    listed: bool = False
    """It is an entry of a list."""
    form: bool = False

    @property
    def is_operation(self) -> bool:
        """Whether it has nothing but an operation and what this is given, as far as the names of its fields say."""
        return all(_stands_beside(name) for name, _ in self.fields)

    @property
    def has_arguments(self) -> bool:
        """Whether one of its fields is called like the arguments of an operation."""
        return not load_danger_words().addresses.arguments.isdisjoint(
            name.casefold() for name, _ in self.fields
        )


def list_objects(known: Any, *, but: frozenset[str]) -> Iterator[SentObject]:
    """Yield the objects of JSON, the outermost ones first, without what stands below fields with names of `but`."""
    waiting: deque[tuple[Any, int, bool]] = deque([(known, 1, False)])
    count = 0
    while waiting and count < MOST_OBJECTS:
        one, depth, listed = waiting.popleft()
        count += 1
        if isinstance(one, list):
            inside = depth if one is known else depth + listed
            waiting.extend(
                (each, inside, True) for each in one[:MOST_OBJECTS] if isinstance(each, dict | list)
            )
        elif isinstance(one, dict):
            fields = tuple(one.items())[:MOST_FIELDS]
            yield SentObject(fields, depth, listed)
            waiting.extend(
                (value, depth + 1, False)
                for name, value in fields
                if isinstance(value, dict | list) and name.casefold() not in but
            )


def find_harm_of_objects(objects: Sequence[SentObject], *, replaces: bool, tells: bool) -> Harm | None:
    """Return the harm that one of the objects names as its operation.

    `replaces`: what is sent takes the place of what was there (PUT): only the outermost fields say what to do. `tells`: it is sent to
    where deeds are counted or looked for; the same holds there.
    """
    for each in objects:
        outermost, within = each.depth == 1, each.depth == 2 and not each.listed
        if replaces or tells:
            harm = _harm_of_fields_that_say(each) if outermost else None
        else:
            harm = (
                (_harm_of_fields_that_say(each) if outermost or within else None)
                or (_harm_of_operation(each) if each.is_operation else None)
                or (_harm_of_only_field(each) if outermost or each.listed else None)
            )
        if harm is not None:
            return harm
    return None


def list_requests(objects: Sequence[SentObject]) -> Iterator[tuple[str, str]]:
    """Yield method and address of the requests that a body carries: `{"requests": [{"method": "DELETE", "url": ..}]}`."""
    for each in objects:
        said = {name.casefold(): value for name, value in each.fields if isinstance(value, str)}
        method = next(
            (said[name] for name in ("method", "httpmethod", "http_method", "verb") if name in said), ""
        )
        address = next(
            (said[name] for name in ("url", "path", "relative_url", "relativeurl") if name in said), None
        )
        if method and address is not None and ((each.listed and each.depth <= 2) or each.is_operation):
            yield method, address


def below(one: SentObject) -> SentObject:
    """Return an object as one of a list below: a line of JSON is an operation, or a thing that is kept."""
    return replace(one, depth=one.depth + 1, listed=True)


def _harm_of_fields_that_say(one: SentObject) -> Harm | None:
    known = load_danger_words().addresses
    for name, value in one.fields:
        last = _read_last_name(name)
        if not isinstance(value, str) or len(value) > LONGEST_VALUE or _is_told(value):
            continue
        deed: Danger | None = None
        if last in known.fields_that_say:
            deed = find_deed_of_value(value)
            deed = deed if deed in HARM else _find_deed_of_name(value, pressed=len(words(value)) == 1)
        elif one.form and last in known.pressed_buttons:
            found = find_danger_in_words(value, pressed=True)
            deed = found[0] if found is not None else None
        if deed in HARM:
            return deed, f"{last}={value}"[:100]
    return None


def _harm_of_operation(one: SentObject) -> Harm | None:
    """Return the harm that an object names which is nothing but an operation."""
    known = load_danger_words().addresses
    argued = one.has_arguments
    for name, value in one.fields:
        last = _read_last_name(name)
        if _is_set(value, one) and last.lstrip("_") in known.keys_that_do["deletes"]:
            return "deletes", f"{last}={value}"[:100]
        says, may_say = last in known.fields_that_say, last in known.fields_that_may_say
        if not isinstance(value, str) or not (says or (may_say and (argued or one.depth == 1))):
            continue
        if says and len(one.fields) == 1 and one.depth > 1:
            continue  # `{"then": {"action": "delete"}}` is a rule
        pressed = len(words(value[:LONGEST_VALUE])) == 1 if says else argued and last not in _WHAT_IT_IS
        deed = _find_deed_of_name(value, pressed=pressed)
        if deed in HARM:
            return deed, f"{last}={value}"[:100]
    return None


def _is_set(value: object, one: SentObject) -> bool:
    """Whether a field of a form, of an outermost object or of a list is set: below others `{"delete": ..}` is a text or a right."""
    if one.form:
        return isinstance(value, str) and value.casefold() not in UNSET
    return value is True and (one.depth == 1 or one.listed)


def _harm_of_only_field(one: SentObject) -> Harm | None:
    """Return the harm of an object whose only field is called like a deed and holds what it is done to."""
    if len(one.fields) != 1:
        return None
    name, value = one.fields[0]
    if isinstance(value, dict) or (one.listed and isinstance(value, str) and "/" in value):
        deed = _find_deed_of_name(name, pressed=False)
        return (deed, name[:100]) if deed == "deletes" else None
    return None


@lru_cache(maxsize=20_000)
def _find_deed_of_name(name: str, *, pressed: bool) -> Danger | None:
    """Return the harm of an operation that is called so: `DELETE_ITEM`, `item_delete`, `todos/remove`; None if it is no name or does
    none.
    """
    if not _NAME.match(name) or len(words(name)) > _MOST_WORDS or _is_told(name):
        return None
    parts = [each for each in re.split(r"[/.:#]", name) if each]
    if not parts:
        return None
    danger = find_danger_of_called(parts[-1], "".join(parts[-2:-1]), pressed=pressed)
    if danger in HARM:
        return danger
    part = find_deed_of_path_part(parts[-1])
    return part if part in {"deletes", "signs_out"} else None


def _is_told(value: str) -> bool:
    """Whether a value tells of a deed instead of ordering it: `delete_clicked`."""
    said = words(value)
    return len(said) > 1 and said[-1] in load_danger_words().addresses.told


def _read_last_name(name: str) -> str:
    """Return the name of a field without those of what it is in, and without a sign before: `boat[action]`, `:operation`."""
    return name.casefold().rstrip("]").rpartition("[")[2].lstrip(":@$")


@lru_cache(maxsize=20_000)
def _stands_beside(name: str) -> bool:
    """Whether a field stands beside an operation, by its name."""
    known, plain = load_danger_words().addresses, name.casefold()
    lists = (known.fields_that_say, known.fields_that_may_say, known.arguments, known.beside_operations)
    return (
        any(plain in each for each in lists)
        or plain in known.anti_forgery
        or plain.lstrip("_") in known.keys_that_do["deletes"]
        or not _IDENTIFYING.isdisjoint(words(name)[-1:])
    )
