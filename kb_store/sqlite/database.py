"""One SQLite file, used from a worker thread, with SQLite's errors mapped to ours.

Write-ahead logging lets other processes read during a write; a writer waits up to `BUSY_SECONDS` for another
one. Every write is one transaction: a process killed at any point leaves the file as it was before or after
it.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from kb_schema.owner_folders import make_owner_file, make_owner_folder
from kb_store.errors import StoreCorrupt, StoreUnavailable

FORMAT = 2
"""`PRAGMA user_version` of the files this code writes."""

BUSY_SECONDS = 15.0
"""How many seconds to wait for another process's transaction."""

BUSY_RETRY_SECONDS = 0.02
"""The pause in seconds between attempts to switch a file that another process is creating."""

PAGE = 500
"""The number of rows that iterators fetch at a time."""

Columns = Mapping[str, Mapping[str, str]]
"""Table -> column that files of older versions lack -> the statement that adds it."""

T = TypeVar("T")
_ADDED: Columns = {
    "websites": {
        "records_under": "ALTER TABLE websites ADD COLUMN records_under INTEGER",
        "changed": "ALTER TABLE websites ADD COLUMN changed TEXT",
    },
    "pins": {"records_under": "ALTER TABLE pins ADD COLUMN records_under INTEGER"},
}
"""What format 2 added."""

Values = Sequence[Any] | Mapping[str, Any]
"""The values for a query's placeholders."""


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to write-ahead logging, if it is not.

    SQLite answers a concurrent switch with `SQLITE_BUSY` at once, whatever the connection's timeout, so the
    switch is retried.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(BUSY_RETRY_SECONDS)
        else:
            return


def list_missing_columns(connection: sqlite3.Connection, added: Columns) -> list[str]:
    """Return the statements that add what existing tables lack."""
    missing = []
    for table, columns in added.items():
        there = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall()}
        missing += [statement for name, statement in columns.items() if there and name not in there]
    return missing


def list_statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, to run inside a transaction (`executescript` ends it)."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


class SqliteDatabase:
    """One connection to one file. Calls run one after the other in worker threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        """The path of the file."""
        return str(self.path)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` as one transaction, off the event loop.

        `work` must return values, not a cursor: a cursor that outlives the call would be closed by another
        thread while the connection is in use.
        """
        return await asyncio.to_thread(self._run, work, "BEGIN IMMEDIATE")

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on one consistent view of the file, off the event loop."""
        return await asyncio.to_thread(self._run, work, "BEGIN")

    async def rows(self, query: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Return all rows of one query."""
        return await self.read(lambda db: db.execute(query, values).fetchall())

    async def counts(self, table: str, query: str, values: Values = ()) -> dict[Any, int]:
        """Return a query's rows of name and number; empty if the file has no such table yet."""

        def work(db: sqlite3.Connection) -> dict[Any, int]:
            there = db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            return dict(db.execute(query, values).fetchall()) if there else {}

        return await self.read(work)

    async def execute(self, query: str, values: Values = ()) -> None:
        """Run one writing statement as a transaction."""
        await self.write(lambda db: db.execute(query, values).close())

    async def execute_many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for many rows as one transaction."""
        await self.write(lambda db: db.executemany(query, rows).close())

    async def close(self) -> None:
        """Close the connection; the next call opens it again."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _run(self, work: Callable[[sqlite3.Connection], T], begin: str) -> T:
        with self._lock, self._mapped_errors():
            connection = self._opened()
            connection.execute(begin)
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            make_owner_folder(self.path.parent)
            make_owner_file(self.path)  # SQLite gives its log and index the same mode
            # isolation_level None: transactions are begun and ended explicitly here.
            connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._set_up(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        _use_wal(connection)
        # In WAL mode NORMAL never corrupts the file; a power cut may lose the last transactions, in order.
        connection.execute("PRAGMA synchronous = NORMAL")
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found > FORMAT:
            raise StoreUnavailable(
                self.address,
                f"it was written by a newer Periplus (format {found}, this one knows {FORMAT})",
                fix="use that Periplus, or another PERIPLUS_DATA_DIR",
            )
        if found < FORMAT:
            self._upgrade(connection)

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        """Create tables and add columns in one transaction; another process may be doing the same."""
        script = resources.files("kb_store.sqlite").joinpath("schema.sql").read_text(encoding="utf-8")
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in (*list_missing_columns(connection, _ADDED), *list_statements(script)):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _mapped_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as exc:
            raise StoreUnavailable(self.address, str(exc), fix=_fix(exc)) from exc
        except sqlite3.DatabaseError as exc:
            raise StoreCorrupt(self.address, f"{exc} (move the file away)") from exc
        except OSError as exc:
            reason = exc.strerror or str(exc)
            fix = "set PERIPLUS_DATA_DIR to a folder that can be written"
            raise StoreUnavailable(self.address, reason, fix=fix) from exc


def _fix(error: sqlite3.OperationalError) -> str:
    text = str(error)
    if "locked" in text:
        return "another process is writing; try again"
    if "full" in text:
        return "make room on the disk"
    if "disk I/O" in text:  # also what SQLite says of a full disk where it needs room for its shared memory
        return "make room on the disk if it is full; else it is damaged, or the folder cannot be written"
    return "set PERIPLUS_DATA_DIR to a folder that can be read and written"


def to_text(body: Any) -> str:
    """Return JSON in ASCII, so that any character survives."""
    return json.dumps(body, separators=(",", ":"))
