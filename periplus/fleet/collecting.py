"""Many runs of one task, a trace of each: what `periplus collect` does.

`collection.json` in the folder says what is collected, so that it can be carried on; every run's id follows from
it and from the row, and no run is done twice. Values stay in their file, and secrets nowhere.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from kb_schema.base import Model
from kb_schema.runs import RunStatus
from kb_store import open_stores
from periplus.errands import new_run_id
from periplus.errors import UserError
from periplus.fleet.home import Shelf
from periplus.fleet.opening import marked
from periplus.fleet.ports import Fleet, Job, JobFailed, Trouble
from periplus.fleet.rows import Row
from periplus.fleet.running import Ran, RunBody
from periplus.websites import which_website

MANIFEST, RESULTS, RUNS = "collection.json", "results.jsonl", "runs"


class Collection(Model):
    """What is collected."""

    collection_id: str = Field(default_factory=new_run_id)
    task_id: str
    website_id: str
    inputs: str
    """The file with a row for each run."""
    inputs_sha256: str
    base_url: str | None = None

    def run_id(self, number: int) -> str:
        """Of a row, from 1."""
        return f"{self.collection_id}.{number:05d}"


class Collected(Model):
    """One row's run."""

    row: int
    ran: Ran | None = None
    trouble: Trouble | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the task was done."""
        return self.ran is not None and self.ran.status is RunStatus.SUCCESS


@dataclass(frozen=True)
class CollectSettings:
    """How it is done."""

    shelf: Shelf
    folder: Path
    values: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)
    """The same for every run; not kept."""
    lease_s: float | None = None
    """None: as ever."""


def sha256_of(path: Path) -> str:
    """Of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def begin_collection(collection: Collection, folder: Path) -> None:
    """Write down what is collected, before anything is. Raises `UserError` where the folder has another one."""
    try:
        with (folder / MANIFEST).open("x", encoding="utf-8") as file:
            file.write(collection.model_dump_json(indent=2))
    except FileExistsError as exc:
        raise UserError(
            f"{folder} holds a collection already", fix=f"carry it on: periplus collect --resume {folder}"
        ) from exc


def find_collection(folder: Path) -> Collection:
    """What a folder was to hold. Raises `UserError` where that cannot be gone on with."""
    try:
        found = Collection.model_validate_json((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise UserError(f"{folder} holds no collection", fix="name the folder of `periplus collect`") from exc
    except ValidationError as exc:
        raise UserError(f"{folder / MANIFEST} cannot be read", fix="collect anew") from exc
    path = Path(found.inputs)
    if not path.is_file() or sha256_of(path) != found.inputs_sha256:
        raise UserError(
            f"{path} is not what it was when this began",
            fix="put it back, or collect anew into another folder",
        )
    return found


async def find_website(shelf: Shelf, website: str | None) -> str:
    """Which website of the store it is about. Raises `UserError`, before anything begins."""
    opening = open_stores(
        Path(shelf.data_dir), mongodb_url=shelf.mongodb_url, arangodb_url=shelf.arangodb_url
    )
    async with opening as stores:
        known = sorted(each.website_id for each in await stores.documents.websites())
    return which_website(website, known)


async def collect(
    collection: Collection,
    rows: Sequence[Row],
    fleet: Fleet,
    settings: CollectSettings,
    *,
    tell: Callable[[Collected], None],
    heard: Callable[[int, JsonValue], None] = lambda _row, _said: None,
) -> list[Collected]:
    """All rows, in their order; each is told as it ends, and written to `results.jsonl`.

    Raises nothing for a row that goes wrong: that is its result.
    """
    folder = settings.folder
    (folder / RUNS).mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        mark = stack.enter_context(marked(folder))
        results = stack.enter_context((folder / RESULTS).open("a", encoding="utf-8"))

        async def one(number: int, row: Row) -> Collected:
            job = _job(collection, number, row, settings, mark)
            try:
                ran = Ran.model_validate(await fleet.do(job, lambda said: heard(number, said)))
                came = Collected(row=number, ran=ran)
            except JobFailed as exc:
                came = Collected(row=number, trouble=exc.trouble)
            results.write(came.model_dump_json() + "\n")
            results.flush()
            tell(came)
            return came

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number, row)) for number, row in enumerate(rows, 1)]
        return [task.result() for task in tasks]


def _job(collection: Collection, number: int, row: Row, settings: CollectSettings, mark: str) -> Job:
    more = {} if settings.lease_s is None else {"lease_s": settings.lease_s}
    body = RunBody(
        shelf=settings.shelf,
        website_id=collection.website_id,
        task_id=collection.task_id,
        run_id=collection.run_id(number),
        values={**settings.values, **row},
        base_url=collection.base_url,
        folder=str((settings.folder / RUNS / f"{number:05d}").absolute()),
        mark=mark,
        **more,
    )
    return Job(kind="run", key=f"row {number}", body=body.model_dump(mode="json"))
