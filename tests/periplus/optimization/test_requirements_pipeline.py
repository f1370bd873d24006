"""OL's mode `pipeline`: requirements are verified, and those that drifted again with every element found anew."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from agent.events import EventBus
from agent.optimization.message_roles import ExecutionCompleted, MessageSent
from agent.optimization.optimization_loop import OptimizationOrder
from agent.optimization.shared_memory import ATTEMPTS, StoredSharedMemory
from kb_schema.suite_optimization import ExecAttempts, ExecutionRequest, ExecutionResult, RegenerateTest
from kb_schema.verification import RootCause, VerdictReport, VerificationSummary
from kb_store.store_factory import open_runs
from periplus.foreign_input import DEFAULT_BUDGET
from periplus.optimization import requirements_pipeline

FILE = "requirements.json"


def report(req_id: str, verdict: str, cause: str) -> VerdictReport:
    return VerdictReport(
        req_id=req_id, run_id="r", url="http://shop.test/", verdict=verdict, timestamp=datetime.now(UTC), duration_ms=5,
        summary=VerificationSummary(total_steps=1), artifacts={"test_file": f"tests/test_{req_id}.py"},
        rca=RootCause(class_=cause, confidence=1.0, message=f"{req_id}: {cause}"),
    )  # fmt: skip


@pytest.fixture
def verified(monkeypatch):
    """What each verification was asked, and what it answers: A drifts once, B is broken, C is right."""
    asked = []

    async def verify(settings, requirements, tell):
        ids = [each.req_id for each in requirements]
        asked.append((ids, settings.rediscover, settings.tests))
        causes = {
            "A": ("pass", "success") if settings.rediscover else ("fail", "selector_drift"),
            "B": ("fail", "app_defect"),
            "C": ("pass", "success"),
        }
        return [report(each, *causes[each]) for each in ids]

    monkeypatch.setattr(requirements_pipeline, "verify_in_turn", verify)
    return asked


async def run(tmp_path, **more):
    told = [{"req_id": each, "url": "/", "steps": ["Save | click"]} for each in "ABC"]
    (tmp_path / FILE).write_text(json.dumps(told), encoding="utf-8")
    order = OptimizationOrder(
        root=tmp_path, out=tmp_path / "out", execution_id="e1", mode="pipeline", tests=(str(tmp_path / FILE),), **more
    )  # fmt: skip
    events, bus = [], EventBus()
    bus.listen(events.append)
    done = await requirements_pipeline.run_pipeline(order, "http://shop.test", DEFAULT_BUDGET, bus=bus)
    return done, events


async def test_a_requirement_that_drifted_gets_a_new_test_and_a_defect_stays_red(verified, tmp_path):
    done, events = await run(tmp_path)
    # The second round is about A alone, with every element found anew, and its test is written again.
    assert verified == [(["A", "B", "C"], False, True), (["A"], True, True)]
    tests = {each.test_id: (each.before, each.after, each.attempts, each.next) for each in done.tests}
    assert tests == {"A": ("failed", "passed", 2, "nothing"), "B": ("failed", "failed", 1, "person")}
    assert (done.mode, done.execution_id) == ("pipeline", "e1")
    messages = [each.message for each in events if isinstance(each, MessageSent)]
    assert [each.attempt for each in messages if isinstance(each, ExecutionRequest)] == [1, 2]
    (again,) = [each for each in messages if isinstance(each, RegenerateTest)]
    assert (again.req_id, again.reason) == ("A", "A: selector_drift")


async def test_failing_requirements_give_the_evidence_of_failing_tests_as_event_and_as_message(
    verified, tmp_path
):
    _, events = await run(tmp_path)
    heard = [each.result for each in events if isinstance(each, ExecutionCompleted)]
    sent = [each.message for each in events if isinstance(each, MessageSent) and isinstance(each.message, ExecutionResult)]  # fmt: skip
    assert heard == sent
    first, second = heard
    assert (first.execution_id, first.status, first.attempt) == ("e1", "failed", 1)
    assert (first.summary.passed, first.summary.failed) == (1, 2)
    assert [(each.test_id, each.file, each.message) for each in first.failed_tests] == [
        ("A", "tests/test_A.py", "A: selector_drift"),
        ("B", "tests/test_B.py", "B: app_defect"),
    ]
    assert (second.status, second.failed_tests) == ("passed", ())


async def test_attempts_are_bounded_and_a_dry_run_writes_no_test(verified, tmp_path):
    done, _ = await run(tmp_path, max_attempts=1, dry_run=True)
    assert verified == [(["A", "B", "C"], False, False)]
    assert done.dry_run
    assert {each.test_id: each.after for each in done.tests} == {"A": "failed", "B": "failed"}


READER = """
import asyncio, sys
from pathlib import Path
from agent.optimization.shared_memory import ATTEMPTS, StoredSharedMemory
from kb_schema.suite_optimization import ExecAttempts
from kb_store.store_factory import open_runs

async def main():
    async with open_runs(Path(sys.argv[1])) as runs:
        found = await StoredSharedMemory(runs).get(ATTEMPTS, "e1", ExecAttempts)
        print(found.model_dump_json() if found else "nothing")

asyncio.run(main())
"""


async def test_another_process_reads_the_shared_memory_while_the_loop_runs(tmp_path):
    async def read() -> str:
        reader = await asyncio.create_subprocess_exec(
            sys.executable, "-c", READER, str(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await reader.communicate()
        assert reader.returncode == 0, err.decode()
        return out.decode().strip()

    async with open_runs(tmp_path) as runs:
        memory = StoredSharedMemory(runs)
        assert await read() == "nothing"
        value = ExecAttempts(attempts=2)
        await memory.put(ATTEMPTS, "e1", value)
        assert ExecAttempts.model_validate_json(await read()) == value
