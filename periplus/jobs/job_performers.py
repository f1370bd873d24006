"""What the kinds of jobs do: a task runs in a browser of this process, other kinds run a `periplus` command as a process.

A command has its own signals, and a crash of it is not one of the server. It gets the addresses of the stores, not the keys of
the server's clients. Not here: which jobs are accepted (`job_checks`).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kb_schema.owner_folders import make_owner_folder
from kb_schema.service_records import (
    DemoOrder,
    MapOrder,
    SentenceOrder,
    StoredJob,
    TaskOrder,
    TeachOrder,
    VerificationOrder,
)
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.exploration.map_folder import MAPS
from periplus.fleet.fleet_setup import write_folder_mark
from periplus.fleet.jobs import Job, JobFailed
from periplus.fleet.local_fleet import LocalFleet, open_local_fleet
from periplus.fleet.run_jobs import RunJobBody, RunJobResult
from periplus.fleet.worker_resources import StoreAddresses
from periplus.jobs.job_runner import JOBS, JobCancelled, JobLeft, JobOutcome, JobPerformer, JobWork

RUN = "run"
"""The folder of a task's run, in the job's folder."""
OUTPUT = "output.txt"
"""What a command printed, in the job's folder."""
STOP_S = 20.0
"""Seconds that a command may take to end after SIGTERM."""
ERROR = "Error:"
"""What an error begins with that a command prints."""
LONGEST = 500
TAIL = 4_000
"""Bytes of a command's output in which the reason of a failure is looked for."""
WITHHELD = ("PERIPLUS_API_KEY", "PERIPLUS_API_KEYS", "PERIPLUS_OIDC_CLIENT_SECRET")
"""Variables of the server that its commands do not get."""


@dataclass(frozen=True, slots=True)
class JobPlaces:
    """Where jobs read and write."""

    addresses: StoreAddresses
    folder: Path
    """The folder of runs."""
    files: Path
    """The folder of files: uploads, and requirements to verify."""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Base URLs of websites, if they differ from the knowledge base."""

    def of_job(self, job: StoredJob) -> Path:
        """Return the folder of a job."""
        return self.folder / (job.folder or "")


def build_performers(places: JobPlaces, runs: RunStore) -> dict[str, JobPerformer]:
    """Return the performer of each kind of order."""
    command = CommandPerformer(places, runs)
    return {
        "task": TaskPerformer(places),
        "sentence": SentencePerformer(places),
        "verification": command,
        "map": command,
        "demo": command,
        "teach": command,
    }


# -- tasks -----------------------------------------------------------------------------------------


class TaskPerformer:
    """Runs a task or a workflow; a run that was cut off goes on from its checkpoint."""

    resumable = True

    def __init__(self, places: JobPlaces) -> None:
        self._places = places

    def begin(self, job: StoredJob) -> JobWork:
        """Return the work of a job."""
        return _RunWork(self._places, job, resumable=self.resumable)


class SentencePerformer:
    """Does a job in words by its plan; one that was cut off is not continued, as the model knows no more what it did."""

    resumable = False

    def __init__(self, places: JobPlaces) -> None:
        self._places = places

    def begin(self, job: StoredJob) -> JobWork:
        """Return the work of a job."""
        return _RunWork(self._places, job, resumable=self.resumable)


class _RunWork:
    def __init__(self, places: JobPlaces, job: StoredJob, *, resumable: bool) -> None:
        self._places, self._job, self._resumable = places, job, resumable
        self._fleet: LocalFleet | None = None
        self._why: type[Exception] | None = None

    async def done(self) -> JobOutcome:
        order = self._job.order
        assert isinstance(order, TaskOrder | SentenceOrder)  # noqa: S101 - `build_performers` chooses by the kind
        task = order if isinstance(order, TaskOrder) else None
        folder = self._places.of_job(self._job)
        make_owner_folder(folder)
        with write_folder_mark(folder) as mark:
            body = RunJobBody(
                store_addresses=self._places.addresses,
                website_id=order.website_id,
                task_id=None if task is None else task.task_id,
                run_id=self._job.run_id or self._job.job_id,
                values=dict(order.values),
                base_url=self._places.base_urls.get(order.website_id),
                folder=str((folder / RUN).absolute()),
                mark=mark,
                uploads=str(self._places.files.absolute()),
                pictures=True,
                playwright_trace=task is not None and task.trace,
                sentence=order if isinstance(order, SentenceOrder) else None,
                with_model=True,
            )
            async with open_local_fleet(1) as fleet:
                self._fleet = fleet
                if self._why is not None:
                    raise self._ended()
                work = Job(
                    kind="run",
                    key="sentence" if task is None else task.task_id,
                    body=body.model_dump(mode="json"),
                )
                try:
                    ran = RunJobResult.model_validate(await fleet.do(work))
                except JobFailed as exc:
                    if exc.trouble.kind == "stopped" and self._why is not None:
                        raise self._ended() from exc
                    raise UserError(exc.trouble.message, fix=exc.trouble.fix) from exc
        return JobOutcome(
            outcome=ran.status.value,
            error=ran.error,
            hint=ran.hint,
            run_id=ran.run_id,
            model_use=ran.model_use,
        )

    async def stop(self, *, leave: bool) -> None:
        self._why = self._why or (JobLeft if leave else JobCancelled)
        if self._fleet is not None:
            await self._fleet.stop("the service stops" if leave else "cancelled")

    def _ended(self) -> Exception:
        return JobLeft(resumable=self._resumable) if self._why is JobLeft else JobCancelled()


# -- commands --------------------------------------------------------------------------------------


class CommandPerformer:
    """Runs a command of Periplus."""

    resumable = False

    def __init__(self, places: JobPlaces, runs: RunStore) -> None:
        self._places, self._runs = places, runs

    def begin(self, job: StoredJob) -> JobWork:
        """Return the work of a job."""
        return _CommandWork(self._places, self._runs, job)


class _CommandWork:
    def __init__(self, places: JobPlaces, runs: RunStore, job: StoredJob) -> None:
        self._places, self._runs, self._job = places, runs, job
        self._process: asyncio.subprocess.Process | None = None
        self._why: type[Exception] | None = None

    async def done(self) -> JobOutcome:
        folder = self._places.of_job(self._job).absolute()
        make_owner_folder(folder)
        arguments = build_arguments(self._job, self._places)
        with (folder / OUTPUT).open("wb") as output:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "periplus",
                *arguments,
                cwd=folder,
                env=_build_environment(self._places.addresses),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C at the server's terminal is not for it
            )
            try:
                code = await self._process.wait()
            except asyncio.CancelledError:
                self._process.kill()
                raise
        if self._why is JobCancelled:
            raise JobCancelled
        if self._why is JobLeft:
            raise JobLeft(resumable=False)
        reason, fix = await asyncio.to_thread(read_reason, folder / OUTPUT) if code else (None, None)
        # A map has no outcome of its own: one that ends with a failure has drawn nothing.
        if code == ExitCode.USER_ERROR or (code == ExitCode.FAILED and isinstance(self._job.order, MapOrder)):
            raise UserError(reason or "the command was refused", fix=fix or f"see {OUTPUT} of the job")
        outcome = "success" if code == ExitCode.DONE else "partial" if code == ExitCode.PARTIAL else "failure"
        return JobOutcome(outcome=outcome, error=reason, hint=fix, run_id=await self._find_run())

    async def stop(self, *, leave: bool) -> None:
        self._why = self._why or (JobLeft if leave else JobCancelled)
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), STOP_S)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()

    async def _find_run(self) -> str | None:
        """Return the run that the command of a demo stored."""
        order, began = self._job.order, self._job.started_at
        if not isinstance(order, DemoOrder) or began is None:
            return None
        newest = await self._runs.runs(website_id=order.website_id, limit=20)
        return next(
            (each.run_id for each in newest if each.kind == "demo" and each.started_at >= began), None
        )


def build_arguments(job: StoredJob, places: JobPlaces) -> list[str]:
    """Return the arguments of the command of a job. Values of orders never begin an argument that is an option."""
    match job.order:
        case VerificationOrder() as order:
            return _arguments_of_verification(order, places, places.of_job(job).absolute())
        case MapOrder() as order:
            return _arguments_of_map(order, places)
        case DemoOrder() as order:
            return _arguments_of_demo(order, places, places.of_job(job).absolute())
        case TeachOrder() as order:
            return _arguments_of_teaching(order, places, places.of_job(job).absolute())
        case _:
            raise AssertionError(job.order.kind)  # pragma: no cover - `build_performers` chooses by the kind


def _arguments_of_verification(order: VerificationOrder, places: JobPlaces, folder: Path) -> list[str]:
    base = [f"--base-url={order.base_url}"] if order.base_url else []
    files = [str((places.files / each).absolute()) for each in order.files]
    return ["verify", *base, "--headless", f"--out={folder / 'report'}", "--", *files]


def _arguments_of_map(order: MapOrder, places: JobPlaces) -> list[str]:
    sign_in = [f"--sign-in={order.sign_in_task}"] if order.sign_in_task else []
    common = [f"--website={order.website_id}", *sign_in, f"--states={order.most_pages}"]
    if order.update:
        apply = ["--apply"] if order.load else []
        return ["map", "--update", *common, *apply]
    out = Path(places.addresses.data_dir).absolute() / MAPS / order.website_id
    load = ["--load"] if order.load else []
    return ["map", *common, *load, f"--out={out}", "--", order.url]


def _arguments_of_demo(order: DemoOrder, places: JobPlaces, folder: Path) -> list[str]:
    base = places.base_urls.get(order.website_id)
    return [
        "demo",
        f"--website={order.website_id}",
        f"--flow={order.flow_id}",
        "--headless",
        f"--out={folder / 'demo'}",
        *([f"--base-url={base}"] if base else []),
        *([f"--language={order.language}"] if order.language else []),
        *(["--rehearse"] if order.rehearse else []),
    ]


def _arguments_of_teaching(order: TeachOrder, places: JobPlaces, folder: Path) -> list[str]:
    base = places.base_urls.get(order.website_id)
    return [
        "synthesize",
        f"--name={order.name}",
        f"--website={order.website_id}",
        "--publish",
        "--headless",
        f"--out={folder / 'workflow'}",
        *([f"--base-url={base}"] if base else []),
        "--",
        *(str((places.folder / JOBS / each / RUN).absolute()) for each in order.jobs),
    ]


def _build_environment(addresses: StoreAddresses) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in WITHHELD}
    stores = {
        "PERIPLUS_DATA_DIR": addresses.data_dir,
        "PERIPLUS_MONGODB_URL": addresses.mongodb_url,
        "PERIPLUS_ARANGODB_URL": addresses.arangodb_url,
    }
    for name, value in stores.items():
        kept.pop(name, None)
        if value:
            kept[name] = value
    # A width that cuts no line, and no colours.
    return {**kept, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}


def read_reason(output: Path) -> tuple[str | None, str | None]:
    """Return the last error that a command printed and its fix, each in one line; without an error its last line."""
    lines = [line.strip() for line in read_tail(output, TAIL).splitlines() if line.strip()]
    if not lines:
        return None, None
    at = max((number for number, line in enumerate(lines) if line.startswith(ERROR)), default=None)
    if at is None:
        return lines[-1][:LONGEST], None
    message, _, fix = " ".join(lines[at:]).removeprefix(ERROR).partition(" -> ")
    return message.strip()[:LONGEST], fix.strip()[:LONGEST] or None


def read_tail(output: Path, size: int) -> str:
    """Return the end of a command's output, from a whole line on; empty if there is none."""
    try:
        with output.open("rb") as file:
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - size))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return text if length <= size else text.partition("\n")[2]
