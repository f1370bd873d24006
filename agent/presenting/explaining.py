"""Explaining a screen: pointing at what is spoken of on its word, moving through the page, and the notes of
its author on single elements (KS 4.5 `depth`, `scrolling`).

An overview is the narration and what it points at; a demonstration also tells what each of these is for; a
deep dive tells that of everything on the screen that has a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agent.page.errors import PageError
from agent.page.gate import pass_gate
from agent.presenting.pointing import Stop, stops_of, with_marks
from agent.presenting.presenter import NOTES
from agent.presenting.telling import Telling
from kb_schema.presentation import Segment
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector

MOST_NOTES = 6
"""Elements a deep dive tells of, beside those it points at."""
POINT_TIMEOUT_S = 1.0
"""For an element to be pointed at: it is only a highlight."""


@cache
def _source() -> str:
    return (Path(__file__).parent / "scrolling.js").read_text(encoding="utf-8")


class Explaining:
    """Shows what one screen has, on one session's page."""

    def __init__(self, telling: Telling) -> None:
        self._telling, self._session = telling, telling.session
        self._moved = False

    async def explain(self, segment: Segment, values: Mapping[str, Any], *, notes: bool) -> None:
        """Say a segment's narration and show what it speaks of. `notes`: those of elements may be told.

        Returns when everything was begun to be shown. Raises `Detoured`.
        """
        self._moved = False
        elements = await self._session.elements()
        labels = {name: element.label for name, element in elements.items()}
        stops = [] if self._telling.instant else stops_of(segment, labels)
        text, stops = with_marks(segment.narration_template, stops)
        await self._telling.say(text, values)
        for stop in stops:
            await self._word(stop.mark)
            await self._show(stop, elements)
        if notes:
            await self._notes(segment, elements)

    async def over(self, segment: Segment) -> None:
        """Nothing is pointed at any more, and the page is where it was."""
        if self._telling.stage is not None:
            await self._telling.stage.ring(None)
        if self._moved and segment.scrolling.return_to_top:
            await self._scroll("top")
        self._moved = False

    async def _word(self, mark: str) -> None:
        """Wait until the word with that mark is heard; a visitor is attended to meanwhile."""
        telling = self._telling
        while telling.narrator.due([mark]) is not None:
            if await telling.narrator.at(mark):
                return
            await telling.safe_point()

    async def _show(self, stop: Stop, elements: Mapping[str, UIElement]) -> None:
        match stop.kind:
            case "point":
                await self._ring(elements[stop.element or ""].selector)
            case "scroll_to":
                await self._ring(elements[stop.element or ""].selector, centred=True)
            case "scroll_on" | "to_bottom":
                if self._telling.stage is not None:
                    await self._telling.stage.ring(None)
                await self._scroll("on" if stop.kind == "scroll_on" else "bottom")

    async def _notes(self, segment: Segment, elements: Mapping[str, UIElement]) -> None:
        for name, note in _noted(segment, elements):
            await self._telling.finished()
            if self._telling.instant or await self._ring(elements[name].selector):
                await self._telling.say(f"{elements[name].label}: {note}".translate(_NO_TEMPLATE), {})

    async def _ring(self, selector: Selector, *, centred: bool = False) -> bool:
        """Whether the element could be shown: one that cannot is not pointed at."""
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
                gated = await pass_gate(page, selector, timeout_s=POINT_TIMEOUT_S)  # it has come to rest
            box = await gated.pointer.bounding_box()
        except (PageError, PlaywrightError):
            return False
        if self._telling.stage is not None and box is not None:
            await self._telling.stage.ring(dict(box))  # type: ignore[arg-type]  # a TypedDict of floats
        return True

    async def _scroll(self, where: str) -> None:
        self._moved = True
        try:
            await self._session.page.evaluate(_source(), where)
        except PlaywrightError:
            return  # a page that is being replaced has nowhere to move


_NO_TEMPLATE = str.maketrans("{}", "()")


def _noted(segment: Segment, elements: Mapping[str, UIElement]) -> Iterator[tuple[str, str]]:
    """The elements a depth tells of, with what their author says about them."""
    if segment.told_at == "overview":
        return
    pointed = [name for name in segment.highlights if name in elements]
    others = [name for name in elements if name not in pointed] if segment.told_at == "deep_dive" else []
    left = MOST_NOTES
    for name in (*pointed, *others):
        note = next(
            (n for key in NOTES if isinstance(n := elements[name].metadata.get(key), str) and n), None
        )
        if note is None or (name in others and left <= 0):
            continue
        left -= name in others
        yield name, note
