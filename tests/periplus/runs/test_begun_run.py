"""`--resume last` means the run that began last, also if it was killed before it was recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kb_schema.run_records import StoredRun
from kb_store.store_factory import open_runs
from periplus.errors import UserError
from periplus.runs.begun_run import FILE, BegunRun, check_last_run_recorded, note_begun_run


def _run(run_id: str, started_at: datetime) -> StoredRun:
    return StoredRun(
        run_id=run_id,
        website_id="shop",
        url="https://shop.example",
        started_at=started_at,
        kind="task",
        subject="order",
    )


async def test_a_run_that_was_killed_before_its_record_is_not_mistaken_for_the_one_before(tmp_path):
    async with open_runs(tmp_path) as store:
        await check_last_run_recorded(tmp_path, store)
        await store.begin_run(_run("first", datetime.now(UTC) - timedelta(minutes=1)))
        note_begun_run(tmp_path, "second", "login")
        with pytest.raises(
            UserError, match=r"the last run \(login\) .* the run before it is first"
        ) as refused:
            await check_last_run_recorded(tmp_path, store)
        assert "periplus run login" in (refused.value.fix or "")
        await store.begin_run(_run("second", datetime.now(UTC) - timedelta(seconds=1)))
        await check_last_run_recorded(tmp_path, store)


async def test_a_newer_run_an_old_note_and_a_broken_one_do_not_matter(tmp_path):
    async with open_runs(tmp_path) as store:
        note_begun_run(tmp_path, "lost", "login")
        await store.begin_run(_run("newer", datetime.now(UTC) + timedelta(seconds=1)))
        await check_last_run_recorded(tmp_path, store)
    async with open_runs(tmp_path / "other") as store:
        old = BegunRun(run_id="lost", subject="login", at=datetime.now(UTC) - timedelta(days=2))
        (tmp_path / "other" / FILE).write_text(old.model_dump_json())
        await check_last_run_recorded(tmp_path / "other", store)
        (tmp_path / "other" / FILE).write_bytes(b"\xff{")
        await check_last_run_recorded(tmp_path / "other", store)
