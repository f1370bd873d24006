"""Which websites there are, and what is said anywhere about one."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kb_schema.answers import DocumentAnswer, SearchResults, SiteMap
from mcp_server import describe, rendering, site_map
from mcp_server.tools.parameters import DetailLevel
from mcp_server.tools.reply import Reply, Visit, WebsiteTool

MOST_HITS = 10


def get_website(visit: Visit, detail: DetailLevel = "working") -> Reply[DocumentAnswer]:
    """The website: base URL, how to tell one is signed in, its default recovery."""
    answer = describe.document(visit.view, visit.view.website, detail)
    return Reply(answer, rendering.document(answer))


def get_site_map(visit: Visit) -> Reply[SiteMap]:
    """Every screen of the site and every transition between two, without details."""
    answer = site_map.site_map(visit.view)
    return Reply(answer, site_map.as_text(answer))


def search_knowledge(
    visit: Visit, query: Annotated[str, Field(min_length=1, max_length=500)]
) -> Reply[SearchResults]:
    """Screens, tasks, actions, demos and transitions that say what is searched for, best first."""
    hits = visit.view.search.hits(query, MOST_HITS)
    answer = SearchResults(website_id=visit.view.website_id, query=query, hits=hits)
    return Reply(answer, rendering.search(answer))


TOOLS = (
    WebsiteTool(get_website, "A website"),
    WebsiteTool(get_site_map, "The map of a site"),
    WebsiteTool(search_knowledge, "Search", in_thread=True),
)
