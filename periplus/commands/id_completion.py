"""Completion of ids on the command line: websites, tasks, screens, flows, workflows and runs of the selected stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import typer

from periplus.run_store_adapters import LAST, open_run_store
from periplus.store_selection import open_selected_stores
from periplus.website_selection import list_websites

if TYPE_CHECKING:
    from kb_schema import KnowledgeBase

MOST_RUNS = 50


def complete_websites(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of websites that begin with the typed text."""

    async def read() -> list[str]:
        async with open_selected_stores(*_get_urls(ctx)) as stores:
            return await list_websites(stores)

    return _complete(read, incomplete)


def complete_tasks(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of tasks and workflows that begin with the typed text."""
    return _complete_knowledge(ctx, incomplete, lambda knowledge: {**knowledge.tasks, **knowledge.workflows})


def complete_workflows(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of workflows that begin with the typed text."""
    return _complete_knowledge(ctx, incomplete, lambda knowledge: knowledge.workflows)


def complete_screens(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of screens that begin with the typed text."""
    return _complete_knowledge(ctx, incomplete, lambda knowledge: knowledge.screens)


def complete_runs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of recent runs that begin with the typed text."""

    async def read() -> list[str]:
        async with open_run_store(_get_urls(ctx)[0]) as store:
            return [LAST, *(run.run_id for run in await store.runs(website_id=None, limit=MOST_RUNS))]

    return _complete(read, incomplete)


def _complete_knowledge(
    ctx: typer.Context, incomplete: str, get_ids: Callable[[KnowledgeBase], Iterable[str]]
) -> list[str]:
    async def read() -> list[str]:
        async with open_selected_stores(*_get_urls(ctx)) as stores:
            wanted = ctx.params.get("website")
            from kb_store import read_knowledge  # noqa: PLC0415 - decision 0140

            found: set[str] = set()
            for website_id in [wanted] if wanted else await list_websites(stores):
                knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
                found.update(get_ids(knowledge))
            return sorted(found)

    return _complete(read, incomplete)


def _complete(read: Callable[[], Any], incomplete: str) -> list[str]:
    """Return what is read and begins with the typed text. A store that cannot be read completes nothing."""
    try:
        found: list[str] = asyncio.run(read())
    except Exception:  # noqa: BLE001 - the outermost boundary: a message would end up in the typed line
        return []
    return [each for each in found if each.startswith(incomplete)]


def _get_urls(ctx: typer.Context) -> tuple[str | None, str | None]:
    return ctx.params.get("mongodb_url"), ctx.params.get("arangodb_url")
