"""The rules of a robots.txt (RFC 9309); Protego parses and matches them.

`RobotsRules.of(status, body)` takes the response. `robots_permissions` fetches the file and follows at most five
redirects (2.3.1.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from protego import Protego

AGENT = "Periplus"
"""The product token that this agent looks for in robots.txt."""
NO_RESPONSE = "no response from the server"
"""Why nothing is allowed where not even robots.txt was answered: the server is not there."""
MOST_BYTES = 512 * 1024
"""Maximum size of a robots.txt (RFC 9309, 2.5); the rest is ignored."""
MOST_LINE = 2_000
"""Maximum length of a line; longer lines are ignored."""
LONGEST_DELAY_S = 30.0
"""Maximum `Crawl-delay` in seconds that is respected."""


@dataclass(frozen=True)
class RobotsRules:
    """The rules of one origin. `why` describes their source."""

    why: str
    delay: float = 0.0
    """Requested seconds between two requests; 0 if there is no request."""
    _rules: Protego | None = None
    _closed: bool = False

    @classmethod
    def everything(cls, why: str = "robots.txt is ignored") -> RobotsRules:
        """Return rules that allow everything."""
        return cls(why)

    @classmethod
    def nothing(cls, why: str) -> RobotsRules:
        """Return rules that allow nothing."""
        return cls(why, _closed=True)

    @classmethod
    def of(
        cls, status: int | None, body: bytes | str = b"", content_type: str = "", *, failure: str = ""
    ) -> RobotsRules:
        """Return the rules for a response: an HTTP status, None without response, and the body.

        `failure` says why there is no response.

        A missing file (4xx) allows everything. A failing server (5xx, 429, no response) forbids everything (RFC 9309,
        2.3.1.3 and 2.3.1.4). An HTML page counts as a missing file, since some websites send it for any address.
        """
        if status is None:
            said = f" ({failure})" if failure else ""
            return cls.nothing(f"{NO_RESPONSE}{said}")
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
            return cls.nothing(f"robots.txt: HTTP {status}, so nothing is allowed")
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            return cls.everything(f"there is no robots.txt (HTTP {status})")
        text = _text(body)
        if "html" in content_type.casefold() or text.lstrip()[:1] == "<":
            return cls.everything("there is no robots.txt (the response is an HTML page)")
        rules = Protego.parse(text)
        return cls("robots.txt", _bounded(rules.crawl_delay(AGENT)), rules)

    @property
    def closed(self) -> bool:
        """Whether nothing is allowed, because robots.txt could not be read."""
        return self._closed

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
        cut = cut[: cut.rfind(b"\n") + 1]  # a truncated rule may have the opposite meaning
    text = cut.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "")
    return "\n".join(line for line in text.splitlines() if len(line) <= MOST_LINE)


def _bounded(delay: float | None) -> float:
    if delay is None or math.isnan(delay) or delay <= 0:
        return 0.0
    return min(delay, LONGEST_DELAY_S)
