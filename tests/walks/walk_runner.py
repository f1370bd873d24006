"""Runs a walk: its commands as processes in an empty folder, against a small site, and looks at what they print."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from mcp import Client, StdioServerParameters, stdio_client

WALKS = Path(__file__).with_name("walks.yaml")
LONGEST_S = 600
"""Seconds in which each first user has an own result."""
_NAMED = re.compile(r"\{(task|input|file):([^}]+)\}")


@dataclass
class WalkedStep:
    """A step, what it took, and what was missing from its output."""

    what: str
    seconds: float
    missing: list[str]
    output: str


@dataclass
class Walked:
    """A walk."""

    name: str
    steps: list[WalkedStep] = field(default_factory=list)
    goal_s: float | None = None
    """Seconds until the first own result; None: it was not reached."""

    @property
    def complete(self) -> bool:
        """Whether every step showed what a reader should see."""
        return self.goal_s is not None and not any(step.missing for step in self.steps)


def read_walks() -> list[dict[str, Any]]:
    """Return the walks as they are written."""
    walks: list[dict[str, Any]] = yaml.safe_load(WALKS.read_text(encoding="utf-8"))
    return walks


async def walk(script: Mapping[str, Any], url: str, folder: Path, periplus: Sequence[str]) -> Walked:
    """Do a walk's steps until one lacks what it should show. `periplus`: the command's words."""
    walked = Walked(script["walk"])
    values = {"url": url, "website": f"site_{url.rsplit(':', 1)[-1]}"}
    began = time.monotonic()
    for step in script["steps"]:
        since = time.monotonic()
        if "write" in step:
            (folder / step["write"]).write_text(step["text"], encoding="utf-8")
            continue
        if "mcp" in step:
            done = await _call_tools(step, values, folder, periplus)
            what = f"mcp client: {', '.join(call['tool'] for call in step['calls'])}"
        else:
            words = [_fill(word, values, folder, periplus) for word in shlex.split(step["run"])]
            output = _run([*periplus, *words], folder)
            done, what = (output, _missing(step["sees"], output, values)), f"periplus {shlex.join(words)}"
        walked.steps.append(WalkedStep(what, time.monotonic() - since, done[1], done[0]))
        if done[1]:
            return walked
        if "goal" in step:
            walked.goal_s = time.monotonic() - began
    return walked


async def _call_tools(
    step: Mapping[str, Any], values: Mapping[str, str], folder: Path, periplus: Sequence[str]
) -> tuple[str, list[str]]:
    command = [*periplus, *shlex.split(step["mcp"])]
    server = StdioServerParameters(command=command[0], args=command[1:], env=_environment(), cwd=folder)
    outputs: list[str] = []
    async with Client(stdio_client(server)) as client:
        for call in step["calls"]:
            arguments = {
                name: each.format(**values) if isinstance(each, str) else each
                for name, each in call["arguments"].items()
            }
            answer = await client.call_tool(call["tool"], arguments)
            output = "\n".join(getattr(each, "text", "") for each in answer.content)
            outputs.append(f"{call['tool']}: {output}")
            if missing := _missing(call["sees"], output, values):
                return "\n".join(outputs), missing
    return "\n".join(outputs), []


def _missing(wanted: Sequence[str], output: str, values: Mapping[str, str]) -> list[str]:
    return [each for each in wanted if not any(part in output for part in each.format(**values).split("|"))]


def _fill(word: str, values: Mapping[str, str], folder: Path, periplus: Sequence[str]) -> str:
    """Return a word with what a reader would copy from the output before: an id of a task, its input, a file."""

    def found(match: re.Match[str]) -> str:
        kind, name = match.groups()
        if kind == "file":
            return next(path.name for path in sorted(folder.glob(name)))
        tasks = json.loads(_run([*periplus, "tasks", "--json"], folder))
        task = next(each for each in tasks if name in each["task_id"])
        return str(task["task_id"] if kind == "task" else task["required_inputs"][0])

    return _NAMED.sub(found, word).format(**values) if "{" in word else word


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    return done.stdout + done.stderr + ("" if done.returncode == 0 else f"\nexit code {done.returncode}")


def _environment() -> dict[str, str]:
    """Return a first user's environment. `WALKED_PYTHONPATH`: a checkout to walk with instead of an installation."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("PERIPLUS_", "PYTHON", "VIRTUAL"))}
    checkout = kept.pop("WALKED_PYTHONPATH", None)
    return kept | {"COLUMNS": "160"} | ({} if checkout is None else {"PYTHONPATH": checkout})
