"""The presenter's voice in a page: the page is told what to play, and fetches it."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from agent.media.voice import Speech
from periplus.service.visiting.feed import Feed

KEPT = 8
"""Utterances that can be fetched: one that is over is not asked for any more."""


class PageSpeaker:
    """`agent.presenting.narrator.Speaker` for whoever has the page open with its sound on."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._kept: OrderedDict[int, Path] = OrderedDict()
        self._number = 0

    async def play(self, speech: Speech) -> None:
        """Tell the pages; they begin as soon as they have it."""
        if speech.wav is None:
            return
        self._number += 1
        self._kept[self._number] = speech.wav
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        data = {"id": self._number, "duration_s": round(speech.duration_s, 3)}
        self._feed.tell("speech", data, passing=True)

    async def stop(self) -> None:
        """Tell the pages to be silent now."""
        self._feed.tell("hush", passing=True)

    def wav(self, number: int) -> Path | None:
        """The sound of an utterance; None where it is not kept (any more)."""
        return self._kept.get(number)
