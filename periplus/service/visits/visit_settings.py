"""Settings of demos for visitors from the environment (`PERIPLUS_VISIT_...`), and the LiveKit client for pages.

`make setup` bundles LiveKit's JavaScript client with Node; it is not part of this package.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from periplus.settings import read_settings

_ORIGIN = re.compile(r"(https://[a-z0-9.-]+|http://(localhost|127\.0\.0\.1))(:\d{1,5})?", re.IGNORECASE)


class VisitSettings(BaseSettings):
    """Read once, when the service starts."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_VISIT_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    at_once: int = Field(default=2, ge=1, le=64)
    """Most concurrent demos; each has a browser context. Further visitors must wait."""
    links: int = Field(default=1_000, ge=1, le=100_000)
    """Most links that are valid at the same time."""
    hours: float = Field(default=72.0, gt=0, le=8_760)
    """Default validity of a link."""
    shows: int = Field(default=10, ge=1, le=10_000)
    """How often the demo of one link may be started."""
    minutes: float = Field(default=30.0, gt=0, le=600)
    """Longest duration of a demo."""
    absent_s: float = Field(default=60.0, gt=0, le=3_600)
    """A demo ends when it had no viewers for this long."""
    says_per_minute: int = Field(default=60, ge=1, le=10_000)
    """Most words and buttons of one visit per minute."""
    public_url: str | None = None
    """Base URL of the service for visitors, if it differs from the one used to create links:
    `https://demo.example.com`.
    """
    embed_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Origins, separated by commas, whose pages may show a visitor's page in a frame: `https://www.example.com`."""

    @field_validator("embed_origins", mode="before")
    @classmethod
    def _origins(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        named = tuple(each.strip().rstrip("/") for each in value.split(",") if each.strip())
        for each in named:
            if not _ORIGIN.fullmatch(each):
                raise ValueError(f"expected origins such as https://www.example.com, found {each!r}")
        return named


def load_visit_settings() -> VisitSettings:
    """Return the settings of the environment. Raises `UserError` with the name of the invalid variable."""
    return read_settings(VisitSettings, {})


BUNDLE = Path(".tools/livekit-client/livekit-client.umd.js")
"""Path in a checkout; `PERIPLUS_LIVEKIT_CLIENT` names another file."""


@cache
def find_livekit_client() -> Path | None:
    """Return the LiveKit client's path; None if it is missing: the page then shows its plain picture stream."""
    named = os.environ.get("PERIPLUS_LIVEKIT_CLIENT")
    path = Path(named) if named else Path(__file__).parents[3] / BUNDLE
    return path if path.is_file() else None
