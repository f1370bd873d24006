"""The REST interface as a client sees it: PACTS section 10's shapes, order, cancelling, events, artifacts."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from datetime import UTC, datetime

import httpx
import pytest

from kb_schema.run_records import StoredRun
from periplus.errors import UserError
from periplus.service.run_queue import RunQueueLimits
from periplus.service.submission_records import build_run_ending
from tests.periplus.service.service_support import KEY, STEPS, Quick, served


@pytest.fixture(scope="module")
async def service(tmp_path_factory):
    async with served(tmp_path_factory.mktemp("service"), limits=RunQueueLimits(cancel_s=0.3)) as one:
        yield one


async def test_a_submission_is_answered_as_pacts_says_and_comes_to_its_verdict(service):
    accepted = await service.submit("REQ-LOGIN-001")
    assert accepted.status_code == 202
    assert accepted.headers["location"] == "/api/runs/REQ-LOGIN-001"
    said = accepted.json()
    assert said["req_id"] == "REQ-LOGIN-001"
    assert said["status"] == "running"
    assert said["message"] == "PACTS execution started"

    run = await service.over("REQ-LOGIN-001")
    assert (run["status"], run["verdict"], run["run_id"]) == ("completed", "pass", said["run_id"])
    assert run["summary"] == {"total_steps": 2, "executed_steps": 2, "failed_steps": 0, "heal_rounds": 0}
    started, finished = (datetime.fromisoformat(run[each]) for each in ("started_at", "finished_at"))
    assert started <= finished
    assert run["rca"]["class"] == "success"
    assert run["url"] == "https://shop.example.com/login", "a query may be secret"


async def test_steps_are_told_as_pacts_says(service):
    await service.submit("REQ-STEPS")
    await service.over("REQ-STEPS")
    found = (await service.client.get("/api/runs/REQ-STEPS/steps")).json()
    assert found["req_id"] == "REQ-STEPS"
    first, second = found["steps"]
    assert {
        "step_idx": 0, "element": "Email", "action": "fill", "selector": "#0", "strategy": "label",
        "confidence": 0.9, "status": "success", "heal_round": 0,
    }.items() <= first.items()  # fmt: skip
    assert second["step_idx"] == 1


async def test_a_step_that_failed_is_stored_with_its_error(service):
    service.quick.verdicts["REQ-BROKEN"] = "fail"
    service.quick.step_errors["REQ-BROKEN"] = "expected the heading Welcome, found Sign in"
    await service.submit("REQ-BROKEN")
    await service.over("REQ-BROKEN")
    good, bad = (await service.client.get("/api/runs/REQ-BROKEN/steps")).json()["steps"]
    assert (good["status"], good.get("error_message")) == ("success", None)
    assert (bad["status"], bad["error_message"]) == ("failed", "expected the heading Welcome, found Sign in")


async def test_steps_may_be_objects(service):
    steps = [
        {"element": "Email", "region": "Login", "action": "fill", "value": "ada"},
        "Sign in@Login | click",
    ]
    await service.submit("REQ-OBJECTS", steps=steps)
    await service.over("REQ-OBJECTS")
    found = (await service.client.get("/api/runs/REQ-OBJECTS/steps")).json()
    assert [step["element"] for step in found["steps"]] == ["Email", "Sign in"]


async def test_an_artifact_is_listed_with_its_hash_and_size_and_given_away(service):
    await service.submit("REQ-FILES")
    run = await service.over("REQ-FILES")
    listed = (await service.client.get("/api/artifacts/REQ-FILES")).json()
    (artifact,) = listed["artifacts"]
    content = (service.folder / artifact["path"]).read_bytes()
    assert artifact["type"] == "test_file"
    assert artifact["path"] == f"{run['run_id']}/test_REQ-FILES.py"
    assert artifact["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert artifact["size_bytes"] == len(content)

    given = await service.client.get(f"/api/artifacts/REQ-FILES/{artifact['name']}")
    assert given.content == content
    assert "attachment" in given.headers["content-disposition"]
    assert given.headers["etag"] == f'"{artifact["hash"]}"'


@pytest.mark.parametrize("name", ["..%2f..%2fknowledge.sqlite3", "no_such", "%2e%2e", "test_file%00"])
async def test_no_other_file_is_given_away(service, name):
    await service.submit("REQ-TRAVERSAL")
    await service.over("REQ-TRAVERSAL")
    given = await service.client.get(f"/api/artifacts/REQ-TRAVERSAL/{name}")
    assert given.status_code in (404, 422)
    assert given.headers["content-type"] == "application/problem+json"


async def test_what_a_link_leads_to_outside_the_runs_is_not_given_away(service, tmp_path):
    await service.submit("REQ-LINK")
    run = await service.over("REQ-LINK")
    file = service.folder / run["run_id"] / "test_REQ-LINK.py"
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * file.stat().st_size)
    file.unlink()
    file.symlink_to(secret)
    assert (await service.client.get("/api/artifacts/REQ-LINK/test_file")).status_code == 404
    assert (await service.client.get("/api/artifacts/REQ-LINK")).json()["artifacts"] == []


async def test_a_requirement_may_be_verified_again_and_each_run_asked_for(service):
    first = (await service.submit("REQ-AGAIN")).json()["run_id"]
    await service.over("REQ-AGAIN")
    service.quick.verdicts["REQ-AGAIN"] = "fail"
    second = (await service.submit("REQ-AGAIN")).json()["run_id"]
    assert (await service.over("REQ-AGAIN"))["verdict"] == "fail"
    earlier = (await service.client.get("/api/runs/REQ-AGAIN", params={"run_id": first})).json()
    assert (earlier["run_id"], earlier["verdict"]) == (first, "pass")
    listed = (await service.client.get("/api/runs", params={"req_id": "REQ-AGAIN"})).json()["runs"]
    assert [run["run_id"] for run in listed] == [second, first]


async def test_a_requirement_that_runs_already_is_refused_with_what_to_do(service):
    service.quick.held.add("REQ-TWICE")
    await service.submit("REQ-TWICE")
    refused = await service.submit("REQ-TWICE")
    assert refused.status_code == 409
    said = refused.json()
    assert said["code"] == "already_running"
    assert "/api/runs/REQ-TWICE/cancel" in said["fix"]
    await service.quick.let_go("REQ-TWICE")
    await service.over("REQ-TWICE")


async def test_runs_are_begun_in_the_order_of_their_submission_and_say_how_many_are_before_them(tmp_path):
    quick = Quick(held={"A"})
    async with served(tmp_path, quick=quick, limits=RunQueueLimits(workers=1)) as service:
        await service.submit("A")
        await quick.until_began("A")
        said = [(await service.submit(name)).json() for name in "BCDE"]
        assert [(one["status"], one["before"]) for one in said] == [("queued", n) for n in range(4)]
        assert (await service.run("D"))["before"] == 2
        assert (await service.run("D"))["summary"]["total_steps"] == 2
        await quick.let_go()
        await service.over("E")
        assert quick.began == list("ABCDE")


async def test_a_run_that_waits_is_cancelled_at_once(tmp_path):
    quick = Quick(held={"A"})
    async with served(tmp_path, quick=quick, limits=RunQueueLimits(workers=1)) as service:
        await service.submit("A")
        await quick.until_began("A")
        await service.submit("B")
        cancelled = await service.client.post("/api/runs/B/cancel")
        assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelled")
        run = await service.run("B")
        assert (run["status"], run["verdict"], run["error"]) == ("cancelled", None, "cancelled")
        assert (await service.submit("B")).status_code == 202, "it may be verified again"
        await quick.let_go()
        await service.over("B")
        assert quick.began == ["A", "B"]


@pytest.mark.parametrize("deaf", [False, True])
async def test_a_run_that_goes_on_is_cancelled_whether_it_listens_or_not(service, deaf):
    name = f"REQ-CANCEL-{deaf}"
    service.quick.held.add(name)
    service.quick.deaf = deaf
    await service.submit(name)
    await service.quick.until_began(name)
    cancelled = await service.client.post(f"/api/runs/{name}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelling")
    run = await service.over(name)
    assert (run["status"], run["verdict"]) == ("cancelled", None)
    again = await service.client.post(f"/api/runs/{name}/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "already_over")
    service.quick.deaf = False


async def test_a_run_that_cannot_be_verified_says_why_and_what_to_do(service):
    service.quick.errors["REQ-BROKEN"] = [UserError("no Chromium to drive", fix="install one")]
    await service.submit("REQ-BROKEN")
    run = await service.over("REQ-BROKEN")
    assert (run["status"], run["verdict"]) == ("failed", None)
    assert (run["error"], run["fix"]) == ("no Chromium to drive", "install one")


async def test_a_defect_ends_its_run_and_no_other(service):
    service.quick.errors["REQ-DEFECT"] = [ZeroDivisionError("secret-ish words")]
    await service.submit("REQ-DEFECT")
    run = await service.over("REQ-DEFECT")
    assert (run["status"], run["error"]) == ("failed", "internal error: ZeroDivisionError")
    assert "secret-ish" not in json.dumps(run)
    await service.submit("REQ-AFTER-DEFECT")
    assert (await service.over("REQ-AFTER-DEFECT"))["status"] == "completed"


async def test_events_come_as_they_happen_and_go_on_after_the_last_one_heard(service):
    service.quick.held.add("REQ-EVENTS")
    await service.submit("REQ-EVENTS")
    heard, gone_on = [], []
    async with service.client.stream("GET", "/api/runs/REQ-EVENTS/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        async for line in stream.aiter_lines():
            heard += re.findall(r"^id: (\d+)$", line)
            if len(heard) == 3:  # started, and both steps: the run is held, and this came before its end
                break
    following = asyncio.create_task(service.told("REQ-EVENTS", **{"Last-Event-ID": heard[1]}))
    await service.quick.let_go("REQ-EVENTS")
    gone_on = await following
    assert [event for _, event, _ in gone_on] == ["step_done", "finished"]
    assert [number for number, _, _ in gone_on] == ["2", "3"]
    assert json.loads(gone_on[-1][2])["verdict"] == "pass"

    whole = await service.told("REQ-EVENTS")
    assert [event for _, event, _ in whole] == ["started", "step_done", "step_done", "finished"]
    told = await service.client.get("/api/runs/REQ-EVENTS/events", headers={"Last-Event-ID": "3"})
    assert told.status_code == 204, "an EventSource does not come back after that"


async def test_a_client_that_hangs_up_loses_nothing(service, monkeypatch):
    runs, here, on = service.queue._runs, asyncio.Event(), asyncio.Event()
    begin_run = runs.begin_run

    async def slowly(run):
        here.set()
        await on.wait()
        return await begin_run(run)

    monkeypatch.setattr(runs, "begin_run", slowly)
    body = json.dumps({"req_id": "REQ-GONE", "url": "https://shop.example.com", "steps": STEPS}).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(service.url).port)
    head = (
        f"POST /api/run HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {KEY}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await here.wait()
    writer.transport.abort()
    on.set()
    await service.quick.until_began("REQ-GONE")
    assert (await service.over("REQ-GONE"))["verdict"] == "pass"


async def test_thirty_at_once_are_all_kept_and_finished(service):
    names = [f"REQ-{number:03}" for number in range(30)]
    answers = await asyncio.gather(*(service.submit(name) for name in names))
    assert {answer.status_code for answer in answers} == {202}
    runs = await asyncio.gather(*(service.over(name) for name in names))
    assert {(run["status"], run["verdict"]) for run in runs} == {("completed", "pass")}
    began = [name for name in service.quick.began if name in names]
    assert sorted(began) == names, "each of them once"


async def test_the_page_for_people_tells_the_same_without_a_script(service):
    await service.submit("REQ-PAGE", title="<script>alert(1)</script>")
    await service.over("REQ-PAGE")
    page = await service.client.get("/", headers={"X-API-Key": ""}, auth=("me", KEY))
    assert page.status_code == 200
    assert "REQ-PAGE" in page.text
    assert "worked" in page.text
    assert "<script" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    run_id = (await service.run("REQ-PAGE"))["run_id"]
    assert f"/runs/{run_id}" in page.text, "where the page leads"
    there = await service.client.get(f"/runs/{run_id}", headers={"X-API-Key": ""}, auth=("me", KEY))
    assert there.status_code == 200
    forged = await service.client.post(
        "/api/runs/REQ-PAGE/cancel", headers={"X-API-Key": ""}, auth=("me", KEY)
    )
    assert forged.status_code == 401, "what a browser sends by itself may only look"
    asked = await service.client.get("/", headers={"X-API-Key": ""})
    assert asked.status_code == 401
    assert asked.headers["www-authenticate"].startswith("Basic")


async def test_runs_of_other_commands_are_told_of_too(service):
    runs = service.queue._runs
    for req_id, ended in (("CLI-DONE", True), ("CLI-DEAD", False)):
        run = StoredRun(
            run_id=f"cli-{req_id}", req_id=req_id, url="https://shop.example.com", started_at=datetime.now(UTC),
            website_id="shop", kind="verification", subject=req_id,
        )  # fmt: skip
        await runs.begin_run(run)
        if ended:
            await runs.finish_run(run.run_id, build_run_ending("completed", run.started_at))
    assert (await service.run("CLI-DONE"))["status"] == "completed"
    dead = await service.run("CLI-DEAD")
    assert (dead["status"], dead["error"]) == ("failed", "interrupted: its process has ended")
    assert (await service.submit("CLI-DEAD")).status_code == 202


async def test_a_run_that_does_not_end_is_ended_and_its_worker_takes_the_next(tmp_path):
    quick = Quick(held={"A", "B"}, deaf=True)
    async with served(tmp_path, quick=quick, limits=RunQueueLimits(workers=2, run_s=0.3)) as service:
        for req_id in ("A", "B", "C"):
            assert (await service.submit(req_id)).status_code == 202
        ended = await service.over("A")
        assert ended["status"] == "failed"
        assert "more than 0.3 s" in ended["error"]
        assert (await service.over("C"))["verdict"] == "pass"


async def test_no_answer_names_a_folder_of_the_server(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "names.csv").write_text("Ada")
    async with served(tmp_path) as service:
        assert (
            await service.submit("A", steps=["Start | click", "F | upload | names.csv"])
        ).status_code == 202
        run_id = (await service.over("A"))["run_id"]
        asked = [
            "/api/health",
            "/api/openapi.json",
            "/api/runs",
            "/api/verifications",
            "/",
            "/runs",
            f"/runs/{run_id}",
            "/health",
        ]
        asked += [
            f"/api/{kind}/A{rest}"
            for kind, rest in (("runs", ""), ("runs", "/steps"), ("runs", "/events"), ("artifacts", ""))
        ]
        told = {each: (await service.client.get(each)).text for each in asked}
        listed = (await service.client.get("/api/artifacts/A")).json()["artifacts"]
        for each in listed:
            told[each["name"]] = (await service.client.get(f"/api/artifacts/A/{each['name']}")).text
        for body in ({}, {"req_id": "../A", "url": "x", "steps": ["F | upload | none.csv"]}):
            told[str(body)] = (await service.client.post("/api/run", json=body)).text
    assert [name for name, text in told.items() if str(tmp_path) in text] == []
    assert "names.csv" in told["/api/runs/A/events"]  # what the verifier was given
