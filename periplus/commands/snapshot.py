"""`periplus snapshot`: store one page for `periplus kb check`."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError
from rich.markup import escape

from agent.page.errors import PageError
from agent.page.snapshot_capture import take_snapshot
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.snapshot_folder import write_snapshot
from kb_schema.url_patterns import origin_of
from periplus.errors import UserError
from periplus.session_setup import open_browser_context
from periplus.terminal.command_console import CommandConsole

QUIET_WITHIN_MS = 5_000
"""Time to wait for pending requests after the page has loaded."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def snapshot(
    url: Annotated[str, typer.Argument(help="The page's address.", show_default=False)],
    *,
    out: Annotated[Path, typer.Option("--out", metavar="DIR/NAME", help="Write NAME.html and NAME.json.")],
    storage_state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A Playwright storage state (cookies, local storage, IndexedDB) to start with.",
        ),
    ] = None,
    headed: Annotated[
        bool,
        typer.Option("--headed", help="Show the browser: navigate to the page yourself, then press Enter."),
    ] = False,
) -> None:
    """Store one page with its visible elements and the values of its fields.

    Example: [cyan]periplus snapshot https://app.example.com/login --out pages/login[/]

    Passwords are left out. An existing snapshot with the same name is replaced.
    """
    if not origin_of(url).startswith(("http://", "https://")):
        raise UserError(f"{url} is not a web address", fix="start it with http:// or https://")
    state = None if storage_state is None else _state(storage_state)
    taken = asyncio.run(_take_snapshot(url, state, headed=headed))
    try:
        page, _ = write_snapshot(taken, out)
    except OSError as exc:
        raise UserError(
            f"{out} cannot be written: {exc.strerror or exc}", fix="name another place with --out"
        ) from exc
    CommandConsole().print(
        f"[green]wrote[/] {escape(str(page))} and its .json: {escape(taken.title or taken.url)}",
        soft_wrap=True,
        highlight=False,
    )


def _state(file: Path) -> Path:
    try:
        json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise UserError(
            f"--storage-state {file} is not a storage state: {exc}",
            fix="save one with Playwright's storage_state(path=...)",
        ) from exc
    return file


async def _take_snapshot(url: str, state: Path | None, *, headed: bool) -> PageSnapshot:
    async with open_browser_context(headed=headed) as context:
        try:
            return await _visit_page(context, url, state, headed=headed)
        except (PageError, PlaywrightError) as exc:
            reason = next(iter(str(exc).splitlines()), type(exc).__name__)
            raise UserError(
                f"{url} could not be stored: {reason}", fix="check that the page opens in a browser"
            ) from exc


async def _visit_page(context: BrowserContext, url: str, state: Path | None, *, headed: bool) -> PageSnapshot:
    if state is not None:
        await context.set_storage_state(state)
    page = await context.new_page()
    await page.goto(url)
    if headed:
        CommandConsole(stderr=True).print("navigate to the page to store, then press Enter here")
        await asyncio.to_thread(sys.stdin.readline)
    with suppress(PlaywrightError):
        await page.wait_for_load_state("networkidle", timeout=QUIET_WITHIN_MS)
    return await take_snapshot(page)
