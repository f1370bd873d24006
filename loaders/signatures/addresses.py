"""URL patterns that fit the addresses of one screen: what varies among them, or looks like an id, is left open."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

import re2

from kb_schema.urls import is_an_id

_ROUTE = ("/", "!/")
"""How the fragment begins where it is the address within an application of one page."""
_HASH = "#"


def segments(path: str) -> tuple[str, ...]:
    """The parts of a path that tell which page it is; query and plain fragments do not.

    >>> segments("/agents/12/edit?tab=1#top"), segments("/#/inbox")
    (('', 'agents', '12', 'edit'), ('', '', '#', 'inbox'))
    """
    parts = urlsplit(path)
    own = tuple(parts.path.split("/"))
    if not parts.fragment.startswith(_ROUTE):
        return own
    return (*own, _HASH, *parts.fragment.split("?")[0].split("/")[1:])


def place(path: str) -> tuple[str, ...]:
    """The same for addresses that differ in ids only."""
    return tuple("*" if is_an_id(part) else part for part in segments(path))


def pattern_of(paths: Iterable[str]) -> str | None:
    """One pattern for all of them; None where they have not the same number of parts.

    >>> pattern_of(["/agents/12/edit", "/agents/7/edit?tab=1"])
    '^/agents/[^/?#]+/edit(?:[?#].*)?$'
    """
    every = [segments(path) for path in paths]
    if len({(len(each), each.index(_HASH) if _HASH in each else -1) for each in every}) != 1:
        return None
    written = ["[^/?#]+" if _varies(parts) else re2.escape(parts[0]) for parts in zip(*every, strict=True)]
    if _HASH not in every[0]:
        return f"^{'/'.join(written)}(?:[?#].*)?$"
    at = every[0].index(_HASH)
    route = "".join(f"/{part}" for part in written[at + 1 :])
    return f"^{'/'.join(written[:at])}(?:\\?[^#]*)?#!?{route}(?:\\?.*)?$"


def _varies(parts: tuple[str, ...]) -> bool:
    return len(set(parts)) > 1 or is_an_id(parts[0])
