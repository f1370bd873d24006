"""Tokens of an OAuth authorization server: JWTs, verified with the keys that the issuer publishes.

This server is a resource server (RFC 9728): it issues nothing, and a token must name it as its audience (RFC 8707).
Only asymmetric signatures are accepted, so that a published key can never serve as a shared secret.
"""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jwt
import structlog
from mcp.server.auth.provider import AccessToken

from mcp_server.security.bearer_tokens import TokenSetupError, add_implied_scopes
from mcp_server.security.http_openers import build_opener

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
METADATA_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
KEYS_LIVE_S = 600.0
"""How long published keys are taken to be current."""
ASK_AGAIN_S = 15.0
"""Seconds before the keys are fetched again for an unknown key id: an unknown key id is free for an attacker."""
FETCH_S = 10.0
LARGEST = 1_000_000
"""Bytes of a key set."""

_log = structlog.get_logger(__name__)

_OPENER = build_opener(proxies=True)

JsonFetcher = Callable[[str], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class OAuthResource:
    """The issuer of the tokens, and the audience they must name."""

    issuer: str
    url: str
    """Our own address as clients know it: the audience of every token."""
    jwks_url: str | None = None
    """Where the issuer's keys are; None: its metadata says so."""


async def fetch_json(url: str) -> Mapping[str, Any]:
    """An object from an address of the issuer; a redirect is not followed. Raises `OSError` and `ValueError`."""
    return await asyncio.to_thread(_fetch, url)


def _fetch(url: str) -> Mapping[str, Any]:
    if not url.startswith(("https://", "http://")):
        raise ValueError("not an http address")
    with _OPENER.open(url, timeout=FETCH_S) as response:
        found = json.loads(response.read(LARGEST))
    if not isinstance(found, dict):
        raise TypeError("not an object")
    return found


class IssuerKeys:
    """The keys an issuer publishes, fetched on demand and cached."""

    def __init__(
        self,
        resource: OAuthResource,
        fetch: JsonFetcher = fetch_json,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resource = resource
        self._fetch = fetch
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked_at = float("-inf")
        self._lock = asyncio.Lock()

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        """Return the key of that id; None if the issuer publishes none, or does not answer."""
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
        except (OSError, ValueError, TypeError, TokenSetupError, jwt.PyJWTError) as exc:
            # Cached keys stay valid: an issuer that is down must not lock clients out.
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
        raise TokenSetupError(f"the issuer {self._resource.issuer} does not say where its keys are")


class OAuthTokenVerifier:
    """The SDK's `TokenVerifier` over JWTs of one issuer."""

    def __init__(self, resource: OAuthResource, keys: IssuerKeys | None = None) -> None:
        self._resource = resource
        self._keys = keys or IssuerKeys(resource)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the holder of this token; None if issuer, audience, signature or expiry is wrong."""
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
            scopes=list(add_implied_scopes(_scopes(claims))),
            expires_at=int(claims["exp"]),
            resource=self._resource.url,
            subject=claims.get("sub"),
            claims={"iss": claims["iss"]},
        )


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """`scope` is words (RFC 8693), `scp` words or a list, by the issuer's habit."""
    said = claims.get("scope", claims.get("scp", ""))
    return said.split() if isinstance(said, str) else [str(each) for each in said]
