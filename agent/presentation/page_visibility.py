"""Checks what a page shows: whether the targets of a segment are visible, and whether it contains personal
data.
"""

from __future__ import annotations

from collections.abc import Iterator

from playwright.async_api import Error as PlaywrightError

from agent.guide import Guide
from agent.page.actionability_gate import pass_gate
from agent.page.errors import PageError
from agent.session import Session
from kb_schema.narration_marks import read_marks
from kb_schema.presentation_flows import Segment

LOOK_S = 2.0
"""Seconds an element may take to appear after its screen was reached."""


async def find_missing_targets(session: Session, guide: Guide, segment: Segment) -> tuple[str, ...]:
    """Return the elements that an explanation points at or scrolls to and that are not visible.

    Navigates to the segment's screen, and performs no other action. Raises `AgentError` or `PageError` if the
    screen cannot be reached.
    """
    wanted = tuple(dict.fromkeys(_collect_targets(segment)))
    if not wanted or segment.screen_id is None:
        return ()
    await guide.go_to(segment.screen_id)
    elements = await session.elements()
    missing = []
    for name in wanted:
        if name not in elements:
            missing.append(name)
            continue
        try:
            await pass_gate(session.page, elements[name].selector, timeout_s=LOOK_S)
        except PageError:
            missing.append(name)
    return tuple(missing)


async def is_personal_data_visible(session: Session) -> bool:
    """Return whether the page contains words or the name of a visitor; True if the page cannot be read."""
    if not session.context.personal:
        return False
    try:
        html = (await session.snapshot()).html
    except (PageError, PlaywrightError):
        return True
    return session.context.personal.within(html)


def _collect_targets(segment: Segment) -> Iterator[str]:
    yield from segment.highlights
    yield from (name for name, _ in read_marks(segment.narration_template).marks)
    for variant in segment.depths.values():
        yield from variant.highlights or ()
    if segment.scrolling.enabled:
        yield from segment.scrolling.elements
