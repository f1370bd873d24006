"""What travels through a room beside sound and picture: topics, and what is said on them (docs/livekit.md)."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

from agent.events import Event
from agent.presenting.floor import PaceChanged, SpeechStopped
from agent.presenting.records import (
    Answered,
    Declined,
    SegmentEnded,
    SegmentStarted,
    TookDetour,
    Understood,
    VisitorIntroduced,
)

CHAT = "lk.chat"
"""Text streams of visitors: what they type."""
TRANSCRIPTION = "lk.transcription"
"""Text streams of the presenter: one per utterance, its words as they are heard."""
EVENTS = "periplus.events"
"""Text streams of the presenter: one JSON object each."""
BUTTONS = "periplus.buttons"
"""Data packets of visitors: the name of a button."""

SEGMENT_ID = "lk.segment_id"
TRACK_ID = "lk.transcribed_track_id"
FINAL = "lk.transcription_final"
CUT = "periplus.cut"
"""Attribute at the end of an utterance: `true` where it was cut short."""

BUTTON_WORDS = {
    "skip": "skip",
    "back": "go back",
    "pause": "pause",
    "continue": "continue",
    "slower": "slower",
    "faster": "faster",
    "repeat": "repeat that",
    "stop": "stop",
}
"""What pressing a button says. The button `ask` says nothing: the presenter falls silent and listens."""
ASK = "ask"

TOLD: tuple[type[Event], ...] = (
    SegmentStarted,
    SegmentEnded,
    Understood,
    Answered,
    Declined,
    SpeechStopped,
    PaceChanged,
    TookDetour,
    VisitorIntroduced,
)
"""What visitors are told of the show."""

_HUMP = re.compile(r"(?<!^)(?=[A-Z])")


def message_of(event: Event) -> str | None:
    """An event as visitors are told it: `{"event": "segment_started", ...}`; None where it is not for them."""
    if not isinstance(event, TOLD):
        return None
    values: dict[str, Any] = {each.name: getattr(event, each.name) for each in fields(event)}
    return note(_HUMP.sub("_", type(event).__name__).lower(), **values)


def note(event: str, /, **values: Any) -> str:
    """A message on `EVENTS`."""
    return json.dumps({"event": event, **values}, ensure_ascii=False, default=str)
