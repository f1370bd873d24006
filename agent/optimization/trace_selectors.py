"""Parses Playwright's own selector strings, as traces have them, into calls of its Python API.

Parts that no call makes become `locator(...)`, which takes every selector.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from pydantic import JsonValue

from kb_schema.locator_expressions import Expression, LocatorLink

_STRING = r'("(?:[^"\\]|\\.)*")([is])?'
_FLAGGED = rf"(?:{_STRING}|/((?:[^/\\]|\\.)+)/([a-z]*))"
_BY_ATTRIBUTE = {"placeholder": "get_by_placeholder", "alt": "get_by_alt_text", "title": "get_by_title"}


def links_of(selector: str) -> Expression:
    """Return the calls that may have made a selector string."""
    return tuple(link for part in _parts(selector) for link in _part(part))


def _parts(selector: str) -> Iterator[str]:
    """Split at `>>`, outside of quotes."""
    quote, begun = "", 0
    at = 0
    while at < len(selector):
        char = selector[at]
        if char == "\\":
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif selector.startswith(">>", at):
            yield selector[begun:at].strip()
            begun = at + 2
            at += 1
        at += 1
    yield selector[begun:].strip()


def _part(part: str) -> Iterator[LocatorLink]:
    if part == "internal:control=enter-frame":
        yield LocatorLink(method="content_frame")
        return
    for pattern, made in _KINDS:
        if match := pattern.fullmatch(part):
            yield made(match)
            return
    yield LocatorLink(method="locator", arguments=(part,))


def _value(match: re.Match[str], at: int) -> tuple[JsonValue, dict[str, JsonValue]]:
    """Parse a text with its exactness, or a pattern."""
    if match[at] is not None:
        exact: dict[str, JsonValue] = {"exact": True} if match[at + 1] == "s" else {}
        return str(json.loads(match[at])), exact
    return {"regex": match[at + 2], "flags": match[at + 3]}, {}


def _worded(method: str) -> Callable[[re.Match[str]], LocatorLink]:
    def made(match: re.Match[str]) -> LocatorLink:
        value, exact = _value(match, 1)
        return LocatorLink(method=method, arguments=(value,), keywords=exact)

    return made


def _by_role(match: re.Match[str]) -> LocatorLink:
    keywords: dict[str, JsonValue] = {}
    if match[2] is not None or match[4] is not None:
        name, exact = _value(match, 2)
        keywords = {"name": name, **exact}
    return LocatorLink(method="get_by_role", arguments=(match[1],), keywords=keywords)


def _by_attribute(match: re.Match[str]) -> LocatorLink:
    value, exact = _value(match, 2)
    return LocatorLink(method=_BY_ATTRIBUTE[match[1]], arguments=(value,), keywords=exact)


def _by_test_id(match: re.Match[str]) -> LocatorLink:
    return LocatorLink(method="get_by_test_id", arguments=(_value(match, 1)[0],))


def _with_text(match: re.Match[str]) -> LocatorLink:
    return LocatorLink(method="filter", keywords={"has_text": _value(match, 1)[0]})


def _numbered(match: re.Match[str]) -> LocatorLink:
    number = int(match[1])
    return (
        LocatorLink(method="first")
        if number == 0
        else LocatorLink(method="last")
        if number == -1
        else (LocatorLink(method="nth", arguments=(number,)))
    )


_KINDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], LocatorLink]], ...] = (
    (re.compile(rf"internal:role=([a-z]+)(?:\[name={_FLAGGED}\])?"), _by_role),
    (re.compile(rf"internal:label={_FLAGGED}"), _worded("get_by_label")),
    (re.compile(rf"internal:text={_FLAGGED}"), _worded("get_by_text")),
    (re.compile(rf"internal:attr=\[(placeholder|alt|title)={_FLAGGED}\]"), _by_attribute),
    (re.compile(rf"internal:testid=\[[\w-]+={_FLAGGED}\]"), _by_test_id),
    (re.compile(rf"internal:has-text={_FLAGGED}"), _with_text),
    (re.compile(r"nth=(-?\d+)"), _numbered),
)
