"""One phase of `bench_stores` in a process of its own, so that seconds and memory are that phase's.

    python -m benchmarks.store_phases PHASE SCALE FOLDER [MONGODB_URL] [ARANGODB_URL]

Prints JSON: seconds by what was done, by the clock and of this process's own work, and megabytes: `before` the measured part, at its `peak`.
A phase that is called `bare ...` writes or reads the same bytes with the driver alone.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pymongo import AsyncMongoClient

from benchmarks.large_site import WEBSITE, large_site
from kb_schema import KnowledgeBase
from kb_schema.page_snapshots import PageSnapshot
from kb_store import Stores, load_knowledge, open_stores, read_knowledge
from kb_store.knowledge_records import document_records, edge_records, to_values, vertex_records
from loaders import write_folder
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.paths.open_transitions import OpenTransitions, ResolvedExclusions
from mcp_server.paths.path_search import find_best_path
from mcp_server.screen_index.index_keys import SnapshotFormat
from web_pages.stored_pages import StoredPage, answer_probes

MEGA = 1_000_000
BATCH = 500
"""Documents that the bare driver writes at a time."""
BARE_TABLE = "CREATE TABLE bare (key TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT"


@dataclass
class Measured:
    """What a phase took."""

    seconds: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    before_mb: float = 0.0
    peak_mb: float = 0.0

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """How long the block takes, under `name`; the first block is where memory begins to count."""
        if not self.seconds:
            gc.collect()
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins here (proc(5))
            self.before_mb = _memory("VmRSS")
        began, worked = time.perf_counter(), time.process_time()
        yield
        self.seconds[name], self.cpu[name] = time.perf_counter() - began, time.process_time() - worked
        self.peak_mb = _memory("VmHWM")


@dataclass(frozen=True)
class Place:
    """Which site is put where."""

    scale: float
    folder: Path
    mongodb_url: str | None
    arangodb_url: str | None


Phase = Callable[[Place, Measured], Coroutine[None, None, None]]
PHASES: dict[str, Phase] = {}


def phase(name: str) -> Callable[[Phase], Phase]:
    """Register a phase under the name that `bench_stores` calls it by."""

    def register(work: Phase) -> Phase:
        PHASES[name] = work
        return work

    return register


def _open(place: Place) -> AbstractAsyncContextManager[Stores]:
    return open_stores(place.folder / "data", mongodb_url=place.mongodb_url, arangodb_url=place.arangodb_url)


@phase("load")
@phase("load again")
async def _load(place: Place, measured: Measured) -> None:
    knowledge = large_site(place.scale)
    async with _open(place) as stores:
        with measured.timed("load"):
            await load_knowledge(stores.documents, stores.graph, knowledge)


@phase("cold view")
async def _cold_view(place: Place, measured: Measured) -> None:
    async with _open(place) as stores:
        with measured.timed("read"):
            knowledge, generation = await read_knowledge(stores.documents, stores.graph, WEBSITE)
        with measured.timed("compile"):
            view = compile_view(knowledge, str(generation))
    assert len(view.ways) == len(knowledge.screens)


@phase("kept view")
async def _kept_view(place: Place, measured: Measured) -> None:
    """The view as a server gets it for the second time; then its first identification and path, which parse what they need."""
    async with _open(place) as stores:
        source = StoreSource(stores.documents, stores.graph, stores.views_folder)
        if await source.kept_view(WEBSITE) is None:  # the first time of this content
            first = (await ViewCache(source).current(WEBSITE)).view
            assert first.screens.filed(SnapshotFormat.MARKUP)  # keeps the index keys, as the first page does
            del first
        with measured.timed("view"):
            view = (await ViewCache(source).current(WEBSITE)).view
        with measured.timed("first answers"):
            page = PageSnapshot(
                url="https://large.example/s/7",
                title="Screen 7",
                html="<title>Screen 7</title><button id='s7-e0'>Go 0</button>",
            )
            assert identify(view, StoredPage(page), answer_probes).screen_id == "s7"
            terrain = OpenTransitions(view.network, "balanced", ResolvedExclusions(), {})
            assert find_best_path(terrain, view.network.numbers["s7"], view.network.numbers["s9"])
    assert len(view.ways) == len(view.knowledge.screens)


@phase("export")
async def _export(place: Place, measured: Measured) -> None:
    async with _open(place) as stores:
        with measured.timed("read"):
            knowledge, _ = await read_knowledge(stores.documents, stores.graph, WEBSITE)
        with measured.timed("write files"):
            write_folder(knowledge, place.folder / "export")


@phase("bare files")
async def _bare_files(place: Place, measured: Measured) -> None:
    """As many files with the same bytes, ready-made, into one new folder per kind."""
    export = place.folder / "export"
    texts = {path.relative_to(export): path.read_bytes() for path in export.rglob("*.yaml")}
    with measured.timed("write files"):
        for folder in {name.parent for name in texts}:
            (place.folder / "bare" / folder).mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (place.folder / "bare" / name).write_bytes(text)


@phase("bare write")
async def _bare_write(place: Place, measured: Measured) -> None:
    records = list(_records(large_site(place.scale)))
    if place.mongodb_url:
        async with AsyncMongoClient[dict[str, object]](place.mongodb_url) as client:
            bare = client.get_default_database()["bare"]
            with measured.timed("write"):
                for start in range(0, len(records), BATCH):
                    part = [{"_id": key, "body": body} for key, body in records[start : start + BATCH]]
                    await bare.insert_many(part)
        return
    with sqlite3.connect(place.folder / "bare.sqlite3") as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(BARE_TABLE)
        with measured.timed("write"):
            for start in range(0, len(records), BATCH):
                rows = [(key, json.dumps(body)) for key, body in records[start : start + BATCH]]
                db.executemany("INSERT INTO bare VALUES (?, ?)", rows)
                db.commit()


@phase("bare read")
async def _bare_read(place: Place, measured: Measured) -> None:
    """Everything into plain JSON objects, one after the other: no model, no check."""
    read = 0
    if place.mongodb_url:
        async with AsyncMongoClient[dict[str, object]](place.mongodb_url) as client:
            with measured.timed("read"):
                async for _ in client.get_default_database()["bare"].find():
                    read += 1
    else:
        with sqlite3.connect(place.folder / "bare.sqlite3") as db, measured.timed("read"):
            for (body,) in db.execute("SELECT body FROM bare"):
                json.loads(body)
                read += 1
    assert read > 0


def _records(knowledge: KnowledgeBase) -> Iterator[tuple[str, object]]:
    for part in (document_records, vertex_records, edge_records):
        for record in part(knowledge):
            yield f"{part.__name__}/{record.kind}/{record.local_id}", to_values(record.body)


def _memory(line: str) -> float:
    """Resident memory now (`VmRSS`) or at its most (`VmHWM`), in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kilobytes = next(each.split()[1] for each in status.splitlines() if each.startswith(f"{line}:"))
    return int(kilobytes) * 1024 / MEGA


def main() -> None:
    """The phase that the arguments name."""
    name, scale, folder, *urls = sys.argv[1:]
    mongodb_url, arangodb_url = [url or None for url in (*urls, "", "")][:2]
    measured = Measured()
    asyncio.run(PHASES[name](Place(float(scale), Path(folder), mongodb_url, arangodb_url), measured))
    sys.stdout.write(json.dumps(asdict(measured)))


if __name__ == "__main__":
    main()
