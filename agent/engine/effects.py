"""Asking whether what may not be repeated has happened: in a tab of its own, before and after.

The page that was acted on stays as it is: it may be a form half filled, or an error page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from agent.engine.calls import fill_conditions, filled, filled_inputs
from agent.engine.inputs import MISSING
from agent.engine.running import Run
from agent.errors import AgentError
from agent.page.errors import PageError
from kb_schema.conditions import BaseCondition, OnScreen
from kb_schema.probes import Status
from kb_schema.read_backs import PRESENCE, Finding, Happened, ReadBack, compare
from kb_schema.templates import fill
from kb_schema.urls import origin_of

if TYPE_CHECKING:
    from agent.engine.engine import Engine

BEFORE_S = 0.5
"""How long a page that was just opened may take to show that something is there already. It seldom is."""
AFTER_S = 3.0
"""The same where it is to be there."""

SignIn = Callable[[], Awaitable[bool]]
"""Signs in where the website says one is not; whether anything was done."""


class Effects:
    """Reads effects for one engine's runs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def look_before(self, run: Run) -> None:
        """Take the baseline, once: before the first thing that may not be repeated.

        What cannot be read is no baseline: then nothing is known afterwards, either.
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

    async def happened(self, run: Run, sign_in: SignIn) -> Finding:
        """Whether it happened since `look_before`. Signs in and looks again where looking fails."""
        before: Mapping[str, Any] = run.frame.before if isinstance(run.frame.before, dict) else {}
        effect = await self._ask(run, before)
        if effect.status is Happened.UNCLEAR and await sign_in():
            effect = await self._ask(run, before)
        return effect

    async def _ask(self, run: Run, before: Mapping[str, Any]) -> Finding:
        """The read-back decides where there is one and it says anything; then the task's own sign."""
        effect = Finding(Happened.UNCLEAR, "the task names nothing that would tell")
        rule = run.task.read_back
        if rule is not None and "read_back" in before:
            after = await self._read(run, rule)
            if after is MISSING:
                effect = Finding(Happened.UNCLEAR, "what was read before could not be read again")
            else:
                effect = compare(rule, before["read_back"], after, self._where(run, rule))
        if effect.status is not Happened.UNCLEAR or not run.task.already_done_when:
            return effect
        if before.get("already") is not False:
            return Finding(
                Happened.UNCLEAR, "what would tell that it happened held before, or could not be told"
            )
        held = await self._holds(run, AFTER_S)
        if held is None:
            return Finding(Happened.UNCLEAR, "whether it is already done cannot be told")
        if held:
            return Finding(Happened.HAPPENED, "already_done_when holds, and did not before")
        return Finding(Happened.DID_NOT_HAPPEN, "already_done_when does not hold")

    def _where(self, run: Run, rule: ReadBack) -> dict[str, str]:
        return {column: fill(text, run.values) for column, text in rule.where.items()}

    async def _read(self, run: Run, rule: ReadBack) -> Any:
        try:
            async with self._engine.elsewhere() as other:
                if rule.task_id is not None:
                    inputs = filled_inputs(rule.inputs, run.values)
                    result = await other.run_task(rule.task_id, inputs, depth=run.depth + 1)
                    return result.outputs.get(rule.output or "", MISSING) if result.succeeded else MISSING
                return await self._on_screen(other, rule, rule.screen_id or "", run.values)
        except (AgentError, PageError, PlaywrightError):
            return MISSING

    async def _on_screen(
        self, other: Engine, rule: ReadBack, screen_id: str, values: Mapping[str, Any]
    ) -> Any:
        url = rule.url
        if url is not None:
            url = filled(url, values, "url")
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
        await other.guide.open(other.session.base_url)  # an error page does not show whether one is signed in
        await other.session.look_for(timeout_s=AFTER_S)
        return MISSING if await other.session.signed_in() is False else False

    async def _holds(self, run: Run, patience_s: float, *, before: bool = False) -> bool | None:
        """Whether `already_done_when` holds, on the screen it is about; None where that is not to be told.

        `before` anything was done, a page has had its time to show it since it came.
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
            async with self._engine.elsewhere() as other:
                if screen is None:  # an error page of the browser: ask the site
                    await other.guide.arrive()
                else:
                    await other.guide.go_to(screen, method="direct_url")
                return await _all_hold(other, conditions, run.values, patience_s)
        except (AgentError, PageError, PlaywrightError):
            return None


async def _all_hold(
    engine: Engine, conditions: tuple[BaseCondition, ...], values: Mapping[str, Any], patience_s: float
) -> bool | None:
    verdicts = await engine.session.judge_until_held(conditions, values, timeout_s=patience_s)
    if any(verdict.status is Status.UNKNOWN for verdict in verdicts):
        return None
    return all(verdict.held for verdict in verdicts)
