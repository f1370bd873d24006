"""Whether two addresses belong to one website: an application often answers on another host than its pages.

The rule is that of browsers ("same site"), without the scheme: one host with any port, or one registrable domain, by the
Public Suffix List (`app.example.co.uk` and `api.example.co.uk`, but not two shops under `co.uk`).
"""

from __future__ import annotations

from functools import cache, lru_cache
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList


def is_same_site(one: str, other: str) -> bool:
    """Return whether two addresses belong to one website; False for those without a host.

    >>> is_same_site("https://app.example.co.uk/", "https://api.example.co.uk/v1")
    True
    >>> is_same_site("http://127.0.0.1:3000/", "http://127.0.0.1:8000/")
    True
    >>> is_same_site("https://a.co.uk/", "https://b.co.uk/")
    False
    """
    ours, its = _host(one), _host(other)
    return bool(ours) and (ours == its or (_domain(ours) is not None and _domain(ours) == _domain(its)))


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


@cache
def _list_suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=1_000)
def _domain(host: str) -> str | None:
    """Return the registrable domain of a host; None for an IP address and for a suffix itself."""
    if ":" in host or host.replace(".", "").isdigit():
        return None
    domain = _list_suffixes().privatesuffix(host)
    return domain if isinstance(domain, str) else None
