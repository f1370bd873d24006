"""What a normal run takes a sample of, and a nightly one takes whole, rotates with one printed seed.

`PERIPLUS_TEST_SEED` repeats a run's samples. It is set here before the workers start, so that all
of them know the same seed; `tests/conftest.py` prints it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

VARIABLE = "PERIPLUS_TEST_SEED"
SEED = int(os.environ.setdefault(VARIABLE, str(random.SystemRandom().randrange(1_000_000))))

T = TypeVar("T")


def dice(name: str) -> random.Random:
    """Random numbers of a test's own: no test changes what another one draws."""
    return random.Random(f"{SEED}/{name}")


def rotating(name: str, cases: Sequence[T], sample: int) -> list[object]:
    """All cases as parameters, of which `sample` drawn ones are in the normal run and the others in the nightly."""
    drawn = set(dice(name).sample(range(len(cases)), sample))
    return [
        pytest.param(case, marks=() if number in drawn else pytest.mark.nightly)
        for number, case in enumerate(cases)
    ]
