"""`judged_by: model`: a statement about the page's text that a model judges, beside a condition that the page itself shows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.support import warm
from tests.support.model_server import Answer, serve_model

pytestmark = pytest.mark.sampled(0.5)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
STATEMENT = "The page confirms that the boat {boat_name} was registered"
YES = {"holds": True, "quote": "registered", "reason": "it is said"}


def load(cwd, change=lambda task: None, condition=None):
    """Load the harbour whose task has a judged condition in its last step."""
    kb = cwd / "kb"
    shutil.copytree(HARBOUR / "kb", kb)
    file = kb / "tasks" / "register_boat.yaml"
    task = yaml.safe_load(file.read_text())
    judged = condition or {"type": "judged", "statement": STATEMENT, "judged_by": "model"}
    task["steps"][-1]["postconditions"].append(judged)
    change(task)
    file.write_text(yaml.safe_dump(task))
    return warm.run("periplus", "kb", "load", str(kb), cwd=cwd)


def run(site, cwd, *more):
    done = warm.run(
        "periplus", "run", "register_boat", "--base-url", site.url, "--headless", "-i", "boat_name=Skua", "--json",
        *more, cwd=cwd, env={"COLUMNS": "200"}, timeout=110,
    )  # fmt: skip
    return done, json.loads(done.stdout) if done.stdout else {}


def test_a_model_that_quotes_the_page_lets_the_step_hold_and_is_asked_once(site, tmp_path):
    assert load(tmp_path).returncode == 0
    with serve_model([Answer(tool=YES)]) as server:
        done, result = run(site, tmp_path, "--model", server.openai)
        asked = server.requests
    assert done.returncode == 0, done.stdout + done.stderr
    assert result["status"] == "success"
    assert result["model_use"]["calls"] == len(asked) == 1
    assert "The statement: The page confirms that the boat Skua was registered" in asked[0].prompt
    assert "the language model says yes: it is said" in json.dumps(result)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(tool={**YES, "holds": False, "reason": "it complains"}), "the language model says no: it complains"),
        (Answer(tool={**YES, "quote": "Welcome aboard"}), "quotes nothing that the page says"),
        (Answer(tool={**YES, "quote": ""}), "quotes nothing that the page says"),
        (Answer(status=401), "not judged"),
    ],
    ids=["no", "made up", "without a quote", "refused"],
)  # fmt: skip
def test_without_a_yes_that_the_page_bears_out_the_run_does_not_succeed(site, tmp_path, answer, reason):
    assert load(tmp_path).returncode == 0
    with serve_model([answer]) as server:
        done, result = run(site, tmp_path, "--model", server.openai, "--step-timeout", "2")
    assert done.returncode != 0
    assert result["status"] != "success"
    assert reason in json.dumps(result), result["error"]
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]  # pressed once, and never again


def test_without_a_model_or_its_page_texts_it_is_unknown_and_the_run_says_so(site, tmp_path):
    assert load(tmp_path).returncode == 0
    with serve_model([Answer(tool=YES)]) as server:
        done, result = run(site, tmp_path, "--model", server.openai, "--no-page-text", "--step-timeout", "2")
        assert all("boats moored" not in each.text for each in server.requests)
    assert done.returncode != 0
    assert "only a run with a language model that gets the page's texts" in json.dumps(result)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda task: task["steps"][-1].update(postconditions=task["steps"][-1]["postconditions"][-1:]), "must not decide alone"),
        (lambda task: task["steps"][-1].update(preconditions=task["steps"][-1]["postconditions"][-1:]), "is not allowed here"),
        (
            lambda task: task["steps"][-1].update(acceptable_outcomes=task["steps"][-1]["postconditions"][-1:]),
            "is not allowed here",
        ),
    ],
    ids=["alone", "precondition", "acceptable"],
)  # fmt: skip
def test_a_models_word_alone_is_refused_when_the_task_is_loaded(tmp_path, change, message):
    refused = load(tmp_path, change)
    assert refused.returncode == 2
    assert message in refused.stdout + refused.stderr
    assert "register_boat" in refused.stdout + refused.stderr
