"""Finds `{secret:NAME}` outside of the fields whose text is typed into a page.

A secret is resolved only at the moment of typing. A field that may name one says so in its type, with
`TypedIntoField`; in every other text of every document the placeholder is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from kb_schema.placeholders import find_secret_names

FIX = "write {secret:NAME} only as the value that a step types into a field"


@dataclass(frozen=True, slots=True)
class TypedIntoField:
    """Annotation of a text that is typed into a field of a page: it may contain `{secret:NAME}`."""


@dataclass(frozen=True, slots=True)
class MisplacedSecret:
    """A placeholder in a text that is not typed. `path`: its JSON path; `name`: of the secret."""

    path: str
    name: str

    def __str__(self) -> str:
        return f"{{secret:{self.name}}} is not allowed in {self.path} -> {FIX}"


def may_name_secret(field: FieldInfo) -> bool:
    """Return whether the type of a field permits `{secret:NAME}`."""
    return any(isinstance(each, TypedIntoField) for each in field.metadata)


def may_mention_secret(model: BaseModel) -> bool:
    """Return whether any text of a model can contain `{secret:NAME}`. Much faster than looking for its place."""
    try:
        return "{secret:" in model.model_dump_json()
    except (ValueError, UnicodeError):  # half a character, which JSON in UTF-8 cannot have
        return True


def is_stored_without_secrets(stored: str | bytes) -> bool:
    """Return whether no string of a stored record, JSON text or BSON, can contain `{secret:NAME}`; an escaped character may be any."""
    if isinstance(stored, bytes):
        return b"{secret:" not in stored and b"\\u" not in stored
    return "{secret:" not in stored and "\\u" not in stored


def find_misplaced_secrets(value: Any, path: str = "$") -> Iterator[MisplacedSecret]:
    """Yield every placeholder of a model, or of JSON, in a text that is not typed into a field."""
    match value:
        case str():
            yield from (MisplacedSecret(path, name) for name in find_secret_names(value))
        case BaseModel():
            for name, field in type(value).model_fields.items():
                if not may_name_secret(field):
                    yield from find_misplaced_secrets(getattr(value, name), f"{path}.{field.alias or name}")
            for name, extra in (value.model_extra or {}).items():
                yield from find_misplaced_secrets(extra, f"{path}.{name}")
        case Mapping():
            for key, each in value.items():
                yield from find_misplaced_secrets(key, path)
                yield from find_misplaced_secrets(each, f"{path}.{key}")
        case list() | tuple() | set() | frozenset():
            for index, each in enumerate(value):
                yield from find_misplaced_secrets(each, f"{path}[{index}]")
