"""Reads whether an effect that must not be repeated exists: in a separate tab, before and after the action.

The page under work stays untouched: it may hold a half-filled form or an error message.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError
from agent.execution.call_templates import fill_conditions, fill_task_inputs, fill_templates
from agent.execution.task_run import TaskRun
from agent.execution.values.input_resolution import MISSING
from agent.page.errors import PageError
from kb_schema.conditions import BaseCondition, OnScreen
from kb_schema.probes import VerdictStatus
from kb_schema.read_backs import (
    PRESENCE,
    PageReadBack,
    ReadBack,
    ReadBackResult,
    ReadBackStatus,
    compare_readings,
)
from kb_schema.templates import fill
from kb_schema.url_patterns import origin_of

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution

BEFORE_S = 0.5
"""Seconds a page may take to show that the effect exists already, which is rare."""
AFTER_S = 3.0
"""The same after the action."""

SignIn = Callable[[], Awaitable[bool]]
"""Signs in if the website says the session is signed out; returns whether anything was done."""


class EffectReader:
    """Reads effects for the runs of one task runner."""

    def __init__(self, engine: TaskExecution) -> None:
        self._engine = engine

    async def look_before(self, run: TaskRun) -> None:
        """Read the baseline once, before the first step that must not be repeated.

        If it cannot be read, nothing is known afterwards either.
        """
        if run.frame.looked or (run.task.read_back is None and not run.task.already_done_when):
            return
        found: dict[str, Any] = {}
        rows = MISSING if run.task.read_back is None else await self._read(run, run.task.read_back)
        if rows is not MISSING:
            found["read_back"] = rows
        elif run.task.already_done_when:
            held = await self._holds(run, BEFORE_S, before=True)
            if held is not None:
                found["already"] = held
        run.frame.before, run.frame.looked = found, True

    async def happened(self, run: TaskRun, sign_in: SignIn) -> ReadBackResult:
        """Return whether the effect happened since `look_before`. Signs in and reads again if reading fails."""
        before: Mapping[str, Any] = run.frame.before if isinstance(run.frame.before, dict) else {}
        effect = await self._compare(run, before)
        if effect.status is ReadBackStatus.UNCLEAR and await sign_in():
            effect = await self._compare(run, before)
        return effect

    async def _compare(self, run: TaskRun, before: Mapping[str, Any]) -> ReadBackResult:
        """The read-back decides if there is one and it is clear; then the task's `already_done_when`."""
        rule = run.task.read_back
        missing = "the task has neither `read_back` nor `already_done_when`"
        if rule is not None:
            missing = "the baseline of `read_back` could not be read before the step"
        effect = ReadBackResult(ReadBackStatus.UNCLEAR, missing)
        if rule is not None and "read_back" in before:
            after = await self._read(run, rule)
            if after is MISSING:
                effect = ReadBackResult(
                    ReadBackStatus.UNCLEAR, "the baseline was read, but the second reading failed"
                )
            else:
                effect = compare_readings(rule, before["read_back"], after, self._where(run, rule))
        if effect.status is not ReadBackStatus.UNCLEAR or not run.task.already_done_when:
            return effect
        if before.get("already") is not False:
            return ReadBackResult(
                ReadBackStatus.UNCLEAR, "`already_done_when` held before the action, or could not be judged"
            )
        held = await self._holds(run, AFTER_S)
        if held is None:
            return ReadBackResult(ReadBackStatus.UNCLEAR, "`already_done_when` cannot be judged")
        if held:
            return ReadBackResult(ReadBackStatus.HAPPENED, "`already_done_when` holds, and did not before")
        return ReadBackResult(ReadBackStatus.DID_NOT_HAPPEN, "`already_done_when` does not hold")

    def _where(self, run: TaskRun, rule: ReadBack) -> dict[str, str]:
        return {column: fill(text, run.values) for column, text in rule.where.items()}

    async def _read(self, run: TaskRun, rule: ReadBack) -> Any:
        try:
            async with self._engine.in_spare_tab() as other:
                if rule.task_id is not None:
                    inputs = fill_task_inputs(rule.inputs, run.values)
                    result = await other.run_task(rule.task_id, inputs, depth=run.depth + 1)
                    return result.outputs.get(rule.output or "", MISSING) if result.complete else MISSING
                return await self._on_screen(other, rule, rule.screen_id or "", run.values)
        except (AgentError, PageError, PlaywrightError):
            return MISSING

    async def _on_screen(
        self, other: TaskExecution, rule: ReadBack, screen_id: str, values: Mapping[str, Any]
    ) -> Any:
        url = rule.url
        if url is not None:
            url = fill_templates(url, values, "url")
        if rule.expect not in PRESENCE:
            await other.guide.go_to(screen_id, method="direct_url", url=url)
            return MISSING if rule.extraction is None else await other.read(rule.extraction, values)
        if url is None:
            return MISSING
        await other.guide.open(other.guide.resolved(url))
        found = await other.session.look_for([screen_id], timeout_s=AFTER_S)
        if found.screen_id == screen_id:
            return True
        if found.screen_id is None:
            return MISSING
        await other.guide.open(other.session.base_url)  # an error page does not show the sign-in state
        await other.session.look_for(timeout_s=AFTER_S)
        return MISSING if await other.session.signed_in() is False else False

    async def _holds(self, run: TaskRun, patience_s: float, *, before: bool = False) -> bool | None:
        """Return whether `already_done_when` holds, on the screen it is about; None if that is unknown.

        `before`: nothing was done yet, so the page has had its time since it was opened.
        """
        conditions = fill_conditions(run.task.already_done_when, run.values)
        screen = next((c.screen_id for c in conditions if isinstance(c, OnScreen)), None)
        try:
            session = self._engine.session
            if screen is None and origin_of(session.page.url) in session.allowed_origins:
                await self._engine.dismiss_overlays()
                if before:
                    patience_s = max(0.0, patience_s - session.here_s)
                return await _all_hold(self._engine, conditions, run.values, patience_s)
            async with self._engine.in_spare_tab() as other:
                if screen is None:  # an error page of the browser: open the site
                    await other.guide.arrive()
                else:
                    await other.guide.go_to(screen, method="direct_url")
                return await _all_hold(other, conditions, run.values, patience_s)
        except (AgentError, PageError, PlaywrightError):
            return None


async def read_page(
    engine: TaskExecution, rule: PageReadBack, values: Mapping[str, Any], patience_s: float
) -> bool | None:
    """Return whether the conditions of a read-back hold at its address, in a separate tab; None if that is unknown."""
    conditions = fill_conditions(rule.conditions, values)
    try:
        async with engine.in_spare_tab() as other:
            await other.guide.open(rule.url)
            if await other.session.signed_in() is False:
                return None
            held = await _all_hold(other, (rule.is_drawn, *conditions), values, patience_s)
            return True if held else None if await _is_undrawn(other, rule, values) else held
    except (AgentError, PageError, PlaywrightError):
        return None


async def _is_undrawn(engine: TaskExecution, rule: PageReadBack, values: Mapping[str, Any]) -> bool:
    (drawn,) = await engine.session.judge((rule.is_drawn,), values)
    return not drawn.held


async def _all_hold(
    engine: TaskExecution, conditions: tuple[BaseCondition, ...], values: Mapping[str, Any], patience_s: float
) -> bool | None:
    verdicts = await engine.session.judge_until_held(conditions, values, timeout_s=patience_s, recent=True)
    if any(verdict.status is VerdictStatus.UNKNOWN for verdict in verdicts):
        return None
    return all(verdict.held for verdict in verdicts)
