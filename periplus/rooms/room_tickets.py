"""Creates tickets that let one visitor into one room, and request a presenter there with dispatch metadata.

Needs no extra: a ticket is a signed token that LiveKit servers accept.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import jwt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from periplus.rooms.room_settings import RoomSettings


class DispatchMetadata(BaseModel):
    """The metadata of a dispatch, as JSON. Missing fields get the flow's values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    flow: str | None = Field(default=None, max_length=200)
    language: str | None = Field(default=None, max_length=35)
    speed: float = Field(default=1.0, gt=0, le=3)


class InvalidDispatchMetadata(ValueError):
    """The metadata of a dispatch is invalid; the message names the field."""


def parse_dispatch_metadata(metadata: str) -> DispatchMetadata:
    """Return the parsed metadata; without metadata, the defaults. Raises `InvalidDispatchMetadata`."""
    if not metadata.strip():
        return DispatchMetadata()
    try:
        return DispatchMetadata.model_validate_json(metadata)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the metadata"
        raise InvalidDispatchMetadata(f"{where}: {first['msg']}") from exc


VALID_S = 3_600
"""Validity in seconds for entering; visitors in the room may stay."""
MOST_VISITORS = 10


@dataclass(frozen=True, slots=True)
class RoomTicket:
    """What a visitor's browser needs to enter."""

    url: str
    token: str = field(repr=False)
    room: str
    identity: str


def new_ticket(
    settings: RoomSettings,
    wishes: DispatchMetadata | None = None,
    *,
    room: str | None = None,
    name: str = "",
    valid_s: int = VALID_S,
) -> RoomTicket:
    """Return a ticket for `room`, which requests a presenter there. None: a new room with an unguessable
    name.

    Its holder may listen, watch, speak and write in the room. Raises `UserError` if rooms are not configured.
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
                "metadata": (wishes or DispatchMetadata()).model_dump_json(exclude_defaults=True),
            }
        ],
    }
    token = sign_room_token(
        key,
        secret,
        room,
        identity,
        grants | {"canPublishSources": ["microphone"]},
        config,
        name=name,
        valid_s=valid_s,
    )
    return RoomTicket(settings.public_url or url, token, room, identity)


def sign_room_token(
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
    """Return a token for entering `room`, as LiveKit servers accept it; `config` applies to a new room."""
    now = int(time.time())
    claims = {
        "iss": key,
        "sub": identity,
        "name": name,
        "nbf": now - 10,
        "exp": now + valid_s,
        "video": {"roomJoin": True, "room": room, **grants},
        "roomConfig": dict(config),
    }
    return jwt.encode(claims, secret, algorithm="HS256")
