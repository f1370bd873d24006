"""Optimizing wired up: which folder a suite's sources are in, who runs it, where what was learned is kept.

The loop itself is `agent/optimizing/loop.py`. What a person sees of it is `view.py`.
"""

from __future__ import annotations

import asyncio
import configparser
import hashlib
import json
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent.browser.launch import BrowserMissing, find_chromium
from agent.events import Bus, Event
from agent.optimizing.live import open_healer
from agent.optimizing.loop import Order, Ports, SuiteUnrunnable, optimize
from agent.optimizing.memory import Forgetful, InLessons, InMemory, Stored
from agent.optimizing.records import remembered_in
from agent.optimizing.roles import Runner
from agent.optimizing.running import Ask, LiveFailure, Suite, Told, records_folder, run_suite
from agent.optimizing.sources import MAX_PATCHES
from agent.verifying.generating.elements import known_element
from agent.verifying.generating.files import as_generated
from kb_schema.fingerprints import Fingerprint
from kb_schema.optimizing import (
    ExecutionMode,
    ExecutionRequest,
    ExecutionResult,
    FailedTest,
    OptimizationReport,
)
from kb_store.runs import open_runs
from periplus.errors import UserError
from periplus.optimizing.anew import FromRequirements, own_base_url, requirement_in
from periplus.optimizing.history import History, replayed
from periplus.optimizing.pipeline import run_pipeline
from periplus.optimizing.verifying import read_wanted
from periplus.settings import load_settings

REPORT = "optimization.json"
"""In the output folder."""
SIMULATED = "simulation.json"
"""The same, of `simulate`: what it reads stays as it is."""
_CONFIGURED = (("pytest.ini", ""), ("pyproject.toml", "tool.pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class OptimizeSettings:
    """What is to be optimized, and how."""

    tests: tuple[str, ...]
    """Files, folders or node ids; where `mode` is `simulate`, the folder of an earlier run may be `replay`."""
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
    """Files with the requirements from which tests may be written anew."""
    replay: Path | None = None
    """The folder of an earlier run, for `simulate`."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 1800.0


def root_of(tests: Sequence[str]) -> Path:
    """The folder pytest takes for its root: the nearest with a configuration of pytest, else the repository,
    else the folder of the tests. Raises `UserError` for tests that are not there.
    """
    folders = []
    for each in tests:
        path = Path(each.partition("::")[0]).resolve()
        if not path.exists():
            raise UserError(f"there is no {each.partition('::')[0]}", fix="name files or folders with tests")
        folders.append(path if path.is_dir() else path.parent)
    common = next(
        each for each in (folders[0], *folders[0].parents) if all(f.is_relative_to(each) for f in folders)
    )
    above = (common, *common.parents)
    configured = next((each for each in above if _configures(each)), None)
    repository = next((each for each in above if (each / ".git").exists()), None)
    return configured or repository or common


def _configures(folder: Path) -> bool:
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
    """Optimize a suite; the report is also in the output folder.

    Raises `UserError` for what a person can put right, `StoreError` where a store does not answer. Whatever is
    raised, the suite's files are as they were.
    """
    pipeline = settings.mode == "pipeline"
    root = (settings.root or (Path() if pipeline else root_of(settings.tests))).resolve()
    out = settings.out.resolve()
    execution_id = f"opt-{out.name}"
    dirty = await asyncio.to_thread(_checked_index, root) if settings.commit else frozenset()
    bus = Bus()
    if settings.mode != "simulate":
        bus.listen(History(out))
    bus.listen(tell)
    order = Order(
        root=root, out=out, execution_id=execution_id, mode=settings.mode,
        tests=tuple(_absolute(each) for each in settings.tests), max_attempts=settings.max_attempts,
        max_patches=settings.max_patches, fallback=settings.fallback, dry_run=settings.dry_run,
    )  # fmt: skip
    if pipeline:
        report = await run_pipeline(order, settings.base_url, bus=bus)
    else:
        report = await _patched(settings, order, bus)
    if settings.commit and report.patches and not report.dry_run:
        report = await asyncio.to_thread(_committed, root, report, dirty)
    if settings.commit:
        report = _with_notes(report, *_uncommitted(report))
    name = REPORT if settings.mode != "simulate" else SIMULATED
    (out / name).write_text(report.model_dump_json(indent=2, by_alias=True) + "\n", encoding="utf-8")
    (out / name).with_suffix(".diff").write_text(report.diff, encoding="utf-8")
    return report


def _uncommitted(report: OptimizationReport) -> list[str]:
    placed = [each.regenerated for each in report.tests if each.regenerated and each.after == "passed"]
    return [f"{each} was written anew, and is not committed" for each in placed]


def _with_notes(report: OptimizationReport, *notes: str) -> OptimizationReport:
    return report.model_copy(update={"notes": (*report.notes, *notes)})


async def _patched(settings: OptimizeSettings, order: Order, bus: Bus) -> OptimizationReport:
    base_url = settings.base_url or own_base_url(order.root)
    wanted = await read_wanted(settings.requirements, base_url) if settings.requirements else []
    anew = FromRequirements(wanted, root=order.root, out=order.out, base_url=settings.base_url, tell=bus.tell)
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
    settings: OptimizeSettings, root: Path, out: Path, anew: FromRequirements
) -> AsyncIterator[Ports]:
    """Who does what, for as long as one is inside."""
    if settings.mode == "simulate":
        run, look = replayed(settings.replay or out)
        yield Ports(run=run, look=look)
        return
    environment = load_settings()
    url = environment.mongodb_url.get_secret_value() if environment.mongodb_url else None
    elements = Elements(environment.data_dir, root)
    suite = Suite(
        root=root, output=out / "executions", python=settings.python, pytest_args=settings.pytest_args,
        base_url=settings.base_url, env=settings.env, browser=_browser(), timeout_s=settings.timeout_s,
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        memory, learned = InMemory(), Forgetful()
        ports = Ports(
            run=_runner(suite, elements if settings.learn else None),
            look=_nobody,
            memory=memory,
            learned=learned,
        )
        if settings.learn:
            runs = await stack.enter_async_context(open_runs(environment.data_dir, url))
            ports = Ports(run=ports.run, look=_nobody, memory=Stored(runs), learned=InLessons(runs.memory))
        look = await stack.enter_async_context(open_healer(elements.known))
        yield Ports(
            run=ports.run,
            look=look,
            memory=ports.memory,
            learned=ports.learned,
            writes=anew,
            held_before=elements.held_before,
            requirement_of=requirement_of,
        )


async def _nobody(_failure: LiveFailure) -> None:
    return None


def _browser() -> Path | None:
    try:
        found = find_chromium()
    except BrowserMissing as exc:
        raise UserError(str(exc), fix="correct or unset PERIPLUS_CHROMIUM") from exc
    return Path(found) if found else None


def _runner(suite: Suite, elements: Elements | None) -> Runner:
    async def run(request: ExecutionRequest, ask: Ask | None, told: Told) -> ExecutionResult:
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


class Elements:
    """What the locators of a suite led to in tests that passed, kept from run to run."""

    def __init__(self, data_dir: Path, root: Path) -> None:
        name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
        self._file = data_dir / "optimizing" / f"elements-{name}.json"
        self._root = root
        self._known: dict[str, dict[str, object]] | None = None

    def known(self, failure: LiveFailure) -> Fingerprint | None:
        """What the failing locator led to when its test passed, or when it was generated."""
        used = failure.failed.locator
        if used is None:
            return None
        held = self._all().get(_key(failure.failed.test_id, used.selector))
        if held is None:
            return known_element(self._root, used.links)
        return Fingerprint.model_validate(held)

    def held_before(self, test_id: str) -> bool | None:
        """Whether a test passed in an earlier execution, or is as it was generated from what was seen to
        hold; None: not known.
        """
        passed = any(each.startswith(f"{test_id} ") for each in self._all())
        return True if passed or as_generated(self._root, test_id.partition("::")[0]) else None

    def keep(self, folder: Path, failed: set[str], *, healing: bool) -> None:
        """Keep what a run remembered of tests that passed by themselves."""
        if healing and failed:
            return  # some may have passed on substitutes only
        known = dict(self._all())
        for each in remembered_in(folder):
            if each.test_id not in failed:
                known[_key(each.test_id, each.selector)] = each.fingerprint.model_dump(
                    mode="json", exclude_none=True
                )
        self._file.parent.mkdir(parents=True, exist_ok=True)
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


def requirement_of(failed: FailedTest) -> str | None:
    """The requirement a generated test says it is from."""
    return requirement_in(Path(failed.file))


# -- commits


def _git(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(root), *args], capture_output=True, text=True, check=False)  # noqa: S607 - the user's git


def _checked_index(root: Path) -> frozenset[Path]:
    """The files with changes that are not committed. Raises `UserError` where no commit may be made."""
    top = _git(root, "rev-parse", "--show-toplevel")
    if top.returncode:
        raise UserError(f"{root} is in no git repository", fix="leave --commit out")
    if _git(root, "diff", "--cached", "--quiet").returncode:
        raise UserError(
            "something is staged already, and would be taken for ours",
            fix="commit or unstage it, or leave --commit out",
        )
    said = _git(root, "status", "--porcelain", "-z", "--untracked-files=all").stdout
    return frozenset((Path(top.stdout.strip()) / each[3:]).resolve() for each in said.split("\0") if each)


def _committed(root: Path, report: OptimizationReport, dirty: frozenset[Path]) -> OptimizationReport:
    """Commit the patched files and nothing else; those a person was changing are left to the person."""
    files = tuple(dict.fromkeys(Path(each.file) for each in report.patches))
    notes = list(report.notes)
    clean = [each for each in files if each not in dirty]
    notes += [
        f"{each} had changes of yours: it is patched, and not committed" for each in files if each in dirty
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
