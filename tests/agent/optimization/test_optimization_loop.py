"""The loop with a runner and a look that are told what to say: rounds, proofs, what stays and what is taken back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agent.events import EventBus
from agent.optimization.message_roles import MessageSent, RoleMessenger, TestOptimizer
from agent.optimization.optimization_loop import (
    OptimizationOrder,
    OptimizationPorts,
    RoundBegan,
    SuiteUnrunnable,
    optimize,
)
from agent.optimization.shared_memory import (
    ATTEMPTS,
    LAST_FAILURE,
    InMemoryReplacementStatistics,
    InMemorySharedMemory,
    StoredReplacementStatistics,
    classify_replacement,
)
from agent.optimization.sources import SuiteSources
from agent.optimization.suite_runner import LiveFailure, RaiseFailure, SubstituteLocator, WaitLonger
from kb_schema.suite_optimization import (
    ExecAttempts,
    ExecutionResult,
    ExecutionSummary,
    FailedTest,
    LastFailure,
)
from kb_schema.verification import FailureEvidence, FailureKind
from kb_store.store_factory import open_runs
from tests.agent.optimization.failing_calls import candidate, failing

SAVE = 'page.get_by_role("button", name="Save")'
GO = 'page.get_by_role("button", name="Go")'
NEW = 'get_by_role("button", name="Save agent")'
NEW_GO = 'get_by_role("button", name="Start")'
SOURCE = f"def test_a(page):\n    {SAVE}.click()\n\n\ndef test_b(page):\n    {GO}.click()\n"
DRIFT = FailureEvidence(
    failure=FailureKind.TIMEOUT, element="Save", matched=0, nearest="button 'Save agent'", nearest_score=0.93,
    nearest_verdict="same", held_before=True, drifted=2, compared=4,
)  # fmt: skip
BUG = FailureEvidence(
    failure=FailureKind.TIMEOUT,
    what="outcome",
    expected="Total: 5",
    received="Total: 4",
    held_before=True,
    matched=1,
)


class Site:
    """Runs a suite of one file by looking which names are in it: `right` are those the page has."""

    def __init__(self, folder, *, right, look, source=SOURCE):
        self.folder, self.right, self.look_up = folder, right, look
        self.runs, self.settled = [], []
        (folder / "test_it.py").write_text(source)

    def failures(self) -> list[FailedTest]:
        text = (self.folder / "test_it.py").read_text()
        files = SuiteSources(self.folder)
        found = []
        for test, chain, right in (("test_a", SAVE, NEW), ("test_b", GO, NEW_GO)):
            if f"    {chain}" in text:
                found.append(failing(files, "test_it", chain, test_id=f"test_it.py::{test}"))
            elif f"    page.{right}" in text and right not in self.right:
                found.append(failing(files, "test_it", f"page.{right}", test_id=f"test_it.py::{test}"))
        return found

    async def run(self, request, ask, told) -> ExecutionResult:
        self.runs.append("healing" if ask else "proof")
        self.settled.append([each.test_id for each in request.settled_calls])
        failed = []
        for number, each in enumerate(self.failures()):
            if request.test_ids and each.test_id not in request.test_ids:
                continue
            verdict = RaiseFailure()
            if ask is not None:
                failure = LiveFailure(f"{request.attempt}-{number}", each, "http://x", "t", 10.0)
                verdict = await ask(failure)
                if not isinstance(verdict, RaiseFailure):
                    told(failure, verdict, True)
            if isinstance(verdict, RaiseFailure):
                failed.append(each.model_copy(update={"evidence": verdict.evidence or FailureEvidence()}))
        return ExecutionResult(
            execution_id=request.execution_id, status="failed" if failed else "passed", attempt=request.attempt,
            summary=ExecutionSummary(passed=2 - len(failed), failed=len(failed)), failed_tests=tuple(failed),
        )  # fmt: skip

    async def look(self, failure):
        return self.look_up(failure.failed)


def found(failed):
    """Both elements are found under their new names."""
    chain = failed.locator.links[-1].keywords["name"]
    return SubstituteLocator(candidate(NEW if chain in ("Save", "Save agent") else NEW_GO), DRIFT)


def order(folder, **options):
    return OptimizationOrder(root=folder, out=folder / "out", execution_id="e1", **options)


async def test_drift_is_patched_in_one_round_and_proved_by_a_clean_run(tmp_path):
    site, told, memory = Site(tmp_path, right={NEW, NEW_GO}, look=found), [], InMemorySharedMemory()
    began = datetime.now(UTC)
    bus = EventBus()
    bus.listen(told.append)
    report = await optimize(order(tmp_path), OptimizationPorts(site.run, site.look, memory=memory), bus=bus)
    assert site.runs == ["healing", "proof"]
    assert [(each.before, each.after, each.rca.class_) for each in report.tests] == [
        ("failed", "passed", "selector_drift")
    ] * 2
    assert f"page.{NEW}.click()" in (tmp_path / "test_it.py").read_text()
    assert "+++ b/test_it.py" in report.diff
    assert not list((tmp_path / "out/backups").rglob("*.py"))
    assert (await memory.get(ATTEMPTS, "e1", ExecAttempts)).attempts == 1
    kept = await memory.get(LAST_FAILURE, "e1", LastFailure)
    assert kept.file.endswith("test_it.py")
    assert (kept.execution_id, kept.selector_guess != "") == ("e1", True)
    assert kept.ts >= began
    said = [each.message.type for each in told if isinstance(each, MessageSent)]
    assert said[:4] == [
        "EXECUTION_REQUEST", "OPTIMIZE_TEST_FILE", "LOCATOR_SYNTHESIS_REQUEST", "LOCATOR_SYNTHESIS_RESPONSE",
    ]  # fmt: skip
    assert [each.healing for each in told if isinstance(each, RoundBegan)] == [True, False]


async def test_the_proof_gives_less_time_to_what_was_not_there_on_an_idle_page(tmp_path):
    def look(failed):
        if failed.test_id.endswith("test_a"):
            return found(failed)
        gone = {"nearest": None, "nearest_verdict": None, "page_idle": True}
        return RaiseFailure("it is not there", DRIFT.model_copy(update=gone))

    site = Site(tmp_path, right={NEW, NEW_GO}, look=look)
    report = await optimize(order(tmp_path), OptimizationPorts(site.run, site.look))
    assert site.runs[:2] == ["healing", "proof"]
    assert site.settled[:2] == [[], ["test_it.py::test_b"]]
    assert {each.test_id: each.after for each in report.tests} == {
        "test_it.py::test_a": "passed",
        "test_it.py::test_b": "failed",
    }


async def test_a_defect_of_the_application_is_never_patched(tmp_path):
    site = Site(tmp_path, right=set(), look=lambda _failed: SubstituteLocator(candidate(NEW), BUG))
    report = await optimize(order(tmp_path), OptimizationPorts(site.run, site.look))
    assert (tmp_path / "test_it.py").read_text() == SOURCE
    assert {each.rca.class_ for each in report.tests} == {"app_defect"}
    assert {each.next for each in report.tests} == {"person"}
    assert report.patches == ()
    assert site.runs == ["healing"]


async def test_a_patch_that_does_not_help_is_taken_back_and_not_made_again(tmp_path):
    learned = InMemoryReplacementStatistics()
    site = Site(tmp_path, right={NEW}, look=found)
    report = await optimize(order(tmp_path), OptimizationPorts(site.run, site.look, learned=learned))
    text = (tmp_path / "test_it.py").read_text()
    assert f"page.{NEW}.click()" in text
    assert f"    {GO}.click()" in text
    assert [each.after for each in report.tests] == ["passed", "failed"]
    assert [each.reason for each in report.withdrawn] == ["the test still failed at the same place"]
    assert len(report.patches) == 1
    (known,) = learned.known.values()
    assert (known.confirmed, known.refuted) == (1, 1)


async def test_a_dry_run_writes_nothing_and_shows_all(tmp_path):
    site = Site(tmp_path, right={NEW, NEW_GO}, look=found)
    report = await optimize(order(tmp_path, dry_run=True), OptimizationPorts(site.run, site.look))
    assert (tmp_path / "test_it.py").read_text() == SOURCE
    assert site.runs == ["healing"]
    assert report.diff.count("+    page.get_by_role") == 2
    assert {each.after for each in report.tests} == {"failed"}


async def test_no_more_patches_of_a_file_than_allowed(tmp_path):
    site = Site(tmp_path, right={NEW, NEW_GO}, look=found)
    report = await optimize(order(tmp_path, max_patches=1), OptimizationPorts(site.run, site.look))
    assert len(report.patches) == 1
    assert "--max-patches" in report.withdrawn[0].reason
    assert [each.after for each in report.tests] == ["passed", "failed"]


async def test_what_came_late_gets_more_time(tmp_path):
    late = FailureEvidence(failure=FailureKind.TIMEOUT, came_late_s=2.0, matched=1, held_before=True)
    site = Site(tmp_path, right=set(), look=lambda _failed: WaitLonger(12_000, 2.0, False, late))
    site.failures = lambda: [
        failing(SuiteSources(tmp_path), "test_it", SAVE, call=f"{SAVE}.click()", test_id="test_it.py::test_a")
    ] if "timeout=" not in (tmp_path / "test_it.py").read_text() else []  # fmt: skip
    report = await optimize(order(tmp_path), OptimizationPorts(site.run, site.look))
    assert f"{SAVE}.click(timeout=12_000)" in (tmp_path / "test_it.py").read_text()
    assert [(each.after, each.rca.class_) for each in report.tests] == [("passed", "timing_instability")]


async def test_a_suite_that_breaks_off_leaves_the_files_as_they_were(tmp_path):
    site = Site(tmp_path, right={NEW, NEW_GO}, look=found)
    healing = site.run

    async def run(request, ask, told):
        if ask is None:
            return ExecutionResult(
                execution_id="e1", status="error", summary=ExecutionSummary(errors=1),
                failed_tests=(FailedTest(test_id="", file="", message="pytest broke off"),),
            )  # fmt: skip
        return await healing(request, ask, told)

    with pytest.raises(SuiteUnrunnable, match="pytest broke off"):
        await optimize(order(tmp_path), OptimizationPorts(run, site.look))
    assert (tmp_path / "test_it.py").read_text() == SOURCE


async def test_an_unwritable_file_is_reported(tmp_path, monkeypatch):
    site = Site(tmp_path, right={NEW, NEW_GO}, look=found)
    monkeypatch.setattr("agent.optimization.sources.source_files.os.access", lambda *_: False)
    report = await optimize(order(tmp_path), OptimizationPorts(site.run, site.look))
    assert "read-only" in report.notes[0]
    assert (tmp_path / "test_it.py").read_text() == SOURCE


async def test_what_was_right_before_is_tried_first(tmp_path):
    learned = InMemoryReplacementStatistics()
    by_text, by_role = candidate('get_by_text("Save agent")'), candidate(NEW)
    ours = (
        failing(SuiteSources(tmp_path), "test_it", SAVE).locator.links
        if Site(tmp_path, right=set(), look=found)
        else ()
    )
    for _ in range(5):
        await learned.learn(classify_replacement(ours, by_text), confirmed=False)
        await learned.learn(classify_replacement(ours, by_role), confirmed=True)
    site = Site(tmp_path, right={NEW}, look=lambda _failed: SubstituteLocator(by_text, DRIFT, (by_role,)))
    report = await optimize(
        order(tmp_path, dry_run=True), OptimizationPorts(site.run, site.look, learned=learned)
    )
    assert report.patches[0].after == f"page.{NEW}"


@pytest.mark.parametrize("most", [1, 2])
async def test_there_are_no_more_rounds_than_allowed(tmp_path, most):
    class OneAfterTheOther(Site):
        """The second test fails only after the first one was mended."""

        def failures(self):
            return super().failures()[:1]

    site = OneAfterTheOther(tmp_path, right={NEW, NEW_GO}, look=found)
    await optimize(order(tmp_path, max_attempts=most), OptimizationPorts(site.run, site.look))
    assert site.runs == ["healing", "proof"] * most
    assert (f"page.{NEW_GO}.click()" in (tmp_path / "test_it.py").read_text()) is (most == 2)


async def test_what_was_right_is_known_to_the_next_execution(tmp_path):
    for confirmed in (True, True, False):
        async with open_runs(tmp_path) as runs:
            await StoredReplacementStatistics(runs.memory).learn(
                "locator(#) -> get_by_role", confirmed=confirmed
            )
    async with open_runs(tmp_path) as runs:
        known = await StoredReplacementStatistics(runs.memory).recommendation("locator(#) -> get_by_role")
        other = await StoredReplacementStatistics(runs.memory).recommendation("locator(#) -> get_by_text")
    assert (known.proposed, known.confirmed, known.refuted, known.confidence) == (3, 2, 1, 0.6)
    assert (other.proposed, other.confidence) == (0, 0.5)


async def test_a_mended_test_is_told_by_what_was_mended_not_by_what_followed_from_it(tmp_path):
    class OneAfterTheOther(Site):
        """Without the first button the second one says something else."""

        def failures(self):
            found = super().failures()
            first = found[0]
            if NEW in first.locator.selector or f"    page.{NEW}" in (self.folder / "test_it.py").read_text():
                return []
            return [first, found[1].model_copy(update={"test_id": first.test_id})]

    def look(failed):
        chain = failed.locator.links[-1].keywords["name"]
        return (
            SubstituteLocator(candidate(NEW), DRIFT)
            if chain == "Save"
            else RaiseFailure("it says something else", BUG)
        )

    site = OneAfterTheOther(tmp_path, right={NEW, NEW_GO}, look=look)
    report = await optimize(order(tmp_path), OptimizationPorts(site.run, site.look))
    assert [(each.after, each.rca.class_) for each in report.tests] == [("passed", "selector_drift")]


def test_what_was_known_to_hold_is_remembered_when_a_patch_has_changed_its_file():
    said = iter((None, True, None))
    optimizer = TestOptimizer(
        RoleMessenger(EventBus()),
        InMemoryReplacementStatistics(),
        InMemorySharedMemory(),
        fallback=False,
        held_before=lambda _: next(said),
    )
    known = [optimizer.known("test_it.py::test_a", FailureEvidence()).held_before for _ in range(4)]
    assert known == [None, True, True, True]
