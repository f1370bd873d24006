"""Reads the figures that a page shows, each with the words around it: `Total Calls 12,864`.

Rows of tables, links, fields and code are left out: they are records, not figures of the page.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from agent.errors import UnknownToKnowledge
from agent.presentation.visitor.knowledge_passages import KnowledgePassage

if TYPE_CHECKING:
    from agent.session import Session

MOST_FIGURES = 40


class PageFigures:
    """Reads the figures of a session's page as passages, so that a visitor's question can be answered with them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def __call__(self) -> list[KnowledgePassage]:
        """Return the figures; none if the page cannot be read."""
        try:
            texts: list[str] = await self._session.page.evaluate(_source(), MOST_FIGURES)
        except PlaywrightError:
            return []
        screen_id, name = self._session.screen_id, ""
        if screen_id is not None:
            try:
                name = (await self._session.knowledge.screen(screen_id)).name
            except UnknownToKnowledge:
                name = ""
        source = f"screen/{screen_id}" if screen_id is not None else "page"
        return [
            KnowledgePassage(text, name or self._session.website.name, source, kind="figure")
            for text in texts
        ]


@cache
def _source() -> str:
    return Path(__file__).with_name("page_figures.js").read_text(encoding="utf-8")
