"""Silence on stage is filled, and only where it is one."""

from __future__ import annotations

import asyncio

import pytest

from agent.events import (
    ActionDone,
    Event,
    HealTried,
    Recovered,
    Replanned,
    StepEnded,
    StepStarted,
    Struggling,
    TaskEnded,
)
from agent.presenting.bridging import Bridge, Bridged, BridgePolicy, sentences_of
from agent.presenting.bridging_words import DEFAULTS
from agent.presenting.records import Narrated

QUICK = BridgePolicy(moment_s=0.02, slow_s=0.05, again_s=0.02, growth=1.0, most=2)
STRUGGLE = Struggling("healing", "agent_list.create")
STEP = StepStarted("create_agent", "fill_name", 1, 3, "fill", None, 0)
ENDED = StepEnded("create_agent", "fill_name", "done", 10.0)


def _done(error: str | None = None) -> ActionDone:
    return ActionDone("click", "#x", {}, "u", "u", None, None, 1.0, error)


class _Stage:
    """Somebody who speaks, and the moment somebody does."""

    def __init__(self, **options) -> None:
        self.said: list[str] = []
        self.told: list[Event] = []
        self.spoke = asyncio.Event()
        options.setdefault("policy", QUICK)
        self.bridge = Bridge(self._say, tell=self.told.append, **options)

    async def _say(self, text: str) -> None:
        self.said.append(text)
        self.spoke.set()

    async def hear(self, *events: Event) -> None:
        for event in events:
            self.bridge(event)

    async def quiet(self, seconds: float = 0.12) -> list[str]:
        """What was said within a while that is several times as long as anything waits for."""
        await _pass(seconds)
        return self.said


async def _never() -> None:
    await asyncio.Event().wait()


async def _pass(seconds: float) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(_never(), seconds)


@pytest.mark.parametrize(
    "event",
    [
        STRUGGLE,
        HealTried("a.b", 1, (), "not_found", None, 5.0, "gone"),
        Replanned("t", "s", "other_path", "", 1),
        Recovered("r", "dashboard", succeeded=False),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_trouble_that_lasts_is_bridged(event):
    stage = _Stage()
    await stage.hear(event)
    await asyncio.wait_for(stage.spoke.wait(), 5)
    assert stage.said[0] == DEFAULTS["en"]["trouble"][0]
    assert stage.told[0] == Bridged("trouble", stage.said[0])
    stage.bridge.close()


@pytest.mark.parametrize(
    "over", [_done(), ENDED, TaskEnded("t", "success", 0)], ids=lambda event: type(event).__name__
)
async def test_trouble_that_is_over_within_a_moment_is_nobodys_business(over):
    stage = _Stage()
    await stage.hear(STRUGGLE, over)
    assert await stage.quiet() == []


async def test_an_action_that_failed_is_no_end_of_trouble():
    stage = _Stage()
    await stage.hear(STRUGGLE, _done("it moved"))
    await asyncio.wait_for(stage.spoke.wait(), 5)
    stage.bridge.close()


async def test_nobody_talks_over_the_presenter_or_the_visitor():
    remaining = [30.0]
    stage = _Stage(remaining_s=lambda: remaining[0])
    await stage.hear(STRUGGLE)
    assert await stage.quiet() == []
    stage.bridge.close()
    held = [True]
    stage = _Stage(held=lambda: held[0])
    await stage.hear(STRUGGLE)
    assert await stage.quiet() == []
    held[0] = False
    await asyncio.wait_for(stage.spoke.wait(), 5)
    stage.bridge.close()


async def test_sentences_of_one_trouble_differ_and_end():
    stage = _Stage()
    await stage.hear(STRUGGLE)
    said = await stage.quiet(0.3)
    assert len(said) == QUICK.most == len(set(said))


async def test_a_step_in_which_nothing_happens_is_filled_and_one_that_works_is_not():
    stage = _Stage()
    await stage.hear(STEP, ENDED)
    assert await stage.quiet() == []
    await stage.hear(STEP)
    await asyncio.wait_for(stage.spoke.wait(), 5)
    assert stage.said[0] == DEFAULTS["en"]["slow"][0]
    stage.bridge.close()


async def test_a_step_is_given_its_time_from_when_the_words_are_over():
    until = [asyncio.get_running_loop().time() + 0.2]
    policy = BridgePolicy(moment_s=0.01, slow_s=0.2)
    stage = _Stage(remaining_s=lambda: max(0.0, until[0] - asyncio.get_running_loop().time()), policy=policy)
    await stage.hear(STEP)
    until[0] += 0.15
    await stage.hear(Narrated("And more.", 0.0))
    await asyncio.wait_for(stage.spoke.wait(), 5)
    assert asyncio.get_running_loop().time() >= until[0] + 0.2 - 0.01
    stage.bridge.close()


async def test_trouble_within_a_slow_step_is_told_as_trouble():
    stage = _Stage()
    await stage.hear(STEP, STRUGGLE)
    await asyncio.wait_for(stage.spoke.wait(), 5)
    assert stage.said[0] in DEFAULTS["en"]["trouble"]
    stage.bridge.close()


async def test_an_instant_show_fills_nothing_and_still_leads_on():
    stage = _Stage(instant=True)
    await stage.hear(STEP, STRUGGLE)
    assert await stage.quiet() == []
    await stage.bridge.pass_over()
    await stage.bridge.pass_over(last=True)
    assert stage.said == [DEFAULTS["en"]["passed_over"][0], DEFAULTS["en"]["ended"][0]]


async def test_nothing_is_said_once_the_show_is_over():
    stage = _Stage()
    await stage.hear(STRUGGLE)
    stage.bridge.close()
    await stage.hear(STRUGGLE)
    assert await stage.quiet() == []


async def test_who_cannot_speak_does_not_end_the_show():
    async def broken(_text: str) -> None:
        raise RuntimeError("no sound")

    bridge = Bridge(broken, policy=QUICK)
    bridge(STRUGGLE)
    await _pass(0.1)  # an exception of a task that nobody looks at would fail the test run
    bridge.close()


def test_sentences_are_the_flows_own_or_in_its_language():
    assert sentences_of("de-AT", {})["slow"] == DEFAULTS["de"]["slow"]
    assert sentences_of("tlh", {}) == DEFAULTS["en"]
    own = sentences_of("de", {"slow": ("Gleich!",), "trouble": ()})
    assert (own["slow"], own["trouble"]) == (("Gleich!",), DEFAULTS["de"]["trouble"])


def test_every_language_has_something_for_every_kind():
    kinds = set(DEFAULTS["en"])
    for language, of_kind in DEFAULTS.items():
        assert set(of_kind) == kinds, language
        assert all(len(set(texts)) == len(texts) > 0 for texts in of_kind.values()), language
