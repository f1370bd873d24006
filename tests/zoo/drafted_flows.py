"""Plays the drafted flow of a map that was just made, with the commands that a stranger would type, and keeps its film.

`map --load`, `draft-flow`, `demo --flow`: the flow must play at the first try, and nothing may be changed by it unless a goal
was given. The film is for people to watch.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.zoo.map_measurement import read_map_truths
from tests.zoo.registry.serving import PASSWORD
from tests.zoo.zoo_jobs import Application
from tests.zoo.zoo_measurement import find_differences

_ASKED = re.compile(r" -i (\w+)=")
_MISSED = re.compile(r"^\s*! (.+)$", re.MULTILINE)
"""What `demo` prints about a segment that was not shown as written."""
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class PlayedFlow:
    """What came of one drafted flow."""

    application: str
    failed: str
    """The command that failed, with its last words; empty if all went well."""
    changed: Sequence[str]
    film: Path


async def play_drafted_flow(
    application: Application, folder: Path, seconds: float, goal: str | None, inputs: Sequence[str]
) -> PlayedFlow:
    """Start the application, map it for at most `seconds`, draft a flow and play it. `inputs`: NAME=VALUE for the goal's task."""
    (folder / "application").mkdir(parents=True, exist_ok=True)
    site, film = "zoo", folder / "film"
    async with application.start(folder / "application") as running:
        truth = read_map_truths().get(application.name)
        password = running.secrets.get("password", running.secrets.get("", PASSWORD))
        account = {} if truth is None else {k: v.format(password=password) for k, v in truth.account.items()}
        sign_in = [part for name, value in account.items() for part in ("-i", f"{name}={value}")]
        form = ["--sign-in-form"] if account else []
        url = f"{running.base_url}{'/' if truth is None else truth.start}"
        before = await running.state()  # None: the application makes it when it is opened
        mapped = [
            "map",
            url,
            "--website",
            site,
            "--load",
            "--time",
            str(seconds),
            "--ignore-robots",
            *form,
            *sign_in,
        ]
        drafted = ["draft-flow", "--website", site, "--out", "flow.yaml", "--flow", "drafted"]
        if goal is not None:
            drafted += ["--goal", goal]
        said = ""
        for command in (mapped, drafted):
            code, said = await _run(command, folder)
            if code != 0:
                return PlayedFlow(application.name, f"{command[0]}: exit {code}: {said[-600:]}", (), film)
        # the line that says how to play it names the inputs for signing in, in the order of the form
        asked = dict(zip(_ASKED.findall(said.rpartition("play it:")[2]), account.values(), strict=False))
        values = [*inputs, *(f"{name}={value}" for name, value in asked.items())]
        played = ["demo", "--website", site, "--flow", "flow.yaml", "--out", str(film), "--no-voice"]
        code, said = await _run([*played, *(part for each in values for part in ("-i", each))], folder)
        changed = [] if before is None else find_differences(before, await running.state())
        told = tuple(str(each) for each in changed[:5])
        missed = _MISSED.findall(said)
        if code != 0 or missed:
            return PlayedFlow(
                application.name, f"demo: exit {code}: {'; '.join(missed) or said[-600:]}", told, film
            )
    return PlayedFlow(application.name, "", told, film)


async def _run(command: Sequence[str], folder: Path) -> tuple[int, str]:
    settings: Mapping[str, str] = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PERIPLUS_DATA_DIR": str(folder / ".periplus"),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "periplus", *command,
        cwd=folder, env=settings, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    told, _ = await process.communicate()
    (folder / f"{command[0]}.log").write_bytes(told)
    return process.returncode or 0, told.decode("utf-8", "replace")


def format_played_flow(played: PlayedFlow) -> str:
    """Return the result as lines."""
    if played.failed:
        return f"{played.application}: FAILED: {played.failed}"
    return f"{played.application}: played; changed: {', '.join(played.changed) or 'nothing'}; film: {played.film}"
