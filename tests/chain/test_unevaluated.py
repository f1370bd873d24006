"""What could not be evaluated has not passed, wherever a condition may stand; nor has its negation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.errors import StepFailed
from agent.execution import step_runner
from agent.execution.loops import iterators
from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.resilience_policy import ResiliencePolicy
from kb_schema.run_records import EvidenceLevel, RunStatus, StepStatus
from kb_schema.tool_answers import Path, PathStep

pytestmark = pytest.mark.sampled(0.5)

UNKNOWN = {"type": "user_interest"}
"""Nobody has said."""
NEGATED = {"type": "none_of", "conditions": [UNKNOWN]}
DENIED = {**UNKNOWN, "success": False}
NO_ELEMENT = {"type": "element_hidden", "element": "not_on_this_screen"}
UNUSABLE = {"type": "element_hidden", "element": "tr[["}
ALL = [UNKNOWN, NEGATED, DENIED, NO_ELEMENT, UNUSABLE]
SOFT = {
    "hard_dependency": False, "auto_remediate": True,
    "remediation_action": "wait", "remediation_params": {"duration": 0.1},
}  # fmt: skip


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(step_runner, "CONFIRM_S", 0.2)
    monkeypatch.setattr(step_runner, "PRECONDITION_S", 0.1)
    monkeypatch.setattr(iterators, "UNKNOWN_S", 0.1)


def _step(**more):
    return {"step_id": "s", "action": {"action_type": "no_op"}, **more}


def _loop(kind, condition, **more):
    return {
        "steps": [_step(action={"action_type": "execute_iterator"})],
        "iterator_spec": {
            "type": kind, "item_action": {"action": {"action_type": "no_op"}},
            "termination_condition": condition, "max_iterations": 3, **more,
        },
    }  # fmt: skip


PLACES = {
    "precondition": lambda c: {"steps": [_step(preconditions=[c])]},
    "soft precondition": lambda c: {"steps": [_step(preconditions=[{**c, **SOFT}])]},
    "postcondition": lambda c: {"steps": [_step(postconditions=[c])]},
    "validation": lambda c: {"steps": [_step(validation=c)]},
    "success criterion": lambda c: {"steps": [_step()], "success_criteria": [c]},
    "until": lambda c: _loop("until", c),
    "list": lambda c: _loop("list_processing", c, items="{boats}"),
    "collection": lambda c: (
        _loop("collection_processing", c, collection_selector="tr.boat")
        if c["type"] != "element_hidden"  # that says: while it shrinks
        else _loop("until", c)
    ),
    "pagination": lambda c: _loop("pagination", c, next_page={"action_type": "click", "target": "#home"}),
}


@pytest.mark.parametrize("place", PLACES)
async def test_what_could_not_be_evaluated_passes_nowhere(place, session, site, monkeypatch):
    monkeypatch.setattr("agent.retry_limits.STEP_ATTEMPTS", 1)
    monkeypatch.setattr("agent.retry_limits.PRECONDITION_REMEDIES", 100)
    site.moor("A")
    session.resilience = ResiliencePolicy(enable_replanning=False, enable_degradation=False)
    session.healing = replace(session.healing, max_rounds=0)
    engine = TaskRunner(session)
    await engine.guide.go_to("quay")
    for condition in ALL:
        told = {"type": "task", "task_id": "t", **PLACES[place](condition)}
        told["io_spec"] = {
            "inputs": [{"name": "boats", "type": "array", "default": ["A", "B"], "required": False}]
        }
        document = parse_document(told)
        session.knowledge._documents["task", "t"] = document
        result = await engine.run_task("t")
        assert result.status is RunStatus.FAILURE, (condition, result.status)
        assert "could not be evaluated" in (result.error or ""), (condition, result.error)
        assert result.evidence is not EvidenceLevel.VERIFIED
    assert len(site.state()["boats"]) == 1


async def test_what_decides_whether_to_leave_something_out_does_not_when_it_cannot_be_evaluated(
    session, site
):
    engine = TaskRunner(session)
    await engine.guide.go_to("quay")
    steps = [_step(step_id=f"s{n}", skip_when=[condition]) for n, condition in enumerate(ALL)]
    told = {"type": "task", "task_id": "t", "steps": steps}
    session.knowledge._documents["task", "t"] = parse_document(told)
    result = await engine.run_task("t")
    assert [step.status for step in result.steps] == [StepStatus.DONE] * len(ALL)

    recipe = {"type": "action", "action_id": "maybe", "name": "Maybe", "execution_steps": [
        {"step": 1, "action": "click", "target": "#add", "condition": UNKNOWN}]}  # fmt: skip
    session.knowledge._documents["action", "maybe"] = parse_document(recipe)
    session.knowledge._no_document.discard("maybe")
    told["steps"] = [_step(action={"action_type": "maybe"})]
    session.knowledge._documents["task", "t"] = parse_document(told)
    result = await engine.run_task("t")
    assert result.status is RunStatus.FAILURE
    assert "could not be evaluated" in (result.error or "")


async def test_an_edge_whose_condition_cannot_be_evaluated_is_not_taken(session):
    engine = TaskRunner(session)
    await engine.guide.go_to("quay")
    for condition in ALL:
        edge = {"_from": "screen/quay", "_to": "screen/boat_new", "type": "transition", "transition_id": "e",
                "triggered_by": {"action_type": "click", "element_id": "add"},
                "conditions": {"required": [condition]}}  # fmt: skip
        step = PathStep(
            transition_id="e", from_screen="quay", to_screen="boat_new", expected_ms=1, reliability=1,
            transition=edge,
        )  # fmt: skip
        with pytest.raises(StepFailed):
            await engine.guide.follow(Path.model_construct(steps=(step,)))
        assert session.page.url.endswith("/quay")
