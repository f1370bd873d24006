"""`periplus collect`: many runs of one task, with a trace of each.

`collection.json` in the folder describes the collection, so that it can be resumed. Run ids are derived from it and
the row number, so no row runs twice. Input values stay in their file; secrets are not stored.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, ValidationError

from kb_schema.base import Model
from kb_schema.run_records import RunStatus
from kb_store import open_stores
from periplus.errors import UserError
from periplus.fleet.fleet_setup import write_folder_mark
from periplus.fleet.input_rows import InputRow
from periplus.fleet.jobs import Fleet, Job, JobFailed, JobTrouble
from periplus.fleet.run_jobs import RunJobBody, RunJobResult
from periplus.fleet.worker_resources import StoreAddresses
from periplus.runs.run_checks import check_task_known
from periplus.runs.task_runs import new_run_id
from periplus.website_selection import list_websites, select_website

MANIFEST, RESULTS, RUNS = "collection.json", "results.jsonl", "runs"


class RunCollection(Model):
    """The description of a collection."""

    collection_id: str = Field(default_factory=new_run_id)
    task_id: str
    website_id: str
    inputs: str
    """The file with one row per run."""
    inputs_sha256: str
    base_url: str | None = None

    def run_id(self, number: int) -> str:
        """Return the run id of a row, counted from 1."""
        return f"{self.collection_id}.{number:05d}"


class CollectedRun(Model):
    """The result of one row."""

    row: int
    ran: RunJobResult | None = None
    trouble: JobTrouble | None = None

    @property
    def succeeded(self) -> bool:
        """Return whether every step of the task was done."""
        return self.ran is not None and self.ran.status.complete

    @property
    def unverified(self) -> bool:
        """Return whether nothing showed that the task worked."""
        return self.ran is not None and self.ran.status is RunStatus.UNVERIFIED


@dataclass(frozen=True)
class RunCollectionSettings:
    """Stores, folder and shared values of a collection."""

    store_addresses: StoreAddresses
    folder: Path
    values: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)
    """Inputs with the same value in every run; not stored."""
    lease_s: float | None = None
    """None: the default."""
    uploads: Path | None = None
    """The only folder with files for uploads; None: any."""


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def begin_collection(collection: RunCollection, folder: Path) -> None:
    """Write `collection.json` before the first run. Raises `UserError` if the folder already has one."""
    try:
        with (folder / MANIFEST).open("x", encoding="utf-8") as file:
            file.write(collection.model_dump_json(indent=2))
    except FileExistsError as exc:
        raise UserError(
            f"{folder} already contains a collection", fix=f"resume it: periplus collect --resume {folder}"
        ) from exc


def find_collection(folder: Path) -> RunCollection:
    """Return the collection of a folder. Raises `UserError` if it cannot be resumed."""
    try:
        found = RunCollection.model_validate_json((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise UserError(
            f"{folder} contains no collection", fix="name an output folder of `periplus collect`"
        ) from exc
    except ValidationError as exc:
        raise UserError(f"{folder / MANIFEST} cannot be read", fix="start a new collection") from exc
    path = Path(found.inputs)
    if not path.is_file() or hash_file(path) != found.inputs_sha256:
        raise UserError(
            f"{path} has changed since the collection was started",
            fix="restore the file, or start a new collection in another folder",
        )
    return found


async def find_website(store_addresses: StoreAddresses, website: str | None, task_id: str) -> str:
    """Return the website's id. Raises `UserError` for a missing website, and for a task that it does not have."""
    opening = open_stores(
        Path(store_addresses.data_dir),
        mongodb_url=store_addresses.mongodb_url,
        arangodb_url=store_addresses.arangodb_url,
    )
    async with opening as stores:
        website_id = select_website(website, await list_websites(stores))
        await check_task_known(stores, website_id, task_id)
    return website_id


async def collect_runs(
    collection: RunCollection,
    rows: Sequence[InputRow],
    fleet: Fleet,
    settings: RunCollectionSettings,
    *,
    tell: Callable[[CollectedRun], None],
    heard: Callable[[int, JsonValue], None] = lambda _row, _said: None,
) -> list[CollectedRun]:
    """Run all rows and return their results in order; each is reported and written to `results.jsonl` as it ends.

    A failed row raises nothing; the failure is its result.
    """
    folder = settings.folder
    (folder / RUNS).mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        mark = stack.enter_context(write_folder_mark(folder))
        results = stack.enter_context((folder / RESULTS).open("a", encoding="utf-8"))

        async def one(number: int, row: InputRow) -> CollectedRun:
            job = _build_run_job(collection, number, row, settings, mark)
            try:
                ran = RunJobResult.model_validate(await fleet.do(job, lambda said: heard(number, said)))
                came = CollectedRun(row=number, ran=ran)
            except JobFailed as exc:
                came = CollectedRun(row=number, trouble=exc.trouble)
            results.write(came.model_dump_json() + "\n")
            results.flush()
            tell(came)
            return came

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number, row)) for number, row in enumerate(rows, 1)]
        return [task.result() for task in tasks]


def _build_run_job(
    collection: RunCollection, number: int, row: InputRow, settings: RunCollectionSettings, mark: str
) -> Job:
    more: dict[str, Any] = {} if settings.lease_s is None else {"lease_s": settings.lease_s}
    body = RunJobBody(
        store_addresses=settings.store_addresses,
        website_id=collection.website_id,
        task_id=collection.task_id,
        run_id=collection.run_id(number),
        values={**settings.values, **row},
        base_url=collection.base_url,
        folder=str((settings.folder / RUNS / f"{number:05d}").absolute()),
        mark=mark,
        uploads=None if settings.uploads is None else str(settings.uploads.absolute()),
        **more,
    )
    return Job(kind="run", key=f"row {number}", body=body.model_dump(mode="json"))
