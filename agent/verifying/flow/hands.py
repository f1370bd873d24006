"""What the nodes of the graph have others do: the page, the generator, the table of root causes, memory.

Protocols, so that the graph knows neither browser nor files nor stores; `working.py` has the real ones.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from kb_schema.verification import (
    Evidence,
    ExecutedStep,
    Failure,
    HealEvent,
    Plan,
    PlanStep,
    Requirement,
    RootCause,
)

Phase = Literal["build", "execute"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """A step, or the way to the first page, did not come off."""

    failure: Failure
    evidence: Evidence
    executed: ExecutedStep | None = None
    """None: it was not the turn of a step yet."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A round of healing: what was tried, and the step as it is to be done now."""

    event: HealEvent
    step: PlanStep


@dataclass(frozen=True, slots=True)
class Built:
    """A plan, and what is known of the page where something is missing in it."""

    plan: Plan
    evidence: Evidence | None = None
    executed: tuple[ExecutedStep, ...] = ()
    """What was done to see the next page; told where no test comes of it."""


@dataclass(frozen=True, slots=True)
class Written:
    """The generated test of one requirement."""

    path: str
    """Relative to the folder of the run."""
    sha256: str


class NotWritten(Exception):
    """No test can be written of a plan; the message says why, and what to do."""


class Walk(Protocol):
    """One phase on the site: a context and a page of its own, gone with the process."""

    async def build(self, requirement: Requirement) -> Built:
        """Find every element on the live page and do the steps to see the next (PACTS 4.2)."""

    async def start(self, url: str) -> Trouble | None:
        """Open the first page."""

    async def execute(self, step: PlanStep, *, heal_round: int) -> ExecutedStep | Trouble:
        """Do one step through the gate and look for its outcomes. Raises nothing for the page's troubles."""

    async def heal(self, step: PlanStep, trouble: Trouble, round_: int) -> Mended:
        """One round for the step that was in trouble last."""


class Hands(Protocol):
    """All of it, for one requirement."""

    def walk(self, phase: Phase) -> AbstractAsyncContextManager[Walk]:
        """A fresh context on the site: nothing of an earlier phase is in it, but who is signed in."""

    async def known(self, requirement: Requirement) -> Plan | None:
        """The plan with which this very requirement passed last; None: it did not yet."""

    async def remember(self, plan: Plan) -> None:
        """It passed with this plan."""

    async def generate(self, plan: Plan) -> Written | None:
        """Write the requirement's test; None where no tests are wanted. Raises `NotWritten`."""

    async def classify(self, evidence: Evidence) -> RootCause:
        """Why it failed: the class is the rules' own; whoever is asked besides may explain it."""

    def succeeded(self, **metrics: float) -> RootCause:
        """The root cause of a pass: none."""
