"""The service ends, or its store does, in the middle of runs: nothing that was accepted is lost, nothing is done twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from periplus.service.run_queue import RunQueueLimits
from tests.periplus.service.service_support import Quick, Served, served
from tests.support.mongod import with_database

ROOT = Path(__file__).parents[3]


class Process:
    def __init__(self, process, client, served):
        self.process, self.client, self.served = process, client, served

    async def submit(self, req_id):
        return await self.served.submit(req_id)

    async def until(self, req_id, event):
        async with self.client.stream("GET", f"/api/runs/{req_id}/events") as stream:
            async for line in stream.aiter_lines():
                if line == f"event: {event}":
                    return
        raise AssertionError(f"{req_id} never told {event}")


@asynccontextmanager
async def process(data_dir, grace_s=30.0):
    script = Path(__file__).with_name("quick_server.py")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PERIPLUS_DATA_DIR": str(data_dir)}
    with (data_dir / "log").open("ab") as log:
        started = await asyncio.create_subprocess_exec(
            sys.executable, script, data_dir, str(grace_s), stdout=subprocess.PIPE, stderr=log, env=env
        )
    try:
        url = (await started.stdout.readline()).decode().strip()
        assert url, (data_dir / "log").read_text()[-3_000:]
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            yield Process(started, client, Served(url, client, None, None, data_dir / "runs", None))
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def test_a_service_that_is_told_to_end_lets_runs_end_and_goes_on_with_the_rest_at_its_next_start(
    tmp_path,
):
    for name in "AB":
        (tmp_path / f"hold-{name}").touch()
    async with process(tmp_path, grace_s=1.0) as first:
        for name in "ABCD":
            assert (await first.submit(name)).status_code == 202
        await first.until("A", "started")
        await first.until("B", "started")
        first.process.send_signal(signal.SIGTERM)
        refused = await _until_refused(first)
        assert (refused.status_code, refused.json()["code"]) == (503, "draining")
        assert int(refused.headers["retry-after"]) > 0
        health = await first.client.get("/api/health")
        assert (health.status_code, health.json()["status"]) == (503, "draining")
        (tmp_path / "hold-A").unlink()
        assert (await first.served.over("A"))["verdict"] == "pass", "it may come to its end"
        assert await first.process.wait() == 0
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    told = {(line["event"], line.get("req_id")) for line in lines}
    assert {("draining", None), ("run_finished", "A"), ("run_interrupted", "B"), ("ended", None)} <= told

    (tmp_path / "hold-B").unlink()
    async with served(tmp_path, keyed=False) as second:
        await _all_passed_once(second, "ABCD")


@pytest.mark.sampled(0.2)
async def test_a_service_that_is_killed_in_the_middle_of_runs_goes_on_with_them(tmp_path):
    (tmp_path / "hold-A").touch()
    async with process(tmp_path) as first:
        for name in "ABCD":
            assert (await first.submit(name)).status_code == 202
        await first.until("A", "started")
        first.process.kill()
        await first.process.wait()
    async with served(tmp_path, keyed=False) as second:
        await _all_passed_once(second, "ABCD")


async def _all_passed_once(service: Served, names: str) -> None:
    runs = [await service.over(name) for name in names]
    assert {run["verdict"] for run in runs} == {"pass"}
    assert len((await service.client.get("/api/runs")).json()["runs"]) == len(names), (
        "each of them is one run"
    )
    ends = await asyncio.gather(*(service.told(name) for name in names))
    assert [[event for _, event, _ in told].count("finished") for told in ends] == [1] * len(names)


async def _until_refused(one: Process) -> httpx.Response:
    """The signal is on its way: the next submission that comes after it is refused."""
    for number in range(1_000):
        answer = await one.submit(f"LATE-{number}")
        if answer.status_code != 202:
            return answer
        assert (await one.client.post(f"/api/runs/LATE-{number}/cancel")).status_code == 202
    raise AssertionError("nothing was refused")


async def test_a_run_that_takes_the_service_with_it_each_time_is_given_up(tmp_path):
    quick = Quick(held={"A"})
    for _ in range(3):
        async with served(tmp_path, quick=quick, limits=RunQueueLimits(stop_s=0.1)) as service:
            if not quick.began:
                await service.submit("A")
            quick.began.clear()
            await quick.until_began("A")
            await _die(service)
    async with served(tmp_path, quick=quick) as service:
        run = await service.over("A")
        assert (run["status"], run["error"]) == (
            "failed",
            "given up: the server died 3 times during this run",
        )


async def _die(service: Served) -> None:
    """As a killed process: nothing more is written."""
    queue = service.queue

    async def never(*_args: object) -> None:
        await asyncio.Event().wait()

    queue._runs.append_events = never
    queue._runs.finish_run = never
    await queue._stack.aclose()


async def test_two_services_of_one_store_share_the_work_and_refuse_the_same_requirement(tmp_path):
    first, second = Quick(held={"A"}), Quick()
    async with served(tmp_path, quick=first) as one, served(tmp_path, quick=second) as other:
        await one.submit("A")
        await first.until_began("A")
        refused = await other.submit("A")
        assert (refused.status_code, refused.json()["code"]) == (409, "already_running")
        assert (await other.run("A"))["status"] == "running"
        elsewhere = await other.client.post("/api/runs/A/cancel")
        assert (elsewhere.status_code, elsewhere.json()["code"]) == (409, "runs_elsewhere")
        await first.let_go()
        assert (await other.over("A"))["verdict"] == "pass"
        assert second.began == []


@pytest.mark.mongodb
@pytest.mark.sampled(0.25)
async def test_a_store_that_goes_away_and_comes_back_costs_no_run(tmp_path, own_mongod):
    quick = Quick(held={"A"})
    url = with_database(own_mongod.url, "serve_restart")
    async with served(tmp_path, quick=quick, limits=RunQueueLimits(workers=1), mongodb_url=url) as service:
        for name in "ABC":
            assert (await service.submit(name)).status_code == 202
        await quick.until_began("A")

        own_mongod.stop()
        refused = await service.submit("D")
        assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")
        health = (await service.client.get("/api/health")).json()
        assert health["status"] == "degraded"
        assert health["services"]["runs"] == "unavailable"
        await quick.let_go()
        own_mongod.start()

        accepted = await service.submit("D")
        assert accepted.status_code == 202, accepted.text
        runs = [await service.over(name) for name in "ABCD"]
        assert {(run["status"], run["verdict"]) for run in runs} == {("completed", "pass")}
        assert quick.ended == ["A", "B", "C", "D"]
        assert (await service.client.get("/api/health")).json()["status"] == "healthy"
