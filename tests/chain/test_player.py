"""Presentation flows on the harbour."""

from __future__ import annotations

import asyncio
import time

import pytest

from agent.events import ActionDone, Event
from agent.media.voice import SilentVoice
from agent.presentation.flow_player import FlowPlayer
from agent.presentation.narration.narrator import Narrator, without_marks
from agent.presentation.presentation_records import (
    Narrated,
    Presentation,
    SegmentEnded,
    SegmentRecord,
    SegmentStatus,
)
from kb_schema import parse_document
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.run_records import RunResult
from kb_schema.selectors import css
from kb_schema.workflows import Workflow

pytestmark = pytest.mark.sampled(0.5)


def _player(session, **options):
    began = time.monotonic()

    def clock() -> float:
        return time.monotonic() - began

    speed = options.pop("speed", 40.0)
    narrator = Narrator(SilentVoice(speed), clock, speed=speed, silent=options.get("instant", False))
    return FlowPlayer(session, narrator, clock=clock, speed=speed, **options), narrator


async def test_hooks_mapping_transforms_and_transitions_are_told_in_order(session, site):
    player, narrator = _player(session, instant=True)
    told = await player.play("harbour_tour")
    assert [s.text for s in narrator.spoken] == [
        "Welcome to the harbour. I am Periplus.",
        "Come along.",
        "Let us register a boat.",
        "Her name is Seagull, and she is a good boat.",
        "Seagull is moored.",
        "This is the quay.",
    ]
    assert site.state()["boats"][0]["name"] == "Seagull"
    assert session.context.session["demo_boat"] == "Seagull"
    assert told.succeeded
    assert {s.segment_id: s.status for s in told.segments} == {
        "hello": SegmentStatus.SHOWN,
        "register": SegmentStatus.SHOWN,
        "look": SegmentStatus.SHOWN,
        "late": SegmentStatus.SKIPPED,
    }
    assert "time_constraint" in (told.segments[-1].reason or "")


async def test_a_field_is_typed_while_it_is_talked_about(session, site):
    spoken: list[tuple[str, str]] = []

    async def value() -> str:
        field = session.page.locator("#name")
        return await field.input_value() if await field.count() else ""

    player, narrator = _player(session, speed=2.0)
    narrator_say = narrator.say

    async def say(text: str, *, resumed: bool = False):
        spoken.append((text, await value()))
        return await narrator_say(text, resumed=resumed)

    narrator.say = say  # type: ignore[method-assign]  # a spy
    await player.play("harbour_tour")
    during = next(u for u in narrator.spoken if u.text.startswith("Her name"))
    record = next(s for s in player.presentation.segments if s.segment_id == "register")
    fill = next(step for step in record.run.steps if step.step_id == "fill_name")
    assert dict(spoken)[during.text] == ""  # the words began before the first key
    assert fill.duration_ms / 1000 >= during.duration_s * 0.5  # and the typing took about as long
    after = next(u for u in narrator.spoken if u.text == "Seagull is moored.")
    assert after.start_s >= during.start_s + during.duration_s  # nobody talks over oneself


@pytest.mark.usefixtures("impatient")
async def test_a_segment_that_fails_is_passed_over_with_grace_and_told(session):
    await session.page.route("**/boats/new", lambda route: route.abort())
    said: list[str] = []
    session.bus.listen(lambda e: said.append(e.text) if isinstance(e, Narrated) else None)
    player, _ = _player(session, instant=True)
    told = await player.play("harbour_tour")
    assert not told.succeeded
    assert [s.status for s in told.segments] == ["shown", "failed", "shown", "skipped"]
    assert any("did not go as planned" in text for text in said)


def _conversation(*names, required=(), **more):
    return [
        {"segment_id": name, "type": "conversational", "narration_template": name, "required": name in required,
         **more} for name in names
    ]  # fmt: skip


def _narration(session, monkeypatch, **flow):
    """The harbour's knowledge has this flow."""
    made = PresentationFlow.model_validate({"flow_id": "told", "name": "Told", **flow})

    async def answer(_flow_id: str) -> PresentationFlow:
        return made

    monkeypatch.setattr(session.knowledge, "flow", answer)


async def test_a_required_segment_that_a_transition_jumps_over_is_missed(session, monkeypatch):
    _narration(
        session, monkeypatch, segments=_conversation("a", "b", "c", "d", required=("c",)),
        transitions=[{"from_segment": "a", "to_segment": "d"}],
    )  # fmt: skip
    ended: list[tuple[str, str]] = []
    session.bus.listen(
        lambda e: ended.append((e.segment_id, e.status)) if isinstance(e, SegmentEnded) else None
    )
    player, narrator = _player(session, instant=True)
    told = await player.play("told")
    assert [s.text for s in narrator.spoken] == ["a", "d"]
    assert [(s.segment_id, s.status) for s in told.segments] == [
        ("a", "shown"), ("b", "skipped"), ("c", "skipped"), ("d", "shown"),
    ]  # fmt: skip
    assert "transition from a" in (told.segments[2].reason or "")
    assert not told.succeeded
    assert (told.shown_count, told.total) == (2, 4)
    assert ("c", "skipped") in ended


async def test_a_transition_that_leads_back_does_not(session, monkeypatch):
    _narration(
        session, monkeypatch, segments=_conversation("a", "b", "c"),
        transitions=[{"from_segment": "b", "to_segment": "a"}],
    )  # fmt: skip
    player, narrator = _player(session, instant=True)
    told = await player.play("told")
    assert [s.text for s in narrator.spoken] == ["a", "b", "c"]
    assert told.succeeded


@pytest.mark.parametrize(
    ("condition", "spoken"),
    [
        ({"type": "time_constraint", "remaining_time": 1000}, ["a", "c"]),
        ({"type": "time_constraint", "remaining_time": 1}, ["a", "b", "c"]),
        ({"type": "context_equals", "name": "berth", "value": "{wanted}"}, ["a", "c"]),
        ({"type": "user_interest", "topic": "boats", "fallback": "skip_to_b"}, ["a", "c"]),
        ({"type": "network_idle"}, ["a", "b", "c"]),
    ],
    ids=["time is known", "time enough", "filled", "nobody said", "cannot be told"],
)
async def test_a_transition_is_judged_on_the_clock_and_on_filled_conditions(
    session, monkeypatch, condition, spoken
):
    session.context.session |= {"berth": "north", "wanted": "north"}
    transition = {"from_segment": "a", "to_segment": "c", "type": "conditional", "condition": condition}
    _narration(
        session, monkeypatch, duration={"max": 100}, segments=_conversation("a", "b", "c"),
        transitions=[transition],
    )  # fmt: skip
    player, narrator = _player(session, instant=True)
    await player.play("told")
    assert [s.text for s in narrator.spoken] == spoken


async def test_every_hook_of_a_task_is_spoken_around_its_step(session, monkeypatch):
    hooks = [
        {"hook_type": "before", "narration": "Before all."},
        {"hook_type": "during", "narration": "While it begins."},
        {"hook_type": "before", "step_id": "fill_name", "narration": "Before the name."},
        {"hook_type": "after", "step_id": "fill_name", "narration": "After the name."},
        {"hook_type": "during", "step_id": "moor", "narration": "While mooring."},
        {"hook_type": "after", "narration": "After all."},
    ]
    segment = {"segment_id": "register", "type": "task_execution", "task_id": "register_boat",
               "narrative_hooks": hooks, "input_mapping": {"boat_name": {"source": "hardcoded", "value": "Skua"}}}  # fmt: skip
    _narration(session, monkeypatch, segments=[segment])
    happened: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, Narrated):
            happened.append(event.text)
        elif isinstance(event, ActionDone):
            happened.append(event.action_type)

    session.bus.listen(note)
    player, _ = _player(session, instant=True)
    assert (await player.play("told")).succeeded
    assert happened == [
        "Before all.", "While it begins.", "click", "Before the name.", "She is called Skua.", "fill",
        "After the name.", "select_option", "While mooring.", "click", "After all.",
    ]  # fmt: skip


async def test_what_ends_in_the_middle_was_not_shown(session):
    player, _ = _player(session, speed=0.5)
    show = asyncio.create_task(player.play("harbour_tour"))
    begun = asyncio.Event()
    session.bus.listen(lambda e: begun.set() if isinstance(e, Narrated) else None)
    await begun.wait()
    show.cancel()
    with pytest.raises(asyncio.CancelledError):
        await show
    player.presentation.end(1.0)
    (segment,) = player.presentation.segments
    assert (segment.status, segment.end_s) == (SegmentStatus.INTERRUPTED, 1.0)
    assert (player.presentation.shown_count, player.presentation.total) == (0, 4)


def test_only_steps_that_were_done_are_counted():
    run = RunResult.model_validate({
        "run_id": "r", "website_id": "w", "task_id": "t", "status": "failure", "evidence": "contradicted",
        "started_at": "2026-01-01T00:00:00Z", "duration_ms": 1, "steps": [
            {"task_id": "t", "step_id": status, "action_type": "click", "status": status, "duration_ms": 1}
            for status in ("done", "skipped", "failed")
        ]})  # fmt: skip
    record = SegmentRecord("s", "S", "task_execution", required=False, start_s=0.0, run=run)
    assert Presentation("f", "F", 1, [record]).step_count == 1


async def test_pictures_and_reasons_are_without_secrets(session, monkeypatch):
    session.context.keep_secret("hunter2")
    session.context.session["berth"] = "hunter2"
    skip = {"type": "dom_contains", "value": "{berth}"}
    _narration(session, monkeypatch, segments=_conversation("a", skip_conditions=[skip]))
    player, _ = _player(session, instant=True)
    await player.engine.guide.arrive()
    await session.page.evaluate(
        "() => { document.body.innerHTML = '<p>hunter2</p><input id=pin value=hunter2>'; }"
    )
    told = await player.play("told")
    assert told.segments[0].status is SegmentStatus.SKIPPED
    assert "hunter2" not in (told.segments[0].reason or "")

    async def picture() -> bytes | None:
        return await player._take_screenshot()

    session.secret_fields.append(css("#pin"))
    masked = await picture()
    await session.page.evaluate("() => { document.querySelector('#pin').value = 'something else'; }")
    assert await picture() == masked
    session.secret_fields.clear()
    assert await picture() != masked


def test_marks_are_not_spoken():
    assert without_marks("Press [[at:save]] save  now [[at:end]]") == "Press save now"


async def test_a_published_workflow_is_shown_as_a_task_is(session, site, monkeypatch):
    node = {"type": "task", "node_id": "n", "task_id": "register_boat",
            "inputs": {"boat_name": {"source": "task_context", "key": "boat"}}}  # fmt: skip
    asks = {"inputs": [{"name": "boat", "source": "user_input"}]}
    told = {
        "workflow_id": "moor_one",
        "name": "Moor one",
        "unverified": True,
        "nodes": [node],
        "io_spec": asks,
    }
    await session.knowledge.publish(Workflow.model_validate(told))
    _narration(session, monkeypatch, segments=[{
        "segment_id": "a", "type": "task_execution", "order": 1, "title": "Moor", "task_id": "moor_one",
        "narration_template": "Watch.", "input_mapping": {"boat": {"source": "hardcoded", "value": "Tern"}},
    }])  # fmt: skip
    player, narrator = _player(session, instant=True)
    shown = await player.play("told")
    assert shown.segments[0].status is SegmentStatus.SHOWN, shown.segments[0].reason
    assert [s.text for s in narrator.spoken] == ["Watch."]
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


async def test_a_value_of_the_session_is_not_mapped_to_an_input_that_is_read_anew_at_each_use(
    session, site, monkeypatch
):
    """KS 9.12: volatility and `refresh_on_use` hold for what a segment maps from the session, too."""
    task = (await session.knowledge.task("register_boat")).to_json() | {"type": "task"}
    task["io_spec"]["inputs"][0] |= {"source": "hardcoded", "value": "Fresh", "refresh_on_use": True}
    session.knowledge.know(parse_document(task))
    session.context.session["kept"] = "Stale"
    mapping = {"boat_name": {"source": "session_context", "key": "kept"}}
    segment = {
        "segment_id": "register", "type": "task_execution", "task_id": "register_boat", "input_mapping": mapping,
    }  # fmt: skip
    _narration(session, monkeypatch, segments=[segment])
    player, _ = _player(session, instant=True)
    assert (await player.play("told")).succeeded
    assert [boat["name"] for boat in site.state()["boats"]] == ["Fresh"]
