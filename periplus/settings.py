"""The settings from the environment. Every name begins with `PERIPLUS_`."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from agent import retry_limits
from agent.browser.browser_profile import SandboxMode
from kb_schema.base import LONGEST_TIMEOUT_S
from kb_schema.objectives import DEFAULT_OBJECTIVE, Objective
from periplus.errors import UserError
from periplus.foreign_input import DEFAULT_BUDGET

SettingsT = TypeVar("SettingsT", bound=BaseSettings)


class PeriplusSettings(BaseSettings):
    """The settings; each command reads them once with `load_settings`."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    data_dir: Path = Path(".periplus")
    """The folder of the embedded stores, logs and runs."""
    mongodb_url: SecretStr | None = None
    """A MongoDB for documents instead of the embedded store; may contain a password."""
    arangodb_url: SecretStr | None = None
    """An ArangoDB for the graph; may contain a password."""
    max_heal_rounds: int = Field(default=retry_limits.HEALING_ROUNDS, ge=0, le=10)
    """Maximum number of healing rounds for a missing element (PACTS); 0: no healing."""
    objective: Objective = DEFAULT_OBJECTIVE
    """By what paths between screens are chosen, if neither `--objective` nor the task says it (KS 9.6)."""
    max_import_memory: int = Field(default=DEFAULT_BUDGET.memory_mb, ge=64)
    """Memory in MB that reading files may use, if a command has no `--max-import-memory`."""
    max_import_seconds: int = Field(default=DEFAULT_BUDGET.seconds, ge=1)
    """Processor time that reading files may use, if a command has no `--max-import-seconds`."""
    playwright_timeout: int | None = Field(default=None, gt=0, le=int(LONGEST_TIMEOUT_S * 1_000))
    """Milliseconds that an element and an expected outcome of `verify` may take (PACTS); unset: 5000."""
    playwright_headless: bool = True
    """Whether `verify` shows no browser, if it has neither `--headed` nor `--headless` (PACTS)."""
    step_pictures: bool = True
    """Whether `run` takes a picture of the page after each step, for the console, if it has no `--pictures`."""
    heal_timeout_ms: int = Field(default=60_000, gt=0)
    """Milliseconds after which no further round heals a step of `verify` (PACTS)."""
    requirement_timeout: float = Field(default=1_800, gt=0)
    """Seconds after which `verify` ends a requirement, if it has no `--requirement-timeout`."""
    chromium: Path | None = None
    """The Chromium executable, if the detected one is not the right one."""
    browser_sandbox: SandboxMode = SandboxMode.AUTO
    """Chromium's sandbox. `auto`: on where Periplus is not root and may make user namespaces; the log says why it is off."""

    page_memory: int = Field(default=retry_limits.PAGE_MEMORY_MB, ge=0)
    """Memory in MB of one process of Chromium; a page whose process takes more is ended (Linux). 0: no limit."""
    browser_memory: int | None = Field(default=None, ge=0)
    """Memory in MB of all processes of a Chromium, and its driver, beyond which the page that takes most is ended (Linux); unset:
    half of the machine's. 0: no limit."""

    max_download: int = Field(default=retry_limits.DOWNLOAD_MB, ge=1)
    """Size in MB of a download that a step keeps; a larger one is stopped, and the step fails."""

    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses and networks of proxies, separated by commas, that are believed when they name their client's address and
    `https` (`X-Forwarded-For`, `X-Forwarded-Proto`); none are otherwise."""
    visitor_retention_days: float = Field(default=0, ge=0, le=3650)
    """Days for which the words and the name of a demo's visitor are stored; 0: not stored."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The minimum log level (PACTS)."""
    structured_logs: bool = False
    """Whether commands with a browser log events as JSON to standard error (PACTS); servers always log."""

    voice: str | None = None
    """The voice of demos: `ENGINE:VOICE@URL`, for example `openai:alloy`; a name alone is a voice of espeak-ng."""
    voice_key: SecretStr | None = None
    """The key of the speech endpoint. Engines also read their own variable, such as `OPENAI_API_KEY`."""
    model: str | None = None
    """The language model as `provider:model`, or `provider:model@URL` for an endpoint of your own."""
    model_plan: str | None = None
    """The model for unknown sentences and for steps that fail; `none`: no model. Unset: `PERIPLUS_MODEL`."""
    model_judge: str | None = None
    """The model for root causes, traces, steps of a synthesis and requirements in prose; as above."""
    model_talk: str | None = None
    """The model that words answers to visitors; as above."""
    model_narrate: str | None = None
    """The model that words the narration of demos; as above."""
    model_key: SecretStr | None = None
    """The key for models with a URL. Other providers read their own variable, such as `OPENAI_API_KEY`."""
    model_max_calls: int = Field(default=100, ge=0)
    """Calls of models in one run or command, failed ones included."""
    model_max_tokens: int = Field(default=500_000, ge=0)
    """Tokens of these calls, input and output together."""
    model_max_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """US dollars of these calls at list price; models without a known price are refused then."""
    model_max_acts: int = Field(default=40, ge=1)
    """Acts of a sentence that no task does, and answers of the model about them."""
    model_max_seconds: float = Field(default=900, gt=0, allow_inf_nan=False)
    """Seconds that such a run may take."""
    model_page_text: bool = True
    """Whether models get texts of pages; false: only roles and names of elements."""

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _networks(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        named = tuple(each.strip() for each in value.split(",") if each.strip())
        for each in named:
            ipaddress.ip_network(each, strict=False)
        return named


def load_settings(**flags: str | None) -> PeriplusSettings:
    """Read the settings from the environment; `flags` that are not None override it.

    They are read anew only if the environment has changed. Raises `UserError` with the name of an invalid variable.
    """
    given = tuple((name, value) for name, value in flags.items() if value is not None)
    return _read_once(given, tuple(os.environ.items()))


@lru_cache(maxsize=8)
def _read_once(
    flags: tuple[tuple[str, str], ...],
    _environment: tuple[tuple[str, str], ...],
) -> PeriplusSettings:
    """Read the settings once for each environment: a command asks for them several times."""
    return read_settings(PeriplusSettings, dict(flags))


def read_settings(kind: type[SettingsT], flags: Mapping[str, object]) -> SettingsT:
    """Read settings of one class from the environment; `flags` that are not None override it.

    Raises `UserError` with the name of an invalid variable.
    """
    try:
        return kind(**{name: value for name, value in flags.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as exc:
        from kb_schema.documents import describe_invalid_value  # noqa: PLC0415 - only needed after an error

        first = exc.errors(include_url=False, include_input=False)[0]
        prefix = kind.model_config.get("env_prefix", "")
        name = f"{prefix}{'_'.join(str(part) for part in first['loc'][:1]).upper()}"
        raise UserError(f"{name}: {describe_invalid_value(first)}", fix=f"correct or unset {name}") from exc
