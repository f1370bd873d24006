"""What shows that a job in words is done: texts of the sentence that a press made appear, or disappear, and that stay so.

A model's word is no evidence, nor is what stands in a field: the page's text is read before and after each press, and the page
is opened again at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from agent.errors import AgentError
from agent.execution.single_actions import perform_single_action
from agent.execution.task_runner import TaskRunner
from agent.page.errors import PageError
from agent.sentence_runs.sentence_plan import SentencePlan, fold

_TEXT = "() => document.body ? document.body.innerText : ''"


async def read_page_text(page: Page) -> str:
    """Return the text that the page shows outside of fields, folded; empty if it does not answer."""
    with suppress(PlaywrightError):
        return fold(str(await page.evaluate(_TEXT)))
    return ""


@dataclass(slots=True)
class ChangeEvidence:
    """The texts of pages around the presses of one run."""

    plan: SentencePlan
    _seen: dict[str, str] = field(default_factory=dict)
    """Address -> its text when it was last seen before the last press."""
    _before: str = ""
    _landed: tuple[str, str] | None = None
    """Address and text after the last press that was done."""

    async def before_press(self, page: Page) -> None:
        """Read the page that is about to be changed."""
        self._before = await read_page_text(page)
        self._seen[page.url] = self._before

    async def after_press(self, page: Page) -> None:
        """Read the page to which a press led. One that shows nothing of what is expected does not replace one that does."""
        text = await read_page_text(page)
        if self._landed is None or self._shows(text, page.url):
            self._landed = page.url, text

    async def note_page(self, page: Page) -> None:
        """Read a page on the way; before the first press, or between two of them."""
        self._seen.setdefault(page.url, await read_page_text(page))

    async def judge(self, engine: TaskRunner) -> tuple[bool, Sequence[str]]:
        """Open the page again to which the last press led; return whether the evidence is there, and what was seen."""
        if not (self.plan.shown_when_done or self.plan.gone_when_done):
            return False, ["the sentence has no text by which the page could show that it is done"]
        if self._landed is None:
            return False, ["nothing was pressed that could have done it"]
        url, text = self._landed
        if not self._shows(text, url):
            return False, [f"after the last press the page did not show it: {self._describe()}"]
        try:
            await perform_single_action(engine, "navigate", url=url)
        except (AgentError, PageError) as exc:
            return False, [f"the page could not be opened again: {exc}"]
        again = await read_page_text(engine.session.page)
        if not self._shows(again, url):
            return False, [
                f"the page showed it after the press, but not when it was opened again: {self._describe()}"
            ]
        return True, [f"after the press, and when the page was opened again: {self._describe()}"]

    def _shows(self, text: str, url: str) -> bool:
        """Whether the text has more of what is to appear, and less of what is to go, than before the press."""
        before = [self._before, *([self._seen[url]] if url in self._seen else [])]
        more = all(
            text.count(fold(each)) > max(known.count(fold(each)) for known in before)
            for each in self.plan.shown_when_done
        )
        gone = all(
            fold(each) not in text and any(fold(each) in known for known in before)
            for each in self.plan.gone_when_done
        )
        return bool(text) and more and gone

    def _describe(self) -> str:
        shown = [f"{each!r} appears" for each in self.plan.shown_when_done]
        return ", ".join([*shown, *(f"{each!r} is gone" for each in self.plan.gone_when_done)])
