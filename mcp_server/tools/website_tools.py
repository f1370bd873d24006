"""Tools for websites: the list, one website, its site map, full-text search."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import Field

from kb_schema import MODELS
from kb_schema.tool_answers import DocumentAnswer, SearchResults, SiteMap
from mcp_server import cursors
from mcp_server.descriptions import answer_text, document_summaries, site_map
from mcp_server.paths import reachability
from mcp_server.search.search_index import LEAST_MATCH, SearchIndex
from mcp_server.server_context import WebsiteRequest
from mcp_server.tools import store_backed_tools
from mcp_server.tools.tool_parameters import DetailLevel, Id, ScreenId, require_document, require_screen
from mcp_server.tools.tool_specs import ToolReply, WebsiteToolSpec

MOST_HITS = 10


def get_website(request: WebsiteRequest, detail: DetailLevel = "working") -> ToolReply[DocumentAnswer]:
    """The website: base URL, how to tell that a user is signed in, its default recovery."""
    answer = document_summaries.describe_document(request.view, request.view.website, detail)
    return ToolReply(answer, answer_text.render_document(answer))


def get_site_map(
    request: WebsiteRequest,
    to_screen: ScreenId | None = None,
    from_screen: ScreenId | None = None,
    action_type: Annotated[Id | None, Field(description="Only by it, e.g. click")] = None,
    most_steps: Annotated[int, Field(ge=1, le=reachability.MOST_STEPS)] = reachability.MOST_STEPS,
) -> ToolReply[SiteMap]:
    """All screens and transitions, without details, or only all ways to (or from) one screen."""
    view = request.view
    for screen in filter(None, (to_screen, from_screen)):
        require_screen(view, screen)
    question = reachability.read_question(view, from_screen, to_screen, action_type, most_steps)
    if question is None:
        answer = site_map.build_site_map(view)
        return ToolReply(answer, site_map.render_site_map(answer))
    answer = reachability.draw_part(view, question, reachability.count_steps(view, question))
    return ToolReply(answer, site_map.render_part(answer, question.direction))


def search_knowledge(
    request: WebsiteRequest,
    query: Annotated[str, Field(min_length=1, max_length=500)],
    kinds: Annotated[tuple[Id, ...], Field(max_length=20, description="e.g. screen, task")] = (),
    cursor: Id | None = None,
    *,
    weak: Annotated[bool, Field(description="Also documents that share only a word")] = False,
) -> ToolReply[SearchResults]:
    """Full-text search, best hits first. Tolerates typing mistakes."""
    for kind in kinds:
        require_document("kind of document", kind, MODELS, "leave `kinds` out to search all")
    question = f"search:{request.view.generation}:{sorted(set(kinds))}:{weak}:{query}"
    begin = cursors.read(cursor, question)
    index = request.view.search
    found = index.hits(query, MOST_HITS, kinds=kinds, skip=begin, least=0.0 if weak else LEAST_MATCH)
    answer = SearchResults(
        website_id=request.view.website_id,
        query=query,
        hits=found.hits,
        next_cursor=cursors.make(begin + MOST_HITS, question) if found.more else None,
        hint=None if found.hits or begin else _explain_nothing(index, query, kinds),
    )
    return ToolReply(answer, answer_text.render_search(answer))


def _explain_nothing(index: SearchIndex, query: str, kinds: Collection[str]) -> str:
    """Return that there is nothing on a query, with the words that no document says."""
    unknown = index.unknown_words(query)
    of = f" of kind {' or '.join(kinds)}" if kinds else ""
    because = (
        f"no document says {', '.join(map(repr, unknown))}"
        if unknown
        else "no document says enough of it in one place"
    )
    return f"nothing on this{of}: {because}; list_tasks has all tasks"


TOOLS = (
    WebsiteToolSpec(get_website, "A website"),
    WebsiteToolSpec(
        get_site_map,
        "The map of a site",
        in_thread=True,
        elsewhere=store_backed_tools.draw_part_in_store,
    ),
    WebsiteToolSpec(search_knowledge, "Search", in_thread=True),
)
