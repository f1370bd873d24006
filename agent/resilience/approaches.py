"""Approaches to steps, told apart by their fingerprints (DESIGN 6). Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agent.errors import (
    InputMissing,
    KnowledgeUnavailable,
    NotInKnowledge,
    NotKept,
    PersonNeeded,
    SiteUnreachable,
)
from agent.page.errors import NavigationFailed, PageGone

AUTHORED = "authored"
"""The approach that the task states."""

NEVER_REACHED = (
    InputMissing, KnowledgeUnavailable, NavigationFailed, NotInKnowledge, NotKept, PageGone, PersonNeeded,
    SiteUnreachable,
)  # fmt: skip
"""Errors by which an attempt never came to the page: they say nothing about the approach."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Where the page was when an attempt began."""

    screen_id: str | None
    url: str

    @property
    def state(self) -> str:
        """What tells one state of the page from another: its screen, and its address without a fragment."""
        parts = urlsplit(self.url)
        return f"{self.screen_id or '?'} {parts.path}?{parts.query}"


@dataclass(frozen=True, slots=True)
class Approach:
    """One way of doing one step, somewhere."""

    place: str
    """The step with the tasks and items that lead to it: two items are two places."""
    action: str
    target: Any
    """What it is done to, as JSON: element with its selector, address, screen or task."""
    way: str = AUTHORED
    """The plan's label; `authored`."""
    item: str | None = None
    state: str = ""

    @property
    def fingerprint(self) -> str:
        """Sixteen characters; equal exactly where the approaches are.

        >>> one = Approach("t/a", "click", "#a")
        >>> one.fingerprint == Approach("t/a", "click", "#a").fingerprint
        True
        >>> one.fingerprint == Approach("t/a", "click", "#a", state="quay /").fingerprint
        False
        """
        said = [self.place, self.action, self.target, self.way, self.item, self.state]
        text = json.dumps(said, sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def counts(error: BaseException) -> bool:
    """Whether an attempt that ended so says that its approach does not work here."""
    return not isinstance(error, NEVER_REACHED)
