"""docs/livekit.md says what there is."""

from __future__ import annotations

import re
from pathlib import Path

from agent.rooms import room_topics
from periplus.rooms.room_presentation import RoomStayOutcome
from periplus.rooms.room_settings import RoomSettings
from periplus.rooms.room_tickets import DispatchMetadata, parse_dispatch_metadata

TEXT = (Path(__file__).parents[3] / "docs" / "livekit.md").read_text(encoding="utf-8")


def test_every_setting_is_on_the_page_and_every_one_on_the_page_there_is():
    settings = {f"PERIPLUS_LIVEKIT_{name.upper()}" for name in RoomSettings.model_fields}
    assert set(re.findall(r"PERIPLUS_LIVEKIT_[A-Z_]+", TEXT)) == settings


def test_the_page_names_the_defaults_as_they_are():
    fields = RoomSettings.model_fields
    for name in ("agent", "max_rooms", "arrival_s", "grace_s"):
        (line,) = [
            line for line in TEXT.splitlines() if line.startswith(f"| `PERIPLUS_LIVEKIT_{name.upper()}`")
        ]
        default = fields[name].default
        assert f"default {default:g}" in line if isinstance(default, float) else str(default) in line


def test_every_topic_button_and_event_is_on_the_page():
    for topic in (
        room_topics.CHAT,
        room_topics.TRANSCRIPTION,
        room_topics.EVENTS,
        room_topics.BUTTONS,
        room_topics.CUT,
        room_topics.FINAL,
    ):
        assert f"`{topic}`" in TEXT
    for button in (*room_topics.BUTTON_WORDS, room_topics.ASK_BUTTON):
        assert f"`{button}`" in TEXT
    told = {re.sub(r"(?<!^)(?=[A-Z])", "_", each.__name__).lower() for each in room_topics.VISITOR_EVENTS}
    assert {event for event in told if f"`{event}`" not in TEXT} == set()


def test_the_metadata_on_the_page_is_understood():
    (metadata,) = re.findall(r'`(\{"flow".*?\})`', TEXT)
    assert parse_dispatch_metadata(metadata) == DispatchMetadata(
        flow="spadeworks_demo", language="de", speed=1.2
    )
    assert f"`{RoomStayOutcome.TOLD}`" in TEXT
