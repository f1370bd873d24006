"""Records a noisy person for minutes at all widgets of a library, and repeats each visit of a page in a fresh browser.

Each visit must leave the state that the person left. `session_judgement.py` judges the acts.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from agent.recording.demonstration_recorder import DemonstrationRecorder, DemonstrationRecording
from agent.recording.recorded_actions import RecordedAction
from agent.run_context import RunContext
from periplus.commands.record import describe_recorded_step
from tests.widgets.noisy_person import do_act, plan_visit
from tests.widgets.recorded_sessions import DoneAct, RecordedSession, SessionStep, SessionVisit, StateChange
from tests.widgets.widget_list import Widget, list_widgets
from tests.widgets.widget_measurement import WidgetBench, read_state

_TAKE_KEPT = "(window.kept || []).splice(0)"


async def record_session(bench: WidgetBench, library: str, minutes: float, seed: int) -> RecordedSession:
    """Record one session with one recorder, and repeat each visit."""
    session = RecordedSession(library, seed, minutes)
    with tempfile.TemporaryDirectory(prefix="periplus-session-") as folder:
        recording = await _record(bench, session, Path(folder))
    begins = [*(each.begin for each in session.visits[1:]), float("inf")]
    for visit, until in zip(session.visits, begins, strict=True):
        actions = [each for each in recording.actions if visit.begin <= each.time < until]
        visit.steps = [_read_step(each) for each in actions]
        await _repeat(bench, visit, actions)
    return session


def _read_step(action: RecordedAction) -> SessionStep:
    value = str(action.args.get("value", ""))
    return SessionStep(action.action_type, action.time, value, describe_recorded_step(action))


async def _record(bench: WidgetBench, session: RecordedSession, folder: Path) -> DemonstrationRecording:
    dice = random.Random(f"{session.library} {session.seed}")
    until = time.monotonic() + session.minutes * 60

    def note(said: str) -> None:
        if session.visits:
            session.visits[-1].asked.append((_now(), said))

    async with bench.context() as context:
        recorder = DemonstrationRecorder(
            context, folder / "trace", context=RunContext(), name=session.library, on_problem=note
        )
        await recorder.start()
        page = await context.new_page()
        bag: list[Widget] = []
        while time.monotonic() < until:
            if not bag:
                bag = [each for each in list_widgets().values() if each.library == session.library]
                dice.shuffle(bag)
            widget = bag.pop()
            session.visits.append(SessionVisit(widget.key, _now()))
            await _visit(page, bench, widget, session.visits[-1], dice)
        await recorder.rest()
        await page.close()
        await asyncio.wait_for(recorder.closed.wait(), 10)
        return await recorder.finish()


async def _visit(
    page: Page, bench: WidgetBench, widget: Widget, visit: SessionVisit, dice: random.Random
) -> None:
    planned = plan_visit(widget, dice)
    await page.goto(f"{bench.base}/{widget.library}/{widget.name}")
    await asyncio.sleep(dice.uniform(0.3, 1.0))
    visit.first = await _take_changes(page)
    for act in planned:
        begin = _now()
        failed = False
        try:
            await do_act(page, act, bench.file)
        except PlaywrightError:
            failed = True  # the noise led astray: the person goes on with another widget
        await asyncio.sleep(dice.uniform(0.05, 0.6))
        visit.acts.append(DoneAct(act, begin, _now(), tuple(await _take_changes(page))))
        if failed:
            break
    await asyncio.sleep(dice.uniform(0.3, 0.8))
    if visit.acts:
        last = visit.acts[-1]
        late = await _take_changes(page)
        visit.acts[-1] = DoneAct(last.act, last.begin, _now(), (*last.kept, *late))
    visit.state = await read_state(page)


async def _take_changes(page: Page) -> list[StateChange]:
    """Return what the page kept since this was asked last."""
    return [StateChange(**each) for each in await page.evaluate(_TAKE_KEPT)]


def _now() -> float:
    return time.time() * 1000


async def _repeat(bench: WidgetBench, visit: SessionVisit, actions: Sequence[RecordedAction]) -> None:
    """Repeat a visit in a fresh browser and note what came of it."""
    replayed, got = await bench.repeat(DemonstrationRecording(Path(), list(actions)), visit.state)
    failure = replayed.failure
    if failure is None and is_like(list_widgets()[visit.widget], got, visit.state):
        visit.repeated = "right"
        return
    # A question excuses nothing that is not shown: what differs is kept with it.
    visit.repeated = "told" if visit.asked else "wrong" if failure is None else "failed"
    visit.differs = (failure.error or "failed") if failure is not None else _differ(visit.state, got)


def is_like(widget: Widget, got: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether two states are the same, sliders within the range that their list allows."""
    return got.keys() == wanted.keys() and all(
        got[key] == value
        or (
            key in widget.leaves_about
            and abs(float(got[key]) - float(value))
            <= (widget.leaves_about[key][1] - widget.leaves_about[key][0]) / 2 + 1
        )
        for key, value in wanted.items()
    )


def _differ(before: dict[str, Any], after: dict[str, Any]) -> str:
    return "; ".join(
        f"{key} {before.get(key)!r} -> {after.get(key)!r}"
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    )
