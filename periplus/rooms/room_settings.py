"""Settings of rooms from the environment. Every name begins with `PERIPLUS_LIVEKIT_`."""

from __future__ import annotations

import os

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from periplus.errors import UserError
from periplus.settings import read_settings

SHORTEST_SECRET = 32
"""Minimum length in bytes, as signing with SHA-256 requires."""


class RoomSettings(BaseSettings):
    """Read once per command with `load_room_settings`."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_LIVEKIT_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    url: str | None = None
    """URL of the LiveKit server, `ws://` or `wss://`; None: rooms are disabled."""
    public_url: str | None = None
    """URL of the server for visitors' browsers, if different."""
    api_key: str | None = None
    api_secret: SecretStr | None = None
    agent: str = "periplus"
    """Agent name under which presenters are dispatched."""
    max_rooms: int = Field(default=2, ge=1, le=64)
    """Concurrent demos of one worker; each needs a browser context, video encoding and a voice."""
    arrival_s: float = Field(default=120.0, gt=0)
    """Seconds a presenter waits in an empty room."""
    grace_s: float = Field(default=20.0, ge=0)
    """Seconds a visitor may be disconnected before the demo ends."""

    stt: str | None = None
    """Plugin for speech recognition, such as `deepgram` or `deepgram?model=nova-3`; its key is set in its own
    variable.
    """
    llm: str | None = None
    """Plugin for answers, with the knowledge tools; such as `openai?model=gpt-5-mini`."""
    tts: str | None = None
    """Plugin for speech synthesis; None: espeak-ng."""

    @property
    def reach(self) -> tuple[str, str, str]:
        """Return URL, key and secret. Raises `UserError` with the names of missing variables."""
        secret = self.api_secret.get_secret_value() if self.api_secret is not None else None
        missing = [
            f"PERIPLUS_LIVEKIT_{name}"
            for name, value in (("URL", self.url), ("API_KEY", self.api_key), ("API_SECRET", secret))
            if not value
        ]
        if self.url is None or self.api_key is None or secret is None:
            raise UserError(
                f"not set: {', '.join(missing)}",
                fix="set the variables as described in docs/livekit.md, or start without rooms",
            )
        if len(secret.encode()) < SHORTEST_SECRET:
            raise UserError(
                f"PERIPLUS_LIVEKIT_API_SECRET is shorter than {SHORTEST_SECRET} bytes",
                fix="generate a longer one: openssl rand -hex 24",
            )
        return self.url, self.api_key, secret


def load_room_settings(**flags: object) -> RoomSettings:
    """Return the settings of the environment, overridden by `flags` that are given.

    `LIVEKIT_URL`, `LIVEKIT_API_KEY` and `LIVEKIT_API_SECRET`, the names LiveKit's own tools use, are read if
    ours are not set. Raises `UserError` with the name of the invalid variable.
    """
    for name in ("url", "api_key", "api_secret"):
        theirs, ours = f"LIVEKIT_{name.upper()}", f"PERIPLUS_LIVEKIT_{name.upper()}"
        if not os.environ.get(ours) and os.environ.get(theirs):
            flags.setdefault(name, os.environ[theirs])
    return read_settings(RoomSettings, flags)
