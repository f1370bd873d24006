"""Faults of the browser and of the network under `periplus run`. Each function is one run of a kind.

Raises `AssertionError` if a boat is moored twice, a run is lost, a result says what the site contradicts, an end is not
explained, or a process is left behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import select
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_store import load_knowledge, open_stores
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from tests.faults.fault_kinds import fault_kind
from tests.faults.mooring_site import Mooring, mooring, write_knowledge
from tests.support import warm
from tests.support.processes import descendants, process_is_alive

LONGEST_S = 240
UNEXPLAINED = ("Traceback (most recent call last)", "internal error")
NAMES = ("Albatross", "Skua", "Tern")
SENDING = ("moor", "click", "press", "input_and_submit")
"""Steps that send the form."""
MOST_RESUMES = 4
PARTIAL = 4
"""The exit code of a run that is done in part."""

NETWORK_STEPS: Mapping[str, Sequence[str]] = {
    "navigate": ("path", "address", "refresh"),
    "field": ("fill", "select_option", "clear", "focus", "hover", "scroll_to_element"),
    "submit": ("click", "press", "input_and_submit", "run_task"),
    "read": ("wait_for", "get_screen_content", "read_back"),
}
"""Kinds of steps and what is drawn from: the tasks of `mooring_site` without `by_`."""
STEP_BEFORE = {"press": "name", "input_and_submit": "name", "click": "name", "run_task": "before",
               "wait_for": "moor", "get_screen_content": "moor", "read_back": "moor"}  # fmt: skip
"""The step at whose end the step of the kind begins; `form` for the others."""


@dataclass(slots=True)
class _Command:
    """An end of `periplus run`."""

    code: int
    said: str


async def _command(
    folder: Path, *arguments: str, on_line: Callable[[str, int], None] = lambda _line, _pid: None
) -> _Command:
    """Run a command, tell each line with the process id, and check its end and that no process is left."""
    env = {"PERIPLUS_DATA_DIR": str(folder / "data"), "COLUMNS": "200"}
    process = warm.start("periplus", *arguments, env=env, cwd=folder, streamed=True)
    said: list[str] = []
    started: set[int] = set()
    while line := await asyncio.to_thread(process.stdout.readline):
        said.append(line)
        started |= descendants(process.pid)
        on_line(line, process.pid)
    code = await asyncio.to_thread(process.wait, LONGEST_S)
    told = "".join(said)
    assert code in range(6), f"{arguments} ended with {code}: {told}"
    for each in UNEXPLAINED:
        assert each not in told, told
    assert code == 0 or told.strip(), f"{arguments} ended with {code} and said nothing"
    await asyncio.to_thread(_wait_until_gone, started)
    return _Command(code, told)


def _wait_until_gone(pids: set[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            select.select([handle], [], [], 15)
            os.close(handle)
    left = [pid for pid in pids if process_is_alive(pid)]
    assert not left, f"{len(left)} processes are left"


async def _begin(
    folder: Path, site: Mooring, task: str, *inputs: str, on_line: Callable[[str, int], None]
) -> _Command:
    knowledge, _ = read_knowledge_folder(write_knowledge(folder))
    async with open_stores(folder / "data") as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
    given = [word for each in inputs for word in ("-i", each)]
    return await _command(
        folder, "run", task, "--base-url", site.url, "--headless", "--out", "out0", *given, on_line=on_line
    )


async def _carry_on(folder: Path, site: Mooring, first: _Command, wanted: Sequence[str]) -> None:
    """Resume the run until it is over; then compare it with the site.

    Where the run needs a person, the answer is what the site shows.
    """
    last = first
    for number in range(1, MOST_RESUMES + 2):
        _check_site(site, wanted, last)
        if last.code in (0, 5):
            break
        if _went_on(
            folder / f"out{number - 1}", last
        ):  # the loop went on without an item, and says without which
            _check_items(json.loads((folder / f"out{number - 1}" / "result.json").read_text()), site)
            return
        assert number <= MOST_RESUMES, f"not done after {MOST_RESUMES} resumed runs: {last.said}"
        decided = []
        if "--it-happened" in last.said:
            sent = await _sent(folder)
            decided = ["--it-happened" if len(site.names) > sent else "--it-did-not"]
        last = await _command(
            folder, "run", "--resume", "last", "--headless", "--out", f"out{number}", *decided
        )
    assert site.names == list(wanted), f"the run is over ({last.said}), and moored are {site.names}"
    await _check_records(folder)


def _went_on(out: Path, last: _Command) -> bool:
    """Whether the loop is over without some of its items: the run is partial, or a failure if most are missing."""
    if last.code != 1:
        return last.code == PARTIAL
    result = out / "result.json"
    return result.exists() and "execute_iterator" in json.loads(result.read_text())["degraded_steps"]


def _check_items(result: dict[str, Any], site: Mooring) -> None:
    """Raise `AssertionError` unless the items that a result calls done are the boats that are moored."""
    items = result["outputs"]["execute_iterator_items"]
    assert [each["item"] for each in items if each["status"] == "done"] == site.names, items
    assert result["error"]


async def _sent(folder: Path) -> int:
    """Forms that the run knows it sent: the others may have been."""
    async with open_runs(folder / "data") as runs:
        (run,) = await runs.runs()
        done = [each for each in await runs.steps(run.run_id) if each.status == "success"]
    return sum(each.step_id in SENDING for each in done)


def _check_site(site: Mooring, wanted: Sequence[str], last: _Command) -> None:
    """Raise `AssertionError` if a boat is there twice, or a command said `success` without all of them."""
    assert site.names == list(wanted[: len(site.names)]), f"moored are {site.names}: {last.said}"
    assert site.module.counts["created"] == len(site.names)
    assert last.code != 0 or site.names == list(wanted), f"success with {site.names}: {last.said}"


async def _check_records(folder: Path) -> None:
    """Raise `AssertionError` unless the stored run has each step and each action of its journal once."""
    async with open_runs(folder / "data") as runs:
        (run,) = await runs.runs()
        steps = await runs.steps(run.run_id)
        assert [each.step_idx for each in steps] == list(range(len(steps)))
        keys = [each.key for each in await runs.journal(run.run_id)]
        assert len(keys) == len(set(keys)), "an action is in the journal twice"


# -- the browser is killed ---------------------------------------------------------------------------


async def _kill_in_fleet(folder: Path, dice: random.Random, is_victim: Callable[[str], bool]) -> None:
    """Kill processes of a run of three boats after a line of its output, at a random request or at once."""
    lines, at = dice.randrange(1, 9), dice.choice(("at once", "at the next answer"))
    with mooring() as site:
        seen = 0
        killed = False

        def kill(pid: int) -> None:
            nonlocal killed
            for each in descendants(pid):
                if is_victim(_command_line(each)):
                    with suppress(ProcessLookupError):
                        os.kill(each, signal.SIGKILL)
                        killed = True

        def count(line: str, pid: int) -> None:
            nonlocal seen
            seen += "by_click." in line
            if seen < lines or killed:
                return
            if at == "at once":
                kill(pid)
            elif not site.network.on_answer:
                site.network.on_answer = lambda: kill(pid)

        first = await _begin(folder, site, "fleet", f"names={json.dumps(NAMES)}", on_line=count)
        assert killed, f"nothing was killed: {first.said}"
        site.network.on_answer = None
        await _carry_on(folder, site, first, NAMES)


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


@fault_kind(
    "chromium_killed", "Chromium is killed at a random step, or after a request whose answer it never gets"
)
async def kill_chromium(folder: Path, dice: random.Random) -> None:
    """All processes of the browser."""
    await _kill_in_fleet(folder, dice, lambda command: "--remote-debugging" in command)


@fault_kind("page_process_killed", "the process of the page is killed at random, the browser lives on")
async def kill_renderer(folder: Path, dice: random.Random) -> None:
    """The processes that render pages."""
    await _kill_in_fleet(folder, dice, lambda command: "--type=renderer" in command)


@fault_kind("driver_killed", "Playwright's driver is killed at a random step")
async def kill_driver(folder: Path, dice: random.Random) -> None:
    """The process between Periplus and Chromium."""
    await _kill_in_fleet(folder, dice, lambda command: "run-driver" in command)


# -- the network is cut ------------------------------------------------------------------------------


async def _cut_in(folder: Path, dice: random.Random, kind: str) -> None:
    """Cut the network when the step before one of the kind ended, until the run is over or for two connections."""
    drawn = dice.choice(NETWORK_STEPS[kind])
    before, at = STEP_BEFORE.get(drawn, "form"), dice.choice(("at once", "at the next answer"))
    returns_after = dice.choice((2, 10**6))
    with mooring() as site:
        site.network.returns_after = returns_after
        begun = False

        def cut(line: str, _pid: int) -> None:
            nonlocal begun
            if begun or f".{before} " not in line + " ":
                return
            begun = True
            if at == "at once":
                site.network.cut()
            else:
                site.network.on_answer = site.network.cut

        first = await _begin(folder, site, f"by_{drawn}", f"boat_name={NAMES[0]}", on_line=cut)
        assert begun, f"the step before `{drawn}` was not seen: {first.said}"
        site.network.mend()
        await _carry_on(folder, site, first, NAMES[:1])


def _register(kind: str) -> None:
    @fault_kind(f"network_{kind}", f"the network is cut in a step of these: {', '.join(NETWORK_STEPS[kind])}")
    async def cut_network(folder: Path, dice: random.Random) -> None:
        await _cut_in(folder, dice, kind)


for _kind in NETWORK_STEPS:
    _register(_kind)


@fault_kind("network_loop", "the network is cut at a random step of a loop over three boats")
async def cut_loop(folder: Path, dice: random.Random) -> None:
    """As `network_submit`, in any step of any of the loop's items."""
    lines, at = dice.randrange(1, 9), dice.choice(("at once", "at the next answer"))
    with mooring() as site:
        site.network.returns_after = dice.choice((2, 10**6))
        seen = 0

        def count(line: str, _pid: int) -> None:
            nonlocal seen
            seen += "by_click." in line
            if seen == lines and "by_click." in line:
                if at == "at once":
                    site.network.cut()
                else:
                    site.network.on_answer = site.network.cut

        first = await _begin(folder, site, "fleet", f"names={json.dumps(NAMES)}", on_line=count)
        site.network.mend()
        await _carry_on(folder, site, first, NAMES)
