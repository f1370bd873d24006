"""Records a widget with two values, makes a workflow of that, runs it with a third, and compares the page's own state.

The recordings, the workflow and the run are those of `periplus record`, `synthesize --publish` and `run`.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.synthesis.errors import MetaAgentError
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.trace_consensus import find_gap
from kb_schema.run_records import RunResult
from kb_store import open_stores
from periplus.errors import UserError
from periplus.recorded_websites import add_website
from periplus.session_setup import open_fresh_context, open_session
from periplus.synthesis.proposed_screens import find_screens
from periplus.synthesis.workflow_synthesis import (
    SynthesisSite,
    induce_workflow,
    publish_workflow,
    read_shown_values,
    read_traces,
)
from tests.widgets.widget_list import Widget, given_of
from tests.widgets.widget_measurement import LATE_MS, WidgetBench, read_state

SITE = "widgets"
LEAST_VALUES = 3
RUN_S = 90.0
ShownVerdict = Literal["right", "told", "refused", "failed", "wrong", "undone"]
"""What came of a widget.

right: the state is that of the new value. told: it is not, and the recorder and `synthesize` said what cannot be repeated.
refused: no workflow was made, and a sentence says why. failed: the run ended without success, and said so. wrong: the run says that all was done, and the state is another one. undone: the scripted
person could not do it.
"""


@dataclass(frozen=True)
class ShownWidget:
    """What came of a widget that was shown twice."""

    widget: str
    varied: bool
    """Whether the recordings have different values; else all runs do the same."""
    verdict: ShownVerdict
    said: str = ""


async def measure_shown(bench: WidgetBench, widget: Widget) -> ShownWidget:
    """Record, synthesize, publish, run, compare."""
    varied = len(widget.values) >= LEAST_VALUES
    values = widget.values if varied else ("", "", "")
    filled = [widget.fill(value) if varied else widget.first() for value in values[:LEAST_VALUES]]
    with tempfile.TemporaryDirectory(prefix="periplus-shown-") as name:
        folder = Path(name)
        for number, each in enumerate(filled[:-1]):
            try:
                _, _, state = await bench.record(each, folder / "traces" / str(number))
            except PlaywrightError as exc:
                return ShownWidget(widget.key, varied, "undone", exc.message.splitlines()[0])
            if fault := each.find_fault(state):
                return ShownWidget(widget.key, varied, "undone", fault)
        given = {given_of(value): given_of(values[LEAST_VALUES - 1]) for value in values[: LEAST_VALUES - 1]}
        verdict, said = await _run(bench, filled[-1], given if varied else {}, folder)
    return ShownWidget(widget.key, varied, verdict, said)


async def _run(
    bench: WidgetBench, widget: Widget, given: Mapping[str, str], folder: Path
) -> tuple[ShownVerdict, str]:
    """Make the workflow and run it with the new value; `given` maps shown values to it."""
    async with open_stores(folder / "stores") as stores:
        await add_website(stores, bench.base, SITE)
        try:
            traces = read_traces([folder / "traces"])
            problems = [said for trace in traces for said in trace.metadata.get("problems", ())]
            result = await induce_workflow(traces, "shown", "")
            found = await find_screens(stores, SITE, bench.base, result)
            result = add_workflow_documents(result, found.by_step)
            gap = find_gap(result)
            if gap is not None or result.lowered is None:
                return "refused", str(gap)
            site = SynthesisSite(stores, SITE, bench.base, allow_unverified=True)
            workflow_id = await publish_workflow(site, result.lowered, found.new, replace=False)
        except (UserError, MetaAgentError) as exc:
            return "refused", str(exc).splitlines()[0]
        inputs = _bind(result, given)
        if isinstance(inputs, str):
            return "refused", inputs
        async with (
            open_fresh_context(bench.browser) as context,
            open_session(stores, context, SITE, base_url=bench.base) as session,
        ):
            try:
                workflow = await session.knowledge.workflow(workflow_id)
                done = await asyncio.wait_for(run_workflow(TaskRunner(session), workflow, inputs), RUN_S)
            except (AgentError, TimeoutError) as exc:
                return "failed", f"{type(exc).__name__}: {exc}"[:300]
            fault = ""
            for _ in range(int(LATE_MS / 100)):
                fault = widget.find_fault(await read_state(session.page))
                if not fault:
                    break
                await asyncio.sleep(0.1)
    if fault and problems:
        return "told", problems[0]
    return _judge(done, fault, inputs)


def _judge(done: RunResult, fault: str, inputs: Mapping[str, Any]) -> tuple[ShownVerdict, str]:
    if done.complete:
        return ("wrong" if fault else "right"), f"{fault} (inputs {dict(inputs)})" if fault else ""
    return "failed", f"{done.status.value}: {done.error}; {fault}"[:300]


def _bind(result: PipelineResult, given: Mapping[str, str]) -> dict[str, Any] | str:
    """Return the new value for each input that had a shown one, or why an input has none."""
    assert result.lowered is not None
    shown = read_shown_values(result, result.traces[0].trace_id)
    inputs: dict[str, Any] = {}
    for spec in result.lowered.workflow.io_spec.inputs:
        known = str(shown.get(spec.name))
        if known in given:
            inputs[spec.name] = given[known]
        elif spec.required:
            return f"the input {spec.name!r} ({spec.description}) has the value {known!r}, which nobody gave"
    return inputs if inputs or not given else "no input has the value that varied"


def to_record(measured: ShownWidget) -> dict[str, Any]:
    """Return what is kept of it."""
    return asdict(measured)


def read_record(record: dict[str, Any]) -> ShownWidget:
    """Return what was kept by `to_record`."""
    return ShownWidget(**record)
