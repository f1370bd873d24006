"""What the environment may set. Every name begins with `PERIPLUS_` (DESIGN 11)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from periplus.errors import UserError

SettingsT = TypeVar("SettingsT", bound=BaseSettings)


class Settings(BaseSettings):
    """Read once per command with `load_settings`."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    data_dir: Path = Path(".periplus")
    """Where the embedded stores, logs and runs are."""
    mongodb_url: SecretStr | None = None
    """Documents in MongoDB instead of the embedded store; may hold a password."""
    arangodb_url: SecretStr | None = None
    """The graph in ArangoDB; may hold a password."""
    max_heal_rounds: int = Field(default=3, ge=0, le=10)
    """How many rounds an element that is not found any more is looked for (PACTS); 0: not at all."""
    chromium: Path | None = None
    """The browser to drive, where the one that is found is not the one wanted."""

    visitor_retention_days: float = Field(default=0, ge=0, le=3650)
    """For how many days a run's record keeps what a visitor of a demo said and is called; 0: not at all."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Log lines below it are left out (PACTS)."""
    structured_logs: bool = False
    """Whether commands that drive a browser log what happens, as JSON on standard error (PACTS); servers
    always log."""

    model: str | None = None
    """The language model to ask, where one is asked for: `provider:model` as pydantic-ai names it."""

    @property
    def log_dir(self) -> Path:
        """Where tracebacks and logs go."""
        return self.data_dir / "logs"


def load_settings(**flags: str | None) -> Settings:
    """The settings of the environment; `flags` that are given go before it.

    Raises `UserError` naming the variable that is wrong.
    """
    return read_settings(Settings, flags)


def read_settings(kind: type[SettingsT], flags: Mapping[str, object]) -> SettingsT:
    """Settings of one kind; `flags` that are not None go before the environment.

    Raises `UserError` naming the variable that is wrong.
    """
    try:
        return kind(**{name: value for name, value in flags.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        prefix = kind.model_config.get("env_prefix", "")
        name = f"{prefix}{'_'.join(str(part) for part in first['loc'][:1]).upper()}"
        raise UserError(f"{name}: {first['msg']}", fix=f"correct or unset {name}") from exc
