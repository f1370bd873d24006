"""Watches whether the page refuses what a step sends (`agent.page.page_refusals`).

A refused write, or a form that the browser did not send, ends the step at once. Marked fields and messages only count if
nothing that the step states holds. Of a step that may be repeated only the answers to what it sends count: a choice that
is stored at once may be refused, but a field that was just filled in may be marked until the form is complete.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.errors import StepRefused
from agent.events import ActionAnswered
from agent.execution.effects.person_handover import PRESSES, hand_over_before_press, hand_over_passkey
from agent.execution.page_complaints import read_signs
from agent.page import in_page_library
from agent.page.errors import PageError
from agent.page.page_changes import wait_for_change
from agent.page.page_refusals import PageRefusal, RefusalSigns, find_refusal, find_refused_choice
from agent.page.page_writes import PageWrites, watch_writes
from kb_schema.probes import Verdict
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from playwright.async_api import Page

    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun

ANSWER_S = 5.0
"""Seconds the writes of a step may take to be answered, together."""
STORED_AT_ONCE = frozenset({"select_option", "check", "uncheck", "upload_file"})
"""Actions that may be repeated and of which the answers count."""
LOADED_S = 5.0
"""Seconds the page that answers a write may take to have a document."""
DRAWN_S = 0.5
"""Seconds a page may take to show what a script made of an answer."""
MESSAGE_S = 1.0
"""Seconds the page may take to show a message, and marks must stay to count."""


class RefusedChoices:
    """What a run chose or ticked and the application refused to store at once.

    The page may go on showing it as if it were kept: a further attempt finds nothing to do, and sends nothing. That is no success.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], StepRefused] = {}

    def has(self, run: TaskRun, step: TaskStep) -> bool:
        """Whether the last attempt at a step with these values was refused."""
        return _name_attempt(run, step) in self._known

    def note(self, run: TaskRun, step: TaskStep, refused: StepRefused) -> None:
        """Keep a refusal until the step sends something again."""
        self._known[_name_attempt(run, step)] = refused

    def settle(self, run: TaskRun, step: TaskStep, *, sent: bool) -> None:
        """Forget the refusal of a step that sent something since, and was not refused. Raises the refusal again if nothing was sent."""
        name = _name_attempt(run, step)
        if not sent and name in self._known:
            raise self._known[name]
        self._known.pop(name, None)


def _name_attempt(run: TaskRun, step: TaskStep) -> tuple[str, str, str]:
    return run.task.task_id, step.step_id, repr(sorted(run.values.items()))


class RefusalWatch:
    """Watches one attempt at a step, from before its action."""

    def __init__(
        self, engine: TaskExecution, run: TaskRun, step: TaskStep, *, repeatable: bool = False
    ) -> None:
        """`repeatable`: only the answers to what it sends count, and they are no evidence of what the run is about."""
        self._engine, self._run, self._step, self._repeatable = engine, run, step, repeatable
        self._page: Page = engine.session.page
        self._before: RefusalSigns | None = None
        self._writes: PageWrites = watch_writes(self._page)
        self._patience_s = ANSWER_S
        self._refused: str | None = None
        self._presses = step.action.canonical_type in PRESSES

    async def begin(self) -> RefusalSigns | None:
        """Note the page as it is, and return its signs; the action follows. None for a step that may be repeated.

        A captcha in the way of a press is left to a person first. Raises `PersonNeeded`.
        """
        if self._repeatable:
            self._writes.presses = None
            self._writes.begin()
            return None
        self._before = await self._read()
        session = self._engine.session
        if self._presses:
            self._before = await hand_over_before_press(session, self._before)
        if session.criteria is not None:
            session.presses.note_criteria(held=await session.criteria())
        self._writes.presses = session.presses
        self._writes.begin()
        return self._before

    def end(self) -> None:
        """The attempt is over: tell what it sent and how that was answered."""
        answers = [write.to_json() for write in self._writes.writes]
        self._writes.end()
        if answers or self._refused is not None:
            self._engine.session.bus.tell(ActionAnswered(answers, self._refused))

    @property
    def sent(self) -> bool:
        """Whether the attempt sent something."""
        return bool(self._writes.writes)

    async def raise_refusal(self) -> None:
        """Wait for the answers to what the action sent, and for a person's to a passkey prompt.

        Raises `StepRefused`, `PersonNeeded`.
        """
        if self._presses:
            await hand_over_passkey(self._engine.session)
        if self._repeatable and not self._writes.writes:
            return
        await self._answered()
        self._engine.session.forget_answers()
        if self._repeatable and find_refused_choice(self._writes.writes) is None:
            return
        if any(write.document for write in self._writes.writes):
            await self._loaded()
        elif self._writes.writes:
            await self._drawn()
        refusal = await self._find()
        if refusal is not None and refusal.sure:
            raise self._error(await self._quoted(refusal))
        if refusal is not None and await self._lasts():
            await self._raise_if_refused()

    async def raise_late_refusal(self, verdicts: Sequence[Verdict]) -> None:
        """Look once more after the step's own conditions were judged; none held if it failed. Raises `StepRefused`."""
        if self._repeatable:
            return
        await self._answered()
        refusal = await self._find()
        if refusal is not None and (refusal.sure or not any(verdict.held for verdict in verdicts)):
            raise self._error(refusal)

    async def _answered(self) -> None:
        began = time.monotonic()
        await self._writes.answered(self._patience_s)
        self._patience_s = max(0.0, self._patience_s - (time.monotonic() - began))

    async def _raise_if_refused(self) -> None:
        refusal = await self._find()
        if refusal is not None:
            raise self._error(refusal)

    async def _lasts(self) -> bool:
        """Whether nothing that the step states comes to hold for a moment."""
        until = time.monotonic() + MESSAGE_S
        while (left := until - time.monotonic()) > 0:
            if await self._holds():
                return False
            await self._changes(left)
        return True

    async def _holds(self) -> bool:
        """Whether the step states more than its screen, and all of it holds."""
        if all(condition.type == "on_screen" for condition in self._step.postconditions):
            return False
        return bool(await self._engine.steps.holds_by_now(self._run, self._step))

    async def _quoted(self, refusal: PageRefusal) -> PageRefusal:
        """Return the refusal with the page's own words, for which the page gets a moment."""
        until, found = time.monotonic() + MESSAGE_S, refusal
        while not self._is_quoted(found) and (left := until - time.monotonic()) > 0:
            await self._changes(left)
            found = await self._find() or found
        return found

    def _is_quoted(self, refusal: PageRefusal) -> bool:
        """Whether the quote is the page's; an answer's own message is the second choice."""
        return bool(refusal.quote) and refusal.quote not in {write.message for write in self._writes.writes}

    async def _find(self) -> PageRefusal | None:
        return find_refusal(self._before, await self._read(), self._writes.writes)

    async def _read(self) -> RefusalSigns | None:
        return await read_signs(self._page)

    async def _loaded(self) -> None:
        try:
            await in_page_library.document_ready(self._page, LOADED_S)
        except PageError:
            return  # the page is closed: the answers alone decide

    async def _drawn(self) -> None:
        """Wait until the page has drawn the answer, or what the step states holds.

        A script puts the same form again, with marks, a moment later.
        """
        until = time.monotonic() + DRAWN_S
        while (
            (left := until - time.monotonic()) > 0 and await self._find() is None and not await self._holds()
        ):
            await self._changes(left)

    async def _changes(self, timeout_s: float) -> None:
        try:
            await wait_for_change(self._page, timeout_s)
        except PageError:
            return

    def _error(self, refusal: PageRefusal) -> StepRefused:
        self._refused = str(refusal)
        step = f"step {self._step.step_id!r}"
        reason = (
            f"the application refused {step} ({refusal})"
            if refusal.did_not_happen
            else f"after {step} the page shows what may be a refusal ({refusal})"
        )
        return StepRefused(
            reason,
            did_not_happen=refusal.did_not_happen,
            status=refusal.status,
            server_error=refusal.server_error,
            said=str(refusal),
        )
