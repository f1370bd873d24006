"""Parses the URL of an ArangoDB; its credentials are never shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from kb_store.errors import StoreUnavailable

DEFAULT_PORT = 8529
DEFAULT_DATABASE = "periplus"
FORM = "http://user:password@host:8529/database"


@dataclass(frozen=True, slots=True)
class ArangoAddress:
    """The parts of `http(s)://user:password@host:8529/database`."""

    host: str
    """Scheme, host and port, as the driver expects it."""
    database: str
    user: str = field(repr=False)
    password: str = field(repr=False)

    @classmethod
    def of(cls, url: str) -> ArangoAddress:
        """Parse a URL; the defaults are user `root`, port 8529 and database `periplus`.

        Raises `StoreUnavailable` for an invalid URL, without repeating it.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or DEFAULT_PORT
        except ValueError:
            host, port, parts = None, DEFAULT_PORT, urlsplit("")
        database = unquote(parts.path.strip("/")) or DEFAULT_DATABASE
        if parts.scheme not in {"http", "https"} or not host or "/" in database or parts.query:
            raise StoreUnavailable(
                "ArangoDB", "its URL cannot be read", fix=f"set PERIPLUS_ARANGODB_URL to {FORM}"
            )
        shown = f"[{host}]" if ":" in host else host
        return cls(
            host=f"{parts.scheme}://{shown}:{port}",
            database=database,
            user=unquote(parts.username or "root"),
            password=unquote(parts.password or ""),
        )

    def __str__(self) -> str:
        return f"{self.host}/{self.database}"
