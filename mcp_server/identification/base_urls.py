"""The base URL in force for a page, and whether the page belongs to the website at all."""

from __future__ import annotations

from urllib.parse import urlsplit

from kb_schema import url_patterns
from kb_schema.websites import Website


def resolve_base_url(website: Website, url: str, given: str | None) -> str:
    """Return the base URL that was given or configured, else the authored one. Without a final `/`.

    For a page on this machine, without a given base URL, it is the page's own origin: a demo or a test on a free port.
    """
    if given:
        return given.rstrip("/")
    if _on_loopback(url) and not _on_loopback(website.base_url):
        return url_patterns.origin_of(url)
    return website.base_url


def is_foreign(website: Website, url: str, base: str) -> bool:
    """Whether a page's origin is neither the base URL's nor an allowed one. False for a page without a URL."""
    if not url:
        return False
    own = {
        url_patterns.origin_of(base),
        *(url_patterns.origin_of(origin) for origin in website.allowed_origins),
    }
    return url_patterns.origin_of(url) not in own


def _on_loopback(url: str) -> bool:
    try:
        return urlsplit(url).hostname in url_patterns.LOOPBACK
    except ValueError:  # `http://[` and the like
        return False
