"""Explains a screen: points at elements when their word is spoken, scrolls, and reads the author's notes on
elements (KS 4.5 `depth`, `scrolling`).

An overview is the narration with its highlights. A demonstration adds the notes of the highlights. A deep
dive adds the notes of all elements on the screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agent.page.actionability_gate import pass_gate
from agent.page.errors import PageError
from agent.presentation.explanation_stops import ExplanationStop, add_stop_marks, collect_stops
from agent.presentation.narration.interruptible_narrator import InterruptibleNarrator
from agent.presentation.presenter import NOTES
from kb_schema.presentation_flows import Segment
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector

MOST_NOTES = 6
"""Most additional notes in a deep dive, besides those of the highlights."""
POINT_TIMEOUT_S = 1.0
"""Timeout in seconds for pointing at an element, which is only a highlight."""


@cache
def _read_script() -> str:
    return (Path(__file__).parent / "scrolling.js").read_text(encoding="utf-8")


class ScreenExplainer:
    """Explains one screen on a session's page."""

    def __init__(self, narration: InterruptibleNarrator) -> None:
        self._narration, self._session = narration, narration.session
        self._moved = False

    async def explain(self, segment: Segment, values: Mapping[str, Any], *, notes: bool) -> None:
        """Speak a segment's narration and point at what it mentions. `notes`: whether notes of elements may
        be spoken.

        Returns when everything has started. Raises `DetourRequested`.
        """
        self._moved = False
        elements = await self._session.elements()
        labels = {name: element.label for name, element in elements.items()}
        stops = [] if self._narration.instant else collect_stops(segment, labels)
        text, stops = add_stop_marks(segment.narration_template, stops)
        await self._narration.say(text, values)
        for stop in stops:
            await self._wait_for_word(stop.mark)
            await self._show_stop(stop, elements)
        if notes:
            await self._speak_notes(segment, elements)

    async def end(self, segment: Segment) -> None:
        """Remove the ring, and scroll back to the top if the segment says so."""
        if self._narration.overlay is not None:
            await self._narration.overlay.ring(None)
        if self._moved and segment.scrolling.return_to_top:
            await self._scroll("top")
        self._moved = False

    async def _wait_for_word(self, mark: str) -> None:
        """Wait until the word with that mark is spoken. Requests of a visitor are handled meanwhile."""
        narration = self._narration
        while narration.narrator.next_mark([mark]) is not None:
            if await narration.narrator.wait_for_mark(mark):
                return
            await narration.safe_point()

    async def _show_stop(self, stop: ExplanationStop, elements: Mapping[str, UIElement]) -> None:
        match stop.kind:
            case "point":
                await self._draw_ring(elements[stop.element or ""].selector)
            case "scroll_to":
                await self._draw_ring(elements[stop.element or ""].selector, centred=True)
            case "scroll_on" | "to_bottom":
                if self._narration.overlay is not None:
                    await self._narration.overlay.ring(None)
                await self._scroll("on" if stop.kind == "scroll_on" else "bottom")

    async def _speak_notes(self, segment: Segment, elements: Mapping[str, UIElement]) -> None:
        for name, note in _collect_notes(segment, elements):
            await self._narration.finished()
            if self._narration.instant or await self._draw_ring(elements[name].selector):
                await self._narration.say(f"{elements[name].label}: {note}".translate(_NO_TEMPLATE), {})

    async def _draw_ring(self, selector: Selector, *, centred: bool = False) -> bool:
        """Draw a ring around an element and return whether it could be shown."""
        page = self._session.page
        if selector.parameterized:
            return False
        try:
            gated = await pass_gate(page, selector, timeout_s=POINT_TIMEOUT_S)
            if centred:
                self._moved = True
                await gated.pointer.evaluate(
                    "element => element.scrollIntoView({block: 'center', behavior: 'smooth'})"
                )
                gated = await pass_gate(page, selector, timeout_s=POINT_TIMEOUT_S)  # scrolling has ended
            box = await gated.pointer.bounding_box()
        except (PageError, PlaywrightError):
            return False
        if self._narration.overlay is not None and box is not None:
            await self._narration.overlay.ring(dict(box))  # type: ignore[arg-type]  # a TypedDict of floats
        return True

    async def _scroll(self, where: str) -> None:
        self._moved = True
        try:
            await self._session.page.evaluate(_read_script(), where)
        except PlaywrightError:
            return  # the page is being replaced, so there is nothing to scroll


_NO_TEMPLATE = str.maketrans("{}", "()")


def _collect_notes(segment: Segment, elements: Mapping[str, UIElement]) -> Iterator[tuple[str, str]]:
    """Yield the elements whose notes a depth includes, with their notes."""
    if segment.authored_depth == "overview":
        return
    pointed = [name for name in segment.highlights if name in elements]
    others = (
        [name for name in elements if name not in pointed] if segment.authored_depth == "deep_dive" else []
    )
    left = MOST_NOTES
    for name in (*pointed, *others):
        note = next(
            (n for key in NOTES if isinstance(n := elements[name].metadata.get(key), str) and n), None
        )
        if note is None or (name in others and left <= 0):
            continue
        left -= name in others
        yield name, note
