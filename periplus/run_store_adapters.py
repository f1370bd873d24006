"""Opens the run store, records a session's run in it, and adapts it to the interfaces of the agent."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kb_schema.run_storage import EVENT_TTL_S
from kb_store import StoreError
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import choose_runs, open_runs
from periplus.audit_setup import start_audit_log
from periplus.errors import UserError
from periplus.settings import load_settings

if TYPE_CHECKING:
    from agent.run_records.run_log import RunLog
    from agent.session import Session
    from kb_schema.cached_locators import Locator
    from kb_schema.kept_values import KeptValue
    from kb_schema.lessons import Lesson, LessonKey
    from kb_schema.run_records import RunEnding, RunKind, StoredRun
    from kb_schema.run_storage import Checkpoint, JournalEntry

LAST = "last"
"""The keyword for the newest run."""
FEW = 100
"""How many of the newest runs are searched for the last one of a kind."""


def open_run_store(
    mongodb_url: str | None = None, *, data_dir: Path | None = None
) -> AbstractAsyncContextManager[RunStore]:
    """Open the run store and the audit log of options and environment. Raises the errors of `open_runs`, `UserError`."""
    settings = load_settings(mongodb_url=mongodb_url)
    start_audit_log(data_dir or settings.data_dir)
    url = settings.mongodb_url
    return open_runs(data_dir or settings.data_dir, url.get_secret_value() if url else None)


async def find_run(store: RunStore, wanted: str, *, but: Collection[RunKind] = ()) -> StoredRun:
    """Return the run with this id, the newest run for `last`, or the run with this unique id prefix.

    `but`: kinds that `last` ignores. Raises `UserError`.
    """
    run = await store.run(wanted)
    if run is not None:
        return run
    if wanted == LAST:
        newest = await store.runs(limit=1 if not but else FEW)
        found = [run for run in newest if run.kind not in but][:1]
    else:
        found = list(await store.runs(id_prefix=wanted, limit=5))
    if len(found) == 1 and wanted:
        return found[0]
    if len(found) > 1:
        ids = ", ".join(sorted(run.run_id for run in found))
        raise UserError(f"several runs have an id that begins with {wanted!r}", fix=f"give one of: {ids}")
    raise UserError(f"no run {wanted!r}", fix="`periplus runs list` lists all runs")


@asynccontextmanager
async def open_unprepared_run_store(mongodb_url: str | None = None) -> AsyncIterator[RunStore]:
    """Open the run store without creating missing collections."""
    settings = load_settings(mongodb_url=mongodb_url)
    url = settings.mongodb_url
    store = choose_runs(settings.data_dir, url.get_secret_value() if url else None)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def record_run(
    opening: AbstractAsyncContextManager[RunStore], session: Session, *, kind: RunKind, subject: str
) -> AsyncIterator[RunLog]:
    """Record the session's run. `end_run_record`, or an error, ends the record.

    First, records of the website's runs older than its `retention_days` are deleted. Their files are in folders that
    the user chose, and are kept.
    """
    from agent.presentation.visitor.visitor_analytics import PersonalDataListener  # noqa: PLC0415 - decision 0140
    from agent.run_records.run_log import RunLog, build_error_ending, build_run_record  # noqa: PLC0415

    website, started = session.website, time.monotonic()
    async with opening as runs:
        kept_since = datetime.now(UTC) - timedelta(days=website.retention_days)
        await runs.sweep_runs(website.website_id, before=kept_since)
        run = build_run_record(
            session.context,
            website_id=website.website_id,
            url=session.base_url,
            kind=kind,
            subject=subject,
        )
        lasting_s = max(EVENT_TTL_S, timedelta(days=website.retention_days).total_seconds())
        log = RunLog(runs, run, session.context, lasting_s=lasting_s)
        await log.begin()
        session.context.personal.retention_days = load_settings().visitor_retention_days
        session.bus.listen(PersonalDataListener(session.context.personal))
        session.bus.listen(log)
        session.memory.locators, session.memory.heals = (
            RunStoreLocatorCache(runs),
            _RunStoreHealCounters(runs),
        )
        session.memory.run_id = log.run_id
        session.lessons = _RunStoreLessons(runs)
        session.kept_values = _RunStoreKeptValues(runs, lasting_s=lasting_s)
        try:
            yield log
        except BaseException as exc:
            if not log.finished:
                with suppress(StoreError):  # the original error is more important
                    await log.finish(build_error_ending(exc, started))
            raise
        finally:
            await log.close()


class RunStoreKeeping:
    """Journal and checkpoints of a run store, with the agent's errors.

    Implements `agent.execution.persistence.checkpoints.CheckpointWriterPort`.
    """

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs

    async def begin_action(self, entry: JournalEntry) -> JournalEntry:
        """Write a journal entry before an action. Raises `JournalWriteRefused`."""
        with _translate_store_errors():
            return await self._runs.begin_action(entry)

    async def conclude_action(
        self, run_id: str, key: str, outcome: Literal["happened", "did_not_happen"]
    ) -> bool:
        """Write the result of an action. Raises `JournalWriteRefused`."""
        with _translate_store_errors():
            return await self._runs.conclude_action(run_id, key, outcome)

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """Return a run's journal entries. Raises `JournalWriteRefused`."""
        with _translate_store_errors():
            return await self._runs.journal(run_id)

    async def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Write or replace a checkpoint. Raises `JournalWriteRefused`, `CheckpointRefused`."""
        with _translate_store_errors():
            await self._runs.put_checkpoint(checkpoint)

    async def checkpoint(self, run_id: str, name: str = "latest") -> Checkpoint | None:
        """Return a checkpoint that has not expired. Raises `JournalWriteRefused`."""
        with _translate_store_errors():
            return await self._runs.checkpoint(run_id, name)

    async def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """Return a run's checkpoints that have not expired. Raises `JournalWriteRefused`."""
        with _translate_store_errors():
            return await self._runs.checkpoints(run_id)

    async def drop_checkpoint(self, run_id: str, name: str) -> None:
        """Delete a checkpoint. Raises `JournalWriteRefused`."""
        with _translate_store_errors():
            await self._runs.drop_checkpoint(run_id, name)


@contextmanager
def _translate_store_errors() -> Iterator[None]:
    try:
        yield
    except StoreError as exc:
        from agent.errors import JournalWriteRefused  # noqa: PLC0415 - decision 0140

        raise JournalWriteRefused(str(exc)) from exc


class RunStoreLocatorCache:
    """The locator cache of a run store (`agent.ports.LocatorCachePort`); empty if the store does not answer."""

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs

    async def put_locator(self, locator: Locator) -> None:
        """Store an element's locator."""
        with suppress(StoreError):
            await self._runs.put_locator(locator)

    async def locator(self, website_id: str, url: str, element: str) -> Locator | None:
        """Return an element's locator, if it has not expired."""
        with suppress(StoreError):
            return await self._runs.locator(website_id, url, element)
        return None

    async def forget_locator(self, website_id: str, url: str, element: str) -> None:
        """Delete an element's locator."""
        with suppress(StoreError):
            await self._runs.forget_locator(website_id, url, element)


class _RunStoreHealCounters:
    """The heal counters of a run store (`agent.ports.HealCountersPort`); zero if the store does not answer."""

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs

    async def count_heal(self, run_id: str, selector: str) -> int:
        """Increment the counter."""
        with suppress(StoreError):
            return await self._runs.count_heal(run_id, selector)
        return 0

    async def heals(self, run_id: str, selector: str) -> int:
        """Return the counter."""
        with suppress(StoreError):
            return await self._runs.heals(run_id, selector)
        return 0


class _RunStoreLessons:
    """The memory of failures of a run store (`agent.ports.FailureMemory`); empty if the store does not answer."""

    def __init__(self, runs: RunStore) -> None:
        self._memory = runs.memory

    async def learn(self, key: LessonKey, *, worked: bool, error: str | None = None) -> None:
        """Count an outcome."""
        with suppress(StoreError):
            await self._memory.learn(key, worked=worked, error=error)

    async def lessons(self, website_id: str, screen_id: str, task_id: str) -> Sequence[Lesson]:
        """Return the lessons of a task on a screen."""
        with suppress(StoreError):
            return await self._memory.lessons(website_id, screen_id, task_id)
        return ()


class _RunStoreKeptValues:
    """The kept values of a run store (`agent.ports.KeptValuesPort`), as long as the website's records are kept."""

    def __init__(self, runs: RunStore, *, lasting_s: float) -> None:
        self._store, self._lasting_s = runs.kept_values, lasting_s

    async def keep(self, values: Sequence[KeptValue]) -> None:
        """Store values."""
        with suppress(StoreError):
            await self._store.keep(values, keep_s=self._lasting_s)

    async def kept(self, website_id: str, person: str) -> Sequence[KeptValue]:
        """Return the values of a person; none if the store does not answer."""
        with suppress(StoreError):
            return await self._store.kept(website_id, person)
        return ()


async def end_run_record(
    log: RunLog,
    ending: RunEnding,
    files: Mapping[str, tuple[str, Path]],
    *,
    metrics: Mapping[str, float] | None = None,
) -> str | None:
    """Store a run's artifacts (name -> type, path), metrics and end; return a warning if that fails."""
    try:
        for measured, value in (metrics or {}).items():
            await log.measure(measured, value)
        for name, (kind, path) in files.items():
            await log.add_file(name, kind, path)
        await log.finish(ending)
    except StoreError as exc:
        return f"the run was not completely recorded: {exc}"
    return None
