"""Whatever file of a known format is read: it is used or refused, within the limits and without a traceback."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.hostile.bounded_commands import LONGEST_S, run_bounded
from tests.hostile.generated_files import FORMATS
from tests.hostile.hostile_files import place, write_made
from tests.support.rotation import SEED, rotating

FEW, MANY = 4, 16
"""Files of each format."""
SAMPLE = 5
"""Formats in a normal run."""


def read_files(name: str, examples: int) -> None:
    chosen = FORMATS[name]
    known = []

    @seed(SEED)
    @settings(
        max_examples=examples * 3, deadline=None, database=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck)
    )  # fmt: skip
    @given(chosen.made)
    def never_anything_else(content):
        if content in known or len(known) == examples:
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / chosen.file
            write_made(content, path)
            run_bounded(place(chosen.command, path, Path(folder)), Path(folder))
        known.append(content)  # not before: a file that fails is read again, to be told

    never_anything_else()
    assert len(known) == examples


def test_a_whole_run_reads_hundreds_of_different_files():
    assert len(FORMATS) * MANY >= 300


@pytest.mark.always
@pytest.mark.timeout(FEW * LONGEST_S)
@pytest.mark.parametrize("name", rotating("hostile formats", sorted(FORMATS), SAMPLE))
def test_a_few_files_of_a_format_are_used_or_refused(name):
    read_files(name, FEW)


@pytest.mark.nightly
@pytest.mark.timeout(MANY * LONGEST_S)
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_many_files_of_a_format_are(name):
    read_files(name, MANY)
