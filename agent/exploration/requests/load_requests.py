"""Tells the requests that every visit of a website sends by itself: keeping its session, renewing its token, counting a visit.

Many applications send such a request by POST, PUT or PATCH whenever a page opens, and show nothing, or that they are offline, if it is not
answered. So one address is opened first as any visit opens it (`learning`). What it then sends, and what names no deed, is sent
again when a page opens. While a control is used, only the very same request is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from agent.dangers.sent_deeds import SentRequest, find_harm_in_sent
from agent.exploration.pages.page_addresses import is_session_name
from kb_schema.exploration_parts import UsualRequest
from kb_schema.text_similarity import words
from kb_schema.url_patterns import origin_of, path_of

LONGEST_BODY = 4_000
"""Characters of a body. A longer one carries data of the application, not signs of a visit."""
_UPKEEP = frozenset({"POST", "PUT", "PATCH"})
_OPAQUE = re.compile(r"(?=\S*\d)[\w.~+/=:-]{10,}")
_MOMENTS = frozenset({"at", "now", "time", "timestamp", "ts"})
"""The last words of fields that hold a moment."""
_OF_BROWSERS = re.compile(
    r"accept(-.*)?|authorization|cache-control|connection|content-(length|type)|cookie|dnt|host|if-.*|keep-alive|origin|pragma|priority"
    r"|referer|sec-.*|te|traceparent|tracestate|upgrade.*|user-agent|x-requested-with"
)


@dataclass
class LoadRequests:
    """What every visit of a website sends when a page opens, as seen at one visit."""

    known: list[UsualRequest] = field(default_factory=list)
    learned: bool = False
    """Whether a visit was seen."""
    learning: bool = False
    """Whether an address is being opened to see what any visit sends."""

    @contextmanager
    def learn(self) -> Iterator[None]:
        """Note what an address sends that is opened in the block, unless that was done before."""
        self.learning = not self.learned
        try:
            yield
        finally:
            self.learned, self.learning = True, False

    def are_usual(self, sent: SentRequest, *, on_load: bool) -> bool:
        """Return whether any visit sends a request. `on_load`: opening an address sends it, not the use of a control."""
        if sent.method not in _UPKEEP or len(sent.body) > LONGEST_BODY or find_harm_in_sent(sent) is not None:
            return False
        own = ((name, value) for name, value in sent.headers.items() if not _is_of_browser(name))
        url = origin_of(sent.url) + path_of(sent.url).partition("?")[0]
        asked = UsualRequest(method=sent.method, url=url, body=sent.body, headers=tuple(sorted(own)))
        if asked in self.known:
            return True
        if on_load and self.learning:
            self.known.append(asked)
            return True
        return on_load and any(_is_alike(asked, each) for each in self.known)


def _is_of_browser(header: str) -> bool:
    return _OF_BROWSERS.fullmatch(header) is not None or is_session_name(header)


def _is_alike(asked: UsualRequest, known: UsualRequest) -> bool:
    """Whether two requests to one address carry bodies of JSON that differ in nothing but tokens and moments."""
    if (asked.method, asked.url, asked.headers) != (known.method, known.url, known.headers):
        return False
    try:
        return _are_alike(json.loads(asked.body), json.loads(known.body), "")
    except (ValueError, RecursionError):
        return False


def _are_alike(one: Any, other: Any, name: str) -> bool:
    """`name`: that of the field whose values they are."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_are_alike(one[key], other[key], key) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            _are_alike(*each, name) for each in zip(one, other, strict=True)
        )
    said = words(name)
    moment = bool(said) and said[-1] in _MOMENTS
    if type(one) is not type(other) or one == other:
        return bool(one == other)
    if isinstance(one, str):
        each_visits = moment or is_session_name("_".join(said))  # the id of another thing is none
        return bool(each_visits and _OPAQUE.fullmatch(one) and _OPAQUE.fullmatch(other))
    return bool(moment and isinstance(one, int | float) and not isinstance(one, bool))
