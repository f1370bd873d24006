"""Computes a fingerprint of a page's visible appearance (`page_appearance.js`).

Content that differs between two presentations of the same page is left out: numbers, dates, relative times,
and values that the presentation entered.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from agent.page.page_changes import wait_for_change

STEADY_TRIES = 12
"""Most attempts to get the same fingerprint twice in a row."""
SHORTEST_VALUE = 3
"""Minimum length in characters; shorter values may be part of any word."""

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
    return (Path(__file__).parent / "page_appearance.js").read_text(encoding="utf-8")


async def capture_appearance(page: Page, values: Collection[str] = ()) -> str:
    """Return the fingerprint of the page once it is stable; "" if the page cannot be read.

    `values` are those that the presentation entered.
    """
    before = await _normalize_text(page)
    for _ in range(STEADY_TRIES):
        await wait_for_change(page, 0.15)
        now = await _normalize_text(page)
        if now == before:
            break
        before = now
    return hash_appearance(*before, values) if before else ""


def hash_appearance(seen: str, drawn: str, values: Collection[str] = ()) -> str:
    """Return a hash of the content and style that `page_appearance.js` reports.

    >>> fingerprint("7 calls, Ann, now", "", ["Ann"]) == fingerprint("12 calls, Bob, now", "", ["Bob"])
    True
    """
    for value in sorted({each.strip() for each in values}, key=len, reverse=True):
        if len(value) >= SHORTEST_VALUE:
            seen = seen.replace(value, "{}")
    plain = _NUMBERS.sub("#", _TIMES.sub("@", seen))
    return hashlib.sha256(f"{plain}\0{drawn}".encode()).hexdigest()[:24]


async def _normalize_text(page: Page) -> tuple[str, str] | None:
    try:
        there, drawn = await page.evaluate(_source())
        return str(there), str(drawn)
    except PlaywrightError:
        return None  # the document is being replaced, or belongs to another origin
