"""A workflow of traces that begin signed in signs in first, by the website's own sign-in."""

from __future__ import annotations

import pytest

from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema import parse_document
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.websites import Website
from periplus.synthesis.recorded_sign_in import adopt_sign_in

INSIDE = "<body><a id=out href=/logout>Log out</a><h1>Home</h1></body>"
OUTSIDE = "<body><h1>Home</h1></body>"
TASK = {
    "type": "task", "task_id": "do", "website_id": "yard",
    "steps": [{"step_id": "s1", "action": {"action_type": "navigate", "url": "/"}}],
}  # fmt: skip
WORKFLOW = {
    "type": "workflow", "workflow_id": "work", "website_id": "yard", "name": "Work", "unverified": True,
    "nodes": [{"type": "task", "node_id": "n1", "task_id": "do"}],
}  # fmt: skip


class Knowledge:
    def __init__(self, **website):
        known = {
            "authenticated_when": [{"type": "dom_element", "selector": "#out"}],
            "login_task_id": "sign_in",
        }
        self._website = Website.model_validate(
            {"type": "website", "website_id": "yard", "name": "Yard", "base_url": "https://yard.example", **known, **website}
        )  # fmt: skip

    async def website(self):
        return self._website


def traces(*pages):
    return [
        ExecutionTrace(
            trace_id=str(number),
            steps=(TraceStep(action_type="navigate", html_before=page, source_url="https://yard.example/"),),
        )
        for number, page in enumerate(pages)
    ]


async def adopted(knowledge, *pages):
    lowered = WorkflowDocuments(parse_document(WORKFLOW), (parse_document(TASK),), ())
    changed, made, sentence = await adopt_sign_in(knowledge, lowered, traces(*pages))
    assert made is None
    return changed.tasks[0].steps[0].preconditions, sentence


async def test_its_first_step_needs_to_be_signed_in_and_the_websites_task_is_the_remedy():
    ((needed,), sentence) = await adopted(Knowledge(), INSIDE, INSIDE)
    assert (needed.type, needed.auto_remediate, needed.hard_dependency) == ("authenticated", True, False)
    assert needed.remediation_task_id == "sign_in"
    assert "sign_in signs in first" in sentence


@pytest.mark.parametrize(
    ("website", "pages"),
    [
        ({}, [INSIDE, OUTSIDE]),
        ({}, [OUTSIDE]),
        ({}, [""]),
        ({}, []),
        ({"login_task_id": None}, [INSIDE]),
        ({"authenticated_when": []}, [INSIDE]),
    ],
    ids=["one outside", "outside", "no page", "no trace", "no sign-in", "no conditions"],
)
async def test_otherwise_nothing_is_added(website, pages):
    assert await adopted(Knowledge(**website), *pages) == ((), "")
