"""Tools that the graph database answers, if this server is configured to query it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import anyio.from_thread
import anyio.to_thread

from kb_schema.tool_answers import PathSearchResult, RecoveryPaths, SiteMap, TaskList
from kb_store.errors import StoreError
from kb_store.graph_queries import NoSuchVertex
from mcp_server.descriptions import answer_text, site_map
from mcp_server.errors import SourceUnavailable
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.paths import reachability, recovery_options
from mcp_server.paths.path_search import NO_EXCLUSIONS, PathExclusions
from mcp_server.paths.store_path_search import find_paths_in_store
from mcp_server.server_context import ServerContext, WebsiteRequest
from mcp_server.tasks import screen_tasks
from mcp_server.tools.tool_parameters import require_screen
from mcp_server.tools.tool_specs import ToolReply
from mcp_server.transition_graph.fact_conditions import KnownFacts

T = TypeVar("T")

ATTEMPTS = 3
"""Retries of a query when knowledge was loaded meanwhile."""
MEMORY_HINT = "`--paths memory` answers without it"


async def find_path_in_store(
    server_context: ServerContext,
    request: WebsiteRequest,
    from_screen: str,
    to_screen: str,
    *,
    avoid: PathExclusions | None = None,
    **asked: Any,
) -> ToolReply[PathSearchResult] | None:
    """See `ways.find_path`. None: the answer is in memory. Raises `SourceUnavailable`."""
    queries = server_context.engines.asked(request.view)
    if queries is None:
        return None

    async def ask(view: KnowledgeView) -> PathSearchResult:
        ends = require_screen(view, from_screen), require_screen(view, to_screen)
        return await find_paths_in_store(view, queries, *ends, avoid=avoid or NO_EXCLUSIONS, **asked)

    answer = await _answer_from_one_generation(server_context, request.view, ask)
    return ToolReply(answer, answer_text.render_paths(answer))


async def find_tasks_in_store(
    server_context: ServerContext,
    request: WebsiteRequest,
    screen_id: str,
    *,
    reach: bool,
    facts: KnownFacts | None,
    cursor: str | None,
) -> ToolReply[TaskList] | None:
    """See `work.find_tasks_for_screen`. None: the answer is in memory. Raises `SourceUnavailable`."""
    queries = server_context.engines.asked(request.view)
    if queries is None or not reach:
        return None

    async def ask(view: KnowledgeView) -> TaskList:
        finding = partial(find_paths_in_store, view, queries, facts=facts)
        return await anyio.to_thread.run_sync(
            lambda: screen_tasks.find_screen_tasks(
                view,
                require_screen(view, screen_id),
                reach=True,
                cursor=cursor,
                finding=lambda start, goal: anyio.from_thread.run(finding, start, goal),
            ),
            abandon_on_cancel=True,
        )

    answer = await _answer_from_one_generation(server_context, request.view, ask)
    return ToolReply(answer, answer_text.render_tasks(answer))


async def draw_part_in_store(
    server_context: ServerContext,
    request: WebsiteRequest,
    *,
    to_screen: str | None = None,
    from_screen: str | None = None,
    action_type: str | None = None,
    most_steps: int = reachability.MOST_STEPS,
) -> ToolReply[SiteMap] | None:
    """See `website_tools.get_site_map`. None: the answer is in memory. Raises `SourceUnavailable`."""
    queries = server_context.engines.asked(request.view)
    if queries is None or (to_screen is None and from_screen is None):
        return None

    async def ask(view: KnowledgeView) -> tuple[SiteMap, reachability.ReachQuestion]:
        for screen in filter(None, (to_screen, from_screen)):
            require_screen(view, screen)
        question = reachability.read_question(view, from_screen, to_screen, action_type, most_steps)
        assert question is not None  # noqa: S101 - a screen is given
        found = await queries.reachable_screens(
            view.website_id,
            int(view.generation),
            question.screen_id,
            inbound=question.direction == "to",
            action_type=question.action_type,
            hops=question.most_steps,
        )
        steps = {each.local_id: each.depth for each in found if each.local_id in view.knowledge.screens}
        return reachability.draw_part(view, question, steps), question

    answer, question = await _answer_from_one_generation(server_context, request.view, ask)
    return ToolReply(answer, site_map.render_part(answer, question.direction))


async def find_recovery_in_store(
    server_context: ServerContext,
    request: WebsiteRequest,
    *,
    screen_id: str | None = None,
    group_id: str | None = None,
    target_screen: str | None = None,
    facts: KnownFacts | None = None,
) -> ToolReply[RecoveryPaths] | None:
    """See `path_tools.find_global_recovery_paths`. None: the answer is in memory. Raises `SourceUnavailable`."""
    queries = server_context.engines.asked(request.view)
    if queries is None or screen_id is None or group_id is not None:
        return None

    async def ask(view: KnowledgeView) -> RecoveryPaths:
        for screen in filter(None, (screen_id, target_screen)):
            require_screen(view, screen)
        found = await queries.recovery_paths(view.website_id, int(view.generation), screen_id)
        known = view.knowledge.recoveries
        options = recovery_options.find_recovery_options(
            view,
            screen_id=screen_id,
            target_screen=target_screen,
            facts=facts,
            edges=[known[each.recovery_id] for each in found if each.recovery_id in known],
        )
        return RecoveryPaths(website_id=view.website_id, options=options)

    answer = await _answer_from_one_generation(server_context, request.view, ask)
    return ToolReply(answer, answer_text.render_recoveries(answer.options))


async def _answer_from_one_generation(
    server_context: ServerContext, view: KnowledgeView, ask: Callable[[KnowledgeView], Awaitable[T]]
) -> T:
    """An answer about a generation that was active from the question to the answer.

    An active generation is never collected, so what was answered is whole. Raises `SourceUnavailable`.
    """
    for _ in range(ATTEMPTS):
        answered: tuple[T] | None = None
        gone: NoSuchVertex | None = None
        try:
            answered = (await ask(view),)
        except NoSuchVertex as exc:
            gone = exc
        except StoreError as exc:
            raise SourceUnavailable(exc.message, hint=f"{exc.fix}; {MEMORY_HINT}") from exc
        now, _note = await server_context.open_request(view.website_id)
        if now.view.generation == view.generation:
            if answered is not None:
                return answered[0]
            raise SourceUnavailable(str(gone), hint=f"load the knowledge again; {MEMORY_HINT}") from gone
        view = now.view
    raise SourceUnavailable("knowledge was loaded during every attempt", hint="call again")
