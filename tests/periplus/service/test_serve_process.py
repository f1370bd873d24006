"""`periplus serve` as people start it: a real process, a real browser, a real site; MCP beside REST."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.periplus.service.service_support import KEY, Served
from tests.support.foreign_sites import spadeworks_site

SIGN_IN = [
    "Email | fill | demo@spadeworks.example | field_populated",
    "Password | fill | {secret:PASSWORD} | field_populated",
    "Sign In | click | | navigates_to:Dashboard",
]
PASSWORD = "spadeworks-demo"


def serving(site: str) -> dict[str, str]:
    """The variable that serves the password for a site."""
    return {"PERIPLUS_SERVE_SECRETS": f"{site}/PASSWORD"}


@asynccontextmanager
async def periplus_serve(data_dir: Path, *options: str, **variables: str):
    env = {
        **os.environ, "PERIPLUS_DATA_DIR": str(data_dir), "PERIPLUS_API_KEY": KEY,
        "PERIPLUS_SECRET_PASSWORD": PASSWORD, **variables,
    }  # fmt: skip
    log = data_dir / "log"
    with log.open("wb") as written:  # no pipe: a browser that outlives its server would keep it open
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "periplus",
            "serve",
            "--port",
            "0",
            *options,
            stdout=written,
            stderr=written,
            env=env,
        )
    try:
        while not (said := re.search(r"^Periplus at (http://\S+?):? ", log.read_text(), re.MULTILINE)):
            assert process.returncode is None, log.read_text()
            await asyncio.sleep(0.05)  # a file tells nobody that it grew
        url = said[1]
        async with httpx.AsyncClient(base_url=url, headers={"X-API-Key": KEY}, timeout=120) as client:
            yield process, log, Served(url, client, None, None, data_dir / "runs", None)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_requirement_is_verified_in_a_browser_and_its_test_given_away(tmp_path):
    with spadeworks_site() as site:
        async with periplus_serve(tmp_path, **serving(site)) as (process, log, service):
            body = {"req_id": "sign_in", "url": f"{site}/login", "steps": SIGN_IN, "title": "Sign in"}
            accepted = await service.client.post("/api/run", json=body)
            assert accepted.status_code == 202, accepted.text

            headers = httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=60)
            transport = streamable_http_client(f"{service.url}/mcp", http_client=headers)
            async with headers, Client(transport) as desk:
                assert "find_path" in {tool.name for tool in (await desk.list_tools()).tools}
            stranger = await service.client.post("/mcp", json={}, headers={"X-API-Key": ""})
            assert stranger.status_code == 401

            run = await service.over("sign_in")
            assert (run["status"], run["verdict"]) == ("completed", "pass"), run
            assert run["summary"] == {
                "total_steps": 3,
                "executed_steps": 3,
                "failed_steps": 0,
                "heal_rounds": 0,
            }
            steps = (await service.client.get("/api/runs/sign_in/steps")).json()["steps"]
            assert [step["action"] for step in steps] == ["fill", "fill", "click"]
            assert all(step["selector"] and step["strategy"] for step in steps)

            listed = (await service.client.get("/api/artifacts/sign_in")).json()["artifacts"]
            by_type = {each["type"]: each for each in listed}
            assert {"test_file", "verdict_report"} <= by_type.keys()
            test = await service.client.get(f"/api/artifacts/sign_in/{by_type['test_file']['name']}")
            assert f"sha256:{hashlib.sha256(test.content).hexdigest()}" == by_type["test_file"]["hash"]
            assert "def test_sign_in" in test.text
            told = await service.told("sign_in")
            assert told[-1][1] == "finished"

            health = (await service.client.get("/api/health")).json()
            assert (health["status"], health["services"]["playwright"]) == ("healthy", "ready")
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
            said = log.read_text()
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    finished = next(line for line in lines if line["event"] == "run_finished")
    assert finished["req_id"] == "sign_in"
    assert finished["run_id"] == run["run_id"]
    kept = json.dumps(run) + json.dumps(steps) + json.dumps(told) + said + test.text
    assert PASSWORD not in kept
    assert KEY not in kept
    leaked = [
        file for file in tmp_path.rglob("*") if file.is_file() and PASSWORD.encode() in file.read_bytes()
    ]
    assert leaked == []


QUICK = ["Email | fill | demo@spadeworks.example | field_populated"]
AT_ONCE = 200
ROOM_KB = 60_000
"""By which the server may grow, its browser apart, while so many wait."""


def _resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
async def test_two_hundred_at_once_are_all_verified_in_bounded_memory(tmp_path):
    with spadeworks_site() as site:
        async with periplus_serve(tmp_path, **serving(site)) as (process, _, service):
            names = [f"REQ-{number:03}" for number in range(AT_ONCE)]
            body = {"url": f"{site}/login", "steps": QUICK}
            before = _resident_kb(process.pid)
            posts = (service.client.post("/api/run", json={"req_id": name, **body}) for name in names)
            answers = await asyncio.gather(*posts)
            assert {answer.status_code for answer in answers} == {202}
            assert _resident_kb(process.pid) - before < ROOM_KB
            for name in names:
                await service.told(name)
            runs = (await service.client.get("/api/runs", params={"limit": 1000})).json()["runs"]
            assert sorted(run["req_id"] for run in runs) == names, "each of them once, none lost"
            assert {(run["status"], run["verdict"]) for run in runs} == {("completed", "pass")}


@pytest.mark.nightly
@pytest.mark.timeout(300)
async def test_a_run_in_a_browser_goes_on_after_the_server_was_told_to_end(tmp_path):
    with spadeworks_site() as site:
        steps = [*SIGN_IN, *(f" | navigate | /agent?page={number} | heading:Agents" for number in range(8))]
        async with periplus_serve(tmp_path, "--grace", "0", **serving(site)) as (process, log, service):
            body = {"req_id": "long", "url": f"{site}/login", "steps": steps}
            run_id = (await service.client.post("/api/run", json=body)).json()["run_id"]
            async with service.client.stream("GET", "/api/runs/long/events") as stream:
                async for line in stream.aiter_lines():
                    if line == "event: step_verified":
                        break
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
            assert "run_interrupted" in log.read_text()
        async with periplus_serve(tmp_path, **serving(site)) as (_, _, service):
            run = await service.over("long")
            assert (run["run_id"], run["status"], run["verdict"]) == (run_id, "completed", "pass"), run
            steps_done = (await service.client.get("/api/runs/long/steps")).json()["steps"]
            assert [step["step_idx"] for step in steps_done] == list(range(len(steps)))


@pytest.mark.nightly
@pytest.mark.timeout(300)
async def test_a_run_in_a_browser_is_cancelled_after_the_step_it_is_at(tmp_path):
    with spadeworks_site() as site:
        async with periplus_serve(tmp_path, **serving(site)) as (_, _, service):
            steps = [
                *SIGN_IN,
                *(f" | navigate | /agent?page={number} | heading:Agents" for number in range(8)),
            ]
            await service.client.post(
                "/api/run", json={"req_id": "long", "url": f"{site}/login", "steps": steps}
            )
            async with service.client.stream("GET", "/api/runs/long/events") as stream:
                async for line in stream.aiter_lines():
                    if line == "event: step_verified":
                        break
            cancelled = await service.client.post("/api/runs/long/cancel")
            assert cancelled.status_code == 202
            run = await service.over("long")
            assert (run["status"], run["verdict"]) == ("cancelled", None)
