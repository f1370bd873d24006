"""Finds the deeds that objects of JSON and forms name as their operation: `{"op": "remove", "path": ..}`, `{"delete": {..}}`.

A deed is an operation, not data: `{"name": .., "type": "delete_flag"}` says what a thing is. So below the outermost fields, and for
fields such as `type`, an object counts only if nothing but arguments stands beside.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from agent.dangers.danger_addresses import find_deed_of_value
from agent.dangers.danger_words import (
    HARM,
    find_danger_in_words,
    find_harm_spelt_in_ascii,
    load_danger_words,
)
from agent.dangers.deed_names import (
    find_deed_of_name,
    find_deed_of_verb_and_thing,
    holds_data,
    is_told,
    says_operations,
)
from kb_schema.explorations import Danger
from kb_schema.text_similarity import words

MOST_OBJECTS = 3_000
"""Objects of one body that are looked at."""
MOST_FIELDS = 1_000
LONGEST_VALUE = 200
METHOD_FIELD = "_method"
STORED_OPERATIONS = frozenset({"operationname", "fb_api_req_friendly_name"})
"""Fields of GraphQL that name what is stored at the server: most are queries, also those that are called like a deed."""
_PARTS_OF_BUTTONS = re.compile(r"[$:.\[\]]")
"""What stands between the parts of a button's name: `ctl00$Main$btnDelete`, `form:deleteButton`, `btnDelete.x`."""
_IDENTIFYING = frozenset({"id", "ids", "uuid", "guid", "key", "keys", "token", "index"})
"""The last words of fields that say which thing is meant."""
UNSET = frozenset({"", "0", "false", "off", "no", "null", "none"})
"""What a field holds that is not set."""
_SWITCHED_OFF = UNSET - {""}
"""The same of a button: one without a value is sent with none."""
_WHAT_IT_IS = frozenset({"type", "kind", "event", "mode"})
"""Fields that say what a thing is more often than what is done with it: only words of links count."""

_OFTEN_TEXTS = frozenset({"class", "message", "msg", "target", "task"})
"""Fields of operations that as often hold a text or a class of CSS: a name with hyphens is none of an operation there."""

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
    ordered: bool = False
    """It stands in a field of orders (`command`, `mutations`) of an object that has nothing else."""
    told: bool = False
    """It stands in a field of events."""
    defined: bool = False
    """It is, or stands in, what defines a thing: something with a name for people, a rule, a column, a right; or it tells of a deed."""

    @property
    def is_operation(self) -> bool:
        """Whether it has nothing but an operation and what this is given, as far as the names of its fields say."""
        return all(_stands_beside(name) for name, _ in self.fields)

    @property
    def is_call(self) -> bool:
        """Whether it has nothing but the name of an operation, which it is ordered to do or given arguments for, and what stands beside."""
        known, names = load_danger_words().addresses, [name for name, _ in self.fields]
        beside = known.fields_that_call | known.beside_calls
        return (
            not self.told
            and (self.is_ordered or not known.arguments_of_calls.isdisjoint(map(str.casefold, names)))
            and all(name.casefold() in beside or _stands_beside(name) for name in names)
        )

    @property
    def is_ordered(self) -> bool:
        """Whether it stands where orders do; one of a list that has only a name is none: `{"actions": [{"name": "delete"}]}`."""
        return self.ordered and (len(self.fields) > 1 or not self.listed)

    @property
    def has_arguments(self) -> bool:
        """Whether one of its fields is called like the arguments of an operation."""
        return not load_danger_words().addresses.arguments.isdisjoint(
            name.casefold() for name, _ in self.fields
        )


def list_objects(known: Any, *, but: frozenset[str]) -> Iterator[SentObject]:
    """Yield the objects of JSON, the outermost ones first, without what stands below fields with names of `but`."""
    waiting: deque[tuple[Any, SentObject]] = deque([(known, SentObject(()))])
    count = 0
    while waiting and count < MOST_OBJECTS:
        one, place = waiting.popleft()
        count += 1
        if isinstance(one, list):
            inside = place.depth if one is known else place.depth + place.listed
            each_place = replace(place, depth=inside, listed=True)
            if (called := _read_tuple(one)) is not None and not place.fields:
                yield replace(each_place, fields=(("call", called), ("args", one[1:])))
            read = [read_json(each) if isinstance(each, str) else each for each in one[:MOST_OBJECTS]]
            waiting.extend((each, each_place) for each in read if isinstance(each, dict | list))
        elif isinstance(one, dict):
            here = replace(place, fields=tuple(one.items())[:MOST_FIELDS])
            here = replace(here, defined=place.defined or _defines(here))
            yield here
            waiting.extend(_list_below(here, but))


def _list_below(one: SentObject, but: frozenset[str]) -> Iterator[tuple[Any, SentObject]]:
    """Yield what stands in the fields of an object, with its place; also JSON in a text."""
    known = load_danger_words().addresses
    orders = all(name.casefold() in known.fields_of_orders or _stands_beside(name) for name, _ in one.fields)
    for name, value in one.fields:
        plain = name.casefold()
        below = read_json(value) if isinstance(value, str) else value
        if isinstance(below, dict | list) and plain not in but:
            ordered, told = orders and plain in known.fields_of_orders, plain in known.counters
            defined = one.defined or told or plain in known.definitions
            yield (
                below,
                SentObject(
                    (), one.depth + 1, ordered=ordered, told=told, defined=defined, listed=below is not value
                ),
            )


def _defines(one: SentObject) -> bool:
    """Whether an object defines a thing by the names of its fields: it has a name for people, or is a rule or a setting."""
    known, names = load_danger_words().addresses, {name.casefold() for name, _ in one.fields}
    if not names.isdisjoint(known.arguments_of_calls):
        return False
    named = any(
        isinstance(value, str) and name.casefold() in known.names_for_people for name, value in one.fields
    )
    return named or not names.isdisjoint(known.parts_of_rules)


def read_json(text: str) -> Any:
    """Return what a text of JSON holds, also behind the digits of Engine.IO (`42["deleteUser", ..]`); None if it is none."""
    bare = text.strip().lstrip("0123456789") if text[:1].isdigit() else text.lstrip()
    with suppress(ValueError, RecursionError):  # not JSON, or nested without end
        return json.loads(bare) if bare[:1] in {"{", "["} else None
    return None


def find_harm_of_objects(
    objects: Sequence[SentObject], *, replaces: bool, tells: bool, path: str = ""
) -> Harm | None:
    """Return the harm that one of the objects names as its operation. `path`: of the address that they are sent to.

    `replaces`: what is sent takes the place of what was there (PUT): only the outermost fields say what to do. `tells`: it is sent to
    where deeds are counted or looked for; the same holds there, but for an order that stands alone.
    """
    for each in objects:
        outermost, within = each.depth == 1, each.depth == 2 and not each.listed
        if replaces or (tells and (each.listed or not each.ordered)):
            harm = _harm_of_fields_that_say(each, path) if outermost else None
        else:
            harm = (
                (_harm_of_fields_that_say(each, path) if outermost or within else None)
                or (_harm_of_operation(each) if each.is_operation else None)
                or (_harm_of_call(each) if each.is_call else None)
                or _harm_of_only_field(each)
                or (None if each.defined else _harm_of_named_deed(each))
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


def list_methods(objects: Sequence[SentObject]) -> Iterator[str]:
    """Yield the methods that objects say in a field that is called `_method`: the application may take any of them."""
    for each in objects:
        for name, value in each.fields:
            if isinstance(value, str) and name.casefold() == METHOD_FIELD:
                yield value


def below(one: SentObject) -> SentObject:
    """Return an object as one of a list below: a line of JSON is an operation, or a thing that is kept."""
    return replace(one, depth=one.depth + 1, listed=True)


def _harm_of_fields_that_say(one: SentObject, path: str) -> Harm | None:
    known = load_danger_words().addresses
    for name, value in one.fields:
        last = _read_last_name(name)
        if not isinstance(value, str) or len(value) > LONGEST_VALUE:
            continue
        deed: Danger | None = None
        if last in known.fields_that_say and _changes_nothing(value, one, path):
            continue
        if last in known.fields_that_say and not is_told(value):
            deed = find_deed_of_value(value)
            deed = deed if deed in HARM else find_deed_of_name(value, pressed=len(words(value)) == 1)
            deed = deed if deed in HARM else find_harm_spelt_in_ascii(value)
        elif last in known.fields_that_say_with_a_thing and "." in value:
            deed = find_deed_of_name(value, pressed=False)
        elif one.form:
            deed = _find_deed_of_button(name, value)
        if deed in HARM:
            return deed, f"{last}={value}"[:100]
    return None


def _changes_nothing(value: str, one: SentObject, path: str) -> bool:
    """Whether a value such as `leave` says that a thing stays as it is: it stands beside what is entered for a thing that nobody goes out of."""
    known = load_danger_words().addresses
    if value.casefold() not in known.leaving or one.is_operation:
        return False
    return known.left.isdisjoint(
        word for text in (path, *(name for name, _ in one.fields)) for word in words(text)
    )


def _find_deed_of_button(name: str, value: str) -> Danger | None:
    """Return the deed of a button that was pressed: of its label, or of its name, which is that of the field or its value."""
    known, plain = load_danger_words().addresses, name.casefold()
    if plain in known.names_of_buttons:
        parts = _PARTS_OF_BUTTONS.split(value)
        return find_deed_of_name(parts[0], pressed=True) or _find_deed_of_button_name(parts[-1])
    called = next((each for each in reversed(_PARTS_OF_BUTTONS.split(name)) if len(each) > 1), "")
    deed = _without_button(called)
    if _read_last_name(name) in known.pressed_buttons or (
        deed is not None and "".join(deed).strip("0123456789") == ""
    ):
        found = find_danger_in_words(value, pressed=True)
        if found is not None and found[0] in HARM:
            return found[0]
    return _find_deed_of_button_name(called) if deed and value.casefold() not in _SWITCHED_OFF else None


def _find_deed_of_button_name(name: str) -> Danger | None:
    deed = _without_button(name)
    return find_deed_of_name("_".join(deed), pressed=len(deed) == 1) if deed else None


def _without_button(name: str) -> tuple[str, ...] | None:
    """Return the words of a button's name without those that say that it is one (`btnDelete`); None if it has none of these."""
    known, said = load_danger_words().addresses, words(name)
    deed = said[1:] if said and said[0] in known.button_words else said
    deed = deed[:-1] if deed and deed[-1] in known.button_words else deed
    return (
        None
        if deed == said or not known.words_of_settings.isdisjoint(said[:: max(1, len(said) - 1)])
        else deed
    )


def _harm_of_operation(one: SentObject) -> Harm | None:
    """Return the harm that an object names which is nothing but an operation."""
    known = load_danger_words().addresses
    argued = one.has_arguments
    for name, value in one.fields:
        last = _read_last_name(name)
        if _is_set(value, one) and last.lstrip("_") in known.keys_that_do["deletes"]:
            return "deletes", f"{last}={value}"[:100]
        says, may_say = last in known.fields_that_say, last in known.fields_that_may_say
        outermost = one.depth == 1 or one.is_ordered
        if not isinstance(value, str) or not (says or (may_say and (argued or outermost))):
            continue
        if says and len(one.fields) == 1 and not outermost:
            continue  # `{"then": {"action": "delete"}}` is a rule
        pressed = len(words(value[:LONGEST_VALUE])) == 1 if says else argued and last not in _WHAT_IT_IS
        deed = find_deed_of_name(value, pressed=pressed)
        if deed in HARM:
            return deed, f"{last}={value}"[:100]
    return None


def _harm_of_call(one: SentObject) -> Harm | None:
    """Return the harm of an operation that an object calls by its name: `{"name": "deleteTodo", "args": {"id": 1}}`."""
    for name, value in one.fields:
        if isinstance(value, str) and name.casefold() in load_danger_words().addresses.fields_that_call:
            deed = find_deed_of_name(value, pressed=True)
            if deed in HARM:
                return deed, f"{name}={value}"[:100]
    return None


def _harm_of_named_deed(one: SentObject) -> Harm | None:
    """Return the harm of an operation that an object names by a verb and a thing, wherever it stands, or by a verb beside its arguments.

    In a field of operations a name of a verb and a thing counts whatever stands beside; in another field (`target`) only beside arguments
    and nothing else.
    """
    if _edits_a_text(one):
        return None
    others = [name for name, _ in one.fields if not _stands_beside(name)]
    for name, value in one.fields:
        if not isinstance(value, str) or len(value) > LONGEST_VALUE or name.casefold() in STORED_OPERATIONS:
            continue
        says, last = says_operations(name), _read_last_name(name)
        alone = not others or others == [name]
        called = alone and one.has_arguments and not holds_data(name)
        slug = last in _OFTEN_TEXTS and "-" in value
        deed = find_deed_of_verb_and_thing(value) if (says or called) and not slug else None
        if deed is None and says and alone and len(one.fields) > 1 and not one.form:
            deed = find_deed_of_name(value, pressed=False)
        if deed in HARM:
            return deed, f"{last}={value}"[:100]
    return None


def _edits_a_text(one: SentObject) -> bool:
    """Whether an object is a step of an editor: it says where in a text, by numbers."""
    said = dict(one.fields)
    path = said.get("path")
    within = all(isinstance(said.get(each), int) for each in ("from", "to")) or isinstance(
        said.get("offset"), int
    )
    return within or (isinstance(path, list) and all(isinstance(each, int) for each in path))


def _read_tuple(listed: Sequence[Any]) -> str | None:
    """Return the name of a list that is a call: `["deleteUser", {"id": 1}]`; None if it is none."""
    called = listed and isinstance(listed[0], str) and any(not isinstance(each, str) for each in listed[1:])
    return listed[0] if called else None


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
    held = isinstance(value, dict) or (one.listed and isinstance(value, str) and "/" in value)
    if held and (one.depth == 1 or one.listed) and find_deed_of_name(name, pressed=False) == "deletes":
        return "deletes", name[:100]
    if isinstance(value, dict) and not one.defined and all(map(_stands_beside, value)):
        deed = find_deed_of_verb_and_thing(name)  # `{"deleteAccount": {"id": 1}}`
        return (deed, name[:100]) if deed in HARM else None
    return None


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
