"""Tools whose answer the graph database has, where this server asks it about paths (`engines`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import anyio.from_thread
import anyio.to_thread

from kb_schema.answers import Paths, TaskList
from kb_store.errors import StoreError
from kb_store.graph_queries import NoSuchVertex
from mcp_server import near, rendering
from mcp_server.compiled import View
from mcp_server.desk import Desk
from mcp_server.errors import SourceDown
from mcp_server.foresight import Known
from mcp_server.paths import NOTHING, Avoid
from mcp_server.store_paths import find_paths_in_store
from mcp_server.tools.parameters import screen_of
from mcp_server.tools.reply import Reply, Visit

T = TypeVar("T")

ATTEMPTS = 3
"""Times a question begins again because other knowledge was loaded meanwhile."""
WITHOUT = "`--paths memory` answers without it"


async def find_path(
    desk: Desk,
    visit: Visit,
    from_screen: str,
    to_screen: str,
    *,
    avoid: Avoid | None = None,
    **asked: Any,
) -> Reply[Paths] | None:
    """See `ways.find_path`. None: the answer is in memory. Raises `SourceDown`."""
    queries = desk.engines.asked(visit.view)
    if queries is None:
        return None

    async def ask(view: View) -> Paths:
        ends = screen_of(view, from_screen), screen_of(view, to_screen)
        return await find_paths_in_store(view, queries, *ends, avoid=avoid or NOTHING, **asked)

    answer = await _of_one_generation(desk, visit.view, ask)
    return Reply(answer, rendering.paths(answer))


async def find_tasks_for_screen(
    desk: Desk,
    visit: Visit,
    screen_id: str,
    *,
    reach: bool,
    facts: Known | None,
    cursor: str | None,
) -> Reply[TaskList] | None:
    """See `work.find_tasks_for_screen`. None: the answer is in memory. Raises `SourceDown`."""
    queries = desk.engines.asked(visit.view)
    if queries is None or not reach:
        return None

    async def ask(view: View) -> TaskList:
        finding = partial(find_paths_in_store, view, queries, facts=facts)
        return await anyio.to_thread.run_sync(
            lambda: near.tasks_for_screen(
                view,
                screen_of(view, screen_id),
                reach=True,
                cursor=cursor,
                finding=lambda start, goal: anyio.from_thread.run(finding, start, goal),
            ),
            abandon_on_cancel=True,
        )

    answer = await _of_one_generation(desk, visit.view, ask)
    return Reply(answer, rendering.tasks(answer))


async def _of_one_generation(desk: Desk, view: View, ask: Callable[[View], Awaitable[T]]) -> T:
    """An answer about a generation that was active from the question to the answer.

    An active generation is never collected, so what was answered is whole. Raises `SourceDown`.
    """
    for _ in range(ATTEMPTS):
        answered: tuple[T] | None = None
        gone: NoSuchVertex | None = None
        try:
            answered = (await ask(view),)
        except NoSuchVertex as exc:
            gone = exc
        except StoreError as exc:
            raise SourceDown(exc.message, hint=f"{exc.fix}; {WITHOUT}") from exc
        now, _note = await desk.visit(view.website_id)
        if now.view.generation == view.generation:
            if answered is not None:
                return answered[0]
            raise SourceDown(str(gone), hint=f"load the knowledge again; {WITHOUT}") from gone
        view = now.view
    raise SourceDown("other knowledge was loaded every time one looked", hint="ask again")
