"""What a workflow asks for: what every run uses; the rest when its way is taken."""

from __future__ import annotations

from agent.synthesis.workflows.workflow_inputs import list_workflow_inputs
from kb_schema.workflows import TaskNode, Workflow
from tests.agent.synthesis import sample_pages
from tests.agent.synthesis import synthesis_examples as g


def _signs_in(number: int, *, code: bool) -> sample_pages.Person:
    """Types a code that no page shows, where one is asked for."""
    person = sample_pages.Person(f"sign{number}", {}, "sign in", number)
    form = sample_pages.field_html("pin", "Account") + '<button id="go">Sign in</button>'
    person.opens("/login").sees("/login", "Sign in", form)
    person.does("input_text", 'id="pin"', text=f"user {number}").does("click", 'id="go"')
    if code:
        person.sees(
            "/code", "Code", sample_pages.field_html("code", "Code") + '<button id="verify">Verify</button>'
        )
        person.does("input_text", 'id="code"', text=f"{number}7{number}").does("click", 'id="verify"')
    person.sees("/home", "Home", '<a id="out" href="/out">Sign out</a>').does("click", 'id="out"')
    return person.sees("/bye", "Signed out", "<p>Good bye</p>")


def test_what_only_one_way_needs_is_not_asked_for_beforehand():
    result = g.induce([_signs_in(n, code=n % 2 == 0).trace() for n in range(4)])
    workflow = result.lowered.workflow
    assert {spec.name: spec.required for spec in workflow.io_spec.inputs} == {"account": True, "code": False}
    (way,) = [node for node in workflow.nodes if isinstance(node, TaskNode) and node.when]
    (task,) = [each for each in result.lowered.tasks if each.task_id == way.task_id]
    assert [(spec.name, spec.required) for spec in task.io_spec.inputs] == [("code", True)]
    g.published(result.lowered)


def test_what_tells_the_way_is_asked_for_with_its_type():
    def node(number: int, **more: object) -> dict[str, object]:
        return {"type": "task", "node_id": f"n{number}", "task_id": "t", **more}

    asks = {"type": "none_of", "conditions": [{"type": "context_equals", "name": "count", "value": 3}]}
    workflow = Workflow.model_validate({
        "workflow_id": "w", "name": "W",
        "nodes": [node(1, when=[asks], else_nodes=[node(2, when=[{"type": "context_equals", "name": "if_any"}])])],
    })  # fmt: skip
    told = {spec.name: (spec.type, spec.required) for spec in list_workflow_inputs(workflow.nodes, {}, {})}
    assert told == {"count": ("number", True), "if_any": ("string", False)}


def _edits(number: int, **values: str) -> sample_pages.Person:
    """Fills in the fields that are given, of a form that everybody sees."""
    person = sample_pages.Person(f"edit{number}", {}, "edit", number)
    fields = (
        sample_pages.field_html("name", "Name")
        + sample_pages.field_html("note", "Note")
        + sample_pages.field_html("tag", "Tag")
    )
    person.opens("/edit").sees("/edit", "Edit", fields + '<button id="save">Save</button>')
    for name, value in values.items():
        person.does("input_text", f'id="{name}"', text=value)
    return person.does("click", 'id="save"').sees("/done", "Done", "<p>Saved</p>")


def test_a_field_that_only_some_filled_in_is_an_input_that_may_be_left_out():
    """In whatever order, and whether or not the same people filled in the other one."""
    for others in (
        ({"note": "b1"}, {"tag": "c2"}, {"tag": "c3", "note": "b3"}, {}),
        ({"note": "b1", "tag": "c1"}, {"note": "b2", "tag": "c2"}, {}, {}),
        ({"note": "b1"}, {"note": "b2"}, {"tag": "c3"}, {"tag": "c4"}),
    ):
        people = [_edits(n, name=f"a{n}", **each) for n, each in enumerate(others)]
        result = g.induce([person.trace() for person in people])
        assert (result.synthesis_report.agent_node_count, result.synthesis_report.refusals) == (0, ())
        workflow = result.lowered.workflow
        required = {spec.name: spec.required for spec in workflow.io_spec.inputs}
        assert required == {"name": True, "note": False, "tag": False}
        asked = [(node.when[0].name, set(node.inputs)) for node in workflow.nodes if node.when]
        assert sorted(asked) == [("note", {"note"}), ("tag", {"tag"})]
        assert not any(node.can_skip for node in workflow.nodes)  # what is asked for is done, or fails
        g.published(result.lowered)
