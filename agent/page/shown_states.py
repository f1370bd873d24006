"""Whether a control that shows a state is the only one that could be meant (`js/8_states.js`)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from playwright.async_api import Page

from agent.negations import is_negated, is_over
from agent.page import in_page_library
from agent.page.live_selectors import FILLED, fill_selector_parameters
from kb_schema.selectors import NameStrategy, Selector, ValueStrategy
from kb_schema.text_similarity import says_undone

_TEXT = re.compile(r"normalize-space\([^)]*\)\s*=\s*['\"]([^'\"]+)['\"]")
"""A text in an XPath."""


async def find_doubt(
    page: Page, shown: Sequence[Selector], waiting: Selector | None, values: Mapping[str, Any]
) -> str:
    """Return why another control may be meant than the one that shows the state; empty if there is no doubt.

    `shown`: what shows the state. `waiting`: the control that is pressed as long as it is otherwise. Raises `PageError`.
    """
    asked: dict[str, Any] = {
        "shown": [_describe(fill_selector_parameters(each, values)) for each in shown],
        "waiting": None,
        "called": "",
    }
    if waiting is not None:
        filled = fill_selector_parameters(waiting, values)
        name = _find_name(filled)
        called = "" if name in _list_values(filled) else name  # the row's name is not the control's
        asked |= {"waiting": filled.model_dump(mode="json"), "called": called}
    doubt = str(await in_page_library.call(page, "whyUnsure", json.dumps(asked)))
    if doubt or not asked["called"]:
        return doubt
    lines = await in_page_library.call(page, "linesNaming", json.dumps(asked))
    called = asked["called"]
    return next((f'"{each}" is said beside it' for each in lines if _is_against(each, called)), "")


def _is_against(line: str, called: str) -> bool:
    """Return whether a line denies a deed that it names, or says that it is over or was refused: `You unfollowed Eve`."""
    return is_negated(line) or is_over(line) or says_undone(line, called)


def _find_name(selector: Selector) -> str:
    """Return what a selector says that its control is called; empty if it does not say it."""
    for each in selector.strategies:
        if isinstance(each, NameStrategy):
            return each.name
        if isinstance(each, ValueStrategy) and (said := _TEXT.findall(each.value)):
            return str(said[-1])  # what stands before is what tells the row
    return ""


def _describe(selector: Selector) -> dict[str, Any]:
    return {"selector": selector.model_dump(mode="json"), "values": sorted(_list_values(selector))}


def _list_values(selector: Selector) -> set[str]:
    """Return the values that were filled into a selector."""
    filled = [each.meta.get(FILLED) for each in selector.strategies]
    return {str(value) for each in filled if isinstance(each, Mapping) for value in each.values() if value}
