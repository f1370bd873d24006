"""`periplus run "a sentence" --model`: a job that no task does, by single acts that the sentence implies, with evidence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.model_policies import follow
from tests.support.model_server import serve_model

pytestmark = pytest.mark.sampled(0.5)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
SENTENCE = "Moor the vessel Skua at the quay, 12 m long"
PLAN = {
    "start_screen": "quay",
    "steps": ["Open the form", "Enter the name", "Choose the length", "Moor"],
    "controls": ["Register a boat", "Moor"],
    "entered": ["Skua", "12 m"],
    "shown_when_done": ["Skua"],
}
MOOR = [
    {"on": "Register a boat", "action": "click"},
    {"on": "Boat name", "action": "fill", "value": "Skua"},
    {"on": "Length", "action": "select_option", "value": "12 m"},
    {"on": "Moor", "action": "click"},
]


@pytest.fixture
def kb(tmp_path):
    """The harbour's screens and paths, without its tasks."""
    folder = tmp_path / "kb"
    shutil.copytree(HARBOUR / "kb", folder)
    for each in ("tasks", "flows"):
        shutil.rmtree(folder / each)
    loaded = warm.run("periplus", "kb", "load", str(folder), cwd=tmp_path)
    assert loaded.returncode == 0, loaded.stdout + loaded.stderr
    return folder


def run(site, cwd, sentence, *more, env=None):
    return warm.run(
        "periplus", "run", sentence, "--base-url", site.url, "--headless", *more,
        cwd=cwd, env={"COLUMNS": "200", **(env or {})}, timeout=110,
    )  # fmt: skip


def test_a_job_that_no_task_does_is_done_within_its_plan_and_shown_by_evidence(site, tmp_path, kb):
    with serve_model(follow(PLAN, MOOR)) as server:
        done = run(site, tmp_path, SENTENCE, "--model", server.openai, "--yes", "--json", "--out", "a")
        calls = len(server.requests)
        planned = server.requests[0].prompt
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert (result["status"], result["evidence"]) == ("success", "verified")
    assert site.state()["boats"] == [{"name": "Skua", "length": "12"}]
    assert result["model_use"]["calls"] == calls == 6
    assert result["model_use"]["cost_usd"] > 0
    assert "when the page was opened again: 'Skua' appears" in result["steps"][-1]["evidence"][0]
    assert "boats moored" not in planned  # the plan is made before any page is seen
    kept = [json.loads(line) for line in (tmp_path / "a" / "model_calls.jsonl").read_text().splitlines()]
    assert [each["prompt"] for each in kept] == ["plan_sentence/1", *["next_act/1"] * 5]
    listed = warm.run("periplus", "runs", "list", cwd=tmp_path, env={"COLUMNS": "200"}).stdout
    assert "sentence" in listed


def test_without_a_model_the_sentence_is_refused_and_with_one_the_plan_is_shown_and_asked_about(
    site, tmp_path, kb
):
    refused = run(site, tmp_path, SENTENCE)
    assert refused.returncode == 2
    assert "no task does what the sentence says" in refused.stderr
    assert "--model" in refused.stderr
    with serve_model(follow(PLAN, MOOR)) as server:
        asked = run(site, tmp_path, SENTENCE, "--model", server.openai)
        assert len(server.requests) == 1
        only = run(site, tmp_path, SENTENCE, "--model", server.openai, "--plan")
    assert asked.returncode == 2
    assert "presses: Register a boat, Moor" in asked.stdout
    assert "add --yes" in asked.stderr
    assert only.returncode == 0
    assert site.state()["boats"] == []


def test_what_deletes_needs_a_yes_by_name_also_if_the_sentence_asks_for_it(site, tmp_path, kb):
    site.moor("Skua")
    plan = {
        "start_screen": "quay",
        "steps": ["Remove it"],
        "controls": ["Cast off", "Delete"],
        "gone_when_done": ["Skua"],
    }
    with serve_model(follow(plan, [{"on": "Cast off", "action": "click"}])) as server:
        done = run(site, tmp_path, "Cast off the vessel Skua", "--model", server.openai, "--yes", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["evidence"] == "verified"
    assert site.state()["removed"] == 1


def test_a_model_that_says_done_without_doing_anything_is_unverified(site, tmp_path, kb):
    """An older boat of that name is there, and a link leads to it."""
    site.moor("Skua")
    acts = [{"on": "Register a boat", "action": "click"}, {"on": "Quay", "action": "click"}]
    with serve_model(follow({**PLAN, "controls": ["Register a boat", "Quay"]}, acts)) as server:
        done = run(site, tmp_path, SENTENCE, "--model", server.openai, "--yes", "--json")
    assert done.returncode == 5, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["evidence"] == "unverified"
    assert "no press sent a change" in result["hint"]
    assert len(site.state()["boats"]) == 1


def test_the_same_press_is_not_done_twice_and_what_the_sentence_does_not_imply_is_not_entered(
    site, tmp_path, kb
):
    acts = [*MOOR, *MOOR[:1], MOOR[1] | {"value": "Gannet"}, *MOOR[1:], *MOOR[3:], *MOOR[3:]]
    with serve_model(follow(PLAN, acts)) as server:
        done = run(site, tmp_path, SENTENCE, "--model", server.openai, "--yes", "--json")
    assert done.returncode == 3, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["status"] == "needs_person"
    assert "was pressed here already" in result["error"]
    assert "--allow 'repeats'" in result["hint"]
    assert [each["name"] for each in site.state()["boats"]] == ["Skua"]


def test_a_run_ends_when_its_acts_are_spent(site, tmp_path, kb):
    acts = [{"on": "Fog", "action": "hover"}] * 50
    with serve_model(follow(PLAN, acts)) as server:
        env = {"PERIPLUS_MODEL_MAX_ACTS": "5"}
        done = run(site, tmp_path, SENTENCE, "--model", server.openai, "--yes", "--json", env=env)
        assert len(server.requests) == 6
    assert done.returncode == 1
    assert "the budget of the run is spent: 5 acts" in json.loads(done.stdout)["error"]


def test_without_page_texts_only_controls_are_sent(site, tmp_path, kb):
    site.moor("Gannet")
    with serve_model(follow(PLAN, MOOR)) as server:
        done = run(site, tmp_path, SENTENCE, "--model", server.openai, "--yes", "--no-page-text")
        sent = [asked.text for asked in server.requests]
    assert done.returncode == 0, done.stdout + done.stderr
    assert all("boats moored" not in each and "Gannet" not in each for each in sent)
    assert "Register a boat" in sent[1]
