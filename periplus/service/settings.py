"""What the environment may set about `periplus serve`.

Keys come from here, never from the command line, where every process of the machine could read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from mcp_server.security.access import SCOPES
from mcp_server.security.tokens import TokenEntry, mint
from mcp_server.security.tokens import digest as digest_of
from periplus.errors import UserError
from periplus.settings import read_settings

SHORTEST_KEY = 16
"""Characters of a key: a shorter one can be guessed."""
_NAMED = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_-]{0,39}):(?P<key>.+)")


class ServeSettings(BaseSettings):
    """Read once, when the service starts."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    api_key: SecretStr | None = None
    """A key that lets in."""
    api_keys: SecretStr | None = None
    """Several, with commas between; `NAME:KEY` gives one a name, which is what the log shows."""
    cors_origins: Annotated[frozenset[str], NoDecode] = frozenset()
    """Web pages that may ask from a browser, with commas between: `https://dashboard.example.com`."""
    serve_rate_per_minute: int = Field(default=1_200, ge=1, le=10_000_000)
    """Requests one client may send within a minute (PACTS 9.2)."""
    serve_queue: int = Field(default=1_000, ge=1, le=1_000_000)
    """Runs that may wait; beyond it the service says 503."""
    serve_max_body_bytes: int = Field(default=1_000_000, ge=1_000, le=100_000_000)
    """Of one request."""

    serve_secrets: Annotated[frozenset[str], NoDecode] = frozenset()
    """Environment variables that clients' steps may use as `{secret:NAME}`, with commas between; `*` stands
    for any characters. What is not named here is not lent."""

    @field_validator("cors_origins", "serve_secrets", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        if isinstance(value, str):
            return frozenset(each.strip().rstrip("/") for each in value.split(",") if each.strip())
        return value

    def key_entries(self) -> list[TokenEntry]:
        """The keys as the tokens they are; none of them is kept. Raises `UserError` where one is short."""
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


def load_serve_settings() -> ServeSettings:
    """The settings of the environment. Raises `UserError` naming the variable that is wrong."""
    return read_settings(ServeSettings, {})


def _entry(variable: str, name: str, key: str) -> TokenEntry:
    if len(key) < SHORTEST_KEY:
        raise UserError(
            f"{variable}: the key {name!r} has {len(key)} characters, at least {SHORTEST_KEY} are needed",
            fix="make one with `openssl rand -hex 24`",
        )
    _, entry = mint(name, SCOPES)
    return entry.model_copy(update={"sha256": digest_of(key)})
