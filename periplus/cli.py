"""The `periplus` command. Sub-commands are imported only when they are used."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from periplus import __version__


@dataclass(frozen=True, slots=True)
class Lazy:
    """A sub-command: the module whose `app` it is, and its line in `periplus --help`."""

    module: str
    help: str


COMMANDS: dict[str, Lazy] = {
    # One line per command, in the order in which `periplus --help` shows them.
    "demo": Lazy("periplus.commands.demo", "Watch a narrated demo in a real browser."),
    "rooms": Lazy("periplus.commands.rooms", "Give demos in LiveKit rooms, to visitors who may interrupt."),
    "run": Lazy("periplus.commands.run", "Do a task in a real browser."),
    "collect": Lazy(
        "periplus.commands.collect", "Do a task once for each row of a file; a trace of each run."
    ),
    "runs": Lazy("periplus.commands.runs", "What was run, how it came out, and what it left."),
    "map": Lazy("periplus.commands.map", "Explore a website: its knowledge base, drawn from what is seen."),
    "record": Lazy("periplus.commands.record", "Work through a site by hand; each pass becomes a trace."),
    "learn": Lazy("periplus.commands.learn", "Sorted pages or sessions become screens that are known again."),
    "import": Lazy("periplus.commands.import_", "Turn recordings of other tools into traces."),
    "synthesize": Lazy("periplus.commands.synthesize", "Traces of one task become one workflow."),
    "snapshot": Lazy("periplus.commands.snapshot", "Store a page, to check signatures against."),
    "verify": Lazy(
        "periplus.commands.verify", "Requirements become verified tests, and verdicts on a live site."
    ),
    "optimize": Lazy(
        "periplus.commands.optimize", "Mend a pytest-playwright suite whose locators have drifted."
    ),
    "mcp": Lazy("periplus.commands.mcp", "Serve the knowledge base to any MCP client."),
    "serve": Lazy(
        "periplus.commands.serve", "The console: maps, runs, proposals, demos; with it the HTTP API and MCP."
    ),
    "kb": Lazy("periplus.commands.kb", "Knowledge bases: check, load, export and compare them."),
}


class _LazyGroup(TyperGroup):
    """Lists `COMMANDS` without importing them; imports the one that is run."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        lazy = COMMANDS.get(cmd_name)
        if lazy is None:
            return super().get_command(ctx, cmd_name)
        return typer.core.TyperCommand(cmd_name, help=lazy.help)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS:
            module = importlib.import_module(COMMANDS[name].module)
            command = typer.main.get_command(module.app)
            command.name = name
        return name, command, rest


app = typer.Typer(
    name="periplus",
    cls=_LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"periplus {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[  # noqa: ARG001 - it is done with by the time one gets here
        bool,
        typer.Option("--version", help="Show the version and stop.", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    """A knowledge base of a web application, and a guide that sails by it.

    Begin with `periplus demo spadeworks`; with a site of your own, `periplus map URL` and `periplus serve`.
    """
    if any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ):
        from periplus import telemetry  # noqa: PLC0415 - not needed where nobody asks for spans

        telemetry.set_up()


def main(args: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    command = typer.main.get_command(app)
    try:
        command.main(args=args, prog_name="periplus")
    except (Exception, KeyboardInterrupt) as exc:  # noqa: BLE001 - the outermost boundary of the process
        from rich.console import Console  # noqa: PLC0415 - not needed when all is well

        from periplus.errors import report  # noqa: PLC0415

        sys.exit(report(exc, Console(stderr=True)))
