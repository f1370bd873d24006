"""Starts an application of WebArena-Infinity, and makes jobs of its function tasks.

The archive is third-party data beside the project (`PERIPLUS_BENCH_DATA`); nothing of it is in the project. `TEMPLATES`
puts every task id under a template; a template's job has the task's own sentences, values and verifiers.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.drift import BENCH
from tests.zoo.zoo_jobs import (
    Application,
    Given,
    Instance,
    Job,
    Person,
    RunningApplication,
    fill_sentence,
    read_sentence,
)

ARCHIVE = BENCH / "webarena_infinity.tar.xz"
MAKE = "single page without a framework"
TEMPLATES = Path(__file__).with_name("templates.yaml")
"""application -> template -> task ids."""
_STARTED_S = 10.0


@cache
def unpack_archive() -> Path:
    """Return the folder of the unpacked archive. Skips if there is none."""
    if not ARCHIVE.is_file():
        pytest.skip(f"there is no {ARCHIVE}: PERIPLUS_BENCH_DATA names its folder")
    folder = Path(tempfile.mkdtemp(prefix="periplus-webarena-"))
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return next(each.parent for each in folder.rglob("LICENSE"))


@cache
def read_templates() -> dict[str, dict[str, list[str]]]:
    """Return the templates of every application."""
    read: dict[str, dict[str, list[str]]] = yaml.safe_load(TEMPLATES.read_text(encoding="utf-8"))
    return read


class SinglePageApplication:
    """A running application of the benchmark."""

    def __init__(self, base_url: str, normalize: Callable[[Any], Any]) -> None:
        self.base_url, self._normalize = base_url, normalize
        self.secrets: Mapping[str, str] = {}

    async def reset(self) -> None:
        """Put the seed back."""
        await asyncio.to_thread(_request, f"{self.base_url}/api/reset", "POST")

    async def state(self) -> Any:
        """Return the state that the page sent last."""
        try:
            return self._normalize(await asyncio.to_thread(_request, f"{self.base_url}/api/state", "GET"))
        except urllib.error.HTTPError:
            return None


def _request(url: str, method: str) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=10) as answer:
        return json.loads(answer.read())


@asynccontextmanager
async def _started(name: str, normalize: Callable[[Any], Any]) -> AsyncIterator[RunningApplication]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(  # noqa: ASYNC220 - it is started once, and ended at once
        [sys.executable, "server.py", "--port", str(port)], cwd=unpack_archive() / name,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    try:
        base = f"http://127.0.0.1:{port}"
        async with asyncio.timeout(_STARTED_S):
            while not _answers(base):  # noqa: ASYNC110 - another process tells nothing
                await asyncio.sleep(0.05)
        yield SinglePageApplication(base, normalize)
    finally:
        process.kill()
        process.wait()


def _answers(base: str) -> bool:
    try:
        with urllib.request.urlopen(f"{base}/index.html", timeout=2):
            return True
    except OSError:
        return False


def benchmark_job(
    application: str, template: str, person: Person, patterns: Sequence[str],
    *, own: Sequence[Given] = (), missing: Sequence[Given] = (), given: Mapping[str, Given] | None = None,
    start: str = "/", action: str = "edit",
) -> Job:  # fmt: skip
    """Return the job of a template of `templates.yaml`.

    `patterns`: sentence patterns `... '{name}' ...` that read the values of the benchmark's sentences; the first one
    also writes the sentences of the other instances. `given`: the values of task ids that no pattern reads.
    `own`: values of further instances of ours, judged by the state alone. `missing`: values whose target does not exist.
    Raises `ValueError` if the values of a task cannot be read.
    """
    return Job(
        template, person, _Instances(application, template, tuple(patterns), tuple(own), tuple(missing), given or {}),
        start, action,
    )  # fmt: skip


class _Instances(Sequence[Instance]):
    """The instances of a template; the archive is only read when they are asked for."""

    def __init__(
        self, application: str, template: str, patterns: tuple[str, ...], own: tuple[Given, ...],
        missing: tuple[Given, ...], given: Mapping[str, Given],
    ) -> None:  # fmt: skip
        self._application, self._template, self._patterns = application, template, patterns
        self._own, self._missing, self._given = own, missing, given
        self._read: list[Instance] | None = None

    def __len__(self) -> int:
        return len(self._instances())

    def __getitem__(self, at: Any) -> Any:
        return self._instances()[at]

    def _instances(self) -> list[Instance]:
        if self._read is None:
            self._read = [
                *map(self._of_task, read_templates()[self._application][self._template]),
                *(self._ours(f"own_{number}", each, "plain") for number, each in enumerate(self._own, 1)),
                *(
                    self._ours(f"missing_{number}", each, "missing")
                    for number, each in enumerate(self._missing, 1)
                ),
            ]
        return self._read

    def _ours(self, name: str, given: Given, kind: Any) -> Instance:
        return Instance(name, given, kind, fill_sentence(self._patterns[0], given))

    def _of_task(self, task_id: str) -> Instance:
        sentence = _sentences(self._application)[task_id]
        found = self._given.get(task_id) or next(
            (read for each in self._patterns if (read := read_sentence(each, sentence)) is not None), None
        )
        if found is None:
            raise ValueError(
                f"{self._application}, {self._template}: no pattern reads {task_id}: {sentence!r}"
            )
        return Instance(task_id, found, "plain", sentence, _verifier(self._application, task_id))


@cache
def _sentences(application: str) -> dict[str, str]:
    tasks = json.loads((unpack_archive() / application / "function-tasks.json").read_text(encoding="utf-8"))
    return {each["id"]: each["instruction"] for each in tasks}


def _verifier(application: str, task_id: str) -> Callable[[str], tuple[bool, str]]:
    file = unpack_archive() / application / "function-tasks" / f"{task_id}.py"

    def verify(base_url: str) -> tuple[bool, str]:
        spec = importlib.util.spec_from_file_location(f"webarena_{task_id}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        done, why = module.verify(base_url)
        return bool(done), str(why)

    return verify


def single_page_application(
    name: str, jobs: Sequence[Job], *, normalize: Callable[[Any], Any] = lambda state: state
) -> Application:
    """Return an application of the benchmark.

    `normalize`: removes from the state what differs by itself, such as the time of a change.
    """
    return Application(name, MAKE, jobs, lambda _folder: _started(name, normalize))
