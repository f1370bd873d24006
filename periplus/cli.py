"""The `periplus` command line. A subcommand is imported only when it runs.

Its help, the completion of its options and the errors in its arguments come from `command_index` (decision 0116).
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import re
import select
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from periplus import __version__
from periplus.command_index import read_indexed_app

AS_LIKE = 0.1
"""How much less like a wrong option another one may be than the likeliest, to be named with it."""

_UsageError: Any = typer.BadParameter.__base__
"""What typer raises for arguments that a command does not take; typer itself does not export it."""


_COLLECTED = (50_000, 10, 10)
"""After how many new objects Python looks for cycles: at its 700 that is a sixth of the time of starting (decision 0140)."""


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A subcommand: the module with its `app`, and its line in `periplus --help`."""

    module: str
    help: str
    extras: tuple[str, ...] = ()
    """The extras without which it does nothing but print its help (`periplus.extras`)."""


COMMANDS: dict[str, LazyCommand] = {
    # In the order of `periplus --help`.
    "demo": LazyCommand("periplus.commands.demo", "Watch a narrated demo in a real browser."),
    "rooms": LazyCommand("periplus.commands.rooms", "Give interactive demos in LiveKit rooms.", ("livekit",)),
    "run": LazyCommand("periplus.commands.run", "Run a task in a real browser."),
    "collect": LazyCommand(
        "periplus.commands.collect", "Run a task or an agent several times; keep a trace of each run."
    ),
    "tasks": LazyCommand("periplus.commands.tasks", "List the tasks of a website with their inputs."),
    "screens": LazyCommand("periplus.commands.screens", "List the screens of a website."),
    "flows": LazyCommand("periplus.commands.flows", "List the presentation flows of a website."),
    "runs": LazyCommand("periplus.commands.runs", "List runs and show their results."),
    "map": LazyCommand("periplus.commands.map", "Explore a website and write its knowledge base."),
    "review": LazyCommand("periplus.commands.review", "Decide what is doubtful in a map."),
    "draft-flow": LazyCommand(
        "periplus.commands.draft_flow", "Draft a demo of a website from its knowledge base."
    ),
    "record": LazyCommand("periplus.commands.record", "Record your actions in a browser as a trace."),
    "learn": LazyCommand(
        "periplus.commands.learn", "Learn screen signatures from labelled pages or sessions."
    ),
    "group": LazyCommand("periplus.commands.group", "Group stored pages into screens, without a browser."),
    "import": LazyCommand("periplus.commands.import_", "Convert recordings of other tools to traces."),
    "synthesize": LazyCommand("periplus.commands.synthesize", "Build a workflow from traces of one task."),
    "refine": LazyCommand(
        "periplus.commands.refine", "Make a published workflow anew of its traces and further ones."
    ),
    "workflows": LazyCommand(
        "periplus.commands.workflows", "List workflows and their versions; return to an earlier version."
    ),
    "snapshot": LazyCommand("periplus.commands.snapshot", "Store a page for `kb check` and `learn`."),
    "verify": LazyCommand(
        "periplus.commands.verify", "Verify requirements on a live site and generate tests.", ("verify",)
    ),
    "optimize": LazyCommand(
        "periplus.commands.optimize",
        "Repair a pytest-playwright suite whose locators no longer match.",
        ("verify",),
    ),
    "mcp": LazyCommand("periplus.commands.mcp", "Serve the knowledge base to any MCP client."),
    "init-agents": LazyCommand(
        "periplus.commands.init_agents", "Write the files by which a coding agent uses Periplus."
    ),
    "serve": LazyCommand(
        "periplus.commands.serve", "Serve the console, the HTTP API and MCP.", ("serve", "verify")
    ),
    "audit": LazyCommand("periplus.commands.audit", "List, export and check the audit log."),
    "prune": LazyCommand(
        "periplus.commands.prune", "Delete records and files that are older than configured."
    ),
    "erase-person": LazyCommand(
        "periplus.commands.erase_person", "Find a person in all records and files, and erase them there."
    ),
    "install": LazyCommand(
        "periplus.commands.install", "Fetch Chromium for Playwright, and list what else helps."
    ),
    "doctor": LazyCommand(
        "periplus.commands.doctor", "Try every part of the installation, and say what to do."
    ),
    "kb": LazyCommand("periplus.commands.kb", "Validate, load, export and compare knowledge bases."),
}


class _LazyCommandGroup(TyperGroup):
    """Lists `COMMANDS` without importing them; imports only the command that runs."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        lazy = COMMANDS.get(cmd_name)
        if lazy is None:
            return super().get_command(ctx, cmd_name)
        return typer.core.TyperCommand(cmd_name, help=lazy.help)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise _unknown_command(args[0])
        name, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS:
            if COMMANDS[name].extras and not {"-h", "--help"} & set(rest):
                _check_extras(name)
            only = rest[0] if rest and not ctx.resilient_parsing else None
            indexed = read_indexed_app(name, only=only)
            if indexed is None:
                declared = importlib.import_module(COMMANDS[name].module).app
                return name, _get_named_command(declared, name), rest
            command = _get_named_command(indexed, name)
            if not ctx.resilient_parsing:  # else a shell asks for completions
                path = _check_arguments(command, name, rest, ctx)
                command = _get_named_command(read_indexed_app(name, run=path, only=only), name)
        return name, command, rest


def _get_named_command(declared: Any, name: str) -> Any:
    command = typer.main.get_command(declared)
    command.name = name
    return command


def _check_arguments(
    command: Any, name: str, rest: list[str], parent: Any = None, **extra: Any
) -> tuple[str, ...]:
    """Parse the arguments as the command will; return the names of the subcommands in them.

    Help ends here, and so does a usage error, by its exception.
    """
    context = command.make_context(name, list(rest), parent=parent, **extra)
    path: list[Any] = []
    while isinstance(command, TyperGroup):
        left = [*context._protected_args, *context.args]  # noqa: SLF001 - what typer's own groups read
        if not left:
            break
        below, command, left = command.resolve_command(context, left)
        path.append(below)
        context = command.make_context(below, left, parent=context)
    return tuple(path)


_HELP = ("-h", "--help")


def _show_help(args: list[str]) -> None:
    """Show the help of a command and raise `typer.Exit`, if that is asked for and the index tells it.

    Parsing the options before the command's name would import pydantic, which is most of the time of a help page.
    """
    if len(args) > 1 and args[0] in COMMANDS and args[-1] in _HELP:
        indexed = read_indexed_app(args[0])
        if indexed is not None:
            command, name, rest = _get_named_command(indexed, args[0]), f"periplus {args[0]}", args[1:]
            while isinstance(command, TyperGroup) and rest[0] in command.commands:
                command, name, rest = command.commands[rest[0]], f"{name} {rest[0]}", rest[1:]
            _check_arguments(command, name, rest, help_option_names=[*_HELP])


app = typer.Typer(
    name="periplus",
    cls=_LazyCommandGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": [*_HELP]},
)


def _keep_closest(option: str, meant: Sequence[str]) -> list[str]:
    """Return the options that are nearly as like the wrong one as the likeliest: click lists all that are a little like it."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - only needed after an error

    likeness = {each: SequenceMatcher(None, option, each).ratio() for each in meant}
    return [each for each in meant if likeness[each] > max(likeness.values()) - AS_LIKE]


def _report_usage(error: Any) -> NoReturn:
    """Print what is wrong with the arguments, without boxes and line breaks, and end the process with code 2."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(error.exit_code)
    from periplus.errors import UserError, report_error  # noqa: PLC0415 - only needed after an error
    from periplus.terminal.command_console import CommandConsole  # noqa: PLC0415

    told = _describe_invalid_value(error) or error.format_message().replace("Input should be", "expected")
    text, _, close = told.partition(" Did you mean ")
    command = error.ctx.command_path if error.ctx is not None else "periplus"
    fix = f"`{command} --help` shows how it is used"
    meant = getattr(error, "possibilities", None)
    if meant:
        likely = _keep_closest(error.option_name, meant)
        text, fix = f"no option {error.option_name}", f"did you mean {' or '.join(likely)}?"
    elif close:
        fix = f"did you mean {close}"
    text = text.rstrip(".")
    shown = UserError(text[:1].lower() + text[1:], fix=fix)
    sys.exit(report_error(shown, CommandConsole(stderr=True)))


_EXPECTED = {
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "float_parsing": "a number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_parsing": "true or false",
}
"""What an option takes, by the kind of pydantic's error."""


def _describe_invalid_value(error: Any) -> str:
    """Return what an option expected and what was found; empty if the error is not about a value."""
    named = re.match(r"Invalid value for '(.+?)'", error.format_message())
    if named is None or not hasattr(error.__cause__, "errors"):
        return ""
    (first, *_) = error.__cause__.errors()
    context = first.get("ctx", {})
    if first["type"] == "value_error":  # it quotes what was found
        return f"{named[1]}: {context['error']}"
    expected = _EXPECTED.get(first["type"], "").format_map(context)
    return f"{named[1]}: expected {expected}, found {first['input']!r}" if expected else ""


def _check_extras(name: str) -> None:
    """Raise `ExtraMissing` before anything of the command is imported or started."""
    from periplus.extras import check_extra  # noqa: PLC0415 - only these commands need it

    for extra in COMMANDS[name].extras:
        check_extra(f"`periplus {name}`", extra)


def _unknown_command(name: str) -> Exception:
    from kb_schema.documents import did_you_mean  # noqa: PLC0415 - only needed after an error
    from periplus.errors import UserError  # noqa: PLC0415

    return UserError(
        f"no command {name!r}", fix=did_you_mean(name, COMMANDS) or "`periplus --help` lists the commands"
    )


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"periplus {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[  # noqa: ARG001 - its callback has handled it
        bool,
        typer.Option("--version", help="Show the version and stop.", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    """A knowledge base of web applications, and an agent that uses it in a browser.

    Start with `periplus demo spadeworks`. For your own site: `periplus map URL`, then `periplus serve`.
    """
    if any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ):
        from periplus import telemetry_setup  # noqa: PLC0415 - only needed with an exporter

        telemetry_setup.set_up_telemetry()


def _is_broken_pipe(error: BaseException) -> bool:
    """Return whether an error is nothing but broken pipes; the MCP server's comes in a group of its tasks."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(BrokenPipeError)[1] is None
    return isinstance(error, BrokenPipeError)


def _is_reader_gone() -> bool:
    """Whether who read the output has ended, such as `head`; then nothing more is written."""
    gone = False
    try:
        sys.stdout.flush()
        if hasattr(select, "poll"):  # what was written at once is not in the buffer any more
            asked = select.poll()
            asked.register(sys.stdout.fileno(), 0)
            gone = any(event & select.POLLERR for _, event in asked.poll(0))
    except BrokenPipeError:
        gone = True
    except (OSError, ValueError):
        return False  # no file, or closed
    if gone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its end
    return gone


def main(args: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    gc.set_threshold(*_COLLECTED)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a text may hold half a character, which no encoding has
            stream.reconfigure(errors="backslashreplace")
    command = typer.main.get_command(app)
    try:
        _show_help(sys.argv[1:] if args is None else args)
        ended = command.main(args=args, prog_name="periplus", standalone_mode=False)
        sys.exit(ended if isinstance(ended, int) else 0)
    except typer.Exit as exc:
        sys.exit(exc.exit_code)
    except _UsageError as exc:
        _report_usage(exc)
    except typer.Abort:
        typer.echo("aborted", err=True)
        sys.exit(1)
    except (Exception, KeyboardInterrupt) as exc:  # noqa: BLE001 - the outermost boundary of the process
        if _is_broken_pipe(exc) and _is_reader_gone():
            sys.exit(1)
        from periplus.errors import report_error  # noqa: PLC0415 - only needed after an error
        from periplus.terminal.command_console import CommandConsole  # noqa: PLC0415

        sys.exit(report_error(exc, CommandConsole(stderr=True)))
