"""What a value of a requirement may leave open: `{secret:NAME}` and `{unique}`.

Secrets come from the environment when a test runs and are written nowhere; `{unique}` is another short
word in every run. Other braces are plain text; a slip of the pen (`{secret}`, `{Unique}`) is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kb_schema.excerpts import excerpt

_MEANT = re.compile(r"\{\s*(?:secrets?|unique)\b[^{}]*\}", re.IGNORECASE)
"""What somebody may have meant as a placeholder."""
_SECRET = re.compile(r"\{secret:([A-Za-z_][A-Za-z0-9_]{0,199})\}")
_UNIQUE = "{unique}"


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that is as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Secret:
    """A value of the environment."""

    name: str


@dataclass(frozen=True, slots=True)
class Unique:
    """Another short word in every run."""


Part = Literal | Secret | Unique


class PlaceholderInvalid(ValueError):
    """Something that looks like a placeholder is none. `said`: what it is; `fix`: what to write."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.fix = "write {secret:NAME}, with the name of an environment variable, or {unique}"
        super().__init__(f"{excerpt(said)!r} is no placeholder -> {self.fix}")


class SecretMissing(KeyError):
    """A secret has no value. `name`: the environment variable it is read from."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)

    def __str__(self) -> str:
        return f"the secret {self.name} has no value -> set the environment variable {self.name}"


def parts(text: str) -> tuple[Part, ...]:
    """A text as its parts, in order; no two literals in a row, and none that is empty.

    Raises `PlaceholderInvalid`.
    """
    found: list[Part] = []
    at = 0
    for match in _MEANT.finditer(text):
        if match.start() > at:
            found.append(Literal(text[at : match.start()]))
        found.append(_placeholder(match[0]))
        at = match.end()
    if at < len(text):
        found.append(Literal(text[at:]))
    return tuple(found)


def fill(text: str, *, secrets: Mapping[str, str], unique: str) -> str:
    """The text with every placeholder replaced. Raises `PlaceholderInvalid`, `SecretMissing`."""
    filled = []
    for part in parts(text):
        match part:
            case Literal(plain):
                filled.append(plain)
            case Unique():
                filled.append(unique)
            case Secret(name):
                if name not in secrets:
                    raise SecretMissing(name)
                filled.append(secrets[name])
    return "".join(filled)


def secret_names(*texts: str | None) -> tuple[str, ...]:
    """The environment variables these texts read, each once, in order of appearance."""
    named = (part.name for text in texts if text for part in parts(text) if isinstance(part, Secret))
    return tuple(dict.fromkeys(named))


def is_open(text: str | None) -> bool:
    """Whether the text leaves anything open."""
    return bool(text) and any(not isinstance(part, Literal) for part in parts(text or ""))


def _placeholder(said: str) -> Part:
    if said == _UNIQUE:
        return Unique()
    named = _SECRET.fullmatch(said)
    if named is None:
        raise PlaceholderInvalid(said)
    return Secret(named[1])
