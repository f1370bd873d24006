"""How closely speech and actions match on the seed site, and how soon the presenter stops for a visitor.

`make bench`, or `python benchmarks/bench_presenting.py [--rounds 3] [--film]`. Two measurements, both in
this process with the real browser: the time between a word's mark (`[[at:save]]`) and what the page then
saw (pointer, key or change), and the time from an interruption until every speaker has been told to stop.
The goal for the first is a median under 150 ms, for the second nothing above 300 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.events import Event, StepEnded, StepStarted
from agent.media.screencast import Screencast
from agent.media.voice import Speech
from agent.presentation.narration.narrator import Narrator, SpokenUtterance, word_starts
from agent.presentation.turn_manager import SpeechStopped
from kb_schema.narration_marks import read_marks
from kb_schema.presentation_flows import PresentationFlow
from periplus.demos.demo_environment import DemoEnvironment, DemoEnvironmentSettings, open_demo_environment
from periplus.demos.live_presentation import (
    LivePresentation,
    LivePresentationSettings,
    open_live_presentation,
)
from periplus.seed_sites.seed_manifests import find_seed

SEED = "spadeworks"
SEEN = """(() => {
  for (const kind of ["pointerdown", "input", "change"])
    addEventListener(kind, () => window.notePageEvent(kind, Date.now() / 1000), true);
})();"""
"""What the page sees, and when by its own clock, which is this machine's."""
HOOKS = {
    "login": {
        "fill_email": "First I sign in, with the address [[at:fill_email]] that I use every Monday morning.",
        "fill_password": "Then the password, [[at:fill_password]] which you will have to imagine.",
        "submit_credentials": "And now, with one click [[at:submit_credentials]] we are in.",
    },
    "create_agent": {
        "fill_agent_name": "Every agent has a name, and I type it [[at:fill_agent_name]] while I talk about it.",
        "select_language": "For the callers in Mumbai I choose [[at:select_language]] the language Hindi.",
        "choose_voice": "Of the three voices I take [[at:choose_voice]] the bright one.",
        "fill_greeting": "Callers hear a greeting first, [[at:fill_greeting]] so I write it as I would say it.",
        "submit_form": "That is all there is to it, and so I press [[at:submit_form]] save.",
    },
}
FLOW = {
    "flow_id": "marked",
    "name": "Marked",
    "segments": [
        {
            "segment_id": task,
            "type": "task_execution",
            "task_id": task,
            "required": True,
            "input_mapping": {} if task == "login" else {
                "agent_name": {"source": "hardcoded", "value": "Bench %s"},
                "language": {"source": "hardcoded", "value": "hi-IN"},
                "voice": {"source": "hardcoded", "value": "Bright"},
                "greeting": {"source": "hardcoded", "value": "Namaste, you have reached the team."},
            },
            "narrative_hooks": [
                {"hook_type": "during", "step_id": step, "narration": text} for step, text in hooks.items()
            ],
        }
        for task, hooks in HOOKS.items()
    ],
}  # fmt: skip


@dataclass
class Heard:
    """A speaker that notes when it was told what."""

    begun: list[float] = field(default_factory=list)
    stopped: list[float] = field(default_factory=list)

    async def play(self, _speech: Speech) -> None:
        """A mouth opens."""
        self.begun.append(time.time())

    async def stop(self) -> None:
        """It shuts."""
        self.stopped.append(time.time())


@pytest.mark.bench
def test_words_and_work_together() -> None:
    """Prints both."""
    asyncio.run(measure(rounds=2, film=False))


async def measure(rounds: int, *, film: bool) -> None:
    """Play the marked flow some times undisturbed, then some times with a visitor who will not stop."""
    offsets: dict[str, list[float]] = {}
    stops: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        async with open_demo_environment(
            find_seed(SEED), DemoEnvironmentSettings(Path(folder), headed=False)
        ) as environment:
            for number in range(rounds):
                for step, seconds in (await _marked(environment, number, film=film)).items():
                    offsets.setdefault(step, []).append(seconds)
            for number in range(rounds):
                stops += await _interrupted(environment, rounds + number, film=film)
    print(f"\n{rounds} rounds{', while the page is filmed' if film else ''}")
    for step, seconds in offsets.items():
        print(f"  {step:<18} {' '.join(f'{1000 * each:+5.0f}' for each in seconds)} ms after its word")
    typed = {step for step in offsets if step.startswith("fill_")}
    for what, steps in (
        ("a click and its word apart", offsets.keys() - typed),
        ("a first key and its word", typed),
    ):
        _row(what, [abs(each) for step in steps for each in offsets[step]], "goal: median under 150 ms")
    _row("silence after an interruption", stops, "goal: never above 300 ms")


def _row(what: str, seconds: Sequence[float], goal: str) -> None:
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
    print(
        f"{what:<32} n={len(ordered):<4} median {1000 * statistics.median(ordered):6.1f} ms   "
        f"p95 {1000 * p95:6.1f} ms   worst {1000 * ordered[-1]:6.1f} ms   ({goal})"
    )


async def _marked(environment: DemoEnvironment, number: int, *, film: bool) -> dict[str, float]:
    """Seconds between each mark and what the page saw then."""
    due: dict[str, float] = {}
    seen: list[tuple[str, float]] = []
    spans: dict[str, list[float]] = {}

    def note(event: Event) -> None:
        if isinstance(event, StepStarted | StepEnded):
            spans.setdefault(event.step_id, []).append(time.time())

    async with AsyncExitStack() as stack:
        show = await _opened(stack, environment, number, film=film)
        show.session.bus.listen(note)
        await show.session.page.context.expose_function("notePageEvent", lambda *it: seen.append(it))
        await show.session.page.context.add_init_script(SEEN)
        _note_marks(show.narrator, due)
        await _played(show)
    return {
        step: first - due[step]
        for step, (begun, ended, *_) in spans.items()
        if step in due
        and (
            first := next((at for kind, at in seen if begun <= at <= ended and kind == _shown_by(step)), None)
        )
        is not None
    }


def _shown_by(step: str) -> str:
    """The event of the page that a step brings about; what is left is told as a change, too."""
    return "input" if step.startswith("fill_") else "change" if step.startswith("select_") else "pointerdown"


def _note_marks(narrator: Narrator, due: dict[str, float]) -> None:
    """Have it noted when each mark's word is heard."""
    say = narrator.say

    async def noting(text: str, *, resumed: bool = False) -> SpokenUtterance | None:
        spoken = await say(text, resumed=resumed)
        if spoken is not None:
            marked, began = read_marks(text), time.time() - (narrator.now - spoken.start_s)
            starts = word_starts(spoken.speech, marked.words)
            due.update({name: began + starts[index] for name, index in marked.marks})
        return spoken

    narrator.say = noting  # type: ignore[method-assign]  # a spy


async def _interrupted(environment: DemoEnvironment, number: int, *, film: bool) -> list[float]:
    """Seconds from each interruption until the speaker had been told to stop."""
    randomly, waits = random.Random(number), list[float]()  # noqa: S311 - a visitor's whims, the same each time
    async with AsyncExitStack() as stack:
        show = await _opened(stack, environment, number, film=film)
        heard = Heard()
        show.narrator.add(heard)
        silent = asyncio.Event()
        show.session.bus.listen(lambda e: silent.set() if isinstance(e, SpeechStopped) else None)

        async def visitor() -> None:
            while True:
                await asyncio.sleep(
                    randomly.choice((0.3, 0.8, 1.5, 6.0))
                )  # a sentence is let pass now and then
                if show.narrator.remaining_s <= 0:
                    continue
                began = time.time()
                silent.clear()
                show.turns.barge_in()
                await silent.wait()
                waits.append(max(heard.stopped[-1], time.time()) - began)

        visiting = asyncio.create_task(visitor())
        try:
            await _played(show)
        finally:
            visiting.cancel()
    return waits


async def _opened(
    stack: AsyncExitStack, environment: DemoEnvironment, number: int, *, film: bool
) -> LivePresentation:
    show = await stack.enter_async_context(open_live_presentation(environment, LivePresentationSettings()))
    text = PresentationFlow.model_validate(FLOW).model_dump_json().replace("Bench %s", f"Bench {number}")
    flow = PresentationFlow.model_validate_json(text)

    async def marked(_flow_id: str) -> PresentationFlow:
        return flow

    show.session.knowledge.flow = marked  # type: ignore[method-assign]  # the bench's own
    if film:
        picture = Screencast()
        await picture.start(show.session.page, (1280, 720), 25)
        stack.push_async_callback(picture.stop)
    return show


async def _played(show: LivePresentation) -> None:
    told = await show.play()
    if not told.succeeded:
        raise SystemExit(f"the flow failed: {[s.reason for s in told.segments if s.reason]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--film", action="store_true", help="with the page's picture taken meanwhile")
    asked = parser.parse_args()
    asyncio.run(measure(asked.rounds, film=asked.film))
