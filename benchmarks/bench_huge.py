"""One website with 1,000, 10,000 and 100,000 screens, and ten transitions a screen: time and memory against size.

    python -m benchmarks.bench_huge [--sizes 1000 10000 100000] [--again]

Each size is a process of its own, and is kept in `out/bench/huge.json`: an interrupted measurement goes on. Screens are those
of `bench_identify`; transitions are drawn at random, one in twenty with a condition. Load is CPU time into the embedded
store, to the driver alone; paths are to networkx on the same graph, whose costs are asserted to be ours. "served" is a further process
that answers from the stored website and the kept view.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import networkx as nx

from benchmarks.bench_identify import page, samples, screen
from benchmarks.figures import Figures
from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from kb_store import load_knowledge, open_stores
from kb_store.knowledge_records import document_records, edge_records, to_values, vertex_records
from kb_store.stored_contents import read_contents
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from mcp_server.knowledge.kept_views import KeptViews
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.paths.open_transitions import OpenTransitions, ResolvedExclusions
from mcp_server.paths.path_search import find_best_path
from mcp_server.screen_index.index_keys import SnapshotFormat
from mcp_server.screen_index.key_selection import select_keys
from mcp_server.transition_graph.next_hop_tables import NextHopTables
from web_pages.stored_pages import StoredPage, answer_probes

SIZES = (1_000, 10_000, 100_000)
WAYS = 10
PAIRS = 20
ROUNDS = 5
BARE = "CREATE TABLE bare (key TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT"


def documents(screens: int) -> Iterator[dict[str, Any]]:
    """Yield the documents of the site."""
    chance = random.Random(7)  # noqa: S311 - a benchmark repeats itself
    yield {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example"}
    yield from (screen(n) for n in range(screens))
    for n in range(screens * WAYS):
        source = n % screens
        target = (source + 1) % screens if n < screens else chance.randrange(screens)
        conditions = {"required": [{"type": "authenticated"}]} if chance.random() < 0.05 else {}
        yield {
            "type": "transition", "transition_id": f"t{n}", "_from": f"s{source}", "_to": f"s{target}",
            "triggered_by": {"action_type": "click", "target": f"#go-{n // screens}"}, "cost": {"estimated_ms": chance.randrange(100, 3_000)},
            "reliability_score": chance.choice([0.8, 0.95, 1.0]), "conditions": conditions,
        }  # fmt: skip


def memory_mb(line: str = "VmRSS") -> float:
    """Return the resident memory of this process now, or at its most (`VmHWM`), in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(each.split()[1] for each in status.splitlines() if each.startswith(f"{line}:"))) / 1_000


def cpu_s(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def median_cpu_s(work: Callable[[], object]) -> float:
    """Return the median CPU seconds of `ROUNDS` calls, after one that is not counted."""
    work()
    return statistics.median(cpu_s(work) for _ in range(ROUNDS))


def measure(screens: int, folder: Path) -> dict[str, float]:
    """Return the figures of one size; the website stays loaded in `folder`, with its view kept."""
    begin = time.process_time()
    given, _ = assemble(SourcedDocument(parse_document(each)) for each in documents(screens))
    by_kind = {kind: dict(sorted(own.items())) for kind, own in given.by_kind.items()}  # as stores order them
    knowledge = KnowledgeBase(given.website, by_kind)
    checked = time.process_time() - begin
    begin = time.process_time()
    view = compile_view(knowledge, "1")
    compiled = time.process_time() - begin
    pages = [StoredPage(page(n)) for n in samples(screens)]
    for n, one in zip(samples(screens), pages, strict=True):
        assert identify(view, one, answer_probes).screen_id == f"s{n}"
    identified = median_cpu_s(lambda: [identify(view, one, answer_probes) for one in pages]) / len(pages)
    held = memory_mb()
    ours, theirs = measure_paths(view)
    load, bare = measure_load(knowledge, folder)
    anyio.run(keep_view, view, folder)
    return {
        "documents": float(screens * (WAYS + 1) + 1),
        "check_s": checked,
        "compile_s": compiled,
        "identify_ms": identified * 1_000,
        "memory_mb": held,
        "path_ms": ours * 1_000 / PAIRS,
        "networkx_path_ms": theirs * 1_000 / PAIRS,
        "load_s": load,
        "bare_load_s": bare,
        "load_average": os.getloadavg()[0],
    }


def measure_paths(view: KnowledgeView) -> tuple[float, float]:
    """Return the CPU seconds of all pairs: our search, and networkx's."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for ways in view.ways.values():
        for way in ways:
            weight = way.weights["balanced"][0]
            if not graph.has_edge(way.source, way.target) or weight < graph[way.source][way.target]["weight"]:
                graph.add_edge(way.source, way.target, weight=weight)
    gc.collect()
    size = len(view.ways)
    view.network.tables = NextHopTables()
    pairs = [(f"s{n}", f"s{(n * 37 + size // 2) % size}") for n in range(1, PAIRS + 1)]
    numbers = view.network.numbers
    terrain = OpenTransitions(view.network, "balanced", ResolvedExclusions(), {})
    for a, b in pairs:
        found = find_best_path(terrain, numbers[a], numbers[b])
        assert found is not None
        least = nx.bidirectional_dijkstra(graph, a, b)[0]
        cost = sum(view.network.ways[number].weights["balanced"][0] for number in found)
        assert abs(cost - least) < 1e-3 * least
    ours = median_cpu_s(lambda: [find_best_path(terrain, numbers[a], numbers[b]) for a, b in pairs])
    theirs = median_cpu_s(lambda: [nx.bidirectional_dijkstra(graph, a, b) for a, b in pairs])
    return ours, theirs


def measure_load(knowledge: KnowledgeBase, folder: Path) -> tuple[float, float]:
    """Return the CPU seconds of one load into the embedded store, and of the driver alone for the same documents."""
    with tempfile.TemporaryDirectory() as place:
        bare = write_bare(knowledge, Path(place))

    async def load() -> None:
        async with open_stores(folder) as stores:
            await load_knowledge(stores.documents, stores.graph, knowledge)

    return cpu_s(lambda: anyio.run(load)), bare


async def keep_view(view: KnowledgeView, folder: Path) -> None:
    """Keep the view, and the index keys for HTML, as a server does after compiling it."""
    async with open_stores(folder) as stores:
        contents = await read_contents(stores.documents, stores.graph, view.website_id)
        assert contents is not None
        assert stores.views_folder is not None
        KeptViews(stores.views_folder).keep(view, contents)
        assert view.screens.kept is not None
        view.screens.kept.keep(
            SnapshotFormat.MARKUP, select_keys(view.signatures.values(), SnapshotFormat.MARKUP)
        )


def serve(screens: int, folder: Path) -> dict[str, float]:
    """Return the figures of a process that answers from the stored website and its kept view."""

    async def opened() -> KnowledgeView:
        async with open_stores(folder) as stores:
            source = StoreSource(stores.documents, stores.graph, stores.views_folder)
            view = await source.kept_view("shop")
            assert view is not None
            return view

    begin = time.process_time()
    view = anyio.run(opened)
    taken = time.process_time() - begin
    pages = [StoredPage(page(n)) for n in samples(screens)]
    begin = time.process_time()
    for n, one in zip(samples(screens), pages, strict=True):
        assert identify(view, one, answer_probes).screen_id == f"s{n}"
    first = time.process_time() - begin
    identified = median_cpu_s(lambda: [identify(view, one, answer_probes) for one in pages]) / len(pages)
    terrain = OpenTransitions(view.network, "balanced", ResolvedExclusions(), {})
    numbers = view.network.numbers
    begin = time.process_time()
    assert find_best_path(terrain, numbers["s1"], numbers[f"s{screens // 2}"])
    return {
        "view_s": taken,
        "first_identifications_s": first,
        "identify_ms": identified * 1_000,
        "first_path_s": time.process_time() - begin,
        "memory_mb": memory_mb(),
        "peak_mb": memory_mb("VmHWM"),
        "load_average": os.getloadavg()[0],
    }


def write_bare(knowledge: KnowledgeBase, folder: Path) -> float:
    """Write the documents' JSON, 500 at a time; return the CPU seconds of that, without making the values."""
    records = (
        record for part in (document_records, vertex_records, edge_records) for record in part(knowledge)
    )
    spent = 0.0
    with sqlite3.connect(folder / "bare.sqlite3") as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(BARE)
        while part := [
            (f"{n}", to_values(record.body)) for n, record in zip(range(500), records, strict=False)
        ]:
            begin = time.process_time()
            rows = [(f"{begin}/{key}", json.dumps(body)) for key, body in part]
            db.executemany("INSERT INTO bare VALUES (?, ?)", rows)
            db.commit()
            spent += time.process_time() - begin
    return spent


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--again", action="store_true", help="measure what is kept, too")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one is not None:
        what, size, folder = asked.one
        print(json.dumps((measure if what == "measure" else serve)(int(size), Path(folder))))
        return 0
    kept = Figures("huge")
    for size in asked.sizes:
        if asked.again or not {str(size), f"{size} served"} <= kept.parts.keys():
            with tempfile.TemporaryDirectory() as folder:
                kept.add(str(size), in_process("measure", size, folder))
                kept.add(f"{size} served", in_process("serve", size, folder))
        for name in (str(size), f"{size} served"):
            found = kept.parts[name]
            print(
                f"{name:>14}: " + ", ".join(f"{figure} {value:.4g}" for figure, value in found.items()),
                flush=True,
            )
    return 0


def in_process(what: str, size: int, folder: str) -> dict[str, float]:
    """Return the figures of a size, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bench_huge", "--one", what, str(size), folder]
    found: dict[str, float] = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    return found


if __name__ == "__main__":
    sys.exit(main())
