"""Tells the requests that every visit of a website sends by itself: keeping its session, renewing its token, counting a visit.

Many applications send such a request by POST, PUT or PATCH whenever a page opens, and show nothing, or that they are offline, if it is not
answered. So one address is opened first as any visit opens it (`learning`). What it then sends, and what names no deed, is sent
again when a page opens. While a control is used, only the very same request is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from agent.dangers.sent_deeds import SentRequest, find_harm_in_sent
from kb_schema.exploration_parts import UsualRequest
from kb_schema.url_patterns import origin_of, path_of

LONGEST_BODY = 4_000
"""Characters of a body. A longer one carries data of the application, not signs of a visit."""
_UPKEEP = frozenset({"POST", "PUT", "PATCH"})
_OPAQUE = re.compile(r"(?=\S*\d)[\w.~+/=:-]{10,}")
"""Tokens and moments, of which each visit has others."""


@dataclass
class LoadRequests:
    """What every visit of a website sends when a page opens, as seen at one visit."""

    known: list[UsualRequest] = field(default_factory=list)
    learning: bool = False
    """Whether an address is being opened to see what any visit sends."""

    def are_usual(self, method: str, url: str, body: str, *, on_load: bool) -> bool:
        """Return whether any visit sends a request. `on_load`: opening an address sends it, not the use of a control."""
        if method not in _UPKEEP or len(body) > LONGEST_BODY:
            return False
        asked = UsualRequest(method=method, url=origin_of(url) + path_of(url).partition("?")[0], body=body)
        if asked in self.known:
            return True
        if on_load and self.learning and find_harm_in_sent(SentRequest(method, url, body)) is None:
            self.known.append(asked)
            return True
        return on_load and any(_is_alike(asked, each) for each in self.known)


def _is_alike(asked: UsualRequest, known: UsualRequest) -> bool:
    """Whether two requests to one address carry bodies of JSON that differ in nothing but tokens and moments."""
    if (asked.method, asked.url) != (known.method, known.url):
        return False
    try:
        return _are_alike(json.loads(asked.body), json.loads(known.body))
    except (ValueError, RecursionError):
        return False


def _are_alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_are_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_are_alike, one, other))
    if isinstance(one, str) and isinstance(other, str):
        return one == other or bool(_OPAQUE.fullmatch(one) and _OPAQUE.fullmatch(other))
    return one is other or one == other or (_is_moment(one) and _is_moment(other))


def _is_moment(value: Any) -> bool:
    """Whether a number counts milliseconds or seconds, since 2001 or since the page began."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 1_000_000_000
