"""How long records and files are kept, by kind, and the deletion of older ones (`periplus prune`).

Only the stores and the data directory are pruned; folders that a user chose with `--out` are
pruned on demand only (`periplus prune --out`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from kb_schema.run_records import StoredRun
from kb_schema.service_records import OVER_STATES, StoredJob, VisitorLead, WebhookDelivery
from kb_schema.websites import Website
from kb_store import StoreError, Stores
from kb_store.audit.audit_recorder import build_event, record_async
from kb_store.runs.run_store import UNFINISHED_GRACE, RunStore
from periplus.audit_setup import open_audit_log
from periplus.privacy.personal_files import KINDS
from periplus.settings import read_settings

MOST_DAYS = 36_500
A_DAY_S = 86_400.0
PAGE = 500
MOST_LEADS = 100_000
"""Forms that a count looks at."""
RUN_DAYS = 30
"""Days for the runs of a website that the knowledge base does not have."""

_log = structlog.get_logger(__name__)


class RetentionSettings(BaseSettings):
    """Days for which each kind is kept; 0: everything is deleted at the next pruning."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_KEEP_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    runs: int | None = Field(default=None, ge=0, le=MOST_DAYS)
    """Records of runs with their steps and events, in the store; unset: the website's `retention_days`, else 30."""
    run_files: int = Field(default=30, ge=0, le=MOST_DAYS)
    """Stored pages, traces, verdicts, tests and reports in `runs` of the data directory."""
    pictures: int = Field(default=30, ge=0, le=MOST_DAYS)
    """Pictures in `runs`."""
    films: int = Field(default=30, ge=0, le=MOST_DAYS)
    """Films and sound in `runs`, and the clips and sentences that demos reuse (`film`, `voice`)."""
    maps: int | None = Field(default=None, ge=0, le=MOST_DAYS)
    """Pages and pictures of `periplus map` in `maps`; unset: without limit, the console shows them."""
    logs: int = Field(default=30, ge=0, le=MOST_DAYS)
    """Tracebacks of internal errors in `logs`."""
    audit: int | None = Field(default=365, ge=0, le=MOST_DAYS)
    """Entries of the audit log."""


def load_retention_settings() -> RetentionSettings:
    """Read the settings from the environment. Raises `UserError` with the name of an invalid variable."""
    return read_settings(RetentionSettings, {})


async def prune(
    data_dir: Path,
    stores: Stores,
    runs: RunStore,
    settings: RetentionSettings,
    *,
    dry_run: bool = False,
    now: datetime | None = None,
) -> dict[str, int]:
    """Delete what is older than its days; return the number of records and files by kind.

    Files of runs that are going on are kept. `dry_run`: only count. Raises `StoreError`, `OSError`.
    """
    now = now or datetime.now(UTC)
    going_on = {each.run_id async for each in _all_runs(runs) if _goes_on(each, now)}
    counts = {"runs": await _prune_runs(stores, runs, settings.runs, now, dry_run=dry_run)}
    counts["jobs"] = await _prune_jobs(runs, settings.runs, now, dry_run=dry_run)
    counts["leads"] = await _prune_leads(runs, now, dry_run=dry_run)
    counts |= await asyncio.to_thread(_prune_files, data_dir, settings, now, going_on, dry_run=dry_run)
    counts["audit"] = 0
    total = sum(counts.values())
    if total and not dry_run:
        said = ", ".join(f"{many} {kind}" for kind, many in counts.items() if many)
        await record_async("records_pruned", said)
    if settings.audit is not None:
        before, log = now - timedelta(days=settings.audit), open_audit_log(data_dir)
        event = build_event("audit_pruned", f"entries older than {settings.audit} days")
        counts["audit"] = await asyncio.to_thread(log.prune, before, lambda: event, dry_run=dry_run)
    return counts


@asynccontextmanager
async def pruning_daily(data_dir: Path, stores: Stores, runs: RunStore) -> AsyncIterator[None]:
    """Prune now and once a day in the background. Raises `UserError` for an invalid setting."""
    settings = load_retention_settings()

    async def work() -> None:
        while True:
            try:
                counts = await prune(data_dir, stores, runs, settings)
                _log.info("pruned", **counts)
            except (StoreError, OSError) as exc:
                _log.warning("not_pruned", reason=str(exc))
            await asyncio.sleep(A_DAY_S)

    task = asyncio.create_task(work(), name="pruning")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


# -- records ---------------------------------------------------------------------------------------


async def _all_runs(runs: RunStore) -> AsyncIterator[StoredRun]:
    after = ""
    while page := await runs.runs_by_id(after=after, limit=PAGE):
        for run in page:
            yield run
        after = page[-1].run_id


def _goes_on(run: StoredRun, now: datetime) -> bool:
    return run.finished_at is None and run.started_at > now - UNFINISHED_GRACE


async def _prune_runs(
    stores: Stores, runs: RunStore, days: int | None, now: datetime, *, dry_run: bool
) -> int:
    known = {} if days is not None else await _read_retention_days(stores)
    websites: dict[str, list[StoredRun]] = {}
    async for run in _all_runs(runs):
        websites.setdefault(run.website_id, []).append(run)
    many = 0
    for website_id, own in websites.items():
        before = now - timedelta(days=known.get(website_id, RUN_DAYS) if days is None else days)
        if dry_run:
            many += sum(_is_old(each, before, now) for each in own)
        else:
            many += await runs.sweep_runs(website_id, before=before)
    return many


async def _prune_jobs(runs: RunStore, days: int | None, now: datetime, *, dry_run: bool) -> int:
    """Delete jobs that are over and told, and messages to webhooks that are; return the number of jobs."""
    before, records = now - timedelta(days=RUN_DAYS if days is None else days), runs.service_records
    if dry_run:
        over = await records.select(StoredJob, states=OVER_STATES, limit=PAGE)
        return sum(each.record_at < before for each in over)
    await records.sweep(WebhookDelivery, states=("delivered", "given_up"), before=before)
    return await records.sweep(StoredJob, states=OVER_STATES, before=before)


async def _prune_leads(runs: RunStore, now: datetime, *, dry_run: bool) -> int:
    """Delete the forms of visitors whose time is over; return their number."""
    records = runs.service_records
    if dry_run:
        oldest = await records.select(VisitorLead, oldest_first=True, limit=MOST_LEADS)
        return sum(each.expires_at < now for each in oldest)
    return await records.sweep(VisitorLead, states=("stored",), before=now)


def _is_old(run: StoredRun, before: datetime, now: datetime) -> bool:
    if run.finished_at is not None:
        return run.finished_at < before
    return run.started_at < before and not _goes_on(run, now)


async def _read_retention_days(stores: Stores) -> Mapping[str, int]:
    """Return `retention_days` of the websites in the knowledge base."""
    found: dict[str, int] = {}
    for active in await stores.documents.websites():
        async for each in stores.documents.records(active.website_id, active.stored):
            if each.kind == "website":
                days = each.body.get("retention_days", Website.model_fields["retention_days"].default)
                found[active.website_id] = int(days)
    return found


# -- files -----------------------------------------------------------------------------------------


def _prune_files(
    data_dir: Path, settings: RetentionSettings, now: datetime, going_on: set[str], *, dry_run: bool
) -> dict[str, int]:
    days = {
        "run_files": settings.run_files,
        "pictures": settings.pictures,
        "films": settings.films,
        "maps": settings.maps,
        "logs": settings.logs,
    }
    counts = dict.fromkeys(days, 0)
    for path, kind in _list_kept_files(data_dir, going_on):
        limit = days[kind]
        if limit is None or path.stat().st_mtime >= (now - timedelta(days=limit)).timestamp():
            continue
        counts[kind] += 1
        if not dry_run:
            path.unlink(missing_ok=True)
            _remove_empty_folders(path.parent, data_dir)
    return counts


def _list_kept_files(data_dir: Path, going_on: set[str]) -> Iterator[tuple[Path, str]]:
    """Yield the files that have a kind, with it."""
    for top, kind in (
        ("runs", "run_files"),
        ("film", "films"),
        ("voice", "films"),
        ("maps", "maps"),
        ("logs", "logs"),
    ):
        for path in sorted((data_dir / top).rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            if top == "runs" and path.relative_to(data_dir).parts[1] in going_on:
                continue
            of_suffix = {"picture": "pictures", "film": "films", "sound": "films"}
            own = of_suffix.get(KINDS.get(path.suffix.lower(), "text"), kind)
            yield path, own if top == "runs" else kind


def _remove_empty_folders(folder: Path, data_dir: Path) -> None:
    """Remove a folder and those above it that are empty, below the second level."""
    while len(folder.relative_to(data_dir).parts) > 1 and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
