"""The settings of the MCP server from the environment (`PERIPLUS_MCP_*`), and its access policy.

Secrets come from the environment or a file, never from the command line, which other processes can read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from mcp.server.auth.provider import TokenVerifier
from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from kb_schema.url_patterns import LOOPBACK, origin_of
from mcp_server.security.access_scopes import READ, WRITE
from mcp_server.security.bearer_tokens import (
    FileTokenVerifier,
    TokenEntry,
    TokenFile,
    TokenSetupError,
    token_from_environment,
)
from mcp_server.security.call_limits import CallLimits
from mcp_server.security.http_app import MCP_PATH, HttpAccessPolicy, TokenVerifierChain
from mcp_server.security.oauth_tokens import OAuthResource, OAuthTokenVerifier
from mcp_server.security.rate_limits import RateLimit
from periplus.errors import UserError
from periplus.settings import load_settings, read_settings

TOKENS_FILE = "mcp-tokens.json"
"""The tokens file in the data directory, unless `PERIPLUS_MCP_TOKENS` names another."""

_CALLS, _DOOR, _RATE = CallLimits(), HttpAccessPolicy(), RateLimit()

Names = Annotated[frozenset[str], NoDecode]
"""A list in a variable, separated by commas."""


class McpSettings(BaseSettings):
    """The settings, read when the server starts."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_MCP_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    tokens: Path | None = None
    """The tokens file of `periplus mcp token`."""
    token: SecretStr | None = None
    """An additional token with read and write access, for containers."""
    read_token: SecretStr | None = None
    """An additional token with read access."""
    issuer: str | None = None
    """An OAuth authorization server whose tokens are accepted."""
    jwks_url: str | None = None
    """The URL of its keys, if its metadata does not contain it."""
    public_url: str | None = None
    """The server's public URL; with an issuer, the audience of tokens."""
    allowed_hosts: Names = frozenset()
    """Accepted `Host` names, in addition to those of this machine and of the public URL."""
    allowed_origins: Names = frozenset()
    """Allowed origins of web pages (CORS)."""
    rate_per_second: float = Field(default=_RATE.per_second, gt=0, le=100_000)
    burst: int = Field(default=_RATE.burst, ge=1, le=1_000_000)
    max_body_bytes: int = Field(default=_DOOR.max_body_bytes, ge=1_000, le=1_000_000_000)
    body_seconds: float = Field(default=_DOOR.body_seconds, gt=0, le=3_600)
    call_seconds: float = Field(default=_CALLS.call_seconds, gt=0, le=3_600)
    calls_at_once: int = Field(default=_CALLS.calls_at_once, ge=1, le=10_000)
    calls_per_client: int = Field(default=_CALLS.calls_per_client, ge=1, le=10_000)
    files: Path | None = None
    """For the agent's server: the folder with files for uploads; default: `files` in the data directory."""
    snapshots: Path | None = None
    """The only folder from which snapshots are read as files."""
    runs_at_once: int = Field(default=4, ge=1, le=100)
    """For the agent's server: the maximum number of parallel runs, each with its own browser context."""

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
        """Return the limits of tool calls."""
        return CallLimits(
            calls_at_once=self.calls_at_once,
            calls_per_client=self.calls_per_client,
            call_seconds=self.call_seconds,
        )

    def token_file(self) -> TokenFile:
        """Return the tokens file; it may not exist yet."""
        return TokenFile(self.tokens or load_settings().data_dir / TOKENS_FILE)

    def access_policy(self, host: str) -> HttpAccessPolicy:
        """Return the access policy of a server that listens on `host`. Raises `UserError`."""
        hosts = {*LOOPBACK, host.lower(), *(each.lower() for each in self.allowed_hosts)}
        origins = set(self.allowed_origins)
        if self.public_url is not None:
            hosts.add(urlsplit(self.public_url).hostname or "")
            origins.add(origin_of(self.public_url))
        resource = self._resource()
        return HttpAccessPolicy(
            hosts=frozenset(hosts),
            origins=frozenset(origins),
            verifier=self._verifier(resource),
            resource=resource,
            rate=RateLimit(self.rate_per_second, self.burst),
            max_body_bytes=self.max_body_bytes,
            body_seconds=self.body_seconds,
        )

    def _resource(self) -> OAuthResource | None:
        if self.issuer is None:
            return None
        if self.public_url is None:
            fix = f"set it to the address clients use, such as https://kb.example.com{MCP_PATH}"
            raise UserError(
                "PERIPLUS_MCP_ISSUER needs PERIPLUS_MCP_PUBLIC_URL, the audience of its tokens", fix=fix
            )
        return OAuthResource(self.issuer, self.public_url, self.jwks_url)

    def _verifier(self, resource: OAuthResource | None) -> TokenVerifier | None:
        """Return the token verifier; None if there are no tokens."""
        try:
            own = FileTokenVerifier(self._given(), self.token_file())
            verifiers: list[TokenVerifier] = [own] if own.entries() else []
        except TokenSetupError as exc:
            raise UserError(exc.message, fix=exc.hint) from exc
        if resource is not None:
            verifiers.append(OAuthTokenVerifier(resource))
        return TokenVerifierChain(*verifiers) if verifiers else None

    def _given(self) -> list[TokenEntry]:
        given = (
            ("PERIPLUS_MCP_TOKEN", self.token, WRITE),
            ("PERIPLUS_MCP_READ_TOKEN", self.read_token, READ),
        )
        return [
            token_from_environment(name, secret.get_secret_value(), [scope])
            for name, secret, scope in given
            if secret
        ]


def load_mcp_settings() -> McpSettings:
    """Read the settings from the environment. Raises `UserError` with the name of an invalid variable."""
    return read_settings(McpSettings, {})
