"""Runs on the shelves: where they are kept, and a session's run from its first moment to its end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.errors import NotKept
from agent.presenting.analytics import Discretion
from agent.run_log import RunLog, ending_of_error, run_of
from kb_schema.lessons import Lesson, LessonKey
from kb_schema.runs import RunEnding, RunKind, StoredRun
from kb_schema.storage import EVENT_TTL_S, Checkpoint, JournalEntry, Locator
from kb_store import StoreError
from kb_store.runs import RunStore, choose_runs, open_runs
from periplus.errors import UserError
from periplus.settings import load_settings

if TYPE_CHECKING:
    from agent.session import Session  # brings the browser's driver, which `periplus runs` does not need

LAST = "last"
"""Stands for the newest run's id."""
FEW = 100
"""Runs among which the last one of a kind is looked for."""


def open_logbook(
    mongodb_url: str | None = None, *, data_dir: Path | None = None
) -> AbstractAsyncContextManager[RunStore]:
    """The run store that flags and environment ask for. Raises as `open_runs` does, and `UserError`."""
    settings = load_settings(mongodb_url=mongodb_url)
    url = settings.mongodb_url
    return open_runs(data_dir or settings.data_dir, url.get_secret_value() if url else None)


async def find_run(store: RunStore, wanted: str, *, but: Collection[RunKind] = ()) -> StoredRun:
    """By id, else `last`, else by how an id begins, where only one does. The last one is of no kind that
    is in `but`. Raises `UserError`.
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
        raise UserError(f"several runs begin with {wanted!r}", fix=f"name one: {ids}")
    raise UserError(f"no run {wanted!r}", fix="`periplus runs list` shows those there are")


@asynccontextmanager
async def unprepared_logbook(mongodb_url: str | None = None) -> AsyncIterator[RunStore]:
    """As `open_logbook`, but nothing is made that is missing."""
    settings = load_settings(mongodb_url=mongodb_url)
    url = settings.mongodb_url
    store = choose_runs(settings.data_dir, url.get_secret_value() if url else None)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def recorded(
    logbook: AbstractAsyncContextManager[RunStore], session: Session, *, kind: RunKind, subject: str
) -> AsyncIterator[RunLog]:
    """The session's run, kept from now on. `end_record` ends it; an error that passes through does too.

    Before it begins, the website's runs past its `retention_days` are forgotten: their records. The
    files they left are in folders that a person named, and stay.
    """
    website, started = session.website, time.monotonic()
    async with logbook as runs:
        kept_since = datetime.now(UTC) - timedelta(days=website.retention_days)
        await runs.sweep_runs(website.website_id, before=kept_since)
        run = run_of(
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
        session.bus.listen(Discretion(session.context.personal))
        session.bus.listen(log)
        session.memory.locators, session.memory.heals = LocatorCache(runs), _HealCount(runs)
        session.memory.run_id = log.run_id
        session.lessons = _Lessons(runs)
        try:
            yield log
        except BaseException as exc:
            if not log.finished:
                with suppress(StoreError):  # what happened matters more than that it was not kept
                    await log.finish(ending_of_error(exc, started))
            raise
        finally:
            await log.close()


class Kept:
    """Journal and checkpoints of a run store (`agent.engine.keeping.KeepingPort`), with the agent's own
    error where it does not answer.
    """

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs

    async def begin_action(self, entry: JournalEntry) -> JournalEntry:
        """Write down what is about to be done. Raises `NotKept`."""
        with _not_kept():
            return await self._runs.begin_action(entry)

    async def conclude_action(
        self, run_id: str, key: str, outcome: Literal["happened", "did_not_happen"]
    ) -> bool:
        """Write down how it came out. Raises `NotKept`."""
        with _not_kept():
            return await self._runs.conclude_action(run_id, key, outcome)

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """A run's entries. Raises `NotKept`."""
        with _not_kept():
            return await self._runs.journal(run_id)

    async def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint of that name. Raises `NotKept`, `CheckpointRefused`."""
        with _not_kept():
            await self._runs.put_checkpoint(checkpoint)

    async def checkpoint(self, run_id: str, name: str = "latest") -> Checkpoint | None:
        """One checkpoint that is still good. Raises `NotKept`."""
        with _not_kept():
            return await self._runs.checkpoint(run_id, name)

    async def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """A run's good checkpoints. Raises `NotKept`."""
        with _not_kept():
            return await self._runs.checkpoints(run_id)

    async def drop_checkpoint(self, run_id: str, name: str) -> None:
        """Forget one. Raises `NotKept`."""
        with _not_kept():
            await self._runs.drop_checkpoint(run_id, name)


@contextmanager
def _not_kept() -> Iterator[None]:
    try:
        yield
    except StoreError as exc:
        raise NotKept(str(exc)) from exc


class LocatorCache:
    """The locator cache of a run store (`agent.ports.Locators`); one that does not answer is empty."""

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs

    async def put_locator(self, locator: Locator) -> None:
        """Remember where an element was found."""
        with suppress(StoreError):
            await self._runs.put_locator(locator)

    async def locator(self, website_id: str, url: str, element: str) -> Locator | None:
        """Where it was found, if that is still good."""
        with suppress(StoreError):
            return await self._runs.locator(website_id, url, element)
        return None

    async def forget_locator(self, website_id: str, url: str, element: str) -> None:
        """It is not there any more."""
        with suppress(StoreError):
            await self._runs.forget_locator(website_id, url, element)


class _HealCount:
    """The heal counters of a run store (`agent.ports.HealCounters`); one that does not answer counts none."""

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs

    async def count_heal(self, run_id: str, selector: str) -> int:
        """Count one more."""
        with suppress(StoreError):
            return await self._runs.count_heal(run_id, selector)
        return 0

    async def heals(self, run_id: str, selector: str) -> int:
        """How many there were."""
        with suppress(StoreError):
            return await self._runs.heals(run_id, selector)
        return 0


class _Lessons:
    """The memory of failures of a run store (`agent.resilience.memory.Lessons`); one that does not answer
    is empty.
    """

    def __init__(self, runs: RunStore) -> None:
        self._memory = runs.memory

    async def learn(self, key: LessonKey, *, worked: bool, error: str | None = None) -> None:
        """Count one more."""
        with suppress(StoreError):
            await self._memory.learn(key, worked=worked, error=error)

    async def lessons(self, website_id: str, screen_id: str, task_id: str) -> Sequence[Lesson]:
        """Of a task on a screen."""
        with suppress(StoreError):
            return await self._memory.lessons(website_id, screen_id, task_id)
        return ()


async def end_record(
    log: RunLog,
    ending: RunEnding,
    files: Mapping[str, tuple[str, Path]],
    *,
    metrics: Mapping[str, float] | None = None,
) -> str | None:
    """Keep what a run left (name -> type, path), what was measured and how it ended; a note where that was
    not possible.
    """
    try:
        for measured, value in (metrics or {}).items():
            await log.measure(measured, value)
        for name, (kind, path) in files.items():
            await log.add_file(name, kind, path)
        await log.finish(ending)
    except StoreError as exc:
        return f"the run is not (wholly) recorded: {exc}"
    return None
