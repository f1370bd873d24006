"""What is shown before a sentence is run."""

from __future__ import annotations

import io

from rich.console import Console

from agent.sentences.sentence_binding import BoundTask, SentenceMeaning
from kb_schema.workflows import AgentNode, AnyNode, GroupNode, TaskNode, Workflow
from periplus.commands.run_sentence import SentenceChoice, confirm_sentence, describe_next_run


def test_a_password_is_not_shown():
    out = io.StringIO()
    task = BoundTask(task_id="create_group", name="", values={})
    values = {"name": "Partners", "username": "anna", "password": "anna-pass-77"}
    confirm_sentence(SentenceChoice("shop", task=task), values, Console(file=out, width=200), yes=True)
    assert "name=Partners" in out.getvalue()
    assert "anna-pass-77" not in out.getvalue()


def _workflow(*nodes: AnyNode) -> Workflow:
    return Workflow.model_validate(
        {
            "type": "workflow",
            "website_id": "harbour",
            "workflow_id": "moor",
            "name": "Moor",
            "io_spec": {"inputs": [{"name": "boat", "required": True}]},
            "nodes": [each.model_dump(exclude_none=True) for each in nodes],
        }
    )


def test_a_taught_workflow_whose_sentence_is_not_bound_is_called_by_its_id():
    task = TaskNode(type="task", node_id="a", task_id="moor")
    other = BoundTask(task_id="cast_off", name="Cast off", values={})
    own = BoundTask(task_id="moor", name="Moor", values={"boat": "Skua"})
    for meaning, command in (
        (SentenceMeaning(sentence="Moor the newest"), "periplus run moor -i boat=..."),
        (SentenceMeaning(sentence="Moor the newest", task=other), "periplus run moor -i boat=..."),
        (SentenceMeaning(sentence="Moor Skua", similar=(other, own)), "periplus run moor -i boat=Skua"),
    ):
        told = describe_next_run(_workflow(task), meaning)
        assert told.startswith("the next run needs no model, called by its id")
        assert told.endswith(f": {command}")


def test_a_taught_workflow_in_which_a_model_decides_is_not_said_to_need_none():
    task = TaskNode(type="task", node_id="a", task_id="moor")
    asks = AgentNode(type="agent", node_id="b", goal="Choose the path that fits the page")
    group = GroupNode(type="group", node_id="c", nodes=(asks,))
    meaning = SentenceMeaning(sentence="Moor Skua", task=BoundTask(task_id="moor", name="Moor", values={}))
    told = describe_next_run(_workflow(task), meaning)
    assert told == "the next run needs no model: periplus run 'Moor Skua'"
    for nodes in ((task, asks), (task, group)):
        told = describe_next_run(_workflow(*nodes), meaning)
        assert "needs no model" not in told
        assert "asks a model or a person" in told
        assert told.endswith("Choose the path that fits the page")
