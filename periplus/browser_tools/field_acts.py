"""Fills several fields of a page, one after another, each with all checks of an act."""

from __future__ import annotations

from collections.abc import Mapping

from agent.locators.role_hints import ENTER
from mcp_server.errors import BadRequest
from periplus.browser_tools.browser_tabs import BrowserTab
from periplus.browser_tools.errors import ActFailed, NeedsConfirmation, NotFoundOnPage
from periplus.browser_tools.page_acts import check_danger, choose_action, find_target, perform_act
from periplus.browser_tools.page_tool_list import PREFIX

FieldValue = str | bool | int | float
MOST_FIELDS = 40
_ENTERS = frozenset({"fill", "select_option", "check", "uncheck"})


async def fill_fields(
    tab: BrowserTab, fields: Mapping[str, FieldValue], *, sure: bool = False
) -> tuple[str, bool]:
    """Enter each value into the field of its key: a reference, an element id, or words. Nothing is pressed.

    Returns what was done, and whether all was; the first field that refuses ends it. Raises `BadRequest` for too many or
    none, and `NotFoundOnPage`, `NeedsConfirmation` and `ActFailed` if nothing was done.
    """
    if not 0 < len(fields) <= MOST_FIELDS:
        raise BadRequest(f"fields has {len(fields)} entries", hint=f"give 1 to {MOST_FIELDS}")
    done: list[str] = []
    for element, value in fields.items():
        try:
            name = await _fill_field(tab, element, value, sure=sure)
        except (NotFoundOnPage, NeedsConfirmation, ActFailed, BadRequest) as exc:
            if not done:
                raise
            why = str(exc)
            place = "" if repr(element) in why else f"{element!r}: "
            return f"done: {', '.join(done)}; then {place}{why}", False
        done.append(name)
    return f"done: {', '.join(done)}", True


async def _fill_field(tab: BrowserTab, element: str, value: FieldValue, *, sure: bool) -> str:
    """Fill one field and return its name. Raises `ActFailed` if it refuses, or is no field, and `NeedsConfirmation`."""
    if element.startswith(PREFIX) or not element.strip():
        raise BadRequest(f"{element!r} is no field", hint="name fields only")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    target = await find_target(tab, element, ENTER)
    action = choose_action(target, None, text, secret=False)
    if action not in _ENTERS:
        raise ActFailed(f"{element!r} is no field", hint="name fields only")
    await check_danger(tab, target, action, text, sure=sure)
    if target.secret:
        tab.working_session()[0].context.keep_secret(text)
    outcome = await perform_act(tab, target, action, text)
    if outcome.failed:
        raise ActFailed(outcome.told)
    return target.name or element
