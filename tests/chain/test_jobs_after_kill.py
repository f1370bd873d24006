"""`periplus serve` is killed while a job runs: the next server continues the task under the same run, and does nothing twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from kb_store import load_knowledge, open_stores
from loaders import read_knowledge_folder
from tests.periplus.service.service_support import KEY

ROOT = Path(__file__).parents[2]
HARBOUR = ROOT / "tests" / "data" / "harbour"
ORDER = {
    "kind": "task",
    "website_id": "harbour",
    "task_id": "register_boat",
    "values": {"boat_name": "Tern", "length": "6"},
}


def serve(data, site, log):
    """Start the service as a process of its own group; return it with its address."""
    env = {**os.environ, "PERIPLUS_DATA_DIR": str(data), "PERIPLUS_API_KEY": KEY, "PYTHONPATH": str(ROOT)}
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "periplus", "serve", "--port", "0", "--base-url", f"harbour={site.url}"],
            cwd=data, env=env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        for line in reversed(log.read_text().splitlines()):
            if line.startswith("Periplus at "):
                return process, line.split()[2].rstrip(":")
        assert process.poll() is None, log.read_text()
        time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.fixture
def data(tmp_path):
    async def load():
        async with open_stores(tmp_path) as stores:
            await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(HARBOUR / "kb")[0])

    asyncio.run(load())
    return tmp_path


@pytest.mark.parametrize("steps", [0, 2])
def test_a_task_of_a_killed_server_goes_on_with_the_next_one_and_registers_one_boat(data, site, steps):
    first, address = serve(data, site, data / "first.log")
    second = None
    try:
        with httpx.Client(base_url=address, headers={"X-API-Key": KEY}, timeout=30) as client:
            job_id = client.post("/api/jobs", json=ORDER).json()["job_id"]
            ends = time.monotonic() + 60
            while time.monotonic() < ends:
                job = client.get(f"/api/jobs/{job_id}").json()
                ready = job["state"] == "running"
                if ready and steps:
                    page = client.get(f"/runs/{job['run_id']}", headers={"Accept": "text/html"})
                    ready = page.text.count('class="step ') >= steps
                if ready or job["state"] == "ended":
                    break
                time.sleep(0.02)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        second, address = serve(data, site, data / "second.log")
        with httpx.Client(base_url=address, headers={"X-API-Key": KEY}, timeout=70) as client:
            ends = time.monotonic() + 100
            while time.monotonic() < ends:
                over = client.get(f"/api/jobs/{job_id}", params={"wait": 20}).json()
                if over["state"] not in ("waiting", "running"):
                    break
        assert (over["state"], over["outcome"]) == ("ended", "success"), (
            over,
            (data / "second.log").read_text(),
        )
        assert over["run_id"] == job["run_id"] or job["run_id"] is None
        assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]
    finally:
        for process in filter(None, (first, second)):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
