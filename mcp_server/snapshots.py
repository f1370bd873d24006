"""Pages as clients send them: how large they may be, and what is read off them before probing."""

from __future__ import annotations

import html
import re

from kb_schema.snapshots import PageSnapshot
from mcp_server.errors import BadRequest, TooLarge

MAX_BYTES = 5_000_000
"""Of HTML and text together."""

_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,2000})</title", re.IGNORECASE)
"""Bounded, so that no page makes it slow; parsing is for pages already found harmless."""
_TEXT_TITLE = re.compile(r"^\W*Page Title:\s*(.+)$", re.MULTILINE)
"""As other MCP browsers head their accessibility text."""


def admitted(snapshot: PageSnapshot, *, limit: int = MAX_BYTES) -> PageSnapshot:
    """The snapshot, with its title filled in where it came without one.

    Raises `TooLarge`, and `BadRequest` for a page with nothing on it and no URL.
    """
    size = sum(len(part.encode("utf-8", "replace")) for part in (snapshot.html, snapshot.text or ""))
    if size > limit:
        raise TooLarge(size, limit)
    if not (snapshot.url or snapshot.html or snapshot.text):
        raise BadRequest("the snapshot is empty", hint="give `url` with `html` or `text`")
    if snapshot.title:
        return snapshot
    return snapshot.model_copy(update={"title": title_of(snapshot)})


def title_of(snapshot: PageSnapshot) -> str:
    """The title the page itself gives, or nothing."""
    if snapshot.html:
        found = _TITLE.search(snapshot.html)
        return "" if found is None else " ".join(html.unescape(found[1]).split())
    found = _TEXT_TITLE.search(snapshot.text or "")
    return "" if found is None else found[1].strip()
