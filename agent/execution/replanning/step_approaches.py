"""Approaches to steps, identified by fingerprints. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agent.errors import (
    InputMissing,
    JournalWriteRefused,
    KnowledgeUnavailable,
    PersonNeeded,
    SiteUnreachable,
    UnknownToKnowledge,
)
from agent.page.errors import NavigationFailed, PageGone

AUTHORED = "authored"
"""The label of the approach that the task states."""

NEVER_REACHED = (
    InputMissing,
    KnowledgeUnavailable,
    NavigationFailed,
    UnknownToKnowledge,
    JournalWriteRefused,
    PageGone,
    PersonNeeded,
    SiteUnreachable,
)
"""Errors of attempts that never reached the page: they say nothing about the approach."""


@dataclass(frozen=True, slots=True)
class AttemptSituation:
    """Where the page was when an attempt began."""

    screen_id: str | None
    url: str

    @property
    def state(self) -> str:
        """Identifies a page state: its screen and its address without the fragment."""
        parts = urlsplit(self.url)
        return f"{self.screen_id or '?'} {parts.path}?{parts.query}"


@dataclass(frozen=True, slots=True)
class StepApproach:
    """One way of doing one step at one place."""

    place: str
    """The step with the tasks and items that lead to it: two items are two places."""
    action: str
    target: Any
    """The target as JSON: element with its selector, address, screen or task."""
    way: str = AUTHORED
    """The plan's label, or `authored`."""
    item: str | None = None
    state: str = ""

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits, equal if and only if the approaches are.

        >>> one = StepApproach("t/a", "click", "#a")
        >>> one.fingerprint == StepApproach("t/a", "click", "#a").fingerprint
        True
        >>> one.fingerprint == StepApproach("t/a", "click", "#a", state="quay /").fingerprint
        False
        """
        parts = [self.place, self.action, self.target, self.way, self.item, self.state]
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def is_counted_failure(error: BaseException) -> bool:
    """Return whether the error says that the approach does not work here."""
    return not isinstance(error, NEVER_REACHED)
