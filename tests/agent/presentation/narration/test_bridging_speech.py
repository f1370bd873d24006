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
from agent.presentation.narration.bridging_sentences import DEFAULTS
from agent.presentation.narration.bridging_speech import (
    Bridged,
    BridgingPolicy,
    BridgingSpeaker,
    collect_bridging_sentences,
)
from agent.presentation.presentation_records import Narrated

QUICK = BridgingPolicy(moment_s=0.02, slow_s=0.05, again_s=0.02, growth=1.0, most=2)
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
        self.bridge = BridgingSpeaker(self._say, tell=self.told.append, **options)

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
    overlay = _Stage()
    await overlay.hear(event)
    await asyncio.wait_for(overlay.spoke.wait(), 5)
    assert overlay.said[0] == DEFAULTS["en"]["trouble"][0]
    assert overlay.told[0] == Bridged("trouble", overlay.said[0])
    overlay.bridge.close()


@pytest.mark.parametrize(
    "over", [_done(), ENDED, TaskEnded("t", "success", 0)], ids=lambda event: type(event).__name__
)
async def test_trouble_that_is_over_within_a_moment_is_nobodys_business(over):
    overlay = _Stage()
    await overlay.hear(STRUGGLE, over)
    assert await overlay.quiet() == []


async def test_an_action_that_failed_is_no_end_of_trouble():
    overlay = _Stage()
    await overlay.hear(STRUGGLE, _done("it moved"))
    await asyncio.wait_for(overlay.spoke.wait(), 5)
    overlay.bridge.close()


async def test_nobody_talks_over_the_presenter_or_the_visitor():
    remaining = [30.0]
    overlay = _Stage(remaining_s=lambda: remaining[0])
    await overlay.hear(STRUGGLE)
    assert await overlay.quiet() == []
    overlay.bridge.close()
    held = [True]
    overlay = _Stage(held=lambda: held[0])
    await overlay.hear(STRUGGLE)
    assert await overlay.quiet() == []
    held[0] = False
    await asyncio.wait_for(overlay.spoke.wait(), 5)
    overlay.bridge.close()


async def test_sentences_of_one_trouble_differ_and_end():
    overlay = _Stage()
    await overlay.hear(STRUGGLE)
    said = await overlay.quiet(0.3)
    assert len(said) == QUICK.most == len(set(said))


async def test_a_step_in_which_nothing_happens_is_filled_and_one_that_works_is_not():
    overlay = _Stage()
    await overlay.hear(STEP, ENDED)
    assert await overlay.quiet() == []
    await overlay.hear(STEP)
    await asyncio.wait_for(overlay.spoke.wait(), 5)
    assert overlay.said[0] == DEFAULTS["en"]["slow"][0]
    overlay.bridge.close()


async def test_a_step_is_given_its_time_from_when_the_words_are_over():
    until = [asyncio.get_running_loop().time() + 0.2]
    policy = BridgingPolicy(moment_s=0.01, slow_s=0.2)
    overlay = _Stage(
        remaining_s=lambda: max(0.0, until[0] - asyncio.get_running_loop().time()), policy=policy
    )
    await overlay.hear(STEP)
    until[0] += 0.15
    await overlay.hear(Narrated("And more.", 0.0))
    await asyncio.wait_for(overlay.spoke.wait(), 5)
    assert asyncio.get_running_loop().time() >= until[0] + 0.2 - 0.01
    overlay.bridge.close()


async def test_trouble_within_a_slow_step_is_told_as_trouble():
    overlay = _Stage()
    await overlay.hear(STEP, STRUGGLE)
    await asyncio.wait_for(overlay.spoke.wait(), 5)
    assert overlay.said[0] in DEFAULTS["en"]["trouble"]
    overlay.bridge.close()


async def test_an_instant_show_fills_nothing_and_still_leads_on():
    overlay = _Stage(instant=True)
    await overlay.hear(STEP, STRUGGLE)
    assert await overlay.quiet() == []
    await overlay.bridge.pass_over()
    await overlay.bridge.pass_over(last=True)
    assert overlay.said == [DEFAULTS["en"]["passed_over"][0], DEFAULTS["en"]["ended"][0]]


async def test_nothing_is_said_once_the_show_is_over():
    overlay = _Stage()
    await overlay.hear(STRUGGLE)
    overlay.bridge.close()
    await overlay.hear(STRUGGLE)
    assert await overlay.quiet() == []


async def test_who_cannot_speak_does_not_end_the_show():
    async def broken(_text: str) -> None:
        raise RuntimeError("no sound")

    bridge = BridgingSpeaker(broken, policy=QUICK)
    bridge(STRUGGLE)
    await _pass(0.1)  # an exception of a task that nobody looks at would fail the test run
    bridge.close()


def test_sentences_are_the_flows_own_or_in_its_language():
    assert collect_bridging_sentences("de-AT", {})["slow"] == DEFAULTS["de"]["slow"]
    assert collect_bridging_sentences("tlh", {}) == DEFAULTS["en"]
    own = collect_bridging_sentences("de", {"slow": ("Gleich!",), "trouble": ()})
    assert (own["slow"], own["trouble"]) == (("Gleich!",), DEFAULTS["de"]["trouble"])


def test_every_language_has_something_for_every_kind():
    kinds = set(DEFAULTS["en"])
    for language, of_kind in DEFAULTS.items():
        assert set(of_kind) == kinds, language
        assert all(len(set(texts)) == len(texts) > 0 for texts in of_kind.values()), language
