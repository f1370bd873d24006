"""Hands a page over to a person for what only a person can do, a captcha or a passkey, and takes it back.

The tab comes to the front, the person is told what is asked for, and the run goes on when it is done. Nothing is solved or
answered by Periplus.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from agent.errors import PersonNeeded
from agent.execution.effects.person_answers import ask_until_done
from agent.execution.page_complaints import read_signs
from agent.page.errors import PageError
from agent.page.page_changes import wait_for_change
from agent.page.page_refusals import PersonCheck, RefusalSigns, read_person_checks

if TYPE_CHECKING:
    from agent.session import Session

TIMES = 3
"""How often a person is told of the same page."""
ANSWERED_S = 5.0
"""Seconds the browser may take to tell the page of an answer."""
PRESSES = frozenset({"click", "double_click", "press"})
"""Actions before and after which is looked."""
_HINT = (
    "let a person do it in the browser, then do this step again; `periplus run` asks in a terminal with --headed or "
    "--cdp-endpoint"
)


async def hand_over_before_press(session: Session, signs: RefusalSigns | None) -> RefusalSigns | None:
    """Return the page's signs once no captcha is in the way of a press. Raises `PersonNeeded`; nothing was pressed."""
    for _ in range(TIMES):
        checks = [] if signs is None else [each for each in signs.person if each.entered]
        if not checks:
            return signs
        await _ask(session, checks, "nothing was pressed")
        signs = await read_signs(session.page)
    if signs is not None and (left := [each for each in signs.person if each.entered]):
        raise _person_needed(left, "nothing was pressed")
    return signs


async def hand_over_passkey(session: Session) -> None:
    """Wait for a person if the press opened a passkey prompt. Raises `PersonNeeded`."""
    for _ in range(TIMES):
        waiting = await _find_passkeys(session)
        if not waiting:
            return
        await _ask(session, waiting, "the page waits")
        until = time.monotonic() + ANSWERED_S
        while (left := until - time.monotonic()) > 0 and await _find_passkeys(session):
            with suppress(PageError):
                await wait_for_change(session.page, min(left, 1.0))
    if waiting := await _find_passkeys(session):
        raise _person_needed(waiting, "the page waits")


async def _find_passkeys(session: Session) -> list[PersonCheck]:
    try:
        return [each for each in await read_person_checks(session.page) if each.kind == "passkey"]
    except PageError:  # the page has gone on
        return []


async def _ask(session: Session, checks: Sequence[PersonCheck], state: str) -> None:
    """Tell the person and wait for the answer. Raises `PersonNeeded` without one."""
    if session.context.asker is None:
        raise _person_needed(checks, state)
    with suppress(PlaywrightError):
        await session.page.bring_to_front()
    if not await ask_until_done(session.context, f"{_say(checks)}. Do it in the browser"):
        raise _person_needed(checks, state)


def _person_needed(checks: Sequence[PersonCheck], state: str) -> PersonNeeded:
    return PersonNeeded(f"{_say(checks)}; {state}", hint=_HINT)


def _say(checks: Sequence[PersonCheck]) -> str:
    return f"the page asks for a person: {' and '.join(dict.fromkeys(map(str, checks)))}"
