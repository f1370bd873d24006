"""Recoveries that prepare another attempt: another selector, a reloaded page, waiting."""

from __future__ import annotations

from agent.errors import AgentError
from agent.execution.recovery.recovery_registry import (
    RecoveryCase,
    RecoveryOutcome,
    register_recovery,
    wait_as_authored,
)
from agent.page.errors import PageError
from agent.page.live_selectors import resolve_selector
from agent.page.page_changes import wait_for_change
from agent.session import BROWSERS_OWN_ERROR, SETTLE_S
from kb_schema.conditions import ElementEnabled
from kb_schema.selectors import Selector

DEFAULT_WAIT_S = 1.0
"""Seconds that `wait_and_retry` waits if its author gives no time."""
STRATEGIES = "strategies tried"
"""Key of a case's memory: number of an element's strategies that were tried."""

ALTERNATIVE = "element with an alternative"
"""Key of a case's memory: the element that is found by another strategy for now."""


@register_recovery("retry")
async def retry(_case: RecoveryCase) -> RecoveryOutcome:
    """Try the step again as it is."""
    return RecoveryOutcome.AGAIN


@register_recovery("abort")
async def abort(_case: RecoveryCase) -> RecoveryOutcome:
    """Stop; nothing more is tried."""
    return RecoveryOutcome.STOP


@register_recovery("skip_step")
async def skip_step(_case: RecoveryCase) -> RecoveryOutcome:
    """Leave the step out; its record says why."""
    return RecoveryOutcome.SKIP


@register_recovery("dismiss_overlay")
async def dismiss_overlay(case: RecoveryCase) -> RecoveryOutcome:
    """Close the overlays on the page, by the controls that the website names."""
    return RecoveryOutcome.AGAIN if await case.engine.dismiss_overlays() else RecoveryOutcome.NO_HELP


@register_recovery("try_alternative_selector")
async def try_alternative_selector(case: RecoveryCase) -> RecoveryOutcome:
    """Use the next of the element's strategies that finds it, from now on."""
    session, element = case.engine.session, await case.element()
    if element is None or session.screen_id is None or element.selector.parameterized:
        return RecoveryOutcome.NO_HELP
    screen = await session.knowledge.screen(session.screen_id)
    authored = next((each for each in screen.ui_elements if each.element_id == element.element_id), element)
    strategies = authored.selector.ordered
    for number in range(case.memory.get(STRATEGIES, 1), len(strategies)):
        case.memory[STRATEGIES] = number + 1
        alone = Selector(strategies=(strategies[number],), frame=authored.selector.frame)
        found = await resolve_selector(session.page, alone)
        if found.resolved and found.visible:
            case.memory[ALTERNATIVE] = (session.screen_id, element.element_id)
            session.memory.stands_for(case.memory[ALTERNATIVE], alone)
            return RecoveryOutcome.AGAIN
    return RecoveryOutcome.NO_HELP


@register_recovery("wait_and_retry")
async def wait_and_retry(case: RecoveryCase) -> RecoveryOutcome:
    """Wait until the step's element is usable, at most the author's time.

    Without an element: wait the author's time, or until the page changes if there is none.
    """
    session, element = case.engine.session, await case.element()
    values = {} if case.run is None else case.run.values
    if element is not None:
        usable = ElementEnabled(type="element_enabled", element=element.element_id)
        await session.judge_until_held([usable], values, timeout_s=case.wait_time or DEFAULT_WAIT_S)
    elif case.wait_time is not None:
        await wait_as_authored(case)
    else:
        await wait_for_change(session.page, DEFAULT_WAIT_S)
    return RecoveryOutcome.AGAIN


@register_recovery("refresh_and_retry")
async def refresh_and_retry(case: RecoveryCase) -> RecoveryOutcome:
    """Load the page again by its address, so that nothing is submitted twice, and enter its values again."""
    engine, run = case.engine, case.run
    await wait_as_authored(case)
    if run is not None and run.doors(case.index)[0] != case.index:
        return RecoveryOutcome.BACK  # going back opens the page
    url = engine.session.page.url
    if url.startswith(BROWSERS_OWN_ERROR):
        return RecoveryOutcome.NO_HELP if run is None else RecoveryOutcome.BACK
    try:
        await engine.guide.open(url)
    except (AgentError, PageError):
        return RecoveryOutcome.NO_HELP
    await engine.session.look_for(timeout_s=SETTLE_S)
    return RecoveryOutcome.AGAIN
