"""Cursors: where a page of a list ended. Opaque to clients, and valid for one query only."""

from __future__ import annotations

import base64
import binascii
import json

from kb_schema.base import digest
from mcp_server.errors import BadRequest


def make(position: int, question: str) -> str:
    """Return the cursor of the page that begins at `position` of the answer to `question`."""
    said = json.dumps([position, digest(question)], separators=(",", ":"))
    return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")


def read(cursor: str | None, question: str) -> int:
    """Return the start position; 0 without a cursor. Raises `BadRequest` for a cursor of another query."""
    if cursor is None:
        return 0
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position, asked = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        position, asked = None, None
    if type(position) is not int or position < 0 or asked != digest(question):
        raise BadRequest(
            "the cursor is not of this question", hint="ask without a cursor, then with `next_cursor`"
        )
    return position
