"""What the environment may set about the MCP server, and what is built of it.

Every name begins with `PERIPLUS_MCP_`. Secrets come from here or from a file, never from the command
line, where every process of the machine could read them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from mcp.server.auth.provider import TokenVerifier
from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from kb_schema.urls import origin_of
from mcp_server.addresses import LOOPBACK
from mcp_server.security.access import READ, WRITE
from mcp_server.security.door import PATH, Door, FirstOf
from mcp_server.security.limits import CallLimits
from mcp_server.security.oauth import IssuedTokens, Resource
from mcp_server.security.rates import Rate
from mcp_server.security.tokens import OwnTokens, TokenEntry, TokenFile, TokensUnusable, of_environment
from periplus.errors import UserError
from periplus.settings import load_settings, read_settings

TOKENS_FILE = "mcp-tokens.json"
"""In the data directory, unless `PERIPLUS_MCP_TOKENS` names another."""

_CALLS, _DOOR, _RATE = CallLimits(), Door(), Rate()

Names = Annotated[frozenset[str], NoDecode]
"""Written with commas between."""


class McpSettings(BaseSettings):
    """Read once, when the server starts."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_MCP_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    tokens: Path | None = None
    """The file of tokens that `periplus mcp token` keeps."""
    token: SecretStr | None = None
    """One token more, which may read and write: for containers."""
    read_token: SecretStr | None = None
    """One token more, which may read."""
    issuer: str | None = None
    """An OAuth authorization server whose tokens count."""
    jwks_url: str | None = None
    """Where its keys are, where its metadata does not say."""
    public_url: str | None = None
    """The server's address as clients know it; with an issuer, the audience of tokens."""
    allowed_hosts: Names = frozenset()
    """Names besides those of this machine and of the public URL by which clients may address it."""
    allowed_origins: Names = frozenset()
    """Web pages that may use it."""
    rate_per_second: float = Field(default=_RATE.per_second, gt=0, le=100_000)
    burst: int = Field(default=_RATE.burst, ge=1, le=1_000_000)
    max_body_bytes: int = Field(default=_DOOR.max_body_bytes, ge=1_000, le=1_000_000_000)
    body_seconds: float = Field(default=_DOOR.body_seconds, gt=0, le=3_600)
    call_seconds: float = Field(default=_CALLS.call_seconds, gt=0, le=3_600)
    calls_at_once: int = Field(default=_CALLS.calls_at_once, ge=1, le=10_000)
    calls_per_client: int = Field(default=_CALLS.calls_per_client, ge=1, le=10_000)
    files: Path | None = None
    """Of the agent's server: the folder from which files are given to pages; default `files` in the data
    directory."""
    runs_at_once: int = Field(default=4, ge=1, le=100)
    """Of the agent's server: runs carried out at a time, each in a browser context of its own."""

    @field_validator("allowed_hosts", "allowed_origins", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        if isinstance(value, str):
            return frozenset(each.strip() for each in value.split(",") if each.strip())
        return value

    @field_validator("issuer", "jwks_url", "public_url")
    @classmethod
    def _safe(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
            return value
        raise ValueError("must begin with https:// (http:// on this machine only)")

    @property
    def call_limits(self) -> CallLimits:
        """The limits of tool calls."""
        return CallLimits(
            calls_at_once=self.calls_at_once,
            calls_per_client=self.calls_per_client,
            call_seconds=self.call_seconds,
        )

    def token_file(self) -> TokenFile:
        """The file of tokens, whether or not it is there."""
        return TokenFile(self.tokens or load_settings().data_dir / TOKENS_FILE)

    def door(self, host: str) -> Door:
        """The door of a server that listens at `host`. Raises `UserError`."""
        hosts = {*LOOPBACK, host.lower(), *(each.lower() for each in self.allowed_hosts)}
        origins = set(self.allowed_origins)
        if self.public_url is not None:
            hosts.add(urlsplit(self.public_url).hostname or "")
            origins.add(origin_of(self.public_url))
        resource = self._resource()
        return Door(
            hosts=frozenset(hosts),
            origins=frozenset(origins),
            verifier=self._verifier(resource),
            resource=resource,
            rate=Rate(self.rate_per_second, self.burst),
            max_body_bytes=self.max_body_bytes,
            body_seconds=self.body_seconds,
        )

    def _resource(self) -> Resource | None:
        if self.issuer is None:
            return None
        if self.public_url is None:
            fix = f"set it to the address clients use, such as https://kb.example.com{PATH}"
            raise UserError("PERIPLUS_MCP_ISSUER needs PERIPLUS_MCP_PUBLIC_URL: tokens name it", fix=fix)
        return Resource(self.issuer, self.public_url, self.jwks_url)

    def _verifier(self, resource: Resource | None) -> TokenVerifier | None:
        """None where there is no token that could open the door."""
        try:
            own = OwnTokens(self._given(), self.token_file())
            verifiers: list[TokenVerifier] = [own] if own.entries() else []
        except TokensUnusable as exc:
            raise UserError(exc.message, fix=exc.hint) from exc
        if resource is not None:
            verifiers.append(IssuedTokens(resource))
        return FirstOf(*verifiers) if verifiers else None

    def _given(self) -> list[TokenEntry]:
        given = (
            ("PERIPLUS_MCP_TOKEN", self.token, WRITE),
            ("PERIPLUS_MCP_READ_TOKEN", self.read_token, READ),
        )
        return [
            of_environment(name, secret.get_secret_value(), [scope])
            for name, secret, scope in given
            if secret
        ]


def load_mcp_settings() -> McpSettings:
    """The settings of the environment. Raises `UserError` naming the variable that is wrong."""
    return read_settings(McpSettings, {})
