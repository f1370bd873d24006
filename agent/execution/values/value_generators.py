"""Generators of input values (KS 9.2 `generated_value`), one decorated function each."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

Generator = Callable[[random.Random], Any]

GENERATORS: dict[str, Generator] = {}


def register_generator(function: Generator) -> Generator:
    """Register a generator under its own name."""
    GENERATORS[function.__name__] = function
    return function


def generate_value(name: str, rng: random.Random) -> Any:
    """Return a new value. Raises `KeyError` for an unknown generator."""
    return GENERATORS[name](rng)


_FIRST = ("Ada", "Maya", "Leo", "Nora", "Ravi", "Elena", "Tomas", "Ines", "Kofi", "Mina", "Otto", "Priya")
_LAST = ("Okafor", "Lindqvist", "Moreau", "Tanaka", "Silva", "Brandt", "Haddad", "Novak", "Castillo", "Byrne")


@register_generator
def human_name(rng: random.Random) -> str:
    """First and last name."""
    return f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"


@register_generator
def first_name(rng: random.Random) -> str:
    """First name only."""
    return rng.choice(_FIRST)


@register_generator
def email(rng: random.Random) -> str:
    """An address that can never receive mail (RFC 2606)."""
    return f"{rng.choice(_FIRST)}.{rng.choice(_LAST)}{rng.randrange(1000)}@example.com".lower()


@register_generator
def phone(rng: random.Random) -> str:
    """A number from the range reserved for fiction."""
    return f"+120255501{rng.randrange(100):02d}"


@register_generator
def company_name(rng: random.Random) -> str:
    """An invented company."""
    return f"{rng.choice(_LAST)} & {rng.choice(_LAST)}"


@register_generator
def current_date(_rng: random.Random) -> date:
    """Today, local time."""
    return datetime.now().astimezone().date()


@register_generator
def current_datetime(_rng: random.Random) -> datetime:
    """Now, UTC."""
    return datetime.now(UTC)


@register_generator
def unique_id(rng: random.Random) -> str:
    """Eight hexadecimal digits."""
    return uuid.UUID(int=rng.getrandbits(128)).hex[:8]


@register_generator
def integer(rng: random.Random) -> int:
    """1 to 999."""
    return rng.randrange(1, 1000)
