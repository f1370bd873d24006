"""The resilience settings of runs from the environment: WR's configuration, prefixed with `PERIPLUS_`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from kb_schema.base import LocalId, Probability, Seconds
from kb_schema.resilience_policy import MAX_TOTAL_REPLANS, ResiliencePolicy
from periplus.settings import read_settings

_USUAL = ResiliencePolicy()


class ResilienceSettings(BaseSettings):
    """The settings, with the names, meanings and defaults of `ResiliencePolicy`."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    max_retries: int = Field(default=_USUAL.max_retries, ge=0, le=10)
    max_replans_per_step: int = Field(default=_USUAL.max_replans_per_step, ge=0, le=999)
    max_total_replans: int = Field(default=_USUAL.max_total_replans, ge=0, le=MAX_TOTAL_REPLANS)
    enable_replanning: bool = _USUAL.enable_replanning
    enable_degradation: bool = _USUAL.enable_degradation
    allow_early_exit: bool = _USUAL.allow_early_exit
    min_acceptable_completion: float = Field(default=_USUAL.min_acceptable_completion, ge=0, le=100)
    min_success_confidence: Probability = _USUAL.min_success_confidence
    run_timeout_s: Seconds | None = _USUAL.timeout_s
    """WR `timeout`."""
    step_timeout_s: Seconds = _USUAL.step_timeout_s
    critical_steps: Annotated[tuple[LocalId, ...], NoDecode] = _USUAL.critical_steps
    """Ids, separated by commas."""

    @field_validator("critical_steps", mode="before")
    @classmethod
    def _between_commas(cls, value: Any) -> Any:
        return (
            tuple(filter(None, (part.strip() for part in value.split(","))))
            if isinstance(value, str)
            else value
        )


def load_resilience_policy() -> ResiliencePolicy:
    """Return the policy for websites and tasks without their own. Raises `UserError` with an invalid variable's name."""
    settings = dict(read_settings(ResilienceSettings, {}))
    return ResiliencePolicy(timeout_s=settings.pop("run_timeout_s"), **settings)
