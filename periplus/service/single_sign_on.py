"""Single sign-on by OpenID Connect: the authorization code flow with PKCE, `state` and `nonce`.

The issuer's addresses come from its discovery document, its keys from `mcp_server.security.oauth_tokens`. What a
person may is decided by a claim of the ID token, usually `groups`, and `PERIPLUS_OIDC_SCOPES`.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote_plus, urlencode, urlsplit

import jwt
from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from kb_schema.base import Model
from kb_schema.url_patterns import LOOPBACK
from mcp_server.security.access_scopes import READ, REVIEW, WRITE, AccessScope
from mcp_server.security.http_openers import build_opener
from mcp_server.security.oauth_tokens import (
    ALGORITHMS,
    FETCH_S,
    LARGEST,
    IssuerKeys,
    OAuthResource,
    fetch_json,
)
from periplus.settings import read_settings

DISCOVERY = "/.well-known/openid-configuration"
LEEWAY_S = 10
_OPENER = build_opener(proxies=True)
"""Follows no redirect: our secret would go with it, also to an address that `_address` refuses."""
LONGEST_NAME = 100
EMAIL = "email"
EVERYBODY = "*"
"""In `PERIPLUS_OIDC_SCOPES`: whoever signs in."""
_SCOPES: Mapping[str, AccessScope] = {"read": READ, "review": REVIEW, "write": WRITE, "operate": WRITE}


def _is_safe(address: str) -> bool:
    """Whether what is sent to an address cannot be read on the way: it is https, or on this machine."""
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


class OidcSettings(BaseSettings):
    """Single sign-on for the console. Without an issuer there is none."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_OIDC_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    issuer: str | None = None
    """The issuer's URL, as its discovery document and its tokens have it."""
    client_id: str = ""
    """Our id at the issuer."""
    client_secret: SecretStr | None = None
    """Our secret at the issuer; unset for a public client."""
    scopes: Annotated[Mapping[str, AccessScope], NoDecode] = Field(default_factory=dict)
    """What the members of a group may: `GROUP=SCOPE`, separated by commas; SCOPE is read, review or operate. `*` is
    everybody who signs in. Who has no scope is refused."""
    claim: str = "groups"
    """The claim of the ID token that has the groups: a list of texts, or one text."""
    request: str = "openid profile email"
    """The scopes that are requested from the issuer, separated by spaces."""
    redirect_url: str | None = None
    """The address that the issuer sends people back to, if the server does not see its own: it ends in
    `/sign-in/oidc/callback`."""

    sign_out_redirect_url: str | None = None
    """The address that the issuer sends people to after a sign-out, as it is registered there; unset: its own page."""

    @field_validator("issuer", "redirect_url", "sign_out_redirect_url")
    @classmethod
    def _safe(cls, value: str | None) -> str | None:
        if value is None or _is_safe(value):
            return value
        raise ValueError("must begin with https:// (http:// on this machine only)")

    @field_validator("scopes", mode="before")
    @classmethod
    def _mapped(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        found: dict[str, AccessScope] = {}
        for part in filter(None, map(str.strip, value.split(","))):
            group, equals, scope = (each.strip() for each in part.rpartition("="))
            if not equals or not group or scope not in _SCOPES:
                raise ValueError(f"expected GROUP=read, GROUP=review or GROUP=operate, found {part!r}")
            found[group] = _SCOPES[scope]
        return found

    @model_validator(mode="after")
    def _complete(self) -> OidcSettings:
        if self.issuer is not None and not self.client_id:
            raise ValueError("PERIPLUS_OIDC_ISSUER needs PERIPLUS_OIDC_CLIENT_ID")
        return self

    def scopes_of(self, groups: tuple[str, ...]) -> tuple[AccessScope, ...]:
        """Return the scopes of somebody in these groups, with those that they include; empty for none."""
        given = {self.scopes[each] for each in (*groups, EVERYBODY) if each in self.scopes}
        if not given:
            return ()
        return tuple(each for each in (READ, REVIEW, WRITE) if each in given or each == READ)


def load_oidc_settings() -> OidcSettings:
    """Read the settings from the environment. Raises `UserError` with the name of an invalid variable."""
    return read_settings(OidcSettings, {})


class SignInRefused(Exception):
    """A sign-in that is not accepted. Its text says why."""


class IssuerUnavailable(Exception):
    """The issuer does not answer, or not as OpenID Connect says."""


class SignInAttempt(Model):
    """What is remembered of a sign-in until the issuer sends the person back."""

    state: str
    nonce: str
    verifier: str
    """The PKCE code verifier."""
    to: str
    """The path to return to."""
    redirect_url: str
    until: int
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class SignedInPerson:
    """A person whom the issuer named."""

    name: str
    groups: tuple[str, ...]
    """Those that `PERIPLUS_OIDC_SCOPES` names."""


class SingleSignOn:
    """Signs people in at one issuer."""

    def __init__(self, settings: OidcSettings) -> None:
        if settings.issuer is None:
            raise ValueError("no issuer")
        self.settings, self.issuer = settings, settings.issuer
        self._metadata: Mapping[str, Any] = {}
        self._keys: IssuerKeys | None = None

    @property
    def host(self) -> str:
        """The issuer's host, for people."""
        return urlsplit(self.issuer).netloc

    def begin(self, to: str, redirect_url: str, until: int) -> SignInAttempt:
        """Return a new attempt."""
        return SignInAttempt(
            state=secrets.token_urlsafe(24),
            nonce=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
            to=to,
            redirect_url=redirect_url,
            until=until,
        )

    async def authorization_url(self, attempt: SignInAttempt) -> str:
        """Return the issuer's address that the person is sent to. Raises `IssuerUnavailable`."""
        digest = hashlib.sha256(attempt.verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": attempt.redirect_url,
            "scope": self.settings.request,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        address = await self._address("authorization_endpoint")
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    async def sign_out_url(self) -> str | None:
        """Return the issuer's address that ends the person's session there (OpenID Connect RP-Initiated Logout 1.0).

        None if the issuer offers none, or does not answer. No ID token is kept, so the issuer may ask the person.
        """
        try:
            address = await self._address("end_session_endpoint")
        except IssuerUnavailable:
            return None
        asked = {"client_id": self.settings.client_id}
        if self.settings.sign_out_redirect_url is not None:
            asked["post_logout_redirect_uri"] = self.settings.sign_out_redirect_url
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    async def finish(self, attempt: SignInAttempt, code: str) -> SignedInPerson:
        """Return who signed in and has a scope. Raises `SignInRefused`, `IssuerUnavailable`."""
        if not code:
            raise SignInRefused(f"{self.host} did not sign you in")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": attempt.redirect_url,
            "client_id": self.settings.client_id,
            "code_verifier": attempt.verifier,
        }
        address = await self._address("token_endpoint")
        answer = await asyncio.to_thread(self._post, address, form)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise SignInRefused(f"{self.host} sent no ID token")
        claims = await self._claims(token, attempt)
        if self.settings.claim == EMAIL and not _has_verified_email(claims):
            raise SignInRefused(f"{self.host} does not say that your e-mail address is verified")
        person = self._person(claims)
        if not self.settings.scopes_of(person.groups):
            raise SignInRefused(f"no group of {person.name} has access to this service")
        return person

    async def _claims(self, token: str, attempt: SignInAttempt) -> Mapping[str, Any]:
        """Return the claims of a token for us and this attempt (OpenID Connect 3.1.3.7)."""
        await self._address("jwks_uri")
        keys = self._keys
        try:
            key = (
                None if keys is None else await keys.key(str(jwt.get_unverified_header(token).get("kid", "")))
            )
            if key is None:
                raise SignInRefused(f"the ID token has no key of {self.host}")
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self.settings.client_id,
                issuer=self.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as exc:
            raise SignInRefused(_REASONS.get(type(exc), "the ID token is not valid")) from exc
        party = claims.get("azp", self.settings.client_id)
        if party != self.settings.client_id:
            raise SignInRefused("the ID token is for another application")
        if not secrets.compare_digest(str(claims.get("nonce", "")).encode(), attempt.nonce.encode()):
            raise SignInRefused("the ID token belongs to another sign-in (its nonce is another)")
        return claims

    def _person(self, claims: Mapping[str, Any]) -> SignedInPerson:
        name = str(claims[EMAIL]) if _has_verified_email(claims) else _name_with_subject(claims)
        said = claims.get(self.settings.claim, ())
        groups = [said] if isinstance(said, str) else said if isinstance(said, list) else []
        known = tuple(each for each in groups if isinstance(each, str) and each in self.settings.scopes)
        return SignedInPerson("".join(filter(str.isprintable, name))[:LONGEST_NAME], known)

    async def _address(self, name: str) -> str:
        """Return an address of the discovery document, which is read once. Raises `IssuerUnavailable`."""
        if not self._metadata:
            try:
                found = await fetch_json(f"{self.issuer.rstrip('/')}{DISCOVERY}")
            except (OSError, ValueError, TypeError) as exc:
                raise IssuerUnavailable(f"the sign-in service {self.host} does not answer") from exc
            if found.get("issuer") != self.issuer:
                raise IssuerUnavailable(f"the sign-in service at {self.host} calls itself by another name")
            self._metadata = found
        address = str(self._metadata.get(name) or "")
        # An issuer on the web names no address of this machine: what listens there is somebody else.
        if not _is_safe(address) or (self.issuer.startswith("https:") and not address.startswith("https:")):
            raise IssuerUnavailable(f"the sign-in service {self.host} does not tell a safe {name}")
        if name == "jwks_uri" and self._keys is None:
            self._keys = IssuerKeys(OAuthResource(self.issuer, self.settings.client_id, address))
        return address

    def _post(self, address: str, form: Mapping[str, str]) -> Mapping[str, Any]:
        request = urllib.request.Request(address, urlencode(form).encode(), {"Accept": "application/json"})  # noqa: S310 - `_address` looked at the scheme
        if self.settings.client_secret is not None:
            pair = (self.settings.client_id, self.settings.client_secret.get_secret_value())
            basic = base64.b64encode(":".join(map(quote_plus, pair)).encode()).decode()
            request.add_header("Authorization", f"Basic {basic}")
        try:
            with _OPENER.open(request, timeout=FETCH_S) as response:
                found = json.loads(response.read(LARGEST))
        except urllib.error.HTTPError as exc:
            if exc.code >= 500:
                raise IssuerUnavailable(f"the sign-in service {self.host} has an error") from exc
            raise SignInRefused(f"{self.host} does not accept this sign-in") from exc
        except (OSError, ValueError) as exc:
            raise IssuerUnavailable(f"the sign-in service {self.host} does not answer") from exc
        return found if isinstance(found, dict) else {}


def _has_verified_email(claims: Mapping[str, Any]) -> bool:
    """Whether the issuer says that the e-mail address is the person's: at many, people enter any."""
    address = claims.get(EMAIL)
    return isinstance(address, str) and "@" in address and claims.get("email_verified") is True


def _name_with_subject(claims: Mapping[str, Any]) -> str:
    """Return a name that no other person of the issuer has: its subject is beside what a person may choose."""
    names = (claims.get(each) for each in ("preferred_username", EMAIL, "name"))
    name = next((each for each in names if isinstance(each, str) and each.strip()), "unnamed")
    subject = f" ({claims['sub']})"
    return f"{name[: max(0, LONGEST_NAME - len(subject))]}{subject}"


_REASONS: Mapping[type[Exception], str] = {
    jwt.ExpiredSignatureError: "the ID token has expired",
    jwt.ImmatureSignatureError: "the ID token is not valid yet: compare the clocks of both machines",
    jwt.InvalidAudienceError: "the ID token is for another application",
    jwt.InvalidIssuerError: "the ID token is from another sign-in service",
    jwt.InvalidSignatureError: "the ID token's signature is wrong",
}
