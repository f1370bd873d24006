"""`/api/jobs` and `/api/schedules`: a task, a verification and a map are run by the service, now and when they are due."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kb_schema.service_records import Schedule, StoredJob, TaskOrder
from kb_store import load_knowledge, open_stores
from kb_store.store_factory import open_runs
from loaders import read_knowledge_folder
from periplus.jobs import service_jobs
from tests.periplus.service.service_support import served

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
BOAT = {"kind": "task", "website_id": "harbour", "task_id": "register_boat"}
TERN = {**BOAT, "values": {"boat_name": "Tern", "length": "6"}}


@pytest.fixture
async def data(tmp_path):
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(HARBOUR / "kb")[0])
    return tmp_path


async def until_over(client, path):
    return (await client.get(path, params={"wait": 60}, timeout=70)).json()


async def test_a_task_is_run_by_the_service_and_its_job_names_the_run(data, site):
    async with served(data, base_urls={"harbour": site.url}) as service:
        accepted = await service.client.post("/api/jobs", json=TERN)
        assert accepted.status_code == 202, accepted.text
        over = await until_over(service.client, accepted.headers["location"])
        assert (over["state"], over["outcome"], over["error"]) == ("ended", "success", None)
        assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]
        run = await service.console.runs.run(over["run_id"])
        assert (run.subject, run.status.value) == ("register_boat", "success")
        listed = (await service.client.get("/api/jobs")).json()["jobs"]
        assert [each["job_id"] for each in listed] == [over["job_id"]]
        again = await service.client.post(f"/api/jobs/{over['job_id']}/cancel")
        assert (again.status_code, again.json()["code"]) == (409, "already_over")


async def test_a_schedule_that_became_due_while_no_server_ran_is_run_once_or_told_as_missed(data, site):
    now = datetime.now(UTC)
    order = TaskOrder(website_id="harbour", task_id="register_boat", values=TERN["values"])
    async with open_runs(data) as runs:
        for name, lateness_s in (("late", 7_200), ("missed", 0)):
            begun = now - timedelta(hours=1, minutes=30)
            schedule = Schedule(
                schedule_id=name, name=name, cron=f"{(now - timedelta(minutes=20)).minute} * * * *", order=order,
                created_at=begun, decided_until=now - timedelta(minutes=50), lateness_s=lateness_s,
            )  # fmt: skip
            await runs.service_records.add(schedule)
    async with served(data, base_urls={"harbour": site.url}) as service:
        records = service.console.jobs.records
        while not (late := await records.select(StoredJob, group="late")):
            await service.client.get("/api/jobs/none", params={"wait": 1})
        over = await until_over(service.client, f"/api/jobs/{late[0].job_id}")
        assert (over["state"], over["outcome"]) == ("ended", "success")
        (missed,) = (await service.client.get("/api/jobs?schedule_id=missed")).json()["jobs"]
        assert (missed["state"], missed["missed"]) == ("missed", 1)
        assert "no server was running" in missed["error"]
        assert len(site.state()["boats"]) == 1


async def test_a_schedule_is_made_paused_resumed_and_deleted(data):
    body = {"name": "Each morning", "cron": "30 6 * * 1-5", "zone": "Europe/Berlin", "order": TERN}
    async with served(data) as service:
        made = await service.client.post("/api/schedules", json=body)
        assert made.status_code == 201, made.text
        path = made.headers["location"]
        assert made.json()["description"].startswith("At 06:30 on Monday through Friday (Europe/Berlin)")
        assert datetime.fromisoformat(made.json()["next_at"]) > datetime.now(UTC)
        paused = (await service.client.post(f"{path}/pause")).json()
        assert (paused["active"], paused["next_at"]) == (False, None)
        assert (await service.client.post(f"{path}/resume")).json()["active"]
        assert [
            each["name"] for each in (await service.client.get("/api/schedules")).json()["schedules"]
        ] == ["Each morning"]
        assert (await service.client.delete(path)).status_code == 204
        gone = await service.client.get(path)
        assert (gone.status_code, "GET /api/schedules" in gone.json()["fix"]) == (404, True)


async def test_no_more_schedules_than_the_limit_are_made_and_all_are_listed(data, monkeypatch):
    monkeypatch.setattr(service_jobs, "MOST_SCHEDULES", 2)
    body = {"name": "Each morning", "cron": "30 6 * * 1-5", "order": TERN}
    async with served(data) as service:
        asked = (service.client.post("/api/schedules", json=body) for _ in range(6))
        made = [each.status_code for each in await asyncio.gather(*asked)]
        assert sorted(made) == [201, 201, 422, 422, 422, 422]
        assert len((await service.client.get("/api/schedules")).json()["schedules"]) == 2


async def test_requirements_in_the_folder_of_files_are_verified_at_a_known_website(data, site):
    (data / "files").mkdir()
    table = "ReqID,StartPage,Element,Action,Value,Expected\nREQ-1,/,Nothing of this name,click,,\n"
    (data / "files" / "smoke.csv").write_text(table)
    async with served(data, base_urls={"harbour": site.url}) as service:
        order = {"kind": "verification", "files": ["smoke.csv"], "base_url": site.url}
        accepted = await service.client.post("/api/jobs", json=order)
        assert accepted.status_code == 202, accepted.text
        over = await until_over(service.client, accepted.headers["location"])
        printed = (await service.client.get(f"{accepted.headers['location']}/output")).text
        assert (over["state"], over["outcome"]) == ("ended", "failure"), (over, printed)
        assert "REQ-1" in printed
        assert list((service.folder / over["folder"]).rglob("report.html"))
        (data / "files" / "smoke.csv").write_text("ReqID,Page,Element\n")
        accepted = await service.client.post("/api/jobs", json=order)
        over = await until_over(service.client, accepted.headers["location"])
        assert (over["state"], bool(over["hint"])) == ("failed", True)
        assert "smoke.csv, line 1" in over["error"]


async def test_a_map_of_a_website_is_made_and_loaded(data, site):
    async with served(data, serve_maps=site.url) as service:
        order = {"kind": "map", "website_id": "quay", "url": site.url, "load": True, "most_pages": 5}
        accepted = await service.client.post("/api/jobs", json=order)
        over = await until_over(service.client, accepted.headers["location"])
        printed = (await service.client.get(f"{accepted.headers['location']}/output")).text
        assert (over["state"], over["outcome"]) == ("ended", "success"), (over, printed)
        assert "quay" in await service.console.views.websites()
        assert (data / "maps" / "quay" / "kb").is_dir()


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({**BOAT, "task_id": "register_bat"}, 422, "register_bat"),
        ({**BOAT, "website_id": "harbor"}, 404, "no website 'harbor'"),
        ({**BOAT, "values": {"boat_name": "{secret:HOME}"}}, 422, "{secret:HOME} is not allowed"),
        ({"kind": "verification", "files": ["../knowledge.sqlite3"]}, 422, "is not in the folder of files"),
        ({"kind": "verification", "files": ["/etc/passwd"]}, 422, "is not in the folder of files"),
        ({"kind": "verification", "files": ["none.csv"]}, 422, "there is no file 'none.csv'"),
        (
            {"kind": "verification", "files": ["here.csv"], "base_url": "https://evil.example"},
            422,
            "of no website in the knowledge base",
        ),
        ({"kind": "map", "website_id": "x", "url": "file:///etc/passwd"}, 422, "is not a web address"),
        ({"kind": "map", "website_id": "x", "url": "--out=/tmp"}, 422, "is not a web address"),
        ({"kind": "map", "website_id": "-x", "url": "https://a.example"}, 422, "1 invalid field"),
        (
            {"kind": "map", "website_id": "harbour", "url": "https://evil.example", "sign_in_task": "register_boat"},
            422,
            "is no address of harbour",
        ),
        ({"kind": "map", "website_id": "harbour", "url": "https://evil.example"}, 422, "is no address of harbour"),
        ({"kind": "map", "website_id": "x", "url": "https://evil.example", "load": True}, 422, "may not load a new website"),
        (
            {"kind": "map", "website_id": "harbour_admin", "url": "https://maps.example", "load": True},
            422,
            "could be given secrets of another one",
        ),
        ({"kind": "map", "website_id": "x", "update": True}, 404, "no website 'x'"),
        ({"kind": "demo", "website_id": "harbour", "flow_id": "tour"}, 422, "has no flow 'tour'"),
        ({"kind": "shell", "command": "id"}, 422, "1 invalid field"),
    ],
)  # fmt: skip
async def test_a_wrong_order_is_refused_with_what_to_do_and_nothing_is_kept(data, body, status, said):
    (data / "files").mkdir()
    (data / "files" / "here.csv").write_text("ReqID\n")
    async with served(data, serve_maps="https://maps.example") as service:
        for path, given in (
            ("/api/jobs", body),
            ("/api/schedules", {"name": "n", "cron": "0 6 * * *", "order": body}),
        ):
            refused = await service.client.post(path, json=given)
            assert (refused.status_code, said in refused.json()["detail"]) == (status, True), refused.text
            assert refused.json()["fix"] or refused.json()["errors"]
        assert (await service.client.get("/api/jobs")).json() == {"jobs": []}
        assert (await service.client.get("/api/schedules")).json() == {"schedules": []}


async def test_a_webhook_needs_an_allowed_origin_and_its_secret_is_shown_once(data, monkeypatch):
    async with served(data) as service:
        refused = await service.client.post("/api/webhooks", json={"url": "http://127.0.0.1:9/"})
        assert (refused.status_code, "PERIPLUS_SERVE_WEBHOOKS" in refused.json()["fix"]) == (422, True)
        service.console.jobs.webhooks.allowed = frozenset({"http://127.0.0.1:9"})
        made = await service.client.post("/api/webhooks", json={"url": "http://127.0.0.1:9/"})
        assert made.status_code == 201, made.text
        assert made.json()["secret"].startswith("whsec_")
        listed = (await service.client.get("/api/webhooks")).text
        assert made.json()["secret"] not in listed
        path = f"/api/webhooks/{made.json()['webhook_id']}"
        pinged = (await service.client.post(f"{path}/ping")).json()
        assert (pinged["state"], "no answer" in pinged["error"]) == ("given_up", True)
        assert len((await service.client.get(f"{path}/deliveries")).json()["deliveries"]) == 1
        assert (await service.client.delete(path)).status_code == 204
        assert json.loads((await service.client.get("/api/webhooks")).text) == {"webhooks": []}


MAP = {"kind": "map", "website_id": "quay", "url": "http://127.0.0.1:9/"}


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/api/jobs", {**BOAT, "values": {"boat_name": "\ud800", "length": "6"}}, "$.values.boat_name contains half"),
        ("/api/jobs", {**BOAT, "values": {"\udfff": "x"}}, "the name of a field of $.values contains half"),
        ("/api/jobs", {"kind": "verification", "files": ["ok.txt\0.txt"]}, "not in the folder"),
        ("/api/jobs", {"kind": "verification", "files": ["\u20ac" * 150]}, "no file"),
        ("/api/jobs", {**MAP, "url": "http://ann:Zq7xpass@127.0.0.1:9/"}, "has a user name or password"),
        ("/api/collections", {"website_id": "harbour", "task_id": "register_boat", "inputs": [],
         "make": {"boat_name": "human_name"}}, "there is no kind 'human_name'"),
    ],
)  # fmt: skip
async def test_what_cannot_be_kept_is_refused_with_its_place(data, path, body, said):
    async with served(data) as service:
        service.console.jobs.checker.files.mkdir(parents=True, exist_ok=True)
        headers = {"Content-Type": "application/json"}
        refused = await service.client.post(path, content=json.dumps(body), headers=headers)
        assert refused.status_code == 422, refused.text
        assert said in refused.json()["detail"]
        assert "Zq7xpass" not in refused.text
        whole = await service.client.post(path, content='{"kind": "\\ud83d\\ude00"}', headers=headers)
        assert "half" not in whole.text
