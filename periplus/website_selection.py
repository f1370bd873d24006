"""Selects the website of a command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from kb_store import Stores
from periplus.errors import UserError

_ADDRESS = re.compile(r"[\d.]+|\[.*\]|localhost")
_NO_NAME = frozenset({"www", "app", "my", "web", "portal"})


def select_website(wanted: str | None, known: Sequence[str]) -> str:
    """Return the given website, or the only one in the store. Raises `UserError` if it must be named."""
    if wanted is not None:
        return wanted
    if len(known) == 1:
        return known[0]
    if not known:
        raise UserError("the store is empty", fix="load a knowledge base: periplus kb load DIR")
    raise UserError(
        f"the store has {len(known)} websites", fix=f"give --website with one of: {', '.join(known)}"
    )


async def list_websites(stores: Stores) -> list[str]:
    """Return the ids of all websites in the store, sorted."""
    return sorted(generation.website_id for generation in await stores.documents.websites())


def suggest_website_id(url: str) -> str:
    """Return a website id from the domain of a URL.

    >>> suggest_website_id("https://app.spadeworks.co/x"), suggest_website_id("http://127.0.0.1:8080/")
    ('spadeworks', 'site_8080')
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _ADDRESS.fullmatch(host) or "." not in host:
        named = host if host and not _ADDRESS.fullmatch(host) else "site"
        return _to_id(named if parts.port is None else f"{named}_{parts.port}")
    labels = [label for label in host.split(".")[:-1] if label not in _NO_NAME]
    return _to_id(labels[-1] if labels else host)


def _to_id(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "site"
