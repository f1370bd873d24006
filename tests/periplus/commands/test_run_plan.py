"""`periplus run --plan`: what would run, in its order, and nothing is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from periplus.cli import main

SEED = Path(__file__).parents[3] / "seeds" / "spadeworks" / "kb"


@pytest.fixture
def periplus(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    assert run("kb", "load", SEED)[0] == 0
    return run


def test_a_plan_names_the_tasks_that_come_first_with_their_conditions_inputs_and_steps(periplus, tmp_path):
    code, told, _ = periplus("run", "delete_agent", "--plan", "-i", "password=hidden", "--goal", "settings")
    assert code == 0
    lines = [line.strip() for line in told.splitlines()]
    heads = [line for line in lines if line[:1].isdigit()]
    assert [line.split()[1] for line in heads] == ["login", "create_agent", "delete_agent", "go"]
    assert "first, unless it is done already: create_agent depends on it" in lines
    assert (
        "first if none_of(context_equals 'agent_id'), unless it is done already: delete_agent depends on it"
        in lines
    )
    assert "agent_id: from create_agent.created_agent_id" in lines
    assert "password: secret" in lines
    assert "hidden" not in told
    assert lines[-1] == "Nothing was run."
    assert not (tmp_path / "out").exists()
    assert periplus("runs", "list", "--json")[1].strip() in ("[]", "")


def test_a_plan_is_json_on_request_and_unknown_names_are_told(periplus):
    plan = json.loads(periplus("run", "create_agent", "--plan", "--json", "-i", "agent_name=Ada")[1])
    assert [each["task_id"] for each in plan["tasks"]] == ["login", "create_agent"]
    assert {"name": "agent_name", "value": "given: Ada"} in plan["tasks"][1]["inputs"]
    code, _, said = periplus("run", "create_agnt", "--plan")
    assert code == 2
    assert "create_agent" in said
    code, _, said = periplus("run", "--resume", "last", "--plan")
    assert (code, "--plan is for new runs" in said) == (2, True)
