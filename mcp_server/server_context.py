"""What a server answers from: the compiled views, how pages are probed, where websites run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kb_schema.tool_answers import WebsiteSummary
from mcp_server.descriptions import document_summaries
from mcp_server.errors import KnowledgeServerError
from mcp_server.failures.failed_runs import RunReader
from mcp_server.identification.parsed_page_cache import ParsedPageCache
from mcp_server.identification.screen_identification import Prober
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.knowledge.learned_weights import LearnedWeights
from mcp_server.knowledge.proposal_service import ProposalService
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.paths.path_engines import PathEngines
from mcp_server.security.call_limits import CallGuard


@dataclass(frozen=True, slots=True)
class WebsiteRequest:
    """One request about one website."""

    view: KnowledgeView
    prober: Prober
    base_url: str | None = None
    """The base URL the server was configured with for this website."""
    pages: ParsedPageCache = field(default_factory=ParsedPageCache)
    snapshots: Path | None = None
    """The only folder from which snapshots are read as files; None: none is read."""


@dataclass(frozen=True, slots=True)
class ServerContext:
    """One server's dependencies."""

    views: ViewCache
    prober: Prober
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Website id -> the base URL in force where it is not the authored one."""
    learning: LearnedWeights = field(default_factory=LearnedWeights)
    proposing: ProposalService = field(default_factory=ProposalService)
    runs: RunReader | None = None
    """Recorded runs, where this server can read them."""
    engines: PathEngines = field(default_factory=PathEngines)
    guard: CallGuard = field(default_factory=CallGuard)
    pages: ParsedPageCache = field(default_factory=ParsedPageCache)
    snapshots: Path | None = None
    """The only folder from which snapshots are read as files."""

    async def open_request(self, website_id: str) -> tuple[WebsiteRequest, str | None]:
        """Return the request that a tool over this website works with, and a note for the answer, if there is one.

        Raises `UnknownName` and `SourceUnavailable`.
        """
        current = await self.views.current(website_id)
        view = await self.proposing.offered(await self.learning.weighed(current.view))
        base_url = self.base_urls.get(website_id)
        return WebsiteRequest(view, self.prober, base_url, self.pages, self.snapshots), current.note

    async def summaries(self) -> tuple[WebsiteSummary, ...]:
        """Return every website in short. One that cannot be read is left out if another can be read."""
        found: list[WebsiteSummary] = []
        failed: KnowledgeServerError | None = None
        for website_id in await self.views.websites():
            try:
                current = await self.views.current(website_id)
            except KnowledgeServerError as exc:
                failed = exc
                continue
            found.append(document_summaries.summarize_website(current.view))
        if failed is not None and not found:
            raise failed
        return tuple(found)
