"""A scripted page for the graph of a verification: what the page would do is data, what was done is a list.

Run as a program it is a verification that a `kill -9` ends after a node:
`python -m tests.support.scripted_verification DB RUN_ID DONE_FILE [NODE:COUNT]`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent.execution.stop_request import StopRequest
from agent.inferencer import Inferencer
from agent.verification.graph import (
    BuiltPlan,
    PassedPlans,
    Phase,
    VerificationNodes,
    VerificationTarget,
    build_report,
    run_graph,
)
from agent.verification.graph.suite_folder import GeneratedTest
from agent.verification.page_checks import FailedStep, StepHealing
from kb_schema.fingerprints import Fingerprint
from kb_schema.verification import (
    ExecutedStep,
    ExpectedOutcome,
    FailureEvidence,
    FailureKind,
    HealEvent,
    MissingItem,
    PlanStep,
    Requirement,
    RequirementStep,
    VerdictReport,
    VerificationPlan,
)

BASE = "http://127.0.0.1:9"
PASSWORD = "hunter-two"


def requirement(steps: int = 3, req_id: str = "REQ-1") -> Requirement:
    """Fields to fill, the second of which hides what is typed."""
    return Requirement(
        req_id=req_id,
        url="/login",
        steps=tuple(
            RequirementStep(
                intent=f"Field {index}@Form", element=f"Field {index}", region="Form", action="fill",
                value=PASSWORD if index == 1 else f"value {index}",
                expected=(ExpectedOutcome(kind="field_populated", said="field_populated"),),
            )
            for index in range(steps)
        ),
    )  # fmt: skip


@dataclass
class Script:
    """What goes wrong, and what was done."""

    missing: int | None = None
    """The step whose element is not found."""
    fails: dict[int, int] = field(default_factory=dict)
    """Step -> rounds of healing after which it comes off; more than there are: never."""
    opens: bool = True
    evidence: FailureEvidence = field(default_factory=lambda: FailureEvidence(message="not there"))
    """What is known of a step that fails."""
    errors: frozenset[str] = frozenset()
    """What scripts throw."""
    done: list[str] = field(default_factory=list)
    note: Callable[[str], None] = lambda _: None
    plans: dict[str, VerificationPlan] = field(default_factory=dict)

    def did(self, what: str) -> None:
        self.done.append(what)
        self.note(what)


class ScriptedPage:
    """The page of one phase (`agent.verification.graph.PhasePage`)."""

    def __init__(self, script: Script) -> None:
        self._script, self._healed = script, dict[int, int]()

    async def build(self, wanted: Requirement) -> BuiltPlan:
        self._script.did("build")
        steps = tuple(
            PlanStep(
                step_idx=index, intent=intent, confidence=0.9, strategy="label", password=index == 1,
                fingerprint=Fingerprint(),
            )
            for index, intent in enumerate(wanted.steps)
        )  # fmt: skip
        if self._script.missing is not None:
            lost = wanted.steps[self._script.missing]
            gone = MissingItem(
                step_idx=self._script.missing, intent=lost.intent, what="element", reason="not on the page",
                nearest=("Fielt",),
            )  # fmt: skip
            return BuiltPlan(
                VerificationPlan(
                    requirement=wanted, base_url=BASE, steps=steps[: gone.step_idx], missing=(gone,)
                )
            )
        return BuiltPlan(VerificationPlan(requirement=wanted, base_url=BASE, steps=steps))

    async def start(self, url: str, steps: tuple[PlanStep, ...]) -> FailedStep | None:
        self._script.did(f"start {url}")
        if self._script.opens:
            return None
        return FailedStep(
            FailureKind.TIMEOUT,
            FailureEvidence(what="page", message="net::ERR_CONNECTION_REFUSED", reachable=False),
            ExecutedStep(
                step_idx=0, element="", action="navigate", status="failed", timestamp=datetime.now(UTC)
            ),
        )

    async def execute(self, step: PlanStep, *, heal_round: int) -> ExecutedStep | FailedStep:
        self._script.did(f"execute {step.step_idx}: {step.intent.value}")
        wrong = self._script.fails.get(step.step_idx, 0) > self._healed.get(step.step_idx, 0)
        executed = ExecutedStep(
            step_idx=step.step_idx, element=step.intent.element, action=step.intent.action,
            status="failed" if wrong else "success", heal_round=heal_round, timestamp=datetime.now(UTC),
            duration_ms=5.0, error="not there" if wrong else None,
        )  # fmt: skip
        return FailedStep(FailureKind.TIMEOUT, self._script.evidence, executed) if wrong else executed

    def list_errors(self) -> frozenset[str]:
        return self._script.errors

    async def heal(self, step: PlanStep, failed: FailedStep, round_: int) -> StepHealing:
        self._script.did(f"heal {step.step_idx}, round {round_}")
        self._healed[step.step_idx] = round_
        success = round_ >= self._script.fails[step.step_idx]
        event = HealEvent(
            step_idx=step.step_idx, round=round_, actions=("reveal", "reprobe", "stability"), success=success,
            duration_ms=1.0,
        )  # fmt: skip
        return StepHealing(event, step.model_copy(update={"strategy": "healed"}) if success else step)


class ScriptedPlans(PassedPlans):
    """Plans in the script instead of in a folder."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def find(self, website_id: str, requirement: Requirement) -> VerificationPlan | None:
        return self._script.plans.get(requirement.req_id)

    async def keep(self, website_id: str, plan: VerificationPlan) -> None:
        self._script.plans[plan.requirement.req_id] = plan

    async def list_usual_errors(self, website_id: str) -> frozenset[str]:
        return frozenset(each for plan in self._script.plans.values() for each in plan.usual_errors)


def scripted_nodes(
    script: Script,
    wanted: Requirement,
    *,
    rounds: int = 3,
    inferencer: Inferencer | None = None,
    redact: Callable[[Any], Any] = lambda data: data,
) -> VerificationNodes:
    """The nodes of a requirement, with a page and a generator that do what the script says."""

    @asynccontextmanager
    async def open_page(phase: Phase) -> AsyncIterator[ScriptedPage]:
        script.did(f"open {phase}")
        yield ScriptedPage(script)

    async def write_test(plan: VerificationPlan) -> GeneratedTest:
        script.did(f"generate {','.join(step.strategy for step in plan.steps)}")
        return GeneratedTest("generated_tests/test_x.py", "0" * 64)

    return VerificationNodes(
        wanted, VerificationTarget(BASE, "site"), open_page, plans=ScriptedPlans(script), write_test=write_test,
        max_heal_rounds=rounds, inferencer=inferencer, redact=redact,
    )  # fmt: skip


async def verified(
    script: Script,
    database: Path,
    *,
    wanted: Requirement | None = None,
    run_id: str = "r1",
    rounds: int = 3,
    reached: Callable[[str], None] = lambda _: None,
    stop: StopRequest | None = None,
    inferencer: Inferencer | None = None,
    redact: Callable[[Any], Any] = lambda data: data,
) -> VerdictReport:
    """Run the graph on that script."""
    wanted = wanted or requirement()
    nodes = scripted_nodes(script, wanted, rounds=rounds, inferencer=inferencer, redact=redact)
    async with AsyncSqliteSaver.from_conn_string(str(database)) as saver:
        state = await run_graph(
            nodes, run_id=run_id, checkpointer=saver, stop=stop or StopRequest(), reached=reached
        )
        return build_report(state, wanted, run_id=run_id, base_url=BASE)


def main() -> None:
    """A process that ends itself as `kill -9` would, once a node was reached so often."""
    database, run_id, done, *where = sys.argv[1:]
    node, _, count = (where[0] if where else "").partition(":")
    seen: list[str] = []

    def reached(name: str) -> None:
        seen.append(name)
        if name == node and seen.count(name) == int(count or 1):
            os.kill(os.getpid(), signal.SIGKILL)

    with Path(done).open("a", encoding="utf-8") as file:

        def note(what: str) -> None:
            file.write(what + "\n")
            file.flush()

        script = Script(fails={2: 2}, note=note)
        report = asyncio.run(verified(script, Path(database), run_id=run_id, reached=reached))
    sys.stdout.write(json.dumps(report.model_dump(mode="json", by_alias=True)))


if __name__ == "__main__":
    main()
