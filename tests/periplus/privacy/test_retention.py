"""`periplus prune` and what a service prunes at its start: each kind by its own days, nothing else."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from kb_schema.run_records import EvidenceLevel, RunEnding, RunStatus, StoredRun
from kb_schema.service_records import Schedule, StoredJob, TaskOrder
from kb_store import load_knowledge, open_stores
from kb_store.audit.audit_entry import AuditEntry, AuditEvent
from kb_store.audit.audit_log import AuditLog
from kb_store.store_factory import open_runs
from periplus.errors import UserError
from periplus.privacy.retention import RetentionSettings, load_retention_settings, prune, pruning_daily
from tests.kb_store.sample_knowledge import knowledge_of
from tests.support import warm

NOW = datetime.now(UTC)
FILES = {
    "runs/a/verdict.json": "run_files", "runs/a/pages/p.html": "run_files", "runs/a/step.png": "pictures",
    "runs/a/film.mp4": "films", "film/shop/clip.mp4": "films", "voice/x.wav": "films", "maps/shop/p.jpg": "maps",
    "logs/error-1.log": "logs", "files/upload.csv": "", "verifications/b.json": "", "runs/open/step.png": "",
}  # fmt: skip
"""File -> its kind; none: it is never pruned."""


@pytest.fixture
async def data(tmp_path):
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        old = (NOW - timedelta(days=40)).timestamp()
        os.utime(path, (old, old))
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of())  # `retention_days` is 30
    async with open_runs(tmp_path, audited=False) as runs:
        for name, website, days, over in (
            ("old", "shop", 40, True), ("new", "shop", 20, True), ("elsewhere", "other", 40, True),
            ("open", "shop", 0, False), ("left", "shop", 40, False),
        ):  # fmt: skip
            at = NOW - timedelta(days=days)
            run = StoredRun(
                run_id=name,
                url="https://x.example/",
                started_at=at,
                website_id=website,
                kind="task",
                subject="t",
            )
            await runs.begin_run(run)
            if over:
                await runs.finish_run(
                    name,
                    RunEnding(
                        status=RunStatus.SUCCESS,
                        evidence=EvidenceLevel.VERIFIED,
                        finished_at=at,
                        duration_ms=1,
                    ),
                )
    return tmp_path


async def _prune(data, **settings):
    dry_run = settings.pop("dry_run", False)
    async with open_stores(data) as stores, open_runs(data) as runs:
        counts = await prune(data, stores, runs, RetentionSettings(**settings), dry_run=dry_run)
        return counts, {each.run_id for each in await runs.runs()}


def _files(data):
    return {name for name in FILES if (data / name).exists()}


async def test_each_kind_has_its_own_days(data):
    kept = {"run_files": 60, "pictures": 60, "films": 60, "logs": 60, "runs": 60}
    for kind in ("run_files", "pictures", "films", "maps", "logs"):
        counts, _ = await _prune(data, **{**kept, kind: 30}, dry_run=True)
        own = [name for name, each in FILES.items() if each == kind]
        assert counts == {
            "runs": 0, "jobs": 0, "leads": 0, "run_files": 0, "pictures": 0, "films": 0, "maps": 0, "logs": 0, "audit": 0, kind: len(own),
        }  # fmt: skip
    assert _files(data) == set(FILES)


async def test_by_default_maps_stay_and_the_website_says_how_long_its_runs_are_kept(data):
    counted, _ = await _prune(data, dry_run=True)
    counts, left = await _prune(data)
    assert counts == counted
    assert left == {"new", "open"}
    assert _files(data) == {name for name, kind in FILES.items() if kind in ("", "maps")}
    assert not (data / "runs/a/pages").exists()
    assert not (data / "runs/a").exists()


async def test_a_setting_replaces_the_website_s_days_and_zero_keeps_nothing(data):
    _, left = await _prune(data, runs=10, maps=0)
    assert left == {"open"}
    assert _files(data) == {name for name, kind in FILES.items() if not kind}


async def test_old_audit_entries_are_deleted_and_the_log_verifies(data):
    log = AuditLog(data / "audit")
    log.append(AuditEvent("run_submitted", "key ci"))
    old = AuditEntry.chain(AuditEvent("run_submitted", "key ci"), 1, "0" * 64, NOW - timedelta(days=400))
    (data / "audit/audit.jsonl").write_text(f"{old.to_line()}\n")
    (data / "audit/head.json").write_text(json.dumps({"number": 1, "hash": old.hash}))
    log.append(AuditEvent("run_submitted", "key ci", "new"))
    counts, _ = await _prune(data)
    assert counts["audit"] == 1
    assert next(log.entries()).about.text == "new"
    assert log.verify().problems == []


async def test_a_service_prunes_at_its_start(data):
    async with open_stores(data) as stores, open_runs(data) as runs, pruning_daily(data, stores, runs):
        while (data / "logs/error-1.log").exists():  # noqa: ASYNC110 - a file, not a task
            await asyncio.sleep(0.01)
    assert (data / "maps/shop/p.jpg").exists()


def test_the_command_counts_then_deletes(data):
    env = {"PERIPLUS_DATA_DIR": str(data), "PERIPLUS_MONGODB_URL": "", "PERIPLUS_KEEP_FILMS": "60"}
    counted = json.loads(warm.run("periplus", "prune", "--dry-run", "--json", env=env).stdout)
    assert (counted["pictures"], counted["films"], counted["runs"]) == (1, 0, 3)
    assert _files(data) == set(FILES)
    done = warm.run("periplus", "prune", env=env)
    assert done.stdout.strip() == "deleted: 3 runs, 2 run files, 1 pictures, 1 logs"
    assert [each.action for each in AuditLog(data / "audit").entries()] == ["records_pruned"]
    refused = warm.run("periplus", "prune", env={**env, "PERIPLUS_KEEP_FILMS": "-1"})
    assert (refused.returncode, "PERIPLUS_KEEP_FILMS" in refused.stderr) == (2, True)


def test_a_setting_that_is_no_number_is_one_clear_error(monkeypatch):
    monkeypatch.setenv("PERIPLUS_KEEP_RUNS", "a week")
    with pytest.raises(UserError, match="PERIPLUS_KEEP_RUNS"):
        load_retention_settings()


async def test_jobs_that_are_over_and_told_are_deleted_and_schedules_are_kept(tmp_path):
    order = TaskOrder(website_id="shop", task_id="buy", values={"name": "Ada"})
    old = datetime.now(UTC) - timedelta(days=31)
    async with open_stores(tmp_path) as stores, open_runs(tmp_path) as runs:
        for name, state, told in (
            ("over", "ended", True),
            ("untold", "ended", False),
            ("open", "waiting", False),
        ):
            await runs.service_records.add(
                StoredJob(job_id=name, order=order, created_at=old, state=state, announced=told)
            )
        await runs.service_records.add(
            Schedule(
                schedule_id="s", name="S", cron="0 6 * * *", order=order, created_at=old, decided_until=old
            )
        )
        counted = await prune(tmp_path, stores, runs, RetentionSettings(), dry_run=True)
        counts = await prune(tmp_path, stores, runs, RetentionSettings())
        assert (counted["jobs"], counts["jobs"]) == (1, 1)
        assert {each.job_id for each in await runs.service_records.select(StoredJob)} == {"untold", "open"}
        assert len(await runs.service_records.select(Schedule)) == 1
