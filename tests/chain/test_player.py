"""Presentation flows on the harbour."""

from __future__ import annotations

import time

from agent.media.voice import SilentVoice
from agent.presenting.narrator import Narrator, without_marks
from agent.presenting.player import Player
from agent.presenting.records import Narrated, SegmentStatus


def _player(session, **options):
    began = time.monotonic()

    def clock() -> float:
        return time.monotonic() - began

    speed = options.pop("speed", 40.0)
    narrator = Narrator(SilentVoice(speed), clock, speed=speed, silent=options.get("instant", False))
    return Player(session, narrator, clock=clock, speed=speed, **options), narrator


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

    async def say(text: str) -> float:
        spoken.append((text, await value()))
        return await narrator_say(text)

    narrator.say = say  # type: ignore[method-assign]  # a spy
    await player.play("harbour_tour")
    during = next(u for u in narrator.spoken if u.text.startswith("Her name"))
    record = next(s for s in player.presentation.segments if s.segment_id == "register")
    fill = next(step for step in record.run.steps if step.step_id == "fill_name")
    assert dict(spoken)[during.text] == ""  # the words began before the first key
    assert fill.duration_ms / 1000 >= during.duration_s * 0.5  # and the typing took about as long
    after = next(u for u in narrator.spoken if u.text == "Seagull is moored.")
    assert after.start_s >= during.start_s + during.duration_s  # nobody talks over oneself


async def test_a_segment_that_fails_is_passed_over_with_grace_and_told(session):
    await session.page.route("**/boats/new", lambda route: route.abort())
    said: list[str] = []
    session.bus.listen(lambda e: said.append(e.text) if isinstance(e, Narrated) else None)
    player, _ = _player(session, instant=True)
    told = await player.play("harbour_tour")
    assert not told.succeeded
    assert [s.status for s in told.segments] == ["shown", "failed", "shown", "skipped"]
    assert any("did not go as planned" in text for text in said)


def test_marks_are_not_spoken():
    assert without_marks("Press [[at:save]] save  now [[at:end]]") == "Press save now"
