"""The stores with a large website in them: loading, a cold compiled view, exporting, and the memory each takes.

    python -m benchmarks.bench_stores                    10,000 screens, 50,000 transitions, 2,000 tasks
    python -m benchmarks.bench_stores --scale 0.1        a tenth of that
    python -m benchmarks.bench_stores --mongodb-url URL  on this MongoDB, in a database that it may drop
    python -m benchmarks.bench_stores --stores arangodb  on the loopback server of the tests

Every ratio is to the driver alone writing or reading the same bytes in the same run: trust those,
not the seconds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymongo
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.large_site import sizes
from tests.support.arango_loopback import loopback
from tests.support.mongod import Mongod, with_database

ROOT = Path(__file__).parents[1]
PHASES = ("load", "load again", "cold view", "kept view", "export", "bare write", "bare read", "bare files")
DATABASE = "periplus_bench"


@dataclass(frozen=True)
class Row:
    """One line of the table: what of a phase, and what of a bare one it is held against."""

    name: str
    of: tuple[str, tuple[str, ...]]
    bare: tuple[str, str]


ROWS = (
    Row("load", ("load", ("load",)), ("bare write", "write")),
    Row("load again, the old one collected", ("load again", ("load",)), ("bare write", "write")),
    Row("read", ("cold view", ("read",)), ("bare read", "read")),
    Row("cold view: read and compile", ("cold view", ("read", "compile")), ("bare read", "read")),
    Row("the view for the second time", ("kept view", ("view",)), ("bare read", "read")),
    Row(
        "... with its first identification and path",
        ("kept view", ("view", "first answers")),
        ("bare read", "read"),
    ),
    Row("export: the files alone", ("export", ("write files",)), ("bare files", "write files")),
)

Found = dict[str, Any]


@contextmanager
def embedded(_folder: Path, _url: str | None) -> Iterator[list[str]]:
    """Documents and graph in one SQLite file."""
    yield []


@contextmanager
def mongodb(folder: Path, url: str | None) -> Iterator[list[str]]:
    """Documents and graph in a MongoDB: the one named, or one of its own."""
    mongod = None if url else Mongod(folder / "mongod")
    try:
        if mongod:
            mongod.start()
        server = url or (mongod.url if mongod else "")
        with pymongo.MongoClient[dict[str, Any]](server) as client:
            client.drop_database(DATABASE)
            yield [with_database(server, DATABASE)]
            client.drop_database(DATABASE)
    finally:
        if mongod:
            mongod.stop()


@contextmanager
def arangodb(_folder: Path, _url: str | None) -> Iterator[list[str]]:
    """Documents in SQLite, the graph on the loopback server: what the adapter takes, no database."""
    with loopback() as server:
        yield ["", server.url()]


STORES = {"embedded": embedded, "mongodb": mongodb, "arangodb": arangodb}


def measure(name: str, scale: float, folder: Path, urls: list[str]) -> Found:
    """One phase in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.store_phases", name, str(scale), str(folder), *urls]
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found: Found = json.loads(told.stdout)
    return found


def measure_all(
    scale: float, stores: list[str], folder: Path, url: str | None
) -> dict[str, dict[str, Found]]:
    """Every phase on every store: store -> phase -> what was found."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    found: dict[str, dict[str, Found]] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:
        for store in stores:
            here = folder / store
            here.mkdir()
            with STORES[store](here, url) as urls:
                found[store] = {}
                for number, name in enumerate(PHASES, 1):
                    task = progress.add_task(f"{store}: {name} ({number} of {len(PHASES)})", total=1)
                    found[store][name] = measure(name, scale, here, urls)
                    progress.advance(task)
    return found


def tell(scale: float, found: dict[str, dict[str, Found]]) -> None:
    """The tables: ratios by the clock, of the process's own work, and memory."""
    out = Console(width=110)
    out.print(f"{sizes(scale)}. Ratios are to the driver alone; in brackets seconds.")
    for title, clock in (("by the clock", "seconds"), ("CPU of the process, the server's left out", "cpu")):
        table = _table(title, found)
        for row in ROWS:
            table.add_row(row.name, *(_compared(row, phases, clock) for phases in found.values()))
        out.print(table)
    memory = _table("MB of the process, before -> at its peak", found)
    for name in ("load", "load again", "cold view", "kept view", "export", "bare write", "bare read"):
        cells = (
            f"{phases[name]['before_mb']:.0f} -> {phases[name]['peak_mb']:.0f}" for phases in found.values()
        )
        memory.add_row(name, *cells)
    out.print(memory)


def _table(title: str, stores: Iterable[str]) -> Table:
    table = Table("", title=title, title_justify="left")
    for store in stores:
        table.add_column(store, justify="right")
    return table


def _compared(row: Row, phases: dict[str, Found], clock: str) -> str:
    phase, parts = row.of
    seconds = sum(phases[phase][clock][part] for part in parts)
    bare, part = row.bare
    return f"{seconds / phases[bare][clock][part]:.1f}x ({seconds:.1f})"


def main() -> None:
    """Measure, then print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--stores", nargs="+", choices=STORES, default=["embedded", "mongodb"])
    options.add_argument("--mongodb-url")
    chosen = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="periplus-bench-"))
    try:
        tell(chosen.scale, measure_all(chosen.scale, chosen.stores, folder, chosen.mongodb_url))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
