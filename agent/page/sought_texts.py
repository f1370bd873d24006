"""Finds where a page shows a text, and tells what of it is no evidence: what nobody can see, what stood there before the press,
what is only a part of a word, and what is denied beside it.

What can be seen is decided in the page (`js/8_seen.js`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Literal

from playwright.async_api import ElementHandle, Page
from playwright.async_api import Error as DriverError

from agent.page import in_page_library

MOST_FRAMES = 10
"""Frames of other origins that are read."""
_IS_CLOSED_TO_US = """(frame) => {
  if (!frame.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || !frame.getClientRects().length) return false;
  try { return frame.contentDocument === null } catch { return true }
}"""
"""Whether a frame is shown, and scripts of its page cannot read it."""


@dataclass(frozen=True, slots=True)
class SoughtText:
    """A text that is sought on a page. `css`: within elements that it matches. Without a value: each such element."""

    value: str
    css: str | None = None
    fixed: bool = False
    """Also in the values of fields that a person cannot change."""


@dataclass(frozen=True, slots=True)
class TextPlace:
    """One place of a text: the rest of its block before and after it (200 characters each)."""

    before: str
    text: str
    after: str
    left: str
    """What stands on its line right before its block, in boxes of their own that are not items, controls or badges: `Not` beside `saved`."""
    right: str
    """The same after it."""
    unseen: str | None
    """Why nobody can see it there; None if it can be seen."""
    fading: bool
    """It cannot be seen, and an animation is under way by which that may change."""
    struck: Literal["deleted", "line"] | None
    """It is marked as deleted, or a line goes through it."""
    stood: bool
    """It stood there before the press, and was seen."""

    @property
    def said(self) -> str:
        """The whole block, as far as it is known."""
        return f"{self.before}{self.text}{self.after}".strip()


async def find_texts(page: Page, sought: Sequence[SoughtText]) -> list[list[TextPlace]]:
    """Return the places of each text, at most 20. Raises `PageGone`."""
    said = await in_page_library.call(page, "soughtTexts", _write(sought))
    return [[TextPlace(**place) for place in places] for places in said]


async def find_in_foreign_frames(page: Page, sought: SoughtText) -> list[TextPlace]:
    """Return the places of a text in the frames of other origins that are shown. Raises `PageGone`."""
    found: list[TextPlace] = []
    frames = [each for each in page.frames if each.parent_frame is not None]
    for frame in frames[:MOST_FRAMES]:
        with suppress(DriverError):  # a frame that goes away shows nothing
            host = await frame.frame_element()
            if await _is_closed_to_us(host):
                said = await in_page_library.call_in_frame(page, frame, "soughtTexts", _write([sought]))
                found += [TextPlace(**place) for place in (said or [[]])[0]]
    return found


async def remember_standing(page: Page, sought: Sequence[SoughtText]) -> None:
    """Remember where texts stand before a press. Raises `PageGone`."""
    await in_page_library.call(page, "rememberStanding", _write(sought))


async def _is_closed_to_us(host: ElementHandle) -> bool:
    return bool(await host.evaluate(_IS_CLOSED_TO_US))


def _write(sought: Sequence[SoughtText]) -> str:
    return json.dumps([asdict(each) for each in sought])
