"""What shows that a job in words is done: texts of the sentence that appear, or disappear, with a change that the application accepted.

A model's word is no evidence, nor is what stands in a field, or what a link or a search leads to: the page's text is read before and
after each press that sends a change, and the page is opened again at the end.
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
from agent.page.page_writes import watch_writes
from agent.sentence_runs.sentence_plan import SentencePlan, fold

ANSWERED_S = 5.0
"""How long an answer to a press is waited for before its page is read."""
_TEXT = "() => document.body ? document.body.innerText : ''"


async def read_page_text(page: Page) -> str:
    """Return the text that the page shows outside of fields, folded; empty if it does not answer."""
    with suppress(PlaywrightError):
        return fold(str(await page.evaluate(_TEXT)))
    return ""


async def wait_for_answer(page: Page) -> None:
    """Wait until what a press sent is answered, and the page that answers is there; at most so long."""
    writes = watch_writes(page)
    await writes.answered(ANSWERED_S)
    if any(write.document for write in writes.writes):
        with suppress(PlaywrightError):
            await page.wait_for_load_state("domcontentloaded", timeout=ANSWERED_S * 1_000)


@dataclass(slots=True)
class ChangeEvidence:
    """The texts of pages around the presses of one run."""

    plan: SentencePlan
    _seen: dict[str, str] = field(default_factory=dict)
    """Address -> its text when it was seen last."""
    _before: str = ""
    """The text just before the press under way."""
    _accepted: bool = False
    _shown: tuple[str, tuple[str, ...]] | None = None
    """The address to which the last press led that showed it, and the texts before that press."""

    async def before_press(self, page: Page) -> None:
        """Read the page that is about to be changed."""
        self._before = self._seen[page.url] = await read_page_text(page)

    async def after_press(self, page: Page, *, accepted: bool) -> None:
        """Read the page to which the press led. `accepted`: the press sent a change, and the application accepted it."""
        text, url = await read_page_text(page), page.url
        self._accepted = self._accepted or accepted
        before = (self._before, *([self._seen[url]] if url in self._seen else []))
        if accepted and self._shows(text, before):
            self._shown = url, before
        self._seen[url] = text

    async def note_page(self, page: Page) -> None:
        """Read a page on the way."""
        self._seen[page.url] = await read_page_text(page)

    async def judge(self, engine: TaskRunner) -> tuple[bool, Sequence[str]]:
        """Open the page again on which it was seen; return whether the evidence is there, and what was seen."""
        if not (self.plan.shown_when_done or self.plan.gone_when_done):
            return False, ["the sentence has no text by which the page could show that it is done"]
        if self._shown is None:
            nothing = "after no change the page showed it" if self._accepted else "no press sent a change"
            return False, [f"{nothing}: {self._describe()}"]
        url, before = self._shown
        try:
            await perform_single_action(engine, "navigate", url=url)
        except (AgentError, PageError) as exc:
            return False, [f"the page could not be opened again: {exc}"]
        if not self._shows(await read_page_text(engine.session.page), before):
            lost = "the page showed it after the press, but not when it was opened again"
            return False, [f"{lost}: {self._describe()}"]
        return True, [f"after the press, and when the page was opened again: {self._describe()}"]

    def _shows(self, text: str, before: Sequence[str]) -> bool:
        """Whether the text has more of what is to appear, and nothing of what is to go, than the texts before the press."""
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
