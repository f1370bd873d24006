"""OL's mode `pipeline`: verifies requirements and regenerates the tests of those that drifted.

There are no sources to patch in this mode.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from agent.events import EventBus
from agent.optimization.message_roles import HEALABLE, ExecutionCompleted, RoleMessenger
from agent.optimization.optimization_loop import OptimizationOrder, RoundBegan
from kb_schema.suite_optimization import (
    ExecutionRequest,
    ExecutionResult,
    ExecutionSummary,
    FailedTest,
    OptimizationReport,
    RegenerateTest,
    TestOutcome,
)
from kb_schema.verification import VerdictReport
from periplus.foreign_input import ImportBudget
from periplus.optimization.requirement_verification import read_requirement_files, verify_in_turn
from periplus.verification.verifier_settings import VerifierSettings


async def run_pipeline(
    order: OptimizationOrder, base_url: str | None, budget: ImportBudget, *, bus: EventBus
) -> OptimizationReport:
    """Verify requirements, and those that drifted again with every element found anew, up to `max_attempts`
    times.

    Raises as `read_requirement_files` and `verify_in_turn` do.
    """
    began, moment = time.monotonic(), datetime.now(UTC)
    wanted = await read_requirement_files([Path(each) for each in order.tests], base_url, budget)
    post, first, last = RoleMessenger(bus), dict[str, VerdictReport](), dict[str, VerdictReport]()
    attempts: dict[str, int] = {}
    red = wanted
    result: ExecutionResult | None = None
    for attempt in range(1, order.max_attempts + 1):
        bus.tell(RoundBegan(attempt, healing=True, tests=0 if attempt == 1 else len(red)))
        ids = tuple(each.req_id for each in red)
        await post.send(
            ExecutionRequest(execution_id=order.execution_id, mode="pipeline", test_ids=ids, attempt=attempt)
        )
        settings = VerifierSettings(
            out=order.out,
            base_url=base_url,
            requirements=tuple(wanted),
            rediscover=attempt > 1,
            tests=not order.dry_run,
        )
        reports = await verify_in_turn(settings, red, bus.tell)
        for report in reports:
            attempts[report.req_id] = attempt
            first.setdefault(report.req_id, report)
            last[report.req_id] = report
        result = _result(order, attempt, reports)
        bus.tell(ExecutionCompleted(result))
        await post.send(result)
        red = [
            each
            for each in red
            if last[each.req_id].verdict != "pass" and last[each.req_id].rca.class_ in HEALABLE
        ]
        if not red or attempt == order.max_attempts:
            break
        for each in red:
            await post.send(
                RegenerateTest(
                    execution_id=order.execution_id,
                    test_id=each.req_id,
                    req_id=each.req_id,
                    reason=last[each.req_id].rca.message,
                )
            )
    return OptimizationReport(
        execution_id=order.execution_id,
        mode="pipeline",
        started_at=moment,
        duration_ms=(time.monotonic() - began) * 1000,
        tests=tuple(
            _outcome(first[each], last[each], attempts[each]) for each in first if _worth(first[each])
        ),
        summary=result.summary if result else ExecutionSummary(),
        dry_run=order.dry_run,
    )


def _worth(report: VerdictReport) -> bool:
    """Return whether the requirement failed or its elements drifted."""
    return report.verdict != "pass" or bool(report.heal_events)


def _result(order: OptimizationOrder, attempt: int, reports: list[VerdictReport]) -> ExecutionResult:
    failed = [each for each in reports if each.verdict != "pass"]
    return ExecutionResult(
        execution_id=order.execution_id,
        status="failed" if failed else "passed",
        attempt=attempt,
        summary=ExecutionSummary(
            passed=len(reports) - len(failed),
            failed=len(failed),
            duration_ms=sum(each.duration_ms for each in reports),
        ),
        failed_tests=tuple(
            FailedTest(
                test_id=each.req_id, file=each.artifacts.get("test_file", ""), message=each.rca.message
            )
            for each in failed
        ),
    )


def _outcome(first: VerdictReport, last: VerdictReport, attempts: int) -> TestOutcome:
    passed = last.verdict == "pass"
    return TestOutcome(
        test_id=last.req_id,
        before="passed" if first.verdict == "pass" else "failed",
        after="passed" if passed else "failed",
        attempts=attempts,
        rca=last.rca,
        next="nothing" if passed else "person",
    )
