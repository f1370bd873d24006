"""Records a noisy person for minutes at all widgets of a library, and compares each act with what the trace holds.

What an act did is told by the page's own state before and after it. Each visit of a page is repeated in a fresh browser,
too, and must leave the state that the person left.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from agent.recording.demonstration_recorder import DemonstrationRecorder, DemonstrationRecording
from agent.recording.recorded_actions import RecordedAction
from agent.run_context import RunContext
from periplus.commands.record import describe_recorded_step
from tests.widgets.noisy_person import NULL_ACTS, count_allowed, do_act, name_of, plan_visit
from tests.widgets.widget_list import Widget, list_widgets
from tests.widgets.widget_measurement import WidgetBench, read_state

LATE_MS = 250.0
"""How long after an act its step may be told: sliders and labels are told when the page has drawn."""
ASKED_MS = 4_000.0
"""How long after an act a question about it may be asked."""
_WRITTEN = frozenset({"fill", "append_text"})
NOTHING_MS = 400.0
"""What is told this long after an act began that does nothing was told for nothing."""


@dataclass(frozen=True)
class DoneAct:
    """What a person did, when, and what the page's state was before and after; times in milliseconds."""

    act: dict[str, Any]
    begin: float
    end: float
    before: dict[str, Any]
    after: dict[str, Any]


@dataclass
class Visit:
    """What a person did at one widget."""

    widget: Widget
    begin: float
    acts: list[DoneAct] = field(default_factory=list)
    planned: tuple[dict[str, Any], ...] = ()

    @property
    def state(self) -> dict[str, Any]:
        """What the person left."""
        return self.acts[-1].after if self.acts else {}


@dataclass
class MeasuredSession:
    """What came of a session: counts, and sentences about what is wrong."""

    library: str
    seed: int
    minutes: float
    visits: int = 0
    acts: int = 0
    changes: int = 0
    """Acts after which the page's state was another one."""
    held: int = 0
    asked: int = 0
    lost: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    repeated: dict[str, int] = field(default_factory=dict)
    """Visits by what came of repeating them."""
    differing: list[str] = field(default_factory=list)
    """What came differently when repeated."""


async def measure_session(bench: WidgetBench, library: str, minutes: float, seed: int) -> MeasuredSession:
    """Record one session with one recorder, judge each act, and repeat each visit."""
    with tempfile.TemporaryDirectory(prefix="periplus-session-") as folder:
        recording, visits, asked = await _record(bench, library, minutes, seed, Path(folder))
    measured = MeasuredSession(library, seed, minutes, visits=len(visits))
    for visit, until in zip(visits, [*(each.begin for each in visits[1:]), float("inf")], strict=True):
        actions = [each for each in recording.actions if visit.begin <= each.time < until]
        problems = [(at, said) for at, said in asked if visit.begin <= at < until]
        judge_visit(measured, visit, actions, problems)
        await _repeat(bench, measured, visit, actions, problems)
    return measured


async def _record(
    bench: WidgetBench, library: str, minutes: float, seed: int, folder: Path
) -> tuple[DemonstrationRecording, list[Visit], list[tuple[float, str]]]:
    dice = random.Random(f"{library} {seed}")
    until = time.monotonic() + minutes * 60
    visits: list[Visit] = []
    asked: list[tuple[float, str]] = []
    async with bench.context() as context:
        recorder = DemonstrationRecorder(
            context, folder / "trace", context=RunContext(), name=library,
            on_problem=lambda said: asked.append((_now(), said)),
        )  # fmt: skip
        await recorder.start()
        page = await context.new_page()
        bag: list[Widget] = []
        while time.monotonic() < until:
            if not bag:
                bag = [each for each in list_widgets().values() if each.library == library]
                dice.shuffle(bag)
            visits.append(await _visit(page, bench, bag.pop(), dice))
        await recorder.rest()
        await page.close()
        await asyncio.wait_for(recorder.closed.wait(), 10)
        return await recorder.finish(), visits, asked


async def _visit(page: Page, bench: WidgetBench, widget: Widget, dice: random.Random) -> Visit:
    visit = Visit(widget, _now(), planned=plan_visit(widget, dice))
    await page.goto(f"{bench.base}/{widget.library}/{widget.name}")
    await asyncio.sleep(dice.uniform(0.3, 1.0))
    for act in visit.planned:
        begin, before = _now(), await read_state(page)
        failed = False
        try:
            await do_act(page, act, bench.file)
        except PlaywrightError:
            failed = True  # the noise led astray: the person goes on with another widget
        await asyncio.sleep(dice.uniform(0.05, 0.6))
        visit.acts.append(DoneAct(act, begin, _now(), before, await read_state(page)))
        if failed:
            break
    await asyncio.sleep(dice.uniform(0.3, 0.8))
    if visit.acts:
        last = visit.acts[-1]
        visit.acts[-1] = DoneAct(last.act, last.begin, _now(), last.before, await read_state(page))
    return visit


def _now() -> float:
    return time.time() * 1000


def judge_visit(
    measured: MeasuredSession,
    visit: Visit,
    actions: Sequence[RecordedAction],
    asked: Sequence[tuple[float, str]],
) -> None:
    """Add to the measures what the trace holds of a visit."""
    measured.acts += len(visit.acts)
    spans = list(_span_steps(visit, actions))
    doing = visit.begin
    for number, done in enumerate(visit.acts):
        nothing = name_of(done.act) in NULL_ACTS
        doing = doing if nothing else done.begin
        until = visit.acts[number + 1].begin if number + 1 < len(visit.acts) else done.end
        if done.before != done.after:
            measured.changes += 1
            if any(first <= done.end + LATE_MS and last >= doing for first, last in spans) or _is_typed(
                done, actions
            ):
                measured.held += 1
            elif any(doing <= at <= done.end + ASKED_MS for at, _ in asked):
                measured.asked += 1
            else:
                measured.lost.append(f"{visit.widget.key}: {done.act}: {_differ(done.before, done.after)}")
        if nothing:
            measured.invented += [
                f"{visit.widget.key}: {describe_recorded_step(each)} while the person did {done.act}"
                for each in actions
                if each.action_type not in _WRITTEN and done.begin + NOTHING_MS < each.time < until
            ]
    allowed = count_allowed(tuple(each.act for each in visit.acts))
    counted = Counter(
        {"append_text": "fill"}.get(each.action_type, each.action_type)
        if each.action_type in (*allowed, "append_text")
        else "pointer"
        for each in actions
    )
    measured.invented += [
        f"{visit.widget.key}: {kind} {count} of {allowed[kind]} possible | "
        f"steps: {'; '.join(map(describe_recorded_step, actions))} | acts: {[each.act for each in visit.acts]}"
        for kind, count in counted.items()
        if count > allowed[kind]
    ]


def _is_typed(done: DoneAct, actions: Sequence[RecordedAction]) -> bool:
    """Whether what changed is what was typed before: some pages keep it when the field is left."""
    typed = {
        str(each.args.get("value"))
        for each in actions
        if each.action_type in _WRITTEN and each.time < done.end
    }
    changed = [str(value) for key, value in done.after.items() if done.before.get(key) != value]
    return bool(changed) and typed.issuperset(changed)


def _span_steps(visit: Visit, actions: Sequence[RecordedAction]) -> list[tuple[float, float]]:
    """Return from when to when each step holds what was done: a `fill` has all that was typed since the step before."""
    spans, former = [], visit.begin
    for each in actions:
        if each.action_type not in ("navigate", "refresh"):
            spans.append((former if each.action_type in _WRITTEN else each.time, each.time))
        former = each.time
    return spans


async def _repeat(
    bench: WidgetBench, measured: MeasuredSession, visit: Visit, actions: Sequence[RecordedAction],
    asked: Sequence[tuple[float, str]],
) -> None:  # fmt: skip
    """Repeat a visit in a fresh browser and note what came of it."""
    part = DemonstrationRecording(Path(), list(actions))
    replayed, got = await bench.repeat(part, visit.state)
    failure = replayed.failure
    if failure is None and is_like(visit.widget, got, visit.state):
        verdict = "right"
    elif asked:
        verdict = "told"
    elif failure is not None:
        verdict = "failed"
    else:
        verdict = "wrong"
    measured.repeated[verdict] = measured.repeated.get(verdict, 0) + 1
    if verdict not in ("right", "told"):
        said = failure.error if failure is not None else _differ(visit.state, got)
        steps = "; ".join(map(describe_recorded_step, actions))
        acts = [each.act for each in visit.acts]
        measured.differing.append(f"{visit.widget.key} {verdict}: {said} | steps: {steps} | acts: {acts}")


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


def to_record(measured: MeasuredSession) -> dict[str, Any]:
    """Return what is kept of it."""
    return asdict(measured)


def read_record(record: dict[str, Any]) -> MeasuredSession:
    """Return what was kept by `to_record`."""
    return MeasuredSession(**record)
