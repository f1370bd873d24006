"""A visitor who talks to a demo of Spadeworks: asked, shown, slowed down, introduced, and back in the story."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agent.events import Event, ScreenSeen
from agent.media.voice import SilentVoice
from agent.presentation.flow_player import FlowPlayer
from agent.presentation.narration.narrator import Narrator
from agent.presentation.presentation_records import (
    Answered,
    Declined,
    Narrated,
    Presentation,
    SegmentStarted,
    Understood,
)
from agent.presentation.turn_manager import PaceChanged, SpeechStopped, TurnManager, TurnTimeouts
from agent.presentation.visitor.conversation import Conversation, HostPolicy
from kb_schema.presentation_flows import PresentationFlow
from tests.support.live_spadeworks import visiting

pytestmark = pytest.mark.sampled(0.5)

SPEED = 12.0
FLOW = {
    "flow_id": "told",
    "name": "Told",
    "presenter": "Robin",
    "segments": [
        {"segment_id": "hello", "type": "conversational", "title": "Hello", "required": True,
         "narration_template": "Hi, I am {agent_name}. What's your name? Ask me whatever you like."},
        {"segment_id": "sign_in", "type": "task_execution", "task_id": "login", "title": "Sign in", "required": True},
        {"segment_id": "dashboard", "type": "explanation", "screen_id": "dashboard", "title": "The dashboard",
         "required": True, "narration_template": "Here is the month so far. Nearly thirteen thousand calls. "
         "Ninety-four in a hundred were solved without a person stepping in."},
        {"segment_id": "agent", "type": "task_execution", "task_id": "create_agent", "title": "A new agent",
         "required": True, "input_mapping": {"agent_name": {"source": "hardcoded", "value": "Agent Skua"}},
         "narrative_hooks": [
             {"hook_type": "during", "step_id": "fill_agent_name", "narration": "I call the new agent Skua, as the bird."},
             {"hook_type": "during", "step_id": "submit_form", "narration": "And now I save it."}]},
        {"segment_id": "contacts", "type": "explanation", "screen_id": "contacts_list", "title": "Contacts",
         "narration_template": "Contacts belong to lists, such as the leads of a webinar."},
        {"segment_id": "closing", "type": "conversational", "title": "Thank you", "required": True,
         "narration_template": "That was it. Thank you, {visitor_name}."},
    ],
    "fallback_paths": [
        {"condition": "user_interrupts", "action": "pause_and_ask", "resume_point": "current_segment"}
    ],
}  # fmt: skip


class Show:
    """A show, and a visitor who says things when things happen."""

    def __init__(self, session: Any, flow: dict[str, Any]) -> None:
        self.flow = PresentationFlow.model_validate(flow)
        session.knowledge.know(self.flow)
        began = time.monotonic()

        def clock() -> float:
            return time.monotonic() - began

        self.session, self.happened = session, list[Event]()
        session.bus.listen(self.happened.append)
        narrator = Narrator(SilentVoice(SPEED), clock, speed=SPEED)
        self.turns = TurnManager(
            narrator, clock, session.bus, patience=TurnTimeouts(words_s=0.2, utterance_s=5.0)
        )
        manners = HostPolicy(follow_up_s=0.2, question_s=1.0, choice_s=1.0, pause_s=5.0)
        self.turns.host = Conversation(session, narrator, self.turns, self.flow, manners=manners)
        self.player = FlowPlayer(session, narrator, clock=clock, speed=SPEED, turns=self.turns)

    def when(self, moment: Callable[[Event], bool], *texts: str) -> None:
        """The first time that `moment` holds, the visitor says all of these."""
        left = [texts]

        def listen(event: Event) -> None:
            if left and moment(event):
                for text in left.pop():
                    self.turns.hear(text)

        self.session.bus.listen(listen)

    async def play(self) -> Presentation:
        async with asyncio.timeout(90):
            return await self.player.play("told")

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.happened if isinstance(event, kind)]

    @property
    def said(self) -> list[str]:
        return [event.text for event in self.of(Narrated)]

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(s.segment_id, str(s.status)) for s in self.player.presentation.segments]


@pytest.fixture
async def show(live: Any, stores: Any, browser: Any) -> AsyncIterator[Callable[..., Show]]:
    """Opens the show; only one a test."""
    made: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with visiting(live, stores, browser) as session:
            made.set_result(session)
            await over.wait()

    holder = asyncio.create_task(hold())
    done, _ = await asyncio.wait({made, holder}, return_when=asyncio.FIRST_COMPLETED)
    if holder in done:
        holder.result()
    session = made.result()
    yield lambda **changes: Show(session, {**FLOW, **changes})
    over.set()
    await holder


def _said(text: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Narrated) and event.text.startswith(text)


def _begun(segment_id: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, SegmentStarted) and event.segment_id == segment_id


async def test_a_visitor_is_greeted_answered_and_shown_something_and_the_demo_ends_as_it_should(show):
    visit = show()
    visit.when(_said("Hi, I am Robin"), "my name is Ada")
    visit.when(_said("Here is the month"), "which languages does it speak?", "show me the inbox")
    visit.when(_said("I call the new agent"), "slower", "does it integrate with Salesforce?")
    presentation = await visit.play()
    assert presentation.succeeded, visit.told
    assert visit.said[-1] == "That was it. Thank you, Ada."
    (answered,) = visit.of(Answered)
    assert "Hindi" in answered.answer
    assert answered.answer in visit.said
    screens = [event.screen_id for event in visit.of(ScreenSeen)]
    inbox = screens.index("email_inbox")
    assert "dashboard" in screens[inbox:]  # and back again
    assert [event.text for event in visit.of(Declined)] == ["does it integrate with Salesforce?"]
    assert [event.pace for event in visit.of(PaceChanged)] == [0.8]
    assert [event.request for event in visit.of(Understood)] == [
        "introduce", "question", "show", "slower", "question",
    ]  # fmt: skip
    assert len(visit.of(SpeechStopped)) >= 3


async def test_what_a_visitor_asks_to_see_is_found_on_the_page_and_left_again(show):
    """A task that only looks, a screen that no segment is about, and a segment that comes later."""
    visit = show()
    visit.when(_said("Here is the month"), "can I see the settings please?")
    visit.when(_said("I call the new agent"), "show me the contacts")
    presentation = await visit.play()
    assert presentation.succeeded, visit.told
    screens = [event.screen_id for event in visit.of(ScreenSeen)]
    assert "settings" in screens
    told = [segment_id for segment_id, status in visit.told if status == "shown"]
    assert told.count("contacts") == 1  # it was shown when it was asked for, and not once more
    assert told[-1] == "closing"


async def test_what_is_asked_for_before_the_sign_in_is_shown_after_it_and_nobody_signs_in_twice(show):
    visit = show()
    visit.when(_said("Hi, I am Robin"), "show me the contacts")
    presentation = await visit.play()
    assert presentation.succeeded, visit.told
    assert [each for each in visit.told if each[0] in ("sign_in", "contacts")][:2] == [
        ("sign_in", "shown"), ("contacts", "shown"),
    ]  # fmt: skip
    assert [status for segment_id, status in visit.told if segment_id == "sign_in"].count("shown") == 1
    screens = [event.screen_id for event in visit.of(ScreenSeen)]
    assert screens.index("contacts_list") > screens.index("login")


async def test_after_an_aside_the_story_goes_on_after_the_sentence_that_was_heard(show):
    segments = [dict(each) for each in FLOW["segments"]]
    dashboard = next(each for each in segments if each["segment_id"] == "dashboard")
    dashboard["narrative_hooks"] = [{"hook_type": "before", "narration": "Look at this. It is the month."}]
    visit = show(segments=segments)
    visit.when(_said("Here is the month"), "show me the inbox")
    presentation = await visit.play()
    assert presentation.succeeded, visit.told
    assert visit.said.count("Look at this. It is the month.") == 1
    assert sum("solved without a person" in text for text in visit.said) >= 1


async def test_nothing_is_done_twice_and_nothing_is_deleted_because_a_visitor_says_so(show, live):
    before = live.state()
    visit = show()
    visit.when(_said("And now I save it"), "go back")
    visit.when(_begun("contacts"), "show me how to delete an agent")
    presentation = await visit.play()
    assert presentation.succeeded, visit.told
    names = _names(live.state())
    assert names.count("Agent Skua") == 1
    assert len(names) == len(_names(before)) + 1
    assert any("won't do that" in text for text in visit.said)


async def test_a_visitor_ends_the_demo(show):
    visit = show()
    visit.when(_said("Here is the month"), "goodbye")
    presentation = await visit.play()
    assert not presentation.succeeded
    assert "agent" not in [segment_id for segment_id, status in visit.told if status == "shown"]
    assert "Goodbye" in visit.said[-1]


async def test_somebody_who_clears_their_throat_is_not_waited_for(show):
    visit = show()
    visit.session.bus.listen(
        lambda event: visit.turns.barge_in() if _said("Here is the month")(event) and not cleared else None
    )
    cleared: list[bool] = []
    visit.session.bus.listen(lambda event: cleared.append(True) if isinstance(event, SpeechStopped) else None)
    presentation = await visit.play()
    assert presentation.succeeded, visit.told
    assert visit.of(Understood) == []
    assert cleared


def _names(state: dict[str, Any]) -> list[str]:
    return [agent["name"] for agent in state["agents"]]


OWN = "create an agent named Kittiwake"


async def test_a_visitor_runs_a_task_that_the_flow_allows_with_values_of_their_own_after_a_yes(show, live):
    before = _names(live.state())
    visit = show(visitor_tasks=["create_agent"])
    visit.when(_said("Here is the month"), OWN, "yes please")
    presentation = await visit.play()
    assert presentation.succeeded, visit.told
    assert any("agent name “" in text for text in visit.said), visit.said
    after = _names(live.state())
    assert sorted(set(after) - set(before)) == ["Agent Skua", "Kittiwake"]
    assert len(after) == len(before) + 2  # each once
    runs = [each.run for each in presentation.segments if each.run is not None]
    assert [each.model_use.calls for each in runs] == [0] * len(runs)


@pytest.mark.parametrize(
    ("allowed", "answer"), [(["create_agent"], "no thanks"), (["create_agent"], None), ([], "yes")]
)
async def test_without_a_yes_or_without_the_flows_leave_a_visitors_sentence_runs_nothing(
    show, live, allowed, answer
):
    visit = show(visitor_tasks=allowed)
    visit.when(_said("Here is the month"), OWN, *([answer] if answer else []))
    presentation = await visit.play()
    assert presentation.succeeded, visit.told
    assert "Kittiwake" not in _names(live.state())
