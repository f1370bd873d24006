"""Events of a verification. The page's own events (dialogs, healing on the page) come from `page_checks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent.events import Event


@dataclass(frozen=True, slots=True)
class PhaseBegan(Event):
    """A node of the graph begins (PACTS 7.2). The executor sends it once, not before every step."""

    req_id: str
    phase: str
    """`planner`, `pom_builder`, `generator`, `executor`, `oracle_healer`, `verdict_rca`."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StepVerified(Event):
    """A step of the plan is over."""

    req_id: str
    step_idx: int
    total: int
    element: str
    action: str
    status: Literal["success", "failed", "skipped"]
    duration_ms: float
    heal_round: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Healed(Event):
    """A round of healing is over."""

    req_id: str
    step_idx: int
    round: int
    success: bool
    reason: str = ""
    found: str = ""
    """What was found again: `button 'Book now'`."""


@dataclass(frozen=True, slots=True)
class VerdictGiven(Event):
    """The verification of one requirement is over."""

    req_id: str
    verdict: str
    root_cause: str
    message: str
    duration_ms: float
