"""What a server answers from: the views, how pages are probed, where websites run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kb_schema.answers import WebsiteSummary
from mcp_server import describe
from mcp_server.engines import PathEngines
from mcp_server.errors import DeskError
from mcp_server.failures.runs import RunReader
from mcp_server.identify import Prober
from mcp_server.learning import Learning
from mcp_server.page_shelf import PageShelf
from mcp_server.proposing import Proposing
from mcp_server.security.limits import Guard
from mcp_server.tools.reply import Visit
from mcp_server.views import Views


@dataclass(frozen=True, slots=True)
class Desk:
    """One server's dependencies."""

    views: Views
    prober: Prober
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Website id -> the base URL in force where it is not the authored one."""
    learning: Learning = field(default_factory=Learning)
    proposing: Proposing = field(default_factory=Proposing)
    runs: RunReader | None = None
    """Recorded runs, where this server can read them."""
    engines: PathEngines = field(default_factory=PathEngines)
    guard: Guard = field(default_factory=Guard)
    pages: PageShelf = field(default_factory=PageShelf)

    async def visit(self, website_id: str) -> tuple[Visit, str | None]:
        """What a tool over that website works with, and a note for the answer where there is one.

        Raises `UnknownName` and `SourceDown`.
        """
        current = await self.views.current(website_id)
        view = await self.proposing.offered(await self.learning.weighed(current.view))
        return Visit(view, self.prober, self.base_urls.get(website_id), self.pages), current.note

    async def summaries(self) -> tuple[WebsiteSummary, ...]:
        """Every website in short; one that cannot be read is left out if another can."""
        found: list[WebsiteSummary] = []
        failed: DeskError | None = None
        for website_id in await self.views.websites():
            try:
                current = await self.views.current(website_id)
            except DeskError as exc:
                failed = exc
                continue
            found.append(describe.website_summary(current.view))
        if failed is not None and not found:
            raise failed
        return tuple(found)
