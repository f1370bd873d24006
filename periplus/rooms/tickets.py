"""Tickets: what lets one visitor into one room, and asks for a presenter there.

Needs no extra: a ticket is a signed token, as LiveKit's servers read it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import jwt

from periplus.rooms.settings import RoomSettings
from periplus.rooms.wishes import Wishes

VALID_S = 3_600
"""To enter with; who is in the room may stay."""
MOST_VISITORS = 10


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a visitor's browser needs."""

    url: str
    token: str = field(repr=False)
    room: str
    identity: str


def new_ticket(
    settings: RoomSettings,
    wishes: Wishes | None = None,
    *,
    room: str | None = None,
    name: str = "",
    valid_s: int = VALID_S,
) -> Ticket:
    """A ticket for `room` (None: a new one, its name not to be guessed), in which a presenter will be.

    It lets its holder listen, watch, speak and write there, and nothing else. Raises `UserError` where
    rooms are not set up.
    """
    url, key, secret = settings.reach
    room = room or f"demo-{secrets.token_urlsafe(12)}"
    identity = f"visitor-{secrets.token_urlsafe(6)}"
    grants = {"canSubscribe": True, "canPublish": True, "canPublishData": True}
    config = {
        "maxParticipants": MOST_VISITORS + 1,
        "emptyTimeout": 60,
        "departureTimeout": 20,
        "agents": [
            {
                "agentName": settings.agent,
                "metadata": (wishes or Wishes()).model_dump_json(exclude_defaults=True),
            }
        ],
    }
    token = signed(
        key, secret, room, identity, grants | {"canPublishSources": ["microphone"]}, config,
        name=name, valid_s=valid_s,
    )  # fmt: skip
    return Ticket(settings.public_url or url, token, room, identity)


def signed(
    key: str,
    secret: str,
    room: str,
    identity: str,
    grants: Mapping[str, object],
    config: Mapping[str, object],
    *,
    name: str = "",
    valid_s: int = VALID_S,
) -> str:
    """A token to enter `room` with, as LiveKit's servers read it; `config` is for a room that is not there yet."""
    now = int(time.time())
    claims = {
        "iss": key, "sub": identity, "name": name, "nbf": now - 10, "exp": now + valid_s,
        "video": {"roomJoin": True, "room": room, **grants},
        "roomConfig": dict(config),
    }  # fmt: skip
    return jwt.encode(claims, secret, algorithm="HS256")
