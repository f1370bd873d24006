"""What shows that a job in words is done: texts of the sentence that appear, or disappear, with a change that the application accepted.

A model's word is no evidence, nor is what was typed into a field, or what a link or a search leads to: the page is read before and
after each press that sends a change, and opened again at the end. What is to go must be gone from the page with the control, and from the
one after it, if they showed it before. Switches and boxes: `switch_evidence`. Controls that say it
themselves: `control_evidence`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Response

from agent.errors import AgentError
from agent.execution.task_runner import TaskRunner
from agent.locators.page_scan import scan_page
from agent.page.errors import PageError
from agent.page.page_readings import read_page_text, read_shown, read_until, wait_until_settled
from agent.page.page_writes import watch_writes
from agent.sentence_runs.control_evidence import ControlEvidence
from agent.sentence_runs.switch_evidence import SwitchEvidence
from agent.sentence_runs.text_counts import count_enumerations, count_text
from kb_schema.sentence_plans import SentencePlan, describe_change, fold

ANSWERED_S = 5.0
"""How long an answer to a press is waited for before its page is read."""
FAILED = 500
"""The least status of an answer that says nothing about the page."""
GONE = (404, 410)
"""The status of a page that is missing: it may be that of what was deleted, and need not look signed in."""
MOST_REOPENED = 3
"""Pages that are opened again to see that a text is gone from them."""


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
    sentence: str = ""
    switches: SwitchEvidence = field(init=False)
    controls: ControlEvidence = field(init=False)
    _seen: dict[str, str] = field(default_factory=dict)
    """Address -> what it showed when it was seen last, the last one last."""
    _before: str = ""
    """What the page showed just before the press under way."""
    _pressed_at: str = ""
    """Its address."""
    _accepted: bool = False
    """Whether a press sent a change, and the application accepted it."""
    _began: float = field(default_factory=time.monotonic)
    _shown: tuple[str, tuple[str, ...]] | None = None
    """The address to which the last press led that showed it, and what was shown before that press."""
    _entered: set[str] = field(default_factory=set)
    """Texts that were entered, folded."""
    _had: dict[str, None] = field(default_factory=dict)
    """Addresses of pages that showed a text before it was to go: where it was pressed, and where the press led."""

    def __post_init__(self) -> None:
        self.switches = SwitchEvidence(self.plan)
        self.controls = ControlEvidence(self.plan, self.sentence)

    async def before_press(self, page: Page) -> None:
        """Read the page that is about to be changed."""
        await self.note_page(page)
        self._pressed_at, self._before = page.url, self._seen[page.url]

    async def after_press(self, page: Page, *, accepted: bool) -> None:
        """Read the page to which the press led. `accepted`: the press sent a change, and the application accepted it."""
        text, url = await read_shown(page), page.url
        self._accepted = self._accepted or accepted
        before = (self._before, *([self._seen[url]] if url in self._seen else []))
        if accepted and self.shows(text, before):
            self._shown = url, before
        if accepted:
            shown = {self._pressed_at: self._before, url: self._seen.get(url, "")}
            gone = [fold(each) for each in self.plan.gone_when_done]
            self._had |= {at: None for at, known in shown.items() if any(each in known for each in gone)}
        self._note(url, text)

    def note_entry(self, value: str) -> None:
        """Note a text that was entered into a field, or chosen."""
        self._entered.add(fold(value))

    async def note_page(self, page: Page) -> None:
        """Read a page on the way."""
        self._note(page.url, await read_shown(page))

    async def judge(self, engine: TaskRunner) -> tuple[bool, Sequence[str]]:
        """Open the pages again on which it was seen; return whether the evidence is there, and what was seen."""
        writes = watch_writes(engine.session.page)
        if self.switches.wanted:  # a box that is ticked sends its change on its own
            await writes.wait_until(lambda: writes.accepted_at >= self._began, ANSWERED_S)
        lack = self._find_lack(sent=self._accepted or writes.accepted_at >= self._began)
        if not lack:
            try:
                lack = await self._look_again(engine)
            except (AgentError, PageError) as exc:
                lack = f"the page could not be opened again: {exc}"
        if lack:
            return False, [lack]
        return True, [f"after the press, and when the page was opened again: {self._describe()}"]

    def _find_lack(self, *, sent: bool) -> str:
        """Return why what was seen during the run is no evidence; empty if it is some. `sent`: a change was, by a press or not."""
        if not (self.plan.evidence or self.plan.changed_when_done):
            return "the sentence has no text by which the page could show that it is done"
        presses = self.plan.shown_when_done or self.plan.gone_when_done or self.plan.changed_when_done
        if not (self._accepted if presses else sent):
            return f"no press sent a change: {self._describe()}"
        if self.plan.shown_when_done and self._shown is None:
            return f"after no change the page showed it: {self._describe()}"
        if self.plan.gone_when_done and not self._had:
            return f"no page showed it before the change: {self._describe()}"
        return self._find_unseen()

    def _find_unseen(self) -> str:
        """Return which switch stood so before, or which control was not pressed; empty if there is none."""
        if any(self.switches.find_page(each) is None for each in self.switches.wanted):
            return f"no page showed it otherwise before: {self._describe()}"
        if unpressed := self.controls.list_unpressed():
            return f"no accepted press of such a control where the sentence says: {', '.join(unpressed)}"
        return ""

    async def _look_again(self, engine: TaskRunner) -> str:
        """Open the pages again; return what they lack, or empty. Raises `AgentError`, `PageError`."""
        page = engine.session.page
        if self._shown is not None:
            url, before = self._shown
            await self._open(engine, url)
            if not await read_until(page, lambda shown: self.shows(shown, before)):
                lost = "the page showed it after the press, but not when it was opened again"
                return f"{lost}: {self._describe()}"
        for url in list(self._had)[-MOST_REOPENED:] if self.plan.gone_when_done else ():
            await self._open(engine, url)
            if not self._lacks(await read_page_text(page)):
                return f"it is still on a page that was opened again: {self._describe()}"
        for words in self.switches.wanted:
            await self._open(engine, str(self.switches.find_page(words)))
            if not self.switches.holds(await scan_page(page), words):
                return f"a page that was opened again shows it otherwise, or not: {self._describe()}"
        for url, positions in self.controls.list_pages().items():
            await self._open(engine, url)
            if unchanged := await self.controls.find_unchanged(page, await scan_page(page), positions):
                return f"a page that was opened again does not show it: {', '.join(unchanged)}"
        return ""

    async def _open(self, engine: TaskRunner, url: str) -> None:
        """Open a page beside the job: it belongs to no trace. Raises `AgentError` if the application cannot show it."""
        session, answers = engine.session, list[Response]()

        def note(answer: Response) -> None:
            if answer.request.is_navigation_request() and answer.frame == session.page.main_frame:
                answers.append(answer)

        session.page.on("response", note)
        was, session.beside = session.beside, True
        try:
            await engine.guide.open(url)
            if "#" in url:  # the same address with a fragment is not loaded again by opening it
                await session.page.reload(wait_until="domcontentloaded")
        except PlaywrightError as exc:
            raise AgentError(exc.message.splitlines()[0]) from exc
        finally:
            session.beside = was
            session.page.remove_listener("response", note)
        await wait_until_settled(session.page)
        status = answers[-1].status if answers else 0
        if status >= FAILED:
            raise AgentError(f"it answered with the status {status}")
        if status not in GONE and await session.signed_in() is False:
            raise AgentError("it is not signed in any more")

    def _note(self, url: str, text: str) -> None:
        self._seen.pop(url, None)
        self._seen[url] = text

    def shows(self, text: str, before: Sequence[str]) -> bool:
        """Whether there is more of each text that is to appear than before the press."""
        return bool(text) and all(
            self._count(each, text) > max(self._count(each, known) for known in before)
            for each in self.plan.shown_when_done
        )

    def _count(self, said: str, text: str) -> int:
        """Return how often a page shows a text; an enumeration that was entered so also with its items in another order."""
        whole = fold(said)
        return count_enumerations(whole, text) if whole in self._entered else count_text(whole, text)

    def _lacks(self, text: str) -> bool:
        """Whether a page that was opened again shows none of the texts that are to go."""
        return bool(text) and all(fold(each) not in text for each in self.plan.gone_when_done)

    def _describe(self) -> str:
        shown = [f"{each!r} appears" for each in self.plan.shown_when_done]
        gone = [f"{each!r} is gone" for each in self.plan.gone_when_done]
        changed = map(describe_change, self.plan.changed_when_done)
        return ", ".join([*shown, *gone, *self.switches.describe(), *changed])
