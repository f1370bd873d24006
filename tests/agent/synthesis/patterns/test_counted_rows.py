"""Loops over as many rows as a number of the task says, and over all rows of what the task names."""

from __future__ import annotations

import asyncio

import pytest

from agent.synthesis.graph.action_graph import LoopNode
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.trace_consensus import find_gap
from agent.synthesis.utterances.utterance_templates import expand_value_forms
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, TemplateStrategy
from kb_schema.templates import fill_selector
from periplus.synthesis.workflow_synthesis import induce_workflow
from web_pages.page_texts import text_of
from web_pages.stored_pages import StoredPage

URL = "http://posts.test/"
POSTS = ("ada", "grace", "ada", "alan", "grace", "ada", "alan", "ada", "grace", "alan")
NAMES = {"ada": "Lovelace", "grace": "Hopper", "alan": "Turing"}
PAGE = (
    "<body><h1>Posts</h1><div id='area'>"
    + "".join(
        f"<div class='post'><div><span class='name'>{NAMES[user]}</span><span class='user'>@{user}</span></div>"
        f"<p class='words'>Words {'abcdefghij'[number]}</p><i class='star'></i></div>"
        for number, user in enumerate(POSTS)
    )
    + "</div><button>Submit</button></body>"
)


def _click(xpath: str) -> TraceStep:
    target = Selector.model_validate({"strategies": [{"type": "xpath", "value": xpath}]})
    return TraceStep(action_type="click", target=target, html_before=PAGE, html_after=PAGE, source_url=URL)


def _induce(*shown: tuple[str, str, list[int]]) -> PipelineResult:
    traces = [
        ExecutionTrace(
            trace_id=f"t{number}",
            task_description=f"Star {count} by @{user} and submit.",
            steps=(*(_click(f"//div[@id='area']/div[{row + 1}]/i") for row in rows), _click("//button")),
        )
        for number, (count, user, rows) in enumerate(shown)
    ]
    return add_workflow_documents(asyncio.run(induce_workflow(traces, "star", "")))


def _find_rows(result: PipelineResult, goal: str) -> list[str]:
    """Return the texts of the rows that the workflow's loop processes for a sentence."""
    assert result.graph is not None
    loop = next(node for node in result.graph.nodes if isinstance(node, LoopNode))
    assert isinstance(loop.collection, Selector)
    strategy = loop.collection.strategies[0]
    assert isinstance(strategy, TemplateStrategy)
    assert result.understanding is not None
    assert result.understanding.template is not None
    values = expand_value_forms(result.understanding.template.parse(goal))
    xpath = fill_selector(strategy.template, {key: str(value) for key, value in values.items()}, "xpath")
    page = StoredPage(PageSnapshot(url=URL, html=PAGE))
    found = page.resolve(Selector.model_validate({"strategies": [{"type": "xpath", "value": xpath}]}))
    return [text_of(each) for each in found.found]


COUNTED = (("2 posts", "ada", [0, 2]), ("1 post", "grace", [1]), ("3 posts", "alan", [3, 6, 9]))


def test_the_number_of_the_task_limits_the_rows():
    result = _induce(*COUNTED)
    assert find_gap(result) is None
    assert _find_rows(result, "Star 3 posts by @ada and submit.") == ["Words a", "Words c", "Words f"]
    assert _find_rows(result, "Star 1 post by @alan and submit.") == ["Words d"]


def test_a_number_of_rows_that_the_page_does_not_have_finds_none():
    assert _find_rows(_induce(*COUNTED), "Star 4 posts by @grace and submit.") == []


def test_all_rows_are_processed_where_the_task_says_no_number():
    result = _induce(
        ("all posts", "ada", [0, 2, 5, 7]),
        ("all posts", "grace", [1, 4, 8]),
        ("all posts", "alan", [3, 6, 9]),
    )
    assert find_gap(result) is None
    assert _find_rows(result, "Star all posts by @ada and submit.") == [
        "Words a",
        "Words c",
        "Words f",
        "Words h",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        ("3 posts", "ada", [0, 2]),  # fewer than the number
        ("2 posts", "ada", [0, 5]),  # not the first ones
        ("2 posts", "ada", [0, 1]),  # one of another person
    ],
)
def test_a_demonstration_that_contradicts_the_number_is_refused(wrong):
    assert find_gap(_induce(*COUNTED, wrong)) is not None
