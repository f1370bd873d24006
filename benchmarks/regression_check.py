"""Fails if a ratio is more than a quarter above the committed one: `make bench-check`, every night.

    python -m benchmarks.regression_check            measure, and compare with benchmarks/committed_ratios.json
    python -m benchmarks.regression_check --write    measure, and commit to what came out

Ratios are of CPU time in one run: of starting to Typer and pydantic, of paths to networkx, of loading to the driver alone, of
identification at 10,000 screens to that at 1,000. What is above is measured again, twice at most: noise goes, a regression stays.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks import bench_start
from benchmarks.bench_huge import in_process

COMMITTED = Path(__file__).with_name("committed_ratios.json")
MORE = 1.25
"""The ratio to the committed figure above which it is a regression."""
REPEATS = 2
ROUNDS = 5
Ratios = dict[str, float]


def measure_starts() -> Ratios:
    """Return the ratio of each start to its baseline."""
    base, ours = bench_start.measure(ROUNDS)
    return {
        f"start: {start.name}": statistics.median(times) / statistics.median(base[start.baseline])
        for start, times in ours.items()
    }


def measure_sizes() -> Ratios:
    """Return the ratios of a website with 1,000 and one with 10,000 screens."""
    small, large = (_measure_size(size) for size in (1_000, 10_000))
    return {
        "identify at 10,000 screens, to 1,000": large["identify_ms"] / small["identify_ms"],
        "a path at 10,000 screens, to networkx": large["path_ms"] / large["networkx_path_ms"],
        "load of 10,000 screens, to the driver": large["load_s"] / large["bare_load_s"],
        "load of 10,000 screens, a screen, to 1,000": large["load_s"] / small["load_s"] / 10,
        "the kept view at 10,000 screens, to compiling": large["served_view_s"]
        / (large["check_s"] + large["compile_s"]),
        "memory of a server at 10,000 screens, to 1,000": large["served_memory_mb"]
        / small["served_memory_mb"],
        "memory at 10,000 screens, to 1,000": large["memory_mb"] / small["memory_mb"],
    }


def _measure_size(screens: int) -> Ratios:
    with tempfile.TemporaryDirectory() as folder:
        found = in_process("measure", screens, folder)
        served = in_process("serve", screens, folder)
    return found | {f"served_{name}": value for name, value in served.items()}


SOURCES = (measure_starts, measure_sizes)


def find_regressions(found: Mapping[str, float], committed: Mapping[str, float]) -> dict[str, str]:
    """Return what is wrong, by name: ratios above the committed ones, and names that only one side has."""
    wrong = {
        name: f"expected at most {committed[name] * MORE:.3g} (committed {committed[name]:.3g}), found {value:.3g}"
        for name, value in found.items()
        if name in committed and value > committed[name] * MORE
    }
    strange = found.keys() ^ committed.keys()
    return wrong | dict.fromkeys(sorted(strange), "measured or committed, not both: run it with --write")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="commit to what is measured")
    asked = parser.parse_args()
    found: Ratios = {}
    for source in SOURCES:
        found |= source()
    if asked.write:
        COMMITTED.write_text(
            json.dumps({n: round(v, 3) for n, v in found.items()}, indent=2) + "\n", encoding="utf-8"
        )
    committed: Ratios = json.loads(COMMITTED.read_text(encoding="utf-8"))
    for _ in range(REPEATS):
        if not set(find_regressions(found, committed)) & committed.keys():
            break
        for source in SOURCES:
            again = source()
            if set(find_regressions(found, committed)) & again.keys():
                found |= {name: min(value, found[name]) for name, value in again.items()}
    wrong = find_regressions(found, committed)
    for name, value in found.items():
        print(f"{name:<48} {value:7.3f}   committed {committed.get(name, float('nan')):7.3f}")
    for name, what in wrong.items():
        print(f"REGRESSION {name}: {what}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
