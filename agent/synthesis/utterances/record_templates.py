"""Tasks that are told as records: JSON objects, `key: value` lines, or tables of two columns.

Each key is a slot of its name. A goal with a key that no recording had, or without one that all had, is refused: nobody
showed what to do then. `utterance_templates` does the same for sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from agent.synthesis.utterances.utterance_templates import UtteranceMismatch, UtteranceSlot
from agent.synthesis.utterances.value_forms import build_identifier, has_parts
from kb_schema.base import Model
from kb_schema.templates import as_text

LEAST_KEYS = 2
"""Keys of a record; one line with a colon may be a sentence."""
_LINE = re.compile(r"\|?\s*(?P<key>[^:|\t]{1,60}?)\s*(?:[:|\t])\s*(?P<value>[^|\t]*?)\s*\|?")
_RULE = re.compile(r"[|\s:+=-]+")
"""The line below the head of a table."""

Record = Mapping[str, "str | list[str]"]
"""Key, as it is written -> its value; a list of plain values is a list."""


class RecordTemplate(Model):
    """The keys of a task that is told as a record."""

    keys: tuple[str, ...]
    """The keys of all recordings, as they are written, in order."""
    lists: tuple[str, ...] = ()
    """Those whose values are lists."""
    optional: tuple[str, ...] = ()
    """Those that some recordings did not have."""
    always: Mapping[str, str] = {}
    """Keys on which nothing depends -> the value that all recordings had."""
    unused_parts: Mapping[str, Mapping[str, str]] = {}
    """Slot -> forms of its value on which nothing depends, with what they are in all recordings: the year of a date."""

    @cached_property
    def slots(self) -> tuple[UtteranceSlot, ...]:
        """The slots, in order, without those that always have the same value."""
        return tuple(
            UtteranceSlot(name=_name(key), many=key in self.lists, may_be_empty=key in self.optional)
            for key in self.keys
            if key not in self.always
        )

    def parse(self, utterance: str) -> dict[str, str | list[str]]:
        """Return the value of each slot in a goal; "" where it is optional and missing. Raises `UtteranceMismatch`."""
        record = self._read(utterance)
        values = {_name(key): record.get(key, "") for key in self.keys if key not in self.always}
        if not all(has_parts(values[slot], parts) for slot, parts in self.unused_parts.items()):
            raise UtteranceMismatch(utterance, str(self))
        return values

    def texts(self, utterance: str) -> dict[UtteranceSlot, str]:
        """Return the text of each slot in a goal. Raises `UtteranceMismatch`."""
        values = self.parse(utterance)
        return {slot: _as_text(values[slot.name]) for slot in self.slots}

    def fixed(self, slot: UtteranceSlot, text: str) -> RecordTemplate:
        """Return the template that expects a text at a slot."""
        key = next(each for each in self.keys if _name(each) == slot.name)
        always = {**self.always, key: text}  # a copy of the model would keep the slots that are cached
        return RecordTemplate(keys=self.keys, lists=self.lists, optional=self.optional, always=always)

    def _read(self, utterance: str) -> Record:
        record = read_record(utterance)
        if record is None:
            raise UtteranceMismatch(utterance, str(self))
        missing = [key for key in self.keys if key not in record and key not in self.optional]
        wrong = [
            key
            for key, value in self.always.items()
            if _as_text(record.get(key, "")).casefold() != value.casefold()
        ]
        if missing or wrong or set(record) - set(self.keys):
            raise UtteranceMismatch(utterance, str(self))
        return record

    def __str__(self) -> str:
        """Return the template as lines in one: `Name: {name}; Kind: voice`."""
        told = [
            f"{key}: {self.always[key]}"
            if key in self.always
            else f"{key}: {{{_name(key)}}}" + ("?" if key in self.optional else "")
            for key in self.keys
        ]
        return "; ".join(told)


def read_record(utterance: str) -> Record | None:
    r"""Return the keys and values of a text; None if it is no record.

    >>> read_record('{"City": "Rhodes", "Day": 3}')
    {'City': 'Rhodes', 'Day': '3'}
    >>> read_record("City: Rhodes\\nDay: 3"), read_record("| City | Rhodes |\\n| Day | 3 |")
    ({'City': 'Rhodes', 'Day': '3'}, {'City': 'Rhodes', 'Day': '3'})
    >>> read_record("Book a flight to: Rhodes") is None
    True
    """
    text = utterance.strip()
    found = _from_json(text) if text.startswith("{") else _from_lines(text)
    if found is None or len(found) < LEAST_KEYS:
        return None
    names = {_name(key) for key in found}
    return found if len(names) == len(found) and "" not in names else None


def learn_record_template(utterances: Sequence[str]) -> RecordTemplate | None:
    """Return the template of goals that are all records; None if one is not."""
    records = [read_record(each) for each in utterances]
    if not records or any(each is None for each in records):
        return None
    known = [each for each in records if each is not None]
    keys = tuple(dict.fromkeys(key for each in known for key in each))
    return RecordTemplate(
        keys=keys,
        lists=tuple(key for key in keys if any(isinstance(each.get(key), list) for each in known)),
        optional=tuple(key for key in keys if any(key not in each for each in known)),
    )


def _from_json(text: str) -> dict[str, str | list[str]] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if not isinstance(data, dict) else _flat(data)


def _flat(data: Mapping[str, object]) -> dict[str, str | list[str]] | None:
    """Return the plain values of an object by key; those of an object in it as `outer inner`. None if there are others."""
    found: dict[str, str | list[str]] = {}
    for key, value in data.items():
        if isinstance(value, dict):
            inner = _flat(value)
            if inner is None:
                return None
            found |= {f"{key} {each}": told for each, told in inner.items()}
        elif isinstance(value, list):
            if any(isinstance(each, dict | list) for each in value):
                return None
            found[key] = [as_text(each) for each in value]
        else:
            found[key] = "" if value is None else as_text(value)
    return found


def _from_lines(text: str) -> dict[str, str | list[str]] | None:
    found: dict[str, str | list[str]] = {}
    for line in text.splitlines():
        if not line.strip() or _RULE.fullmatch(line):
            continue
        told = _LINE.fullmatch(line.strip())
        if told is None or told["key"] in found:
            return None
        found[told["key"]] = told["value"]
    return found


def _name(key: str) -> str:
    return build_identifier(key)


def _as_text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
