"""Recoveries that inspect the page first: did the step take effect, and which screen is this?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent.errors import AgentError
from agent.execution.recovery.recovery_registry import RecoveryCase, RecoveryOutcome, register_recovery
from agent.page.errors import PageError
from agent.session import SETTLE_S
from kb_schema.conditions import OnScreen

if TYPE_CHECKING:
    from agent.execution.task_run import TaskRun


@register_recovery("check_current_state")
async def check_current_state(case: RecoveryCase) -> RecoveryOutcome:
    """Check whether the step took effect after all; nothing is repeated."""
    return RecoveryOutcome.DONE if await has_taken_effect(case) else RecoveryOutcome.NO_HELP


@register_recovery("verify_current_state")
async def verify_current_state(case: RecoveryCase) -> RecoveryOutcome:
    """Return to a known screen, and to the screen where the step begins."""
    engine, session = case.engine, case.engine.session
    try:
        found = await session.look_for(timeout_s=SETTLE_S)
        if found.screen_id is None:
            found = await engine.guide.recover()
        if await has_taken_effect(case):
            return RecoveryOutcome.DONE
        wanted = None if case.run is None else find_start_screen(case.run, case.index)
        if wanted is None or found.screen_id == wanted:
            return RecoveryOutcome.AGAIN
        if case.run is not None and case.run.doors(case.index)[0] != case.index:
            return RecoveryOutcome.BACK  # the values entered there are gone
        await engine.guide.go_to(wanted)
    except (AgentError, PageError):
        return RecoveryOutcome.NO_HELP
    return RecoveryOutcome.AGAIN


@register_recovery("navigate_manually")
async def navigate_manually(case: RecoveryCase) -> RecoveryOutcome:
    """Go to the screen the step leads to, or begins on, by its address, else along any path."""
    engine, call = case.engine, case.call
    wanted = None if call is None else call.target_screen
    if wanted is None and case.run is not None:
        wanted = find_start_screen(case.run, case.index)
    if wanted is None:
        return RecoveryOutcome.NO_HELP
    methods: tuple[Literal["direct_url", "path"], ...] = ("direct_url", "path")
    for method in methods:
        try:
            await engine.guide.go_to(wanted, method=method)
        except (AgentError, PageError):
            continue
        return RecoveryOutcome.DONE if await has_taken_effect(case) else RecoveryOutcome.AGAIN
    return RecoveryOutcome.NO_HELP


def find_start_screen(run: TaskRun, index: int) -> str | None:
    """Return the screen a step begins on: from its preconditions, else where the step before it ended."""
    preconditions = run.steps[index].preconditions
    stated = next((each.screen_id for each in preconditions if isinstance(each, OnScreen)), None)
    return stated or run.place(index)[1]


async def has_taken_effect(case: RecoveryCase) -> bool:
    """Return whether the step has postconditions and all of them hold."""
    if case.run is None or case.step is None:
        return False
    return bool(await case.engine.steps.holds_by_now(case.run, case.step))
