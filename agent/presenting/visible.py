"""What a page shows: whether what a segment points at is there, and whether anything is personal."""

from __future__ import annotations

from collections.abc import Iterator

from playwright.async_api import Error as PlaywrightError

from agent.guide import Guide
from agent.page.errors import PageError
from agent.page.gate import pass_gate
from agent.session import Session
from kb_schema.marks import read_marks
from kb_schema.presentation import Segment

LOOK_S = 2.0
"""How long an element may take to appear once its screen is there."""


async def not_shown(session: Session, guide: Guide, segment: Segment) -> tuple[str, ...]:
    """The elements an explanation would point at, or scroll to, and cannot. Nothing is acted on but to get
    to the segment's screen. Raises `AgentError`, `PageError` where that cannot be had.
    """
    wanted = tuple(dict.fromkeys(_pointed_at(segment)))
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


async def shows_personal(session: Session) -> bool:
    """Whether the page has what a visitor said or is called on it. A page that cannot be read may have it."""
    if not session.context.personal:
        return False
    try:
        html = (await session.snapshot()).html
    except (PageError, PlaywrightError):
        return True
    return session.context.personal.within(html)


def _pointed_at(segment: Segment) -> Iterator[str]:
    yield from segment.highlights
    yield from (name for name, _ in read_marks(segment.narration_template).marks)
    for variant in segment.depths.values():
        yield from variant.highlights or ()
    if segment.scrolling.enabled:
        yield from segment.scrolling.elements
