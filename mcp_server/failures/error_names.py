"""Error names, recognised in the messages that tools, browsers and servers write."""

from __future__ import annotations

import re
from collections.abc import Collection

UNKNOWN = "unknown"
MOST_CHARACTERS = 4_000
"""Characters of an error's text that are examined."""

_SIGNS: tuple[tuple[str, str], ...] = (
    # Specific names first: most other errors end as a timeout.
    ("element_covered", r"intercepts? pointer events|covered by|obscured|not_scoped"),
    (
        "element_not_unique",
        r"strict mode violation|resolved to [2-9]\d* elements|not_unique|more than one element",
    ),
    ("element_disabled", r"not enabled|is disabled|not editable|read-?only"),
    ("element_not_visible", r"not_?visible|is hidden|outside of the viewport|has no box"),
    ("element_unstable", r"not_?stable|detached from the dom|is animating"),
    ("server_error", r"\b50[0-4]\b|internal server error|bad gateway|service unavailable"),
    ("session_expired", r"session (has )?(expired|ended)|signed out|logged out"),
    ("not_authenticated", r"\b401\b|\b403\b|unauthori[sz]ed|forbidden|not signed in|log ?in required"),
    ("page_not_found", r"\b404\b|page not found"),
    ("network_error", r"net::err|econn|connection (was )?(refused|reset|closed)|name not resolved|offline"),
    ("validation_error", r"validation|invalid (value|input|field)|required field|is required|aria-invalid"),
    (
        "element_not_found",
        r"waiting for (locator|selector)|no (such )?element|element .{0,80}not (be )?found|resolved to 0|matches nothing",
    ),
    ("navigation_failed", r"navigation (failed|interrupted)|expected .{0,40}screen|wrong screen"),
    ("timeout", r"time(d)? ?out|deadline|did not answer in time"),
)
_COMPILED = tuple((name, re.compile(pattern)) for name, pattern in _SIGNS)


def classify_error(text: str, known: Collection[str]) -> str:
    """Return the error's name: the text itself or a name in it, if the knowledge base has it; else by its words."""
    said = text[:MOST_CHARACTERS].lower()
    if said.strip() in known:
        return said.strip()
    words = set(re.findall(r"[a-z][a-z0-9_]{2,60}", said))
    named = sorted(name for name in known if "_" in name and name in words)
    if named:
        return named[0]
    return next((name for name, pattern in _COMPILED if pattern.search(said)), UNKNOWN)


def is_any(name: str, *names: str) -> bool:
    """Whether an error is one of these."""
    return name in names
