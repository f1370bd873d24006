"""The five-minute demo keeps to its window, on the live site: the clock is virtual where words take time.

Words, and typing while they are spoken, pass at once and count; what is done on the site counts as it usually
takes. In real time: `make nightly`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from playwright.async_api import Route

from agent.events import Event, StepStarted
from agent.media.voice import SilentVoice, find_voice
from agent.page.action_requests import ActionPace
from agent.presentation.flow_player import FlowPlayer
from agent.presentation.narration.narrator import Narrator
from agent.presentation.page_overlay import PageOverlay
from agent.presentation.presentation_records import Presentation, SegmentStatus
from agent.presentation.presenter import Presenter
from agent.session import Session
from kb_schema.action_calls import ActionCall
from tests.support.live_spadeworks import SEED, visiting

FLOW = "spadeworks_demo"
SLOW_STEPS, SLOW_S = 10, 6.0
STEP_S = 0.6
"""What is done in a step takes that long, beside the words and the typing."""
SPOKEN = 0.88
"""How fast a voice is that is heard, for one of the silent voice: espeak-ng's at 165 words a minute."""


@dataclass
class VirtualClock:
    """Seconds that were let pass: how busy the machine is makes no difference."""

    passed: float = 0.0

    def __call__(self) -> float:
        return self.passed

    async def sleep(self, seconds: float) -> None:
        self.passed += seconds
        await asyncio.sleep(0)


@pytest.fixture
async def visitor(live, stores, browser) -> AsyncIterator[Session]:
    ready: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with visiting(live, stores, browser) as session:
            session.upload_folder = SEED / "files"
            ready.set_result(session)
            await over.wait()

    holder = asyncio.create_task(hold())
    await asyncio.wait({holder, ready}, return_when=asyncio.FIRST_COMPLETED)
    yield await ready
    over.set()
    await holder


async def _played(
    session: Session, monkeypatch: pytest.MonkeyPatch, *, speed: float, slow: bool = False, **options: object
) -> tuple[Presentation, Narrator]:
    clock = VirtualClock()
    typed = Presenter.pace

    def pace(self: Presenter, call: ActionCall, usual: ActionPace) -> ActionPace:
        """Typing takes no time, and counts."""
        clock.passed += typed(self, call, usual).key_delay_s * len(str(call.value or ""))
        return ActionPace()

    monkeypatch.setattr(Presenter, "pace", pace)
    left = SLOW_STEPS if slow else 0

    def slowly(event: Event) -> None:
        nonlocal left
        if isinstance(event, StepStarted):
            clock.passed += STEP_S
            if left:
                left -= 1
                clock.passed += SLOW_S

    session.bus.listen(slowly)
    narrator = Narrator(SilentVoice(speed * SPOKEN), clock, speed=speed, sleep=clock.sleep)
    player = FlowPlayer(session, narrator, clock=clock, speed=speed, **options)  # type: ignore[arg-type]
    return await player.play(FLOW), narrator


def _told(presentation: Presentation) -> str:
    """For who reads a failure: what became of every segment."""
    return (
        "\n".join(
            f"{s.segment_id}: {s.status} {s.depth} {s.end_s - s.start_s:.1f} of {s.expected_s or 0:.1f} s"
            f" {s.reason or ''} {s.note or ''} {s.violations or ''}"
            for s in presentation.segments
        )
        + f"\n{presentation.duration_s:.1f} s of {presentation.window}, tempo {presentation.tempo:.2f}"
    )


def _kept(presentation: Presentation) -> None:
    least, most = presentation.window
    assert least is not None
    assert most is not None
    assert presentation.succeeded, _told(presentation)
    assert least <= presentation.duration_s <= most, _told(presentation)
    for segment in presentation.segments:
        if segment.status is SegmentStatus.SKIPPED:
            assert segment.reason, segment.segment_id


@pytest.mark.parametrize(("speed", "slow"), [(0.8, False), (1.0, False), (1.5, False), (1.0, True)])
@pytest.mark.sampled(0.25)
async def test_the_five_minute_demo_ends_within_its_window(visitor, monkeypatch, speed, slow):
    told, _ = await _played(visitor, monkeypatch, speed=speed, slow=slow)
    _kept(told)


@pytest.mark.parametrize(("speed", "slow"), [(0.8, False), (1.0, False), (1.5, False), (1.0, True)])
@pytest.mark.nightly
async def test_it_does_so_in_real_time_too(visitor, tmp_path, speed, slow):
    left = SLOW_STEPS if slow else 0

    async def delayed(route: Route) -> None:
        nonlocal left
        if left and route.request.is_navigation_request():
            left -= 1
            await asyncio.sleep(SLOW_S)
        await route.continue_()

    await visitor.page.route("**/*", delayed)
    began = time.monotonic()

    def clock() -> float:
        return time.monotonic() - began

    overlay = PageOverlay(visitor.page, speed=speed)
    narrator = Narrator(
        find_voice(True, folder=tmp_path, speed=speed), clock, speed=speed, show=overlay.caption
    )
    player = FlowPlayer(visitor, narrator, clock=clock, overlay=overlay, speed=speed)
    told = await player.play(FLOW)
    _kept(told)
