"""Which addresses are one place: pure rules over URLs.

An *address* is a URL without what changes from visit to visit (session ids, trackers, time stamps). A
*place* is an address without what tells one of many things from the others (numbers, ids, dates), a *path*
is a place without its query. How many pages of each are kept is `keeping`'s business.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from urllib.parse import parse_qsl, quote, urlsplit

from kb_schema.urls import is_an_id, normal, origin_of

_SESSION_NAME = re.compile(
    r"(?:^|[_-])(?:s|sid|sess|session|sessionid|session[_-]?id|phpsessid|jsessionid|aspsessionid\w*|cfid|cftoken|"
    r"zenid|oscsid|token|csrf\w*|nonce|cachebuster|cb|_|_dc|ts|timestamp|rand|random|nocache)$",
    re.IGNORECASE,
)
_SESSION_IN_PATH = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/;?#]*|\(S\([^)]*\)\)/?", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,30}\Z")
_DATE = re.compile(r"(?=.*\d)[\d.,:_TZ-]+\Z")
_LONG_NUMBER = re.compile(r"\d{9,}\Z")
_RANDOM = re.compile(r"[A-Za-z0-9_\-+/=.~]{16,}\Z")
_LONGEST_RANDOM_NAME = 200
LEAST_WORDS = 2
ROUNDS = 2
"""So many parts of a path that it had before: it goes round."""
_MOST_PARAMETERS = 12
_ROUTE = re.compile(r"!?/")
"""How the fragment of an application begins that keeps its routes there."""


@lru_cache(maxsize=20_000)
def address_of(url: str) -> str:
    """A URL as it is told from others: without session ids, time stamps, trackers and plain anchors."""
    try:
        parts = urlsplit(normal(url))
        given = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return url
    path = _SESSION_IN_PATH.sub("", parts.path) or "/"
    kept = sorted((name, value) for name, value in given if not passes(name, value))
    query = "&".join(f"{quote(name)}={quote(value, safe='/,:')}" for name, value in kept)
    return f"{origin_of(url)}{path}{'?' if query else ''}{query}{_route(parts.fragment)}"


@lru_cache(maxsize=20_000)
def path_of_place(url: str) -> str:
    """The path of a place: what names one of many things is `*`."""
    address = address_of(url)
    whole, _, route = address.partition("#")
    base = whole.partition("?")[0]
    origin = origin_of(base)
    return origin + _starred(base[len(origin) :]) + (f"#{_starred(route.partition('?')[0])}" if route else "")


@lru_cache(maxsize=20_000)
def place_of(url: str) -> str:
    """The place of an address: its path, and which parameters it has; values that are plain words stay."""
    found = []
    for name, value in _parameters(url):
        found.append(f"{name}={value if _WORD.match(value) or not value else '*'}")
    query = "&".join(found[:_MOST_PARAMETERS])
    return f"{path_of_place(url)}{'?' if query else ''}{query}"


@lru_cache(maxsize=20_000)
def kind_of(url: str) -> str:
    """The path of a place with the names of its parameters: other sortings and filters of one list."""
    return f"{path_of_place(url)}?{'&'.join(dict.fromkeys(name for name, _ in _parameters(url)))}"


def is_of_many(url: str) -> bool:
    """Whether the address names one of many things."""
    return "*" in place_of(url)


def parent_of(url: str) -> str:
    """The path above it."""
    return path_of_place(url).rpartition("/")[0]


def same_document(url: str, page_url: str) -> bool:
    """Whether following a link leads to another spot of the same document at most."""
    here, _, _ = page_url.partition("#")
    there, sign, fragment = url.partition("#")
    return bool(sign) and here == there and not _ROUTE.match(fragment)


def passes(name: str, value: str) -> bool:
    """Whether a parameter is of the visit, not of the page: a session's id, a time stamp, random letters."""
    if _SESSION_NAME.search(name) and (not _WORD.match(value) or len(value) > 12):
        return True
    return bool(_LONG_NUMBER.match(value)) or looks_random(value)


def looks_random(text: str) -> bool:
    """Whether nobody typed it: long, letters and digits mixed, not made of words.

    >>> [looks_random(t) for t in ("9f8a7b6c5d4e3f2a1b0c", "a-long-title-of-2024-in-words", "12", "dXNlcjo0MmFiY2Q5")]
    [True, False, False, True]
    """
    if not _RANDOM.match(text) or len(text) > _LONGEST_RANDOM_NAME:
        return False
    changes = sum(a.isdigit() is not b.isdigit() for a, b in pairwise(text))
    return changes >= len(text) / 6


def _parameters(url: str) -> list[tuple[str, str]]:
    address = address_of(url)
    whole, _, route = address.partition("#")
    query = "&".join(part.partition("?")[2] for part in (whole, route))
    return sorted(parse_qsl(query, keep_blank_values=True))


def _route(fragment: str) -> str:
    return f"#{fragment}" if _ROUTE.match(fragment) else ""


def _starred(path: str) -> str:
    parts = ["*" if part and _names_one(part) else part for part in path.split("/")]
    said = [part for part in parts if part not in ("", "*")]
    if len(said) - len(set(said)) < ROUNDS:
        return "/".join(parts)
    return "/".join(
        [*dict.fromkeys(parts), "**"]
    )  # links that lead ever deeper: `/deep/again/deep/again/deep`


def _names_one(part: str) -> bool:
    return is_an_id(part) or _DATE.match(part) is not None or looks_random(part) or _is_numbered_title(part)


def _is_numbered_title(part: str) -> bool:
    """Two words at least, then a number: `the-bean-book-7`; not `step-2`."""
    *words, number = part.replace("_", "-").split("-")
    return number.isdecimal() and sum(word[:1].isalpha() for word in words) >= LEAST_WORDS
