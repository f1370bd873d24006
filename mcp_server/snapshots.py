"""Pages as clients send them: how large they may be, and what is read off them before probing."""

from __future__ import annotations

import html
import re

from kb_schema.pages.outline import headers_of
from kb_schema.snapshots import PageSnapshot
from mcp_server.errors import BadRequest, TooLarge

MAX_BYTES = 5_000_000
"""Of all that a client sends of a page."""

_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,2000})</title", re.IGNORECASE)
"""Bounded, so that no page makes it slow; parsing is for pages already found harmless."""


def admitted(snapshot: PageSnapshot, *, limit: int = MAX_BYTES) -> PageSnapshot:
    """The snapshot, with its URL and title filled in where it came without them but says them itself.

    Raises `TooLarge`, and `BadRequest` for a page with nothing on it and no URL.
    """
    parts = (snapshot.html, snapshot.text or "", snapshot.url, snapshot.title)
    size = sum(len(part.encode("utf-8", "replace")) for part in parts)
    if size > limit:
        raise TooLarge(size, limit)
    if not (snapshot.url or snapshot.html or snapshot.text):
        raise BadRequest("the snapshot is empty", hint="give `url` with `html` or `text`")
    if snapshot.url and snapshot.title:
        return snapshot
    url = snapshot.url or headers_of(snapshot.text or "")[0]
    return snapshot.model_copy(update={"url": url, "title": snapshot.title or title_of(snapshot)})


def title_of(snapshot: PageSnapshot) -> str:
    """The title the page itself gives, or nothing."""
    if snapshot.html:
        found = _TITLE.search(snapshot.html)
        return "" if found is None else " ".join(html.unescape(found[1]).split())
    return headers_of(snapshot.text or "")[1]
