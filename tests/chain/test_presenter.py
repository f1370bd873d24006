"""Talking, pointing and working at the same time, on the harbour; and being interrupted in its middle."""

from __future__ import annotations

import asyncio
import math

import pytest

from agent.events import ActionDone, Event, StepStarted
from agent.media.voice import SilentVoice
from agent.page.action_requests import ActionPace
from agent.presentation import presenter as presenting
from agent.presentation.flow_player import FlowPlayer
from agent.presentation.narration.interruptible_narrator import InterruptibleNarrator
from agent.presentation.narration.narrator import Narrator
from agent.presentation.presentation_records import Narrated, SegmentStatus
from agent.presentation.presenter import Presenter, TaskNarrationStyle
from agent.presentation.turn_manager import Detour, PaceChanged, TurnManager
from kb_schema.action_calls import ActionCall
from kb_schema.presentation_flows import PresentationFlow
from tests.support.clocks import Stepped

pytestmark = pytest.mark.sampled(0.5)


def _flow(monkeypatch, session, hooks=(), **segment):
    """The harbour's only flow: a boat is registered, and then all is over."""
    told = PresentationFlow.model_validate({
        "flow_id": "told", "name": "Told", "segments": [
            {"segment_id": "register", "type": "task_execution", "task_id": "register_boat",
             "input_mapping": {"boat_name": {"source": "hardcoded", "value": "Skua"}},
             "narrative_hooks": [{"hook_type": when, "step_id": step, "narration": text} for when, step, text in hooks],
             **segment},
            {"segment_id": "end", "type": "conversational", "narration_template": "That was it."},
        ],
    })  # fmt: skip

    async def answer(_flow_id: str) -> PresentationFlow:
        return told

    monkeypatch.setattr(session.knowledge, "flow", answer)


def _player(session, clock, **options):
    narrator = Narrator(SilentVoice(), clock, sleep=clock.sleep)
    return FlowPlayer(session, narrator, clock=clock, speed=10.0, **options), narrator


async def _until(session, event_type, **fields):
    """The next event of that kind with these fields."""
    come = asyncio.get_running_loop().create_future()

    def note(event: Event) -> None:
        wanted = isinstance(event, event_type) and all(getattr(event, n) == v for n, v in fields.items())
        if wanted and not come.done():
            come.set_result(event)

    session.bus.listen(note)
    return await come


async def _told(play, clock):
    """Play to the end, the clock running on by itself."""
    clock.allow(math.inf)
    going = asyncio.create_task(clock.go())
    try:
        return await play
    finally:
        going.cancel()


async def test_a_click_waits_until_its_word_is_heard(session, site, monkeypatch):
    words = "I take my time, and tell you about the weather, before I press [[at:moor]] this button here."
    _flow(monkeypatch, session, [("during", "moor", words)])
    clock = Stepped()
    player, narrator = _player(session, clock)
    pressed_at: list[float] = []
    session.bus.listen(
        lambda e: (
            pressed_at.append(clock()) if isinstance(e, ActionDone) and e.action_type == "click" else None
        )
    )
    begun = asyncio.create_task(_until(session, Narrated, text=words.replace("[[at:moor]] ", "")))
    play = asyncio.create_task(player.play("told"))
    going = asyncio.create_task(clock.go())
    await begun
    spoken = narrator.spoken[-1]
    heard_at = spoken.start_s + next(w.start_s for w in spoken.speech.words if w.text == "this")
    clock.allow(heard_at - 1.0)
    before = len(pressed_at)
    await clock.waited_for(heard_at - 0.7)  # the presenter stands with the hand on the button
    assert site.state()["boats"] == []
    assert len(pressed_at) == before
    clock.allow(heard_at)
    going.cancel()
    await _told(play, clock)
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]
    assert heard_at - 0.7 <= pressed_at[before] <= heard_at


@pytest.mark.parametrize("mark", ["fill_name", "name_field", "type_text", "fill"])
async def test_a_mark_may_be_called_after_step_element_or_action(session, site, monkeypatch, mark):
    _flow(
        monkeypatch, session, [("during", "fill_name", f"Once upon a time there was [[at:{mark}]] a name.")]
    )
    clock = Stepped()
    player, narrator = _player(session, clock)
    typed_at: list[float] = []
    session.bus.listen(
        lambda e: typed_at.append(clock()) if isinstance(e, ActionDone) and e.action_type == "fill" else None
    )
    await _told(player.play("told"), clock)
    (spoken,) = [s for s in narrator.spoken if s.text.startswith("Once")]
    heard_at = spoken.start_s + next(
        w.start_s for w in spoken.speech.words if w.text == "a" and w.start_s > 1.0
    )
    assert typed_at[0] >= heard_at - 0.7
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]


async def test_a_segments_own_words_lead_through_its_steps(session, site, monkeypatch):
    _flow(
        monkeypatch, session,
        narration_template="She is called [[at:fill_name]] Skua, she is of usual length, and I moor [[at:moor]] her now.",
        narrative_hooks=[{"hook_type": "during", "step_id": "fill_name", "narration": "{nobody_knows}"}],
    )  # fmt: skip
    clock = Stepped()
    player, narrator = _player(session, clock)
    done_at: dict[str, float] = {}
    session.bus.listen(
        lambda e: done_at.update({e.action_type: clock()}) if isinstance(e, ActionDone) else None
    )
    await _told(player.play("told"), clock)
    said = [s.text for s in narrator.spoken]
    assert said == ["She is called Skua, she is of usual length, and I moor her now.", "That was it."]
    words = {word.text: word.start_s for word in narrator.spoken[0].speech.words}
    assert words["Skua,"] - 0.7 <= done_at["fill"] < words["moor"]
    assert words["her"] - 0.7 <= done_at["click"] <= words["her"]


class Visitor:
    """A host who answers with one thing, and notes when it was asked."""

    def __init__(self, detour: Detour | None) -> None:
        self.detour, self.attended = detour, list[str]()
        self.narrator: Narrator | None = None

    async def attend(self, heard):
        self.attended.append(heard.text)
        if self.narrator is not None:
            await self.narrator.say("Yes?")
            await self.narrator.finished()
        return self.detour


def _with_visitor(session, clock, detour):
    host = Visitor(detour)
    narrator = Narrator(SilentVoice(), clock, sleep=clock.sleep)
    turns = TurnManager(narrator, clock, session.bus, host)
    player = FlowPlayer(session, narrator, clock=clock, speed=10.0, turns=turns)
    return player, narrator, turns, host


def _when(session, act, **fields):
    """Do something as soon as words with that text begin, or a step of that name."""

    def note(event: Event) -> None:
        if isinstance(event, Narrated | StepStarted) and all(
            getattr(event, n, None) == v for n, v in fields.items()
        ):
            act()

    session.bus.listen(note)


async def test_a_task_is_left_at_once_while_nothing_was_done_that_cannot_be_done_twice(
    session, site, monkeypatch
):
    _flow(monkeypatch, session, [("during", "fill_name", "Here comes a very long story about her name.")])
    clock = Stepped()
    player, narrator, turns, host = _with_visitor(session, clock, Detour("skip"))
    _when(session, lambda: turns.hear("skip"), text="Here comes a very long story about her name.")
    told = await _told(player.play("told"), clock)
    assert host.attended == ["skip"]
    assert site.state()["boats"] == []
    assert [s.status for s in told.segments] == [SegmentStatus.SKIPPED, SegmentStatus.SHOWN]
    assert narrator.spoken[-2].stop_s is not None
    assert narrator.take_rest() == ""


async def test_what_cannot_be_done_twice_is_finished_without_words(session, site, monkeypatch):
    hooks = [("during", "moor", "And now we moor her for good."), ("after", "moor", "There she lies.")]
    _flow(monkeypatch, session, hooks)
    clock = Stepped()
    player, narrator, turns, host = _with_visitor(session, clock, Detour("skip"))
    asked: list[str] = []

    async def careful(step):
        asked.append(step.step_id)
        return step.step_id not in ("choose_length", "moor")

    monkeypatch.setattr(player.engine.steps, "repeatable", careful)
    _when(session, lambda: turns.hear("skip"), text="And now we moor her for good.")
    told = await _told(player.play("told"), clock)
    assert host.attended == ["skip"]
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]
    assert "There she lies." not in [s.text for s in narrator.spoken]
    first = told.segments[0]
    assert first.run is not None
    assert first.run.succeeded
    assert narrator.spoken[-1].text == "That was it."


async def test_after_an_answer_the_sentence_that_was_cut_is_begun_again(session, site, monkeypatch):
    _flow(
        monkeypatch,
        session,
        [("before", "moor", "Short. But this one is long enough to be cut in its middle.")],
    )
    clock = Stepped()
    player, narrator, turns, host = _with_visitor(session, clock, None)
    host.narrator = narrator
    heard = asyncio.create_task(
        _until(session, Narrated, text="Short. But this one is long enough to be cut in its middle.")
    )
    play = asyncio.create_task(player.play("told"))
    going = asyncio.create_task(clock.go())
    await heard
    clock.allow(clock() + 2.0)
    await clock.waited_for(clock() + 2.0)
    going.cancel()
    await clock.pass_(2.0)
    turns.hear("a question")
    await _told(play, clock)
    said = [s.text for s in narrator.spoken]
    at = said.index("Yes?")
    assert said[at - 1].startswith("Short. But")
    assert len(said[at - 1].split()) < 12
    assert said[at + 1] == "But this one is long enough to be cut in its middle."
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]


async def test_a_visitor_who_wants_it_slower_hears_it_slower_and_sees_it_typed_slower(session):
    clock = Stepped()
    narrator = Narrator(SilentVoice(), clock, sleep=clock.sleep)
    narration = InterruptibleNarrator(session, narrator, None, 1.0, instant=False)
    first = await narration.say("How fast is this sentence?", {})
    await clock.pass_(10)
    session.bus.tell(PaceChanged(0.8))
    second = await narration.say("How fast is this sentence?", {})
    assert second.duration_s == pytest.approx(first.duration_s / 0.8)
    assert narration.speed == pytest.approx(0.8)


def _presenter(session, clock, *, speed=1.0, style=None, segment=None):
    narrator = Narrator(SilentVoice(), clock, sleep=clock.sleep)
    presenter = Presenter(InterruptibleNarrator(session, narrator, None, speed, instant=False))
    told = {"segment_id": "s", "type": "task_execution", "task_id": "register_boat", **(segment or {})}
    (made,) = PresentationFlow.model_validate({"flow_id": "f", "name": "F", "segments": [told]}).segments
    presenter.begin(made, {}, style=style)
    return presenter, narrator


async def test_a_field_takes_as_long_as_is_spoken_within_what_a_hand_can_do(session):
    clock = Stepped()
    presenter, narrator = _presenter(session, clock)
    call = ActionCall(action_type="fill", target="name_field", value="x" * 20)
    await narrator.say("This takes about as long as it takes to say it.")
    spoken_s = narrator.spoken[0].duration_s + 0.25
    typed = presenter.pace(call, ActionPace()).key_delay_s
    assert typed == pytest.approx(min(presenting.SLOWEST_KEY_S, spoken_s / 20))
    await clock.pass_(30)
    assert presenter.pace(call, ActionPace()).key_delay_s == pytest.approx(presenting.FASTEST_KEY_S)
    slow = call.model_copy(update={"speed": 100})
    assert presenter.pace(slow, ActionPace()).key_delay_s == pytest.approx(0.1)
    long = call.model_copy(update={"value": "x" * 1_000})
    assert presenter.pace(long, ActionPace()).key_delay_s * 1_000 <= 3.0


async def test_nobody_types_in_silence_for_long_what_the_field_is_for_is_told(session, monkeypatch):
    clock = Stepped()
    presenter, narrator = _presenter(session, clock, style=TaskNarrationStyle(silence_s=1.0))
    await session.page.goto(session.base_url + "/boats/new")
    await session.look()
    elements = await session.elements()
    noted = elements["name_field"].model_copy(update={"metadata": {"help_text": "Painted on her stern."}})

    async def described():
        return {**elements, "name_field": noted}

    monkeypatch.setattr(session, "elements", described)
    long = ActionCall(action_type="fill", target="name_field", value="x" * 60)
    await presenter.before_action(long, None)
    assert [s.text for s in narrator.spoken] == ["Painted on her stern."]
    await clock.pass_(30)
    await presenter.before_action(long, None)  # it is told once; then the hand is quicker
    assert len(narrator.spoken) == 1
    assert presenter.pace(long, ActionPace()).key_delay_s * 60 == pytest.approx(1.0)
    short = ActionCall(action_type="fill", target="length_list", value="12")
    await presenter.before_action(short, None)
    assert len(narrator.spoken) == 1


async def test_what_only_leads_up_to_an_action_does_not_wait_for_its_word(session):
    clock = Stepped()
    presenter, narrator = _presenter(session, clock, segment={"narration_template": "Told by the player."})
    task = await session.knowledge.task("register_boat")
    step = next(each for each in task.steps if each.step_id == "fill_name")
    await narrator.say("This is a sentence in which, rather late, [[at:name_field]] something is typed.")
    await presenter.before_step(task.model_copy(update={"task_id": "inner"}), step, {})
    await presenter.before_action(ActionCall(action_type="focus", target="name_field"), None)
    assert clock() == 0.0
    typing = asyncio.create_task(
        presenter.before_action(ActionCall(action_type="fill", target="name_field", value="x"), None)
    )
    await clock.pass_(0.5)
    assert not typing.done()
    await clock.pass_(30)
    assert typing.done()


async def test_the_hand_is_quicker_to_let_go_where_actions_took_their_time(session):
    clock = Stepped()
    presenter, narrator = _presenter(session, clock)
    call = ActionCall(action_type="click", target="moor")
    await narrator.say("This is a sentence in which, rather late, [[at:moor]] something is clicked.")
    due = narrator.seconds_until_mark(["moor"])
    assert due is not None

    async def let_go_at() -> float:
        going = asyncio.create_task(clock.go())
        await presenter.before_action(call, None)
        going.cancel()
        return clock()

    first = due - await let_go_at()
    clock.now += 0.5
    session.bus.tell(
        ActionDone(
            "click", "moor", {}, "", "", None, None, 0.0
        )  # only begun half a second after it was let go
    )
    await clock.pass_(30)
    await narrator.say("This is a sentence in which, rather late, [[at:moor]] something is clicked.")
    due = clock() + (narrator.seconds_until_mark(["moor"]) or 0.0)
    assert due - await let_go_at() > first + 0.1


class Drawn:
    """A stage that notes what it is asked to draw."""

    def __init__(self) -> None:
        self.drawn: list[str] = []

    async def point_to(self, box, *, milliseconds=None):
        self.drawn.append("point")

    async def press(self):
        self.drawn.append("press")

    async def ring(self, box):
        self.drawn.append("ring" if box else "no ring")

    async def chapter(self, title):
        self.drawn.append(title)

    def follow(self, page):
        """There is only one."""

    async def caption(self, text):
        """Captions have their own tests."""


async def test_what_is_filled_is_ringed_and_what_is_pressed_is_pointed_at(session, site, monkeypatch):
    _flow(monkeypatch, session, title="A boat")
    clock, overlay = Stepped(), Drawn()
    player, _ = _player(session, clock, overlay=overlay)
    session.bus.listen(lambda e: overlay.drawn.append(e.action_type) if isinstance(e, ActionDone) else None)
    await _told(player.play("told"), clock)
    drawn = overlay.drawn[overlay.drawn.index("A boat") : overlay.drawn.index("End")]
    assert drawn == [
        "A boat",
        "point", "press", "click",  # on the way
        "point", "ring", "fill", "no ring",
        "point", "ring", "select_option", "no ring",
        "point", "press", "click",
    ]  # fmt: skip
