"""Generators of input values (KS 9.2 `generated_value`). One decorated function is one entry."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

Generator = Callable[[random.Random], Any]

GENERATORS: dict[str, Generator] = {}


def generator(function: Generator) -> Generator:
    """Register a generator under its own name."""
    GENERATORS[function.__name__] = function
    return function


def generate(name: str, rng: random.Random) -> Any:
    """A fresh value. Raises `KeyError` for an unknown generator."""
    return GENERATORS[name](rng)


_FIRST = ("Ada", "Maya", "Leo", "Nora", "Ravi", "Elena", "Tomas", "Ines", "Kofi", "Mina", "Otto", "Priya")
_LAST = ("Okafor", "Lindqvist", "Moreau", "Tanaka", "Silva", "Brandt", "Haddad", "Novak", "Castillo", "Byrne")


@generator
def human_name(rng: random.Random) -> str:
    """First and last name."""
    return f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"


@generator
def first_name(rng: random.Random) -> str:
    """First name only."""
    return rng.choice(_FIRST)


@generator
def email(rng: random.Random) -> str:
    """An address that can never receive mail (RFC 2606)."""
    return f"{rng.choice(_FIRST)}.{rng.choice(_LAST)}{rng.randrange(1000)}@example.com".lower()


@generator
def phone(rng: random.Random) -> str:
    """A number from the range kept for fiction."""
    return f"+120255501{rng.randrange(100):02d}"


@generator
def company_name(rng: random.Random) -> str:
    """A made-up company."""
    return f"{rng.choice(_LAST)} & {rng.choice(_LAST)}"


@generator
def current_date(_rng: random.Random) -> date:
    """Today, local time."""
    return datetime.now().astimezone().date()


@generator
def current_datetime(_rng: random.Random) -> datetime:
    """Now, UTC."""
    return datetime.now(UTC)


@generator
def unique_id(rng: random.Random) -> str:
    """Eight hexadecimal digits."""
    return uuid.UUID(int=rng.getrandbits(128)).hex[:8]


@generator
def integer(rng: random.Random) -> int:
    """1 to 999."""
    return rng.randrange(1, 1000)
