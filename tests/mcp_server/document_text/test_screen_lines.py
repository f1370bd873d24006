"""A screen at `working` is one line per element with its selector, within 600 tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import tokens
from kb_schema.selectors import Selector
from loaders import read_knowledge_folder
from mcp_server.descriptions.answer_text import render_document
from mcp_server.descriptions.document_summaries import describe_document
from mcp_server.document_text.screen_lines import MOST_CHARACTERS, describe_locator, describe_screen
from mcp_server.knowledge.compiled_view import compile_view

SEED = Path(__file__).resolve().parents[3] / "seeds/spadeworks/kb"
MOST_TOKENS = 600


@pytest.fixture(scope="module")
def view():
    return compile_view(read_knowledge_folder(SEED)[0], "1")


def large(view):
    """A screen of 500 elements."""
    screen = view.knowledge.screens["agent_edit"]
    many = [
        each.model_copy(update={"element_id": f"{each.element_id}_{n}"})
        for n in range(500 // len(screen.ui_elements) + 1)
        for each in screen.ui_elements
    ]
    return screen.model_copy(update={"ui_elements": tuple(many)})


def test_every_answer_is_within_600_tokens(view):
    answers = [describe_document(view, screen, "working") for screen in view.knowledge.screens.values()]
    document = describe_screen(large(view))
    answers.append(answers[0].model_copy(update={"document": document}))
    try:
        counted = tokens.count(
            [text for each in answers for text in (render_document(each), json.dumps(each.to_json()))]
        )
    except tokens.NoTokenizer as exc:
        pytest.skip(exc.reason)
    assert max(counted) <= MOST_TOKENS


def test_what_does_not_fit_is_counted(view):
    screen = large(view)
    document = describe_screen(screen)
    assert sum(map(len, document["elements"])) <= MOST_CHARACTERS
    left = len(screen.ui_elements) - len(document["elements"])
    assert document["more_elements"] == f"{left}; all at detail full"


def test_a_line_says_how_the_element_is_found_and_shared_ones_come_last(view):
    answer = describe_document(view, view.knowledge.screens["agent_create"], "working")
    lines = answer.document["elements"]
    assert lines[0] == 'agent_name_input: Agent Name (input) type*,clear @ [data-testid="agent-name"]'
    assert lines[-1].startswith("sign_out_button")
    assert lines[0] in render_document(answer)


@pytest.mark.parametrize(
    ("strategies", "said"),
    [
        ([{"type": "id", "value": "a-b"}], "#a-b"),
        ([{"type": "id", "value": "1.x"}], '[id="1.x"]'),
        ([{"type": "data-qa", "value": "go"}], '[data-qa="go"]'),
        ([{"type": "css", "value": "x" * 200}, {"type": "id", "value": "short"}], "#short"),
        ([{"type": "role_name", "role": "button", "name": 'Say "hi"'}], r'role=button[name="Say \"hi\""]'),
        ([{"type": "label", "name": "Name"}], "label 'Name'"),
        ([{"type": "semantic", "label_contains": "Name"}], "label 'Name'"),
        ([{"type": "dom_index", "index": 3}], "dom_index(3)"),
    ],
)  # fmt: skip
def test_the_first_strategy_that_a_browsers_tool_takes_is_told(strategies, said):
    assert describe_locator(Selector.model_validate({"strategies": strategies})) == said
