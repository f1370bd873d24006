from __future__ import annotations

from typing import Any

import pytest

from agent.synthesis.graph.action_graph import ActionGraph, GraphBuilder, GraphParameter
from agent.synthesis.workflows.workflow_documents import build_workflow_documents

PASSWORD = {"role": "textbox", "tag": "input", "attributes": {"type": "password"}}


def graph(
    button: str = "Log in", *, field: dict[str, Any] = PASSWORD, follows: bool = True, secrets: int = 1
) -> ActionGraph:
    """A recording that opens a page, types a name and secrets, presses a button, and goes on."""
    parameters = [
        GraphParameter(name=f"secret_{n}", source="user_input", secret=True) for n in range(secrets)
    ]
    made = GraphBuilder(name="It", parameters=tuple(parameters)).action("navigate", args={"url": "/login"})
    made = made.action("fill", "#user", {"value": "ann"})
    for each in parameters:
        made = made.action("fill", f"#{each.name}", {"value": f"{{{each.name}}}"}, fingerprint=field)
    made = made.action("click", "#go", fingerprint={"role": "button", "tag": "button", "name": button})
    return (made.action("click", "#reports") if follows else made).build()


def test_a_sign_in_at_the_beginning_is_a_task_of_its_own():
    made = build_workflow_documents(graph())
    assert made.sign_in == "sign_in"
    assert [task.task_id for task in made.tasks] == ["sign_in", "It_2"]
    assert [node.task_id for node in made.workflow.nodes] == ["sign_in", "It_2"]
    steps = made.tasks[0].steps
    assert [[each.type for each in step.skip_when] for step in steps] == [[], *[["authenticated"]] * 3]


@pytest.mark.parametrize(
    "other",
    [
        graph("Create account"),
        graph("Change password"),
        graph(field={**PASSWORD, "attributes": {"type": "text"}}),
        graph(field={**PASSWORD, "attributes": {"type": "password", "autocomplete": "new-password"}}),
        graph(follows=False),
        graph(secrets=2),
    ],
    ids=["creates", "changes", "no password field", "new password", "nothing follows", "two secrets"],
)
def test_another_form_with_a_secret_is_no_sign_in(other):
    made = build_workflow_documents(other)
    assert made.sign_in is None
    assert "sign_in" not in [task.task_id for task in made.tasks]
