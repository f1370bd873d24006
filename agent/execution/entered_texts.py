"""What shows that a drafted task was done: what it typed appears with a change that the application accepted, and stays.

A drafted task has no condition of success, as its form was never sent. So the page is read before each of its steps and after each press
that sent a change, and the page that shows what was typed is opened again in another tab. Of a page that this run had seen before
the press, one text more is enough; of another one each text that was typed must be there, as it may have been there before. What only
repeats the entry (`No results for ...`) is not there any more when its address is opened. What was typed on the way, to find a row, is not
what the task is about.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from playwright.async_api import Page

from agent.page.page_readings import read_shown
from agent.page.page_writes import watch_writes
from kb_schema.sentence_plans import fold
from kb_schema.tasks import DRAFT, Task

Reopen = Callable[[str, Callable[[str], bool]], Awaitable[bool]]
"""Opens an address in another tab, and returns whether its text comes to hold."""
_SHORTEST = re.compile(r"(?:\w\W*){3}")
"""Shorter texts stand on many pages."""


@dataclass(slots=True)
class EnteredTexts:
    """The texts that one run of a drafted task types, and the pages that show them."""

    _typed: dict[str, None] = field(default_factory=dict)
    """The texts, folded."""
    _seen: dict[str, str] = field(default_factory=dict)
    """Address -> what it showed before the press that is under way."""
    _began: float = 0.0
    _shown: tuple[str, dict[str, int]] | None = None
    """The address to which the last accepted press led, with the texts that appeared there, and how often each had been there before."""

    async def before_step(self, page: Page, typed: object, *, on_the_way: bool) -> None:
        """Read the page. `typed`: what the step types into it, if that is a text that is not secret. `on_the_way`: the step
        leads to the form.
        """
        if on_the_way:
            self._typed.clear()
        self._seen[page.url] = await read_shown(page)
        self._began = time.monotonic()
        if isinstance(typed, str) and _SHORTEST.search(typed) is not None:
            self._typed[fold(typed)] = None

    async def after_press(self, page: Page) -> None:
        """Read the page to which a press led, if the application accepted what it sent."""
        if watch_writes(page).accepted_at < self._began:
            return
        text, before = await read_shown(page), self._seen.get(page.url)
        had = {each: (before or "").count(each) for each in self._typed}
        new = {each: count for each, count in had.items() if text.count(each) > count}
        enough = len(new) == len(self._typed) if before is None else bool(new)
        self._shown = (page.url, new) if new and enough else None

    async def are_kept(self, reopen: Reopen) -> bool:
        """Whether the page that showed them has more of each than before also when it is opened again: a message has gone by then."""
        if self._shown is None:
            return False
        url, had = self._shown
        return await reopen(url, lambda text: all(text.count(each) > count for each, count in had.items()))


def is_judged_by_texts(task: Task) -> bool:
    """Whether a task was drafted, and has nothing of its own that tells whether it was done."""
    own = task.success_criteria or task.read_back or task.already_done_when
    return DRAFT in task.metadata and not own
