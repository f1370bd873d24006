"""`periplus optimize --mode simulate`: what an earlier execution said is read, and nothing is run or written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.events import EventBus
from agent.optimization.optimization_loop import OptimizationOrder, OptimizationPorts, optimize
from agent.optimization.sources import SuiteSources
from agent.optimization.suite_runner import LiveFailure, RaiseFailure, SubstituteLocator
from kb_schema.suite_optimization import ExecutionResult, ExecutionSummary
from kb_schema.verification import FailureEvidence, FailureKind
from periplus.optimization.optimization_history import MESSAGES, OptimizationHistory
from tests.agent.optimization.failing_calls import candidate, failing
from tests.support import warm

OLD, NEW = 'page.get_by_role("button", name="Save")', 'get_by_role("button", name="Save agent")'
SOURCE = f"def test_a(page):\n    {OLD}.click()\n"
DRIFT = FailureEvidence(
    failure=FailureKind.TIMEOUT, element="Save", matched=0, nearest="button 'Save agent'", nearest_score=0.93,
    nearest_verdict="same", held_before=True, drifted=1, compared=4,
)  # fmt: skip
NEVER_IMPORTED = "from pathlib import Path\n\nPath(__file__).with_name('was_run').touch()\n"


@pytest.fixture
async def recorded(tmp_path) -> Path:
    """A suite, and beside it in `out` what an execution said of it; the suite is as it was before that."""
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "pytest.ini").write_text("[pytest]\n")
    (suite / "test_a.py").write_text(SOURCE)

    async def run(request, ask, told) -> ExecutionResult:
        red = f"    {OLD}" in (suite / "test_a.py").read_text()
        if red and ask is not None:
            failed = failing(SuiteSources(suite), "test_a", OLD, test_id="test_a.py::test_a")
            verdict = await ask(failure := LiveFailure("f1", failed, None, None, 1.0))
            assert not isinstance(verdict, RaiseFailure)
            told(failure, verdict, True)
        return ExecutionResult(
            execution_id=request.execution_id, status="passed", attempt=request.attempt,
            summary=ExecutionSummary(passed=1),
        )  # fmt: skip

    async def look(_failure):
        return SubstituteLocator(candidate(NEW), DRIFT)

    (tmp_path / "out").mkdir()
    bus = EventBus()
    bus.listen(OptimizationHistory(tmp_path / "out"))
    report = await optimize(
        OptimizationOrder(root=suite, out=tmp_path / "out", execution_id="e1", tests=(str(suite),)), OptimizationPorts(run, look), bus=bus
    )  # fmt: skip
    assert len(report.patches) == 1
    assert NEW in (suite / "test_a.py").read_text()
    (suite / "test_a.py").write_text(SOURCE)
    (suite / "conftest.py").write_text(NEVER_IMPORTED)
    return suite


def simulate(suite: Path, *args: str, out: str | None = "out"):
    folder = suite.parent
    given = ("--out", str(folder / out)) if out else ()
    env = {
        "PERIPLUS_DATA_DIR": str(folder / "data"), "COLUMNS": "200", "PERIPLUS_CHROMIUM": str(folder / "no-browser"),
    }  # fmt: skip
    return warm.run(
        "periplus", "optimize", str(suite), "--mode", "simulate", *given, *args, cwd=folder, env=env
    )


def files(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}  # fmt: skip


def test_an_earlier_execution_is_replayed_and_its_patch_proposed(recorded):
    before, said = files(recorded), (recorded.parent / "out" / MESSAGES).read_bytes()
    done = simulate(recorded, "--json")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["mode"] == "simulate"
    assert [(each["test_id"], each["after"], each["rca"]["class"]) for each in report["tests"]] == [
        ("test_a.py::test_a", "failed", "selector_drift")
    ]
    (patch,) = report["patches"]
    assert (patch["before"], patch["after"]) == (OLD, f"page.{NEW}")
    assert f"+    page.{NEW}.click()" in report["diff"]
    assert files(recorded) == before, "nothing is run, and nothing written in the suite"
    assert (recorded.parent / "out" / MESSAGES).read_bytes() == said
    kept = json.loads((recorded.parent / "out" / "simulation.json").read_text())
    assert kept["diff"] == report["diff"]
    assert not (recorded.parent / "out" / "optimization.json").exists(), "it is the earlier execution's"


def test_the_diff_is_shown_to_a_person(recorded):
    done = simulate(recorded)
    assert f"-    {OLD}.click()" in done.stdout
    assert "1 patches would be made" in done.stdout


def test_a_record_that_was_cut_off_is_read_as_far_as_it_goes(recorded):
    record = recorded.parent / "out" / MESSAGES
    record.write_text(record.read_text() + '{"type": "EXECUTION_RES')
    done = simulate(recorded, "--json")
    assert len(json.loads(done.stdout)["patches"]) == 1


def test_what_was_mended_meanwhile_is_not_proposed_again(recorded):
    (recorded / "test_a.py").write_text(SOURCE.replace(OLD, f"page.{NEW}"))
    done = simulate(recorded, "--json")
    report = json.loads(done.stdout)
    assert (report["patches"], report["diff"]) == ([], "")


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "messages without a result"])
def test_a_folder_without_an_execution_is_one_error_that_says_what_to_give(recorded, left):
    folder = recorded.parent / "elsewhere"
    if left != "nothing":
        folder.mkdir()
    if left == "messages without a result":
        first = (recorded.parent / "out" / MESSAGES).read_text().splitlines()[0]
        (folder / MESSAGES).write_text(first + "\n")
    before = files(recorded)
    done = simulate(recorded, out="elsewhere")
    assert done.returncode == 2, done.stderr
    said = done.stdout + done.stderr
    assert said.count("Error") == 1
    assert "no execution was recorded in" in said
    assert "name the --out folder of an earlier" in said
    assert files(recorded) == before
    assert files(folder) == (
        {MESSAGES: (folder / MESSAGES).read_bytes()} if (folder / MESSAGES).exists() else {}
    )


@pytest.mark.parametrize(
    ("arguments", "out", "told"),
    [
        ((), None, "name its folder with --out"),
        (("--requirements", "shop.csv"), "out", "--requirements cannot be used with --mode simulate"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_error(recorded, arguments, out, told):
    done = simulate(recorded, *arguments, out=out)
    assert done.returncode == 2, done.stderr
    said = done.stdout + done.stderr
    assert said.count("Error") == 1
    assert told in said
