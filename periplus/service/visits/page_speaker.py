"""Plays the presenter's voice in visitors' pages: announces an utterance, and pages fetch its sound."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from agent.media.voice import Speech
from periplus.service.visits.visit_feed import VisitFeed

KEPT = 8
"""Number of utterances kept for fetching; pages do not fetch old ones."""


class PageSpeaker:
    """`agent.presentation.narration.narrator.Speaker` for pages with sound enabled."""

    def __init__(self, feed: VisitFeed) -> None:
        self._feed = feed
        self._kept: OrderedDict[int, Path] = OrderedDict()
        self._number = 0

    async def play(self, speech: Speech) -> None:
        """Announce an utterance to the pages, which start playing it as soon as it is loaded."""
        if speech.wav is None:
            return
        self._number += 1
        self._kept[self._number] = speech.wav
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        data = {"id": self._number, "duration_s": round(speech.duration_s, 3)}
        self._feed.add("speech", data, passing=True)

    async def stop(self) -> None:
        """Tell the pages to stop playing."""
        self._feed.add("hush", passing=True)

    def wav(self, number: int) -> Path | None:
        """Return the sound of an utterance; None if it is not kept any more."""
        return self._kept.get(number)
