"""The answers of the agent's tools."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from kb_schema.base import Model
from kb_schema.run_records import EvidenceLevel

RunAnswerState = Literal[
    "running",
    "input_required",
    "success",
    "unverified",
    "partial",
    "degraded",
    "failure",
    "needs_person",
    "cancelled",
    "interrupted",
]
"""`input_required`: the run waits for an input. `interrupted`: its process has ended."""


UNVERIFIED = "every step was done, but nothing that the task states shows its result: look at the page"


class NeededInput(Model):
    """An input that a run waits for."""

    name: str
    question: str = ""
    secret: bool = False
    """Never request it with a form; set it in the server's environment."""


class RunStepLine(Model):
    """One finished step."""

    task_id: str
    step_id: str
    status: Literal["success", "skipped", "failed"]
    error: str | None = None


class RunAnswer(Model):
    """The progress or the result of a run."""

    run_id: str
    website_id: str
    subject: str
    """The task or workflow, or the target screen."""
    workflow_version: str | None = None
    """For a workflow that has ended: the version that ran."""
    state: RunAnswerState
    doing: str | None = None
    """The current step."""
    steps_done: int = 0
    steps: tuple[RunStepLine, ...] = ()
    """The last finished steps."""
    evidence: EvidenceLevel | None = None
    """The evidence for the result."""
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    error: str | None = None
    hint: str | None = None
    needs: tuple[NeededInput, ...] = ()
    by: str | None = None
    """The process that executes it, if it is another one."""
    duration_ms: float | None = None
    address: str | None = None
    """Where the page was last, if this server executed the run; its tab is closed."""
    next: str | None = None
    """The suggested next call."""

    @property
    def text(self) -> str:
        """Return the answer as text."""
        over = self.state not in ("running", "input_required")
        evidence = (
            f", {self.evidence}"
            if over and self.evidence is not None and self.evidence.value != self.state
            else ""
        )
        version = f", version {self.workflow_version}" if self.workflow_version else ""
        lines = [
            f"{self.subject}{version}: {self.state}{evidence} ({self.steps_done} steps done), run_id {self.run_id}"
        ]
        if self.doing:
            lines.append(f"at {self.doing}")
        if self.by:
            lines.append(f"executed by {self.by}")
        lines += [f"needs {need.name}: {need.question or need.name}" for need in self.needs]
        lines += [f"{name} = {value}" for name, value in self.outputs.items()]
        lines += [f"ended at {self.address}"] if self.address and over else []
        lines += [each for each in (self.error, self.hint) if each]
        if self.state == "unverified" and not self.error:
            lines.append(UNVERIFIED)
        if self.next:
            lines.append(f"next: {self.next}")
        return "\n".join(lines)
