"""Which websites there are, and what is said anywhere about one."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kb_schema import MODELS
from kb_schema.answers import DocumentAnswer, SearchResults, SiteMap
from mcp_server import cursors, describe, rendering, site_map
from mcp_server.tools.parameters import DetailLevel, Id, named
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
    visit: Visit,
    query: Annotated[str, Field(min_length=1, max_length=500)],
    kinds: Annotated[tuple[Id, ...], Field(max_length=20, description="e.g. screen, task")] = (),
    cursor: Id | None = None,
) -> Reply[SearchResults]:
    """Everything that says what is searched for, best first; slips of the pen are forgiven."""
    for kind in kinds:
        named("kind of document", kind, MODELS, "leave `kinds` out to search all")
    question = f"search:{visit.view.generation}:{sorted(set(kinds))}:{query}"
    begin = cursors.read(cursor, question)
    found = visit.view.search.hits(query, MOST_HITS, kinds=kinds, skip=begin)
    answer = SearchResults(
        website_id=visit.view.website_id,
        query=query,
        hits=found.hits,
        next_cursor=cursors.make(begin + MOST_HITS, question) if found.more else None,
    )
    return Reply(answer, rendering.search(answer))


TOOLS = (
    WebsiteTool(get_website, "A website"),
    WebsiteTool(get_site_map, "The map of a site"),
    WebsiteTool(search_knowledge, "Search", in_thread=True),
)
