"""`periplus init-agents`: write the files by which a coding agent uses Periplus."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from periplus.coding_agents.agent_files import FileState, list_files, write_file
from periplus.coding_agents.client_layouts import LAYOUTS, ClientLayout, CodingAgent
from periplus.coding_agents.server_entries import UnknownConfig, add_servers, describe_servers
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.server_sockets import parse_base_urls
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

_NOTES = {FileState.KEPT: "kept: it was written or edited by someone else; move it away to get ours"}


@app.command()
def init_agents(
    *,
    clients: Annotated[
        list[CodingAgent],
        typer.Option("--for", help="The coding agent; may be repeated.", show_default=False),
    ],
    folder: Annotated[
        Path,
        typer.Option("--dir", metavar="DIR", help="The project's folder.", show_default="the current one"),
    ] = Path(),
    command: Annotated[
        str, typer.Option(metavar="PATH", help="The command by which the client starts Periplus.")
    ] = "periplus",
    base_url: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WEBSITE=URL",
            help="A website's base URL, if it differs from the one in the knowledge base; may be repeated.",
        ),
    ] = None,
    data_dir: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Where the knowledge is, for the servers. Default: .periplus in the folder where the client "
            "starts them.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the MCP configuration, a skill and agent definitions (verify, record, map) for a coding agent.

    Example: [cyan]periplus init-agents --for claude[/]

    It may be repeated. Files and servers of the same name that someone wrote or edited are not changed; files
    that are as Periplus wrote them are updated.

    Exit codes: 0 done, 2 an error to correct, 4 a configuration could not be extended and is left as it is.
    """
    if not folder.is_dir():
        raise UserError(f"--dir {folder} is no folder", fix="create it, or name the project's folder")
    parse_base_urls(base_url or [])
    options = tuple(part for each in base_url or () for part in ("--base-url", each))
    console = CommandConsole()
    incomplete = False
    for client in dict.fromkeys(clients):
        layout = LAYOUTS[client]
        console.print(f"[bold]{layout.title}[/]")
        try:
            incomplete |= not _extend_config(console, folder, layout, command, options, data_dir)
            for path, text in list_files(layout):
                state = write_file(folder / path, text)
                _tell(console, path, _NOTES.get(state, state.value))
        except UnicodeDecodeError as exc:
            raise UserError(
                f"a file of {layout.title} is not UTF-8 text: {exc}", fix="save it as UTF-8"
            ) from exc
        except OSError as exc:
            raise UserError(
                f"{exc.filename or folder} cannot be written: {exc.strerror or exc}",
                fix="correct its mode or what is in its place, and run this again",
            ) from exc
        console.print(f"  next: {layout.next}", highlight=False, soft_wrap=True)
    if shutil.which(command) is None:
        console.print(
            f"[yellow]{escape(command)} is not on the path[/]: if the client does not find it either, name it with "
            "--command, after you removed the servers from the configuration",
            highlight=False,
            soft_wrap=True,
        )
    if incomplete:
        raise typer.Exit(ExitCode.PARTIAL)


def _extend_config(
    console: CommandConsole,
    folder: Path,
    layout: ClientLayout,
    command: str,
    options: tuple[str, ...],
    data_dir: str | None,
) -> bool:
    """Add the servers to the client's configuration. Returns whether that was possible."""
    path = folder / layout.config
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    entries = describe_servers(layout, command, options, data_dir and str(Path(data_dir).resolve()))
    try:
        found = add_servers(layout, before, entries)
    except UnknownConfig as exc:
        _tell(console, layout.config, f"left as it is, {exc.reason}; add this by hand:")
        console.print(escape(exc.entries), highlight=False, soft_wrap=True)
        return False
    if found.added:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found.text, encoding="utf-8")
    said = [f"added {', '.join(found.added)}"] if found.added else []
    said += [f"kept {', '.join(found.kept)}, which has another entry"] if found.kept else []
    _tell(console, layout.config, "; ".join(said) or FileState.UNCHANGED.value)
    return True


def _tell(console: CommandConsole, path: str, what: str) -> None:
    console.print(f"  [cyan]{escape(path)}[/]: {escape(what)}", highlight=False, soft_wrap=True)
