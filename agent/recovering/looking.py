"""Recoveries that look before anything else is done: did it happen, and where are we?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent.errors import AgentError
from agent.page.errors import PageError
from agent.recovering.cases import Case, Outcome, recovery
from agent.session import SETTLE_S
from kb_schema.conditions import OnScreen

if TYPE_CHECKING:
    from agent.engine.running import Run


@recovery("check_current_state")
async def check_current_state(case: Case) -> Outcome:
    """Whether what the step is for has come about after all; nothing is done again here. Of what may
    not be repeated, page and knowledge were asked before any recovery.
    """
    return Outcome.DONE if await holds_by_now(case) else Outcome.NO_HELP


@recovery("verify_current_state")
async def verify_current_state(case: Case) -> Outcome:
    """Where we are: back to a known screen, and to the one the step begins on."""
    engine, session = case.engine, case.engine.session
    try:
        found = await session.look_for(timeout_s=SETTLE_S)
        if found.screen_id is None:
            found = await engine.guide.recover()
        if await holds_by_now(case):
            return Outcome.DONE
        wanted = None if case.run is None else begins_on(case.run, case.index)
        if wanted is None or found.screen_id == wanted:
            return Outcome.AGAIN
        if case.run is not None and case.run.doors(case.index)[0] != case.index:
            return Outcome.BACK  # what was filled in there is gone
        await engine.guide.go_to(wanted)
    except (AgentError, PageError):
        return Outcome.NO_HELP
    return Outcome.AGAIN


@recovery("navigate_manually")
async def navigate_manually(case: Case) -> Outcome:
    """To the screen the step leads to, or begins on, by its address, else by any way there is."""
    engine, call = case.engine, case.call
    wanted = None if call is None else call.target_screen
    if wanted is None and case.run is not None:
        wanted = begins_on(case.run, case.index)
    if wanted is None:
        return Outcome.NO_HELP
    methods: tuple[Literal["direct_url", "path"], ...] = ("direct_url", "path")
    for method in methods:
        try:
            await engine.guide.go_to(wanted, method=method)
        except (AgentError, PageError):
            continue
        return Outcome.DONE if await holds_by_now(case) else Outcome.AGAIN
    return Outcome.NO_HELP


def begins_on(run: Run, index: int) -> str | None:
    """The screen a step is for: as its preconditions say, else where the one before it ended."""
    preconditions = run.steps[index].preconditions
    stated = next((each.screen_id for each in preconditions if isinstance(each, OnScreen)), None)
    return stated or run.place(index)[1]


async def holds_by_now(case: Case) -> bool:
    """Whether the step names what it is to bring about, and all of it holds."""
    if case.run is None or case.step is None:
        return False
    return bool(await case.engine.steps.doubt.holds_by_now(case.run, case.step))
