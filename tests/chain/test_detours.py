"""A visitor leads the story elsewhere, on the harbour: back, past a segment, aside and back again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

import pytest

from agent.events import ActionDone, Event
from agent.media.voice import SilentVoice
from agent.presentation.flow_player import FlowPlayer
from agent.presentation.narration.narrator import Narrator
from agent.presentation.presentation_records import Narrated, Presentation, TookDetour
from agent.presentation.turn_manager import Detour, Heard, TurnManager
from kb_schema.presentation_flows import PresentationFlow

pytestmark = pytest.mark.sampled(0.5)


class Scripted:
    """A host for whom each utterance is one detour, or none."""

    def __init__(self, meanings: Mapping[str, Detour | None]) -> None:
        self._meanings = meanings
        self.attended: list[str] = []

    async def attend(self, heard: Heard) -> Detour | None:
        self.attended.append(heard.text)
        return self._meanings[heard.text]


class Show:
    """A flow played at high speed, with a visitor who speaks when something is told."""

    def __init__(self, session, monkeypatch, flow, meanings, *, speed=20.0):
        made = PresentationFlow.model_validate({"flow_id": "told", "name": "Told", **flow})

        async def answer(_flow_id: str) -> PresentationFlow:
            return made

        monkeypatch.setattr(session.knowledge, "flow", answer)
        began = time.monotonic()

        def clock() -> float:
            return time.monotonic() - began

        self.session = session
        self.narrator = Narrator(SilentVoice(speed), clock, speed=speed)
        self.host = Scripted(meanings)
        self.turns = TurnManager(self.narrator, clock, session.bus, self.host)
        self.player = FlowPlayer(session, self.narrator, clock=clock, speed=speed, turns=self.turns)
        self.took: list[str] = []
        session.bus.listen(lambda e: self.took.append(e.kind) if isinstance(e, TookDetour) else None)

    def when(self, moment: Callable[[Event], bool], *texts: str) -> None:
        """The first time that `moment` holds, the visitor says the next of these."""
        left = list(texts)

        def listen(event: Event) -> None:
            if left and moment(event):
                self.turns.hear(left.pop(0))

        self.session.bus.listen(listen)

    async def play(self) -> Presentation:
        async with asyncio.timeout(60):
            return await self.player.play("told")

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(s.segment_id, str(s.status)) for s in self.player.presentation.segments]


def _words(*names, **more):
    return [
        {"segment_id": name, "type": "conversational", "narration_template": f"This is {name}.", **more}
        for name in names
    ]


def _said(text: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Narrated) and event.text.startswith(text)


REGISTER = {
    "segment_id": "register", "type": "task_execution", "task_id": "register_boat", "required": True,
    "input_mapping": {"boat_name": {"source": "hardcoded", "value": "Skua"}},
}  # fmt: skip
LOOK = {"segment_id": "look", "type": "explanation", "screen_id": "quay", "narration_template": "The quay."}


async def test_back_tells_the_one_before_again_and_then_goes_on_where_it_was(session, monkeypatch):
    show = Show(session, monkeypatch, {"segments": _words("a", "b", "c")}, {"back": Detour("back")})
    show.when(_said("This is c"), "back")
    told = await show.play()
    assert show.told == [
        ("a", "shown"), ("b", "shown"), ("c", "interrupted"), ("b", "shown"), ("c", "shown"),
    ]  # fmt: skip
    assert show.took == ["back"]
    assert told.succeeded
    assert told.shown_count == 3


async def test_skip_leaves_the_segment_and_goes_on_with_the_next(session, monkeypatch):
    segments = [*_words("a"), *_words("b", required=True), *_words("c")]
    show = Show(session, monkeypatch, {"segments": segments}, {"skip": Detour("skip")})
    show.when(_said("This is b"), "skip")
    told = await show.play()
    assert show.told == [("a", "shown"), ("b", "skipped"), ("c", "shown")]
    assert told.segments[1].reason == "the visitor skipped it"
    assert not told.succeeded  # a required one was not shown, whoever wanted that


async def test_a_segment_that_is_named_is_gone_to_and_gone_on_from(session, monkeypatch):
    meanings = {"go": Detour("segment", segment_id="c")}
    show = Show(session, monkeypatch, {"segments": _words("a", "b", "c", "d")}, meanings)
    show.when(_said("This is a"), "go")
    await show.play()
    assert show.told[0] == ("a", "interrupted")
    assert [told for told in show.told if told[1] == "shown"] == [("c", "shown"), ("d", "shown")]
    assert ("b", "skipped") in show.told


async def test_stop_ends_the_show_in_good_order(session, monkeypatch):
    show = Show(session, monkeypatch, {"segments": _words("a", "b", "c")}, {"bye": Detour("stop")})
    show.when(_said("This is b"), "bye")
    told = await show.play()
    assert told.ended_by_visitor
    assert not told.interrupted
    assert [s for s in show.told if s[0] == "c"] == [("c", "skipped")]


@pytest.mark.parametrize(
    ("resume_point", "after"),
    [
        ("current_segment", [("a", "shown"), ("b", "shown"), ("c", "shown")]),
        ("next_segment", [("b", "shown"), ("c", "shown")]),
        ("c", [("b", "skipped"), ("c", "shown")]),
    ],
)
async def test_an_aside_comes_back_to_the_resume_point(session, monkeypatch, resume_point, after):
    flow = {
        "segments": _words("a", "b", "c"),
        "fallback_paths": [
            {"condition": "user_interrupts", "action": "pause_and_ask", "resume_point": resume_point}
        ],
    }
    show = Show(session, monkeypatch, flow, {"quay": Detour("aside", screen_id="quay")})
    show.when(_said("This is a"), "quay")
    told = await show.play()
    left, aside, *rest = show.told
    assert left == ("a", "interrupted")
    assert aside == ("aside_quay", "shown")
    assert told.segments[1].aside
    assert told.segments[1].screens
    assert [each for each in rest if each != ("a", "skipped")] == after
    assert told.shown_count == len({name for name, status in rest if status == "shown"})


async def test_an_aside_to_a_later_segment_counts_as_its_being_shown(session, site, monkeypatch):
    flow = {"segments": [*_words("a"), REGISTER, *_words("c")]}
    show = Show(session, monkeypatch, flow, {"show": Detour("aside", task_id="register_boat")})
    show.when(_said("This is a"), "show")
    told = await show.play()
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]  # once, not when its turn came again
    assert told.succeeded
    assert ("register", "shown") in show.told


async def test_a_task_is_left_at_once_while_nothing_was_done_that_is_not_to_be_done_twice(
    session, site, monkeypatch
):
    flow = {"segments": [REGISTER, LOOK]}
    show = Show(session, monkeypatch, flow, {"aside": Detour("aside", screen_id="quay")})
    show.when(lambda e: isinstance(e, ActionDone) and e.action_type == "fill", "aside")
    await show.play()
    assert show.told == [
        ("register", "interrupted"), ("look", "shown"), ("register", "shown"), ("look", "skipped"),
    ]  # fmt: skip
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]
    assert "already shown" in (show.player.presentation.segments[-1].reason or "")


async def test_a_task_is_finished_first_once_it_did_something_that_is_not_to_be_done_twice(
    session, site, monkeypatch
):
    after = [{"hook_type": "after", "narration": "All of it is told at length."}]
    flow = {"segments": [{**REGISTER, "narrative_hooks": after}, *_words("c")]}
    show = Show(session, monkeypatch, flow, {"aside": Detour("aside", screen_id="quay")})

    def done(event: Event) -> bool:
        return isinstance(event, ActionDone) and (event.metadata or {}).get("element_id") == "moor"

    show.when(done, "aside")
    told = await show.play()
    assert show.told == [("register", "shown"), ("aside_quay", "shown"), ("c", "shown")]
    assert "shortened" in (told.segments[0].reason or "")
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]
    assert "All of it is told at length." not in [s.text for s in show.narrator.spoken]


async def test_what_was_done_is_told_again_and_not_done_again(session, site, monkeypatch):
    flow = {"segments": [{**REGISTER, "narration_template": "A boat."}, LOOK]}
    show = Show(session, monkeypatch, flow, {"back": Detour("back")})
    show.when(_said("The quay"), "back")
    told = await show.play()
    assert show.told == [
        ("register", "shown"), ("look", "interrupted"), ("register", "shown"), ("look", "shown"),
    ]  # fmt: skip
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]
    assert [s.text for s in show.narrator.spoken].count("A boat.") == 2
    assert "ran only once" in (told.segments[2].reason or "")


async def test_a_question_without_a_detour_lets_the_story_go_on_where_it_was_cut(session, monkeypatch):
    segments = [{"segment_id": "a", "type": "conversational",
                 "narration_template": "One sentence. Another that is much longer than that. The last."}]  # fmt: skip
    show = Show(session, monkeypatch, {"segments": segments}, {"why?": None}, speed=1.0)

    async def interrupt() -> None:
        while not show.narrator.spoken:  # noqa: ASYNC110 - the words begin within the player
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.8)
        show.turns.hear("why?")

    asking = asyncio.create_task(interrupt())
    told = await show.play()
    await asking
    assert show.host.attended == ["why?"]
    assert told.succeeded
    heard = " ".join(s.text for s in show.narrator.spoken)
    assert heard.endswith("Another that is much longer than that. The last.")
    assert show.narrator.spoken[0].stop_s is not None


async def test_a_task_that_changes_something_is_not_carried_out_because_a_visitor_names_it(
    session, site, monkeypatch
):
    site.moor("Gull")
    show = Show(
        session, monkeypatch, {"segments": _words("a", "b")}, {"do": Detour("aside", task_id="cast_off_all")}
    )
    show.when(_said("This is a"), "do")
    told = await show.play()
    assert told.succeeded
    assert [boat["name"] for boat in site.state()["boats"]] == ["Gull"]
    started: list[str] = [s.segment_id for s in told.segments]
    assert "aside_cast_off_all" not in started
    assert any(s.aside for s in told.segments)
