"""Regenerates tests that no patch repairs, from their requirements
(`agent.optimization.message_roles.RequirementTestRewriter`).

They are verified as `periplus verify --rediscover` does, into a folder of their own.
`agent/verification/generation/generated_files.py` writes them into the suite, except over files a person
changed.
"""

from __future__ import annotations

import asyncio
import configparser
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agent.events import Event
from agent.optimization.message_roles import PlacedTests, RewriteResult
from agent.verification.generation import ChangedByHand
from agent.verification.generation.generated_files import MANIFEST, is_as_generated, write_files
from agent.verification.generation.known_elements import FILE as ELEMENTS
from agent.verification.graph.passed_plans import PassedPlans
from agent.verification.graph.suite_folder import PLANS
from agent.verification.graph.verification_state import seal_plan
from kb_schema.suite_optimization import RegenerateTest
from kb_schema.verification import Requirement, VerdictReport
from kb_store import StoreError
from periplus.errors import UserError
from periplus.optimization.requirement_verification import verify_in_turn
from periplus.settings import load_settings
from periplus.verification.verifier_settings import VerifierSettings, resolve_requirement_url

FOLDER = "regenerated"
"""Folder in the output folder."""
BEFORE = "before"
"""In that folder: the files that were replaced."""
_THE_SUITES_OWN = frozenset({"pytest.ini", "conftest.py", MANIFEST})
"""Files that are not replaced: they say how the suite is run, where its site is, what its fixtures do."""
_HEAD = 4000
"""Characters of a test's file in which the name of its requirement must be."""


@dataclass(frozen=True, slots=True)
class _RegeneratedTest:
    """A regenerated test."""

    old: Path
    """The test in the suite."""
    file: Path


class RequirementTestWriter:
    """Verifies requirements again, and puts their tests into the suite."""

    def __init__(
        self,
        requirements: Sequence[Requirement],
        *,
        root: Path,
        out: Path,
        base_url: str | None,
        tell: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self._requirements, self._root, self._out = tuple(requirements), root, out
        self._base_url, self._tell = base_url, tell
        self._new: dict[str, _RegeneratedTest] = {}
        self._was: dict[Path, tuple[bytes | None, bytes | None]] = {}
        """Files of the suite: before, and as they were written; None: no such file, or any content."""

    # -- verifying

    async def write(self, wanted: Sequence[RegenerateTest]) -> Mapping[str, RewriteResult]:
        """Verify the requirements of these tests, finding every element again. Tests of a folder are written
        together.
        """
        known = {each.req_id for each in self._requirements}
        found: dict[str, RewriteResult] = {}
        folders: dict[Path, list[RegenerateTest]] = {}
        for each in wanted:
            if each.req_id not in known:
                found[each.test_id] = RewriteResult(note=self._unknown(each.req_id))
            else:
                folders.setdefault(self._file(each.test_id).parent, []).append(each)
        for folder, tests in folders.items():
            found |= await self._written(folder, tests)
        return found

    def _unknown(self, req_id: str | None) -> str:
        if self._requirements:
            return f"none of the files of --requirements has {req_id}"
        return f"it can be written anew from its requirement: give --requirements FILE, a file with {req_id}"

    def _file(self, test_id: str) -> Path:
        return (self._root / test_id.partition("::")[0]).resolve()

    async def _written(self, folder: Path, tests: Sequence[RegenerateTest]) -> dict[str, RewriteResult]:
        base_url = self._base_url or find_configured_base_url(folder)
        wanted = [each for each in self._requirements if each.req_id in {one.req_id for one in tests}]
        out = await asyncio.to_thread(_choose_unused_folder, self._out / FOLDER)
        try:
            await self._recall(folder, out, {each.req_id for each in wanted}, base_url)
            settings = VerifierSettings(
                out=out, base_url=base_url, requirements=self._requirements, rediscover=True
            )
            reports = await verify_in_turn(settings, wanted, self._tell)
        except (UserError, StoreError) as exc:
            said = str(exc)
            return {
                each.test_id: RewriteResult(note=f"{each.req_id} was not verified: {said}") for each in tests
            }
        by_id = {each.req_id: each for each in reports}
        return {each.test_id: self._told(each.test_id, by_id[str(each.req_id)], out) for each in tests}

    async def _recall(self, folder: Path, out: Path, anew: set[str], base_url: str | None) -> None:
        """Copy the known plans of the folder's other tests: page objects are made from all plans."""
        there = await asyncio.to_thread(_requirements_of, folder)
        remembered = PassedPlans(load_settings().data_dir)
        kept = out / PLANS
        await asyncio.to_thread(kept.mkdir, parents=True)
        for each in self._requirements:
            if each.req_id in anew or each.req_id not in there:
                continue
            name = f"{each.req_id}.json"
            beside = folder.parent / PLANS / name
            if await asyncio.to_thread(beside.is_file):
                (kept / name).write_bytes(beside.read_bytes())
                continue
            here, site = resolve_requirement_url(each, base_url)
            plan = await remembered.find(urlsplit(site).netloc, here)
            if plan is not None:
                said = seal_plan(plan, plan.requirement).model_dump_json(indent=2)
                (kept / name).write_text(said, encoding="utf-8")

    def _told(self, test_id: str, report: VerdictReport, out: Path) -> RewriteResult:
        test = report.artifacts.get("test_file")
        if report.verdict != "pass" or test is None:
            why = f"{report.rca.class_}: {report.rca.message} -> {report.rca.recommendation}".rstrip(" ->")
            return RewriteResult(
                note=f"{report.req_id} was verified anew: {report.verdict}, {why}", refuted=True
            )
        self._new[test_id] = _RegeneratedTest(self._file(test_id), out / test)
        return RewriteResult(out / test, f"{report.req_id} was verified anew, with every element found anew")

    # -- the suite

    async def put(self, tests: Sequence[str]) -> PlacedTests:
        """Put the new tests into the suite whose old files are unchanged since generation, with their page
        objects.
        """
        return await asyncio.to_thread(self._put, tests)

    def _put(self, tests: Sequence[str]) -> PlacedTests:
        files: dict[str, Path] = {}
        left: dict[str, str] = {}
        folders: dict[tuple[Path, Path], dict[str, _RegeneratedTest]] = {}
        for test_id in tests:
            new = self._new[test_id]
            if not is_as_generated(new.old.parent, new.old.name):
                left[test_id] = f"{new.old.name} is not there as it was generated; the new one is {new.file}"
            elif new.old.name != new.file.name:
                left[test_id] = f"it is called {new.old.name} in the suite; the new one is {new.file}"
            else:
                folders.setdefault((new.old.parent, new.file.parent), {})[test_id] = new
        for (folder, made), group in folders.items():
            why = self._replace(folder, made, {each.old.name for each in group.values()})
            for test_id, new in group.items():
                if why:
                    left[test_id] = f"{why}; the new one is {new.file}"
                else:
                    files[test_id] = new.old
        return PlacedTests(files, left)

    def _replace(self, folder: Path, made: Path, names: set[str]) -> str:
        """Put one file into the suite. Returns why it was not done; empty if it was."""
        contents = dict(_contents(folder, made, names))
        shared = [each for each in contents if each not in names | {ELEMENTS} and (folder / each).exists()]
        strangers = _list_changed_tests(folder, made, names) if shared else []
        if strangers:
            return f"{', '.join(shared)} would change for {', '.join(strangers)}, too"
        was = {name: _read(folder / name) for name in (*contents, MANIFEST)}
        for name, data in was.items():
            if data is not None:
                kept = made.parent / BEFORE / name
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(data)
        try:
            for name, data in was.items():
                self._was[folder / name] = (data, contents.get(name))
            write_files(folder, contents)
        except ChangedByHand as exc:
            self._forget(folder, was)
            return f"{', '.join(exc.files)} changed since generated"
        except OSError as exc:
            self._restore(folder / name for name in was)
            self._forget(folder, was)
            return f"the suite cannot be written: {exc.strerror}"
        return ""

    def take_back(self) -> None:
        """Restore the suite's files, except those a person changed meanwhile."""
        self._restore(self._was)
        self._was = {}

    def _restore(self, paths: Iterator[Path] | Mapping[Path, object]) -> None:
        for path in paths:
            before, after = self._was[path]
            now = _read(path)
            if now == before or (after is not None and now != after):
                continue
            if before is not None:
                path.write_bytes(before)
            else:
                path.unlink(missing_ok=True)

    def _forget(self, folder: Path, names: Mapping[str, object]) -> None:
        for name in names:
            self._was.pop(folder / name, None)


def read_requirement_id(file: Path) -> str | None:
    """Return the requirement a generated test names: in its docstring, or as `req_id: NAME`."""
    try:
        head = file.read_text(encoding="utf-8", errors="replace")[:_HEAD]
    except OSError:
        return None
    for line in head.splitlines():
        found = re.match(r'"""Requirement ([A-Za-z0-9][A-Za-z0-9_.-]*) \(', line)
        if found:
            return found.group(1)
        words = line.strip(" #\"'").split(":", 1)
        if len(words) == 2 and words[0].strip().lower() in ("req_id", "requirement"):
            return words[1].split()[0].strip("`'\".,") if words[1].split() else None
    return None


def _requirements_of(folder: Path) -> set[str | None]:
    return {read_requirement_id(each) for each in folder.glob("test_*.py")}


def find_configured_base_url(folder: Path) -> str | None:
    """Return the base URL of the suite's own configuration."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        parser.read(folder / "pytest.ini", encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return None
    return parser.get("pytest", "base_url", fallback=None) or None


def _choose_unused_folder(folder: Path) -> Path:
    """Return a folder that does not exist yet: results of earlier executions stay."""
    found, number = folder, 1
    while found.exists():
        number += 1
        found = folder.with_name(f"{folder.name}-{number}")
    return found


def _contents(folder: Path, made: Path, names: set[str]) -> Iterator[tuple[str, bytes]]:
    """Return the files for the suite: the new tests, and page objects and helpers that differ from what they
    need.
    """
    for path in sorted(
        each for each in made.rglob("*") if each.is_file() and "__pycache__" not in each.parts
    ):
        name = path.relative_to(made).as_posix()
        if name in _THE_SUITES_OWN or (_is_test(name) and name not in names):
            continue
        data = path.read_bytes()
        if name == ELEMENTS:
            data = _merge_element_files(_read(folder / name), data)
        if data != _read(folder / name):
            yield name, data


def _list_changed_tests(folder: Path, made: Path, names: set[str]) -> list[str]:
    """Return tests of the suite that the new one does not contain unchanged: what they need of its pages is
    unknown.
    """
    return sorted(
        each.name
        for each in folder.glob("*.py")
        if _is_test(each.name) and each.name not in names and _read(made / each.name) != each.read_bytes()
    )


def _is_test(name: str) -> bool:
    return name.startswith("test_") and name.endswith(".py")


def _merge_element_files(old: bytes | None, new: bytes) -> bytes:
    """Merge the known elements with those of other tests."""
    try:
        said = json.loads(old or b"{}")
    except ValueError:
        said = {}
    known = {**(said if isinstance(said, dict) else {}), **json.loads(new)}
    return (json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n").encode()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
