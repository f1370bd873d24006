"""A batch of requirements: verified side by side, each isolated, resumable after an interruption.

A manifest in the data directory describes the batch (files, site, options; no secrets). Each requirement is
a run of its own, `BATCH.REQ`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError, field_validator

from agent.browser.browser_profile import BrowserProfile
from agent.events import Event
from agent.execution.stop_request import RunStopped, StopRequest
from agent.verification.generation.generated_files import sha256
from agent.verification.reports import read_verdict, write_verdict
from kb_schema.base import Model
from kb_schema.owner_folders import make_owner_folder
from kb_schema.verification import Requirement, VerdictReport
from periplus.errors import UserError
from periplus.foreign_input import DEFAULT_BUDGET
from periplus.run_store_adapters import LAST
from periplus.runs.task_runs import new_run_id
from periplus.session_setup import BrowserOptions
from periplus.verification.generated_test_proof import ProofChoice

if TYPE_CHECKING:
    from periplus.verifier_ports import VerifierPort

FOLDER = "verifications"


class VerificationBatch(Model):
    """The options of a batch, saved so that it can be resumed."""

    batch_id: str = Field(default_factory=new_run_id)
    began: datetime = Field(default_factory=lambda: datetime.now().astimezone())
    files: tuple[str, ...]
    only: tuple[str, ...] = ()
    out: str
    base_url: str | None = None
    origins: tuple[str, ...] = ()
    """Origins besides the site's own in which secrets may be typed."""
    import_memory_mb: int = DEFAULT_BUDGET.memory_mb
    import_seconds: int = DEFAULT_BUDGET.seconds
    url: str | None = None
    website: str | None = None
    seed: str | None = None
    login: str | None = None
    workers: str = "2"
    """As given to `--workers`."""
    headed: bool | None = None
    cdp_endpoint: str | None = None
    """The running browser to work in; None: one that is started."""
    channel: str | None = None
    proxy_server: str | None = None
    profile: BrowserProfile = Field(default_factory=BrowserProfile)
    max_heal_rounds: int | None = None
    timeout: float | None = Field(default=None, gt=0)
    """Seconds that an element and an outcome may take; None: `PERIPLUS_PLAYWRIGHT_TIMEOUT`."""
    requirement_timeout: float | None = Field(default=None, gt=0)
    """Seconds; None: `PERIPLUS_REQUIREMENT_TIMEOUT`."""
    tests: bool = True
    run_tests: bool = False
    prove: ProofChoice = "repeatable"
    reset: str | None = None
    rediscover: bool = False
    model: str | None = None

    @field_validator("workers", mode="before")
    @classmethod
    def _was_a_number(cls, value: object) -> object:
        """Accept manifests written before fleets existed, where it was a number."""
        return str(value) if isinstance(value, int) else value

    def browser_options(self) -> BrowserOptions:
        """Return the browser to use. Whether another machine's may be used was checked when the batch began."""
        return BrowserOptions(
            self.cdp_endpoint,
            self.cdp_endpoint is not None,
            channel=self.channel,
            proxy_server=self.proxy_server,
            headed=self.headed,
        )

    def run_id(self, req_id: str) -> str:
        """Return the id of the run of one requirement."""
        return f"{self.batch_id}.{req_id}"


def keep_batch(batch: VerificationBatch, data_dir: Path) -> None:
    """Save the manifest, before anything begins."""
    folder = data_dir / FOLDER
    make_owner_folder(folder)
    (folder / f"{batch.batch_id}.json").write_text(batch.model_dump_json(indent=2), encoding="utf-8")


def find_batch(wanted: str, data_dir: Path) -> VerificationBatch:
    """Return the batch with this id or beginning of an id, of one of its runs, or the `last`. Raises
    `UserError`.
    """
    known = {path.stem: path for path in (data_dir / FOLDER).glob("*.json")}
    if wanted == LAST and known:
        found = [max(known, key=lambda each: known[each].stat().st_mtime_ns)]
    else:
        name = wanted.partition(".")[0]
        found = [name] if name in known else sorted(each for each in known if name and each.startswith(name))
    if len(found) != 1:
        told = f"several verifications begin with {wanted!r}" if found else f"no verification {wanted!r}"
        newest = sorted(known, key=lambda each: known[each].stat().st_mtime_ns, reverse=True)[:5]
        raise UserError(told, fix=f"known: {', '.join(found or newest) or 'none'}; or `last`")
    try:
        return VerificationBatch.model_validate_json(known[found[0]].read_text(encoding="utf-8"))
    except ValidationError as exc:
        raise UserError(f"{known[found[0]]} cannot be read", fix="start a new verification") from exc


def read_finished_reports(
    batch: VerificationBatch, requirements: Sequence[Requirement]
) -> dict[str, VerdictReport]:
    """Return the reports of this batch with a final verdict: these requirements are not verified again."""
    found = {}
    for each in requirements:
        report = read_verdict(Path(batch.out), each.req_id)
        if report is not None and report.run_id == batch.run_id(each.req_id) and report.verdict != "partial":
            found[each.req_id] = report
    return found


async def verify_all(
    batch: VerificationBatch,
    requirements: Sequence[Requirement],
    verifier: VerifierPort,
    *,
    width: int,
    done: dict[str, VerdictReport],
    tell: Callable[[Event], None],
    stop: StopRequest,
) -> list[VerdictReport]:
    """Verify the requirements, `width` at a time, and return their reports in order. Those in `done` are
    not repeated.

    Raises `UserError` for what the caller must fix, after the running verifications have stopped.
    """
    turn = asyncio.Semaphore(width)
    reports = dict(done)

    async def one(requirement: Requirement) -> None:
        async with turn:
            if stop.reason is not None:
                return
            with suppress(RunStopped):  # it has no report
                reports[requirement.req_id] = await verifier.verify(
                    requirement, run_id=batch.run_id(requirement.req_id), tell=tell, stop=stop
                )

    left = [each for each in requirements if each.req_id not in done]
    tasks = [asyncio.create_task(one(each), name=f"verify {each.req_id}") for each in left]
    try:
        for task in asyncio.as_completed(tasks):
            await task
    except BaseException:
        stop.ask("another requirement could not be verified")
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    ordered = [reports[each.req_id] for each in requirements if each.req_id in reports]
    return [_add_test_hash(each, Path(batch.out)) for each in ordered]


def _add_test_hash(report: VerdictReport, folder: Path) -> VerdictReport:
    """Update the hash of its test: later requirements may have changed the files it shares."""
    test = report.artifacts.get("test_file")
    if test is None or not (folder / test).is_file():
        return report
    now = sha256((folder / test).read_bytes())
    if now == report.artifacts.get("test_hash"):
        return report
    report = report.model_copy(update={"artifacts": {**report.artifacts, "test_hash": now}})
    write_verdict(report, folder)
    return report
