"""Tokens of an OAuth authorization server: JWTs, checked with the keys the issuer publishes.

We are a resource server (RFC 9728): we issue nothing, and a token must name us as its audience
(RFC 8707). Only asymmetric signatures are taken, so that no published key can be turned into a secret.
"""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jwt
import structlog
from mcp.server.auth.provider import AccessToken

from mcp_server.security.tokens import TokensUnusable, with_implied

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
METADATA_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
KEYS_LIVE_S = 600.0
"""How long published keys are taken to be current."""
ASK_AGAIN_S = 15.0
"""How soon they are asked for again for a key nobody knows: an unknown key costs an attacker nothing."""
FETCH_S = 10.0
LARGEST = 1_000_000
"""Bytes of a key set."""

_log = structlog.get_logger(__name__)

Fetch = Callable[[str], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Resource:
    """Who issues our tokens, and what we are called in them."""

    issuer: str
    url: str
    """Our own address as clients know it: the audience of every token."""
    jwks_url: str | None = None
    """Where the issuer's keys are; None: its metadata says so."""


async def fetch_json(url: str) -> Mapping[str, Any]:
    """An object from an address of the issuer. Raises `OSError` and `ValueError`."""
    return await asyncio.to_thread(_fetch, url)


def _fetch(url: str) -> Mapping[str, Any]:
    if not url.startswith(("https://", "http://")):
        raise ValueError("not an http address")
    with urllib.request.urlopen(url, timeout=FETCH_S) as response:  # noqa: S310 - the scheme was looked at
        found = json.loads(response.read(LARGEST))
    if not isinstance(found, dict):
        raise TypeError("not an object")
    return found


class IssuerKeys:
    """The keys an issuer publishes, asked for when they are needed and kept for a while."""

    def __init__(
        self, resource: Resource, fetch: Fetch = fetch_json, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._resource = resource
        self._fetch = fetch
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked_at = float("-inf")
        self._lock = asyncio.Lock()

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        """The key of that id; None: the issuer publishes none, or cannot be asked."""
        age = self._clock() - self._asked_at
        if key_id in self._keys and age < KEYS_LIVE_S:
            return self._keys[key_id]
        async with self._lock:
            if self._clock() - self._asked_at >= ASK_AGAIN_S:
                self._asked_at = self._clock()
                await self._renew()
        return self._keys.get(key_id)

    async def _renew(self) -> None:
        try:
            published = await self._fetch(await self._address())
            keys = jwt.PyJWKSet.from_dict(dict(published)).keys
        except (OSError, ValueError, TypeError, TokensUnusable, jwt.PyJWTError) as exc:
            # Those we have stay good: an issuer that is down locks nobody out.
            _log.warning("issuer_keys_unavailable", issuer=self._resource.issuer, reason=str(exc))
            return
        self._keys = {key.key_id: key for key in keys if key.key_id}

    async def _address(self) -> str:
        if self._resource.jwks_url is not None:
            return self._resource.jwks_url
        for path in METADATA_PATHS:
            try:
                metadata = await self._fetch(self._resource.issuer.rstrip("/") + path)
            except (urllib.error.HTTPError, ValueError, TypeError):
                continue
            if isinstance(address := metadata.get("jwks_uri"), str):
                return address
        raise TokensUnusable(f"the issuer {self._resource.issuer} does not say where its keys are")


class IssuedTokens:
    """The SDK's `TokenVerifier` over JWTs of one issuer."""

    def __init__(self, resource: Resource, keys: IssuerKeys | None = None) -> None:
        self._resource = resource
        self._keys = keys or IssuerKeys(resource)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who has this token; None: it is not of our issuer, not for us, not signed, or no longer good."""
        try:
            header = jwt.get_unverified_header(token)
            key = await self._keys.key(str(header.get("kid", "")))
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._resource.url,
                issuer=self._resource.issuer,
                leeway=10,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as exc:
            _log.info("token_refused", reason=type(exc).__name__)
            return None
        client = str(claims.get("client_id") or claims.get("azp") or claims.get("sub") or "unnamed")
        return AccessToken(
            token=client,
            client_id=client,
            scopes=list(with_implied(_scopes(claims))),
            expires_at=int(claims["exp"]),
            resource=self._resource.url,
            subject=claims.get("sub"),
            claims={"iss": claims["iss"]},
        )


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """`scope` is words (RFC 8693), `scp` words or a list, by the issuer's habit."""
    said = claims.get("scope", claims.get("scp", ""))
    return said.split() if isinstance(said, str) else [str(each) for each in said]
