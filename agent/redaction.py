"""Secrets in every spelling: everything that is written goes through `Secrets.redact`.

Only text is handled here. The knowledge base says which values are secret (`secret: true`); hiding what a
page shows is `agent.page`'s part.
"""

from __future__ import annotations

import base64
import html
import itertools
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from agent.secret_disguises import Edges, SecretDisguises
from kb_schema.templates import as_text, css_string, xpath_literal

REDACTED = "•••"
SHORTEST = 3
"""Shorter secrets are not redacted: they would remove ordinary words."""
SHORTEST_CUT = 4
"""Characters of a secret that are removed at a point where a text was truncated."""
SHORTEST_CUT_TEXT = 32
"""Characters from which on a text may have been cut at its end without an ellipsis: scripts and messages cut at 40 and more."""
NEAR_CUT = 400
"""Characters beside an ellipsis in which a part of a disguised secret is searched."""
SHORTEST_BASE64 = 8
"""Characters of base64 that are searched inside longer base64: shorter ones match by chance."""
LONG = 5_000
"""Characters from which on a text without a disguise is remembered."""
LATEST_PAGES = 8
SHORT = 1_000
MOST_SHORT = 4_000
"""Texts of at most `SHORT` characters without a secret that are remembered."""

_SAFE = (
    "",
    "/",  # Python: quote
    "!'()*-._~",  # JavaScript: encodeURIComponent
    ";,/?:@&=+$-_.!~*'()#",  # JavaScript: encodeURI
    "*-._",  # forms
    "!$%&()*+,-./:;=?@[\\]^_`{|}~",  # queries, as browsers show them
    "!$%&'()*+,-./:;=@[\\]^_|~",  # paths, as browsers show them
)
"""Characters that each way of percent-encoding leaves unchanged."""
_APOSTROPHES = ("'", "&#x27;", "&#39;", "&apos;")
_QUOTES = ('"', "&quot;", "&#34;")
_CUT = re.compile(r"(…|\.\.\.|\\u2026|&hellip;)")


class Secrets:
    """The secrets of a session. Values can be added, never removed."""

    disguised = True
    """Whether disguises are searched as well (`agent.secret_disguises`)."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._spelt: list[str] = []
        """Longest first, so that no part of a secret remains after a shorter one inside it was replaced."""
        self._disguises: SecretDisguises | None = None
        """Made at the first use after a secret was added."""
        self._clean: deque[str] = deque(maxlen=LATEST_PAGES)
        """Long texts without a disguise: a page is redacted for each of its readers."""
        self._unchanged: set[str] = set()
        """Short texts without a secret: names of events, addresses and keys come again with every step."""

    def __bool__(self) -> bool:
        return bool(self._values)

    @property
    def values(self) -> frozenset[str]:
        """The plain values, for hiding them on the page."""
        return frozenset(self._values)

    @property
    def disguises(self) -> SecretDisguises:
        """The disguises of the values."""
        if self._disguises is None:
            self._disguises = SecretDisguises(self._values)
        return self._disguises

    def keep(self, value: Any) -> None:
        """Register a value and every text and number in it."""
        new = {text for text in _texts(value) if len(text) >= SHORTEST} - self._values
        if not new:
            return
        if not self._values:
            _LATEST.append(self)
        self._values |= new
        spelt = set(self._spelt).union(*map(spellings, new))
        self._spelt = sorted(spelt, key=lambda text: (-len(text), text))
        self._disguises = None
        self._clean.clear()
        self._unchanged = set()

    def redact(self, data: Any) -> Any:
        """Return JSON data with every secret replaced, also inside longer strings and in keys."""
        return self._redacted(data) if self._values else data

    def _redacted(self, data: Any) -> Any:
        if isinstance(data, str):
            return self._text(data)
        if isinstance(data, Mapping):
            return {self._redacted(key): self._redacted(value) for key, value in data.items()}
        if isinstance(data, list | tuple | set | frozenset):
            return [self._redacted(value) for value in data]
        if isinstance(data, int | float) and as_text(data) in self._values:
            return REDACTED
        return data

    def _text(self, text: str) -> str:
        if len(text) > SHORT:
            return self._searched(text)
        unchanged = self._unchanged  # another set stands there if a secret is added meanwhile
        if text in unchanged:
            return text
        found = self._searched(text)
        if found == text:
            if len(unchanged) >= MOST_SHORT:
                unchanged.clear()
            unchanged.add(text)
        return found

    def _searched(self, text: str) -> str:
        for secret in self._spelt:
            if secret in text:
                text = text.replace(secret, REDACTED)
        text = self._without_cuts(text) if _CUT.search(text) else text
        if not self.disguised:
            return text
        if len(text) < LONG:
            return self._undisguised(text)
        if text not in self._clean:
            text = self._undisguised(text)
            self._clean.append(text)
        return text

    def _undisguised(self, text: str) -> str:
        """Return a text without disguises, and without their parts beside an ellipsis and at the end of a long text."""
        text = self.disguises.cut_from(text, REDACTED)
        if not self.disguises or (len(text) < SHORTEST_CUT_TEXT and not _CUT.search(text)):
            return text
        pieces = _CUT.split(text)
        for index in range(0, len(pieces), 2):  # the odd pieces are the ellipses
            if index > 0:
                near, far = pieces[index][:NEAR_CUT], pieces[index][NEAR_CUT:]
                pieces[index] = self.disguises.cut_parts_from(near, REDACTED, Edges(head=True)) + far
            if index + 1 < len(pieces) or len(text) >= SHORTEST_CUT_TEXT:
                far, near = pieces[index][:-NEAR_CUT], pieces[index][-NEAR_CUT:]
                pieces[index] = far + self.disguises.cut_parts_from(near, REDACTED, Edges(tail=True))
        return "".join(pieces)

    def _without_cuts(self, text: str) -> str:
        """Remove the rest of a secret where the text was truncated before."""
        pieces = _CUT.split(text)
        for index in range(0, len(pieces), 2):  # the odd pieces are the ellipses
            if index > 0:
                pieces[index] = self._without_rest(pieces[index], head=True)
            if index + 1 < len(pieces):
                pieces[index] = self._without_rest(pieces[index], head=False)
        return "".join(pieces)

    def _without_rest(self, text: str, *, head: bool) -> str:
        """Remove the end of a secret at the head of the text, or its beginning at the tail."""
        for secret in self._values:
            near = text[: len(secret)] if head else text[-len(secret) :]
            if (secret[-SHORTEST_CUT:] if head else secret[:SHORTEST_CUT]) not in near:
                continue
            for length in range(len(secret) - 1, SHORTEST_CUT - 1, -1):
                if head and text.startswith(secret[-length:]):
                    return REDACTED + text[length:]
                if not head and text.endswith(secret[:length]):
                    return text[:-length] + REDACTED
        return text


_LATEST: deque[Secrets] = deque(maxlen=100)
"""Secrets of the latest sessions: an error may be written after its session ended."""


def redact_known(data: Any) -> Any:
    """Return JSON data without the secrets of the latest sessions of this process that had any: for tracebacks, logs, and pages of other
    websites that repeat them.
    """
    for secrets in list(_LATEST):
        data = secrets.redact(data)
    return data


def spellings(text: str) -> frozenset[str]:
    r"""A secret as it is, and as it stands in addresses, forms, HTML, JSON, Python, selectors, base64
    and hexadecimal.

    >>> {"a&b", "a%26b", "a&amp;b", "a\\u0026b", "YSZi", "612662"} <= spellings("a&b")
    True
    """
    seen = {text, " ".join(text.split()), text.strip()}
    found = set(itertools.chain.from_iterable(map(_written, seen)))
    return frozenset(each for each in found if len(each) >= SHORTEST)


def _written(text: str) -> Iterator[str]:
    yield text
    yield from _percent(text)
    yield from _markup(text)
    yield from _literals(text)
    yield from _bytes(text.encode("utf-8", "replace"))


def _percent(text: str) -> Iterator[str]:
    plain = text.encode("utf-8", "replace")
    for safe in _SAFE:
        encoded = quote(plain, safe=safe)
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)
        yield quote_plus(plain, safe=safe)
    yield quote(quote(plain, safe=""), safe="")


def _markup(text: str) -> Iterator[str]:
    """In text and attributes, however careful the one who wrote it was; and once more inside `srcdoc`."""
    basic = html.escape(text, quote=False)
    for body in {text, basic, basic.replace("\xa0", "&nbsp;")}:
        for apostrophe, mark in itertools.product(_APOSTROPHES, _QUOTES):
            once = body.replace("'", apostrophe).replace('"', mark)
            yield once
            yield once.encode("ascii", "xmlcharrefreplace").decode()
            again = html.escape(once, quote=False)
            yield again
            yield again.replace('"', "&quot;")


def _literals(text: str) -> Iterator[str]:
    """In source of all kinds: selectors, and those and the text itself inside JSON and Python."""
    bases = {text, css_string(text)[1:-1]}
    if "'" in text and '"' in text:
        bases.add(xpath_literal(text))
    for base in bases:
        yield base
        yield from _escaped(base)
        for once in (json.dumps(base)[1:-1], json.dumps(base, ensure_ascii=False)[1:-1]):
            yield once
            yield from _escaped(once)
            yield json.dumps(once, ensure_ascii=False)[1:-1]
            yield once.replace("/", "\\/")
            yield once.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _escaped(text: str) -> Iterator[str]:
    """As Python writes strings: which marks are escaped depends on what stands around it."""
    slashed = text.replace("\\", "\\\\")
    yield slashed
    yield slashed.replace("'", "\\'")
    yield slashed.replace('"', '\\"')
    yield repr(text)[1:-1]


def _bytes(data: bytes) -> Iterator[str]:
    yield data.hex()
    yield data.hex().upper()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data).decode()
        yield whole
        yield whole.rstrip("=")
        for before in range(3):  # inside other data ("user:secret") it begins at any of three places
            inner = encode(b"\0" * before + data).decode()
            part = inner[-(-8 * before // 6) : 8 * (before + len(data)) // 6]
            if len(part) >= SHORTEST_BASE64:
                yield part


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, Mapping):
        return itertools.chain.from_iterable(map(_texts, value.values()))
    if isinstance(value, list | tuple | set):
        return itertools.chain.from_iterable(map(_texts, value))
    return () if value is None or isinstance(value, bool) else (as_text(value),)
