"""`periplus install`: fetch Chromium with Playwright, and say which other programs help."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Annotated

import typer
from rich.markup import escape

from agent.browser.launch import ENV_CHROMIUM, find_chromium
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.extras import EXTRAS, is_installed
from periplus.installation_checks import describe_program_installation
from periplus.terminal.command_console import CommandConsole

PROGRAMS = {
    "ffmpeg": "films and sound",
    "espeak-ng": "the voice of demos; without it there are captions only",
}
"""Program -> what it is needed for."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
out = CommandConsole()


@app.command()
def install(
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Fetch Playwright's Chromium also if a browser was found.")
    ] = False,
) -> None:
    """Fetch Chromium with Playwright if there is none, and list what else helps: programs and extras.

    [bold]periplus install[/]

    Nothing is installed besides the browser; the programs are named with the command for your system.
    """
    found = None if force else find_chromium()
    if found is None:
        _fetch_chromium()
        found = find_chromium()
    if found is None:
        raise UserError(
            "Playwright fetched no Chromium that starts here",
            fix=f"install Chromium or Chrome, or set {ENV_CHROMIUM}=/path/to/chromium",
            code=ExitCode.FAILED,
        )
    _say("Chromium", found, "")
    for program, use in PROGRAMS.items():
        _say(program, shutil.which(program), f"{describe_program_installation(program)} ({use})")
    for extra, modules in EXTRAS.items():
        missing = [module for module in modules if not is_installed(module)]
        _say(f"extra {extra}", None if missing else "installed", f"pip install 'periplus[{extra}]'")


def _fetch_chromium() -> None:
    """Run Playwright's installer with its own output. Raises `UserError` if it fails."""
    done = subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if done.returncode:
        raise UserError(
            f"Playwright could not fetch Chromium (exit code {done.returncode}; its message is above)",
            fix=f"check the network, or install Chromium or Chrome and set {ENV_CHROMIUM}=/path/to/chromium",
            code=ExitCode.FAILED,
        )


def _say(name: str, found: str | None, missing: str) -> None:
    mark, text = ("[green]found  [/]", found) if found else ("[yellow]missing[/]", missing)
    out.print(f"{mark} {name:<18} {escape(text)}", highlight=False, soft_wrap=True)
