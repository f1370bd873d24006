"""Bearer tokens: created once, stored as digests, compared in constant time.

A token has 256 random bits, so a plain SHA-256 digest reveals nothing. The file of digests is read again when it
changes: a revoked token ends with the next request.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import structlog
from mcp.server.auth.provider import AccessToken
from pydantic import AwareDatetime, Field, ValidationError

from kb_schema.base import LocalId, Model
from kb_schema.owner_folders import make_owner_folder
from mcp_server.errors import KnowledgeServerError
from mcp_server.security.access_scopes import READ, REVIEW, SCOPES, WRITE, AccessScope

PREFIX = "ppl_"
"""Prefix by which people and secret scanners recognise a token."""
SHORTEST = 32
"""Shortest token that is accepted from outside, in characters."""

_log = structlog.get_logger(__name__)


class TokenSetupError(KnowledgeServerError):
    """The tokens cannot be read or stored. The operator of the server must fix it."""

    code = "tokens_unusable"


class TokenEntry(Model):
    """A stored token: everything but the token itself."""

    name: LocalId
    scopes: tuple[AccessScope, ...]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None


class TokenList(Model):
    """The content of a tokens file."""

    tokens: tuple[TokenEntry, ...] = ()


def digest_token(token: str) -> str:
    """Return the digest that is stored of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def add_implied_scopes(scopes: Sequence[str]) -> tuple[AccessScope, ...]:
    """Our scopes among these, in order; who may write or review may read."""
    if WRITE in scopes:
        return SCOPES
    if REVIEW in scopes:
        return (READ, REVIEW)
    return (READ,) if READ in scopes else ()


def mint_token(
    name: str, scopes: Sequence[AccessScope], *, lives: timedelta | None = None, now: datetime | None = None
) -> tuple[str, TokenEntry]:
    """Create a token. Returns it and its entry. The token cannot be recovered later."""
    token = PREFIX + secrets.token_urlsafe(32)
    begun = (now or datetime.now(UTC)).replace(microsecond=0)
    entry = TokenEntry(
        name=name,
        scopes=add_implied_scopes(scopes),
        sha256=digest_token(token),
        created_at=begun,
        expires_at=None if lives is None else begun + lives,
    )
    return token, entry


def token_from_environment(name: str, token: str, scopes: Sequence[AccessScope]) -> TokenEntry:
    """The entry of a token that is given from outside. Raises `TokenSetupError` where it is short."""
    if len(token) < SHORTEST:
        message = f"the token {name!r} has {len(token)} characters, at least {SHORTEST} are needed"
        raise TokenSetupError(message, hint="`periplus mcp token new` makes one")
    epoch = datetime.fromtimestamp(0, UTC)
    return TokenEntry(
        name=name, scopes=add_implied_scopes(scopes), sha256=digest_token(token), created_at=epoch
    )


class TokenFile:
    """The tokens of one file, which only its owner may write. A file that is not there has none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._read = TokenList()

    def entries(self) -> tuple[TokenEntry, ...]:
        """Those of the file as it is now. Raises `TokenSetupError`."""
        try:
            state = self.path.stat()
        except FileNotFoundError:
            return ()
        except OSError as exc:
            raise TokenSetupError(f"{self.path}: {exc.strerror}") from exc
        seen = (state.st_mtime_ns, state.st_size, state.st_ino)
        if seen != self._seen:
            self._read = self._parsed(state.st_mode)
            self._seen = seen
        return self._read.tokens

    def add(self, entry: TokenEntry) -> None:
        """Keep one more. Raises `TokenSetupError` where there is one of that name."""
        entries = self.entries()
        if any(each.name == entry.name for each in entries):
            hint = f"choose another name, or first `periplus mcp token revoke {entry.name}`"
            raise TokenSetupError(f"there is a token {entry.name!r} already", hint=hint)
        self._write(TokenList(tokens=(*entries, entry)))

    def remove(self, name: str) -> None:
        """Forget one. Raises `TokenSetupError` where there is none of that name."""
        entries = self.entries()
        kept = tuple(each for each in entries if each.name != name)
        if len(kept) == len(entries):
            known = ", ".join(each.name for each in entries) or "none"
            raise TokenSetupError(f"there is no token {name!r}", hint=f"tokens are: {known}")
        self._write(TokenList(tokens=kept))

    def _parsed(self, mode: int) -> TokenList:
        if mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise TokenSetupError(f"{self.path} can be written by others", hint=f"chmod 600 {self.path}")
        try:
            return TokenList.model_validate_json(self.path.read_bytes())
        except (OSError, ValidationError) as exc:
            message = f"{self.path} is no tokens file"
            raise TokenSetupError(message, hint="mend or remove it, then mint the tokens again") from exc

    def _write(self, content: TokenList) -> None:
        """All or nothing, and for the owner's eyes only."""
        scratch = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            make_owner_folder(self.path.parent)
            with os.fdopen(os.open(scratch, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
                file.write(content.model_dump_json(indent=1) + "\n")
            scratch.replace(self.path)
        except OSError as exc:
            raise TokenSetupError(f"{self.path}: {exc.strerror}") from exc


class FileTokenVerifier:
    """The SDK's `TokenVerifier` over tokens of our own: those given from outside and those of a file."""

    def __init__(
        self,
        given: Sequence[TokenEntry] = (),
        file: TokenFile | None = None,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._given = tuple(given)
        self._file = file
        self._clock = clock

    def entries(self) -> tuple[TokenEntry, ...]:
        """All of them. Raises `TokenSetupError`."""
        return (*self._given, *(self._file.entries() if self._file is not None else ()))

    def readable(self) -> tuple[TokenEntry, ...]:
        """Those that can be read now: without those of a file that cannot be."""
        try:
            return self.entries()
        except TokenSetupError as exc:  # closed rather than open
            _log.error("tokens_unusable", reason=str(exc))
            return self._given

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the holder of this token; None if there is none, or no longer. Every entry is compared, found or not."""
        offered = digest_token(token)
        found: TokenEntry | None = None
        for entry in self.readable():
            if hmac.compare_digest(entry.sha256, offered):
                found = entry
        if found is None or (found.expires_at is not None and found.expires_at <= self._clock()):
            return None
        # The token itself is passed on to nothing else.
        return AccessToken(token=found.name, client_id=found.name, scopes=list(found.scopes))
