"""What the agent's tools answer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from kb_schema.base import Model
from kb_schema.runs import EvidenceLevel

State = Literal[
    "running", "input_required", "success", "partial", "degraded", "failure", "needs_person", "cancelled",
    "interrupted",
]  # fmt: skip
"""`input_required`: it waits for a value. `interrupted`: its process is gone."""


class Need(Model):
    """A value that a run waits for."""

    name: str
    question: str = ""
    secret: bool = False
    """Not to be typed into a form: it belongs into the server's environment."""


class StepLine(Model):
    """One step that is over."""

    task_id: str
    step_id: str
    status: Literal["success", "skipped", "failed"]
    error: str | None = None


class RunAnswer(Model):
    """How far a run is, or how it came out."""

    run_id: str
    website_id: str
    subject: str
    """The task, or the screen to get to."""
    state: State
    doing: str | None = None
    """The step it is at."""
    steps_done: int = 0
    steps: tuple[StepLine, ...] = ()
    """The last ones."""
    evidence: EvidenceLevel | None = None
    """What the outcome rests on."""
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    error: str | None = None
    hint: str | None = None
    needs: tuple[Need, ...] = ()
    by: str | None = None
    """The process that carries it out, where that is another one."""
    duration_ms: float | None = None
    next: str | None = None
    """What to call."""

    @property
    def text(self) -> str:
        """In a few lines."""
        over = self.state not in ("running", "input_required")
        evidence = f", {self.evidence}" if over and self.evidence is not None else ""
        lines = [
            f"{self.subject}: {self.state}{evidence} ({self.steps_done} steps done), run_id {self.run_id}"
        ]
        if self.doing:
            lines.append(f"at {self.doing}")
        if self.by:
            lines.append(f"carried out by {self.by}")
        lines += [f"needs {need.name}: {need.question or need.name}" for need in self.needs]
        lines += [f"{name} = {value}" for name, value in self.outputs.items()]
        lines += [each for each in (self.error, self.hint) if each]
        if self.next:
            lines.append(f"next: {self.next}")
        return "\n".join(lines)
