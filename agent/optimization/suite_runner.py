"""Runs pytest-playwright suites with our probe inside their own pytest, and answers failures live.

The probe is `probe/periplus_probe.py`; `live_healing` finds what a failing locator meant; `sources/` patches
sources. This module changes nothing of a suite.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.optimization import execution_records
from agent.page import in_page_library
from kb_schema import secret_fields
from kb_schema.operating_system import end_process_group
from kb_schema.suite_optimization import ExecutionRequest, ExecutionResult, FailedTest, LocatorCandidate
from kb_schema.verification import FailureEvidence

ANSWER_S = 60.0
"""A test waits at most this long for an answer."""
ENDING_S = 5.0
"""Time for processes to end by themselves."""
LARGEST_MESSAGE = 1 << 24


@dataclass(frozen=True, slots=True)
class PytestSuite:
    """How a suite is run."""

    root: Path
    """Where pytest is started: its rootdir, or a folder below it."""
    output: Path
    """For traces, records and the like; created if missing."""
    python: Path = Path(sys.executable)
    """The interpreter that has the suite's pytest and Playwright."""
    pytest_args: tuple[str, ...] = ()
    base_url: str | None = None
    """Passed to pytest as `--base-url` (pytest-playwright's own option)."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to our own environment."""
    browser: Path | None = None
    """Chromium's executable; None: Playwright's own, or the one in PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH."""
    timeout_s: float = 1800.0
    """For the whole run; after it the processes are ended and the result is an error."""
    action_timeout_ms: float = 3000.0
    """Default time of an action in healing runs, and of a settled call in others; Playwright's own is 30 s."""


@dataclass(frozen=True, slots=True)
class LiveFailure:
    """A call that failed and whose test waits for an answer. The page is as the failure left it."""

    failure_id: str
    failed: FailedTest
    """`locator.links[..].made_at` are exact spans. A shortcut by selector (`page.click("#a")`) has one link
    `locator` without a place: its `called_at` is the place, and the selector its first argument."""
    debug_url: str | None
    """Chromium's debugging address; None: the page cannot be reached from this process."""
    target_id: str | None
    """Chromium's id of the page's target."""
    waited_ms: float
    timeout_ms: float | None = None
    """The time the suite itself gives the call; None: its default."""
    shortened: bool = False
    """The call had less time than the suite gives it (`PytestSuite.action_timeout_ms`)."""
    idle: bool = False
    """No request of the test was open when the call failed."""
    negative: bool = False
    """The test expects that something is *not* present (`not_to_be_visible`, `to_have_count(0)`, ...)."""
    arguments: tuple[str, ...] = ()
    """The arguments of the call, shortened, without secrets."""
    frame_url: str | None = None
    """Of the frame a locator begins in, if that is not the page's own."""


@dataclass(frozen=True, slots=True)
class RaiseFailure:
    """The failure is raised, as without healing."""

    reason: str = ""
    evidence: FailureEvidence | None = None
    """What was seen on the live page, for the root cause; it goes into the failed test."""


@dataclass(frozen=True, slots=True)
class SubstituteLocator:
    """The call is repeated once on another locator, and the test goes on."""

    candidate: LocatorCandidate
    evidence: FailureEvidence | None = None
    others: tuple[LocatorCandidate, ...] = ()
    """Further locators of the same element, best first."""


@dataclass(frozen=True, slots=True)
class WaitLonger:
    """The locator is right, the element was late: the call is repeated once, with more time."""

    timeout_ms: float
    came_after_s: float
    within_own_time: bool = False
    """It came within the suite's own time: there is nothing to patch."""
    evidence: FailureEvidence | None = None


FailureAnswer = RaiseFailure | SubstituteLocator | WaitLonger
FailureHandler = Callable[[LiveFailure], Awaitable["FailureAnswer | None"]]
"""Answers a failure; None is `RaiseFailure()`."""
RepeatListener = Callable[[LiveFailure, "SubstituteLocator | WaitLonger", bool], None]
"""Called with whether the repeated call succeeded."""


async def run_suite(
    request: ExecutionRequest,
    suite: PytestSuite,
    *,
    on_failure: FailureHandler | None = None,
    on_repeated: RepeatListener | None = None,
    remember: bool = False,
) -> ExecutionResult:
    """Run the tests of a request (all tests if it names none), and return the result.

    `on_failure` makes it a healing run: it is called for every failing call of Playwright's while the test
    waits. `remember` records what every locator led to (`remembered_in`). A suite that cannot be run is an
    `error` result whose one failed test says why; nothing is raised for that. Errors of the callbacks are
    raised. Cancelling ends the suite's processes.
    """
    folder = records_folder(request, suite)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tools = await _tools(suite)
    if isinstance(tools, str):
        return execution_records.build_unrunnable_result(request, suite.root, tools)
    answers = _FailureServer(on_failure, on_repeated)
    async with answers.served() if on_failure is not None else contextlib.nullcontext() as port:
        settings = folder / "probe.json"
        told = {
            "records": str(folder),
            "roots": [str(suite.root)],
            "port": port,
            "token": answers.token,
            "answer_s": ANSWER_S + ENDING_S,
            "executable": str(suite.browser) if suite.browser else None,
            "action_timeout_ms": suite.action_timeout_ms if on_failure is not None else None,
            "settled": [[each.test_id, each.selector] for each in request.settled_calls],
            "settled_ms": suite.action_timeout_ms,
            "library": str(_library(folder)) if remember else None,
            "secret_fields": secret_fields.__file__,
        }
        settings.touch(mode=0o600)
        settings.write_text(json.dumps(told), encoding="utf-8")
        ended = await _run(_command(request, suite, tools), suite, settings, folder / "pytest.txt", answers)
    return execution_records.build_result(request, suite.root, folder, ended, answers.evidence)


def records_folder(request: ExecutionRequest, suite: PytestSuite) -> Path:
    """Return the folder of an execution's records: the probe's, pytest's output, and Playwright's traces."""
    return suite.output.resolve() / f"{request.execution_id}-{request.attempt}"


class _FailureServer:
    """Answers the probe's failures over a loopback socket."""

    def __init__(self, ask: FailureHandler | None, told: RepeatListener | None) -> None:
        self._ask, self._told = ask, told
        self.token = secrets.token_urlsafe(24)
        self.evidence: dict[str, FailureEvidence] = {}
        """Evidence of failures, by their ids."""
        self.trouble: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        """Fails if a callback failed."""
        self._answered: dict[str, tuple[LiveFailure, SubstituteLocator | WaitLonger]] = {}

    @contextlib.asynccontextmanager
    async def served(self) -> AsyncIterator[int]:
        """Yields the port."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=LARGEST_MESSAGE)
        try:
            yield int(server.sockets[0].getsockname()[1])
        finally:
            server.close()
            self.trouble.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            said = await reader.readline()
            message = json.loads(said) if said else {}
            if hmac.compare_digest(str(message.get("token", "")), self.token):
                answering = asyncio.ensure_future(self._answer(message))
                answering.add_done_callback(self._done)
                await asyncio.wait([answering])
                if not answering.cancelled() and answering.exception() is None:
                    writer.write((json.dumps(answering.result()) + "\n").encode())
                    await writer.drain()
        except (OSError, ValueError):
            return  # the suite's process ended, or it was not the probe
        finally:
            writer.close()

    def _done(self, answering: asyncio.Task[dict[str, object]]) -> None:
        if not answering.cancelled() and (error := answering.exception()) and not self.trouble.done():
            self.trouble.set_exception(error)

    async def _answer(self, message: execution_records.Json) -> dict[str, object]:
        if message.get("type") == "repeated":
            failure, verdict = self._answered.get(str(message.get("failure_id")), (None, None))
            if self._told is not None and failure is not None and verdict is not None:
                self._told(failure, verdict, bool(message.get("worked")))
            return {}
        if self._ask is None:
            return {"verdict": "raise"}
        failure = _live(message)
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await self._ask(failure) or RaiseFailure()
        except TimeoutError:
            answer = RaiseFailure("there was no answer in time")
        if answer.evidence is not None:
            self.evidence[failure.failure_id] = answer.evidence
        if isinstance(answer, SubstituteLocator):
            self._answered[failure.failure_id] = (failure, answer)
            return {"verdict": "substitute", "links": [each.model_dump() for each in answer.candidate.links]}
        if isinstance(answer, WaitLonger):
            self._answered[failure.failure_id] = (failure, answer)
            return {"verdict": "wait", "timeout_ms": answer.timeout_ms}
        return {"verdict": "raise"}


def _live(message: execution_records.Json) -> LiveFailure:
    port = message.get("port")
    return LiveFailure(
        failure_id=message["failure_id"],
        failed=execution_records.build_failed_test(message["test_id"], message["file"], message, message),
        debug_url=f"http://127.0.0.1:{port}" if port else None,
        target_id=message.get("target_id"),
        waited_ms=message.get("waited_ms", 0.0),
        timeout_ms=message.get("timeout_ms"),
        shortened=bool(message.get("shortened")),
        idle=bool(message.get("idle")),
        negative=bool(message.get("negative")),
        arguments=tuple(message.get("arguments", ())),
        frame_url=message.get("frame_url"),
    )


# -- the process ---------------------------------------------------------------------------------------

_ASKED = (
    "import importlib.util as u, json, sys; print(json.dumps({'version': sys.version_info[:2], 'has': [m for m in "
    "('pytest', 'playwright', 'pytest_playwright', 'pytest_playwright_asyncio')"
    " if u.find_spec(m)]}))"
)


async def _tools(suite: PytestSuite) -> frozenset[str] | str:
    """Check the suite's interpreter; returns a sentence if it cannot run the suite."""
    if not await asyncio.to_thread(suite.root.is_dir):
        return f"{suite.root} is not a folder; give the folder pytest is started in"
    try:
        process = await asyncio.create_subprocess_exec(
            str(suite.python), "-c", _ASKED, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        said, complaint = await process.communicate()
    except OSError as exc:
        return (
            f"{suite.python} cannot be started ({exc.strerror}); name the suite's interpreter with --python"
        )
    if process.returncode:
        return f"{suite.python} is not a working Python: {complaint.decode(errors='replace').strip()[-300:]}"
    answer = json.loads(said)
    has = frozenset(answer["has"])
    for needed in ("pytest", "playwright"):
        if needed not in has:
            return f"{suite.python} has no {needed}; install it there, or name the suite's interpreter with --python"
    if answer["version"] < [3, 9]:
        return f"{suite.python} is Python {'.'.join(map(str, answer['version']))}; 3.9 or later is required"
    return has


def _command(request: ExecutionRequest, suite: PytestSuite, tools: frozenset[str]) -> list[str]:
    targets = list(request.test_ids or request.test_file_paths)
    args = list(suite.pytest_args)
    given = [each.partition("=")[0] for each in args]
    command = [str(suite.python), "-m", "pytest", *targets, "-p", "periplus_probe", *args]
    if tools & {"pytest_playwright", "pytest_playwright_asyncio"}:
        if "--tracing" not in given:
            command.append("--tracing=retain-on-failure")
        if suite.base_url and "--base-url" not in given:
            command.append(f"--base-url={suite.base_url}")
        if "--output" not in given:
            command.append(f"--output={records_folder(request, suite) / 'artifacts'}")
    return command


def _library(folder: Path) -> Path:
    file = folder / "library.js"
    file.write_text(in_page_library.library_source(), encoding="utf-8")
    return file


async def _run(
    command: list[str], suite: PytestSuite, settings: Path, output: Path, answers: _FailureServer
) -> execution_records.PytestExit:
    """Run pytest until it ends or is cancelled."""
    probe = str(Path(__file__).parent / "probe")
    env = {**os.environ, **suite.env, "PERIPLUS_PROBE": str(settings), "PYTHONUNBUFFERED": "1"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (probe, env.get("PYTHONPATH"))))
    with output.open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=suite.root,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=said,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    ending: asyncio.Future[Any] = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait(
            {ending, answers.trouble}, timeout=suite.timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        late = not ending.done()
        if late:
            await asyncio.shield(_end(process, ending))
    if answers.trouble.done() and not answers.trouble.cancelled():
        answers.trouble.result()
    return execution_records.PytestExit(None if late else process.returncode, suite.timeout_s, output)


async def _end(process: asyncio.subprocess.Process, ending: asyncio.Future[Any]) -> None:
    """End the process and everything it started; browsers end with the driver that started them."""
    for at_once in (False, True):
        with contextlib.suppress(ProcessLookupError):
            end_process_group(process.pid, at_once=at_once)
        done, _ = await asyncio.wait([ending], timeout=ENDING_S)
        if done:
            return
