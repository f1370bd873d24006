"""Demonstrations of MiniWoB++ by the scripted person, recorded by the recorder of `periplus record`.

Each is a session folder, DIR/TASK/NUMBER, that any command reads. Those that are there already are kept.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from agent.recording.demonstration_recorder import DemonstrationRecorder
from agent.run_context import RunContext
from benchmarks.miniwob_pages import open_task, read_reward, set_goal
from benchmarks.miniwob_person import Person
from benchmarks.miniwob_ways import CannotDo, do
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.session_reader import MANIFEST, read_session

SHOWN = 14
"""Demonstrations of each task: more than the largest k, so that draws differ."""
_TRIES = 3
"""Times as many seeds as demonstrations are tried, at most."""
_CLOSES_S = 10.0


async def record(browser: Browser, base_url: str, task: str, folder: Path, count: int = SHOWN) -> list[str]:
    """Record demonstrations of a task until there are `count`; return why others were left out."""
    left_out: list[str] = []
    for number in range(_TRIES * count):
        if sum(1 for _ in sessions(folder / task)) >= count:
            break
        to = folder / task / f"{number:03}"
        if (to / MANIFEST).is_file():
            continue
        why = await _record(browser, base_url, task, f"shown {number}", to)
        if why is not None:
            shutil.rmtree(to, ignore_errors=True)
            left_out.append(why)
    return left_out


async def _record(browser: Browser, base_url: str, task: str, seed: str, to: Path) -> str | None:
    """Record one demonstration; return why it is none."""
    context = await browser.new_context(viewport={"width": 500, "height": 600})
    try:
        # The goal is the session's name, and the recorder needs it before the page opens.
        page = await context.new_page()
        await open_task(page, base_url, task)
        goal = await set_goal(page, seed)
        await page.close()
        recorder = DemonstrationRecorder(context, to, context=RunContext(), name=goal)
        await recorder.start()
        page = await context.new_page()
        await open_task(page, base_url, task)
        await set_goal(page, seed)
        await recorder.rest()
        try:
            await do(task, goal, Person(page, recorder.rest))
        except (CannotDo, PlaywrightError) as exc:
            why: str | None = f"{task}, {seed}: {str(exc).splitlines()[0]}"
        else:
            over, reward = await read_reward(page)
            why = None if over and reward == 1 else f"{task}, {seed}: {goal!r} ended with {over}, {reward}"
        await page.close()
        await asyncio.wait_for(recorder.closed.wait(), _CLOSES_S)
        await recorder.finish(complete=why is None)
        return why
    finally:
        await context.close()


def sessions(folder: Path) -> Iterator[Path]:
    """Return the session folders in a folder."""
    yield from sorted(each.parent for each in folder.glob(f"*/{MANIFEST}"))


def read_demonstration(folder: Path) -> ExecutionTrace:
    """Return a session as a trace that begins on the page where the goal is set."""
    trace = read_session(folder)
    steps = tuple(step for step in trace.steps if step.action_type != "navigate")
    return trace.model_copy(update={"steps": steps})
