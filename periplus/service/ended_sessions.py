"""The console sessions that people ended by signing out, until they would have expired by themselves.

A cookie is signed and says when it expires, so a copy of it would stay good after a sign-out. The list is a file beside
the key that signs sessions: it lasts over a restart, and other processes that use the file see what is added.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import structlog

_log = structlog.get_logger(__name__)


class EndedSessions:
    """Nonces of ended sessions; in memory only without a file, and where the file cannot be written."""

    def __init__(self, file: Path | None, *, clock: Callable[[], float]) -> None:
        self._file, self._clock = file, clock
        self._until: dict[str, int] = {}
        self._read: tuple[int, int] | None = None
        """Time of change (ns) and size of the file when it was read."""
        if file is not None:
            self._refresh()
            self._drop_expired(file)

    def add(self, nonce: str, until: int) -> None:
        """End a session that would expire at `until` (seconds since 1970)."""
        self._until[nonce] = until
        if self._file is None:
            return
        try:
            flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY
            with os.fdopen(os.open(self._file, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(f"{nonce} {until}\n")
        except OSError as exc:
            _log.warning("ended_session_not_kept", reason=exc.strerror)

    def __contains__(self, nonce: str) -> bool:
        self._refresh()
        return nonce in self._until

    def _refresh(self) -> None:
        """Read the file again if it changed. Sessions that are known here stay ended whatever it holds."""
        if self._file is None:
            return
        try:
            now = self._file.stat()
            if self._read == (now.st_mtime_ns, now.st_size):
                return
            text = self._file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        except OSError as exc:
            _log.warning("ended_sessions_not_read", reason=exc.strerror)
            return
        self._read = (now.st_mtime_ns, now.st_size)
        for line in text.splitlines():
            nonce, _, until = line.partition(" ")
            if until.isdecimal():
                self._until[nonce] = int(until)

    def _drop_expired(self, file: Path) -> None:
        """Write the file without the sessions that expired, once at the start of a process."""
        kept = {nonce: until for nonce, until in self._until.items() if until > self._clock()}
        if len(kept) == len(self._until):
            return
        self._until = kept
        fresh = file.with_name(f"{file.name}.{os.getpid()}")
        try:
            with os.fdopen(os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as out:
                out.writelines(f"{nonce} {until}\n" for nonce, until in kept.items())
            fresh.replace(file)
        except OSError as exc:
            _log.warning("ended_sessions_not_shortened", reason=exc.strerror)
