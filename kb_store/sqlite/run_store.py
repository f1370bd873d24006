"""The run store in SQLite: the tables of `runs.sql` in the file of the knowledge."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from kb_schema.base import Model
from kb_schema.run_records import Artifact, Metric, RunEnding, RunStatus, StoredRun, StoredStep
from kb_schema.run_storage import (
    CHECKPOINT_TTL_S,
    CLOCK_TOLERANCE_S,
    EVENT_TTL_S,
    HEAL_TTL_S,
    LOCATOR_TTL_S,
    MAX_CHECKPOINT_BYTES,
    MAX_CHECKPOINTS,
    RATE_TTL_S,
    Checkpoint,
    JournalEntry,
    StoredEvent,
    TooManyCheckpoints,
)
from kb_store.runs.run_store import (
    LAST_CHARACTER,
    UNFINISHED_GRACE,
    check_size,
    flatten_model,
    rate_of,
    unflatten_model,
    window_of,
)
from kb_store.sqlite.database import SqliteDatabase, list_missing_columns, list_statements
from kb_store.sqlite.document_store import health_of
from kb_store.sqlite.kept_value_store import SqliteKeptValueStore
from kb_store.sqlite.lesson_store import SqliteLessonStore
from kb_store.sqlite.run_leases import SqliteRunLeases
from kb_store.sqlite.service_record_store import SqliteServiceRecordStore

if TYPE_CHECKING:
    from kb_schema.cached_locators import Locator
    from kb_store.ports import StoreHealth

M = TypeVar("M", bound=Model)

_SWEEPS = (
    "DELETE FROM checkpoints WHERE expires <= ?",
    "DELETE FROM locators WHERE expires <= ?",
    "DELETE FROM heal_counters WHERE expires <= ?",
    "DELETE FROM events WHERE expires <= ?",
    "DELETE FROM rates WHERE expires <= ?",
)
"""The sweep that every write to one of these tables runs for all of them: five index lookups."""

_OF_RUNS = (
    "DELETE FROM run_steps WHERE run_id = ?",
    "DELETE FROM artifacts WHERE run_id = ?",
    "DELETE FROM metrics WHERE run_id = ?",
    "DELETE FROM journal WHERE run_id = ?",
    "DELETE FROM checkpoints WHERE run_id = ?",
    "DELETE FROM heal_counters WHERE run_id = ?",
    "DELETE FROM events WHERE run_id = ?",
    "DELETE FROM run_leases WHERE run_id = ?",
    "DELETE FROM runs WHERE run_id = ?",
)

_ADDED = {"runs": {"workflow_version": "ALTER TABLE runs ADD COLUMN workflow_version TEXT"}}
"""Columns that files of older versions lack."""


class SqliteRunStore:
    """`RunStore` on a `SqliteDatabase`. `now` gives seconds since the epoch."""

    def __init__(
        self,
        database: SqliteDatabase,
        *,
        now: Callable[[], float] = time.time,
        max_checkpoints: int = MAX_CHECKPOINTS,
        max_checkpoint_bytes: int = MAX_CHECKPOINT_BYTES,
    ) -> None:
        self._database = database
        self._now = now
        self.leases = SqliteRunLeases(database, now)
        self.memory = SqliteLessonStore(database, now)
        self.kept_values = SqliteKeptValueStore(database, now)
        self.service_records = SqliteServiceRecordStore(database)
        self._max_checkpoints, self._max_checkpoint_bytes = max_checkpoints, max_checkpoint_bytes

    @property
    def address(self) -> str:
        """The path of the file."""
        return self._database.address

    async def prepare(self) -> None:
        """Create missing tables, columns and indexes in one transaction."""
        script = resources.files("kb_store.sqlite").joinpath("runs.sql").read_text(encoding="utf-8")
        wanted = set(re.findall(r"IF NOT EXISTS (\w+)", script))
        there = {name for (name,) in await self._database.rows("SELECT name FROM sqlite_master")}
        if wanted <= there and not await self._database.read(lambda db: list_missing_columns(db, _ADDED)):
            return

        def work(db: sqlite3.Connection) -> None:
            for statement in (*list_missing_columns(db, _ADDED), *list_statements(script)):
                db.execute(statement)

        await self._database.write(work)

    async def close(self) -> None:
        """Close the file."""
        await self._database.close()

    async def health(self) -> StoreHealth:
        """Return whether the file can be read."""
        return await health_of(self._database)

    # -- runs

    async def begin_run(self, run: StoredRun) -> bool:
        """Insert in one statement; an existing id is kept."""
        return await self._changed(
            "INSERT INTO runs (run_id, req_id, url, verdict, started_at, finished_at, heal_rounds, rca_class, "
            "rca_message, website_id, kind, subject, status, evidence, duration_ms, outputs, error, hint, "
            "workflow_version) "
            "VALUES (:run_id, :req_id, :url, :verdict, :started_at, :finished_at, :heal_rounds, :rca_class, "
            ":rca_message, :website_id, :kind, :subject, :status, :evidence, :duration_ms, :outputs, :error, "
            ":hint, :workflow_version) ON CONFLICT (run_id) DO NOTHING",
            _row(run),
        )

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Run one statement."""
        return await self._changed(
            "UPDATE runs SET verdict = :verdict, finished_at = :finished_at, heal_rounds = :heal_rounds, "
            "rca_class = :rca_class, rca_message = :rca_message, status = :status, evidence = :evidence, "
            "duration_ms = :duration_ms, outputs = :outputs, error = :error, hint = :hint, "
            "workflow_version = COALESCE(:workflow_version, workflow_version) "
            "WHERE run_id = :run_id",
            {**_row(ending), "verdict": ending.verdict, "run_id": run_id},
        )

    async def run(self, run_id: str) -> StoredRun | None:
        """Read by the primary key."""
        found = await self._models(StoredRun, "SELECT * FROM runs WHERE run_id = :run_id", {"run_id": run_id})
        return found[0] if found else None

    async def runs(
        self,
        *,
        website_id: str | None = None,
        req_id: str | None = None,
        id_prefix: str = "",
        limit: int = 100,
    ) -> Sequence[StoredRun]:
        """Read by the index of start times."""
        return await self._models(
            StoredRun,
            "SELECT * FROM runs WHERE (:website_id IS NULL OR website_id = :website_id) "
            "AND (:req_id IS NULL OR req_id = :req_id) AND run_id >= :first AND run_id < :last "
            "ORDER BY started_at DESC, run_id LIMIT :limit",
            {
                "website_id": website_id,
                "req_id": req_id,
                "first": id_prefix,
                "last": id_prefix + LAST_CHARACTER,
                "limit": limit,
            },
        )

    async def runs_by_id(
        self, *, website_id: str | None = None, after: str = "", limit: int = 500
    ) -> Sequence[StoredRun]:
        """Read by the primary key."""
        return await self._models(
            StoredRun,
            "SELECT * FROM runs WHERE run_id > :after AND (:website_id IS NULL OR website_id = :website_id) "
            "ORDER BY run_id LIMIT :limit",
            {"website_id": website_id, "after": after, "limit": limit},
        )

    async def run_counts(self, website_id: str) -> Mapping[RunStatus | None, int]:
        """Count by the index of websites, without creating tables."""
        query = "SELECT status, count(*) FROM runs WHERE website_id = ? GROUP BY status"
        found = await self._database.counts("runs", query, (website_id,))
        return {status and RunStatus(status): number for status, number in found.items()}

    async def append_step(self, step: StoredStep) -> bool:
        """Insert in one statement; an existing number is kept."""
        return await self._changed(
            "INSERT INTO run_steps (run_id, step_idx, element, action, selector, strategy, confidence, status, "
            "heal_round, error_message, executed_at, task_id, step_id, screen_id, duration_ms) "
            "VALUES (:run_id, :step_idx, :element, :action, :selector, :strategy, :confidence, :status, "
            ":heal_round, :error_message, :executed_at, :task_id, :step_id, :screen_id, :duration_ms) "
            "ON CONFLICT (run_id, step_idx) DO NOTHING",
            _row(step),
        )

    async def steps(self, run_id: str) -> Sequence[StoredStep]:
        """Read by the primary key."""
        query = "SELECT * FROM run_steps WHERE run_id = :run_id ORDER BY step_idx"
        return await self._models(StoredStep, query, {"run_id": run_id})

    async def step_counts(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        """Count by the primary key's index, one lookup per run."""
        query = "SELECT count(*) FROM run_steps WHERE run_id = ?"

        def work(db: sqlite3.Connection) -> dict[str, int]:
            found = {run_id: db.execute(query, (run_id,)).fetchone()[0] for run_id in run_ids}
            return {run_id: number for run_id, number in found.items() if number}

        return await self._database.read(work)

    async def put_artifact(self, artifact: Artifact) -> None:
        """Run one statement."""
        await self._database.execute(
            "INSERT OR REPLACE INTO artifacts (run_id, name, artifact_type, file_path, content_ref, file_hash, "
            "size_bytes, created_at) VALUES (:run_id, :name, :artifact_type, :file_path, :content_ref, "
            ":file_hash, :size_bytes, :created_at)",
            _row(artifact),
        )

    async def artifacts(self, run_id: str) -> Sequence[Artifact]:
        """Read by the primary key."""
        query = "SELECT * FROM artifacts WHERE run_id = :run_id ORDER BY name"
        return await self._models(Artifact, query, {"run_id": run_id})

    async def add_metric(self, metric: Metric) -> bool:
        """Insert in one statement; an existing id is kept."""
        return await self._changed(
            "INSERT INTO metrics (run_id, metric_id, metric_name, metric_value, recorded_at) "
            "VALUES (:run_id, :metric_id, :metric_name, :metric_value, :recorded_at) "
            "ON CONFLICT (run_id, metric_id) DO NOTHING",
            _row(metric),
        )

    async def metrics(self, run_id: str) -> Sequence[Metric]:
        """Read by the primary key."""
        query = "SELECT * FROM metrics WHERE run_id = :run_id ORDER BY recorded_at, metric_name, metric_id"
        return await self._models(Metric, query, {"run_id": run_id})

    async def sweep_runs(self, website_id: str, *, before: datetime) -> int:
        """Run one transaction."""
        grace = datetime.fromtimestamp(self._now(), UTC) - UNFINISHED_GRACE
        values = {
            "website_id": website_id,
            "before": _text(before.astimezone(UTC)),
            "grace": _text(min(before.astimezone(UTC), grace)),
        }
        query = (
            "SELECT run_id FROM runs WHERE website_id = :website_id AND CASE WHEN finished_at IS NULL "
            "THEN started_at < :grace ELSE finished_at < :before END"
        )

        def work(db: sqlite3.Connection) -> int:
            doomed = db.execute(query, values).fetchall()
            for statement in _OF_RUNS:
                db.executemany(statement, doomed)
            return len(doomed)

        return await self._database.write(work)

    # -- journal

    async def begin_action(self, entry: JournalEntry) -> JournalEntry:
        """Write and then read the entry in one transaction."""
        values = _row(entry)

        def work(db: sqlite3.Connection) -> dict[str, Any]:
            db.execute(
                "INSERT INTO journal (run_id, key, action, details, begun_at, outcome, concluded_at) "
                "VALUES (:run_id, :key, :action, :details, :begun_at, :outcome, :concluded_at) "
                "ON CONFLICT (run_id, key) DO NOTHING",
                values,
            )
            return _records(db, "SELECT * FROM journal WHERE run_id = :run_id AND key = :key", values)[0]

        return unflatten_model(JournalEntry, await self._database.write(work))

    async def conclude_action(
        self, run_id: str, key: str, outcome: Literal["happened", "did_not_happen"]
    ) -> bool:
        """Run one statement."""
        return await self._changed(
            "UPDATE journal SET outcome = :outcome, concluded_at = :at WHERE run_id = :run_id AND key = :key",
            {"run_id": run_id, "key": key, "outcome": outcome, "at": _text(self._moment())},
        )

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """Read by the primary key."""
        query = "SELECT * FROM journal WHERE run_id = :run_id ORDER BY begun_at, key"
        return await self._models(JournalEntry, query, {"run_id": run_id})

    # -- checkpoints

    async def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace in one transaction, in which only unexpired checkpoints count."""
        check_size(checkpoint, self._max_checkpoint_bytes)
        now = self._now()
        values = {**_row(checkpoint), "expires": now + CHECKPOINT_TTL_S + CLOCK_TOLERANCE_S}

        def work(db: sqlite3.Connection) -> None:
            _sweep(db, now)
            query = "SELECT count(*) FROM checkpoints WHERE run_id = :run_id AND name <> :name"
            (others,) = db.execute(query, values).fetchone()
            if others >= self._max_checkpoints:
                raise TooManyCheckpoints(checkpoint.run_id, limit=self._max_checkpoints)
            db.execute(
                "INSERT OR REPLACE INTO checkpoints (run_id, name, step_idx, state, created_at, expires) "
                "VALUES (:run_id, :name, :step_idx, :state, :created_at, :expires)",
                values,
            )

        await self._database.write(work)

    async def checkpoint(self, run_id: str, name: str = "latest") -> Checkpoint | None:
        """Read by the primary key."""
        query = "SELECT * FROM checkpoints WHERE run_id = :run_id AND name = :name AND expires > :now"
        values = {"run_id": run_id, "name": name, "now": self._now()}
        found = await self._models(Checkpoint, query, values)
        return found[0] if found else None

    async def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """Read by the primary key."""
        query = "SELECT * FROM checkpoints WHERE run_id = :run_id AND expires > :now ORDER BY name"
        return await self._models(Checkpoint, query, {"run_id": run_id, "now": self._now()})

    async def drop_checkpoint(self, run_id: str, name: str) -> None:
        """Run one statement."""
        query = "DELETE FROM checkpoints WHERE run_id = ? AND name = ?"
        await self._database.execute(query, (run_id, name))

    # -- the locator cache

    async def put_locator(self, locator: Locator) -> None:
        """Write in one statement, after the sweep."""
        await self._put_for_a_while(
            "INSERT OR REPLACE INTO locators (website_id, url, element, selector, confidence, expires) "
            "VALUES (:website_id, :url, :element, :selector, :confidence, :expires)",
            [{**_row(locator), "expires": self._now() + LOCATOR_TTL_S}],
        )

    async def locator(self, website_id: str, url: str, element: str) -> Locator | None:
        """Read by the primary key."""
        from kb_schema.cached_locators import Locator  # noqa: PLC0415 - decision 0140

        found = await self._models(
            Locator,
            "SELECT * FROM locators WHERE website_id = :website_id AND url = :url AND element = :element "
            "AND expires > :now",
            {"website_id": website_id, "url": url, "element": element, "now": self._now()},
        )
        return found[0] if found else None

    async def forget_locator(self, website_id: str, url: str, element: str) -> None:
        """Run one statement."""
        query = "DELETE FROM locators WHERE website_id = ? AND url = ? AND element = ?"
        await self._database.execute(query, (website_id, url, element))

    # -- heal counters

    async def count_heal(self, run_id: str, selector: str) -> int:
        """Sweep and count in one transaction."""
        now = self._now()

        def work(db: sqlite3.Connection) -> int:
            _sweep(db, now)
            row = db.execute(
                "INSERT INTO heal_counters (run_id, selector, count, expires) VALUES (?, ?, 1, ?) "
                "ON CONFLICT (run_id, selector) DO UPDATE SET count = count + 1, expires = excluded.expires "
                "RETURNING count",
                (run_id, selector, now + HEAL_TTL_S),
            ).fetchone()
            return int(row[0])

        return await self._database.write(work)

    async def heals(self, run_id: str, selector: str) -> int:
        """Read by the primary key."""
        query = "SELECT count FROM heal_counters WHERE run_id = ? AND selector = ? AND expires > ?"
        rows = await self._database.rows(query, (run_id, selector, self._now()))
        return int(rows[0][0]) if rows else 0

    # -- rates

    async def count_request(self, client_id: str) -> float:
        """Sweep and count in one transaction."""
        now = self._now()
        minute = window_of(now)

        def work(db: sqlite3.Connection) -> float:
            _sweep(db, now)
            previous, current = db.execute(
                "INSERT INTO rates (client_id, minute, current, previous, expires) "
                "VALUES (:client_id, :minute, 1, 0, :expires) ON CONFLICT (client_id) DO UPDATE SET "
                "previous = CASE :minute - minute WHEN 0 THEN previous WHEN 1 THEN current ELSE 0 END, "
                "current = CASE :minute - minute WHEN 0 THEN current + 1 ELSE 1 END, "
                "minute = excluded.minute, expires = excluded.expires RETURNING previous, current",
                {"client_id": client_id, "minute": minute, "expires": now + 2 * RATE_TTL_S},
            ).fetchone()
            return rate_of(now, previous, current)

        return await self._database.write(work)

    # -- events

    async def append_events(self, events: Sequence[StoredEvent], *, keep_s: float = EVENT_TTL_S) -> None:
        """Run one transaction."""
        expires = self._now() + keep_s
        await self._put_for_a_while(
            "INSERT INTO events (run_id, seq, type, data, at, expires) "
            "VALUES (:run_id, :seq, :type, :data, :at, :expires) ON CONFLICT (run_id, seq) DO NOTHING",
            [{**_row(event), "expires": expires} for event in events],
        )

    async def events(self, run_id: str, *, after: int = -1, limit: int = 1_000) -> Sequence[StoredEvent]:
        """Read by the primary key."""
        return await self._models(
            StoredEvent,
            "SELECT * FROM events WHERE run_id = :run_id AND seq > :after AND expires > :now "
            "ORDER BY seq LIMIT :limit",
            {"run_id": run_id, "after": after, "now": self._now(), "limit": limit},
        )

    # -- helpers

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self._now(), UTC)

    async def _changed(self, query: str, values: Mapping[str, Any]) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            return db.execute(query, values).rowcount == 1

        return await self._database.write(work)

    async def _models(self, kind: type[M], query: str, values: Mapping[str, Any]) -> list[M]:
        records = await self._database.read(lambda db: _records(db, query, values))
        return [unflatten_model(kind, record) for record in records]

    async def _put_for_a_while(self, query: str, rows: Sequence[Mapping[str, Any]]) -> None:
        now = self._now()

        def work(db: sqlite3.Connection) -> None:
            _sweep(db, now)
            db.executemany(query, rows)

        await self._database.write(work)


def _sweep(db: sqlite3.Connection, now: float) -> None:
    for query in _SWEEPS:
        db.execute(query, (now,))


def _records(db: sqlite3.Connection, query: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    cursor = db.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _row(model: Model) -> dict[str, Any]:
    """Return the values to bind: times as text that sorts."""
    return {
        name: _text(value) if isinstance(value, datetime) else value
        for name, value in flatten_model(model).items()
    }


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
