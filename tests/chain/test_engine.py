"""Tasks run from knowledge over MCP on a real page."""

from __future__ import annotations

import pytest

from agent.errors import NoKnownScreen, PersonNeeded, SiteUnreachable, UnknownToKnowledge
from agent.events import Event, Recovered, ScreenSeen, TransitionTaken
from agent.execution.task_runner import TaskRunner
from agent.execution.values.input_resolution import parse_typed_value
from kb_schema.io_specs import InputSpec
from kb_schema.run_records import EvidenceLevel, RunStatus, StepStatus

HARD = 'O\'Brien "Bob" </script> {x} {{y}} ünï 你好'


async def test_a_task_does_its_work_and_says_what_it_rests_on(session, site):
    result = await TaskRunner(session).run_task("register_boat", {"boat_name": "Gannet", "length": "12"})
    assert result.status is RunStatus.SUCCESS
    assert result.evidence is EvidenceLevel.VERIFIED
    assert result.outputs == {"moored": "Gannet"}
    assert [s.status for s in result.steps] == [StepStatus.DONE] * 4
    assert site.state()["boats"] == [{"name": "Gannet", "length": "12"}]
    assert site.state()["created"] >= 1


async def test_values_go_through_fields_templates_and_conditions_unharmed(session, site):
    result = await TaskRunner(session).run_task("register_boat", {"boat_name": HARD})
    assert result.complete, result.error
    assert site.state()["boats"][0]["name"] == HARD
    assert result.outputs["moored"] == HARD


async def test_inputs_come_from_session_before_global_context_and_defaults_last(session, site):
    session.context.global_values["boat_name"] = "Puffin"
    session.context.session["boat_name"] = "Tern"
    result = await TaskRunner(session).run_task("register_boat")
    assert result.complete
    assert site.state()["boats"] == [{"name": "Tern", "length": "6"}]


async def test_a_missing_input_needs_a_person_and_nothing_was_touched(session, site):
    result = await TaskRunner(session).run_task("register_boat")
    assert result.status is RunStatus.NEEDS_PERSON
    assert "boat_name" in (result.error or "")
    assert "--input boat_name=" in (result.hint or "")
    assert result.steps == ()
    assert site.state()["boats"] == []


async def test_the_way_is_found_over_transitions(session):
    taken: list[str] = []
    session.bus.listen(lambda e: taken.append(e.transition_id) if isinstance(e, TransitionTaken) else None)
    engine = TaskRunner(session)
    await engine.guide.go_to("boat_new")
    await engine.guide.go_to("quay")
    assert taken == ["quay_to_new", "new_to_quay"]
    assert session.screen_id == "quay"


async def test_lost_in_fog_the_recovery_edge_falls_back_to_its_second_action_and_the_plan_goes_on(
    session, site
):
    events: list[Event] = []
    session.bus.listen(events.append)
    engine = TaskRunner(session)
    await engine.guide.go_to("boat_new")
    await session.page.goto(f"{site.url}/fog")  # no link home there: only the fallback URL helps
    result = await engine.run_task("register_boat", {"boat_name": "Kittiwake"})
    assert result.complete, result.error
    assert Recovered("back_to_quay", "quay", succeeded=True) in events
    assert any(isinstance(e, ScreenSeen) and e.screen_id is None for e in events)
    assert site.state()["boats"][0]["name"] == "Kittiwake"


@pytest.mark.usefixtures("impatient")
async def test_without_any_way_out_it_says_it_is_lost(session, site):
    engine = TaskRunner(session)
    await engine.guide.arrive()
    await session.page.route(
        "**/quay*", lambda route: route.fulfill(body="<p>closed</p>", content_type="text/html")
    )
    await session.page.goto(f"{site.url}/fog")
    with pytest.raises(NoKnownScreen) as caught:
        await engine.guide.recover()
    assert caught.value.tried == ("back_to_quay",)


@pytest.mark.usefixtures("impatient")
async def test_lost_without_any_way_out_a_screen_is_opened_by_its_address(session, site):
    engine = TaskRunner(session)
    await engine.guide.arrive()
    await session.page.route(
        "**/quay*", lambda route: route.fulfill(body="<p>closed</p>", content_type="text/html")
    )
    await session.page.goto(f"{site.url}/fog")
    with pytest.raises(NoKnownScreen):
        await engine.guide.go_to("boat_new", method="path")
    await engine.guide.go_to("boat_new")
    assert session.screen_id == "boat_new"


async def test_an_iterator_empties_a_collection_and_stops(session, site):
    site.moor("A", "B", "C")
    result = await TaskRunner(session).run_task("cast_off_all")
    assert result.complete, result.error
    assert site.state()["boats"] == []


async def test_an_iterator_over_nothing_is_done_at_once(session, site):
    removed = site.state()["removed"]
    assert (await TaskRunner(session).run_task("cast_off_all")).complete
    assert site.state()["removed"] == removed


@pytest.mark.usefixtures("impatient")
async def test_a_loop_without_progress_stops_with_the_reason(session, site):
    site.moor("Stuck", "Fast")
    await session.page.route(
        "**/remove", lambda route: route.fulfill(status=303, headers={"location": "/quay"})
    )
    result = await TaskRunner(session).run_task("cast_off_all")
    assert result.status is RunStatus.FAILURE
    assert "no progress" in (result.error or "")
    assert len(site.state()["boats"]) == 2


@pytest.mark.usefixtures("impatient")
async def test_a_submit_whose_effect_is_not_seen_is_not_repeated(session, site):
    before = site.state()["created"]

    async def swallow(route):
        if route.request.method != "POST":
            return await route.continue_()
        await route.fetch(max_redirects=0)  # it happens; the answer is lost
        return await route.fulfill(body="<p>?</p>", content_type="text/html")

    await session.page.route("**/boats/new", swallow)
    result = await TaskRunner(session).run_task("register_boat", {"boat_name": "Once"})
    assert result.status is RunStatus.NEEDS_PERSON
    assert site.state()["created"] == before + 1


async def test_an_unknown_task_is_named_with_what_was_meant(session):
    with pytest.raises(UnknownToKnowledge, match="no task 'registr_boat'") as told:
        await TaskRunner(session).run_task("registr_boat")
    assert "register_boat" in (told.value.hint or "")


async def test_a_site_that_is_down_is_said_so_with_its_address(session):
    session.base_url = "http://127.0.0.1:9"
    with pytest.raises(SiteUnreachable, match=r"127\.0\.0\.1:9"):
        await TaskRunner(session).run_task("register_boat", {"boat_name": "x"})


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("integer", " 12 ", 12),
        ("number", "1.5", 1.5),
        ("boolean", "No", False),
        ("array", "Ada, Ken", ["Ada", "Ken"]),
        ("array", '["a,b"]', ["a,b"]),
        ("object", '{"a": 1}', {"a": 1}),
        ("string", "12", "12"),
    ],
)
def test_a_typed_text_becomes_what_its_input_declares(kind, text, value):
    assert parse_typed_value(InputSpec(name="x", type=kind), text) == value


@pytest.mark.parametrize(
    ("kind", "text"), [("integer", "1.5"), ("boolean", "maybe"), ("object", "[1]"), ("number", "nan")]
)
def test_a_text_that_is_no_such_value_is_refused_with_an_example(kind, text):
    with pytest.raises(PersonNeeded) as caught:
        parse_typed_value(InputSpec(name="x", type=kind), text)
    assert "x" in str(caught.value)
    assert caught.value.hint


async def test_one_engine_does_the_same_task_as_often_as_it_is_asked(session, site):
    engine = TaskRunner(session)
    session.context.session["boat_name"] = "First"
    assert (await engine.run_task("register_boat")).complete
    session.context.session["boat_name"] = "Second"
    result = await engine.run_task("register_boat")
    assert result.complete, result.error
    assert len(result.steps) == 4
    assert [boat["name"] for boat in site.state()["boats"]] == ["First", "Second"]
