"""When it breaks on stage, on the harbour: somebody speaks while it is put right, or leads on with grace."""

from __future__ import annotations

import asyncio
import time

import pytest

from agent.events import Event, StepEnded
from agent.healing.healer import HealPolicy
from agent.media.voice import SilentVoice
from agent.presentation.flow_player import FlowPlayer
from agent.presentation.narration.bridging_sentences import DEFAULTS
from agent.presentation.narration.bridging_speech import Bridged
from agent.presentation.narration.narrator import Narrator
from agent.presentation.presentation_records import Narrated, SegmentStatus

pytestmark = pytest.mark.sampled(0.5)

AWAY = """
addEventListener('DOMContentLoaded', () => {
  if (!location.pathname.endsWith('/boats/new')) return;
  const button = [...document.querySelectorAll('button')].find((each) => each.textContent.includes('Moor'));
  const place = button.parentElement;
  button.remove();
  window.putBack = () => place.append(button);
});
"""


def _player(session, **options):
    began = time.monotonic()

    def clock() -> float:
        return time.monotonic() - began

    speed = options.pop("speed", 20.0)
    narrator = Narrator(SilentVoice(speed), clock, speed=speed, silent=options.get("instant", False))
    return FlowPlayer(session, narrator, clock=clock, speed=speed, **options)


def _told(session) -> list[Event]:
    told: list[Event] = []
    session.bus.listen(
        lambda event: told.append(event) if isinstance(event, Bridged | Narrated | StepEnded) else None
    )
    return told


async def test_what_is_put_right_within_a_while_is_put_right_behind_a_sentence(session):
    session.healing = HealPolicy(gate_s=1.0, healed_gate_s=1.0)
    await session.page.add_init_script(AWAY)
    told = _told(session)
    putting_back: list[asyncio.Task[None]] = []

    def put_back(event: Event) -> None:
        if isinstance(event, Bridged):
            putting_back.append(asyncio.ensure_future(session.page.evaluate("window.putBack?.()")))

    session.bus.listen(put_back)
    presentation = await _player(session).play("harbour_tour")
    register = next(s for s in presentation.segments if s.segment_id == "register")
    assert register.status is SegmentStatus.SHOWN, register.reason
    bridged = next(event for event in told if isinstance(event, Bridged))
    assert bridged.text in DEFAULTS["en"]["trouble"]
    assert [e.text for e in told if isinstance(e, Narrated)].count(bridged.text) == 1
    moored = next(e for e in told if isinstance(e, StepEnded) and e.step_id == "moor")
    assert told.index(bridged) < told.index(moored)


async def test_what_works_is_not_talked_about(session):
    told = _told(session)
    assert (await _player(session).play("harbour_tour")).succeeded
    assert not [event for event in told if isinstance(event, Bridged)]


@pytest.mark.usefixtures("impatient")
async def test_a_segment_that_cannot_be_saved_is_left_with_grace(session):
    session.healing = HealPolicy(gate_s=0.5, healed_gate_s=0.2)
    await session.page.add_init_script(AWAY)
    told = _told(session)
    presentation = await _player(session, instant=True).play("harbour_tour")
    assert {s.segment_id: s.status for s in presentation.segments} == {
        "hello": "shown", "register": "failed", "look": "shown", "late": "skipped",
    }  # fmt: skip
    said = [event.text for event in told if isinstance(event, Narrated)]
    assert said.index(DEFAULTS["en"]["passed_over"][0]) < said.index("This is the quay.")
    assert "Seagull is moored." not in said
