"""`periplus run` and `periplus demo` are recorded, and `periplus runs` tells of them: from the outside."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kb_schema.run_records import StoredRun
from kb_schema.workflow_versions import find_workflow_version
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from tests.support import warm

pytestmark = pytest.mark.sampled(0.3)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"


def periplus(*arguments, cwd, env=None, columns="200"):
    return warm.run("periplus", *arguments, cwd=cwd, env={"COLUMNS": columns, **(env or {})}, timeout=110)


def _run(site, cwd, *arguments, env=None, name="Skua"):
    taken = len(list(cwd.glob("o*")))  # a folder holds one session
    out = f"o{taken}" if taken else "o"
    base = ["--base-url", site.url, "--headless", "--out", out, "-i", f"boat_name={name}"]
    return periplus("run", "register_boat", *base, *arguments, cwd=cwd, env=env)


def _shown(cwd, run="last", env=None):
    done = periplus("runs", "show", run, "--json", cwd=cwd, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _load(cwd, kb=HARBOUR / "kb", env=None):
    done = periplus("kb", "load", str(kb), cwd=cwd, env=env)
    assert done.returncode == 0, done.stderr


def _copy(tmp_path, file, old, new):
    kb = tmp_path / "kb"
    shutil.copytree(HARBOUR / "kb", kb)
    text = (kb / file).read_text()
    assert old in text
    (kb / file).write_text(text.replace(old, new))
    return kb


def test_a_run_is_recorded_with_its_steps_outputs_and_files(site, tmp_path):
    _load(tmp_path)
    assert _run(site, tmp_path).returncode == 0
    run = _shown(tmp_path)
    assert (run["kind"], run["subject"], run["website_id"]) == ("task", "register_boat", "harbour")
    assert (run["status"], run["evidence"], run["verdict"]) == ("success", "verified", "pass")
    assert run["outputs"] == {"moored": "Skua"}
    assert [(s["step_id"], s["status"], s["element"]) for s in run["steps"]] == [
        ("open_form", "success", "add"),
        ("fill_name", "success", "name_field"),
        ("choose_length", "success", "length_list"),
        ("moor", "success", "moor"),
    ]
    files = {artifact["name"]: artifact for artifact in run["artifacts"]}
    assert {name: each["artifact_type"] for name, each in files.items()} == {
        "result.json": "result", "session/": "trace", "steps.jsonl": "step_pictures",
    }  # fmt: skip
    measured = {each["metric_name"]: each["metric_value"] for each in run["metrics"]}
    assert (
        measured["replan_attempts"],
        measured["data_retention_rate"],
        measured["completion_percentage"],
    ) == (0, 1, 100)
    assert measured["workflow_duration_ms"] > 0
    result = (tmp_path / "o" / "result.json").read_bytes()
    assert files["result.json"]["file_hash"] == hashlib.sha256(result).hexdigest()
    assert files["result.json"]["size_bytes"] == len(result)
    told = periplus("runs", "show", run["run_id"][:6], cwd=tmp_path).stdout
    for words in ("register_boat (task) on harbour", "Verified: the expected result was observed.", "fill_name", "name_field",
                  "moored  Skua", "result.json"):  # fmt: skip
        assert words in told
    listed = periplus("runs", "list", cwd=tmp_path).stdout
    for words in (run["run_id"], "register_boat", "harbour", "today", "success, verified", "4"):
        assert words in listed
    narrow = periplus("runs", "list", cwd=tmp_path, columns="80").stdout
    line = next(each for each in narrow.splitlines() if run["run_id"] in each)
    assert "task register_boat" in line
    assert "success, verified" in line


WORKFLOW = {
    "type": "workflow", "workflow_id": "moor_one", "name": "Moor one", "website_id": "harbour",
    "io_spec": {"inputs": [{"name": "boat_name"}]},
    "nodes": [{"type": "task", "node_id": "moor", "task_id": "register_boat",
               "inputs": {"boat_name": {"source": "task_context", "key": "boat_name"}}}],
    "success_criteria": [{"type": "element_visible", "element": "tr.boat"}],
}  # fmt: skip


def _with_workflow(tmp_path):
    kb = tmp_path / "kb"
    shutil.copytree(HARBOUR / "kb", kb)
    (kb / "workflows").mkdir()
    (kb / "workflows" / "moor_one.json").write_text(json.dumps(WORKFLOW))
    knowledge, _ = read_knowledge_folder(kb)
    _load(tmp_path, kb)
    return find_workflow_version(knowledge, knowledge.workflows["moor_one"])


def test_a_workflows_version_is_named_wherever_its_run_is_told_of(site, tmp_path):
    version = _with_workflow(tmp_path)
    base = ["moor_one", "--base-url", site.url]
    done = periplus("run", *base, "--headless", "--out", "o", "-i", "boat_name=Skua", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"version {version}" in done.stdout
    assert json.loads((tmp_path / "o" / "result.json").read_text())["workflow_version"] == version
    assert _shown(tmp_path)["workflow_version"] == version
    assert f"version {version}" in periplus("runs", "show", "last", cwd=tmp_path).stdout
    assert f"version {version}" in periplus("runs", "list", cwd=tmp_path).stdout
    assert (
        json.loads(periplus("runs", "list", "--json", cwd=tmp_path).stdout)[0]["workflow_version"] == version
    )
    (tmp_path / "rows.csv").write_text("boat_name\nTern\n")
    collected = periplus(
        "collect", *base, "--inputs", "rows.csv", "--workers", "1", "--out", "c", "--json", cwd=tmp_path
    )
    assert collected.returncode == 0, collected.stderr
    assert json.loads(collected.stdout)["rows"][0]["ran"]["workflow_version"] == version
    assert f"version {version}" in collected.stderr
    assert json.loads((tmp_path / "c" / "results.jsonl").read_text())["ran"]["workflow_version"] == version


def test_a_workflow_that_was_interrupted_keeps_its_version_and_is_resumed_only_with_it(site, tmp_path):
    version = _with_workflow(tmp_path)
    process = warm.start(
        "periplus", "run", "moor_one", "--base-url", site.url, "--headless", "--out", "o",
        "-i", "boat_name=Skua", cwd=tmp_path, streamed=True,
    )  # fmt: skip
    for line in process.stdout:
        if "+ register_boat.fill_name" in line:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    interrupted = _shown(tmp_path)
    assert (interrupted["status"], interrupted["workflow_version"]) == ("failure", version)
    told = json.loads((tmp_path / "kb" / "workflows" / "moor_one.json").read_text())
    (tmp_path / "kb" / "workflows" / "moor_one.json").write_text(
        json.dumps({**told, "name": "Moor one boat"})
    )
    _load(tmp_path, tmp_path / "kb")
    refused = periplus("run", "--resume", "last", "--headless", "--out", "p", "--json", cwd=tmp_path)
    assert refused.returncode != 0
    assert "was changed while the run was interrupted" in refused.stdout + refused.stderr
    assert _shown(tmp_path)["workflow_version"] == version
    (tmp_path / "kb" / "workflows" / "moor_one.json").write_text(json.dumps(told))
    _load(tmp_path, tmp_path / "kb")
    resumed = periplus("run", "--resume", "last", "--headless", "--out", "q", "--json", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["workflow_version"] == _shown(tmp_path)["workflow_version"] == version


@pytest.mark.usefixtures("ffmpeg")
def test_a_demo_is_recorded_with_its_film_report_and_trace(tmp_path):
    done = periplus("demo", str(HARBOUR), "--speed", "0", "--headless", "--out", "film", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = _shown(tmp_path)
    assert (run["kind"], run["subject"], run["status"]) == ("demo", "harbour_tour", "success")
    assert run["outputs"] == {"moored": "Seagull"}
    assert len(run["steps"]) == 4
    assert {artifact["artifact_type"] for artifact in run["artifacts"]} == {
        "film", "captions", "picture", "report", "result", "trace",
    }  # fmt: skip
    for artifact in run["artifacts"]:
        assert Path(artifact["file_path"]).exists()
        assert artifact["size_bytes"] > 0


def test_a_run_that_fails_or_needs_a_person_says_so_and_why(site, tmp_path):
    spec = "{name: boat_name, description: Name of the boat, source: session_context|global_context}"
    scraped = (
        "{name: boat_name, source: scraped, screen_id: quay,"
        ' extraction: {method: dom_extraction, selector: ".no-such-boat"}}'
    )
    _load(tmp_path, _copy(tmp_path, "tasks/register_boat.yaml", spec, scraped))
    missing = periplus("run", "register_boat", "--base-url", site.url, "--headless", cwd=tmp_path)
    assert missing.returncode == 3
    run = _shown(tmp_path)
    assert (run["status"], run["verdict"]) == ("needs_person", "fail")
    assert "boat_name" in run["error"]
    told = periplus("runs", "show", "last", cwd=tmp_path).stdout
    assert "needs a person" in told
    assert "-> give it with --input boat_name=VALUE" in told


def test_a_task_that_there_is_not_is_no_run(site, tmp_path):
    _load(tmp_path)
    done = periplus("run", "registr_boat", "--base-url", site.url, "--headless", cwd=tmp_path)
    assert done.returncode == 2
    assert json.loads(periplus("runs", "list", "--json", cwd=tmp_path).stdout) == []


def test_a_site_that_is_not_there_is_a_run_that_failed(tmp_path):
    done = periplus(
        "demo", str(HARBOUR), "--base-url", "http://127.0.0.1:9", "--headless", "--out", "o", cwd=tmp_path
    )
    assert done.returncode == 2
    run = _shown(tmp_path)
    assert run["status"] == "failure"
    assert "127.0.0.1:9" in run["error"]


def test_a_killed_run_is_there_with_the_steps_it_did_and_not_finished(tmp_path):
    process = warm.start(
        "periplus", "demo", str(HARBOUR), "--speed", "1", "--headless", "--no-voice", "--out", "o",
        cwd=tmp_path, streamed=True,
    )  # fmt: skip
    for line in process.stdout:
        if "+ register_boat.fill_name" in line:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    run = _shown(tmp_path)
    assert run["status"] is None
    assert run["finished_at"] is None
    assert run["steps"][0]["step_id"] == "open_form"
    assert "not finished" in periplus("runs", "list", cwd=tmp_path).stdout


async def test_runs_past_the_websites_retention_are_forgotten_when_the_next_begins(site, tmp_path):
    kb = _copy(tmp_path, "website.yaml", "name: Harbour", "name: Harbour\nretention_days: 7")
    _load(tmp_path, kb)
    assert _run(site, tmp_path).returncode == 0
    first = _shown(tmp_path)["run_id"]
    assert _run(site, tmp_path, name="Tern").returncode == 0
    second = _shown(tmp_path)["run_id"]
    path = tmp_path / ".periplus" / "knowledge.sqlite3"
    long_ago = (datetime.now(UTC) - timedelta(days=8)).isoformat(timespec="milliseconds")
    with sqlite3.connect(path) as db:
        db.execute(
            "UPDATE runs SET started_at = ?, finished_at = ? WHERE run_id = ?", (long_ago, long_ago, first)
        )
    assert _run(site, tmp_path, name="Gull").returncode == 0
    listed = [run["run_id"] for run in json.loads(periplus("runs", "list", "--json", cwd=tmp_path).stdout)]
    assert first not in listed
    assert second in listed
    async with open_runs(tmp_path / ".periplus") as store:
        assert await store.steps(first) == []
    assert (tmp_path / "o" / "result.json").is_file()


@pytest.mark.mongodb
def test_with_a_mongodb_named_by_flag_or_environment_runs_are_recorded_and_listed_there(
    site, tmp_path, mongodb_url
):
    env = {"PERIPLUS_MONGODB_URL": mongodb_url}
    _load(tmp_path, env=env)
    done = _run(site, tmp_path, "--mongodb-url", mongodb_url)
    assert done.returncode == 0, done.stderr
    run = _shown(tmp_path, env=env)
    assert (run["status"], len(run["steps"]), len(run["artifacts"])) == ("success", 4, 3)
    assert periplus("runs", "list", "--json", cwd=tmp_path).stdout.strip() == "[]"
    flagged = periplus("runs", "show", "last", "--mongodb-url", mongodb_url, cwd=tmp_path)
    assert run["run_id"] in flagged.stdout


def test_a_run_that_there_is_not_is_one_clear_message(tmp_path):
    for wanted in ("last", "nope"):
        done = periplus("runs", "show", wanted, cwd=tmp_path)
        assert done.returncode == 2
        assert f"no run '{wanted}'" in done.stderr
        assert "periplus runs list" in done.stderr
        assert "Traceback" not in done.stderr
    empty = periplus("runs", "list", cwd=tmp_path)
    assert empty.returncode == 0
    assert "no runs yet" in empty.stdout


async def test_a_beginning_that_several_runs_share_is_refused_with_their_ids(tmp_path):
    async with open_runs(tmp_path / ".periplus") as store:
        for run_id in ("abc1", "abc2", "[red]x"):
            await store.begin_run(_stored(run_id))
    done = periplus("runs", "show", "abc", cwd=tmp_path)
    assert done.returncode == 2
    assert "abc1, abc2" in done.stderr
    assert "[red]x" in periplus("runs", "list", cwd=tmp_path).stdout
    assert "[red]x" in periplus("runs", "show", "[red]", cwd=tmp_path).stdout
    assert len(json.loads(periplus("runs", "list", "-n", "2", "--json", cwd=tmp_path).stdout)) == 2
    other = periplus("runs", "list", "--website", "[b]shop", cwd=tmp_path).stdout
    assert "no runs of [b]shop yet" in other


def _stored(run_id):
    return StoredRun(
        run_id=run_id, url="http://h", started_at=datetime.now(UTC), website_id="harbour", kind="task",
        subject="[bold]t",
    )  # fmt: skip


def test_a_run_that_was_killed_is_carried_on(site, tmp_path):
    _load(tmp_path)
    process = warm.start(
        "periplus", "run", "register_boat", "--base-url", site.url, "--headless", "--out", "o",
        "-i", "boat_name=Skua", cwd=tmp_path, streamed=True,
    )  # fmt: skip
    for line in process.stdout:
        if "+ register_boat.fill_name" in line:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    done = periplus("run", "--resume", "last", "--headless", "--out", "p", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [step["step_id"] for step in json.loads(done.stdout)["steps"]][:2] == ["open_form", "fill_name"]
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]
    run = _shown(tmp_path)
    assert run["status"] == "success"
    assert [step["step_idx"] for step in run["steps"]] == list(range(len(run["steps"])))
    over = periplus("run", "--resume", "last", "--headless", cwd=tmp_path)
    assert over.returncode == 2
    assert "has already ended" in over.stderr


@pytest.mark.parametrize("arguments", [[], ["register_boat", "--resume", "last"]])
def test_a_run_is_of_a_task_or_of_another_run(tmp_path, arguments):
    refused = periplus("run", *arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert "periplus run --resume last" in refused.stderr
