"""What the environment may set about demos for visitors: `PERIPLUS_VISIT_...`."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from periplus.settings import read_settings


class VisitSettings(BaseSettings):
    """Read once, when the service starts."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_VISIT_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    at_once: int = Field(default=2, ge=1, le=64)
    """Demos that are shown at the same time; each has a browser context. Others are asked to wait."""
    links: int = Field(default=1_000, ge=1, le=100_000)
    """Links that are good at the same time."""
    hours: float = Field(default=72.0, gt=0, le=8_760)
    """How long a link is good where its maker does not say."""
    shows: int = Field(default=10, ge=1, le=10_000)
    """How often the demo behind one link may be started."""
    minutes: float = Field(default=30.0, gt=0, le=600)
    """The longest a demo goes on."""
    absent_s: float = Field(default=60.0, gt=0, le=3_600)
    """A demo that nobody has watched for so long ends."""
    says_per_minute: int = Field(default=60, ge=1, le=10_000)
    """Words and buttons of one visit."""
    public_url: str | None = None
    """How visitors reach the service, where that is not how the maker of a link does: `https://demo.example.com`."""


def load_visit_settings() -> VisitSettings:
    """The settings of the environment. Raises `UserError` naming the variable that is wrong."""
    return read_settings(VisitSettings, {})
