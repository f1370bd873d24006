"""Placeholders in the values of a requirement: `{secret:NAME}` and `{unique}`.

A secret is resolved when it is typed into a field, and is never written; `secret_placement` says where it may be
named. `{unique}` is a different short word in every run. Other braces are plain text; a misspelt placeholder
(`{secret}`, `{Unique}`) is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kb_schema.excerpts import excerpt

_MEANT = re.compile(r"\{\s*(?:secrets?|unique)\b[^{}]*\}", re.IGNORECASE)
"""What may be meant as a placeholder."""
_SECRET = re.compile(r"\{secret:([A-Za-z_][A-Za-z0-9_]{0,199})\}")
_UNIQUE = "{unique}"


@dataclass(frozen=True, slots=True)
class LiteralPart:
    """Literal text."""

    text: str


@dataclass(frozen=True, slots=True)
class SecretPart:
    """A value from the environment."""

    name: str


@dataclass(frozen=True, slots=True)
class UniquePart:
    """A short word that differs in every run."""


ValuePart = LiteralPart | SecretPart | UniquePart


class PlaceholderInvalid(ValueError):
    """A misspelt placeholder. `said`: what it is; `fix`: what to write."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.fix = "write {secret:NAME}, with the name of an environment variable, or {unique}"
        super().__init__(f"{excerpt(said)!r} is not a placeholder -> {self.fix}")


class SecretMissing(KeyError):
    """A secret without a value. `name`: its environment variable."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)

    def __str__(self) -> str:
        return f"the secret {self.name} has no value -> set the environment variable {self.name}"


def parts(text: str) -> tuple[ValuePart, ...]:
    """Split a text into its parts, in order, without empty or adjacent literals.

    Raises `PlaceholderInvalid`.
    """
    found: list[ValuePart] = []
    at = 0
    for match in _MEANT.finditer(text):
        if match.start() > at:
            found.append(LiteralPart(text[at : match.start()]))
        found.append(_placeholder(match[0]))
        at = match.end()
    if at < len(text):
        found.append(LiteralPart(text[at:]))
    return tuple(found)


def fill_unique(text: str, unique: str) -> str:
    """Return the text with `{unique}` replaced; secrets and other braces stay as they are."""
    return text.replace(_UNIQUE, unique)


def fill(text: str, *, secrets: Mapping[str, str], unique: str) -> str:
    """Return the text with every placeholder replaced, for typing. Raises `PlaceholderInvalid`, `SecretMissing`."""
    filled = []
    for part in parts(text):
        match part:
            case LiteralPart(plain):
                filled.append(plain)
            case UniquePart():
                filled.append(unique)
            case SecretPart(name):
                if name not in secrets:
                    raise SecretMissing(name)
                filled.append(secrets[name])
    return "".join(filled)


def secret_names(*texts: str | None) -> tuple[str, ...]:
    """Return the environment variables that these texts read, each once, in order of appearance."""
    named = (part.name for text in texts if text for part in parts(text) if isinstance(part, SecretPart))
    return tuple(dict.fromkeys(named))


def find_secret_names(text: str) -> tuple[str, ...]:
    """Return the names in well-formed `{secret:NAME}` of any text, each once. Never raises, unlike `secret_names`."""
    return tuple(dict.fromkeys(_SECRET.findall(text))) if "{secret:" in text else ()


def replace_secret_placeholders(text: str) -> str:
    """Return a text that somebody else wrote with its `{secret:NAME}` in round brackets: there it is data, and names no secret.

    >>> replace_secret_placeholders("the boat {secret:A}")
    'the boat (secret:A)'
    """
    return _SECRET.sub(r"(secret:\1)", text) if "{secret:" in text else text


def is_open(text: str | None) -> bool:
    """Return whether the text contains a placeholder."""
    return bool(text) and any(not isinstance(part, LiteralPart) for part in parts(text or ""))


def _placeholder(inside: str) -> ValuePart:
    if inside == _UNIQUE:
        return UniquePart()
    named = _SECRET.fullmatch(inside)
    if named is None:
        raise PlaceholderInvalid(inside)
    return SecretPart(named[1])
