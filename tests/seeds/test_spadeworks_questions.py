"""What people ask about the seed is found, answered small, and shown by a demo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loaders import read_knowledge_folder
from mcp_server.descriptions import answer_text, available_actions, demo_search
from mcp_server.knowledge.compiled_view import compile_view

FOLDER = Path(__file__).resolve().parents[2] / "seeds" / "spadeworks" / "kb"


@pytest.fixture(scope="module")
def view():
    return compile_view(read_knowledge_folder(FOLDER)[0], "1")


@pytest.mark.parametrize(
    ("query", "task"),
    [
        ("create an agent", "create_agent"),
        ("craete agnet", "create_agent"),
        ("sign in", "login"),
        ("log out", "sign_out"),
        ("how do I import contacts", "import_contacts"),
        ("change the theme", "set_theme"),
        ("delete all emails", "delete_all_emails"),
        ("launch a campaign", "create_campaign"),
    ],
)
def test_the_task_that_is_meant_comes_first(view, query, task):
    assert view.search.hits(query, 1, kinds=("task",)).hits[0].id == task
    assert task in [hit.id for hit in view.search.hits(query, 3).hits]


def test_every_screen_in_summary_is_small(view):
    for screen_id in view.knowledge.screens:
        answer = available_actions.available_actions(view, screen_id, "summary")
        said = answer_text.render_actions(answer) + json.dumps(answer.to_json(), separators=(",", ":"))
        assert len(said) < 900  # about 220 tokens


@pytest.mark.parametrize(
    ("about", "task"), [("creating a voice agent", "create_agent"), ("importing contacts", "import_contacts")]
)
def test_what_is_to_be_demonstrated_is_found_in_a_demo(view, about, task):
    shown = demo_search.find_demo(view, about)
    segments = {each.segment_id: each for each in shown.flow.segments}
    assert task in [segments[each].task_id for each in shown.segments]
