"""CPU time of starting: help pages, `kb status` and a `run` that ends before the browser, against Typer and pydantic.

`python -m benchmarks.bench_start [--rounds N]`. Each round starts every command once, in turn, so that the load of the
machine meets all of them. Ratios are of medians, to programs of the same run. With `--check` it fails above the goals.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ONE_OPTION = """
import typer
app = typer.Typer()
@app.command()
def greet(name: str = typer.Option("you", help="Who is greeted.")):
    "Greet somebody."
app()
"""
ONE_MODEL = """
import typer
import pydantic
class One(pydantic.BaseModel):
    name: str
    number: int = 1
"""
SEED = Path(__file__).resolve().parents[1] / "seeds" / "spadeworks" / "kb"


@dataclass(frozen=True, slots=True)
class Start:
    """A command, the baseline it is compared with, and the largest ratio that is allowed."""

    arguments: tuple[str, ...]
    baseline: str
    goal: float


STARTS = (
    *(
        Start((*command.split(), "--help"), "Typer, one option", 1.3)
        for command in ("", "run", "map", "verify", "serve", "mcp", "kb", "kb status", "kb proposals list")
    ),
    Start(("kb", "status"), "Typer and one model", 2.0),
    Start(("run", "no_such_task"), "Typer and one model", 3.0),
)


def measure_cpu_s(arguments: list[str], environment: dict[str, str]) -> float:
    """Return the CPU seconds, user and system, of one process and its children."""
    before = spent_by_children_s()
    subprocess.run(arguments, env=environment, capture_output=True, check=False)
    return spent_by_children_s() - before


def spent_by_children_s() -> float:
    """Return the CPU seconds, user and system, of all children that have ended, and theirs."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def measure(rounds: int) -> tuple[dict[str, list[float]], dict[Start, list[float]]]:
    """Return the CPU seconds of the baselines and of the commands, one number for each round."""
    python = sys.executable
    baselines = {
        "Typer, one option": [python, "-c", ONE_OPTION, "--help"],
        "Typer and one model": [python, "-c", ONE_MODEL],
    }
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PERIPLUS_DATA_DIR": folder}
        loaded = [python, "-m", "periplus", "kb", "load", str(SEED)]
        subprocess.run(loaded, env=environment, capture_output=True, check=True)
        for arguments in baselines.values():  # writes what Python compiles
            measure_cpu_s(arguments, environment)
        base: dict[str, list[float]] = {name: [] for name in baselines}
        ours: dict[Start, list[float]] = {start: [] for start in STARTS}
        for _ in range(rounds):
            for name, arguments in baselines.items():
                base[name].append(measure_cpu_s(arguments, environment))
            for start in STARTS:
                ours[start].append(measure_cpu_s([python, "-m", "periplus", *start.arguments], environment))
    return base, ours


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="fail if a ratio is above its goal")
    asked = parser.parse_args()
    base, ours = measure(asked.rounds)
    print(f"CPU seconds, median of {asked.rounds}; in brackets the least and the most")
    for name, times in base.items():
        print(f"{name:<28} {statistics.median(times):.3f} ({min(times):.3f} to {max(times):.3f})")
    missed = 0
    for start, times in ours.items():
        ratio = statistics.median(times) / statistics.median(base[start.baseline])
        missed += ratio > start.goal
        told = f"{ratio:.2f} of {start.baseline}, goal {start.goal}{', missed' if ratio > start.goal else ''}"
        command = " ".join(("periplus", *start.arguments))
        print(f"{command:<34} {statistics.median(times):.3f} ({min(times):.3f} to {max(times):.3f})  {told}")
    return 1 if asked.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
