"""`periplus doctor`: try browser, voice, stores, servers, models and extras, and say what to do."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.markup import escape

from periplus.commands.command_output import print_json
from periplus.exit_codes import ExitCode
from periplus.installation_checks import CheckResult, CheckState, check_installation
from periplus.store_selection import ArangoUrl, MongoUrl
from periplus.terminal.command_console import CommandConsole

_STYLES: dict[CheckState, str] = {
    "works": "green",
    "missing": "yellow",
    "unset": "dim",
    "untried": "yellow",
    "broken": "red",
}

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
out = CommandConsole()


@app.command()
def doctor(
    *,
    ask: Annotated[
        bool,
        typer.Option("--ask/--no-ask", help="Send each configured model one short question, at its price."),
    ] = True,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Try the browser, the voice, the stores, the servers, the models and the extras; say whether each works.

    [bold]periplus doctor[/]

    "works" is only said of what was seen to work: the browser shows a page, modules are imported, a model answers.
    Nothing is installed. What is missing or not set is only needed for what its line names.

    Exit code 1 if something that is installed or configured does not work.
    """
    found = asyncio.run(
        check_installation(ask_models=ask, mongodb_url=mongodb_url, arangodb_url=arangodb_url)
    )
    if as_json:
        print_json(out, [each.model_dump(mode="json") for each in found])
    else:
        for each in found:
            _print(each)
    if any(each.state == "broken" for each in found):
        raise typer.Exit(ExitCode.FAILED)


def _print(each: CheckResult) -> None:
    style = _STYLES[each.state]
    name = f"{each.kind} {each.name}"
    out.print(
        f"[{style}]{each.state:<8}[/] {escape(name):<24} {escape(each.found)}",
        soft_wrap=True,
        highlight=False,
    )
    if each.fix and each.state != "works":
        out.print(f"{'':<33} [green]-> {escape(each.fix)}[/]", soft_wrap=True, highlight=False)
