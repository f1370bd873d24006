"""Runs an optimization: finds the suite's folder, opens stores and the browser, calls the loop, commits.

The loop itself is `agent/optimization/optimization_loop.py`; the terminal view is `optimization_view.py`.
"""

from __future__ import annotations

import asyncio
import configparser
import hashlib
import json
import signal
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent.browser.launch import BrowserMissing, find_chromium
from agent.events import Event, EventBus
from agent.optimization.execution_records import read_remembered_elements
from agent.optimization.live_healing import open_healer
from agent.optimization.message_roles import Runner
from agent.optimization.optimization_loop import (
    OptimizationOrder,
    OptimizationPorts,
    SuiteUnrunnable,
    optimize,
)
from agent.optimization.shared_memory import (
    InMemoryReplacementStatistics,
    InMemorySharedMemory,
    StoredReplacementStatistics,
    StoredSharedMemory,
)
from agent.optimization.suite_runner import (
    FailureHandler,
    LiveFailure,
    PytestSuite,
    RepeatListener,
    records_folder,
    run_suite,
)
from agent.verification.generation.generated_files import is_as_generated
from agent.verification.generation.known_elements import known_element
from kb_schema.fingerprints import Fingerprint
from kb_schema.owner_folders import make_owner_folder
from kb_schema.suite_optimization import (
    MAX_PATCHES,
    ExecutionMode,
    ExecutionRequest,
    ExecutionResult,
    FailedTest,
    OptimizationReport,
)
from kb_schema.verification import Requirement
from kb_store.store_factory import open_runs
from periplus.audit_setup import start_audit_log
from periplus.errors import UserError
from periplus.foreign_input import DEFAULT_BUDGET, ImportBudget
from periplus.optimization.optimization_history import OptimizationHistory, replay_history
from periplus.optimization.regenerated_tests import (
    RequirementTestWriter,
    find_configured_base_url,
    read_requirement_id,
)
from periplus.optimization.requirement_verification import read_requirement_files
from periplus.optimization.requirements_pipeline import run_pipeline
from periplus.output_folder import prepare_output_folder
from periplus.settings import load_settings
from periplus.signals import on_signals

REPORT = "optimization.json"
"""File in the output folder."""
SIMULATED = "simulation.json"
"""The same for `simulate`, which leaves the report it reads unchanged."""
_CONFIGURED = (
    ("pytest.ini", ""),
    ("pyproject.toml", "tool.pytest"),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)


@dataclass(frozen=True, slots=True)
class OptimizeSettings:
    """Which tests to optimize, and how."""

    tests: tuple[str, ...]
    """Files, folders or node ids. With `mode` `simulate`, `replay` may name the folder of an earlier run
    instead.
    """
    out: Path
    mode: ExecutionMode = "cli"
    root: Path | None = None
    """The folder pytest is started in; None: found by its configuration."""
    python: Path = Path(sys.executable)
    base_url: str | None = None
    max_attempts: int = 3
    max_patches: int = MAX_PATCHES
    fallback: bool = False
    dry_run: bool = False
    commit: bool = False
    learn: bool = True
    pytest_args: tuple[str, ...] = ()
    requirements: tuple[Path, ...] = ()
    """Requirement files from which tests may be regenerated."""
    budget: ImportBudget = DEFAULT_BUDGET
    """What reading requirement files and the records of an earlier run may use."""
    replay: Path | None = None
    """The folder of an earlier run, for `simulate`."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 1800.0


def find_pytest_root(tests: Sequence[str]) -> Path:
    """Return pytest's root folder: the nearest with a pytest configuration, otherwise the repository,
    otherwise the folder of the tests. Raises `UserError` if the tests do not exist.
    """
    folders = []
    for each in tests:
        path = Path(each.partition("::")[0]).resolve()
        if not path.exists():
            raise UserError(
                f"{each.partition('::')[0]}: no such file or folder", fix="name files or folders with tests"
            )
        folders.append(path if path.is_dir() else path.parent)
    common = next(
        each for each in (folders[0], *folders[0].parents) if all(f.is_relative_to(each) for f in folders)
    )
    above = (common, *common.parents)
    configured = next((each for each in above if _has_pytest_configuration(each)), None)
    repository = next((each for each in above if (each / ".git").exists()), None)
    return configured or repository or common


def _has_pytest_configuration(folder: Path) -> bool:
    for name, section in _CONFIGURED:
        path = folder / name
        if not path.is_file():
            continue
        if name == "pytest.ini":
            return True
        try:
            if name == "pyproject.toml":
                if "pytest" in tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}):
                    return True
            else:
                parser = configparser.ConfigParser(strict=False, interpolation=None)
                parser.read(path, encoding="utf-8")
                if parser.has_section(section):
                    return True
        except (tomllib.TOMLDecodeError, configparser.Error, UnicodeDecodeError):
            continue
    return False


async def run_optimization(
    settings: OptimizeSettings, *, tell: Callable[[Event], None] = lambda _: None
) -> OptimizationReport:
    """Optimize a suite and return the report, also written to the output folder.

    Raises `UserError` for problems the caller can fix, `StoreError` if a store does not answer, `KeyboardInterrupt` on
    SIGTERM. On any error the suite's files are unchanged, and its tests have ended.
    """
    task, stopped = asyncio.current_task(), asyncio.Event()
    assert task is not None  # noqa: S101 - a coroutine runs in one

    def stop() -> None:
        stopped.set()
        task.cancel()

    with on_signals(stop, signal.SIGTERM):
        try:
            return await _optimize_suite(settings, tell)
        except asyncio.CancelledError:
            if stopped.is_set():
                raise KeyboardInterrupt from None
            raise


async def _optimize_suite(settings: OptimizeSettings, tell: Callable[[Event], None]) -> OptimizationReport:
    pipeline = settings.mode == "pipeline"
    root = (settings.root or (Path() if pipeline else find_pytest_root(settings.tests))).resolve()
    out = settings.out.resolve()
    execution_id = f"opt-{out.name}"
    dirty = await asyncio.to_thread(_checked_index, root) if settings.commit else frozenset()
    bus = EventBus()
    if settings.mode != "simulate":
        await asyncio.to_thread(prepare_output_folder, out)
        bus.listen(OptimizationHistory(out))
    bus.listen(tell)
    order = OptimizationOrder(
        root=root,
        out=out,
        execution_id=execution_id,
        mode=settings.mode,
        tests=tuple(_absolute(each) for each in settings.tests),
        max_attempts=settings.max_attempts,
        max_patches=settings.max_patches,
        fallback=settings.fallback,
        dry_run=settings.dry_run,
    )
    if pipeline:
        report = await run_pipeline(order, settings.base_url, settings.budget, bus=bus)
    else:
        report = await _patch_suite(settings, order, bus)
    if settings.commit and report.patches and not report.dry_run:
        report = await asyncio.to_thread(_commit_patched_files, root, report, dirty)
    if settings.commit:
        report = _add_notes(report, *_build_uncommitted_notes(report))
    name = REPORT if settings.mode != "simulate" else SIMULATED
    (out / name).write_text(report.model_dump_json(indent=2, by_alias=True) + "\n", encoding="utf-8")
    (out / name).with_suffix(".diff").write_text(report.diff, encoding="utf-8")
    return report


def _build_uncommitted_notes(report: OptimizationReport) -> list[str]:
    placed = [each.regenerated for each in report.tests if each.regenerated and each.after == "passed"]
    return [f"{each} was regenerated and is not committed" for each in placed]


def _add_notes(report: OptimizationReport, *notes: str) -> OptimizationReport:
    return report.model_copy(update={"notes": (*report.notes, *notes)})


async def _patch_suite(
    settings: OptimizeSettings, order: OptimizationOrder, bus: EventBus
) -> OptimizationReport:
    base_url = settings.base_url or find_configured_base_url(order.root)
    wanted: list[Requirement] = []
    if settings.requirements:
        wanted = await read_requirement_files(settings.requirements, base_url, settings.budget)
    anew = RequirementTestWriter(
        wanted, root=order.root, out=order.out, base_url=settings.base_url, tell=bus.tell
    )
    async with _ports(settings, order.root, order.out, anew) as ports:
        try:
            return await optimize(order, ports, bus=bus)
        except SuiteUnrunnable as exc:
            raise UserError(f"the suite cannot be run: {exc.why}", fix=f"see {order.out}") from exc


def _absolute(test: str) -> str:
    path, colons, rest = test.partition("::")
    return f"{Path(path).resolve()}{colons}{rest}"


@asynccontextmanager
async def _ports(
    settings: OptimizeSettings, root: Path, out: Path, anew: RequirementTestWriter
) -> AsyncIterator[OptimizationPorts]:
    """Open the runner, the failure handler and the stores of an optimization."""
    if settings.mode == "simulate":
        run, look = replay_history(settings.replay or out, settings.budget)
        yield OptimizationPorts(run=run, look=look)
        return
    environment = load_settings()
    url = environment.mongodb_url.get_secret_value() if environment.mongodb_url else None
    elements = KnownElementStore(environment.data_dir, root)
    suite = PytestSuite(
        root=root,
        output=out / "executions",
        python=settings.python,
        pytest_args=settings.pytest_args,
        base_url=settings.base_url,
        env=settings.env,
        browser=_browser(),
        timeout_s=settings.timeout_s,
    )
    async with AsyncExitStack() as stack:
        memory, learned = InMemorySharedMemory(), InMemoryReplacementStatistics()
        ports = OptimizationPorts(
            run=_runner(suite, elements if settings.learn else None),
            look=_inspect_nothing,
            memory=memory,
            learned=learned,
        )
        if settings.learn:
            start_audit_log(environment.data_dir)
            runs = await stack.enter_async_context(open_runs(environment.data_dir, url))
            ports = OptimizationPorts(
                run=ports.run,
                look=_inspect_nothing,
                memory=StoredSharedMemory(runs),
                learned=StoredReplacementStatistics(runs.memory),
            )
        look = await stack.enter_async_context(open_healer(elements.known))
        yield OptimizationPorts(
            run=ports.run,
            look=look,
            memory=ports.memory,
            learned=ports.learned,
            writes=anew,
            held_before=elements.held_before,
            requirement_of=find_requirement_id,
        )


async def _inspect_nothing(_failure: LiveFailure) -> None:
    return None


def _browser() -> Path | None:
    try:
        found = find_chromium()
    except BrowserMissing as exc:
        raise UserError(str(exc), fix="correct or unset PERIPLUS_CHROMIUM") from exc
    return Path(found) if found else None


def _runner(suite: PytestSuite, elements: KnownElementStore | None) -> Runner:
    async def run(
        request: ExecutionRequest, ask: FailureHandler | None, told: RepeatListener
    ) -> ExecutionResult:
        result = await run_suite(
            request, suite, on_failure=ask, on_repeated=told, remember=elements is not None
        )
        if elements is not None:
            failed = {each.test_id for each in result.failed_tests}
            await asyncio.to_thread(
                elements.keep, records_folder(request, suite), failed, healing=ask is not None
            )
        return result

    return run


class KnownElementStore:
    """Remembers across runs what the locators of passing tests led to."""

    def __init__(self, data_dir: Path, root: Path) -> None:
        name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
        self._file = data_dir / "optimizing" / f"elements-{name}.json"
        self._root = root
        self._known: dict[str, dict[str, object]] | None = None

    def known(self, failure: LiveFailure) -> Fingerprint | None:
        """Return what the failing locator led to when its test passed, or when it was generated."""
        used = failure.failed.locator
        if used is None:
            return None
        held = self._all().get(_key(failure.failed.test_id, used.selector))
        if held is None:
            return known_element(self._root, used.links)
        return Fingerprint.model_validate(held)

    def held_before(self, test_id: str) -> bool | None:
        """Return whether a test passed in an earlier execution, or is unchanged since it was generated; None:
        not known.
        """
        passed = any(each.startswith(f"{test_id} ") for each in self._all())
        return True if passed or is_as_generated(self._root, test_id.partition("::")[0]) else None

    def keep(self, folder: Path, failed: set[str], *, healing: bool) -> None:
        """Store the elements of tests that passed without help."""
        if healing and failed:
            return  # some may have passed on substitutes only
        known = dict(self._all())
        for each in read_remembered_elements(folder):
            if each.test_id not in failed:
                known[_key(each.test_id, each.selector)] = each.fingerprint.model_dump(
                    mode="json", exclude_none=True
                )
        make_owner_folder(self._file.parent)
        beside = self._file.with_suffix(".new")
        beside.write_text(json.dumps(known), encoding="utf-8")
        beside.replace(self._file)
        self._known = known

    def _all(self) -> dict[str, dict[str, object]]:
        if self._known is None:
            try:
                self._known = json.loads(self._file.read_bytes())
            except (OSError, ValueError):
                self._known = {}
        assert self._known is not None  # noqa: S101 - just read
        return self._known


def _key(test_id: str, selector: str) -> str:
    return f"{test_id} {selector}"


def find_requirement_id(failed: FailedTest) -> str | None:
    """Return the requirement a generated test names."""
    return read_requirement_id(Path(failed.file))


# -- commits


def _git(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(root), *args], capture_output=True, text=True, check=False)  # noqa: S607 - the user's git


def _checked_index(root: Path) -> frozenset[Path]:
    """Return the files with uncommitted changes. Raises `UserError` if a commit is not possible."""
    top = _git(root, "rev-parse", "--show-toplevel")
    if top.returncode:
        raise UserError(f"{root} is not in a git repository", fix="remove --commit")
    if _git(root, "diff", "--cached", "--quiet").returncode:
        raise UserError(
            "changes are staged already, and would become part of the commit",
            fix="commit or unstage it, or remove --commit",
        )
    said = _git(root, "status", "--porcelain", "-z", "--untracked-files=all").stdout
    return frozenset((Path(top.stdout.strip()) / each[3:]).resolve() for each in said.split("\0") if each)


def _commit_patched_files(
    root: Path, report: OptimizationReport, dirty: frozenset[Path]
) -> OptimizationReport:
    """Commit only the patched files. Files the user was changing are left uncommitted."""
    files = tuple(dict.fromkeys(Path(each.file) for each in report.patches))
    notes = list(report.notes)
    clean = [each for each in files if each not in dirty]
    notes += [
        f"{each} had uncommitted changes of yours: it is patched but not committed"
        for each in files
        if each in dirty
    ]
    if not clean:
        return report.model_copy(update={"notes": tuple(notes)})
    names = [str(each) for each in clean]
    lines = [
        f"- {one.span.function or Path(one.file).name}: {one.before} -> {one.after}" for one in report.patches
    ]
    message = "Tests: locators that drifted\n\n" + "\n".join(" ".join(each.split()) for each in lines)
    made = _git(root, "commit", "-q", "-m", message, "--", *names)
    if made.returncode:
        notes.append(f"git did not commit: {made.stderr.strip()[-300:]}")
        return report.model_copy(update={"notes": tuple(notes)})
    commit = _git(root, "rev-parse", "HEAD").stdout.strip()
    return report.model_copy(update={"notes": tuple(notes), "committed": commit})
