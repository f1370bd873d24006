"""Collections of the service: many runs of one task, with a trace of each, as `periplus collect` does.

One collection runs at a time, the others wait. What is running is in memory; what ended is in the collection's folder, so
that it can be read after a restart, and resumed with `periplus collect --resume DIR`. Not here: the routes
(`collection_routes`) and the runs themselves (`periplus.fleet`).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import JsonValue, ValidationError

from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.owner_folders import make_owner_folder
from mcp_server.knowledge.view_cache import ViewCache
from periplus.fleet.input_rows import InputRow
from periplus.fleet.local_fleet import LocalFleet, open_local_fleet
from periplus.fleet.made_inputs import (
    USUAL_RUNS,
    Kinds,
    choose_kinds,
    make_input_rows,
    write_input_rows,
)
from periplus.fleet.run_collection import (
    MANIFEST,
    RESULTS,
    CollectedRun,
    RunCollection,
    RunCollectionSettings,
    begin_collection,
    collect_runs,
    hash_file,
)
from periplus.fleet.worker_resources import StoreAddresses
from periplus.runs.task_runs import new_run_id
from periplus.service.problem_details import ApiProblem

COLLECTIONS = "collections"
"""Folder of the collections in the folder of runs."""
MOST_WAITING = 20
CollectionState = Literal["waiting", "running", "ended", "cancelled", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class CollectionOrder:
    """What is to be collected: rows of inputs, or how many rows are to be made."""

    website_id: str
    task_id: str
    rows: tuple[InputRow, ...] = ()
    runs: int | None = None
    make: Kinds = field(default_factory=dict)
    values: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)
    """Inputs with the same value in every run; not stored."""
    workers: int = 1


@dataclass(slots=True)
class CollectionProgress:
    """How far a collection is."""

    collection: RunCollection
    folder: Path
    total: int
    state: CollectionState = "waiting"
    error: str | None = None
    results: list[CollectedRun] = field(default_factory=list)
    fleet: LocalFleet | None = field(default=None, repr=False)
    work: asyncio.Task[None] | None = field(default=None, repr=False)


class CollectionRunner:
    """Carries out collections, one after the other."""

    def __init__(
        self,
        addresses: StoreAddresses,
        views: ViewCache,
        folder: Path,
        base_urls: Mapping[str, str],
        uploads: Path,
    ) -> None:
        """`uploads`: the only folder from which a client's inputs may name files to upload."""
        self._addresses, self._views, self._base_urls = addresses, views, base_urls
        self._uploads = uploads
        self._folder = folder / COLLECTIONS
        self._turn = asyncio.Lock()
        self._known: dict[str, CollectionProgress] = {}

    async def submit(self, order: CollectionOrder) -> CollectionProgress:
        """Accept a collection and begin it in its turn. Raises `ApiProblem`, `UserError`, `KnowledgeServerError`."""
        if sum(each.state == "waiting" for each in self._known.values()) >= MOST_WAITING:
            raise ApiProblem(
                429, "rate_limited", f"{MOST_WAITING} collections wait already", fix="wait for one to end"
            )
        knowledge = (await self._views.current(order.website_id)).view.knowledge
        rows = _make_rows(knowledge, order)
        collection_id = new_run_id()
        folder = self._folder / collection_id
        make_owner_folder(folder)
        inputs = write_input_rows(rows, folder)
        collection = RunCollection(
            collection_id=collection_id,
            task_id=order.task_id,
            website_id=order.website_id,
            inputs=str(inputs.absolute()),
            inputs_sha256=hash_file(inputs),
            base_url=self._base_urls.get(order.website_id),
        )
        begin_collection(collection, folder)
        progress = CollectionProgress(collection, folder, len(rows))
        self._known[collection_id] = progress
        progress.work = asyncio.create_task(self._carry_out(progress, rows, order))
        return progress

    def find(self, collection_id: str) -> CollectionProgress:
        """Return a collection, also one of an earlier process. Raises `ApiProblem` (404)."""
        found = self._known.get(collection_id) or _read_ended(self._folder / collection_id)
        if found is None:
            raise ApiProblem(
                404, "not_found", f"no collection {collection_id!r}", fix="POST /api/collections begins one"
            )
        return found

    async def wait(self, collection_id: str, most_s: float) -> CollectionProgress:
        """Return a collection when it is over, or after so many seconds. Raises `ApiProblem` (404)."""
        found = self.find(collection_id)
        if found.work is not None and most_s > 0:
            await asyncio.wait({found.work}, timeout=most_s)
        return found

    async def cancel(self, collection_id: str) -> CollectionProgress:
        """Stop a collection: each run after its current step. Raises `ApiProblem` if it is unknown or over."""
        found = self.find(collection_id)
        if found.work is None or found.work.done():
            raise ApiProblem(
                409,
                "not_running",
                f"collection {collection_id!r} is not running",
                fix="GET it to see how it ended",
            )
        found.state = "cancelled"
        if found.fleet is None:
            found.work.cancel()
        else:
            await found.fleet.stop("cancelled")
        with suppress(asyncio.CancelledError):
            await found.work
        return found

    async def close(self) -> None:
        """Stop everything that runs; it can be resumed with `periplus collect --resume`."""
        for each in self._known.values():
            if each.work is not None and not each.work.done():
                each.state = "interrupted"
                if each.fleet is not None:
                    await each.fleet.stop("the service stops")
                else:
                    each.work.cancel()
                with suppress(asyncio.CancelledError):
                    await each.work

    async def _carry_out(
        self, progress: CollectionProgress, rows: list[InputRow], order: CollectionOrder
    ) -> None:
        async with self._turn:
            if progress.state != "waiting":
                return
            progress.state = "running"
            settings = RunCollectionSettings(
                self._addresses, progress.folder, order.values, uploads=self._uploads
            )
            try:
                async with open_local_fleet(order.workers) as fleet:
                    progress.fleet = fleet
                    await collect_runs(
                        progress.collection, rows, fleet, settings, tell=progress.results.append
                    )
            except Exception as exc:  # noqa: BLE001 - the outermost boundary of a collection
                progress.state, progress.error = "failed", str(exc)
                return
            if progress.state == "running":
                progress.state = "ended"


@asynccontextmanager
async def open_collection_runner(
    addresses: StoreAddresses, views: ViewCache, folder: Path, base_urls: Mapping[str, str], uploads: Path
) -> AsyncIterator[CollectionRunner]:
    """Open a runner, and stop its collections at the end."""
    runner = CollectionRunner(addresses, views, folder, base_urls, uploads)
    try:
        yield runner
    finally:
        await runner.close()


def _make_rows(knowledge: KnowledgeBase, order: CollectionOrder) -> list[InputRow]:
    kinds = choose_kinds(knowledge, order.task_id, order.values.keys(), order.make)
    if not order.rows:
        return make_input_rows(kinds, order.runs or USUAL_RUNS, uuid.uuid4().hex)
    work = knowledge.workflows.get(order.task_id) or knowledge.tasks[order.task_id]
    known = {spec.name for spec in work.io_spec.inputs}
    for number, row in enumerate(order.rows, start=1):
        unknown = sorted(row.keys() - known)
        if unknown:
            raise ApiProblem(
                422,
                "invalid_request",
                f"row {number}: {order.task_id} has no input {unknown[0]!r}",
                fix=f"its inputs: {', '.join(sorted(known)) or 'none'}",
            )
    return list(order.rows)


def _read_ended(folder: Path) -> CollectionProgress | None:
    """Return a collection of an earlier process, from its folder."""
    try:
        collection = RunCollection.model_validate_json((folder / MANIFEST).read_text(encoding="utf-8"))
        total = len(Path(collection.inputs).read_text(encoding="utf-8").splitlines())
    except (OSError, ValidationError):
        return None
    results: dict[int, CollectedRun] = {}
    with suppress(OSError):
        for line in (folder / RESULTS).read_text(encoding="utf-8").splitlines():
            with suppress(ValidationError):
                each = CollectedRun.model_validate_json(line)
                results[each.row] = each
    state: CollectionState = "ended" if len(results) == total else "interrupted"
    return CollectionProgress(collection, folder, total, state, None, list(results.values()))
