"""Defines the text messages in a room: topics and their contents (docs/livekit.md)."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

from agent.events import Event
from agent.presentation.presentation_records import (
    Answered,
    Declined,
    SegmentEnded,
    SegmentStarted,
    TookDetour,
    Understood,
    VisitorIntroduced,
)
from agent.presentation.turn_manager import PaceChanged, SpeechStopped

CHAT = "lk.chat"
"""Text streams of visitors: typed words."""
TRANSCRIPTION = "lk.transcription"
"""Text streams of the presenter: one per utterance, each word sent when it is spoken."""
EVENTS = "periplus.events"
"""Text streams of the presenter: one JSON object each."""
BUTTONS = "periplus.buttons"
"""Data packets of visitors: the name of a button."""

SEGMENT_ID = "lk.segment_id"
TRACK_ID = "lk.transcribed_track_id"
FINAL = "lk.transcription_final"
CUT = "periplus.cut"
"""Attribute at the end of an utterance: `true` if it was interrupted."""

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
"""Words that a button stands for. The button `ask` has none: the presenter stops and listens."""
ASK_BUTTON = "ask"

VISITOR_EVENTS: tuple[type[Event], ...] = (
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
"""Events that visitors receive."""

_HUMP = re.compile(r"(?<!^)(?=[A-Z])")


def render_event(event: Event) -> str | None:
    """Return an event as a message, `{"event": "segment_started", ...}`; None if visitors do not receive it."""
    if not isinstance(event, VISITOR_EVENTS):
        return None
    values: dict[str, Any] = {each.name: getattr(event, each.name) for each in fields(event)}
    return render_message(_HUMP.sub("_", type(event).__name__).lower(), **values)


def render_message(event: str, /, **values: Any) -> str:
    """Return a message for the topic `EVENTS`."""
    return json.dumps({"event": event, **values}, ensure_ascii=False, default=str)
