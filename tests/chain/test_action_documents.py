"""What an action document and an element's affordance ask for is done on the page: conditions, parameters, error rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent import guide
from agent.events import ActionDone, RecoveryTried
from agent.execution import step_runner
from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.resilience_policy import ResiliencePolicy
from kb_schema.run_records import RunStatus, StepStatus

pytestmark = pytest.mark.sampled(0.5)

OPEN = {"step_id": "open", "action": {"action_type": "navigate", "target_screen": "boat_new"}}
NEVER = {"type": "dom_contains", "value": "not to be seen", "timeout": 0.1}


@pytest.fixture
async def engine(session, monkeypatch):
    """Only what is authored is tried, and what does not come about is given up soon."""
    monkeypatch.setattr(step_runner, "CONFIRM_S", 0.5)
    monkeypatch.setattr(step_runner, "PRECONDITION_S", 0.1)
    session.healing = replace(session.healing, max_rounds=0, gate_s=0.4)
    session.resilience = ResiliencePolicy(enable_replanning=False, enable_degradation=False)
    return TaskRunner(session)


def _knows(session, *documents):
    for told in documents:
        session.knowledge.know(parse_document(told))
        session.knowledge._no_document.discard(told.get("action_id"))


def _task(*steps, **more):
    return {"type": "task", "task_id": "t", "steps": [OPEN, *steps], **more}


def _recipe(*steps, **more):
    numbered = [{"step": number, **step} for number, step in enumerate(steps, start=1)]
    return {"type": "action", "action_id": "recipe", "name": "R", "execution_steps": numbered, **more}


FILL = {"action": "fill", "target": "#name", "text": "{text}"}
MOOR = {"step_id": "moor", "action": {"action_type": "click", "target": "moor"}}


@pytest.mark.parametrize(
    ("said", "kept"), [({"clear_first": True}, ""), ({"clear_first": False}, "Old"), ({}, "Old")]
)
async def test_a_step_of_a_recipe_runs_only_if_its_parameter_says_so(session, engine, said, kept):
    clears = {"action": "clear_if_needed", "target": "#name", "condition": "{clear_first}"}
    parameters = {"clear_first": {"type": "boolean", "default": False}}
    call = {"step_id": "s", "action": {"action_type": "recipe", "parameters": said}}
    filled = {"step_id": "fill", "action": {"action_type": "fill", "target": "#name", "value": "Old"}}
    _knows(session, _recipe(clears, parameters=parameters), _task(filled, call))
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert await session.page.input_value("#name") == kept


async def test_a_soft_precondition_whose_remedy_does_not_help_fails_the_recipe(session, engine):
    waits = {"remediation_action": "wait", "remediation_params": {"duration": 0.1}}
    soft = {**NEVER, "hard_dependency": False, "auto_remediate": True, **waits}
    called = {"step_id": "s", "action": {"action_type": "recipe", "text": "Tern"}}
    _knows(session, _recipe(FILL, preconditions=[soft]), _task(called))
    result = await engine.run_task("t")
    assert not result.succeeded
    assert "precondition dom_contains" in (result.error or "")
    assert await session.page.input_value("#name") == ""


@pytest.mark.parametrize(
    ("place", "words"), [("preconditions", "precondition"), ("postconditions", "dom_contains")]
)
async def test_what_a_recipe_requires_and_promises_is_judged(session, engine, place, words):
    called = {"step_id": "s", "action": {"action_type": "recipe", "text": "Tern"}}
    _knows(session, _recipe(FILL, **{place: [NEVER]}), _task(called))
    result = await engine.run_task("t")
    assert not result.succeeded
    assert "'recipe'" in (result.error or "")
    assert words in (result.error or "")
    assert await session.page.input_value("#name") == ("" if place == "preconditions" else "Tern")


async def test_the_rules_of_a_recipe_are_applied_to_the_step_that_calls_it(session, engine):
    tried = []
    session.bus.listen(lambda e: tried.append(e.recovery) if isinstance(e, RecoveryTried) else None)
    gone = {"action": "click", "target": "#nothere"}
    rules = {"element_not_found": {"recovery": "skip_step"}}
    _knows(
        session,
        _recipe(gone, error_handling=rules),
        _task({"step_id": "s", "action": {"action_type": "recipe"}}),
    )
    result = await engine.run_task("t")
    assert tried == ["skip_step"]
    assert (result.steps[-1].step_id, result.steps[-1].status) == ("s", StepStatus.SKIPPED)


@pytest.mark.parametrize(("seen", "status"), [("boats moored", "done"), ("not to be seen", "failed")])
async def test_the_present_state_is_looked_at_instead_of_submitting_again(
    session, site, engine, seen, status
):
    """The recipe's wait fails after the submission: only what the page shows now tells whether it happened (KS 4.2)."""
    tried = []
    session.bus.listen(
        lambda e: tried.append((e.recovery, e.outcome)) if isinstance(e, RecoveryTried) else None
    )
    trigger = {"event": "element_visible", "selector": "#receipt", "timeout": 0.3}
    submit = (
        {"action": "click", "target": "#moor"},
        {"action": "wait_for", "observability_trigger": trigger},
    )
    rules = {"timeout": {"recovery": "check_current_state", "retry": False}}
    call = {
        "step_id": "s", "action": {"action_type": "recipe"},
        "postconditions": [{"type": "dom_contains", "value": seen}],
    }  # fmt: skip
    name = {"step_id": "name", "action": {"action_type": "fill", "target": "#name", "value": "Tern"}}
    _knows(session, _recipe(*submit, error_handling=rules, idempotent=True), _task(name, call))
    result = await engine.run_task("t")
    happened = status == "done"
    assert tried == [("check_current_state", "done" if happened else "no_help")]
    assert (result.complete, result.steps[-1].status) == (happened, status), result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


async def test_what_an_element_requires_stops_a_step_and_its_rule_is_found_by_the_condition(
    session, site, engine
):
    tried, done = [], []
    session.bus.listen(lambda e: tried.append(e.recovery) if isinstance(e, RecoveryTried) else None)
    session.bus.listen(lambda e: done.append(e.action_type) if isinstance(e, ActionDone) else None)
    screen = await session.knowledge.screen("boat_new")
    told = screen.to_json() | {"type": "screen"}
    for element in told["ui_elements"]:
        if element["element_id"] == "moor":
            element["affordances"][0]["preconditions"] = [
                {"type": "field_filled", "field_id": "name_field", "hard_dependency": True}
            ]
    rule = {"error_handling": [{"condition": "field_filled", "recovery": "abort"}]}
    _knows(session, told, _task({**MOOR, **rule}))
    result = await engine.run_task("t")
    assert result.status is RunStatus.FAILURE
    assert "precondition field_filled does not hold" in (result.error or "")
    assert tried == ["abort"]
    assert "click" not in done[1:]  # the first one opened the form
    assert site.state()["boats"] == []


async def test_a_transition_has_the_time_that_its_longest_duration_says(session, site, engine, monkeypatch):
    monkeypatch.setattr(guide, "SETTLE_S", 0.3)
    await engine.guide.go_to("quay")
    paths = session.knowledge.paths

    async def patient(*asked, **more):
        answer = await paths(*asked, **more)
        for path in answer.paths:
            for step in path.steps:
                step.transition["duration"] = {"max": 30.0}
        return answer

    monkeypatch.setattr(session.knowledge, "paths", patient)
    script = """() => { const heading = document.querySelector('h1'); const said = heading.textContent;
        heading.textContent = ''; setTimeout(() => { heading.textContent = said }, 1500) }"""
    await session.page.add_init_script(
        f"if (location.pathname === '/boats/new') addEventListener('DOMContentLoaded', {script})"
    )
    await engine.guide.go_to("boat_new", method="path")
    assert session.screen_id == "boat_new"


async def test_a_step_that_ends_where_its_transition_says_it_may_gets_the_recovery_from_there(
    session, engine, monkeypatch
):
    tried = []
    session.bus.listen(
        lambda e: tried.append((e.recovery, e.outcome)) if isinstance(e, RecoveryTried) else None
    )
    paths = session.knowledge.paths
    state = {"screen_id": "quay", "reason": "nothing_happened", "recovery": "retry"}

    async def known(*asked, **more):
        answer = await paths(*asked, **more)
        for path in answer.paths:
            for step in path.steps:
                step.transition["error_states"] = [state]
        return answer

    monkeypatch.setattr(session.knowledge, "paths", known)
    once = "() => document.querySelector('#add').addEventListener('click', (e) => e.preventDefault(), {once: true})"
    await session.page.add_init_script(
        f"if (location.pathname === '/quay') addEventListener('DOMContentLoaded', {once})"
    )
    quay = {"step_id": "quay", "action": {"action_type": "navigate", "target_screen": "quay"}}
    press = {"step_id": "press", "repeatable": True, "action": {"action_type": "click", "target": "add"},
             "postconditions": [{"type": "on_screen", "screen_id": "boat_new"}]}  # fmt: skip
    _knows(session, {"type": "task", "task_id": "t", "steps": [quay, press]})
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert tried == [("retry", "again")]
