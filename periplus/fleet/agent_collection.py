"""Collects traces from an agent that is no task of Periplus: any callable that performs a task and leaves a trace (MA 1).

The port is `agent.synthesis.traces.trace_collection.TracedAgent`; the agent may use a language model, a script or a
service. Periplus makes the inputs, runs it, keeps the names of inputs and writes each trace as a session folder.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from agent.redaction import Secrets
from agent.synthesis.traces.trace_collection import TraceCollector, TracedAgent
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.secret_fields import names_a_secret
from kb_schema.session_writer import write_session
from periplus.errors import UserError
from periplus.fleet.input_rows import InputRow


def load_agent(reference: str) -> TracedAgent:
    """Return the agent at `MODULE:NAME`; modules of the current folder are found, too. Raises `UserError`."""
    module_name, sign, name = reference.partition(":")
    if not sign or not module_name or not name:
        raise UserError(
            f"--agent {reference!r} is no MODULE:NAME", fix="for example --agent my_agents:book_flight"
        )
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), name)
    except ImportError as exc:
        raise UserError(
            f"--agent: {module_name} cannot be imported: {exc}", fix="name an importable module"
        ) from exc
    except AttributeError as exc:
        raise UserError(
            f"--agent: {module_name} has no {name!r}", fix="name a function of the module"
        ) from exc
    if not (inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(type(found).__call__)):
        raise UserError(
            f"--agent: {reference} is no async function",
            fix="write `async def NAME(task_description, data)` that returns a session folder or a trace",
        )
    return cast("TracedAgent", found)


async def collect_agent_traces(
    agent: TracedAgent,
    task: str,
    rows: Sequence[InputRow],
    shared: Mapping[str, JsonValue],
    folder: Path,
    tell: Callable[[int, ExecutionTrace], None],
) -> list[ExecutionTrace]:
    """Run the agent once for each row, write a session per run below `folder`, and return the traces in order.

    A failed run is a failed trace. Values of inputs that are called like secrets are given to the agent and not written.
    """
    traces = []
    for number, row in enumerate(rows, 1):
        values = {**shared, **row}
        (trace,) = await TraceCollector(agent).collect(task, 1, [values], first=number)
        secrets = Secrets()
        for name, value in values.items():
            if names_a_secret([name]):
                secrets.keep(value)
        plain = {name: each for name, each in values.items() if not names_a_secret([name])}
        trace = trace.model_copy(update={"trace_id": f"run-{number:03d}", "input_data": plain})
        write_session(trace, folder / f"{number:05d}" / "session", clean=secrets.redact)
        tell(number, trace)
        traces.append(trace)
    return traces
