"""The address that all traces end at and no earlier page has: a path with gaps, and the keys of its query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl, urlsplit

import re2

from agent.synthesis.patterns.trace_ends import TraceEnd
from kb_schema.conditions import UrlMatches
from kb_schema.url_patterns import is_id_segment

MOST_KEYS = 2
_GAP = "[^/?#]+"
_OVER = "/?(?:[?#]|$)"


def find_address_conditions(ends: Sequence[TraceEnd]) -> list[UrlMatches]:
    """Return the address conditions that all ends prove: with the keys of the query, else the path alone."""
    urls = [end.url for end in ends if end.url]
    path = _path_pattern(urls, bare=True) if len(urls) == len(ends) and urls else None
    if path is None:
        return []
    by_key = [
        made for made in map(_condition, _key_patterns(path, urls)) if all(end.proves(made) for end in ends)
    ]
    if by_key:
        return by_key[:MOST_KEYS]
    alone = _condition(path + _OVER)
    return [alone] if _path_pattern(urls) and all(end.proves(alone) for end in ends) else []


def find_path_condition(urls: Sequence[str | None]) -> UrlMatches | None:
    """Return the path of the addresses at which all traces end, whether or not they were there before."""
    known = [url for url in urls if url]
    path = _path_pattern(known) if len(known) == len(urls) and urls else None
    return None if path is None else _condition((path or "^[a-z]+://[^/]+") + _OVER)


def build_address_pattern(urls: Sequence[str]) -> str | None:
    """Return the pattern of the path that all addresses have; None if it is the root, or there is none."""
    path = _path_pattern(urls)
    return path + _OVER if path else None


def _condition(pattern: str) -> UrlMatches:
    return UrlMatches(type="url_matches", pattern=pattern)


def _path_pattern(urls: Sequence[str], *, bare: bool = False) -> str | None:
    """Return the pattern of the common path, without its end; empty for the root; None if there is none.

    A path of gaps alone says nothing: it counts only with `bare`, if more is asked of the address.
    """
    paths = [_segments(url) for url in urls]
    if len({len(each) for each in paths}) != 1:
        return None
    parts = []
    for segments in zip(*paths, strict=True):
        same = len(set(segments)) == 1 and not is_id_segment(segments[0])
        parts.append(str(re2.escape(segments[0])) if same else _GAP)
    if not bare and parts and all(part == _GAP for part in parts):
        return None
    return "".join(part if part == "#" else f"/{part}" for part in parts)


def _segments(url: str) -> list[str]:
    """Return the parts of the path; the path in a fragment (`#/boats`) belongs to it."""
    parts = urlsplit(url)
    found = [each for each in parts.path.split("/") if each]
    if parts.fragment.lstrip("!").startswith("/"):
        found += ["#", *(each for each in parts.fragment.split("?")[0].lstrip("!").split("/") if each)]
    return found


def _key_patterns(path: str, urls: Sequence[str]) -> Iterator[str]:
    """Yield a pattern for each key that every query has, with its value if that is one word in all of them."""
    queries = [dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)) for url in urls]
    for key in queries[0] if "#" not in _segments(urls[0]) else ():
        values = {query.get(key) for query in queries}
        if None in values:
            continue
        (value,) = values if len(values) == 1 else ("",)
        told = re2.escape(value) + "(?:[&#]|$)" if value and value.isalpha() and value.isascii() else ""
        yield rf"{path}/?\?(?:[^#]*&)?{re2.escape(key)}={told}"
