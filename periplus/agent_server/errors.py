"""What the agent's tools refuse besides what every tool does (`mcp_server.errors`)."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_server.errors import BadRequest, Busy, DeskError
from periplus.agent_server.answers import Need


class TooManyRuns(Busy):
    """All places for runs are taken."""

    code = "busy"

    def __init__(self, run_ids: Sequence[str]) -> None:
        self.run_ids = tuple(run_ids)
        DeskError.__init__(
            self,
            f"{len(run_ids)} runs are going on, more are not carried out at once: {', '.join(run_ids)}",
            hint="call run_status on one of them until it is over, or cancel_run",
        )


class InputsMissing(BadRequest):
    """A task lacks inputs, and this client cannot be asked for them."""

    code = "input_required"

    def __init__(self, task_id: str, needs: Sequence[Need]) -> None:
        self.needs = tuple(needs)
        told = "; ".join(f"{need.name} ({need.question})" if need.question else need.name for need in needs)
        given = ", ".join(f'"{need.name}": ...' for need in needs)
        super().__init__(
            f"{task_id} needs {told}", hint=f"call run_task again with inputs {{{given}}} besides those given"
        )


class Elsewhere(DeskError):
    """The run is carried out by another process: only that one can stop it or is told its inputs."""

    code = "elsewhere"

    def __init__(self, run_id: str, holder: str) -> None:
        self.run_id, self.holder = run_id, holder
        super().__init__(
            f"run {run_id} is carried out by {holder}",
            hint="ask the server it was begun on; run_status works from everywhere",
        )


class NoSuchRun(DeskError):
    """No run of that id."""

    code = "unknown_name"

    def __init__(self, run_id: str, known: Sequence[str]) -> None:
        self.run_id = run_id
        latest = f"the latest are {', '.join(known)}" if known else "there are none yet: call run_task"
        super().__init__(f"no run {run_id[:80]!r}", hint=latest)


class NotToBeDone(DeskError):
    """What was asked for cannot be begun or carried on; `message` and `hint` are of whoever said so."""

    code = "refused"
