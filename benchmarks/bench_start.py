"""CPU time of starting: help pages, `kb status`, and `run` until its browser is asked for, against Typer and pydantic.

`python -m benchmarks.bench_start [--rounds N]`. Each round starts every command once, in turn, so that the load of the
machine meets all of them. Ratios are of medians, to programs of the same run. With `--check` it fails above the goals.

The browser is asked for when Playwright's driver is started: a script in the place of its Node.js notes the CPU time that the command
has taken until then. The run then fails.
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

from benchmarks.process_cpu import parse_cpu_s

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
    goal: float | None
    """None: it is only reported."""
    until_browser: bool = False
    """Whether it counts until the browser is asked for, and not until the end."""

    @property
    def name(self) -> str:
        """The command, with when its measurement ends."""
        shown = (
            " ".join(("periplus", *self.arguments[:2]))
            if self.until_browser
            else " ".join(("periplus", *self.arguments))
        )
        return f"{shown}, browser asked for" if self.until_browser else shown


STARTS = (
    *(
        Start((*command.split(), "--help"), "Typer, one option", 1.3)
        for command in ("", "run", "map", "verify", "serve", "mcp", "kb", "kb status", "kb proposals list")
    ),
    Start(("kb", "status"), "Typer and one model", 2.0),
    Start(
        (
            "run",
            "create_agent",
            *(f"-i{each}" for each in ("agent_name=Ada", "email=a@b.example", "password=x")),
        ),
        "Typer and one model",
        3.0,
        until_browser=True,
    ),
    Start(("run", "no_such_task"), "Typer and one model", None),
)
NODE = """#!/bin/sh
cat /proc/$PPID/stat > "$PERIPLUS_BENCH_ASKED"
"""
"""Stands for Node.js: notes what the process that starts it has taken so far."""


def measure_cpu_s(arguments: list[str], environment: dict[str, str]) -> float:
    """Return the CPU seconds, user and system, of one process and its children."""
    before = spent_by_children_s()
    subprocess.run(arguments, env=environment, capture_output=True, check=False)
    return spent_by_children_s() - before


def measure_until_browser_s(arguments: list[str], environment: dict[str, str], folder: Path) -> float:
    """Return the CPU seconds of a command, user and system, until it starts Playwright's driver."""
    node, asked = folder / "node", folder / "asked"
    node.write_text(NODE)
    node.chmod(0o755)
    asked.unlink(missing_ok=True)
    environment = {**environment, "PLAYWRIGHT_NODEJS_PATH": str(node), "PERIPLUS_BENCH_ASKED": str(asked)}
    arguments = [*arguments, "--out", str(folder / "out")]
    subprocess.run(arguments, env=environment, capture_output=True, check=False)
    return parse_cpu_s(asked.read_text(encoding="ascii"))


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
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else every start compiles our modules
        loaded = [python, "-m", "periplus", "kb", "load", str(SEED)]
        subprocess.run(loaded, env=environment, capture_output=True, check=True)

        def once(start: Start) -> float:
            command = [python, "-m", "periplus", *start.arguments]
            if start.until_browser:
                return measure_until_browser_s(command, environment, Path(folder))
            return measure_cpu_s(command, environment)

        for start in STARTS:  # writes what Python compiles
            once(start)
        base: dict[str, list[float]] = {name: [] for name in baselines}
        ours: dict[Start, list[float]] = {start: [] for start in STARTS}
        for _ in range(rounds):
            for name, arguments in baselines.items():
                base[name].append(measure_cpu_s(arguments, environment))
            for start in STARTS:
                ours[start].append(once(start))
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
        told = f"{ratio:.2f} of {start.baseline}"
        if start.goal is not None:
            missed += ratio > start.goal
            told += f", goal {start.goal}{', missed' if ratio > start.goal else ''}"
        print(
            f"{start.name:<48} {statistics.median(times):.3f} ({min(times):.3f} to {max(times):.3f})  {told}"
        )
    return 1 if asked.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
