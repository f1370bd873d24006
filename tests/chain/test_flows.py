"""Every kind of segment, hook, transition, skip and fallback, on the harbour."""

from __future__ import annotations

import asyncio
import time

import pytest

from agent.events import Event
from agent.media.voice import SilentVoice
from agent.presentation.flow_player import FlowPlayer
from agent.presentation.narration.narrator import Narrator
from agent.presentation.page_overlay import PageOverlay
from agent.presentation.presentation_records import Narrated, SegmentStatus
from agent.presentation.turn_manager import TurnManager
from agent.presentation.visitor.conversation import Conversation, HostPolicy
from kb_schema.presentation_flows import PresentationFlow

pytestmark = pytest.mark.sampled(0.4)


class Show:
    """One flow on the harbour, with or without somebody who watches."""

    def __init__(self, session, monkeypatch, *segments, speed=20.0, instant=False, overlay=None, visited=None,
                 language=None, **flow):  # fmt: skip
        made = PresentationFlow.model_validate(
            {"flow_id": "told", "name": "Told", "segments": list(segments), **flow}
        )

        async def answer(_flow_id: str) -> PresentationFlow:
            return made

        monkeypatch.setattr(session.knowledge, "flow", answer)
        self.began, self.passed = time.monotonic(), 0.0
        self.session = session
        self.narrator = Narrator(SilentVoice(speed), self.clock, speed=speed, silent=instant)
        self.begun: list[str] = []
        session.bus.listen(lambda e: self.begun.append(e.text) if isinstance(e, Narrated) else None)
        self.turns = TurnManager(self.narrator, self.clock, session.bus)
        self.turns.visited = bool(visited)
        self.player = FlowPlayer(
            session,
            self.narrator,
            clock=self.clock,
            overlay=overlay,
            speed=speed,
            instant=instant,
            turns=None if visited is None else self.turns,
            language=language,
        )

    def clock(self) -> float:
        return time.monotonic() - self.began + self.passed

    def answer(self, question: str, words: str) -> None:
        """Somebody says these words when that was said."""

        def listen(event: Event) -> None:
            if isinstance(event, Narrated) and event.text == question:
                self.turns.hear(words)

        self.session.bus.listen(listen)

    async def play(self):
        async with asyncio.timeout(60):
            return await self.player.play("told")

    @property
    def said(self) -> list[str]:
        return [spoken.text for spoken in self.narrator.spoken]

    @property
    def told(self) -> dict[str, str]:
        return {s.segment_id: str(s.status) for s in self.player.presentation.segments}


def _talk(name, **more):
    return {"segment_id": name, "type": "conversational", "narration_template": f"This is {name}.", **more}


REGISTER = {"segment_id": "register", "type": "task_execution", "task_id": "register_boat"}
NAMED = {**REGISTER, "input_mapping": {"boat_name": {"source": "hardcoded", "value": "Skua"}}}
LOOK = {"segment_id": "look", "type": "explanation", "screen_id": "quay", "narration_template": "The quay."}
QUESTION = "What is her name?"
ASKED = {
    **REGISTER,
    "input_mapping": {
        "boat_name": {
            "source": "user_input|generated_value", "prompt": QUESTION, "generator": "human_name", "value": "tern",
            "transforms": [{"type": "capitalize"}], "persist_as": "boat_of_the_day",
        }
    },
}  # fmt: skip


# -- segments


async def test_a_conversation_is_told_with_its_hooks_in_their_order(session, monkeypatch):
    hooks = [
        {"hook_type": "after", "narration": "Last."},
        {"hook_type": "during", "narration": "Then."},
        {"hook_type": "before", "narration": "First."},
    ]
    show = Show(session, monkeypatch, _talk("a", narrative_hooks=hooks), instant=True)
    await show.play()
    assert show.said == ["First.", "This is a.", "Then.", "Last."]


async def test_a_screen_is_pointed_at_on_its_word_and_the_page_is_moved_and_put_back(
    session, site, monkeypatch
):
    site.moor("Gull")
    await session.page.set_viewport_size({"width": 900, "height": 120})
    overlay = PageOverlay(session.page, speed=20)
    rings: list[tuple[float, bool]] = []
    ring = overlay.ring

    async def note(box):
        rings.append((show.clock(), box is not None))
        await ring(box)

    monkeypatch.setattr(overlay, "ring", note)
    segment = {
        **LOOK,
        "narration_template": "Here is the quay, and after a few words the [[at:boats]] boats that lie here today.",
        "scrolling": {"enabled": True, "strategy": "to_bottom", "max_scrolls": 1, "return_to_top": False},
    }
    show = Show(session, monkeypatch, segment, overlay=overlay, speed=2.0)
    await show.play()
    (spoken,) = show.narrator.spoken
    pointed = next(at for at, there in rings if there)
    word = next(w for w in spoken.speech.words if w.text.startswith("boats"))
    assert pointed >= spoken.start_s + word.start_s - 0.05
    assert pointed < spoken.start_s + spoken.duration_s
    assert rings[-1][1] is False
    await session.page.wait_for_function("() => window.scrollY > 0")


@pytest.mark.parametrize("scrolling", [
    {"strategy": "incremental", "max_scrolls": 2},
    {"strategy": "to_elements", "elements": ["boats"]},
], ids=["incremental", "to_elements"])  # fmt: skip
async def test_the_page_is_at_its_top_again_when_it_was_explained(session, site, monkeypatch, scrolling):
    site.moor("Gull")
    await session.page.set_viewport_size({"width": 900, "height": 120})
    moved: list[float] = []

    def note(at: float) -> None:
        moved.append(at)

    await session.page.expose_function("moved", note)
    await session.page.add_init_script("addEventListener('scroll', () => window.moved(window.scrollY))")
    words = "The quay has many words, one after the other, so that there is time to look around on it."
    segment = {**LOOK, "narration_template": words, "scrolling": {"enabled": True, **scrolling}}
    show = Show(session, monkeypatch, segment, _talk("b"), speed=1.0)
    await show.play()
    assert max(moved, default=0) > 5
    await session.page.wait_for_function("() => window.scrollY === 0")


@pytest.mark.parametrize(
    ("depth", "noted"), [("overview", []), ("deep_dive", ["Boats: All that are moored here"])]
)
async def test_a_deeper_explanation_tells_what_its_author_noted(session, site, monkeypatch, depth, noted):
    site.moor("Gull")
    show = Show(session, monkeypatch, {**LOOK, "depth": depth}, instant=True)
    await show.play()
    assert show.said == ["The quay.", *noted]


@pytest.mark.parametrize(("depth", "own"), [("overview", False), ("demonstration", True)])
async def test_an_overview_of_a_task_leaves_its_own_words_out(session, monkeypatch, depth, own):
    show = Show(session, monkeypatch, {**NAMED, "depth": depth}, instant=True)
    told = await show.play()
    assert ("She is called Skua." in show.said) is own
    assert told.segments[0].depth == depth


async def test_a_flow_is_told_in_another_language_and_what_is_only_in_its_own_is_left_unsaid(
    session, monkeypatch
):
    segment = {
        **NAMED,
        "narration_template": "A boat.",
        "translations": {"de": {"narration_template": "Ein Boot."}},
        "engagement_rules": ["Confirm success before moving on"],
    }
    show = Show(session, monkeypatch, segment, instant=True, language="de")
    await show.play()
    assert show.said == ["Ein Boot.", "Und das hat geklappt."]


# -- inputs


async def test_a_visitor_is_asked_for_a_value_and_what_is_answered_is_used(session, site, monkeypatch):
    after = [{"hook_type": "after", "narration": "{boat_of_the_day} it is."}]
    show = Show(session, monkeypatch, {**ASKED, "narrative_hooks": after}, visited=True)
    show.answer(QUESTION, "Please call her puffin!")
    assert (await show.play()).succeeded
    assert [boat["name"] for boat in site.state()["boats"]] == ["Puffin"]
    assert "Puffin it is." in show.said


@pytest.mark.parametrize("words", ["You choose.", None], ids=["left to the presenter", "no answer"])
async def test_a_visitor_who_has_no_answer_is_not_waited_for_long(session, site, monkeypatch, words):
    show = Show(session, monkeypatch, ASKED, visited=True)
    if words is not None:
        show.answer(QUESTION, words)
    await show.play()
    assert QUESTION in show.begun
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


async def test_nobody_is_asked_where_nobody_is_there(session, site, monkeypatch):
    show = Show(session, monkeypatch, ASKED, visited=False)
    await show.play()
    assert QUESTION not in show.begun
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


async def test_what_no_source_has_is_asked_of_the_visitor(session, site, monkeypatch):
    segment = {**REGISTER, "input_mapping": {"boat_name": {"source": "session_context", "key": "nowhere"}}}
    show = Show(session, monkeypatch, segment, visited=True)
    show.answer("boat name?", "Auk")
    assert (await show.play()).segments[0].status is SegmentStatus.SHOWN
    assert [boat["name"] for boat in site.state()["boats"]] == ["Auk"]


@pytest.mark.parametrize(("required", "status"), [(False, "skipped"), (True, "failed")])
async def test_a_segment_without_its_input_is_left_out_where_it_can_be_spared(
    session, site, monkeypatch, required, status
):
    segment = {
        **REGISTER,
        "required": required,
        "input_mapping": {"boat_name": {"source": "session_context", "key": "nowhere"}},
    }
    show = Show(session, monkeypatch, segment, _talk("b"), instant=True)
    told = await show.play()
    assert show.told == {"register": status, "b": "shown"}
    assert "boat_name" in (told.segments[0].reason or "")
    assert site.state()["boats"] == []


async def test_what_a_task_gave_is_an_input_of_the_next(session, site, monkeypatch):
    second = {
        **REGISTER,
        "segment_id": "again",
        "input_mapping": {
            "boat_name": {
                "source": "task_output", "task_id": "register_boat", "key": "moored",
                "transforms": [{"type": "uppercase"}],
            }
        },
    }  # fmt: skip
    show = Show(session, monkeypatch, NAMED, second, instant=True)
    assert (await show.play()).shown_count == 2
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua", "SKUA"]


# -- transitions and skips


async def test_a_conditional_transition_takes_its_fallback_where_the_visitor_wants_something_else(
    session, monkeypatch
):
    condition = {"type": "user_interest", "topic": "boats", "fallback": "skip_to_c"}
    way = {"from_segment": "a", "to_segment": "b", "type": "conditional", "condition": condition,
           "narration_template": "Never said."}  # fmt: skip
    session.context.session["user_interest"] = ["lighthouses"]
    show = Show(session, monkeypatch, *map(_talk, "abc"), transitions=[way], instant=True)
    told = await show.play()
    assert show.said == ["This is a.", "This is c."]
    assert (told.segments[1].status, told.segments[1].segment_id) == (SegmentStatus.SKIPPED, "b")
    assert "user_interest" in (told.segments[1].reason or "")


@pytest.mark.parametrize(("kind", "waits"), [("sequential", True), ("automatic", False)])
async def test_a_sequential_transition_is_heard_out_and_an_automatic_one_is_not(
    session, monkeypatch, kind, waits
):
    way = {"from_segment": "a", "to_segment": "register", "type": kind,
           "narration_template": "Now to something that takes a while to be said, for it is quite long."}  # fmt: skip
    show = Show(session, monkeypatch, _talk("a"), NAMED, transitions=[way], speed=4.0)
    told = await show.play()
    words = next(s for s in show.narrator.spoken if s.text.startswith("Now to something"))
    assert (told.segments[1].start_s >= words.start_s + words.duration_s) is waits


async def test_a_skip_condition_passes_a_segment_over_unless_it_is_required(session, monkeypatch):
    never = [{"type": "context_equals", "name": "weather", "value": "storm"}]
    session.context.session["weather"] = "storm"
    show = Show(
        session, monkeypatch, _talk("a", skip_conditions=never),
        _talk("b", skip_conditions=never, required=True, can_skip=False), instant=True,
    )  # fmt: skip
    told = await show.play()
    assert show.told == {"a": "skipped", "b": "shown"}
    assert "context_equals" in (told.segments[0].reason or "")


# -- fallback paths


async def test_what_time_does_not_allow_goes_as_the_flow_says_and_the_record_says_why(session, monkeypatch):
    segments = [_talk(name, duration=10) for name in "abcd"]
    path = {"condition": "time_running_out", "segments_to_skip": ["c", "b"], "segments_to_keep": ["d"]}
    show = Show(session, monkeypatch, *segments, fallback_paths=[path], duration={"max": 34}, speed=1.0)
    monkeypatch.setattr(show.narrator, "_sleep", _let_pass(show))
    show.passed = 0.0

    def slow(event: Event) -> None:
        if isinstance(event, Narrated):
            show.passed += 8

    session.bus.listen(slow)
    told = await show.play()
    assert show.told == {"a": "shown", "b": "shown", "c": "skipped", "d": "shown"}
    assert (told.segments[2].reason or "").startswith("time_running_out: ")
    assert told.window == (None, 34)


def _let_pass(show: Show):
    async def sleep(seconds: float) -> None:
        show.passed += seconds

    return sleep


LED_OVER = "That does not work today."


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("path", "told", "said"),
    [
        ({"action": "skip", "narration_template": LED_OVER},
         {"register": "failed", "b": "shown", "c": "shown"}, LED_OVER),
        ({"action": "stop", "narration_template": LED_OVER},
         {"register": "failed", "b": "skipped", "c": "skipped"}, LED_OVER),
        ({"action": "skip", "resume_point": "c"},
         {"register": "failed", "b": "skipped", "c": "shown"}, None),
        ({"action": "stop", "segments_to_skip": ["b"]},
         {"register": "failed", "b": "shown", "c": "shown"}, None),
    ],
    ids=["skip", "stop", "resume elsewhere", "not for this one"],
)  # fmt: skip
async def test_a_segment_that_fails_takes_the_flows_own_path(session, monkeypatch, path, told, said):
    await session.page.route("**/boats/new", lambda route: route.abort())
    path = {"condition": "segment_failed", **path}
    show = Show(session, monkeypatch, NAMED, _talk("b"), _talk("c"), fallback_paths=[path], instant=True)
    presentation = await show.play()
    assert show.told == told
    assert any("did not go as planned" in text for text in show.said) is (said is None)
    assert said is None or said in show.said
    assert all(s.reason for s in presentation.segments if s.status is not SegmentStatus.SHOWN)


@pytest.mark.usefixtures("impatient")
async def test_a_segment_that_failed_may_be_tried_once_more(session, site, monkeypatch):
    broken = True

    async def refuse(route):
        await (route.abort() if broken else route.continue_())

    def mend(event: Event) -> None:
        nonlocal broken
        broken = broken and not (isinstance(event, Narrated) and event.text == LED_OVER)

    await session.page.route("**/boats/new", refuse)
    session.bus.listen(mend)
    path = {"condition": "segment_failed", "resume_point": "current_segment", "narration_template": LED_OVER}
    show = Show(session, monkeypatch, NAMED, fallback_paths=[path], instant=True)
    told = await show.play()
    assert [s.status for s in told.segments] == ["failed", "shown"]
    assert told.shown_count == 1
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("words", "told"), [("skip", "skipped"), (None, "shown")], ids=["an answer", "none"])
async def test_where_a_segment_failed_the_visitor_is_asked_and_what_is_said_is_done(
    session, monkeypatch, words, told
):
    await session.page.route("**/boats/new", lambda route: route.abort())
    path = {"condition": "segment_failed", "action": "pause_and_ask", "narration_template": "What now?"}
    show = Show(session, monkeypatch, NAMED, _talk("b"), _talk("c"), fallback_paths=[path], visited=True)
    flow = await session.knowledge.flow("told")
    manners = HostPolicy(follow_up_s=0.0, question_s=0.0, choice_s=0.0, pause_s=0.0)
    show.turns.host = Conversation(session, show.narrator, show.turns, flow, manners=manners)
    if words is not None:
        show.answer("What now?", words)
    await show.play()
    assert show.told == {"register": "failed", "b": told, "c": "shown"}
    assert "What now?" in show.begun


# -- rules of engagement


async def test_rules_that_are_held_to_leave_no_trace_and_broken_ones_are_told(session, monkeypatch):
    rules = [
        "Explain the purpose of each field as you fill it",
        "Say why before saying what",
        "Call the visitor by name",
    ]
    session.context.session["visitor_name"] = "Ada"
    words = {"narration_template": "Ada, this is what a boat needs."}
    hook = {"hook_type": "during", "step_id": "choose_length", "narration": "And how long she is."}
    held = {**NAMED, **words, "engagement_rules": rules, "narrative_hooks": [hook]}
    broken = {**NAMED, "segment_id": "broken", "depth": "overview", "engagement_rules": rules,
              "input_mapping": {"boat_name": {"source": "hardcoded", "value": "Auk"}}}  # fmt: skip
    show = Show(session, monkeypatch, held, broken, instant=True)
    told = await show.play()
    assert told.segments[0].violations == []
    assert told.segments[1].violations == [
        "explain_fields: no words about name_field",
        "explain_fields: no words about length_list",
        "say_why_first: an action ran before anything was said",
        "use_visitor_name: the visitor's name was not used",
    ]
    assert told.violation_count == 4


async def test_success_is_confirmed_before_the_story_goes_on(session, monkeypatch):
    rule = {"engagement_rules": ["Confirm success before moving to the next segment"]}
    show = Show(session, monkeypatch, {**NAMED, **rule}, instant=True)
    told = await show.play()
    assert show.said[-1] == "And that worked."
    assert told.segments[0].violations == []
