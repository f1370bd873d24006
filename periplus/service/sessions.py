"""Sessions of people: who signed in at the console, kept in a signed cookie.

A session names the token it was begun with and holds a digest of what is kept of it, never the token: it
ends when the token is revoked or over. Sessions are signed with a key of this service; where its file is lost,
people sign in again. Not here: who may do what (`periplus.console.shell`), and the cookie (`access`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import structlog
from pydantic import ValidationError

from kb_schema.base import Model
from mcp_server.security.access import REVIEW, WRITE
from mcp_server.security.tokens import OwnTokens, TokenEntry, digest

Role = Literal["read", "review", "operate"]
"""`read` looks, `review` also decides on proposals, `operate` also starts and stops things."""
ROLES: tuple[Role, ...] = ("read", "review", "operate")
"""Each may do what those before it may."""
LASTS_S = 12 * 3_600
"""A session, from signing in: a working day."""
KEY_BYTES = 32

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Person:
    """Who looks at the console."""

    name: str
    role: Role
    bound_to: str
    """What the forms shown are good for: this session alone."""
    signed_in: bool = False
    """By a session, which can be ended."""

    def may(self, role: Role) -> bool:
        """Whether the role of the person includes this one."""
        return ROLES.index(self.role) >= ROLES.index(role)


ANYBODY = Person("this machine", "operate", "this machine")
"""Where no key is set: whoever reaches the service, which then answers to this machine alone."""


def role_of(scopes: Iterable[str]) -> Role:
    """The role that a token's scopes make: `write` operates."""
    found = frozenset(scopes)
    if WRITE in found:
        return "operate"
    return "review" if REVIEW in found else "read"


class _Session(Model):
    """What the cookie says, beside its signature."""

    name: str
    proof: str
    """Of the token's digest, so that another token of the same name does not count."""
    until: int
    """Seconds since 1970."""
    nonce: str


class Sessions:
    """Begins and reads sessions, and signs forms."""

    def __init__(
        self, key: bytes, tokens: OwnTokens | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._key, self._tokens, self._clock = key, tokens, clock

    def begin(self, token: str) -> str | None:
        """The cookie of a new session; None: nobody has this token, or no longer."""
        entry = self._entry(lambda each: hmac.compare_digest(each.sha256, digest(token)))
        if entry is None:
            return None
        session = _Session(
            name=entry.name,
            proof=self._proof(entry),
            until=int(self._clock()) + LASTS_S,
            nonce=secrets.token_hex(8),
        )
        body = base64.urlsafe_b64encode(session.model_dump_json().encode()).decode().rstrip("=")
        return f"{body}.{self._sign('session', body)}"

    def person(self, cookie: str) -> tuple[Person, tuple[str, ...]] | None:
        """Who has this cookie, with the token's scopes; None: nobody, or no longer."""
        body, _, signature = cookie.partition(".")
        if not hmac.compare_digest(self._sign("session", body), signature):
            return None
        try:
            session = _Session.model_validate_json(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        except (binascii.Error, ValidationError):
            return None
        if session.until <= self._clock():
            return None
        entry = self._entry(lambda each: hmac.compare_digest(self._proof(each), session.proof))
        if entry is None:
            return None
        person = Person(entry.name, role_of(entry.scopes), f"session {session.nonce}", signed_in=True)
        return person, entry.scopes

    def form_token(self, bound_to: str) -> str:
        """What a form carries so that no other site can send it."""
        return self._sign("form", bound_to)

    def form_is_ours(self, bound_to: str, given: str) -> bool:
        """Whether a form was shown to whoever sends it."""
        return hmac.compare_digest(self.form_token(bound_to).encode(), given.encode("utf-8", "replace"))

    def _entry(self, is_it: Callable[[TokenEntry], bool]) -> TokenEntry | None:
        """The token that is meant, where it is still good. Every one is compared, found or not."""
        if self._tokens is None:
            return None
        found = [each for each in self._tokens.readable() if is_it(each)]
        now = datetime.fromtimestamp(self._clock(), UTC)
        return next((each for each in found if each.expires_at is None or each.expires_at > now), None)

    def _proof(self, entry: TokenEntry) -> str:
        return self._sign("token", f"{entry.name} {entry.sha256}")

    def _sign(self, purpose: str, text: str) -> str:
        said = f"{purpose}\0{text}".encode("utf-8", "replace")
        return hmac.new(self._key, said, hashlib.sha256).hexdigest()


def session_key(path: Path) -> bytes:
    """The key that sessions are signed with: of the file, which is made where it is not there.

    Where it cannot be kept, one that lasts as long as this process.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            key = secrets.token_bytes(KEY_BYTES)
            file.write(key)
            return key
    except FileExistsError:
        pass
    except OSError as exc:
        _log.warning("session_key_not_kept", reason=exc.strerror)
        return secrets.token_bytes(KEY_BYTES)
    kept = path.read_bytes() if os.access(path, os.R_OK) else b""
    return kept if len(kept) == KEY_BYTES else secrets.token_bytes(KEY_BYTES)
