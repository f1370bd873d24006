"""`periplus run "a sentence" --model --teach N`: said N times with a model, done for ever without one."""

from __future__ import annotations

import json
import re

import pytest

from tests.chain.test_sentence_runs import kb, run  # noqa: F401 - a fixture
from tests.support import warm
from tests.support.model_policies import follow, wants_plan
from tests.support.model_server import Answer, serve_model

pytestmark = [pytest.mark.sampled(0.3), pytest.mark.timeout(600)]

SENTENCE = 'Berth the vessel "{name}" with a length of {length} m'
VALUES = [("Skua", "12"), ("Tern", "6"), ("Wren", "12")]


def moors_whatever_is_said(asked):
    """Plans and does the job of the sentence that it is sent; writes further sentences with other values."""
    if "further sentences" in asked.prompt:
        return Answer(
            tool={"sentences": [SENTENCE.format(name=name, length=length) for name, length in VALUES[1:]]}
        )
    found = re.search(
        r'The person\'s sentence: Berth the vessel "(\w+)" with a length of (\d+) m', asked.prompt
    )
    name, length = found.groups()
    plan = {
        "name": "Berth a vessel",
        "start_screen": "quay",
        "controls": ["Register a boat", "Moor"],
        "entered": [name, f"{length} m"],
        "shown_when_done": [name],
    }
    acts = [
        {"on": "Register a boat", "action": "click"},
        {"on": "Boat name", "action": "fill", "value": name},
        {"on": "Length", "action": "select_option", "value": f"{length} m"},
        {"on": "Moor", "action": "click"},
    ]
    done = re.search(r"Done so far:\n<page-text>\n(.*?)\n</page-text>", asked.prompt, re.DOTALL)
    number = 0 if done is None or done[1] == "nothing" else len(done[1].splitlines())
    answer = follow(plan, acts[number:])
    return answer(asked) if wants_plan(asked) or number < len(acts) else Answer(tool={"kind": "done"})


def test_what_was_done_twice_with_a_model_is_done_without_one(site, tmp_path, kb):  # noqa: F811
    said = SENTENCE.format(name="Skua", length="12")
    with serve_model(moors_whatever_is_said) as server:
        taught = run(
            site,
            tmp_path,
            said,
            "--model",
            server.openai,
            "--yes",
            "--teach",
            "3",
            "--out",
            "taught",
            timeout=300,
        )
    assert taught.returncode == 0, taught.stdout + taught.stderr
    assert "the next run needs no model" in taught.stdout
    assert [(boat["name"], boat["length"]) for boat in site.state()["boats"]] == VALUES
    with serve_model([Answer(status=500)]) as server:
        again = run(
            site,
            tmp_path,
            SENTENCE.format(name="Fulmar", length="6"),
            "--model",
            server.openai,
            "--yes",
            "--json",
        )
        assert server.requests == []
    assert again.returncode == 0, again.stdout + again.stderr
    result = json.loads(again.stdout)
    assert (result["status"], result["evidence"]) == ("success", "verified")
    assert result["model_use"]["calls"] == 0
    assert site.state()["boats"][-1] == {"name": "Fulmar", "length": "6"}


def test_a_number_of_doings_that_teaches_nothing_is_refused(tmp_path):
    for number in ("0", "1", "12"):
        refused = warm.run("periplus", "run", "Berth the vessel", "--teach", number, cwd=tmp_path)
        assert refused.returncode == 2
        assert "expected a number from 2 to 11" in refused.stderr
