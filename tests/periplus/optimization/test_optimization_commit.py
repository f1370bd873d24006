"""`periplus optimize --commit`: the patched files, and never anything of a person's."""

from __future__ import annotations

import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.optimization.optimization_loop import OptimizationPorts
from agent.optimization.sources import SuiteSources
from agent.optimization.suite_runner import RaiseFailure, SubstituteLocator
from kb_schema.suite_optimization import ExecutionResult, ExecutionSummary
from kb_schema.verification import FailureEvidence, FailureKind
from periplus.errors import UserError
from periplus.optimization import optimization_run
from periplus.optimization.optimization_run import OptimizeSettings, run_optimization
from tests.agent.optimization.failing_calls import candidate, failing
from tests.support import warm

OLD, NEW = 'page.get_by_role("button", name="Save")', 'get_by_role("button", name="Save agent")'
DRIFT = FailureEvidence(
    failure=FailureKind.TIMEOUT, element="Save", matched=0, nearest="button 'Save agent'", nearest_score=0.93,
    nearest_verdict="same", held_before=True, drifted=1, compared=4,
)  # fmt: skip


def source(name: str) -> str:
    return f"def {name}(page):\n    {OLD}.click()\n"


class Site:
    """Runs `test_a` and `test_b`, both of which press a button that is called otherwise by now."""

    def __init__(self, folder: Path):
        self.folder, self.runs = folder, 0

    async def run(self, request, ask, told) -> ExecutionResult:
        self.runs += 1
        files, failed = SuiteSources(self.folder), []
        for name in ("test_a", "test_b"):
            path = self.folder / f"{name}.py"
            if f"    {OLD}" not in path.read_text() or (
                request.test_ids and f"{name}.py::{name}" not in request.test_ids
            ):
                continue
            each = failing(files, name, OLD, test_id=f"{name}.py::{name}")
            if ask is not None:
                failure = optimization_run.LiveFailure(f"{request.attempt}-{name}", each, None, None, 1.0)
                verdict = await ask(failure)
                if not isinstance(verdict, RaiseFailure):
                    told(failure, verdict, True)
                    continue
            failed.append(each.model_copy(update={"evidence": DRIFT}))
        return ExecutionResult(
            execution_id=request.execution_id, status="failed" if failed else "passed", attempt=request.attempt,
            summary=ExecutionSummary(passed=2 - len(failed), failed=len(failed)), failed_tests=tuple(failed),
        )  # fmt: skip

    async def look(self, _failure):
        return SubstituteLocator(candidate(NEW), DRIFT)


def git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path) -> Path:
    """A clean one, with a suite in a folder of it."""
    folder = tmp_path / "work"
    suite = folder / "tests"
    suite.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "config", "commit.gpgsign", "false")
    (folder / "notes.txt").write_text("mine\n")
    for name in ("test_a", "test_b"):
        (suite / f"{name}.py").write_text(source(name))
    (suite / "pytest.ini").write_text("[pytest]\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "begun")
    return folder


@pytest.fixture
def site(repository, monkeypatch) -> Site:
    found = Site(repository / "tests")

    @asynccontextmanager
    async def ports(*_args):
        yield OptimizationPorts(run=found.run, look=found.look)

    monkeypatch.setattr(optimization_run, "_ports", ports)
    return found


async def optimized(repository: Path, **options):
    out = repository.parent / "out"
    out.mkdir(exist_ok=True)
    suite = repository / "tests"
    return await run_optimization(OptimizeSettings(tests=(str(suite),), out=out, commit=True, **options))


def changed(repository: Path) -> list[str]:
    """What is not committed, as `git status` says it."""
    said = subprocess.run(
        ["git", "-C", str(repository), "status", "--porcelain"], capture_output=True, text=True, check=True
    )
    return said.stdout.splitlines()


async def test_the_patched_files_are_committed_and_nothing_else(repository, site):
    (repository / "notes.txt").write_text("mine, changed\n")
    (repository / "tests" / "new.txt").write_text("mine, too\n")
    report = await optimized(repository)
    assert report.committed == git(repository, "rev-parse", "HEAD")
    assert git(repository, "rev-list", "--count", "HEAD") == "2"
    shown = git(repository, "show", "--name-only", "--format=%s", "HEAD").split()
    assert shown[-2:] == ["tests/test_a.py", "tests/test_b.py"]
    assert len([each for each in shown if "/" in each]) == 2
    assert NEW in git(repository, "show", "HEAD:tests/test_a.py")
    said = git(repository, "log", "-1", "--format=%B")
    assert f"{OLD} -> page.{NEW}" in said
    assert changed(repository) == [" M notes.txt", "?? tests/new.txt"]
    assert report.notes == ()


@pytest.mark.parametrize("tracked", [True, False])
async def test_a_file_with_changes_of_a_persons_is_patched_and_not_committed(repository, site, tracked):
    mine = repository / "tests" / "test_b.py"
    if not tracked:
        git(repository, "rm", "-q", "--cached", "tests/test_b.py")
        git(repository, "commit", "-q", "-m", "not that one")
    mine.write_text(mine.read_text() + "\n\n# I was at this\n")
    report = await optimized(repository)
    assert git(repository, "show", "--name-only", "--format=", "HEAD") == "tests/test_a.py"
    assert NEW in mine.read_text()
    assert "# I was at this" in mine.read_text()
    assert changed(repository) == [" M tests/test_b.py" if tracked else "?? tests/test_b.py"]
    assert report.notes == (f"{mine} had uncommitted changes of yours: it is patched but not committed",)


async def test_where_all_patched_files_had_changes_nothing_is_committed(repository, site):
    before = git(repository, "rev-parse", "HEAD")
    for name in ("test_a", "test_b"):
        path = repository / "tests" / f"{name}.py"
        path.write_text(path.read_text() + "# mine\n")
    report = await optimized(repository)
    assert (report.committed, git(repository, "rev-parse", "HEAD")) == (None, before)
    assert len(report.patches) == len(report.notes) == 2


async def test_a_dry_run_commits_nothing(repository, site):
    report = await optimized(repository, dry_run=True)
    assert len(report.patches) == 2
    assert (report.committed, report.notes) == (None, ())
    assert git(repository, "rev-list", "--count", "HEAD") == "1"
    assert changed(repository) == []


async def test_a_hook_that_refuses_is_told_and_the_patches_stay(repository, site):
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not on a Sunday' >&2\nexit 1\n")
    hook.chmod(0o755)
    report = await optimized(repository)
    assert report.committed is None
    assert report.notes == ("git did not commit: not on a Sunday",)
    assert changed(repository) == [" M tests/test_a.py", " M tests/test_b.py"]


async def test_something_staged_is_refused_before_anything_is_run(repository, site):
    (repository / "notes.txt").write_text("staged\n")
    git(repository, "add", "notes.txt")
    with pytest.raises(UserError, match="staged"):
        await optimized(repository)
    assert site.runs == 0
    assert changed(repository) == ["M  notes.txt"]
    assert (repository / "tests" / "test_a.py").read_text() == source("test_a")


def command(folder: Path, *args: str):
    env = {"PERIPLUS_DATA_DIR": str(folder / "data"), "COLUMNS": "200"}
    return warm.run("periplus", "optimize", *args, "--out", str(folder / "out"), cwd=folder, env=env)


def test_something_staged_is_one_error_of_the_command(repository):
    (repository / "notes.txt").write_text("staged\n")
    git(repository, "add", "notes.txt")
    done = command(repository.parent, str(repository / "tests"), "--commit")
    assert done.returncode == 2, done.stderr
    said = done.stdout + done.stderr
    assert said.count("Error") == 1
    assert "changes are staged already" in said
    assert "commit or unstage it, or remove --commit" in said
    assert "Traceback" not in said


def test_without_a_repository_it_is_one_error_of_the_command(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_a.py").write_text(source("test_a"))
    done = command(tmp_path, str(tmp_path / "test_a.py"), "--commit")
    assert done.returncode == 2, done.stderr
    said = done.stdout + done.stderr
    assert said.count("Error") == 1
    assert "is not in a git repository" in said
    assert "remove --commit" in said
    assert (tmp_path / "test_a.py").read_text() == source("test_a")
