"""What the page sent after each recorded action, how it was answered, and whether the application refused it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Page
from pydantic import ValidationError

from agent.page.page_refusals import RefusalSigns, find_refusal, find_warning
from agent.page.page_writes import BEGINS_S, PageWrite, PageWrites, watch_writes
from agent.recording.recorded_actions import RecordedAction
from kb_schema.execution_traces import ANSWERS, REFUSAL, WARNING

ANSWER_S = 3.0
"""Seconds that the last writes of a recording may take to be answered."""
_SENDING = frozenset(
    {"click", "double_click", "right_click", "drag", "press", "check", "uncheck", "select_option"}
)
"""Actions that may send something."""


@dataclass(frozen=True, slots=True)
class _TabWrite:
    tab: int
    at: float
    """Milliseconds since the epoch."""
    write: PageWrite


class RecordedWrites:
    """Notes the writes of all tabs of a recording."""

    def __init__(self) -> None:
        self._pages: list[PageWrites] = []
        self._open: list[_TabWrite] = []
        """Writes that belong to no action yet."""
        self._failing: set[tuple[str, str]] = set()
        """Addresses to which pages write on their own, and which answer with errors."""

    def watch(self, page: Page, tab: int) -> None:
        """Note the writes of a tab from now on."""
        notes = watch_writes(page)
        notes.began = lambda write: self._open.append(_TabWrite(tab, time.time() * 1000, write))
        self._pages.append(notes)

    async def answered(self) -> None:
        """Wait for the answers that are still missing."""
        for notes in self._pages:
            await notes.wait_until(self._all_answered, ANSWER_S)

    def describe(self, action: RecordedAction, following: RecordedAction | None) -> dict[str, Any]:
        """Return the metadata of an action's own writes: their answers, and the refusal or the warning."""
        if action.action_type not in _SENDING:
            return {}
        writes = self._take(action, following)
        told: dict[str, Any] = {ANSWERS: [write.to_json() for write in writes]} if writes else {}
        after = action.signs_after
        if after is None and following is not None and following.tab == action.tab:
            after = _read_signs(following)
        before = _read_signs(action)
        refusal = find_refusal(before, after, writes)
        if refusal is not None:
            return {**told, REFUSAL: str(refusal)}
        warning = find_warning(before, after) if writes else ""
        return {**told, WARNING: warning} if warning else told

    def _all_answered(self) -> bool:
        return all(each.write.status is not None for each in self._open)

    def _take(self, action: RecordedAction, following: RecordedAction | None) -> list[PageWrite]:
        """Return the writes that began after the action and before the following one, if none else explains them."""
        until = action.time + BEGINS_S * 1000
        if following is not None and following.tab == action.tab:
            until = min(until, following.time)
        tab = [each for each in self._open if each.tab == action.tab]
        own = [each for each in tab if action.time <= each.at < until]
        earlier = [each for each in tab if each.at < action.time]
        self._failing |= {each.write.address for each in earlier if each.write.refused}
        self._open = [each for each in self._open if each not in own and each not in earlier]
        return [each.write for each in own if each.write.address not in self._failing]


def _read_signs(action: RecordedAction) -> RefusalSigns | None:
    """Return the signs on the page before an action; None if they are unknown."""
    if action.what is None or action.what.signs is None:
        return None
    try:
        return RefusalSigns.model_validate_json(action.what.signs)
    except ValidationError:
        return None  # the page replaced what reads them
