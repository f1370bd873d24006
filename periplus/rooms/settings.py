"""What the environment may set about rooms. Every name begins with `PERIPLUS_LIVEKIT_`."""

from __future__ import annotations

import os

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from periplus.errors import UserError
from periplus.settings import read_settings

SHORTEST_SECRET = 32
"""Bytes: what signing with SHA-256 asks for."""


class RoomSettings(BaseSettings):
    """Read once per command with `load_room_settings`."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_LIVEKIT_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    url: str | None = None
    """Of the LiveKit server, `ws://` or `wss://`; None: there are no rooms."""
    public_url: str | None = None
    """Where visitors' browsers reach it, if that is elsewhere."""
    api_key: str | None = None
    api_secret: SecretStr | None = None
    agent: str = "periplus"
    """The name that presenters are dispatched by."""
    max_rooms: int = Field(default=2, ge=1, le=64)
    """Demos at a time in one worker; each has a browser context, a picture to encode and a voice."""
    arrival_s: float = Field(default=120.0, gt=0)
    """How long a presenter waits in a room that nobody enters."""
    grace_s: float = Field(default=20.0, ge=0)
    """How long a visitor may be gone (a broken connection) before the demo is over."""

    stt: str | None = None
    """Plugin that recognises speech, such as `deepgram` or `deepgram?model=nova-3`; keys as it wants them."""
    llm: str | None = None
    """Plugin that words answers, with the knowledge tools; such as `openai?model=gpt-5-mini`."""
    tts: str | None = None
    """Plugin that speaks; None: espeak-ng."""

    @property
    def reach(self) -> tuple[str, str, str]:
        """URL, key and secret. Raises `UserError` naming what is not set."""
        secret = self.api_secret.get_secret_value() if self.api_secret is not None else None
        missing = [
            f"PERIPLUS_LIVEKIT_{name}"
            for name, value in (("URL", self.url), ("API_KEY", self.api_key), ("API_SECRET", secret))
            if not value
        ]
        if self.url is None or self.api_key is None or secret is None:
            raise UserError(
                f"not set: {', '.join(missing)}", fix="set what docs/livekit.md says, or start without rooms"
            )
        if len(secret.encode()) < SHORTEST_SECRET:
            raise UserError(
                f"PERIPLUS_LIVEKIT_API_SECRET is shorter than {SHORTEST_SECRET} bytes",
                fix="make a longer one: openssl rand -hex 24",
            )
        return self.url, self.api_key, secret


def load_room_settings(**flags: object) -> RoomSettings:
    """The settings of the environment; `flags` that are given go before it.

    `LIVEKIT_URL`, `LIVEKIT_API_KEY` and `LIVEKIT_API_SECRET`, as LiveKit's own tools name them, are read where
    ours are not set. Raises `UserError` naming the variable that is wrong.
    """
    for name in ("url", "api_key", "api_secret"):
        theirs, ours = f"LIVEKIT_{name.upper()}", f"PERIPLUS_LIVEKIT_{name.upper()}"
        if not os.environ.get(ours) and os.environ.get(theirs):
            flags.setdefault(name, os.environ[theirs])
    return read_settings(RoomSettings, flags)
