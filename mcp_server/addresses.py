"""Which base URL is in force for a page, and whether the page is one of the website's at all."""

from __future__ import annotations

from urllib.parse import urlsplit

from kb_schema import urls
from kb_schema.websites import Website

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def base_in_force(website: Website, url: str, given: str | None) -> str:
    """The base URL given or configured, else the authored one. Without a final `/`.

    For a page on this machine it is, where none is given, the page's own origin: a demo or a test
    on a free port.
    """
    if given:
        return given.rstrip("/")
    if _on_loopback(url) and not _on_loopback(website.base_url):
        return urls.origin_of(url)
    return website.base_url


def is_foreign(website: Website, url: str, base: str) -> bool:
    """Whether a page is on an origin that is neither the base URL's nor an allowed one.

    A page without a URL is not: it has no origin to judge by.
    """
    if not url:
        return False
    own = {urls.origin_of(base), *(urls.origin_of(origin) for origin in website.allowed_origins)}
    return urls.origin_of(url) not in own


def _on_loopback(url: str) -> bool:
    try:
        return urlsplit(url).hostname in LOOPBACK
    except ValueError:  # `http://[` and the like
        return False
