"""Sends the presenter's words as text: one text stream per utterance, each word when it is spoken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from itertools import count

from livekit import rtc

from agent.media.voice import Speech, SpokenWord
from agent.presentation.narration.narrator import SpeakerGone
from agent.rooms.room_topics import CUT, FINAL, SEGMENT_ID, TRACK_ID, TRANSCRIPTION

LOG = logging.getLogger(__name__)
TOGETHER_S = 0.4
"""Words that start within this many seconds are sent together."""


class SpeechTranscript:
    """A `Speaker` that sends text. Words after an interruption are not sent."""

    def __init__(self, room: rtc.Room, track_sid: str) -> None:
        """`track_sid`: the track on which the words are heard."""
        self._room, self._track_sid = room, track_sid
        self._numbers = count(1)
        self._silence = asyncio.Event()
        self._writing: set[asyncio.Task[None]] = set()

    async def play(self, speech: Speech) -> None:
        """Start a new stream. Raises `SpeakerGone` if the room was left."""
        await self.stop()
        self._silence = asyncio.Event()
        task = asyncio.create_task(self._write(speech, self._silence), name="transcript")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def stop(self) -> None:
        """End the stream after the words heard so far. Raises `SpeakerGone`."""
        self._silence.set()
        if not self._room.isconnected():
            raise SpeakerGone("the room was left")

    async def close(self) -> None:
        """Stop sending. May be called again."""
        self._silence.set()
        for task in tuple(self._writing):
            task.cancel()
        await asyncio.gather(*self._writing, return_exceptions=True)

    async def _write(self, speech: Speech, silence: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            writer = await self._room.local_participant.stream_text(
                topic=TRANSCRIPTION,
                attributes={
                    SEGMENT_ID: f"S{next(self._numbers)}",
                    TRACK_ID: self._track_sid,
                    FINAL: "false",
                },
            )
            for at_s, words in group_words(speech):
                if await _wait_for_silence(silence, began + at_s - loop.time()):
                    break
                await writer.write(words)
            cut = await _wait_for_silence(silence, began + speech.duration_s - loop.time())
            await writer.aclose(attributes={FINAL: "true", CUT: str(cut).lower()})
        except rtc.StreamError as exc:
            LOG.info("the transcript ends early: %s", exc)


async def _wait_for_silence(silence: asyncio.Event, seconds: float) -> bool:
    """Wait for that many seconds; return False if speech was stopped meanwhile."""
    if seconds > 0 and not silence.is_set():
        try:
            await asyncio.wait_for(silence.wait(), seconds)
        except TimeoutError:
            return False
    return silence.is_set()


def group_words(speech: Speech) -> Iterator[tuple[float, str]]:
    """Yield (seconds, words): words that start close together are joined, with spaces between them."""
    words = list(speech.words) or [SpokenWord(speech.text, 0.0)]
    group: list[SpokenWord] = []
    first = True
    for word in words:
        if group and word.start_s - group[0].start_s > TOGETHER_S:
            yield group[0].start_s, ("" if first else " ") + " ".join(each.text for each in group)
            group, first = [], False
        group.append(word)
    yield group[0].start_s, ("" if first else " ") + " ".join(each.text for each in group)
