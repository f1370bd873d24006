"""From a visitor's side, in a real room: hearing, seeing, interrupting, asking, leaving."""

from __future__ import annotations

import io
import time
from pathlib import Path

import av
import numpy as np
import pytest

from agent.media.voice import EspeakVoice
from periplus.rooms.room_presentation import RoomStayOutcome
from tests.support.room_house import open_house
from tests.support.room_visitor import entered, small

QUIET, LOUD = 60.0, 400.0
"""Loudness of silence and of speech, in the units of 16-bit samples; speech is some 2,000."""
SILENCE = 0.3
"""Seconds that are quiet in each pause."""
ALIKE = 6.0
"""Levels of 255 by which a frame may differ from the page, on average: codecs lose a little."""


@pytest.mark.always
@pytest.mark.timeout(240)
@pytest.mark.usefixtures("espeak")
async def test_a_visitor_hears_sees_interrupts_asks_and_comes_to_the_end(
    livekit_server, environment, tmp_path: Path
):
    question = await EspeakVoice(tmp_path / "visitor", voice="en-us").synthesize(
        "Excuse me, I have a question about this."
    )
    async with open_house(livekit_server, environment) as house:
        ticket = house.ticket(speed=2)
        async with entered(ticket) as visitor:
            show = await house.show_in(ticket)
            began = time.monotonic() - show.clock()
            await visitor.event("segment_ended", segment_id="introduction", status="shown")

            # by voice: speech stops; nothing was understood, so it goes on
            talking = await visitor.until(lambda: [s for s in visitor.said if "sign in" in s.text], "sign in")
            await visitor.speak(question.wav)
            await visitor.event("speech_stopped")
            await visitor.until(lambda: talking[0].over, "the cut utterance")

            # by chat: a question, answered from the knowledge, in the transcript
            await visitor.event("segment_started", segment_id="dashboard_overview")
            await visitor.type("What languages does it speak?")
            answered = await visitor.event("answered")
            words = " ".join(answered["answer"].split()[:4])
            await visitor.until(lambda: any(words in s.text for s in visitor.said), "the answer, aloud")

            # a pause: nothing moves, so a frame can be compared with the page
            await visitor.event("segment_started", segment_id="agent_creation_demo")
            await visitor.press("pause")
            await visitor.event("understood", request="pause")
            difference = await _settled_difference(visitor, show)
            assert difference < ALIKE, "the picture in the room is not the page"
            await visitor.press("continue")

            await visitor.event("segment_ended", segment_id="closing", status="shown")
            ended = await visitor.event("ended")
            stay = await house.stay_in(ticket)

        assert ended["outcome"] == "told"
        assert stay.outcome is RoomStayOutcome.TOLD, stay.reason
        assert stay.presentation.succeeded
        _was_heard_when_it_was_said(visitor, show, began)
        _was_seen_to_change(visitor, show, began)


def _was_heard_when_it_was_said(visitor, show, began) -> None:
    """Sound where there was narration, and a silence at the end of each pause. The room is late by half a second, on a busy
    machine by more: a sound may reach into the pause after it, but not into its second half.
    """
    spoken = [each for each in show.narrator.spoken if each.duration_s > 1.2]
    assert len(spoken) >= 6
    for each in spoken:
        start, end = began + each.start_s, began + each.start_s + each.duration_s
        assert visitor.loud(start + 0.5, end + 1.0) > LOUD, f"not heard: {each.text}"
    gaps = [
        (before.start_s + before.duration_s, after.start_s)
        for before, after in zip(show.narrator.spoken, show.narrator.spoken[1:], strict=False)
    ]
    pauses = [(a, b) for a, b in gaps if b - a > 1.8]
    assert pauses
    for since, until in pauses:
        windows = np.arange((since + until) / 2, until - SILENCE, SILENCE / 2)
        quietest = min(visitor.loud(began + at, began + at + SILENCE) for at in windows)
        assert quietest < QUIET, f"no silence between {since:.1f} and {until:.1f} s"


def _was_seen_to_change(visitor, show, began) -> None:
    """Each segment that goes to another page shows other pictures."""
    pages = [each for each in show.presentation.segments if each.screens]
    assert len(pages) >= 3
    last = []
    for each in pages:
        seen = [picture for at, picture in visitor.pictures if at - began <= each.end_s]
        last.append(seen[-1])
    assert len(set(last)) >= 3
    assert len({picture for _, picture in visitor.pictures}) > 10


async def _settled_difference(visitor, show) -> float:
    """How far the newest frame is from the page: levels of 255, on average. A room needs a moment."""
    for _ in range(20):
        page = await show.session.page.screenshot(type="jpeg", quality=95, scale="css")
        await visitor.another_picture()
        with av.open(io.BytesIO(page), mode="r", format="mjpeg") as container:
            shot = next(container.decode(video=0)).to_ndarray(format="rgb24")
        assert float(np.abs(small(shot).astype(int) - 255).mean()) > 5.0, "an empty page shows nothing"
        difference = float(np.abs(visitor.newest.astype(int) - shot.astype(int)).mean())
        if difference < ALIKE:
            return difference
    return difference
