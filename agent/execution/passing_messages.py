"""Accepts messages that the page showed after the last press and has taken away since.

A message of three seconds may be gone before a run on a busy machine looks at the page. Only texts of the whole page
count, and only if they appeared after the last press (`agent/page/js/8_passing.js`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from agent.page import in_page_library
from agent.page.errors import PageError
from kb_schema.conditions import BaseCondition, DomContains
from kb_schema.probes import TextProbe, Verdict, held

if TYPE_CHECKING:
    from playwright.async_api import Page

_WHOLE_PAGE = frozenset({None, "body"})


async def accept_passing_messages(
    page: Page, conditions: Sequence[BaseCondition], verdicts: Sequence[Verdict]
) -> list[Verdict]:
    """Return the verdicts; one of a text that the page showed after the last press holds."""
    accepted = list(verdicts)
    probes = {
        number: probe
        for number, (condition, verdict) in enumerate(zip(conditions, verdicts, strict=True))
        if not verdict.held and (probe := _find_probe(condition)) is not None
    }
    if not probes:
        return accepted
    asked = json.dumps([probe.model_dump(mode="json") for probe in probes.values()])
    try:
        shown = await in_page_library.call(page, "passed", asked)
    except PageError:
        return accepted
    for (number, probe), was_shown in zip(probes.items(), shown, strict=True):
        if was_shown:
            accepted[number] = held(
                True, f"{probe.value!r} was on the page after the last press, and is gone since"
            )
    return accepted


def _find_probe(condition: BaseCondition) -> TextProbe | None:
    """Return the text of the page that a condition asks for; None: it asks for something else."""
    if not isinstance(condition, DomContains) or condition.selector not in _WHOLE_PAGE:
        return None
    if condition.success is False or condition.exact:
        return None
    match: Literal["part", "number"] = "part" if condition.number_format is None else "number"
    return TextProbe(value=condition.shown_text, match=match)
