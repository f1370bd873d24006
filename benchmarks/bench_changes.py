"""A load after one change of a large folder, against the load of all of it: CPU time of `periplus kb load`, with its children.

    python -m benchmarks.bench_changes [--scale 1] [--rounds 5] [--mongodb]

At scale 1 the folder has 10,000 screens: 72,000 files. The whole folder is loaded once with `--whole`; then one transition, screen or
task is changed in turn and the folder is loaded, in each round. Each time it is checked that the command loaded one change only.
At last all files are written again as they are, one of them is changed, and the folder is loaded.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from benchmarks.bench_start import SEED, spent_by_children_s
from benchmarks.large_site import large_site, sizes
from loaders import write_folder
from tests.support.mongod import Mongod, with_database

BUDGET = {"PERIPLUS_MAX_IMPORT_MEMORY": "12000", "PERIPLUS_MAX_IMPORT_SECONDS": "900"}
CHANGES: dict[str, dict[str, Any]] = {
    "transitions": {"reliability_score": 0.5},
    "screens": {"name": "Another name"},
    "tasks": {"name": "Another name"},
}
"""Folder -> what is changed in one of its files."""


def load_cpu_s(folder: Path, environment: dict[str, str], *more: str) -> tuple[float, str]:
    """Return the CPU seconds of one load with its children, and what it printed. Ends the benchmark if it fails."""
    before = spent_by_children_s()
    command = [sys.executable, "-m", "periplus", "kb", "load", str(folder), *more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return spent_by_children_s() - before, done.stdout


def compile_modules(environment: dict[str, str]) -> None:
    """Let Python compile our modules, as an installation has them: else each load compiles all that it imports."""
    command = [sys.executable, "-m", "periplus", "kb", "validate", str(SEED)]
    subprocess.run(command, env=environment, capture_output=True, check=True)


def change(file: Path, number: int, values: dict[str, Any]) -> None:
    """Change one document."""
    told = {
        name: f"{value} {number}" if isinstance(value, str) else value + number / 100
        for name, value in values.items()
    }
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | told))


def measure(folder: Path, environment: dict[str, str], rounds: int) -> tuple[float, list[float], float]:
    """Return the CPU seconds of the whole load, of each load of one change, and of one in a folder that was written again."""
    whole, _ = load_cpu_s(folder, environment, "--whole")
    found = []
    for number in range(rounds + 1):
        if number == rounds:
            for file in folder.rglob("*.yaml"):
                file.write_bytes(file.read_bytes())
        kind, values = [*CHANGES.items()][number % len(CHANGES)]
        change(sorted((folder / kind).iterdir())[number], number, values)
        spent, told = load_cpu_s(folder, environment)
        if "1 document changed" not in told:
            sys.exit(f"expected a load of one change in {kind}/, found: {told}")
        found.append(spent)
    *alone, again = found
    return whole, alone, again


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mongodb", action="store_true", help="into a MongoDB of its own")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "kb"
        write_folder(large_site(asked.scale), folder)
        environment = {**os.environ, **BUDGET, "PERIPLUS_DATA_DIR": f"{place}/data"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        compile_modules(environment)
        mongod = Mongod(Path(place) / "mongod") if asked.mongodb else None
        if mongod is not None:
            mongod.start()
            environment["PERIPLUS_MONGODB_URL"] = with_database(mongod.url, "periplus_bench")
        try:
            whole, changes, again = measure(folder, environment, asked.rounds)
        finally:
            if mongod is not None:
                mongod.stop()
    median = statistics.median(changes)
    print(
        f"{sizes(asked.scale)}, {'MongoDB' if asked.mongodb else 'embedded'}, load average {os.getloadavg()[0]:.0f}"
    )
    print(f"whole: {whole:.2f} s of CPU, once")
    print(f"one change: {median:.3f} s ({min(changes):.3f} to {max(changes):.3f}, {len(changes)} times)")
    print(f"one change, all other files written again: {again:.3f} s, once")
    print(f"1/{whole / median:.0f} of the whole (goal: 1/100)")


if __name__ == "__main__":
    main()
