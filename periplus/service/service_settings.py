"""The settings of `periplus serve` from the environment.

Keys are never command line options, because other processes of the machine could read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from kb_schema.url_patterns import is_web_address, origin_of
from mcp_server.security.access_scopes import SCOPES
from mcp_server.security.bearer_tokens import TokenEntry, mint_token
from mcp_server.security.bearer_tokens import digest_token as digest_of
from periplus.errors import UserError
from periplus.named_secrets import NamedSecrets
from periplus.settings import read_settings

SHORTEST_KEY = 16
"""Minimum number of characters of a key."""
_NAMED = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_-]{0,39}):(?P<key>.+)")


class ServeSettings(BaseSettings):
    """The settings, read when the service starts."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    api_key: SecretStr | None = None
    """A key for full access."""
    api_keys: SecretStr | None = None
    """Several keys, separated by commas; `NAME:KEY` gives a key a name for the log."""
    cors_origins: Annotated[frozenset[str], NoDecode] = frozenset()
    """Allowed CORS origins, separated by commas, such as `https://dashboard.example.com`."""
    serve_rate_per_minute: int = Field(default=1_200, ge=1, le=10_000_000)
    """Maximum number of requests of one client per minute (PACTS 9.2)."""
    serve_wrong_keys: int = Field(default=10, ge=1, le=1_000_000)
    """Wrong keys of one address after which its keys are not looked at for a second, then two, four, ... up to
    15 minutes."""
    serve_queue: int = Field(default=1_000, ge=1, le=1_000_000)
    """Maximum number of queued runs; further ones are answered with 503."""
    serve_max_body_bytes: int = Field(default=1_000_000, ge=1_000, le=100_000_000)
    """Maximum size of a request body."""
    serve_secrets: NamedSecrets = frozenset()
    """Secrets that clients' steps may use as `{secret:NAME}`, each `WEBSITE/NAME`, separated by commas. WEBSITE is
    the id of a website in the knowledge base, or `https://host`; the secret is typed on its origins only."""

    serve_jobs: int = Field(default=1, ge=1, le=16)
    """Maximum number of jobs (tasks, verifications, maps, demos) that run at a time."""
    serve_maps: Annotated[frozenset[str], NoDecode] = frozenset()
    """Origins of new websites whose maps clients with a key may load, separated by commas; `*`: any."""
    serve_webhooks: Annotated[frozenset[str], NoDecode] = frozenset()
    """Origins that webhooks may have, separated by commas, such as `https://ci.example.com`."""

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return frozenset(each.rstrip("/") for each in _split(value)) if isinstance(value, str) else value

    @field_validator("serve_webhooks", "serve_maps", mode="before")
    @classmethod
    def _origins(cls, value: object, info: ValidationInfo) -> object:
        if not isinstance(value, str):
            return value
        if value.strip() == "*" and info.field_name == "serve_maps":
            return frozenset("*")
        for each in _split(value):
            if origin_of(each) != each.rstrip("/").lower() or not is_web_address(each):
                raise ValueError(f"expected an origin such as https://ci.example.com, found {each!r}")
        return frozenset(map(origin_of, _split(value)))

    def key_entries(self) -> list[TokenEntry]:
        """Return the keys as token entries, which contain only digests. Raises `UserError` for a short key."""
        return [_entry(variable, name, key) for variable, name, key in self._keys()]

    def _keys(self) -> Iterator[tuple[str, str, str]]:
        if self.api_key is not None:
            yield "PERIPLUS_API_KEY", "api-key", self.api_key.get_secret_value().strip()
        if self.api_keys is None:
            return
        parts = [each.strip() for each in self.api_keys.get_secret_value().split(",") if each.strip()]
        for number, part in enumerate(parts, 1):
            named = _NAMED.fullmatch(part)
            yield (
                "PERIPLUS_API_KEYS",
                named["name"] if named else f"api-key-{number}",
                named["key"] if named else part,
            )


def _split(value: str) -> list[str]:
    return [each.strip() for each in value.split(",") if each.strip()]


def load_serve_settings() -> ServeSettings:
    """Read the settings from the environment. Raises `UserError` with the name of an invalid variable."""
    return read_settings(ServeSettings, {})


def _entry(variable: str, name: str, key: str) -> TokenEntry:
    if len(key) < SHORTEST_KEY:
        raise UserError(
            f"{variable}: expected at least {SHORTEST_KEY} characters for the key {name!r}, found {len(key)}",
            fix="create one with `openssl rand -hex 24`",
        )
    _, entry = mint_token(name, SCOPES)
    return entry.model_copy(update={"sha256": digest_of(key)})
