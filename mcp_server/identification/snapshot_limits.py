"""Snapshots as clients send them: size limits, and what is read before probing."""

from __future__ import annotations

import html
import re

from kb_schema.page_snapshots import PageSnapshot
from mcp_server.errors import BadRequest, SnapshotTooLarge
from web_pages.aria_snapshots import parse_headers

MAX_BYTES = 5_000_000
"""Limit of everything that a client sends about a page, in bytes."""

_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,2000})</title", re.IGNORECASE)
"""Bounded, so that no page makes it slow. Pages are parsed only after this check."""


def admit_snapshot(snapshot: PageSnapshot, *, limit: int = MAX_BYTES) -> PageSnapshot:
    """Return the snapshot, with URL and title filled in from the page if the client did not send them.

    Raises `SnapshotTooLarge`, and `BadRequest` for a page with nothing on it and no URL.
    """
    parts = (snapshot.html, snapshot.text or "", snapshot.url, snapshot.title)
    size = sum(len(part.encode("utf-8", "replace")) for part in parts)
    if size > limit:
        raise SnapshotTooLarge(size, limit)
    if not (snapshot.url or snapshot.html or snapshot.text):
        raise BadRequest("the snapshot is empty", hint="give `url` with `html` or `text`")
    if snapshot.url and snapshot.title:
        return snapshot
    url = snapshot.url or parse_headers(snapshot.text or "")[0]
    return snapshot.model_copy(update={"url": url, "title": snapshot.title or read_title(snapshot)})


def read_title(snapshot: PageSnapshot) -> str:
    """The title the page itself gives, or nothing."""
    if snapshot.html:
        found = _TITLE.search(snapshot.html)
        return "" if found is None else " ".join(html.unescape(found[1]).split())
    return parse_headers(snapshot.text or "")[1]
