"""How a page looks, as a fingerprint that changes when a viewer would see something else (`looks.js`).

What differs from one showing to the next of the same page is not part of it: numbers, dates, how long ago
something was, and the values the show itself brought.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from agent.page.changing import wait_for_change

STEADY_TRIES = 12
"""How often a page is looked at until it is the same twice."""
SHORTEST_VALUE = 3
"""Characters; shorter values of a show may be part of any word."""

_TIMES = re.compile(
    r"\b(just now|yesterday|today|tomorrow|a moment ago|gerade eben|gestern|heute|morgen"
    r"|(an?|\d+) (seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?) ago"
    r"|(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?"
    r"|(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?"
    r"|nov(ember)?|dec(ember)?)"
    r")\b\.?",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+(?:[.,:/-]\d+)*")


@cache
def _source() -> str:
    return (Path(__file__).parent / "looks.js").read_text(encoding="utf-8")


async def look_of(page: Page, values: Collection[str] = ()) -> str:
    """The fingerprint of the page as it is, once it is steady; "" where it cannot be looked at.

    `values` are what the show itself has put on it.
    """
    before = await _seen(page)
    for _ in range(STEADY_TRIES):
        await wait_for_change(page, 0.15)
        now = await _seen(page)
        if now == before:
            break
        before = now
    return fingerprint(*before, values) if before else ""


def fingerprint(seen: str, drawn: str, values: Collection[str] = ()) -> str:
    """Of what `looks.js` says of a page: what is there, and how it is drawn.

    >>> fingerprint("7 calls, Ann, now", "", ["Ann"]) == fingerprint("12 calls, Bob, now", "", ["Bob"])
    True
    """
    for value in sorted({each.strip() for each in values}, key=len, reverse=True):
        if len(value) >= SHORTEST_VALUE:
            seen = seen.replace(value, "{}")
    plain = _NUMBERS.sub("#", _TIMES.sub("@", seen))
    return hashlib.sha256(f"{plain}\0{drawn}".encode()).hexdigest()[:24]


async def _seen(page: Page) -> tuple[str, str] | None:
    try:
        there, drawn = await page.evaluate(_source())
        return str(there), str(drawn)
    except PlaywrightError:
        return None  # the document is being replaced, or it is none of ours
