"""Errors of the agent's tools, in addition to those of `mcp_server.errors`."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_server.errors import BadRequest, KnowledgeServerError, ServerBusy
from periplus.agent_server.run_answers import NeededInput


class TooManyRuns(ServerBusy):
    """The maximum number of parallel runs is reached."""

    code = "busy"

    def __init__(self, run_ids: Sequence[str]) -> None:
        self.run_ids = tuple(run_ids)
        KnowledgeServerError.__init__(
            self,
            f"the maximum of {len(run_ids)} parallel runs is reached: {', '.join(run_ids)}",
            hint="wait for one of them with run_status, or cancel one with cancel_run",
        )


class InputsMissing(BadRequest):
    """Inputs of a task are missing, and the client supports no forms."""

    code = "input_required"

    def __init__(self, task_id: str, needs: Sequence[NeededInput]) -> None:
        self.needs = tuple(needs)
        told = "; ".join(f"{need.name} ({need.question})" if need.question else need.name for need in needs)
        given = ", ".join(f'"{need.name}": ...' for need in needs)
        super().__init__(
            f"{task_id} needs {told}", hint=f"call run_task again and add the inputs {{{given}}}"
        )


class RunHeldElsewhere(KnowledgeServerError):
    """Another process executes the run; only that process can stop it or receive its inputs."""

    code = "elsewhere"

    def __init__(self, run_id: str, holder: str) -> None:
        self.run_id, self.holder = run_id, holder
        super().__init__(
            f"run {run_id} is executed by another process, {holder}",
            hint="call the server that started it; run_status works on every server",
        )


class UnknownRun(KnowledgeServerError):
    """There is no run with this id."""

    code = "unknown_name"

    def __init__(self, run_id: str, known: Sequence[str]) -> None:
        self.run_id = run_id
        latest = (
            f"the latest runs are {', '.join(known)}" if known else "there are no runs yet: call run_task"
        )
        super().__init__(f"no run {run_id[:80]!r}", hint=latest)


class RunRequestRejected(KnowledgeServerError):
    """A run cannot be started or resumed; `message` and `hint` come from the original error."""

    code = "refused"
