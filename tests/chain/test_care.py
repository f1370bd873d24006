"""What the guide must never do, and what a result must never claim."""

from __future__ import annotations

from typing import Any

import pytest

from agent.errors import LeftWebsite, NoPath
from agent.events import ActionDone, HealTried, ScreenSeen
from agent.execution.task_runner import TaskRunner
from agent.healing.healer import HealPolicy
from agent.page.errors import GateFailed, OriginRefused
from agent.redaction import REDACTED
from agent.run_context import RunContext
from kb_schema import parse_document
from kb_schema.action_calls import ActionCall
from kb_schema.run_records import EvidenceLevel, RunStatus

pytestmark = pytest.mark.sampled(0.3)

TO_FORM = {
    "step_id": "go",
    "action": {"action_type": "navigate", "target_screen": "boat_new", "method": "path"},
}
TO_QUAY = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "quay"}}


def _knows(session, *documents: dict[str, Any]) -> None:
    """The desk's answers for these documents, as the agent keeps them for a run."""
    for data in documents:
        document = parse_document(data)
        session.knowledge._documents[document.kind, document.local_id] = document


def _task(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "task", "task_id": "t", "name": "T", "steps": list(steps), **fields}


async def test_nobody_saves_on_the_way_however_cheap_it_is(session, site):
    engine = TaskRunner(session)
    await engine.guide.go_to("boat_new")
    await session.page.fill("#name", "Unwanted")
    await engine.guide.go_to("quay")
    assert site.state()["boats"] == []


async def test_nobody_saves_on_the_way_even_where_it_is_the_only_one(session, site):
    engine = TaskRunner(session)
    await engine.guide.go_to("boat_new")
    await session.page.fill("#name", "Unwanted")
    await session.page.evaluate("document.getElementById('home').remove()")
    with pytest.raises(NoPath):
        await engine.guide.go_to("quay", method="path")
    assert site.state()["boats"] == []


async def test_a_recipe_that_fails_late_is_not_begun_again(session, site):
    steps = [
        {"step": 1, "action": "click", "target": "#moor"},
        {"step": 2, "action": "click", "target": "#nothere"},
    ]
    _knows(
        session,
        {"type": "action", "action_id": "moor_twice", "name": "M", "execution_steps": steps},
        _task(
            TO_FORM,
            {"step_id": "name", "action": {"action_type": "fill", "target": "name_field", "value": "Once"}},
            {"step_id": "moor", "action": {"action_type": "moor_twice"}},
        ),
    )
    before = site.state()["created"]
    result = await TaskRunner(session).run_task("t")
    assert result.status is RunStatus.NEEDS_PERSON
    assert site.state()["created"] == before + 1


async def test_what_already_happened_is_seen_by_the_tasks_own_sign(session, site):
    steps = [
        {"step": 1, "action": "click", "target": "#moor"},
        {"step": 2, "action": "click", "target": "#nothere"},
    ]
    _knows(
        session,
        {"type": "action", "action_id": "moor_twice", "name": "M", "execution_steps": steps},
        _task(
            TO_FORM,
            {"step_id": "name", "action": {"action_type": "fill", "target": "name_field", "value": "Once"}},
            {"step_id": "moor", "action": {"action_type": "moor_twice"}},
            already_done_when=[{"type": "dom_contains", "value": "Once", "selector": "td.name"}],
        ),
    )
    result = await TaskRunner(session).run_task("t")
    assert result.complete, result.error
    assert result.evidence is EvidenceLevel.VERIFIED
    assert [boat["name"] for boat in site.state()["boats"]] == ["Once"]


@pytest.mark.usefixtures("impatient")
async def test_a_value_cannot_change_what_a_selector_means(session, site):
    session.healing = HealPolicy(max_rounds=0, gate_s=1.0)
    site.moor("Keep")
    _knows(
        session,
        _task(
            TO_QUAY,
            {
                "step_id": "cast",
                "action": {"action_type": "click", "target": "tr[data-boat='{which}'] button"},
            },
            io_spec={"inputs": [{"name": "which"}]},
        ),
    )
    result = await TaskRunner(session).run_task("t", {"which": "no such'], tr[data-boat='0"})
    assert result.status is RunStatus.FAILURE
    assert [boat["name"] for boat in site.state()["boats"]] == ["Keep"]


@pytest.mark.usefixtures("impatient")
async def test_a_value_cannot_change_what_a_pattern_means(session):
    _knows(
        session,
        _task(
            {
                **TO_QUAY,
                "postconditions": [{"type": "url_matches", "pattern": "^/boats/{which}$", "timeout": 0.2}],
            },
            io_spec={"inputs": [{"name": "which"}]},
        ),
    )
    assert not (await TaskRunner(session).run_task("t", {"which": "x|quay|^"})).succeeded


async def test_nothing_is_done_on_a_foreign_origin(session):
    engine = TaskRunner(session)
    await engine.guide.arrive()
    await session.page.route(
        "http://evil.test/**", lambda r: r.fulfill(body="<input id=a>", content_type="text/html")
    )
    await session.page.goto("http://evil.test/")
    with pytest.raises(LeftWebsite, match=r"the page left the website for http://evil\.test"):
        await engine.perform_call(ActionCall(action_type="fill", target="#a", value="x"), {})
    assert await session.page.input_value("#a") == ""
    await session.page.goto(session.base_url)
    with pytest.raises(OriginRefused):
        await engine.guide.go_to("boat_new", method="direct_url", url="http://evil.test/x")


async def test_a_lost_page_is_no_empty_collection(session, site):
    site.moor("A", "B", "C")
    away = {"now": False}

    async def expire(route):
        if route.request.method == "POST":
            away["now"] = True
        if away["now"]:
            return await route.fulfill(body="<h1>Signed out</h1>", content_type="text/html")
        return await route.continue_()

    await session.page.route("**/*", expire)
    result = await TaskRunner(session).run_task("cast_off_all")
    assert result.status is RunStatus.FAILURE
    assert "instead of quay" in (result.error or "")


async def test_a_list_beyond_the_bound_is_not_called_done(session):
    looped = {
        "type": "list_processing",
        "items": "{names}",
        "item_action": {"action": {"action_type": "no_op"}},
        "max_iterations": 2,
    }
    task = _task(
        TO_QUAY,
        {"step_id": "all", "action": {"action_type": "execute_iterator"}},
        io_spec={"inputs": [{"name": "names", "type": "array"}]},
        iterator_spec=looped,
    )
    _knows(session, task)
    result = await TaskRunner(session).run_task("t", {"names": "a, b, c"})
    assert not result.succeeded
    assert "2 items with 1 left" in (result.error or "")
    assert (await TaskRunner(session).run_task("t", {"names": "a, b"})).complete


async def test_items_that_failed_on_the_way_are_told(session):
    looped = {
        "type": "list_processing",
        "items": "{names}",
        "item_action": {"action": {"action_type": "press", "target": "#nothere", "value": "Enter"}},
        "continue_on_error": True,
    }
    _knows(
        session,
        _task(
            TO_QUAY,
            {"step_id": "all", "action": {"action_type": "execute_iterator"}},
            io_spec={"inputs": [{"name": "names", "type": "array"}]},
            iterator_spec=looped,
        ),
    )
    result = await TaskRunner(session).run_task("t", {"names": "a"})
    assert not result.succeeded
    assert "1 of 1 items failed" in (result.error or "")


async def test_items_that_fail_one_after_the_other_stop_the_loop(session):
    looped = {
        "type": "list_processing",
        "items": "{names}",
        "item_action": {"action": {"action_type": "press", "target": "#nothere", "value": "Enter"}},
        "continue_on_error": True,
        "error_handling": {"max_consecutive_errors": 2},
    }
    every = {"step_id": "all", "action": {"action_type": "execute_iterator"}}
    inputs = {"inputs": [{"name": "names", "type": "array"}]}
    _knows(session, _task(TO_QUAY, every, io_spec=inputs, iterator_spec=looped))
    session.healing = HealPolicy(max_rounds=0, gate_s=0.1)
    result = await TaskRunner(session).run_task("t", {"names": "a, b, c, d"})
    assert not result.succeeded
    assert "item 2: " in (
        result.error or ""
    )  # the item that stops the loop is not counted: a resumed run begins with it
    assert [(each["item"], each["status"]) for each in result.outputs["all_items"]] == [("a", "failed")]


async def test_success_without_any_condition_is_unverified(session):
    _knows(session, _task(TO_QUAY))
    result = await TaskRunner(session).run_task("t")
    assert result.complete
    assert result.evidence is EvidenceLevel.UNVERIFIED


async def test_a_sign_of_failure_that_cannot_be_looked_up_is_not_passed(session):
    sign = {"type": "element_visible", "element": "length_list", "success": False, "timeout": 0.2}
    _knows(session, _task({**TO_QUAY, "postconditions": [sign]}))  # an element of another screen
    result = await TaskRunner(session).run_task("t")
    assert result.status is RunStatus.FAILURE
    assert "could not be evaluated" in (result.error or "")
    assert result.evidence is EvidenceLevel.UNVERIFIED


async def test_an_element_of_the_screen_one_arrives_at_is_looked_up_there(session):
    visible = {"type": "element_visible", "element": "name_field"}
    _knows(
        session,
        _task(
            TO_QUAY,
            {
                "step_id": "open",
                "action": {"action_type": "click", "target": "add"},
                "postconditions": [visible],
            },
        ),
    )
    result = await TaskRunner(session).run_task("t")
    assert result.complete, result.error


async def test_a_calls_own_trigger_is_armed_before_its_recipe(session):
    steps = [{"step": 1, "action": "click", "target": "{element_selector}"}]
    recipe = {"type": "action", "action_id": "follow", "name": "F", "execution_steps": steps,
              "parameters": {"element_selector": {"type": "string", "required": True}}}  # fmt: skip
    call = {
        "action_type": "follow",
        "target": "add",
        "observability_trigger": {"event": "url_change", "timeout": 3},
    }
    _knows(session, recipe, _task(TO_QUAY, {"step_id": "open", "action": call}))
    result = await TaskRunner(session).run_task("t")
    assert result.complete, result.error


async def test_a_condition_with_a_number_or_without_words_is_no_crash(session):
    _knows(
        session,
        _task(
            {**TO_QUAY, "postconditions": [{"type": "dom_contains", "value": "{count}"}]},
            io_spec={"inputs": [{"name": "count", "type": "integer"}]},
        ),
    )
    assert (await TaskRunner(session).run_task("t", {"count": "0"})).complete  # "0 boats moored"
    _knows(
        session,
        _task(
            {**TO_QUAY, "postconditions": [{"type": "dom_contains", "value": "{note}"}]},
            io_spec={"inputs": [{"name": "note", "required": False}]},
        ),
    )
    result = await TaskRunner(session).run_task("t")
    assert result.status is RunStatus.FAILURE
    assert "is invalid with these values" in (result.error or "")


async def test_secrets_of_every_kind_are_taken_out_of_events_and_snapshots(session):
    told: list[Any] = []
    session.bus.listen(told.append)
    secret = "p&ss <word>"
    _knows(
        session,
        _task(
            TO_FORM,
            {"step_id": "a", "action": {"action_type": "fill", "target": "name_field", "value": "{pin}"}},
            {"step_id": "b", "action": {"action_type": "fill", "target": "name_field", "value": "{word}"}},
            io_spec={
                "inputs": [
                    {"name": "pin", "type": "integer", "secret": True},
                    {"name": "word", "secret": True},
                ]
            },
        ),
    )
    result = await TaskRunner(session).run_task("t", {"pin": "482913", "word": secret})
    assert result.complete, result.error
    await session.page.goto(f"{session.base_url}/quay?pw=p%26ss+%3Cword%3E")
    session.touched()
    await session.look()
    seen = repr(told) + (await session.snapshot()).model_dump_json(exclude={"url"})
    for form in ("482913", secret, "p%26ss", "p&amp;ss"):
        assert form not in seen
    assert any(isinstance(event, ActionDone) and event.args == {"value": REDACTED} for event in told)
    assert not any(isinstance(event, ScreenSeen) and "p%26ss" in event.url for event in told)


async def test_a_refusal_does_not_repeat_a_secret(session):
    inputs = [{"name": "pin", "type": "integer", "secret": True}]
    _knows(session, _task(TO_QUAY, io_spec={"inputs": inputs}))
    result = await TaskRunner(session).run_task("t", {"pin": "hunter2"})
    assert result.status is RunStatus.NEEDS_PERSON
    assert "hunter2" not in result.model_dump_json()


def test_numbers_are_redacted_too():
    context = RunContext()
    context.keep_secret(482913)
    assert context.redact({"a": 482913, "b": [1, "482913!"]}) == {"a": REDACTED, "b": [1, f"{REDACTED}!"]}


async def test_an_overlay_whose_own_control_is_covered_ends_in_a_clear_failure(session):
    session.healing = HealPolicy(gate_s=0.4, healed_gate_s=0.2)
    overlay = {"overlay_id": "veil", "present_when": {"type": "dom_element", "selector": "#veil"},
               "dismiss": {"action_type": "click", "target": "#away"}}  # fmt: skip
    website = session.website.to_json() | {"overlays": [overlay]}
    session.website = parse_document(website)
    engine = TaskRunner(session)
    await engine.guide.go_to("boat_new")
    await session.page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', \"<div id=veil style='position:fixed;inset:0'>"
        "<button id=away>x</button><div style='position:absolute;inset:0;background:white'>in the way</div></div>\")"
    )
    tried: list[HealTried] = []
    session.bus.listen(lambda event: tried.append(event) if isinstance(event, HealTried) else None)
    with pytest.raises(GateFailed, match='covered by div "in the way"'):
        await engine.perform_call(ActionCall(action_type="click", target="moor"), {})
    # Nothing is healed for the sake of the overlay's control, and one round tells that nothing helps.
    assert [(each.element, each.round) for each in tried] == [("boat_new.moor", 1)]
