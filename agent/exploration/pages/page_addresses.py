"""Normalises URLs to addresses, places and paths.

An *address* is a URL without the parts that change with each visit (session ids, trackers, timestamps). A *place*
is an address without the parts that identify one of many items (numbers, ids, dates). A *path* is a place without
its query. `exploration_state` decides how many pages of each are kept.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from urllib.parse import parse_qsl, quote, urlsplit

from kb_schema.url_patterns import ANY, normalize_url, open_segment, origin_of, split_glued_id

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
"""Number of repeated path parts from which a path counts as endless."""
_MOST_PARAMETERS = 12
_STEPS = frozenset(
    {
        "chapter",
        "day",
        "level",
        "page",
        "part",
        "phase",
        "question",
        "section",
        "slide",
        "step",
        "tab",
        "version",
        "week",
    }
)
"""Words before the number of a page that is not one of many alike: `step2`."""
_ROUTE = re.compile(r"!?/")
"""Prefixes of fragments that contain client-side routes."""


def is_session_name(name: str) -> bool:
    """Return whether a parameter or field has another value at each visit by its name: that of a session, a token, a moment."""
    return _SESSION_NAME.search(name) is not None


@lru_cache(maxsize=20_000)
def normalize_address(url: str) -> str:
    """Return a URL without session ids, timestamps, trackers and plain anchors."""
    try:
        parts = urlsplit(normalize_url(url))
        given = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return url
    path = _SESSION_IN_PATH.sub("", parts.path) or "/"
    kept = sorted((name, value) for name, value in given if not is_transient_parameter(name, value))
    query = "&".join(f"{quote(name)}={quote(value, safe='/,:')}" for name, value in kept)
    return f"{origin_of(url)}{path}{'?' if query else ''}{query}{_route(parts.fragment)}"


def goes_back(href: str, arrived: str, page_url: str) -> bool:
    """Whether an application answered the address of a link by going back: to the page that has the link, without its last part or its
    query; or to the thing, without the deed (`/tickets/4/?take` to `/tickets/4`, `/tickets/4/close` to `/tickets/4`).

    So do links that change something by GET and then show the thing.
    """
    wanted, there, here = map(normalize_address, (href, arrived, page_url))
    base, _, query = wanted.partition("#")[0].partition("?")
    shown = there.partition("#")[0].partition("?")[0].rstrip("/")
    if wanted == there or there.partition("#")[0] == wanted.partition("#")[0]:
        return False
    above, _, last = base.rstrip("/").rpartition("/")
    of_a_thing = ANY in _open(above.rpartition("/")[2])
    if query and shown == base.rstrip("/") and "?" not in there:
        return there == here or all(not value for _, value in _parameters(href))
    return bool(last) and not query and shown == above and (of_a_thing or there == here)


@lru_cache(maxsize=20_000)
def build_place_path(url: str) -> str:
    """Return the path of a place, with `*` for parts that identify one of many items."""
    address = normalize_address(url)
    whole, _, route = address.partition("#")
    base = whole.partition("?")[0]
    origin = origin_of(base)
    return origin + _starred(base[len(origin) :]) + (f"#{_starred(route.partition('?')[0])}" if route else "")


@lru_cache(maxsize=20_000)
def build_place(url: str) -> str:
    """Return the place of an address: its path and parameter names, with values that are plain words."""
    found = []
    for name, value in _parameters(url):
        found.append(f"{name}={value if _WORD.match(value) or not value else '*'}")
    query = "&".join(found[:_MOST_PARAMETERS])
    return f"{build_place_path(url)}{'?' if query else ''}{query}"


@lru_cache(maxsize=20_000)
def build_address_kind(url: str) -> str:
    """Return path and parameter names: equal for all sort orders and filters of one list."""
    return f"{build_place_path(url)}?{'&'.join(dict.fromkeys(name for name, _ in _parameters(url)))}"


def names_one_of_many(url: str) -> bool:
    """Whether the address identifies one of many items."""
    return "*" in build_place(url)


def build_parent_path(url: str) -> str:
    """Return the parent path."""
    return build_place_path(url).rpartition("/")[0]


def is_same_document(url: str, page_url: str) -> bool:
    """Whether a link leads to another position in the same document."""
    here, _, _ = page_url.partition("#")
    there, sign, fragment = url.partition("#")
    return bool(sign) and here == there and not _ROUTE.match(fragment)


def is_transient_parameter(name: str, value: str) -> bool:
    """Whether a parameter belongs to the visit: a session id, a timestamp or random characters."""
    if is_session_name(name) and (not _WORD.match(value) or len(value) > 12):
        return True
    return bool(_LONG_NUMBER.match(value)) or looks_random(value)


def looks_random(text: str) -> bool:
    """Whether a text is generated: long, with letters and digits mixed, not made of words.

    >>> [looks_random(t) for t in ("9f8a7b6c5d4e3f2a1b0c", "a-long-title-of-2024-in-words", "12", "dXNlcjo0MmFiY2Q5")]
    [True, False, False, True]
    """
    if not _RANDOM.match(text) or len(text) > _LONGEST_RANDOM_NAME:
        return False
    changes = sum(a.isdigit() is not b.isdigit() for a, b in pairwise(text))
    return changes >= len(text) / 6


def _parameters(url: str) -> list[tuple[str, str]]:
    address = normalize_address(url)
    whole, _, route = address.partition("#")
    query = "&".join(part.partition("?")[2] for part in (whole, route))
    return sorted(parse_qsl(query, keep_blank_values=True))


def _route(fragment: str) -> str:
    return f"#{fragment}" if _ROUTE.match(fragment) else ""


def _starred(path: str) -> str:
    parts = [_open(part) if part else part for part in path.split("/")]
    said = [part for part in parts if part not in ("", "*")]
    if len(said) - len(set(said)) < ROUNDS:
        return "/".join(parts)
    return "/".join([*dict.fromkeys(parts), "**"])  # endless links: `/deep/again/deep/again/deep`


def _open(part: str) -> str:
    """Return a part of a path with `*` in place of what identifies one of many."""
    if (opened := open_segment(part)) != part:
        return opened
    if _DATE.match(part) is not None or looks_random(part) or _is_numbered_title(part):
        return ANY
    glued = split_glued_id(part)
    return part if glued is None or glued[0].strip("_-").casefold() in _STEPS else f"{glued[0]}{ANY}"


def _is_numbered_title(part: str) -> bool:
    """Whether it is at least two words and a number: `the-bean-book-7`, but not `step-2`."""
    *words, number = part.replace("_", "-").split("-")
    return number.isdecimal() and sum(word[:1].isalpha() for word in words) >= LEAST_WORDS
