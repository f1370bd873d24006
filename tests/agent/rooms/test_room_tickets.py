"""Tickets, wishes and settings: what lets a visitor in, and what a presenter is asked for."""

from __future__ import annotations

import json

import pytest
from livekit import api

from periplus.errors import UserError
from periplus.rooms.livekit_plugins import LivekitPlugins
from periplus.rooms.room_settings import RoomSettings, load_room_settings
from periplus.rooms.room_tickets import (
    DispatchMetadata,
    InvalidDispatchMetadata,
    new_ticket,
    parse_dispatch_metadata,
)

SECRET = "s" * 40
SETTINGS = RoomSettings(url="ws://127.0.0.1:7880", api_key="key", api_secret=SECRET)


def test_a_ticket_is_for_one_room_and_asks_for_a_presenter_there():
    ticket = new_ticket(SETTINGS, DispatchMetadata(flow="spadeworks_demo", language="de"), name="Ada")
    claims = api.TokenVerifier("key", SECRET).verify(ticket.token)
    assert (claims.identity, claims.name) == (ticket.identity, "Ada")
    assert claims.video.room == ticket.room
    assert claims.video.room_join
    assert claims.video.can_publish_sources == ["microphone"]
    assert not any((claims.video.room_admin, claims.video.room_create, claims.video.room_list))
    (dispatch,) = claims.room_config.agents
    assert dispatch.agent_name == "periplus"
    assert parse_dispatch_metadata(dispatch.metadata) == DispatchMetadata(
        flow="spadeworks_demo", language="de"
    )


def test_rooms_and_visitors_are_not_to_be_guessed_and_never_the_same():
    tickets = [new_ticket(SETTINGS) for _ in range(20)]
    assert len({each.room for each in tickets}) == len({each.identity for each in tickets}) == 20
    assert all(len(each.room) > 16 for each in tickets)


def test_a_ticket_shows_its_token_to_nobody_who_prints_it():
    ticket = new_ticket(SETTINGS)
    assert ticket.token not in repr(ticket)
    assert SECRET not in repr(SETTINGS)


def test_visitors_are_sent_where_they_reach_the_server():
    settings = SETTINGS.model_copy(update={"public_url": "wss://rooms.example.com"})
    assert new_ticket(settings).url == "wss://rooms.example.com"
    assert new_ticket(SETTINGS).url == "ws://127.0.0.1:7880"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (RoomSettings(), "PERIPLUS_LIVEKIT_URL, PERIPLUS_LIVEKIT_API_KEY, PERIPLUS_LIVEKIT_API_SECRET"),
        (RoomSettings(url="ws://x", api_key="k"), "not set: PERIPLUS_LIVEKIT_API_SECRET"),
        (RoomSettings(url="ws://x", api_key="k", api_secret="short"), "shorter than 32 bytes"),
    ],
)
def test_what_is_not_set_up_is_told_by_its_name(settings: RoomSettings, told: str):
    with pytest.raises(UserError, match=told):
        new_ticket(settings)


def test_the_names_of_livekits_own_tools_are_read_where_ours_are_not_set(monkeypatch: pytest.MonkeyPatch):
    for name, value in (("URL", "ws://theirs"), ("API_KEY", "theirs"), ("API_SECRET", SECRET)):
        monkeypatch.setenv(f"LIVEKIT_{name}", value)
    monkeypatch.setenv("PERIPLUS_LIVEKIT_URL", "ws://ours")
    assert load_room_settings().reach == ("ws://ours", "theirs", SECRET)


@pytest.mark.parametrize("metadata", ["", "  ", "{}"])
def test_a_dispatch_that_says_nothing_gets_the_usual(metadata: str):
    assert parse_dispatch_metadata(metadata) == DispatchMetadata()


@pytest.mark.parametrize(
    ("metadata", "where"),
    [
        ("nonsense", "the metadata"),
        (json.dumps({"flwo": "x"}), "flwo"),
        (json.dumps({"speed": 0}), "speed"),
        (json.dumps({"flow": "x" * 300}), "flow"),
    ],
)
def test_a_dispatch_that_is_not_understood_says_where(metadata: str, where: str):
    with pytest.raises(InvalidDispatchMetadata, match=where):
        parse_dispatch_metadata(metadata)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nobody_has_this", "not installed"),
        ("os; rm", "not a valid plugin name"),
        ("../x", "not a valid plugin name"),
    ],
)
def test_a_plugin_that_is_not_there_is_told_before_anything_starts(name: str, told: str):
    with pytest.raises(UserError, match=told) as refused:
        LivekitPlugins.from_settings(RoomSettings(stt=name))
    assert "PERIPLUS_LIVEKIT_STT" in str(refused.value)


def test_without_plugins_nothing_is_plugged_in():
    plugins = LivekitPlugins.from_settings(RoomSettings())
    assert (plugins.stt(), plugins.llm(), plugins.tts()) == (None, None, None)
