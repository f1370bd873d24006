"""What a site's robots.txt lets us look at, as RFC 9309 says; rules are read and matched by Protego.

Whoever fetches the file (five redirects at most, 2.3.1.2) says how that went: `Robots.of(status, body)`. Not here:
fetching, and waiting for `delay`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from protego import Protego

AGENT = "Periplus"
"""The product token that groups of a robots.txt name."""
MOST_BYTES = 512 * 1024
"""RFC 9309, 2.5: at least 500 KiB are read; what follows is not."""
MOST_LINE = 2_000
"""Characters of a line; a longer one is no rule for an address of ours."""
LONGEST_DELAY_S = 30.0
"""A `Crawl-delay` above this is taken as this: an exploration has an end."""


@dataclass(frozen=True)
class Robots:
    """Rules for one origin. `why` says where they come from, for people."""

    why: str
    delay: float = 0.0
    """Seconds between two requests that the file asks for; 0: it asks for nothing."""
    _rules: Protego | None = None
    _closed: bool = False

    @classmethod
    def everything(cls, why: str = "robots.txt is not looked at") -> Robots:
        """Rules that allow all."""
        return cls(why)

    @classmethod
    def nothing(cls, why: str) -> Robots:
        """Rules that allow nothing."""
        return cls(why, _closed=True)

    @classmethod
    def of(cls, status: int | None, body: bytes | str = b"", content_type: str = "") -> Robots:
        """Rules by what fetching the file gave: an HTTP status, None where no answer came, and its text.

        No file (4xx) allows all, a server that fails (5xx, 429, no answer) forbids all until it answers (RFC 9309,
        2.3.1.3 and 2.3.1.4). A page of HTML in its place is no file: sites answer so to any address.
        """
        if status is None:
            return cls.nothing("robots.txt: no answer, which means to keep out")
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
            return cls.nothing(f"robots.txt: HTTP {status}, which means to keep out")
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            return cls.everything(f"there is no robots.txt (HTTP {status})")
        text = _text(body)
        if "html" in content_type.casefold() or text.lstrip()[:1] == "<":
            return cls.everything("there is no robots.txt (a page of HTML stands in its place)")
        rules = Protego.parse(text)
        return cls("robots.txt", _bounded(rules.crawl_delay(AGENT)), rules)

    def allowed(self, url: str) -> bool:
        """Whether an address of this origin may be opened."""
        try:
            path = urlsplit(url).path
        except ValueError:
            return False
        if self._closed:
            return path == "/robots.txt"
        return self._rules is None or self._rules.can_fetch(url, AGENT)


def _text(body: bytes | str) -> str:
    raw = body.encode("utf-8", "replace") if isinstance(body, str) else body
    cut = raw[:MOST_BYTES]
    if len(raw) > MOST_BYTES:
        cut = cut[: cut.rfind(b"\n") + 1]  # half a rule may be the opposite of it
    text = cut.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "")
    return "\n".join(line for line in text.splitlines() if len(line) <= MOST_LINE)


def _bounded(delay: float | None) -> float:
    if delay is None or math.isnan(delay) or delay <= 0:
        return 0.0
    return min(delay, LONGEST_DELAY_S)
