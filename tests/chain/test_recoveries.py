"""Recoveries that the knowledge names, carried out on a page: what they mend, what they leave alone, where they end."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agent.events import Recovered, RecoveryTried, ScreenSeen, StepEnded, TransitionTaken
from agent.execution import step_runner
from agent.execution.run_observer import RunObserver
from agent.execution.task_runner import TaskRunner
from agent.page import condition_probes
from kb_schema import parse_document
from kb_schema.resilience_policy import ResiliencePolicy
from kb_schema.run_records import RunStatus, StepStatus
from tests.support.live_spadeworks import visiting

pytestmark = pytest.mark.sampled(0.25)

ALONE = ResiliencePolicy(enable_replanning=False, enable_degradation=False)
"""What is authored has to do: nothing else is tried."""


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """What does not come about is given up sooner."""
    monkeypatch.setattr(step_runner, "CONFIRM_S", 1.5)
    monkeypatch.setattr(step_runner, "PRECONDITION_S", 0.5)


def _knows(session, *documents):
    for told in documents:
        document = parse_document(told)
        session.knowledge._documents[document.kind, document.local_id] = document


def _task(*steps, **more):
    """A task that opens the form for a boat, then does these steps."""
    opens = {"step_id": "open", "action": {"action_type": "navigate", "target_screen": "boat_new"}}
    return {"type": "task", "task_id": "t", "steps": [opens, *steps], **more}


FILL = {"step_id": "fill", "action": {"action_type": "fill", "target": "#name", "value": "Tern"}}
MOOR = {
    "step_id": "moor",
    "action": {"action_type": "click", "target": "#moor"},
    "postconditions": [{"type": "navigates_to", "screen_id": "quay"}],
}


async def _form(session, script):
    """The form for a boat, with something wrong with it."""

    async def spoilt(route):
        if route.request.method != "GET":
            return await route.fallback()
        answer = await route.fetch()
        body = (await answer.text()).replace("</body>", f"<script>{script}</script></body>")
        return await route.fulfill(response=answer, body=body)

    await session.page.route("**/boats/new", spoilt)


def _engine(session, companion=None):
    session.healing = replace(session.healing, max_rounds=0, gate_s=0.4)
    tried: list[tuple[str, str]] = []
    session.bus.listen(
        lambda e: tried.append((e.recovery, e.outcome)) if isinstance(e, RecoveryTried) else None
    )
    session.resilience = ALONE
    return TaskRunner(session, companion), tried


async def test_a_step_is_tried_again_after_its_rules_recovery_and_not_oftener_than_the_rule_says(
    session, site
):
    await _form(session, "moor.disabled = true; setTimeout(() => moor.disabled = false, 1500)")
    patient = {"recovery": "wait_and_retry", "wait_time": 5.0, "retry": True}
    waits = {**MOOR, "action": {"action_type": "click", "target": "moor"}}
    _knows(session, _task(FILL, {**waits, "error_handling": {"element_not_editable": patient}}))
    engine, tried = _engine(session)
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert tried == [("wait_and_retry", "again")]
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]

    await _form(session, "moor.disabled = true")
    hopeless = {"recovery": "retry", "retry": True, "max_retries": 2, "fallback": "abort"}
    _knows(session, _task(FILL, {**waits, "error_handling": {"element_not_editable": hopeless}}))
    tried.clear()
    result = await engine.run_task("t")
    assert result.status is RunStatus.FAILURE
    assert tried == [("retry", "again"), ("retry", "again"), ("abort", "stop")]
    assert len(site.state()["boats"]) == 1


async def test_the_next_strategy_of_an_element_is_used_and_a_step_may_be_left_out(session, site):
    await _form(
        session,
        "document.body.append(Object.assign(document.createElement('button'), {id: 'decoy', disabled: true}))",
    )
    screen = await session.knowledge.screen("boat_new")
    told = screen.to_json() | {"type": "screen"}
    for element in told["ui_elements"]:
        if element["element_id"] == "moor":
            element["selector"] = {
                "strategies": [{"type": "id", "value": "decoy"}, {"type": "id", "value": "moor"}]
            }
            element["affordances"][0]["error_handling"] = [
                {"condition": "element_not_editable", "recovery": "try_alternative_selector", "retry": True}
            ]
    _knows(session, told)
    missing = {
        "step_id": "extra",
        "action": {"action_type": "fill", "target": "#is-not-there", "value": "x"},
        "error_handling": [{"condition": "element_not_found", "recovery": "skip_step"}],
    }
    _knows(session, _task(FILL, missing, {**MOOR, "action": {"action_type": "click", "target": "moor"}}))
    engine, tried = _engine(session)
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert tried == [("skip_step", "skip"), ("try_alternative_selector", "again")]
    left_out = next(step for step in result.steps if step.step_id == "extra")
    assert left_out.status is StepStatus.SKIPPED
    assert "not_found" in (left_out.error or "")
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


@pytest.mark.parametrize("spared", [{"required": False}, {"can_skip": True}, {}])
async def test_a_step_that_can_be_spared_does_not_fail_the_task(session, site, spared):
    missing = {"step_id": "extra", "action": {"action_type": "fill", "target": "#is-not-there", "value": "x"}}
    _knows(session, _task(FILL, {**missing, **spared}, MOOR))
    engine, _ = _engine(session)
    result = await engine.run_task("t")
    assert result.succeeded is bool(spared), result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"] * bool(spared)


async def test_a_screen_is_opened_by_its_address_where_the_knowledge_says_so(session):
    taken = []
    session.bus.listen(lambda e: taken.append(e.transition_id) if isinstance(e, TransitionTaken) else None)
    opens = {
        "step_id": "open",
        "action": {"action_type": "navigate", "target_screen": "boat_new", "method": "direct_url"},
    }
    _knows(session, {"type": "task", "task_id": "t", "steps": [opens]})
    engine, _ = _engine(session)
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert (session.screen_id, taken) == ("boat_new", [])


async def test_a_page_is_loaded_again_and_its_fields_are_filled_again(session, site):
    answers = iter(["<script>moor.disabled = true</script>"])

    async def spoilt_once(route):
        if route.request.method != "GET":
            return await route.fallback()
        answer = await route.fetch()
        body = (await answer.text()).replace("</body>", f"{next(answers, '')}</body>")
        return await route.fulfill(response=answer, body=body)

    await session.page.route("**/boats/new", spoilt_once)
    rule = {"element_not_editable": {"recovery": "refresh_and_retry", "retry": True}}
    _knows(session, _task(FILL, {**MOOR, "error_handling": rule}))
    engine, tried = _engine(session)
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert [name for name, _ in tried] == ["refresh_and_retry"]
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


class _Meddler(RunObserver):
    """Spoils the page once, after a step."""

    def __init__(self, after, spoil):
        self.after, self.spoil = after, spoil

    async def after_step(self, task, step, values):
        if step.step_id == self.after:
            self.after = None
            await self.spoil()


CHECK = {
    "step_id": "check",
    "action": {"action_type": "no_op"},
    "postconditions": [{"type": "field_has_value", "element": "name_field", "value": "Tern"}],
}


async def test_a_task_goes_on_from_the_step_its_strategy_names(session, site):
    strategies = [{"condition": "postcondition", "action": "verify_current_state", "retry_step": "fill"}]
    _knows(session, _task(FILL, CHECK, MOOR, failure_recovery={"strategies": strategies}))
    meddler = _Meddler("fill", lambda: session.page.fill("#name", "Gull"))
    engine, _ = _engine(session, meddler)
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


async def test_the_screen_of_a_step_is_opened_again_where_its_rule_says_so(session):
    there = [{"type": "on_screen", "screen_id": "boat_new"}]
    rule = {"error_handling": [{"condition": "on_screen", "recovery": "navigate_manually", "retry": True}]}
    read = {
        "step_id": "read",
        "action": {"action_type": "extract", "target": "#name"},
        "preconditions": there,
        **rule,
    }
    _knows(session, _task({"step_id": "look", "action": {"action_type": "no_op"}}, read))
    meddler = _Meddler("look", lambda: session.page.goto(f"{session.base_url}/quay"))
    engine, tried = _engine(session, meddler)
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert tried == [("navigate_manually", "again")]
    assert session.screen_id == "boat_new"


async def test_going_on_from_an_earlier_step_repeats_nothing_that_happened(session, site):
    strategies = [{"condition": "postcondition", "action": "retry", "retry_step": "moor"}]
    never = {**CHECK, "postconditions": [{"type": "dom_contains", "value": "not to be seen"}]}
    _knows(session, _task(FILL, MOOR, never, failure_recovery={"strategies": strategies}))
    engine, tried = _engine(session)
    result = await engine.run_task("t")
    assert result.status is RunStatus.FAILURE
    assert tried == [("retry", "again")]
    assert len(site.state()["boats"]) == 1


async def test_lost_in_the_middle_the_way_out_is_taken_and_the_plan_goes_on_where_it_was(session, site):
    seen, answers = [], iter(["<p>Back soon.</p>"])
    session.bus.listen(lambda e: seen.append(e.recovery_id) if isinstance(e, Recovered) else None)
    session.bus.listen(lambda e: seen.append(e.screen_id) if isinstance(e, ScreenSeen) else None)

    async def closed_once(route):
        body = next(answers, None)
        await (route.fallback() if body is None else route.fulfill(body=body, content_type="text/html"))

    quay = {"step_id": "quay", "action": {"action_type": "navigate", "target_screen": "quay"}}
    steps = _task(FILL, CHECK, MOOR)["steps"]
    _knows(session, {"type": "task", "task_id": "t", "steps": [quay, *steps]})
    await session.page.route("**/boats/new", closed_once)
    engine, _ = _engine(session)
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert seen == ["quay", None, "quay", "back_to_quay", "boat_new", "quay"]
    assert [step.step_id for step in result.steps] == ["quay", "open", "fill", "check", "moor"]
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


async def test_a_task_is_a_recovery_but_never_one_that_is_under_way(session, site):
    asks = {"step_id": "ask", "action": {"action_type": "no_op"},
            "postconditions": [{"type": "dom_element", "selector": "tr.boat"}]}  # fmt: skip
    rule = [{"condition": "postcondition", "recovery": "register", "retry": True}]
    quay = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "quay"}}
    _knows(
        session,
        {"type": "task", "task_id": "t", "steps": [quay, {**asks, "error_handling": rule}]},
        {**_task(FILL, MOOR), "task_id": "register"},
    )
    engine, tried = _engine(session)
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert tried == [("register", "again")]
    assert len(site.state()["boats"]) == 1

    rule[0]["recovery"] = "t"
    asks["postconditions"] = [{"type": "dom_element", "selector": "tr.never"}]
    _knows(session, {"type": "task", "task_id": "t", "steps": [quay, {**asks, "error_handling": rule}]})
    tried.clear()
    result = await engine.run_task("t")
    assert result.status is RunStatus.FAILURE
    assert tried == [("t", "no_help")]


@pytest.mark.parametrize("other", ["t", "helper"])
async def test_remedies_do_not_go_in_circles(other, session, site):
    """A task that needs itself; one that needs another, which needs the first."""

    def needs(task_id):
        return [{"type": "dom_element", "selector": "#never", "hard_dependency": False, "auto_remediate": True,
                 "remediation_task_id": task_id}]  # fmt: skip

    started = []
    session.bus.listen(lambda e: started.append(e.task_id) if isinstance(e, StepEnded) else None)
    go = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "quay"}}
    _knows(
        session,
        {"type": "task", "task_id": "t", "steps": [{**go, "preconditions": needs(other)}]},
        {"type": "task", "task_id": "helper", "steps": [{**go, "preconditions": needs("t")}]},
    )
    engine, _ = _engine(session)
    result = await engine.run_task("t")
    assert result.status is RunStatus.FAILURE
    assert "because it requires it itself" in (result.error or "")
    assert len(started) <= 5


async def test_a_remedy_by_action_ends_as_soon_as_the_condition_holds(session, site):
    await _form(session, "setTimeout(() => document.body.dataset.ready = 'yes', 300)")
    needs = [{"type": "dom_element", "selector": "body[data-ready]", "hard_dependency": False,
              "auto_remediate": True, "remediation_action": "wait", "remediation_params": {"duration": 30}}]  # fmt: skip
    _knows(session, _task({**FILL, "preconditions": needs}))
    engine, _ = _engine(session)
    result = await engine.run_task("t")
    assert result.complete, result.error
    assert result.duration_ms < 25_000


async def test_a_condition_of_a_step_is_asked_in_one_look_before_and_one_after(session, site, monkeypatch):
    looks = []
    real = condition_probes.probe_page

    async def counted(page, probes):
        looks.append(len(probes))
        return await real(page, probes)

    before = [{"type": "element_visible", "element": "name_field"}, {"type": "element_enabled", "element": "moor"},
              {"type": "page_loaded"}, {"type": "on_screen", "screen_id": "boat_new"}]  # fmt: skip
    after = [{"type": "field_has_value", "element": "name_field", "value": "Tern"},
             {"type": "field_filled", "element": "name_field"}, {"type": "url_contains", "value": "/boats/new"}]  # fmt: skip
    fill = {"step_id": "fill", "action": {"action_type": "fill", "target": "name_field", "value": "Tern"},
            "preconditions": before, "postconditions": after, "validation": {"type": "form_valid"},
            "skip_when": [{"type": "dom_contains", "value": "not to be seen"}]}  # fmt: skip
    _knows(session, _task(fill))
    engine, _ = _engine(session)
    await engine.guide.go_to("boat_new")
    monkeypatch.setattr("agent.session.probe_page", counted)
    result = await engine.run_task("t")
    assert result.complete, result.error
    filling = looks[-2:]
    assert filling[0] >= 3
    assert len(looks) <= 3, looks  # the step `open`, which states nothing, asks nothing


# -- on the live site ----------------------------------------------------------------------------


def _campaign(live):
    agent = live.state()["agents"][0]["id"]
    return {"campaign_name": "Autumn", "campaign_agent": agent, "start_date": "2027-03-01", "daily_limit": 50}


async def test_a_value_is_refused_before_anything_is_typed_and_written_as_the_page_wants_it_where_only_it_knows(
    live, stores, browser
):
    async with visiting(live, stores, browser) as session:
        engine = TaskRunner(session)
        refused = await engine.run_task("create_campaign", _campaign(live))
        assert refused.status is RunStatus.NEEDS_PERSON
        assert refused.steps == ()
        assert "'Start date' does not accept '2027-03-01' (pattern: ^\\d{2}/\\d{2}/\\d{4}$)" in (
            refused.error or ""
        )
        assert "--input start_date=" in (refused.hint or "")

        screen = await session.knowledge.screen("campaign_create_details")
        told = screen.to_json() | {"type": "screen"}
        for element in told["ui_elements"]:
            for affordance in element.get("affordances", ()):
                affordance.pop("validation", None)
        _knows(session, told)
        tried = []
        session.bus.listen(lambda e: tried.append(e.recovery) if isinstance(e, RecoveryTried) else None)
        live.ask("faults", kind="expire_session", path="^/campaign/create/review$", method="GET", times=1)
        result = await engine.run_task("create_campaign", _campaign(live))
        found = live.state()
    assert result.complete, result.error
    assert "fix_validation_errors" in tried
    assert [c["start_date"] for c in found["campaigns"] if c["name"] == "Autumn"] == ["03/01/2027"]
    assert found["counts"]["sessions_expired"] == 1
    assert found["counts"]["campaigns_created"] == 1


async def test_what_only_another_value_mends_is_asked_of_a_person_with_what_the_page_said(
    live, hasty_stores, browser, monkeypatch
):
    async with visiting(live, hasty_stores, browser) as session:
        ways = []
        session.bus.listen(
            lambda e: ways.append((e.to_screen, e.arrived)) if isinstance(e, TransitionTaken) else None
        )
        engine = TaskRunner(session)
        await engine.run_task("login")
        live.ask("faults", kind="expire_session", path="^/agent", method="GET", times=1)
        with monkeypatch.context() as patient:
            patient.setattr("agent.guide.SETTLE_S", 60.0)  # nobody waits where it went astray
            async with asyncio.timeout(45):
                await engine.guide.go_to("agent_list", method="path")
        assert ways == [("agent_list", False), ("login", True)]  # the edge says to sign in, which leads on
        assert session.screen_id == "agent_list"

        name = live.state()["agents"][0]["name"]
        result = await engine.run_task("create_agent", {"agent_name": name})
        counts = live.state()["counts"]
    assert result.status is RunStatus.NEEDS_PERSON
    assert "An agent with this name already exists" in (result.error or "")
    assert "--input agent_name=" in (result.hint or "")
    assert counts["agents_created"] == 0


async def test_what_an_element_promises_is_asked_of_a_step_that_says_nothing_itself(session, site):
    screen = await session.knowledge.screen("boat_new")
    told = screen.to_json() | {"type": "screen"}
    for element in told["ui_elements"]:
        for affordance in element.get("affordances", ()) if element["element_id"] == "moor" else ():
            affordance["postconditions"] = [
                {"type": "navigates_to", "screen_id": "boat_new", "success": True}
            ]
    _knows(
        session, told, _task(FILL, {"step_id": "moor", "action": {"action_type": "click", "target": "moor"}})
    )
    engine, _ = _engine(session)
    result = await engine.run_task("t")
    assert result.status is RunStatus.NEEDS_PERSON  # it may have been done, and nothing else tells
    assert "postcondition navigates_to does not hold" in (result.error or "")
    _knows(session, _task(FILL, {**MOOR, "action": {"action_type": "click", "target": "moor"}}))
    result = await engine.run_task("t")
    assert result.complete, result.error  # the step's own word goes before
