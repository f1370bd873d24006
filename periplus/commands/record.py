"""`periplus record`: record a person's actions in a browser as a trace."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agent.browser.browser_life import is_alive
from agent.browser.browser_profile import VIEWPORT
from agent.browser.launch import has_display
from agent.browser.storage_state import open_with_session
from agent.errors import AgentError
from agent.page import in_page_library
from agent.page.live_selectors import summarize_selector
from agent.page.page_watchdog import close_context, watch_context
from agent.recording.demonstration_recorder import DemonstrationRecorder, DemonstrationRecording
from agent.recording.recorded_actions import RecordedAction
from agent.recording.recording_replay import ReplayResult, replay_recording
from agent.run_context import RunContext
from kb_schema import KnowledgeError
from kb_schema.action_calls import DropPlace
from kb_schema.session_reader import MANIFEST
from kb_schema.url_patterns import origin_of
from kb_store import Stores
from kb_store.errors import StoreError
from periplus.commands.command_options import (
    AllowRemoteCdp,
    CdpEndpoint,
    Channel,
    ProxyServer,
    UserDataDir,
)
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.recorded_websites import ensure_website
from periplus.session_setup import BrowserOptions, open_working_context, start_browser
from periplus.signals import on_signals
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def record(
    url: Annotated[str, typer.Argument(help="The page to open first.", show_default=False)],
    *,
    name: Annotated[str, typer.Option(help="A name for the demonstrated task.")] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder for the trace; it must not contain one yet.",
            show_default="out/traces/...",
        ),
    ] = None,
    cdp_endpoint: CdpEndpoint = None,
    allow_remote_cdp: AllowRemoteCdp = False,
    user_data_dir: UserDataDir = None,
    channel: Channel = None,
    proxy_server: ProxyServer = None,
    storage_state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A Playwright storage state (cookies, local storage, IndexedDB) to start with.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Replay the recording at once in a new browser context.")
    ] = False,
    website: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The website's id, if it is new; default: from its domain."),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret",
            metavar="NAME",
            help="A field that holds a secret, by its id, name or label; may be repeated. Passwords, codes and card"
            " numbers are recognised.",
        ),
    ] = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Open a browser and record your actions until you close it.

    Example: [cyan]periplus record https://app.example.com --name "Add an agent" --check[/]

    Records clicks, typing, selections, keys, uploads and navigation, with the page before and after each
    action, also in frames and new tabs. Passwords are never stored. Demonstrate the same task at least
    three times with different data, then run [cyan]periplus synthesize[/]. A website that the knowledge
    base does not have is added to it with its address.

    With --cdp-endpoint a tab of your running Chrome is opened and recorded, and the tabs that it opens; others are not
    looked at. Close it to finish.
    """
    if not origin_of(url).startswith(("http://", "https://")):
        raise UserError(f"{url} is not a web address", fix="start it with http:// or https://")
    if storage_state is not None and not storage_state.is_file():
        raise UserError(
            f"--storage-state {storage_state} does not exist",
            fix="save one with Playwright's storage_state(path=...)",
        )
    chosen = BrowserOptions(
        cdp_endpoint, allow_remote_cdp, user_data_dir, channel, storage_state, proxy_server, None
    )
    chosen.check()
    if check and (chosen.given or user_data_dir is not None):
        raise UserError(
            "--check replays the recording in a new browser context, which has not your session",
            fix="leave --check out; `periplus synthesize` validates",
        )
    if not chosen.given and not has_display():
        raise UserError(
            "no display to show the browser on",
            fix="use a machine with a display, xvfb-run, or --cdp-endpoint with a Chrome that runs with --headless=new",
        )
    folder = out or Path("out") / "traces" / f"{_slugify(name)}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    if (folder / MANIFEST).exists():
        raise UserError(f"{folder} already contains a trace", fix="name another folder with --out")
    console = CommandConsole()
    recording, replayed = asyncio.run(
        _record(url, name, folder, console, chosen, check=check, secrets=secret or ())
    )
    _print_recording(console, recording)
    if recording.done:
        asyncio.run(
            _add_recorded_website(console, open_selected_stores(mongodb_url, arangodb_url), website, url)
        )
    if replayed is not None:
        _print_replay(console, replayed)
    if recording.failure is not None or (replayed is not None and not replayed.succeeded):
        raise typer.Exit(ExitCode.FAILED)


def _slugify(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-").lower()[:40] or "trace"


async def _record(
    url: str,
    name: str,
    folder: Path,
    console: Console,
    chosen: BrowserOptions,
    *,
    check: bool,
    secrets: Collection[str],
) -> tuple[DemonstrationRecording, ReplayResult | None]:
    def print_action(action: RecordedAction) -> None:
        console.print(f"  {escape(describe_recorded_step(action))}", highlight=False, soft_wrap=True)

    def print_problem(problem: str) -> None:
        console.print(f"  [yellow]{escape(problem)}[/]", highlight=False, soft_wrap=True)

    headed = None if chosen.given else True
    async with open_working_context(replace(chosen, headed=headed), for_person=True) as context:
        browser, storage = context.browser, chosen.storage_state
        recorder = DemonstrationRecorder(
            context,
            folder,
            context=RunContext(),
            name=name,
            secrets=secrets,
            on_action=print_action,
            on_problem=print_problem,
        )
        await recorder.start()
        if browser is not None:
            browser.on("disconnected", lambda _: recorder.closed.set())
        ending = "the tab" if chosen.given else "the browser"
        console.print(
            f"[bold]recording[/] to {escape(str(folder))}; close {ending} to finish", soft_wrap=True
        )
        try:
            page = await context.new_page()
            await page.goto(
                url, wait_until="commit"
            )  # the page may show a dialog that only the person can answer
        except PlaywrightError as exc:
            await recorder.finish(complete=False)
            raise UserError(
                f"{url} does not open: {exc.message.splitlines()[0]}",
                fix="check the address and that the site is running",
            ) from exc
        complete, stop_requested = False, asyncio.Event()

        def end() -> None:
            stop_requested.set()
            recorder.closed.set()

        try:
            with on_signals(end, signal.SIGTERM):
                await recorder.closed.wait()
            complete = not stop_requested.is_set()
        finally:
            recording = await recorder.finish(complete=complete)
        await close_context(context)
        check = check and complete and recording.failure is None
        if not check or browser is None or not is_alive(browser):
            return recording, None if not check else await _replay_recording(recording, storage)
        return recording, await _replay_in_browser(browser, recording, storage)


async def _replay_recording(recording: DemonstrationRecording, storage: Path | None) -> ReplayResult:
    async with start_browser(headed=True) as browser:
        return await _replay_in_browser(browser, recording, storage)


async def _replay_in_browser(
    browser: Browser, recording: DemonstrationRecording, storage: Path | None
) -> ReplayResult:
    context = await open_with_session(
        browser, storage, viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]}
    )
    try:
        watch_context(context)
        await in_page_library.install(context)
        return await replay_recording(context, recording.actions)
    finally:
        await close_context(context)


def describe_recorded_step(action: RecordedAction) -> str:
    """Return an action as one line, without secrets."""
    said = "" if action.seen is None else f" {action.seen.said}"
    value = action.args.get("value", action.args.get("url"))
    told = f"{action.action_type}{said}" + ("" if value is None else f": {value}")
    if action.what is not None and action.what.modifiers:
        told += f" ({'+'.join(action.what.modifiers)} held down)"
    if "place" in action.args:
        told += " at {} %, {} %".format(*(round(100 * each) for each in action.args["place"]))
    if action.seen is not None and action.seen.drop is not None:
        told += f" to {_describe_drop(action.seen.drop)}"
    beside = action.beside
    if beside.dialog is not None:
        told += f" ({'yes' if beside.dialog.accept else 'no'} to the dialog)"
    if beside.download is not None:
        told += f" (downloads {beside.download})"
    return told if beside.opened is None else f"{told} (opens another tab)"


def _describe_drop(drop: DropPlace) -> str:
    across, down = (round(100 * each) for each in drop.at)
    return f"{summarize_selector(drop.target)} at {across} %, {down} %"


def _print_recording(console: Console, recording: DemonstrationRecording) -> None:
    secret = sum(action.secret is not None for action in recording.actions)
    navigations, failure = len(recording.actions) - recording.done, recording.failure
    told = [
        f"actions: {recording.done}, navigations: {navigations}, presses of buttons and keys seen: {recording.presses}",
        *([f"{secret} with a secret that was not stored"] if secret else []),
        *([f"{recording.ignored} without a target, left out"] if recording.ignored else []),
    ]
    color = "green" if failure is None else "red"
    console.print(
        f"[{color}]{escape(str(recording.folder))}[/]: {', '.join(told)}", soft_wrap=True, highlight=False
    )
    for problem in recording.problems:
        console.print(f"  [yellow]{escape(problem)}[/]", soft_wrap=True, highlight=False)
    if failure is not None:
        fix = (
            "the lines above say what is missing"
            if recording.lost and recording.cut_off is None
            else "what was done until then is in the folder; record the task again"
            if recording.cut_off is not None
            else "do the task in the tab that `record` opened, then close it"
        )
        console.print(
            f"[red]not a recording of a task[/]: {escape(failure)}\n  -> {fix}",
            soft_wrap=True,
            highlight=False,
        )


async def _add_recorded_website(
    console: Console, opening: AbstractAsyncContextManager[Stores], website: str | None, url: str
) -> None:
    """Add the website to the knowledge base, if it is not there. The recording is kept if that fails."""
    try:
        async with opening as stores:
            website_id, added = await ensure_website(stores, url, website)
    except (StoreError, KnowledgeError, AgentError, UserError) as exc:
        told = f"the website was not added to the knowledge base: {exc}"
        console.print(f"  [yellow]{escape(told)}[/]", soft_wrap=True, highlight=False)
        return
    if added:
        console.print(
            f"[green]added[/] the website {escape(website_id)} ({escape(origin_of(url))}) to the knowledge base",
            soft_wrap=True,
            highlight=False,
        )


def _print_replay(console: Console, replayed: ReplayResult) -> None:
    failure = replayed.failure
    differing = sum(step.difference is not None for step in replayed.steps)
    if differing or failure is not None:
        console.print(make_replay_table(replayed))
    if failure is None:
        told = f"; after {differing} of them the page was another" if differing else ""
        console.print(f"[green]replayed[/]: all {replayed.total} actions{told}", highlight=False)
        return
    console.print(
        f"[red]action {failure.number} of {replayed.total} could not be replayed[/]: "
        f"{escape(describe_recorded_step(failure.action))}\n  {escape(failure.error or '')}",
        soft_wrap=True,
        highlight=False,
    )


def make_replay_table(replayed: ReplayResult) -> Table:
    """Return a row for each step: in words, and in what the page after it was another than in the recording."""
    table = Table("", "step", "recorded", "repeated", box=None)
    for step in replayed.steps:
        difference = step.difference
        sides = ("", "as recorded") if difference is None else (difference.recorded, difference.repeated)
        if step.error is not None:
            sides = ("done", step.error)
        told = (str(step.number), describe_recorded_step(step.action), *sides)
        table.add_row(*map(escape, told), style=None if sides[1] == "as recorded" else "yellow")
    return table
