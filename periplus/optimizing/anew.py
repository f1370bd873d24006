"""Tests that no patch mends, written anew from their requirements (`agent.optimizing.roles.Writes`).

They are verified as `periplus verify --rediscover` would, into a folder of their own. What of that goes into the
suite is written by the code that writes suites (`agent/verifying/generating/files.py`), which leaves alone
what a person changed.
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
from agent.optimizing.roles import Placed, Rewritten
from agent.verifying.flow.state import sealed_plan
from agent.verifying.flow.suite import PLANS
from agent.verifying.generating import ChangedByHand
from agent.verifying.generating.elements import FILE as ELEMENTS
from agent.verifying.generating.files import MANIFEST, as_generated, put
from kb_schema.optimizing import RegenerateTest
from kb_schema.verification import Requirement, VerdictReport
from kb_store import StoreError
from periplus.errors import UserError
from periplus.optimizing.verifying import verified
from periplus.settings import load_settings
from periplus.verifying.memory import FolderPlans
from periplus.verifying.verifier import VerifySettings, placed

FOLDER = "regenerated"
"""In the output folder."""
BEFORE = "before"
"""In that: what was replaced."""
_THE_SUITES_OWN = frozenset({"pytest.ini", "conftest.py", MANIFEST})
"""How the suite is run stays as it is: where its site is, what its fixtures do."""
_HEAD = 4000
"""Characters of a test's file in which it says what it is from."""


@dataclass(frozen=True, slots=True)
class _New:
    """A test that was written anew."""

    old: Path
    """The test in the suite."""
    file: Path


class FromRequirements:
    """Verifies requirements anew, and puts their tests into the suite."""

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
        self._new: dict[str, _New] = {}
        self._was: dict[Path, tuple[bytes | None, bytes | None]] = {}
        """Files of the suite: as they were, and as they were put there; None: there was none, or any will do."""

    # -- verifying

    async def write(self, wanted: Sequence[RegenerateTest]) -> Mapping[str, Rewritten]:
        """Verify the requirements of these tests with every element found anew, the tests of a folder together."""
        known = {each.req_id for each in self._requirements}
        found: dict[str, Rewritten] = {}
        folders: dict[Path, list[RegenerateTest]] = {}
        for each in wanted:
            if each.req_id not in known:
                found[each.test_id] = Rewritten(note=self._unknown(each.req_id))
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

    async def _written(self, folder: Path, tests: Sequence[RegenerateTest]) -> dict[str, Rewritten]:
        base_url = self._base_url or own_base_url(folder)
        wanted = [each for each in self._requirements if each.req_id in {one.req_id for one in tests}]
        out = await asyncio.to_thread(_unused, self._out / FOLDER)
        try:
            await self._recall(folder, out, {each.req_id for each in wanted}, base_url)
            settings = VerifySettings(
                out=out, base_url=base_url, requirements=self._requirements, rediscover=True
            )
            reports = await verified(settings, wanted, self._tell)
        except (UserError, StoreError) as exc:
            said = str(exc)
            return {each.test_id: Rewritten(note=f"{each.req_id} was not verified: {said}") for each in tests}
        by_id = {each.req_id: each for each in reports}
        return {each.test_id: self._told(each.test_id, by_id[str(each.req_id)], out) for each in tests}

    async def _recall(self, folder: Path, out: Path, anew: set[str], base_url: str | None) -> None:
        """The plans of the folder's other tests, as far as they are known: page objects are made of all."""
        there = await asyncio.to_thread(_requirements_of, folder)
        remembered = FolderPlans(load_settings().data_dir)
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
            here, site = placed(each, base_url)
            plan = await remembered.known(urlsplit(site).netloc, here)
            if plan is not None:
                said = sealed_plan(plan, plan.requirement).model_dump_json(indent=2)
                (kept / name).write_text(said, encoding="utf-8")

    def _told(self, test_id: str, report: VerdictReport, out: Path) -> Rewritten:
        test = report.artifacts.get("test_file")
        if report.verdict != "pass" or test is None:
            why = f"{report.rca.class_}: {report.rca.message} -> {report.rca.recommendation}".rstrip(" ->")
            return Rewritten(note=f"{report.req_id} was verified anew: {report.verdict}, {why}", refuted=True)
        self._new[test_id] = _New(self._file(test_id), out / test)
        return Rewritten(out / test, f"{report.req_id} was verified anew, with every element found anew")

    # -- the suite

    async def put(self, tests: Sequence[str]) -> Placed:
        """Put those into the suite that are there as they were generated, with the page objects they need."""
        return await asyncio.to_thread(self._put, tests)

    def _put(self, tests: Sequence[str]) -> Placed:
        files: dict[str, Path] = {}
        left: dict[str, str] = {}
        folders: dict[tuple[Path, Path], dict[str, _New]] = {}
        for test_id in tests:
            new = self._new[test_id]
            if not as_generated(new.old.parent, new.old.name):
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
        return Placed(files, left)

    def _replace(self, folder: Path, made: Path, names: set[str]) -> str:
        """Why it was not done; empty where it was."""
        contents = dict(_contents(folder, made, names))
        shared = [each for each in contents if each not in names | {ELEMENTS} and (folder / each).exists()]
        strangers = _not_alike(folder, made, names) if shared else []
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
            put(folder, contents)
        except ChangedByHand as exc:
            self._forget(folder, was)
            return f"{', '.join(exc.files)} changed since generated"
        except OSError as exc:
            self._restore(folder / name for name in was)
            self._forget(folder, was)
            return f"the suite cannot be written: {exc.strerror}"
        return ""

    def take_back(self) -> None:
        """The suite's files as they were, but for what somebody changed meanwhile."""
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


def requirement_in(file: Path) -> str | None:
    """The requirement a generated test says it is from: in its docstring, or as `req_id: NAME`."""
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
    return {requirement_in(each) for each in folder.glob("test_*.py")}


def own_base_url(folder: Path) -> str | None:
    """Where a suite's own configuration says its site is."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        parser.read(folder / "pytest.ini", encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return None
    return parser.get("pytest", "base_url", fallback=None) or None


def _unused(folder: Path) -> Path:
    """A folder that is not there yet: what an earlier execution left stays."""
    found, number = folder, 1
    while found.exists():
        number += 1
        found = folder.with_name(f"{folder.name}-{number}")
    return found


def _contents(folder: Path, made: Path, names: set[str]) -> Iterator[tuple[str, bytes]]:
    """What is to be in the suite: those tests, and what is not there as they need it."""
    for path in sorted(
        each for each in made.rglob("*") if each.is_file() and "__pycache__" not in each.parts
    ):
        name = path.relative_to(made).as_posix()
        if name in _THE_SUITES_OWN or (_is_test(name) and name not in names):
            continue
        data = path.read_bytes()
        if name == ELEMENTS:
            data = _merged(_read(folder / name), data)
        if data != _read(folder / name):
            yield name, data


def _not_alike(folder: Path, made: Path, names: set[str]) -> list[str]:
    """Tests of the suite that are not in the new one as they are: nobody knows what they need of its pages."""
    return sorted(
        each.name
        for each in folder.glob("*.py")
        if _is_test(each.name) and each.name not in names and _read(made / each.name) != each.read_bytes()
    )


def _is_test(name: str) -> bool:
    return name.startswith("test_") and name.endswith(".py")


def _merged(old: bytes | None, new: bytes) -> bytes:
    """What is known of elements, with what is known of those of other tests."""
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
