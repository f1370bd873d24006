"""Console sessions in signed cookies.

A session contains the name of its token and a digest of the token's stored entry, never the token. It ends when
the token expires or is revoked, and when the person signs out (`ended_sessions`). With single sign-on it contains the
person's name and groups. Sessions are signed with a key of this service; if its file is lost, people sign in again. Roles are checked in `periplus.console.console_framework`; `access_control` reads the cookie.
"""

from __future__ import annotations

import base64
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
from kb_schema.owner_folders import make_owner_folder
from mcp_server.security.access_scopes import REVIEW, WRITE
from mcp_server.security.bearer_tokens import FileTokenVerifier, TokenEntry, digest_token
from periplus.service.ended_sessions import EndedSessions
from periplus.service.single_sign_on import OidcSettings

Role = Literal["read", "review", "operate"]
"""`read` reads, `review` also decides on proposals, `operate` also starts and stops runs and demos."""
ROLES: tuple[Role, ...] = ("read", "review", "operate")
"""Each role includes the ones before it."""
LASTS_S = 12 * 3_600
"""Lifetime of a session: a working day."""
KEY_BYTES = 32

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ConsolePerson:
    """A user of the console."""

    name: str
    role: Role
    bound_to: str
    """The value that CSRF tokens are bound to: this session."""
    signed_in: bool = False
    """Whether there is a session that can be ended."""

    def may(self, role: Role) -> bool:
        """Return whether the person's role includes this one."""
        return ROLES.index(self.role) >= ROLES.index(role)


ANYBODY = ConsolePerson("this machine", "operate", "this machine")
"""The person of all requests if no key is set; the service then only answers to this machine."""


def role_of_scopes(scopes: Iterable[str]) -> Role:
    """Return the role for a token's scopes; `write` becomes `operate`."""
    found = frozenset(scopes)
    if WRITE in found:
        return "operate"
    return "review" if REVIEW in found else "read"


class _SessionCookie(Model):
    """The content of the cookie, without its signature."""

    name: str
    proof: str
    """A digest of the token's entry, so that another token with the same name is not accepted."""
    until: int
    """Seconds since 1970."""
    nonce: str
    groups: tuple[str, ...] | None = None
    """With single sign-on: the person's groups, which have scopes; `proof` is of the issuer."""


class ConsoleSessions:
    """Starts and reads sessions, and signs forms."""

    def __init__(
        self,
        key: bytes,
        tokens: FileTokenVerifier | None = None,
        *,
        clock: Callable[[], float] = time.time,
        sign_on: OidcSettings | None = None,
        ended_file: Path | None = None,
    ) -> None:
        """`ended_file`: where sessions that were signed out are kept; None: in memory."""
        self._key, self._tokens, self._clock, self._sign_on = key, tokens, clock, sign_on
        self._ended = EndedSessions(ended_file, clock=clock)

    def end(self, cookie: str) -> None:
        """End a session for every copy of its cookie. Does nothing for an invalid cookie."""
        session = self._read(cookie)
        if session is not None:
            self._ended.add(session.nonce, session.until)

    def begin(self, token: str) -> str | None:
        """Return the cookie of a new session; None for an unknown or expired token."""
        entry = self._entry(lambda each: hmac.compare_digest(each.sha256, digest_token(token)))
        if entry is None:
            return None
        session = _SessionCookie(
            name=entry.name,
            proof=self._proof(entry),
            until=int(self._clock()) + LASTS_S,
            nonce=secrets.token_hex(8),
        )
        return self.seal("session", session.model_dump_json())

    def begin_for(self, name: str, groups: tuple[str, ...]) -> str:
        """Return the cookie of a new session of a person who signed in at the issuer."""
        session = _SessionCookie(
            name=name,
            proof=self._issuer_proof(),
            until=int(self._clock()) + LASTS_S,
            nonce=secrets.token_hex(8),
            groups=groups,
        )
        return self.seal("session", session.model_dump_json())

    def seal(self, purpose: str, text: str) -> str:
        """Return a text for a cookie, with a signature."""
        body = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return f"{body}.{self._sign(purpose, body)}"

    def unseal(self, purpose: str, cookie: str) -> str | None:
        """Return the text of a cookie; None if it was not sealed here for this purpose."""
        body, _, signature = cookie.partition(".")
        # Compared as bytes: `compare_digest` refuses non-ASCII text, and cookies can contain any.
        if not hmac.compare_digest(self._sign(purpose, body).encode(), signature.encode("utf-8", "replace")):
            return None
        try:
            return base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode()
        except ValueError:  # not base64, or not UTF-8
            return None

    def is_of_issuer(self, cookie: str) -> bool:
        """Return whether a valid cookie belongs to a person who signed in at the issuer."""
        text = self.unseal("session", cookie) if self.person(cookie) is not None else None
        return text is not None and _SessionCookie.model_validate_json(text).groups is not None

    def person(self, cookie: str) -> tuple[ConsolePerson, tuple[str, ...]] | None:
        """Return the cookie's person with the token's scopes; None for a cookie that is invalid, expired or ended."""
        session = self._read(cookie)
        if session is None:
            return None
        if session.groups is not None:
            return self._person_of_issuer(session, session.groups)
        entry = self._entry(lambda each: hmac.compare_digest(self._proof(each), session.proof))
        if entry is None:
            return None
        person = ConsolePerson(
            entry.name, role_of_scopes(entry.scopes), f"session {session.nonce}", signed_in=True
        )
        return person, entry.scopes

    def _read(self, cookie: str) -> _SessionCookie | None:
        """Return the content of a cookie; None if it is invalid, expired or ended."""
        text = self.unseal("session", cookie)
        try:
            session = None if text is None else _SessionCookie.model_validate_json(text)
        except ValidationError:
            return None
        if session is None or session.until <= self._clock() or session.nonce in self._ended:
            return None
        return session

    def _person_of_issuer(
        self, session: _SessionCookie, groups: tuple[str, ...]
    ) -> tuple[ConsolePerson, tuple[str, ...]] | None:
        """Return who signed in at the issuer, with the scopes that the groups have now."""
        scopes = () if self._sign_on is None else self._sign_on.scopes_of(groups)
        if not scopes or not hmac.compare_digest(session.proof, self._issuer_proof()):
            return None
        person = ConsolePerson(
            session.name, role_of_scopes(scopes), f"session {session.nonce}", signed_in=True
        )
        return person, scopes

    def form_token(self, bound_to: str) -> str:
        """Return the CSRF token of a form."""
        return self._sign("form", bound_to)

    def form_is_ours(self, bound_to: str, given: str) -> bool:
        """Return whether a form's CSRF token belongs to the session."""
        return hmac.compare_digest(self.form_token(bound_to).encode(), given.encode("utf-8", "replace"))

    def _entry(self, is_it: Callable[[TokenEntry], bool]) -> TokenEntry | None:
        """Return the matching token entry if it has not expired. All entries are compared (constant time)."""
        if self._tokens is None:
            return None
        found = [each for each in self._tokens.readable() if is_it(each)]
        now = datetime.fromtimestamp(self._clock(), UTC)
        return next((each for each in found if each.expires_at is None or each.expires_at > now), None)

    def _proof(self, entry: TokenEntry) -> str:
        return self._sign("token", f"{entry.name} {entry.sha256}")

    def _issuer_proof(self) -> str:
        """Return what sessions of the issuer have: they end when another one is configured."""
        sign_on = self._sign_on
        return "" if sign_on is None else self._sign("issuer", f"{sign_on.issuer} {sign_on.client_id}")

    def _sign(self, purpose: str, text: str) -> str:
        said = f"{purpose}\0{text}".encode("utf-8", "replace")
        return hmac.new(self._key, said, hashlib.sha256).hexdigest()


def load_session_key(path: Path) -> bytes:
    """Return the key that signs sessions, from the file; the file is created if missing.

    If it cannot be written, the key lasts as long as this process.
    """
    try:
        make_owner_folder(path.parent)
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
