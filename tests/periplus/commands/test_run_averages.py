"""`periplus runs averages`: the means of the metrics of stored runs."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from kb_schema.run_records import Metric, StoredRun
from periplus.commands.runs import app
from periplus.run_store_adapters import open_run_store

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    return tmp_path


async def _store(*runs: tuple[str, str, dict[str, float]]) -> None:
    async with open_run_store(None) as store:
        for run_id, website, metrics in runs:
            await store.begin_run(
                StoredRun(
                    run_id=run_id, url="http://x/", started_at=NOW, website_id=website, kind="workflow",
                    subject="round",
                )
            )  # fmt: skip
            for name, value in metrics.items():
                await store.add_metric(
                    Metric(run_id=run_id, metric_name=name, metric_value=value, recorded_at=NOW)
                )


def test_the_means_are_those_of_the_runs_of_the_website(folder):
    asyncio.run(
        _store(
            ("a", "harbour", {"completion_percentage": 100, "replan_attempts": 0}),
            ("b", "harbour", {"completion_percentage": 80}),
            ("c", "other", {"completion_percentage": 0}),
        )
    )
    done = CliRunner().invoke(app, ["averages", "--website", "harbour", "--json"])
    assert done.exit_code == 0, done.output
    means = {"completion_percentage": 90.0, "replan_attempts": 0.0}
    assert json.loads(done.stdout) == {"runs": 2, "means": means}
    told = CliRunner().invoke(app, ["averages", "--website", "harbour"])
    assert "means of 2 runs" in told.stdout
    assert "90" in told.stdout


def test_without_runs_it_says_how_to_start_one(folder):
    assert "periplus run TASK" in CliRunner().invoke(app, ["averages"]).stdout
