"""Generates synthetic input data, a different set for each run (MA 10)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Data = dict[str, Any]

_WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "indigo",
    "juniper",
    "kestrel",
    "lagoon",
    "meadow",
    "nectar",
    "onyx",
    "prairie",
    "quartz",
    "river",
    "saffron",
    "tundra",
)


def _string(dice: random.Random, index: int) -> str:
    return f"{dice.choice(_WORDS)} {dice.choice(_WORDS)} {index + 1}"


GENERATORS: dict[str, Callable[[random.Random, int], Any]] = {
    "string": _string,
    "text": _string,
    "name": lambda dice, index: f"{dice.choice(_WORDS).title()} {dice.choice(_WORDS).title()} {index + 1}",
    "email": lambda dice, index: f"{dice.choice(_WORDS)}.{index + 1}@example.org",
    "integer": lambda dice, index: dice.randrange(1, 1_000) * 1_000 + index,
    "int": lambda dice, index: dice.randrange(1, 1_000) * 1_000 + index,
    "number": lambda dice, index: round(dice.random() * 100, 2) + index,
    "float": lambda dice, index: round(dice.random() * 100, 2) + index,
    "boolean": lambda dice, _: dice.random() < 0.5,
    "bool": lambda dice, _: dice.random() < 0.5,
    "date": lambda dice, index: (
        f"20{30 + index % 60:02}-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}"
    ),
    "phone": lambda dice, index: f"+1 555 {dice.randrange(100, 1_000)} {index:04}",
    "url": lambda dice, index: f"https://example.org/{dice.choice(_WORDS)}/{index + 1}",
}
"""Maps a parameter type to a function that makes its value for a run. Add new types here."""


class SyntheticDataProvider:
    """Makes input data from a schema `{parameter: type}` or from a custom generator."""

    def __init__(
        self,
        parameter_schema: Mapping[str, str] | None = None,
        custom_generator: Callable[[int], Sequence[Data]] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        """Raises `ValueError` for an unknown type."""
        self._schema = dict(parameter_schema or {})
        unknown = {kind for kind in self._schema.values() if kind not in GENERATORS}
        if unknown:
            raise ValueError(f"unknown parameter types {sorted(unknown)}; use one of {sorted(GENERATORS)}")
        self._custom, self._seed = custom_generator, seed

    def generate(self, count: int) -> list[Data]:
        """Return `count` different sets of data.

        If the schema cannot give so many different sets (no parameters, or only booleans), each set gets a
        `run` number. Raises `ValueError` if a custom generator returns another number of sets or equal sets.
        """
        if self._custom is not None:
            made = [dict(each) for each in self._custom(count)]
            if len(made) != count:
                raise ValueError(f"the generator returned {len(made)} sets of data; expected {count}")
        else:
            made = [self._one(index) for index in range(count)]
            if not _distinct(made):
                made = [{**data, "run": index + 1} for index, data in enumerate(made)]
        if not _distinct(made):
            raise ValueError("the generator returned equal sets of data; each run needs a different set")
        return made

    def _one(self, index: int) -> Data:
        made = {}
        for name, kind in self._schema.items():
            own = hashlib.sha256(f"{self._seed}/{index}/{name}".encode()).digest()
            made[name] = GENERATORS[kind](random.Random(own), index)  # noqa: S311 - synthetic data, not a secret
        return made


def _distinct(made: Sequence[Data]) -> bool:
    return len({repr(sorted(data.items(), key=lambda item: item[0])) for data in made}) == len(made)
