"""Synthetic input data: as many different sets as runs are wanted (MA 10)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Data = dict[str, Any]

_WORDS = (
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "juniper",
    "kestrel", "lagoon", "meadow", "nectar", "onyx", "prairie", "quartz", "river", "saffron", "tundra",
)  # fmt: skip


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
"""Type of a parameter -> a value of it for a run. A new type is one line here."""


class SyntheticDataProvider:
    """Makes input data by a schema `{parameter: type}`, or by a generator of one's own."""

    def __init__(
        self,
        parameter_schema: Mapping[str, str] | None = None,
        custom_generator: Callable[[int], Sequence[Data]] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        """Raises `ValueError` for a type that does not exist."""
        self._schema = dict(parameter_schema or {})
        unknown = {kind for kind in self._schema.values() if kind not in GENERATORS}
        if unknown:
            raise ValueError(f"no such parameter type: {sorted(unknown)}; there are {sorted(GENERATORS)}")
        self._custom, self._seed = custom_generator, seed

    def generate(self, count: int) -> list[Data]:
        """`count` sets of data, no two alike. Raises `ValueError` where a generator gives fewer, or two
        that are alike.

        A schema that cannot tell so many sets apart (none, or booleans only) gets a `run` number.
        """
        if self._custom is not None:
            made = [dict(each) for each in self._custom(count)]
            if len(made) != count:
                raise ValueError(f"the generator made {len(made)} sets of data; {count} were asked for")
        else:
            made = [self._one(index) for index in range(count)]
            if not _distinct(made):
                made = [{**data, "run": index + 1} for index, data in enumerate(made)]
        if not _distinct(made):
            raise ValueError("the generator made the same data twice: runs would show nothing new")
        return made

    def _one(self, index: int) -> Data:
        made = {}
        for name, kind in self._schema.items():
            own = hashlib.sha256(f"{self._seed}/{index}/{name}".encode()).digest()
            made[name] = GENERATORS[kind](random.Random(own), index)  # noqa: S311 - made-up data, no secret
        return made


def _distinct(made: Sequence[Data]) -> bool:
    return len({repr(sorted(data.items(), key=lambda item: item[0])) for data in made}) == len(made)
