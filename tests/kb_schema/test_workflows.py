"""Groups of workflow nodes: ways of forks and bodies of loops."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from kb_schema.tasks import Task
from kb_schema.workflows import Workflow, walk

TASK = {"type": "task", "node_id": "a", "task_id": "t"}
EACH = {"type": "collection_processing", "collection_selector": "tr", "item_action": {"runs_nodes": True}}


def workflow(*nodes):
    return Workflow.model_validate({"workflow_id": "w", "name": "w", "nodes": nodes})


def test_a_group_repeats_its_nodes_and_its_nodes_are_walked():
    group = {
        "type": "group",
        "node_id": "g",
        "nodes": [TASK, {**TASK, "node_id": "b"}],
        "iterator_spec": EACH,
    }
    assert [node.node_id for node in walk(workflow(group).nodes)] == ["g", "a", "b"]
    with pytest.raises(ValidationError, match="node ids used twice"):
        workflow(group, TASK)


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({**TASK, "iterator_spec": EACH}, "a task node has no nodes to run"),
        (
            {"type": "group", "node_id": "g", "nodes": [TASK], "iterator_spec": {**EACH, "item_action": {"task_id": "t"}}},
            "the iterator of a group repeats its nodes",
        ),
    ],
)  # fmt: skip
def test_only_groups_run_nodes_and_nothing_else_does(node, said):
    with pytest.raises(ValidationError, match=said):
        workflow(node)


def test_a_task_has_no_nodes_to_run():
    with pytest.raises(ValidationError, match="a task has no nodes to run"):
        Task.model_validate(
            {"task_id": "t", "steps": [{"action": "execute_iterator"}], "iterator_spec": EACH}
        )
