"""What robots.txt of each origin lets an exploration open; fetching it. Its rules are `robots`' business."""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import urljoin

from playwright.async_api import BrowserContext
from playwright.async_api import Error as DriverError

from agent.mapping.robots import Robots
from kb_schema.urls import origin_of

FETCH_MS = 15_000
REDIRECTS = 5
"""RFC 9309, 2.3.1.2."""


class Permission:
    """The rules of all origins an exploration may go to."""

    def __init__(self, origins: Collection[str], *, respected: bool) -> None:
        self._origins, self._respected = tuple(origins), respected
        self._rules: dict[str, Robots] = {}

    async def learn(self, context: BrowserContext) -> float:
        """Fetch what is not known yet; the longest delay that is asked for, in seconds."""
        for origin in self._origins:
            if origin not in self._rules:
                self._rules[origin] = (
                    await _fetched(context, origin) if self._respected else Robots.everything()
                )
        return max((rules.delay for rules in self._rules.values()), default=0.0)

    def may_open(self, url: str) -> bool:
        """Whether an address may be opened, as far as robots.txt goes."""
        rules = self._rules.get(origin_of(url))
        return rules is None or rules.allowed(url)


async def _fetched(context: BrowserContext, origin: str) -> Robots:
    """Only of its own origin: a redirect elsewhere is not followed."""
    address = f"{origin}/robots.txt"
    for _ in range(REDIRECTS + 1):
        try:
            answer = await context.request.get(address, timeout=FETCH_MS, max_redirects=0)
            body = await answer.body()
        except DriverError:
            return Robots.of(None)
        leads = answer.headers.get("location", "")
        if not HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST or not leads:
            return Robots.of(answer.status, body, answer.headers.get("content-type", ""))
        address = urljoin(address, leads)
        if origin_of(address) != origin:
            return Robots.everything("robots.txt leads to another origin")
    return Robots.everything("robots.txt redirects without end")
