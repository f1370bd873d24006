"""Sentences over REST and in the console: a known task first, a model's plan if one is configured, and nothing without a yes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kb_schema.service_records import OPEN_STATES, StoredJob
from kb_store import load_knowledge, open_stores
from loaders import read_knowledge_folder
from tests.chain.test_jobs_in_console import look_at
from tests.chain.test_sentence_runs import MOOR, PLAN, SENTENCE
from tests.periplus.service.service_support import served
from tests.support.model_policies import follow
from tests.support.model_server import Answer, serve_model

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
NEAR = "Register the boat Skua as a raft"
KNOWN = 'Register a boat with the boat name "Tern" and the length 6'


@pytest.fixture
async def service(tmp_path, site, monkeypatch):
    monkeypatch.delenv("PERIPLUS_MODEL", raising=False)
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(HARBOUR / "kb")[0])
    async with served(tmp_path, keyed=False, base_urls={"harbour": site.url}) as opened:
        yield opened


async def read(service, sentence, **more):
    body = {"website_id": "harbour", "sentence": sentence, **more}
    return await service.client.post("/api/sentences", json=body, timeout=70)


async def order(service, found):
    accepted = await service.client.post("/api/jobs", json=found)
    assert accepted.status_code == 202, accepted.text
    over = {"state": "waiting"}
    while over["state"] in OPEN_STATES:
        answer = await service.client.get(accepted.headers["location"], params={"wait": 60}, timeout=70)
        over = answer.json()
    return over


# -- REST --------------------------------------------------------------------------------------------


async def test_a_sentence_is_read_without_a_model_and_its_order_runs_the_task(service, site):
    found = (await read(service, KNOWN)).json()
    assert (found["meaning"], found["model_use"]["calls"]) == ("task", 0)
    assert (found["order"]["task_id"], found["order"]["values"]) == (
        "register_boat",
        {"boat_name": "Tern", "length": "6"},
    )
    assert site.state()["boats"] == []
    over = await order(service, found["order"])
    assert (over["outcome"], over["model_use"]["calls"]) == ("success", 0)
    assert [each["name"] for each in site.state()["boats"]] == ["Tern"]


async def test_a_missing_value_and_an_unknown_job_are_said_and_nothing_can_be_run(service):
    unclear = (await read(service, "Register a boat")).json()
    assert (unclear["meaning"], unclear["order"]) == ("unclear", None)
    (similar,) = unclear["similar"]
    assert (similar["order"]["task_id"], similar["missing"]) == ("register_boat", ["boat_name"])
    none = (await read(service, SENTENCE)).json()
    assert (none["meaning"], none["order"], none["similar"]) == ("none", None, [])
    assert "PERIPLUS_MODEL" in none["fix"]
    near = (await read(service, NEAR)).json()
    assert (near["meaning"], near["order"], near["similar"]) == ("none", None, [])
    assert "the nearest is register_boat, which needs boat_name" in near["explanation"]


async def test_a_model_plans_what_no_task_does_and_the_order_of_its_plan_runs_it(service, site, monkeypatch):
    with serve_model(follow(PLAN, MOOR)) as server:
        monkeypatch.setenv("PERIPLUS_MODEL", server.openai)
        found = (await read(service, SENTENCE, values={"username": "ada"})).json()
        assert (found["meaning"], found["model_use"]["calls"]) == ("plan", len(server.requests))
        assert "presses: Register a boat, Moor" in found["plan"]
        assert site.state()["boats"] == []
        over = await order(service, found["order"])
        assert (over["outcome"], over["error"]) == ("success", None)
        assert over["model_use"]["calls"] == len(server.requests) - 1
        assert over["model_use"]["cost_usd"] > 0
    assert site.state()["boats"] == [{"name": "Skua", "length": "12"}]
    run = await service.console.runs.run(over["run_id"])
    assert (run.kind, run.subject) == ("sentence", SENTENCE)
    metrics = {
        each.metric_name: each.metric_value for each in await service.console.runs.metrics(over["run_id"])
    }
    assert metrics["model_calls"] == over["model_use"]["calls"]


async def test_what_the_plan_does_not_imply_needs_a_name_in_the_order(service, site, monkeypatch):
    site.moor("Skua")
    plan = {"start_screen": "quay", "controls": ["Cast off"], "gone_when_done": ["Skua"]}
    acts = [{"on": "Cast off", "action": "click"}]
    with serve_model(follow(plan, acts * 3)) as server:
        monkeypatch.setenv("PERIPLUS_MODEL", server.openai)
        told = "Let the boat Skua go"
        made = {"kind": "sentence", "website_id": "harbour", "sentence": told}
        refused = await order(service, {**made, "plan": {**plan, "controls": []}})
        assert refused["outcome"] == "needs_person", refused
        assert "Cast off" in refused["error"]
        assert [each["name"] for each in site.state()["boats"]] == ["Skua"]
    with serve_model(follow(plan, acts)) as server:
        monkeypatch.setenv("PERIPLUS_MODEL", server.openai)
        done = await order(service, {**made, "plan": {**plan, "controls": []}, "allowed": ["Cast off"]})
        assert (done["outcome"], site.state()["boats"]) == ("success", [])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"values": {"password": "x"}}, "password is a secret"),
        ({"values": {"note": "{secret:HOME}"}}, "{secret:HOME} is not allowed"),
        ({"plan": {**PLAN, "shown_when_done": ["Quay"]}}, "plan.shown_when_done"),
        ({"plan": {**PLAN, "start_screen": "nowhere"}}, "plan.start_screen"),
        ({"plan": {"task_id": "register_boat"}}, "order the task"),
        ({"sentence": ""}, "1 invalid field"),
        ({"website_id": "harbor"}, "no website 'harbor'"),
    ],
)
async def test_a_wrong_order_of_a_plan_is_refused(service, monkeypatch, change, said):
    monkeypatch.setenv("PERIPLUS_MODEL", "openai:gpt-5-mini@http://127.0.0.1:9/v1")
    body = {
        "kind": "sentence",
        "website_id": "harbour",
        "sentence": "Moor Skua, 12 m long",
        "plan": PLAN,
        **change,
    }
    refused = await service.client.post("/api/jobs", json=body)
    assert refused.status_code in (404, 422), refused.text
    assert said in refused.text, refused.text
    assert (await service.client.get("/api/jobs")).json() == {"jobs": []}


async def test_a_plan_is_not_scheduled_and_not_run_without_a_model(service):
    made = {"kind": "sentence", "website_id": "harbour", "sentence": SENTENCE, "plan": PLAN}
    refused = await service.client.post("/api/jobs", json=made)
    assert (refused.status_code, "PERIPLUS_MODEL" in refused.json()["fix"]) == (422, True)
    body = {"name": "n", "cron": "0 6 * * *", "order": made}
    refused = await service.client.post("/api/schedules", json=body)
    assert (refused.status_code, "--teach" in refused.json()["fix"]) == (422, True)


@pytest.mark.sampled(0.3)
@pytest.mark.timeout(600)
async def test_verified_jobs_in_words_become_a_workflow_and_the_next_sentence_needs_no_model(
    service, site, monkeypatch
):
    done = []
    for name, length in (("Skua", "12"), ("Tern", "6")):
        plan = {**PLAN, "name": "Berth a vessel", "entered": [name, f"{length} m"], "shown_when_done": [name]}
        acts = [
            {**act, "value": {"Boat name": name, "Length": f"{length} m"}[act["on"]]}
            if "value" in act
            else act
            for act in MOOR
        ]
        with serve_model(follow(plan, acts)) as server:
            monkeypatch.setenv("PERIPLUS_MODEL", server.openai)
            found = (await read(service, f"Berth the vessel '{name}' with a length of {length} m")).json()
            over = await order(service, found["order"])
            assert over["outcome"] == "success", over
            done.append(over["job_id"])
    monkeypatch.delenv("PERIPLUS_MODEL")
    made = {"kind": "teach", "website_id": "harbour", "jobs": done, "name": "Berth a vessel"}
    taught = await order(service, made)
    assert (taught["outcome"], taught["error"]) == ("success", None), taught
    boats = site.state()["boats"]
    again = (await read(service, "Berth the vessel 'Eider' with a length of 12 m")).json()
    assert (again["meaning"], again["model_use"]["calls"]) == ("task", 0), again
    over = await order(service, again["order"])
    assert (over["outcome"], over["model_use"]["calls"]) == ("success", 0), over
    assert site.state()["boats"] == [*boats, {"name": "Eider", "length": "12"}]


async def test_only_verified_jobs_in_words_of_the_website_teach_a_workflow(service):
    known = await order(service, (await read(service, KNOWN)).json()["order"])
    made = {"kind": "teach", "website_id": "harbour", "name": "Berth"}
    for jobs, said in (
        (["job-1", "job-2"], "job-1 is no job in words"),
        ([known["job_id"], "job-2"], "is no job in words"),
        (["job-1", "job-1"], "one is named twice"),
        (["job-1"], "1 invalid field"),
    ):
        refused = await service.client.post("/api/jobs", json={**made, "jobs": jobs})
        assert (refused.status_code, said in refused.text) == (422, True), refused.text
    failed = StoredJob(
        job_id="job-2",
        order={
            "kind": "sentence",
            "website_id": "harbour",
            "sentence": SENTENCE,
            "plan": PLAN,
        },
        state="ended",
        outcome="unverified",
        created_at=known["created_at"],
    )
    await service.console.jobs.records.add(failed)
    refused = await service.client.post("/api/jobs", json={**made, "jobs": ["job-2", "job-1"]})
    assert "job-2 is unverified; only verified jobs" in refused.text
    body = {"name": "n", "cron": "0 6 * * *", "order": {**made, "jobs": ["job-1", "job-2"]}}
    assert "teaching cannot be scheduled" in (await service.client.post("/api/schedules", json=body)).text


async def test_a_model_that_does_not_answer_is_told_and_nothing_runs(service, monkeypatch):
    with serve_model([Answer(status=500)]) as server:
        monkeypatch.setenv("PERIPLUS_MODEL", server.openai)
        refused = await read(service, SENTENCE)
    assert (refused.status_code, refused.json()["code"]) == (503, "model_unavailable")
    assert refused.json()["fix"]


# -- the console -------------------------------------------------------------------------------------


async def say(page, service, sentence):
    await page.goto(f"{service.url}/sites/harbour/tasks")
    await page.get_by_label("What should be done?").fill(sentence)
    await page.get_by_role("button", name="Read it").click()
    await page.get_by_role("heading", level=1, name=sentence).wait_for()
    return await page.locator("main").inner_text()


async def test_the_box_shows_the_task_with_its_values_and_runs_it_after_a_press(service, browser, site):
    context = await browser.new_context()
    page = await context.new_page()
    said = await say(page, service, KNOWN)
    assert "This task does it" in said
    assert "0 model calls" in said
    assert await page.get_by_label("boat name").input_value() == "Tern"
    assert site.state()["boats"] == []
    await page.get_by_role("button", name="Run it as Register a boat").click()
    await page.get_by_text("It worked").wait_for(timeout=60_000)
    assert [each["name"] for each in site.state()["boats"]] == ["Tern"]
    assert "0 model calls" in await page.locator("main").inner_text()
    said = await say(page, service, "Register a boat")
    assert "no value for boat_name" in said
    await page.get_by_label("boat name").fill("Gull")
    await page.get_by_role("button", name="Run it as Register a boat").click()
    await page.get_by_text("It worked").wait_for(timeout=60_000)
    assert "no task does what the sentence says" in (await say(page, service, SENTENCE)).casefold()
    assert await page.get_by_role("button", name="Run").count() == 0
    assert "the nearest is register_boat, which needs boat_name" in await say(page, service, NEAR)
    await look_at(browser, service, "/sites/harbour/tasks", "tasks-with-box")
    await context.close()


async def test_the_box_shows_a_plan_and_its_cost_and_runs_it_after_a_press(
    service, browser, site, monkeypatch
):
    context = await browser.new_context()
    page = await context.new_page()
    with serve_model(follow(PLAN, MOOR)) as server:
        monkeypatch.setenv("PERIPLUS_MODEL", server.openai)
        said = await say(page, service, SENTENCE)
        assert "A language model has made this plan" in said
        assert re.search(r"Reading it took 1 model call, [\d,]+ tokens, 0\.\d+ USD", said), said
        assert "Register a boat, Moor" in said
        await page.get_by_role("button", name="Run the plan").click()
        await page.get_by_text("It worked").wait_for(timeout=60_000)
    assert site.state()["boats"] == [{"name": "Skua", "length": "12"}]
    assert re.search(r"Language model\s+5 model calls", await page.locator("main").inner_text())
    (job,) = await service.console.jobs.records.select(StoredJob)
    assert json.loads(job.order.plan.model_dump_json())["controls"] == PLAN["controls"]
    await page.get_by_role("link", name="Watch the run").click()
    assert re.search(r"Language model\s+5 model calls", await page.locator("main").inner_text())
    await context.close()
