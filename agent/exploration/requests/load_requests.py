"""Tells the requests that every visit of a website sends by itself: keeping its session, renewing its token, counting a visit.

Many applications send such a request by POST, PUT or PATCH whenever a page opens, and show nothing, or that they are offline, if it is not
answered. So one address is opened first as any visit opens it (`learning`). What it then sends, and what names no deed, is sent
again when a page opens. While a control is used, only the very same request is: by its method, its address with the query, each header
that a script can set, and each byte of its body.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from agent.dangers.danger_addresses import find_danger_of_called
from agent.dangers.danger_words import HARM
from agent.dangers.deed_names import find_deed_of_verb_and_thing
from agent.dangers.named_operations import MOST_FIELDS, UNSET
from agent.dangers.sent_deeds import SentRequest, find_harm_in_sent, list_sent_fields, parse_pairs
from agent.exploration.pages.page_addresses import is_session_name, looks_random
from agent.page.redirect_guard import OutgoingRequest
from kb_schema.exploration_parts import UsualRequest
from kb_schema.secret_fields import is_secret_name
from kb_schema.text_similarity import words
from kb_schema.url_patterns import origin_of, path_of

LONGEST_BODY = 4_000
"""Bytes of a body. A longer one carries data of the application, not signs of a visit."""
NOW_S = 600.0
"""Seconds around the present in which a moment is that of the visit."""
_UPKEEP = frozenset({"POST", "PUT", "PATCH"})
LEAST_GENERATED = 16
"""Letters and digits of a token."""
_TOKEN = re.compile(r"(?:([A-Za-z][A-Za-z0-9-]*) )?([\w.~+/=:-]+)")
"""A header's whole value that is a token, perhaps behind a scheme (`Bearer eyJ..`)."""
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")
_COUNT = re.compile(r"\d{10,}")
"""A number against caches: `_=1796000590123`."""
_DIGEST = "token:"
_MASKED = re.compile(rf"{_DIGEST}[0-9a-f]{{64}}\Z")
_MOMENTS = frozenset({"at", "date", "now", "t", "time", "timestamp", "ts"})
"""The last words of fields that hold a moment."""
_OF_BROWSERS = re.compile(
    r"accept-(charset|encoding)|access-control-request-(headers|method|private-network)|connection|content-length|cookie2?|date|dnt|expect|host"
    r"|keep-alive|origin|proxy-.*|referer|sec-.*|te|trailer|transfer-encoding|upgrade|user-agent|via"
)
"""Headers that no script of a page can set (the Fetch standard's forbidden ones; browsers keep `User-Agent` as well)."""
_TOKEN_HEADERS = frozenset({"authorization", "traceparent"})
_BOUNDARY = re.compile(r"; boundary=(----WebKitFormBoundary[A-Za-z0-9]{16})\Z")
"""What browsers make up between the parts of a body. A script can write it, too, so it counts while a control is used."""
_KEYS = ("key", "token")
"""Ends of names of secrets that a program sends, not a person."""


@dataclass
class LoadRequests:
    """What every visit of a website sends when a page opens, as seen at one visit."""

    known: list[UsualRequest] = field(default_factory=list)
    learned: bool = False
    """Whether a visit was seen."""
    learning: bool = False
    """Whether an address is being opened to see what any visit sends."""
    now: Callable[[], float] = time.time
    """Returns the seconds since 1970."""

    @contextmanager
    def learn(self) -> Iterator[None]:
        """Note what an address sends that is opened in the block, unless that was done before."""
        self.learning = not self.learned
        try:
            yield
        finally:
            self.learned, self.learning = True, False

    def are_usual(self, asked: OutgoingRequest, *, on_load: bool) -> bool:
        """Return whether any visit sends a request. `on_load`: opening an address sends it, not the use of a control."""
        if asked.method not in _UPKEEP or not asked.whole or len(asked.content) > LONGEST_BODY:
            return False
        sent = SentRequest(asked.method, asked.url, asked.body, _fold(asked))
        if find_harm_in_sent(sent) is not None or _has_field_of_deed(sent):
            return False
        one = describe_request(asked)
        if one in self.known:
            return True
        if on_load and self.learning:
            self.known.append(one)
            return True
        return on_load and any(self._is_alike(one, each) for each in self.known)

    def _is_alike(self, asked: UsualRequest, known: UsualRequest) -> bool:
        """Whether two requests to one address differ in nothing but tokens, boundaries, and moments in their queries and their bodies of JSON."""
        asked, known = _without_boundary(asked), _without_boundary(known)
        if (asked.method, asked.url) != (known.method, known.url):
            return False
        if _without_tokens(asked) != _without_tokens(known):
            return False
        try:
            return all(
                one == other or self._are_alike(read(one), read(other), "")
                for read, one, other in (
                    (_read_query, asked.query, known.query),
                    (_read_body, asked.body, known.body),
                )
            )
        except (ValueError, RecursionError):
            return False

    def _are_alike(self, one: Any, known: Any, name: str) -> bool:
        """`name`: that of the field whose values they are."""
        if isinstance(one, dict) and isinstance(known, dict):
            return one.keys() == known.keys() and all(
                self._are_alike(one[key], known[key], key) for key in one
            )
        if isinstance(one, list) and isinstance(known, list):
            return len(one) == len(known) and all(
                self._are_alike(*each, name) for each in zip(one, known, strict=True)
            )
        if isinstance(one, tuple) and isinstance(known, tuple):  # a field of a query
            return one[0] == known[0] and self._are_alike(one[1], known[1], one[0])
        if type(one) is not type(known) or one == known:
            return bool(one == known)
        if words(name)[-1:] and words(name)[-1] in _MOMENTS:
            return self._is_moment_of_visit(one, known)
        return isinstance(one, str) and _is_token(name, one) and _is_token(name, known)

    def _is_moment_of_visit(self, one: object, known: object) -> bool:
        """Whether a moment is now, and the known one was not later: that of another thing is neither."""
        moment, before, now = _read_moment(one), _read_moment(known), self.now()
        return (
            moment is not None and before is not None and abs(moment - now) <= NOW_S and before <= now + NOW_S
        )


def describe_request(asked: OutgoingRequest) -> UsualRequest:
    """Return what tells a request from others: all that a page's script can choose. Tokens in headers are digests."""
    headers = {
        name: _digest_token(name, value)
        for name, value in _fold(asked).items()
        if _OF_BROWSERS.fullmatch(name) is None
    }
    path, _, query = path_of(asked.url.partition("#")[0]).partition("?")
    return UsualRequest(
        method=asked.method,
        url=origin_of(asked.url) + path,
        query=query,
        body=asked.content.decode("latin-1"),
        headers=tuple(sorted(headers.items())),
    )


def digest_request(asked: OutgoingRequest) -> str:
    """Return a digest of what a request sends, but for what is generated anew for each; "" if it has no body."""
    one = _without_boundary(describe_request(asked))
    headers = [(name, value) for name, value in _without_tokens(one) if not looks_random(value)]
    return hashlib.sha256(repr((headers, one.body)).encode()).hexdigest() if asked.content else ""


def _without_boundary(one: UsualRequest) -> UsualRequest:
    """Return a request without what browsers make up between the parts of its body."""
    headers = dict(one.headers)
    kind = headers.get("content-type", "")
    if (boundary := _BOUNDARY.search(kind)) is None:
        return one
    headers["content-type"] = kind[: boundary.start()]
    return one.model_copy(
        update={"headers": tuple(sorted(headers.items())), "body": one.body.replace(boundary[1], "")}
    )


def _fold(asked: OutgoingRequest) -> dict[str, str]:
    return {name.casefold(): value for name, value in asked.headers.items()}


def _digest_token(header: str, value: str) -> str:
    """Return a header's value, with a digest for its token if it is one by the header's name and by its form."""
    token = _TOKEN.fullmatch(value)
    named = header in _TOKEN_HEADERS or is_session_name(header)
    if token is None or not named or not looks_generated(token[2]):
        return value
    return value[: token.start(2)] + _DIGEST + hashlib.sha256(token[2].encode()).hexdigest()


def _without_tokens(one: UsualRequest) -> list[tuple[str, str]]:
    """Return the headers of a request; of tokens, that there is one, and its scheme."""
    return [(name, _MASKED.sub(_DIGEST, value)) for name, value in one.headers]


def looks_generated(text: str) -> bool:
    """Whether a text is random by its form: long, of digits and letters that take turns, and no part of it is a word.

    >>> [looks_generated(t) for t in ("9f8a7b6c5d4e3f2a1b0c", "eyJhbGciOi.J1c2VyIjo3.x-9", "boat-heron-1", "keep-9f8a7b6c5d4e3f2a1b0c")]
    [True, True, False, False]
    """
    parts = _SEPARATORS.split(text)
    said = "".join(parts)
    if len(said) < LEAST_GENERATED or said.isalpha() or any(map(_WORD.fullmatch, parts)):
        return False
    in_words = sum(map(len, _WORD.findall(text)))
    changes = sum(_kind_of(one) != _kind_of(other) for one, other in pairwise(said))
    return in_words <= len(said) / 2 and changes >= len(said) / 4


def _kind_of(character: str) -> tuple[bool, bool]:
    return character.isdigit(), character.isupper()


def _read_query(query: str) -> list[tuple[str, str]]:
    """Return the fields of a query, a character for each byte. Raises `ValueError`."""
    return parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_FIELDS, encoding="latin-1")


def _read_body(body: str) -> Any:
    """Return what a body of JSON holds. Raises `ValueError` if it is none, or has a field twice."""
    return json.loads(body.encode("latin-1"), object_pairs_hook=_read_object)


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(read := dict(pairs)) < len(pairs):
        raise ValueError("a field stands twice in an object")
    return read


def _is_token(name: str, value: str) -> bool:
    """Whether a field of this name (`refreshToken`, `_`) holds a token or a number against caches; the id of another thing is none."""
    named = is_session_name(name) or is_session_name("_".join(words(name)))
    return named and (looks_generated(value) or _COUNT.fullmatch(value) is not None)


def _read_moment(value: object) -> float | None:
    """Return the seconds since 1970 of a number of seconds or milliseconds, or of a text of ISO 8601 with the time of day."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        try:
            return datetime.fromisoformat(str(value)).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    return number / 1000 if number > 1e11 else number  # in seconds that is the year 5138


def _has_field_of_deed(sent: SentRequest) -> bool:
    """Whether a field is called like a deed (`invite`), or holds a secret of a person (`password`): a visit says neither by itself."""
    fields = (*list_sent_fields(sent), *parse_pairs(urlsplit(sent.url).query))
    return any(
        _is_personal_secret(name) or _names_deed(name, value)
        for name, value in fields
        if value and str(value).casefold() not in UNSET
    )


def _is_personal_secret(name: str) -> bool:
    of_program = is_session_name("_".join(words(name))) or name.casefold().endswith(_KEYS)
    return is_secret_name(name) and not of_program


def _names_deed(name: str, value: object) -> bool:
    """Whether a field is called by a verb, or by a verb and what it is done to, unless it holds a number (`transferSize`)."""
    if len(words(name)) == 1:
        return find_danger_of_called(name) in HARM
    return isinstance(value, bool | str | dict | list) and find_deed_of_verb_and_thing(name) is not None
