"""What the exit code of a command says of its job."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_schema.service_records import JobOrder, MapOrder, StoredJob, VerificationOrder
from kb_store.sqlite.database import SqliteDatabase
from kb_store.sqlite.run_store import SqliteRunStore
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.fleet.worker_resources import StoreAddresses
from periplus.jobs.job_performers import CommandPerformer, JobPlaces
from periplus.jobs.job_runner import JobWork

ENDS = """#!/bin/sh
echo "Error: the browser or its driver ended during the exploration; 3 pages that were found are stored"
echo "  -> periplus map --resume continues"
exit {code}
"""
MAP = MapOrder(website_id="quay", url="https://quay.example")


def _begin(folder: Path, monkeypatch: pytest.MonkeyPatch, order: JobOrder, code: ExitCode) -> JobWork:
    """Return the work of a job whose command prints an error and ends with a code."""
    command = folder / "command"
    command.write_text(ENDS.format(code=int(code)))
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(command))
    places = JobPlaces(StoreAddresses(data_dir=str(folder)), folder, folder)
    runs = SqliteRunStore(SqliteDatabase(folder / "runs.db"))
    job = StoredJob(job_id="j1", order=order, created_at=datetime.now(UTC), folder="j1")
    return CommandPerformer(places, runs).begin(job)


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
async def test_a_map_that_ends_with_a_failure_has_failed(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="its driver ended") as failed:
        await _begin(tmp_path, monkeypatch, MAP, ExitCode.FAILED).done()
    assert "--resume" in (failed.value.fix or "")


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
async def test_a_verification_that_finds_something_has_ended(tmp_path, monkeypatch):
    order = VerificationOrder(files=("smoke.csv",), base_url="https://quay.example")
    made = await _begin(tmp_path, monkeypatch, order, ExitCode.FAILED).done()
    assert made.outcome == "failure"
