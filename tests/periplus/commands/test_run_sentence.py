"""What is shown before a sentence is run."""

from __future__ import annotations

import io

from rich.console import Console

from agent.sentences.sentence_binding import BoundTask
from kb_schema.workflows import AgentNode, GroupNode, TaskNode
from periplus.commands.run_sentence import SentenceChoice, confirm_sentence, describe_next_run


def test_a_password_is_not_shown():
    out = io.StringIO()
    task = BoundTask(task_id="create_group", name="", values={})
    values = {"name": "Partners", "username": "anna", "password": "anna-pass-77"}
    confirm_sentence(SentenceChoice("shop", task=task), values, Console(file=out, width=200), yes=True)
    assert "name=Partners" in out.getvalue()
    assert "anna-pass-77" not in out.getvalue()


def test_a_taught_workflow_in_which_a_model_decides_is_not_said_to_need_none():
    task = TaskNode(type="task", node_id="a", task_id="moor")
    asks = AgentNode(type="agent", node_id="b", goal="Choose the path that fits the page")
    group = GroupNode(type="group", node_id="c", nodes=(asks,))
    assert describe_next_run("Moor Skua", (task,)) == "the next run needs no model: periplus run 'Moor Skua'"
    for nodes in ((task, asks), (task, group)):
        told = describe_next_run("Moor Skua", nodes)
        assert "needs no model" not in told
        assert "asks a model or a person" in told
        assert told.endswith("Choose the path that fits the page")
