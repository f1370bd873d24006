"""`periplus record`: work through a site by hand; each pass becomes a trace."""

from __future__ import annotations

import asyncio
import re
import signal
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from playwright.async_api import Browser, Dialog
from playwright.async_api import Error as PlaywrightError
from rich.console import Console
from rich.markup import escape

from agent.browser.launch import has_display
from agent.context import Context
from agent.page import library
from agent.recording.merging import Action
from agent.recording.recorder import Recorder, Recording
from agent.recording.replaying import Replay, replay
from kb_schema.sessions import MANIFEST
from kb_schema.urls import origin_of
from periplus.errors import UserError
from periplus.signals import on_signals
from periplus.voyage import VIEWPORT, started_browser

EXIT_FAILED = 1

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def record(
    url: Annotated[str, typer.Argument(help="Where to begin.", show_default=False)],
    *,
    name: Annotated[str, typer.Option(help="What is being shown, in words.")] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the trace goes: a folder that holds none yet.",
            show_default="out/traces/...",
        ),
    ] = None,
    storage_state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Cookies and storage to begin with, as Playwright saves them."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Do it again at once, in a browser that knows nothing of it.")
    ] = False,
    headed: Annotated[
        bool | None,
        typer.Option("--headed/--headless", help="Show the browser: there is little to record without."),
    ] = None,
) -> None:
    """Open a browser and write down what you do in it, until you close it.

    Example: [cyan]periplus record https://app.example.com --name "Add an agent" --check[/]

    Clicks, typing, choices, keys, files and addresses are recorded with the page before and after, in
    frames and new tabs, too. What is typed into password fields is never stored. Show the same task
    three times or more, with other data, then [cyan]periplus synthesize[/].
    """
    if not origin_of(url).startswith(("http://", "https://")):
        raise UserError(f"{url} is no address of a page", fix="write it with http:// or https://")
    if storage_state is not None and not storage_state.is_file():
        raise UserError(
            f"{storage_state} is not there", fix="save one with Playwright's storage_state(path=...)"
        )
    if headed is None and not has_display():
        raise UserError(
            "there is no display to show a browser on",
            fix="record where there is one (or with xvfb-run); --headless records what a script does",
        )
    folder = out or Path("out") / "traces" / f"{_plain(name)}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    if (folder / MANIFEST).exists():
        raise UserError(f"{folder} holds a trace already", fix="name another folder with --out")
    console = Console()
    recording, replayed = asyncio.run(
        _record(url, name, folder, console, storage_state, headed=headed is not False, check=check)
    )
    _tell(console, recording)
    if replayed is not None:
        _tell_replay(console, replayed)
        if not replayed.succeeded:
            raise typer.Exit(EXIT_FAILED)


def _plain(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-").lower()[:40] or "trace"


async def _record(
    url: str, name: str, folder: Path, console: Console, storage: Path | None, *, headed: bool, check: bool
) -> tuple[Recording, Replay | None]:
    def told(action: Action) -> None:
        console.print(f"  {escape(described(action))}", highlight=False, soft_wrap=True)

    async with started_browser(headed=headed) as browser:
        context = await browser.new_context(no_viewport=headed, storage_state=storage)
        if headed:
            context.on("dialog", _left_to_the_person)
        recorder = Recorder(context, folder, context=Context(), name=name, on_action=told)
        await recorder.start()
        browser.on("disconnected", lambda _: recorder.closed.set())
        console.print(
            f"[bold]recording[/] to {escape(str(folder))}; close the browser to end it", soft_wrap=True
        )
        try:
            page = await context.new_page()
            await page.goto(url, wait_until="commit")  # it may have a question that only the person answers
        except PlaywrightError as exc:
            await recorder.finish(complete=False)
            raise UserError(
                f"{url} does not open: {exc.message.splitlines()[0]}", fix="see that it does"
            ) from exc
        complete, told_to_end = False, asyncio.Event()

        def end() -> None:
            told_to_end.set()
            recorder.closed.set()

        try:
            with on_signals(end, signal.SIGTERM):
                await recorder.closed.wait()
            complete = not told_to_end.is_set()
        finally:
            recording = await recorder.finish(complete=complete)
        with suppress(PlaywrightError):
            await context.close()
        check = check and complete
        if not check or not browser.is_connected():
            return recording, None if not check else await _checked_anew(recording, storage, headed=headed)
        return recording, await _checked(browser, recording, storage)


def _left_to_the_person(_dialog: Dialog) -> None:
    """Without a listener the driver answers every question with no."""


async def _checked_anew(recording: Recording, storage: Path | None, *, headed: bool) -> Replay:
    async with started_browser(headed=headed) as browser:
        return await _checked(browser, recording, storage)


async def _checked(browser: Browser, recording: Recording, storage: Path | None) -> Replay:
    context = await browser.new_context(
        viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]}, storage_state=storage
    )
    try:
        await library.install(context)
        return await replay(context, recording.actions)
    finally:
        await context.close()


def described(action: Action) -> str:
    """An action in one line, without secrets."""
    said = "" if action.seen is None else f" {action.seen.said}"
    value = action.args.get("value", action.args.get("url"))
    told = f"{action.action_type}{said}" + ("" if value is None else f": {value}")
    beside = action.beside
    if beside.dialog is not None:
        told += f" ({'yes' if beside.dialog.accept else 'no'} to the question)"
    if beside.download is not None:
        told += f" (downloads {beside.download})"
    return told if beside.opened is None else f"{told} (opens another tab)"


def _tell(console: Console, recording: Recording) -> None:
    secret = sum(action.secret is not None for action in recording.actions)
    told = [f"{len(recording.actions)} actions", *([f"{secret} with a secret, left out"] if secret else []),
            *([f"{recording.ignored} that hit nothing, left out"] if recording.ignored else [])]  # fmt: skip
    console.print(
        f"[green]{escape(str(recording.folder))}[/]: {', '.join(told)}", soft_wrap=True, highlight=False
    )
    for problem in recording.problems:
        console.print(f"  [yellow]{escape(problem)}[/]", soft_wrap=True, highlight=False)


def _tell_replay(console: Console, replayed: Replay) -> None:
    failure = replayed.failure
    if failure is None:
        console.print(f"[green]done again[/]: all {replayed.total} actions", highlight=False)
        return
    console.print(
        f"[red]action {failure.number} of {replayed.total} could not be done again[/]: "
        f"{escape(described(failure.action))}\n  {escape(failure.error or '')}",
        soft_wrap=True,
        highlight=False,
    )
