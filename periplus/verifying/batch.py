"""Many requirements as one piece of work: side by side, each isolated, carried on where it was cut off.

A manifest in the data directory says what the work is (files, site, options; no secrets); each requirement
is a run of its own, `BATCH.REQ`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError, field_validator

from agent.engine.stopping import Stop, Stopped
from agent.events import Event
from agent.verifying.generating.files import sha256
from agent.verifying.reporting import read_verdict, write_verdict
from kb_schema.base import Model
from kb_schema.verification import Requirement, VerdictReport
from periplus.errands import new_run_id
from periplus.errors import UserError
from periplus.logbook import LAST

if TYPE_CHECKING:
    from periplus.service.ports import Verifier

FOLDER = "verifications"


class Batch(Model):
    """What was asked for, so that it can be carried on."""

    batch_id: str = Field(default_factory=new_run_id)
    began: datetime = Field(default_factory=lambda: datetime.now().astimezone())
    files: tuple[str, ...]
    only: tuple[str, ...] = ()
    out: str
    base_url: str | None = None
    url: str | None = None
    website: str | None = None
    seed: str | None = None
    login: str | None = None
    workers: str = "2"
    """As `--workers` says."""
    headed: bool | None = None
    max_heal_rounds: int | None = None
    tests: bool = True
    run_tests: bool = False
    rediscover: bool = False
    model: str | None = None

    @field_validator("workers", mode="before")
    @classmethod
    def _was_a_number(cls, value: object) -> object:
        """Of a manifest that is older than fleets."""
        return str(value) if isinstance(value, int) else value

    def run_id(self, req_id: str) -> str:
        """Of the run of one requirement."""
        return f"{self.batch_id}.{req_id}"


def keep_batch(batch: Batch, data_dir: Path) -> None:
    """Write it down, before anything begins."""
    folder = data_dir / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{batch.batch_id}.json").write_text(batch.model_dump_json(indent=2), encoding="utf-8")


def find_batch(wanted: str, data_dir: Path) -> Batch:
    """By its id, the run of one of its requirements, how an id begins, or `last`. Raises `UserError`."""
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
        return Batch.model_validate_json(known[found[0]].read_text(encoding="utf-8"))
    except ValidationError as exc:
        raise UserError(f"{known[found[0]]} cannot be read", fix="begin anew") from exc


def finished(batch: Batch, requirements: Sequence[Requirement]) -> dict[str, VerdictReport]:
    """Reports of this very work that say how it ended: these are not repeated."""
    found = {}
    for each in requirements:
        report = read_verdict(Path(batch.out), each.req_id)
        if report is not None and report.run_id == batch.run_id(each.req_id) and report.verdict != "partial":
            found[each.req_id] = report
    return found


async def verify_all(
    batch: Batch,
    requirements: Sequence[Requirement],
    verifier: Verifier,
    *,
    width: int,
    done: dict[str, VerdictReport],
    tell: Callable[[Event], None],
    stop: Stop,
) -> list[VerdictReport]:
    """The reports of all, in the order of the requirements; those that are `done` as they are. `width` at a
    time.

    Raises `UserError` for what a person must put right; what is being verified then comes to its end first.
    """
    turn = asyncio.Semaphore(width)
    reports = dict(done)

    async def one(requirement: Requirement) -> None:
        async with turn:
            if stop.reason is not None:
                return
            with suppress(Stopped):  # it has no report
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
    return [_hashed(each, Path(batch.out)) for each in ordered]


def _hashed(report: VerdictReport, folder: Path) -> VerdictReport:
    """With the hash of its test as it is now: tests of requirements that came later may share its pages."""
    test = report.artifacts.get("test_file")
    if test is None or not (folder / test).is_file():
        return report
    now = sha256((folder / test).read_bytes())
    if now == report.artifacts.get("test_hash"):
        return report
    report = report.model_copy(update={"artifacts": {**report.artifacts, "test_hash": now}})
    write_verdict(report, folder)
    return report
