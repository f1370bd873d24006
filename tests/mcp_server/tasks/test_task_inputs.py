"""A task's inputs say what each is, with an example and what its field accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from loaders import read_knowledge_folder
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.tasks.task_inputs import describe_inputs

SEED = Path(__file__).resolve().parents[3] / "seeds/spadeworks/kb"


@pytest.fixture(scope="module")
def view():
    return compile_view(read_knowledge_folder(SEED)[0], "1")


def inputs_of(view, task_id):
    return {each.name: each for each in describe_inputs(view, view.knowledge.tasks[task_id])}


def test_options_rules_and_placeholders_come_from_the_field_that_takes_the_value(view):
    found = inputs_of(view, "create_agent")
    assert list(found) == ["agent_name", "language", "voice", "greeting", "expiry_date"]
    name = found["agent_name"]
    assert (name.needed, name.example) == (True, None)
    assert name.what == "Name for the agent to be created; unique in the workspace"
    assert name.rules == ("1 to 100 characters", "the field shows 'Enter agent name'")
    language = found["language"]
    assert (language.needed, language.example) == (False, "en-US")
    assert language.allowed == ("en-US (English (US))", "hi-IN (Hindi)", "es-ES (Spanish)")
    assert found["expiry_date"].rules[0] == r"pattern ^\d{2}/\d{2}/\d{4}$"


def test_an_input_that_chooses_an_element_has_its_options(view):
    voice = inputs_of(view, "create_agent")["voice"]
    assert [each.split(" ")[0] for each in voice.allowed] == ["Calm", "Bright", "Formal"]


def test_a_number_has_bounds_and_its_default_as_example(view):
    limit = inputs_of(view, "create_campaign")["daily_limit"]
    assert (limit.needed, limit.example) == (False, "100")
    assert "at least 1 and at most 5000" in limit.rules


def test_a_secret_has_no_example_and_is_not_asked_of_the_caller(view):
    password = inputs_of(view, "login")["password"]
    assert (password.secret, password.needed, password.example) == (True, False, None)


def test_every_input_of_every_task_says_what_it_is(view):
    for task in view.knowledge.tasks.values():
        for each in describe_inputs(view, task):
            assert each.what, (task.task_id, each.name)
            assert each.example is None or not each.secret
