"""Scripted hands for the graph of a verification: what the page would do is data, what was done is a list.

Run as a program it is a verification that a `kill -9` ends after a node:
`python -m tests.support.verify_hands DB RUN_ID DONE_FILE [NODE:COUNT]`.
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

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent.engine.stopping import Stop
from agent.verifying.flow import Built, Mended, Nodes, Phase, Trouble, Written, report_of, run_graph
from kb_schema.fingerprints import Fingerprint
from kb_schema.verification import (
    Evidence,
    ExecutedStep,
    Failure,
    HealEvent,
    Intent,
    Missing,
    Outcome,
    Plan,
    PlanStep,
    Requirement,
    RootCause,
    RootCauseClass,
    VerdictReport,
)

BASE = "http://127.0.0.1:9"
PASSWORD = "hunter-two"


def requirement(steps: int = 3, req_id: str = "REQ-1") -> Requirement:
    """Fields to fill, the second of which hides what is typed."""
    return Requirement(
        req_id=req_id,
        url="/login",
        steps=tuple(
            Intent(
                intent=f"Field {index}@Form", element=f"Field {index}", region="Form", action="fill",
                value=PASSWORD if index == 1 else f"value {index}",
                expected=(Outcome(kind="field_populated", said="field_populated"),),
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
    evidence: Evidence = field(default_factory=lambda: Evidence(message="not there"))
    """What is known of a step that fails."""
    done: list[str] = field(default_factory=list)
    note: Callable[[str], None] = lambda _: None
    plans: dict[str, Plan] = field(default_factory=dict)

    def did(self, what: str) -> None:
        self.done.append(what)
        self.note(what)


class ScriptedWalk:
    """One phase."""

    def __init__(self, script: Script) -> None:
        self._script, self._healed = script, dict[int, int]()

    async def build(self, wanted: Requirement) -> Built:
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
            gone = Missing(
                step_idx=self._script.missing, intent=lost.intent, what="element", reason="not on the page",
                nearest=("Fielt",),
            )  # fmt: skip
            return Built(
                Plan(requirement=wanted, base_url=BASE, steps=steps[: gone.step_idx], missing=(gone,))
            )
        return Built(Plan(requirement=wanted, base_url=BASE, steps=steps))

    async def start(self, url: str) -> Trouble | None:
        self._script.did(f"start {url}")
        if self._script.opens:
            return None
        return Trouble(
            Failure.TIMEOUT, Evidence(what="page", message="net::ERR_CONNECTION_REFUSED", reachable=False)
        )

    async def execute(self, step: PlanStep, *, heal_round: int) -> ExecutedStep | Trouble:
        self._script.did(f"execute {step.step_idx}: {step.intent.value}")
        wrong = self._script.fails.get(step.step_idx, 0) > self._healed.get(step.step_idx, 0)
        executed = ExecutedStep(
            step_idx=step.step_idx, element=step.intent.element, action=step.intent.action,
            status="failed" if wrong else "success", heal_round=heal_round, timestamp=datetime.now(UTC),
            duration_ms=5.0, error="not there" if wrong else None,
        )  # fmt: skip
        return Trouble(Failure.TIMEOUT, self._script.evidence, executed) if wrong else executed

    async def heal(self, step: PlanStep, trouble: Trouble, round_: int) -> Mended:
        assert trouble.executed is not None
        self._script.did(f"heal {step.step_idx}, round {round_}")
        self._healed[step.step_idx] = round_
        success = round_ >= self._script.fails[step.step_idx]
        event = HealEvent(
            step_idx=step.step_idx, round=round_, actions=("reveal", "reprobe", "stability"), success=success,
            duration_ms=1.0,
        )  # fmt: skip
        return Mended(event, step.model_copy(update={"strategy": "healed"}) if success else step)


class ScriptedHands:
    """All of it."""

    def __init__(self, script: Script) -> None:
        self._script = script

    @asynccontextmanager
    async def walk(self, phase: Phase) -> AsyncIterator[ScriptedWalk]:
        self._script.did(f"open {phase}")
        yield ScriptedWalk(self._script)

    async def known(self, wanted: Requirement) -> Plan | None:
        return self._script.plans.get(wanted.req_id)

    async def remember(self, plan: Plan) -> None:
        self._script.plans[plan.requirement.req_id] = plan

    async def generate(self, plan: Plan) -> Written:
        self._script.did(f"generate {','.join(step.strategy for step in plan.steps)}")
        return Written("generated_tests/test_x.py", "0" * 64)

    async def classify(self, evidence: Evidence) -> RootCause:
        name: RootCauseClass = (
            "env_fault"
            if not evidence.reachable
            else "app_defect"
            if evidence.held_before
            else "selector_drift"
        )
        return RootCause(class_=name, confidence=0.8, message=evidence.message)

    def succeeded(self, **metrics: float) -> RootCause:
        return RootCause(
            class_="success", confidence=1.0, message="All steps executed successfully", metrics=metrics
        )


async def verified(
    script: Script,
    database: Path,
    *,
    wanted: Requirement | None = None,
    run_id: str = "r1",
    rounds: int = 3,
    reached: Callable[[str], None] = lambda _: None,
    stop: Stop | None = None,
    hands: ScriptedHands | None = None,
) -> VerdictReport:
    """Run the graph on that script."""
    wanted = wanted or requirement()
    async with AsyncSqliteSaver.from_conn_string(str(database)) as saver:
        hands = hands or ScriptedHands(script)
        async with Nodes(wanted, hands, base_url=BASE, max_heal_rounds=rounds) as nodes:
            state = await run_graph(
                nodes, wanted, run_id=run_id, checkpointer=saver, stop=stop or Stop(),
                max_heal_rounds=rounds, reached=reached,
            )  # fmt: skip
        return report_of(state, wanted, run_id=run_id, base_url=BASE)


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
