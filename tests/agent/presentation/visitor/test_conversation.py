"""A host and its visitor, without a page: what is said, what is told, where the story goes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from agent.errors import KnowledgeUnavailable
from agent.presentation.presentation_records import (
    Answered,
    Declined,
    Interested,
    Narrated,
    SegmentStarted,
    Understood,
    VisitorIntroduced,
)
from agent.presentation.turn_manager import FASTEST, SLOWEST, Detour, DetourRequested, PaceChanged
from agent.presentation.visitor.conversation import VISITOR_NAME, HostPolicy
from tests.support.visitors import Talk, spadeworks, talk

PATIENT = HostPolicy(follow_up_s=0.05, question_s=0.05, choice_s=0.05, pause_s=0.05)


@asynccontextmanager
async def _talk(shelf, *, at="dashboard_overview", before=("introduction", "authentication"), **options):
    """A talk in the middle of the demo; `flow` changes the flow."""
    change = options.pop("flow", {})
    async with spadeworks(shelf) as session:
        flow = (await session.knowledge.flow("spadeworks_demo")).model_copy(update=change)
        talking = talk(session, flow, **options)
        for segment in (*before, at):
            session.bus.tell(SegmentStarted(segment, segment, 1, 13, None))
        session.bus.tell(Narrated("The dashboard answers the questions of every morning.", 1.0))
        yield talking


async def _says(talking: Talk, *texts: str) -> Detour | None:
    for text in texts:
        talking.turns.hear(text)
    try:
        await talking.turns.safe_point()
    except DetourRequested as detoured:
        return detoured.detour
    return None


@pytest.mark.parametrize(
    ("text", "detour"),
    [
        ("go back", Detour("back")),
        ("skip this part", Detour("skip")),
        ("show me the contacts", Detour("aside", segment_id="contacts_overview")),
        ("show me the inbox", Detour("aside", screen_id="email_inbox")),
        ("skip to the campaigns", Detour("segment", segment_id="campaigns_overview")),
        ("show me the dashboard", Detour("segment", segment_id="dashboard_overview")),
        ("show me that again", Detour("segment", segment_id="dashboard_overview")),
        ("start over", Detour("segment", segment_id="introduction")),
        ("delete all agents please, show me how to delete an agent", Detour("aside", screen_id="agent_list")),
        ("goodbye", Detour("stop")),
        ("slower", None),
        ("thanks", None),
        ("my name is Ada", None),
        ("what is a campaign?", None),
        ("asdf qwer", None),
    ],
)
async def test_where_the_story_goes(shelf, text, detour):
    async with _talk(shelf) as talking:
        assert await _says(talking, text) == detour
        assert talking.narrator.said  # whatever it was, something was said to it
        assert talking.of(Understood)[0].text == text


async def test_what_was_understood_is_shown_and_told(shelf):
    shown: list[str] = []

    async def caption(text: str) -> None:
        shown.append(text)

    async with _talk(shelf, caption=caption) as talking:
        talking.session.context.keep_secret("hunter2")
        await _says(talking, "shwo me the contcats pls")
        await _says(talking, "my name is hunter2")
        assert shown[0] == "Show: contcats"
        assert "hunter2" not in shown[1]
        assert next(event.told for event in talking.of(Understood)) == "Show: contcats"


async def test_nothing_comes_before_the_beginning(shelf):
    async with _talk(shelf, at="introduction", before=()) as talking:
        assert await _says(talking, "go back") is None
        assert talking.narrator.said == ["There is nothing before this."]


async def test_the_pace_has_its_bounds_and_goes_back_to_usual(shelf):
    async with _talk(shelf) as talking:
        for _ in range(6):
            await _says(talking, "slower")
        assert talking.narrator.pace == talking.turns.pace == SLOWEST
        assert "slow" in talking.narrator.said[-1]
        for _ in range(9):
            await _says(talking, "faster")
        assert talking.narrator.pace == FASTEST
        await _says(talking, "normal speed please")
        assert talking.narrator.pace == 1.0
        assert talking.of(PaceChanged)[-1].pace == 1.0


async def test_a_name_is_remembered_and_used(shelf):
    async with _talk(shelf) as talking:
        await _says(talking, "my name is ada lovelace")
        assert talking.of(VisitorIntroduced)[0].name == "Ada Lovelace"
        assert talking.session.context.session[VISITOR_NAME] == "Ada Lovelace"
        assert "Ada Lovelace" in talking.narrator.said[0]
        assert await _says(talking, "bye") == Detour("stop")
        assert "Ada Lovelace" in talking.narrator.said[-1]


async def test_a_name_may_be_all_that_is_said_where_it_was_asked_for(shelf):
    async with _talk(shelf) as talking:
        await _says(talking, "Grace")
        assert talking.of(VisitorIntroduced) == []
        talking.session.bus.tell(Narrated("Hi! I'm Robin. What's your name?", 1.0))
        await _says(talking, "Grace")
        assert [event.name for event in talking.of(VisitorIntroduced)] == ["Grace"]


async def test_a_question_is_answered_with_its_place_and_the_visitor_is_asked_before_going_on(shelf):
    async with _talk(shelf) as talking:
        assert await _says(talking, "which languages does it speak?") is None
        (answered,) = talking.of(Answered)
        assert "Hindi" in answered.answer
        assert list(answered.sources) == ["Agent Creation Form"]
        said = talking.narrator.said
        assert said[0] == answered.answer
        assert "Agent Creation Form" in said[1]
        assert "go on" in said[2]


async def test_whoever_asks_again_is_answered_again_before_the_story_goes_on(shelf):
    async with _talk(shelf, manners=PATIENT) as talking:
        detour = await _says(
            talking, "what is a campaign?", "which languages does it speak?", "show me the contacts"
        )
        assert [event.question for event in talking.of(Answered)] == [
            "what is a campaign?", "which languages does it speak?",
        ]  # fmt: skip
        assert detour == Detour("aside", segment_id="contacts_overview")


@pytest.mark.parametrize(("action", "detour"), [("skip", "skip"), ("stop", "stop"), (None, None)])
async def test_the_flow_says_what_an_interruption_does(shelf, action, detour):
    paths = [{"condition": "user_interrupts", "action": action}]
    async with spadeworks(shelf) as session:
        flow = await session.knowledge.flow("spadeworks_demo")
        changed = type(flow).model_validate(flow.to_json() | {"fallback_paths": paths})
        talking = talk(session, changed)
        went = await _says(talking, "what is a campaign?")
        assert (went and went.kind) == detour
        assert talking.of(Answered)
        assert await _says(talking, "slower") is None


async def test_the_flows_own_words_ask_whether_to_go_on(shelf):
    paths = [
        {
            "condition": "user_interrupts",
            "action": "pause_and_ask",
            "narration_template": "Anything more about it?",
        }
    ]
    async with spadeworks(shelf) as session:
        flow = await session.knowledge.flow("spadeworks_demo")
        talking = talk(session, type(flow).model_validate(flow.to_json() | {"fallback_paths": paths}))
        await _says(talking, "what is a campaign?")
        assert talking.narrator.said[-1] == "Anything more about it?"


async def test_what_cannot_be_answered_is_declined_and_noted(shelf):
    async with _talk(shelf) as talking:
        await _says(talking, "does it integrate with Salesforce?")
        assert [(event.text, event.reason) for event in talking.of(Declined)] == [
            ("does it integrate with Salesforce?", "no_answer")
        ]
        await _says(talking, "banana")
        await _says(talking, "show me the unicorns")
        assert [event.reason for event in talking.of(Declined)[1:]] == ["not_understood", "nothing_to_show"]
        assert talking.of(Answered) == []


@pytest.mark.parametrize(("reply", "shown"), [("yes please", True), ("no thanks", False), (None, False)])
async def test_what_cannot_be_told_is_offered_to_be_seen(shelf, reply, shown):
    async with _talk(shelf, manners=PATIENT) as talking:
        texts = ["how reliable is the inbox?", *([reply] if reply else [])]
        detour = await _says(talking, *texts)
        assert "Inbox" in talking.narrator.said[0]
        assert (detour == Detour("aside", screen_id="email_inbox")) is shown
        assert talking.of(Declined)[0].reason == "no_answer"


async def test_interest_is_noted_by_the_names_the_flow_has_for_it(shelf):
    async with _talk(shelf) as talking:
        await _says(talking, "I'm interested in the settings page")
        assert "settings" in talking.session.context.session["user_interest"]
        await _says(talking, "I'm not interested in the settings")
        assert "settings" not in talking.session.context.session["user_interest"]
        assert [event.wanted for event in talking.of(Interested)] == [True, False]
        await _says(talking, "show me the campaigns")
        assert talking.session.context.session["user_interest"] == ["Campaigns"]


async def test_a_pause_lasts_until_somebody_says_so(shelf):
    async with _talk(shelf, manners=HostPolicy(pause_s=60.0)) as talking:
        talking.turns.hear("wait a moment")
        waiting = asyncio.create_task(talking.turns.safe_point())
        done, _ = await asyncio.wait({waiting}, timeout=0.2)
        assert not done
        talking.turns.hear("one second")
        talking.turns.hear("continue")
        await asyncio.wait_for(waiting, 10.0)
        assert [event.request for event in talking.of(Understood)] == ["pause", "pause", "go_on"]


async def test_a_pause_that_nobody_ends_is_ended_by_the_presenter(shelf):
    async with _talk(shelf, manners=PATIENT) as talking:
        assert await _says(talking, "pause") is None
        assert any("Shall we go on" in text for text in talking.narrator.said)


async def test_a_wish_ends_a_pause(shelf):
    async with _talk(shelf, manners=HostPolicy(pause_s=60.0)) as talking:
        assert await _says(talking, "pause", "show me the contacts") == Detour(
            "aside", segment_id="contacts_overview"
        )


async def test_a_question_that_was_announced_is_waited_for(shelf):
    async with _talk(shelf, manners=PATIENT) as talking:
        await _says(talking, "I have a question", "what is a campaign?")
        assert talking.of(Answered)[0].question == "what is a campaign?"


async def test_what_was_said_is_said_again(shelf):
    async with _talk(shelf) as talking:
        await _says(talking, "thanks")
        await _says(talking, "what did you say?")
        assert talking.narrator.said[-1] == "I said: The dashboard answers the questions of every morning."


async def test_two_wishes_are_both_done(shelf):
    async with _talk(shelf) as talking:
        assert await _says(talking, "I'm Ada and I'd like to see the contacts") == Detour(
            "aside", segment_id="contacts_overview"
        )
        assert talking.of(VisitorIntroduced)[0].name == "Ada"
        assert [event.request for event in talking.of(Understood)] == ["introduce", "show"]


async def test_where_two_things_may_be_meant_the_visitor_says_which(shelf):
    async with _talk(shelf, manners=PATIENT) as talking:
        first = await _says(talking, "show me the dark theme")
        assert "Do you mean" in talking.narrator.said[0]
        assert first is not None
        second = await _says(talking, "show me the dark theme", "the settings")
        assert second is not None
        assert (first.segment_id, second.screen_id) == ("settings_theme", "settings")


async def test_words_of_two_labels_that_say_something_else_are_no_place(shelf):
    """`Missed calls` and `Product news` stand on the settings; neither is about missed products."""
    async with _talk(shelf, manners=PATIENT) as talking:
        assert await _says(talking, "show me the missed products") is None
        assert talking.of(Declined)


async def test_a_desk_that_is_away_ends_no_demo(shelf, monkeypatch):
    async with _talk(shelf) as talking:

        async def away(*_: object) -> None:
            raise KnowledgeUnavailable("the knowledge server did not answer")

        monkeypatch.setattr(talking.session.knowledge, "search", away)
        assert await _says(talking, "what is a campaign?") is None
        assert talking.of(Declined)
        assert talking.narrator.said


async def test_secrets_are_not_said(shelf):
    async with _talk(shelf) as talking:
        talking.session.context.keep_secret("hunter2")
        await _says(talking, "my name is hunter2")
        assert all("hunter2" not in text for text in talking.narrator.said)
        assert all("hunter2" not in str(event) for event in talking.told)


async def test_a_german_show_is_hosted_in_german(shelf):
    async with _talk(shelf, language="de") as talking:
        assert await _says(talking, "zeig mir die Kontakte") == Detour(
            "aside", segment_id="contacts_overview"
        )
        await _says(talking, "mein Name ist Jürgen")
        assert talking.narrator.said[-1] in ("Freut mich, Jürgen.", "Willkommen, Jürgen.")
        assert talking.of(Understood)[-1].told == "Name: Jürgen"


@pytest.mark.parametrize("days", [0, 30])
async def test_a_question_is_said_to_be_noted_only_where_it_is_kept(shelf, days):
    async with _talk(shelf) as talking:
        talking.session.context.personal.retention_days = days
        await _says(talking, "does it integrate with Salesforce?")
        await _says(talking, "show me the unicorns")
        assert sum("noted" in said for said in talking.narrator.said) == (2 if days else 0)


async def test_all_questions_of_a_message_are_answered_and_the_visitor_is_asked_once(shelf):
    async with _talk(shelf) as talking:
        await _says(talking, "Which languages does it speak, and what does it cost? And who are you?")
        said = " ".join(talking.narrator.said)
        assert "Hindi" in said
        assert "depends" in said
        assert "not a person" in said
        assert sum("go on" in each for each in talking.narrator.said) == 1


async def test_a_question_is_answered_before_the_flow_goes_on_elsewhere(shelf):
    async with _talk(shelf) as talking:
        assert await _says(talking, "this is boring, what does it cost?") == Detour("skip")
        assert "depends" in " ".join(talking.narrator.said)


async def test_a_follow_up_is_about_what_was_asked_before(shelf):
    async with _talk(shelf) as talking:
        await _says(talking, "How do I delete an agent?")
        await _says(talking, "And a campaign?")
        assert [answer.sources for answer in talking.of(Answered)] == [("Delete an Agent",)]
        await _says(talking, "How do I create an agent?")
        await _says(talking, "How do I delete it?")
        assert [answer.sources[0] for answer in talking.of(Answered)][-1] == "Delete an Agent"
