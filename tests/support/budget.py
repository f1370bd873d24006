"""The normal run has a budget of time: what takes long is drawn to fit it, the rest always runs.

`tests/durations.json` says how many seconds a test took, in a run of four workers on two cores. Tests that are
not in it always run, and those marked `always`; `make durations` measures anew. Chosen files are run whole,
for they fit.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support import rotation

TABLE = Path(__file__).parents[1] / "durations.json"
SECONDS = 850.0
"""Of all workers together, in the times of the table: four of them on two cores are ready in less than eight minutes,
also where a machine takes nearly twice as long as the one that the table was measured on."""
SHORT = 0.04
"""What a test takes that is not in the table."""
NOTED = 0.5
"""What takes less is left out of the table; the rest is drawn."""


def draw(items: list[pytest.Item]) -> None:
    """Leave to the nightly run what would not fit; what is already there costs nothing."""
    table: dict[str, float] = json.loads(TABLE.read_text(encoding="utf-8"))
    taken = [item for item in items if not {"nightly", "bench"} & {mark.name for mark in item.iter_markers()}]
    seconds = {item: table.get(_name(item), SHORT) for item in taken}
    long = [item for item in taken if seconds[item] >= NOTED and item.get_closest_marker("always") is None]
    together = sum(seconds[item] for item in long)
    room = SECONDS - (sum(seconds.values()) - together)
    if together <= room:
        return
    for item in long:
        if rotation.dice(f"budget/{item.nodeid}").random() >= room / together:
            item.add_marker(pytest.mark.nightly)


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


class Stopwatch:
    """Takes the times of a run and writes them into the table (`PERIPLUS_TEST_DURATIONS=1`)."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._spent[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """The mean of a test's cases; those that were not run keep what was noted before."""
        cases: dict[str, list[float]] = defaultdict(list)
        for name, spent in self._spent.items():
            cases[name.partition("[")[0]].append(spent)
        known: dict[str, float] = json.loads(TABLE.read_text(encoding="utf-8"))
        known |= {name: round(sum(spent) / len(spent), 1) for name, spent in cases.items()}
        kept = {name: known[name] for name in sorted(known) if known[name] >= NOTED}
        TABLE.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")
