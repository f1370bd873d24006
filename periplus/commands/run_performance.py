"""Performs what `periplus run` was asked for: a run, a resumed one, an undo, or a plan that is only shown.

The command imports it when its arguments and the stored task are known to be in order, while the browser starts.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape

from periplus.errors import UserError
from periplus.language_model import load_inferencer
from periplus.output_folder import open_output_folder
from periplus.run_store_adapters import LAST, find_run
from periplus.runs.begun_run import check_last_run_recorded, note_begun_run
from periplus.runs.run_checks import check_run_request
from periplus.runs.run_plan import RunPlan, build_run_plan, print_run_plan
from periplus.runs.run_undo import UndoReport, print_undo_report, undo_run
from periplus.runs.task_runs import (
    Browsers,
    TaskRunRequest,
    TaskRunResources,
    build_resume_request,
    execute_task_run,
)
from periplus.session_setup.browser_ahead import BrowserAhead, browser_ahead
from periplus.settings import load_settings
from periplus.terminal.live_view import RunLiveView, find_terminal_prompts
from periplus.website_selection import list_websites, select_website

if TYPE_CHECKING:
    from kb_schema.run_records import RunResult
    from kb_store import Stores
    from kb_store.runs.run_store import RunStore
    from periplus.commands.run_options import RunOptions, StoreContexts

__all__ = ["perform_run", "print_undo_report", "show_plan", "undo_last_or_named"]


def show_plan(
    asked: RunOptions, opening: AbstractAsyncContextManager[Stores], console: Console, *, as_json: bool
) -> None:
    """Print what would be run. Raises `UserError` for a run that exists already."""
    if asked.resume is not None or asked.undo is not None:
        raise UserError(
            "--plan is for new runs", fix="leave out --resume and --undo; `periplus runs show RUN`"
        )

    async def build() -> RunPlan:
        async with opening as stores:
            website_id = select_website(asked.website, await list_websites(stores))
            return await build_run_plan(
                TaskRunRequest(website_id, asked.task, goal=asked.goal, values=asked.values), stores
            )

    found = asyncio.run(build())
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        print_run_plan(console, found)


async def _build_run_request(asked: RunOptions, stores: Stores, runs: RunStore) -> TaskRunRequest:
    """Return what to run. Raises `UserError` for an unknown website or run."""
    if asked.resume is not None:
        if asked.resume == LAST:
            await check_last_run_recorded(load_settings().data_dir, runs)
        resumed = build_resume_request(
            await find_run(runs, asked.resume),
            base_url=asked.base_url,
            values=asked.values,
            decided=asked.decided,
            goal=asked.goal,
        )
        return replace(
            resumed, step_timeout_s=asked.step_timeout_s, objective=asked.objective, allowed=asked.allowed
        )
    known = await list_websites(stores)
    website_id = select_website(asked.website, known)
    return TaskRunRequest(
        website_id,
        asked.task,
        goal=asked.goal,
        base_url=asked.base_url,
        values=asked.values,
        step_timeout_s=asked.step_timeout_s,
        objective=asked.objective,
        allowed=asked.allowed,
        job=asked.job,
    )


async def perform_run(
    asked: RunOptions, folder: Path, console: Console, opened: tuple[Stores, RunStore], browser: BrowserAhead
) -> RunResult:
    """Check what was asked for, run it and return its result. Raises `UserError` for what cannot be run."""
    stores, runs = opened
    run_request = await _build_run_request(asked, stores, runs)
    view = RunLiveView(console, f"{run_request.website_id}: {run_request.subject}")
    resources = _build_run_resources(asked, opened, browser.open, folder, view, console)
    if not run_request.carries_on:
        run_request = await check_run_request(run_request, stores, resources.asker)
        note_begun_run(load_settings().data_dir, run_request.run_id, run_request.subject)
    with open_output_folder(folder), view:
        return await execute_task_run(run_request, resources)


async def undo_last_or_named(
    asked: RunOptions, folder: Path, console: Console, store_contexts: StoreContexts
) -> UndoReport:
    """Undo the run that was named, or the last one."""
    opening, run_store = store_contexts
    async with opening as stores, run_store as runs, browser_ahead(asked.browser) as browser:
        run = await find_run(runs, asked.undo or LAST, but=frozenset({"undo"}))
        title = f"{run.website_id}: undoing {run.subject}"
        with open_output_folder(folder), RunLiveView(console, title) as view:
            resources = _build_run_resources(asked, (stores, runs), browser.open, folder, view, console)
            return await undo_run(run, resources, base_url=asked.base_url, values=asked.values)


def _build_run_resources(
    asked: RunOptions,
    opened: tuple[Stores, RunStore],
    browsers: Browsers,
    folder: Path,
    view: RunLiveView,
    console: Console,
) -> TaskRunResources:
    def note(text: str) -> None:
        console.print(f"[yellow]{escape(text)}[/]", soft_wrap=True)

    return TaskRunResources(
        *opened,
        browsers,
        folder,
        asker=find_terminal_prompts(view),
        listeners=[view],
        note=note,
        model=asked.opened or load_inferencer("plan", asked.model),
        page_text=asked.page_text,
        pictures=asked.pictures,
        playwright_trace=asked.trace,
    )
