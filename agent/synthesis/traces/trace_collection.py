"""Stage 1: runs an agent N times and collects the traces (MA 1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import structlog

from agent.synthesis.traces.input_data_generation import Data, SyntheticDataProvider
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.session_reader import SessionUnreadable, read_session

log = structlog.get_logger(__name__)


class TracedAgent(Protocol):
    """Performs a task once: any agent that takes a task description and writes a session folder."""

    async def __call__(self, task_description: str, data: Data | None) -> Path | str | ExecutionTrace:
        """Perform the task with this data; return its session folder or its trace. May raise any exception."""
        ...


class TraceCollector:
    """Runs an agent on a task and collects one trace per run, including failed runs."""

    def __init__(
        self, agent: TracedAgent, synthetic_data_provider: SyntheticDataProvider | None = None
    ) -> None:
        self._agent, self._provider = agent, synthetic_data_provider

    async def collect(
        self,
        task_description: str,
        run_count: int,
        input_data: Sequence[Data] | None = None,
        *,
        first: int = 1,
    ) -> list[ExecutionTrace]:
        """Return `run_count` traces, in order. `first`: the number of the first run, for its name.

        `input_data` takes precedence over the provider's data. If it has fewer sets than there are runs, the
        sets are used repeatedly. Raises `ValueError` if `run_count` is less than 1.
        """
        if run_count < 1:
            raise ValueError(f"run_count must be at least 1, got {run_count}")
        sets = self._data(run_count, input_data)
        return [
            await self._run_single(task_description, sets[index], first + index) for index in range(run_count)
        ]

    def _data(self, run_count: int, given: Sequence[Data] | None) -> list[Data | None]:
        if given:
            return [given[index % len(given)] for index in range(run_count)]
        if self._provider is not None:
            return [*self._provider.generate(run_count)]
        return [None] * run_count

    async def _run_single(self, task: str, data: Data | None, number: int) -> ExecutionTrace:
        name = f"run-{number:03}"
        try:
            made = await self._agent(task, data)
        except Exception as exc:  # noqa: BLE001 - the boundary to foreign code: a run that fails is a trace that failed
            log.warning("a run failed", run=name, error=str(exc))
            return ExecutionTrace(
                trace_id=name,
                task_description=task,
                input_data=data,
                success=False,
                error=_describe_error(exc),
            )
        if isinstance(made, ExecutionTrace):
            return _described(made, task, data)
        try:
            trace = read_session(Path(made), trace_id=name)
        except SessionUnreadable as exc:
            log.warning("a run left no session", run=name, error=str(exc))
            return ExecutionTrace(
                trace_id=name,
                task_description=task,
                input_data=data,
                session_dir=str(made),
                success=False,
                error=str(exc),
            )
        return _described(trace, task, data)


def _described(trace: ExecutionTrace, task: str, data: Data | None) -> ExecutionTrace:
    changes: dict[str, Any] = {}
    if not trace.task_description:
        changes["task_description"] = task
    if data is not None:
        changes["input_data"] = data
    return trace.model_copy(update=changes) if changes else trace


def _describe_error(exc: Exception) -> str:
    return f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__
