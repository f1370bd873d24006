"""Recoveries that clear the way for another try: another selector, a page loaded anew, patience."""

from __future__ import annotations

from agent.errors import AgentError
from agent.page.changing import wait_for_change
from agent.page.errors import PageError
from agent.page.locating import locate
from agent.recovering.cases import Case, Outcome, pause, recovery
from agent.session import BROWSERS_OWN_ERROR, SETTLE_S
from kb_schema.conditions import ElementEnabled
from kb_schema.selectors import Selector

DEFAULT_WAIT_S = 1.0
"""How long `wait_and_retry` waits where its author gives no time."""
STRATEGIES = "strategies tried"
"""Under this a case remembers how many of an element's strategies had their turn."""

ALTERNATIVE = "element with an alternative"
"""Under this it remembers which element is looked for in another way for the time being."""


@recovery("retry")
async def retry(_case: Case) -> Outcome:
    """Once more, as it is."""
    return Outcome.AGAIN


@recovery("abort")
async def abort(_case: Case) -> Outcome:
    """Nothing more is tried."""
    return Outcome.STOP


@recovery("skip_step")
async def skip_step(_case: Case) -> Outcome:
    """The step is left out, and its record says why."""
    return Outcome.SKIP


@recovery("dismiss_overlay")
async def dismiss_overlay(case: Case) -> Outcome:
    """Close what lies over the page, by the control that the website names."""
    return Outcome.AGAIN if await case.engine.dismiss_overlays() else Outcome.NO_HELP


@recovery("try_alternative_selector")
async def try_alternative_selector(case: Case) -> Outcome:
    """The next of the element's strategies that leads to anything, from now on."""
    session, element = case.engine.session, await case.element()
    if element is None or session.screen_id is None or element.selector.parameterized:
        return Outcome.NO_HELP
    screen = await session.knowledge.screen(session.screen_id)
    authored = next((each for each in screen.ui_elements if each.element_id == element.element_id), element)
    strategies = authored.selector.ordered
    for number in range(case.memory.get(STRATEGIES, 1), len(strategies)):
        case.memory[STRATEGIES] = number + 1
        alone = Selector(strategies=(strategies[number],), frame=authored.selector.frame)
        found = await locate(session.page, alone)
        if found.resolved and found.visible:
            case.memory[ALTERNATIVE] = (session.screen_id, element.element_id)
            session.memory.stands_for(case.memory[ALTERNATIVE], alone)
            return Outcome.AGAIN
    return Outcome.NO_HELP


@recovery("wait_and_retry")
async def wait_and_retry(case: Case) -> Outcome:
    """Until the step's element can be used, at most the author's time; without an element the author's
    pause as it is, and where there is none until the page changes.
    """
    session, element = case.engine.session, await case.element()
    values = {} if case.run is None else case.run.values
    if element is not None:
        usable = ElementEnabled(type="element_enabled", element=element.element_id)
        await session.judge_until_held([usable], values, timeout_s=case.wait_time or DEFAULT_WAIT_S)
    elif case.wait_time is not None:
        await pause(case)
    else:
        await wait_for_change(session.page, DEFAULT_WAIT_S)
    return Outcome.AGAIN


@recovery("refresh_and_retry")
async def refresh_and_retry(case: Case) -> Outcome:
    """The page anew, by its address: nothing that was sent is sent again. What was filled in on it is
    filled in again, too.
    """
    engine, run = case.engine, case.run
    await pause(case)
    if run is not None and run.doors(case.index)[0] != case.index:
        return Outcome.BACK  # going back opens the page
    url = engine.session.page.url
    if url.startswith(BROWSERS_OWN_ERROR):
        return Outcome.NO_HELP if run is None else Outcome.BACK
    try:
        await engine.guide.open(url)
    except (AgentError, PageError):
        return Outcome.NO_HELP
    await engine.session.look_for(timeout_s=SETTLE_S)
    return Outcome.AGAIN
