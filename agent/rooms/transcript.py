"""What the presenter says, as text: each utterance a text stream, each word on it when it is heard."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from itertools import count

from livekit import rtc

from agent.media.voice import Speech, Word
from agent.presenting.narrator import SpeakerGone
from agent.rooms.topics import CUT, FINAL, SEGMENT_ID, TRACK_ID, TRANSCRIPTION

LOG = logging.getLogger(__name__)
TOGETHER_S = 0.4
"""Words that begin this shortly after one another travel together."""


class Transcript:
    """A `Speaker` for those who read. What was cut short is not in it."""

    def __init__(self, room: rtc.Room, track_sid: str) -> None:
        """`track_sid`: the track on which the words are heard."""
        self._room, self._track_sid = room, track_sid
        self._numbers = count(1)
        self._silence = asyncio.Event()
        self._writing: set[asyncio.Task[None]] = set()

    async def play(self, speech: Speech) -> None:
        """Begin a new stream. Raises `SpeakerGone` where the room is left."""
        await self.stop()
        self._silence = asyncio.Event()
        task = asyncio.create_task(self._write(speech, self._silence), name="transcript")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def stop(self) -> None:
        """End the stream after the words that were heard by now. Raises `SpeakerGone`."""
        self._silence.set()
        if not self._room.isconnected():
            raise SpeakerGone("the room was left")

    async def close(self) -> None:
        """Nothing more is written. May be called again."""
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
            for at_s, words in grouped(speech):
                if await _silent_before(silence, began + at_s - loop.time()):
                    break
                await writer.write(words)
            cut = await _silent_before(silence, began + speech.duration_s - loop.time())
            await writer.aclose(attributes={FINAL: "true", CUT: str(cut).lower()})
        except rtc.StreamError as exc:
            LOG.info("the transcript ends early: %s", exc)


async def _silent_before(silence: asyncio.Event, seconds: float) -> bool:
    """Wait so long, or until silence is asked for; whether it was."""
    if seconds > 0 and not silence.is_set():
        try:
            await asyncio.wait_for(silence.wait(), seconds)
        except TimeoutError:
            return False
    return silence.is_set()


def grouped(speech: Speech) -> Iterator[tuple[float, str]]:
    """Words to write at a time of their speech (seconds): a few together, spaces where they belong."""
    words = list(speech.words) or [Word(speech.text, 0.0)]
    group: list[Word] = []
    first = True
    for word in words:
        if group and word.start_s - group[0].start_s > TOGETHER_S:
            yield group[0].start_s, ("" if first else " ") + " ".join(each.text for each in group)
            group, first = [], False
        group.append(word)
    yield group[0].start_s, ("" if first else " ") + " ".join(each.text for each in group)
