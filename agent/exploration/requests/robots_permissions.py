"""Fetches robots.txt of each origin; `robots_rules` evaluates it."""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import urljoin

from playwright.async_api import BrowserContext
from playwright.async_api import Error as DriverError

from agent.exploration.requests.robots_rules import RobotsRules
from kb_schema.url_patterns import origin_of

FETCH_MS = 15_000
_LONGEST = 100
REDIRECTS = 5
"""RFC 9309, 2.3.1.2."""


DISALLOWED = "robots.txt disallows it"
"""Why a page is not opened."""


class RobotsPermissions:
    """The rules of all origins of an exploration."""

    def __init__(self, origins: Collection[str], *, respected: bool) -> None:
        self._origins, self._respected = tuple(origins), respected
        self._rules: dict[str, RobotsRules] = {}

    async def learn(self, context: BrowserContext) -> float:
        """Fetch missing rules; return the longest requested crawl delay in seconds."""
        for origin in self._origins:
            if origin not in self._rules:
                self._rules[origin] = (
                    await _fetch_robots_txt(context, origin) if self._respected else RobotsRules.everything()
                )
        return max((rules.delay for rules in self._rules.values()), default=0.0)

    def may_open(self, url: str) -> bool:
        """Whether robots.txt allows an address."""
        rules = self._rules.get(origin_of(url))
        return rules is None or rules.allowed(url)

    def explain_refusal(self, url: str) -> str:
        """Return why an address may not be opened; "" if it may."""
        rules = self._rules.get(origin_of(url))
        if rules is None or rules.allowed(url):
            return ""
        return rules.why if rules.closed else DISALLOWED


def _first_line(error: DriverError) -> str:
    """Return what the driver says, without the name of its method and its log."""
    line = next(iter(error.message.splitlines()), "")
    return line.removeprefix("APIRequestContext.get: ")[:_LONGEST]


async def _fetch_robots_txt(context: BrowserContext, origin: str) -> RobotsRules:
    """Fetch the rules of an origin; does not follow redirects to other origins."""
    address = f"{origin}/robots.txt"
    for _ in range(REDIRECTS + 1):
        try:
            answer = await context.request.get(address, timeout=FETCH_MS, max_redirects=0)
            body = await answer.body()
        except DriverError as error:
            return RobotsRules.of(None, failure=_first_line(error))
        leads = answer.headers.get("location", "")
        if not HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST or not leads:
            return RobotsRules.of(answer.status, body, answer.headers.get("content-type", ""))
        address = urljoin(address, leads)
        if origin_of(address) != origin:
            return RobotsRules.everything("robots.txt redirects to another origin")
    return RobotsRules.everything("robots.txt redirects too often")
