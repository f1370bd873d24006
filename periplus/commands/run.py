"""`periplus run`: one task of the knowledge base, done in a browser."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agent.context import Asker
from kb_schema.read_backs import Happened
from kb_schema.runs import RunResult, RunStatus
from kb_store import Stores
from kb_store.runs import RunStore
from periplus.commands.on_a_site import BaseUrl, Headed, WebsiteId, read_inputs
from periplus.errands import RESULT, Errand, Gear, carry_out, to_carry_on
from periplus.errors import UserError
from periplus.live import LiveView
from periplus.logbook import LAST, find_run, open_logbook
from periplus.outputs import output_folder
from periplus.run_report import tell_run
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen
from periplus.undoing import UndoReport, tell_undone, undo_run
from periplus.voyage import browser_context
from periplus.websites import which_website

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, StorageState

EXIT_FAILED = 1
EXIT_NEEDS_PERSON = 3
EXIT_IN_PART = 4
_EXITS = {
    RunStatus.FAILURE: EXIT_FAILED,
    RunStatus.NEEDS_PERSON: EXIT_NEEDS_PERSON,
    RunStatus.PARTIAL: EXIT_IN_PART,
    RunStatus.DEGRADED: EXIT_IN_PART,
}

Shelves = tuple[AbstractAsyncContextManager[Stores], AbstractAsyncContextManager[RunStore]]
"""Where knowledge is, and where the run is kept: not yet opened."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def run(
    task: Annotated[
        str | None,
        typer.Argument(help="The task's id, as in `periplus kb` and in the files.", show_default=False),
    ] = None,
    *,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="NAME=VALUE", help="An input; may be repeated."),
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(
            metavar="SCREEN", help="The screen to end on. Without a task: only get there.", show_default=False
        ),
    ] = None,
    website: WebsiteId = None,
    base_url: BaseUrl = None,
    headed: Headed = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help=f"Carry on a run that was cut off: its id, its beginning, or [bold]{LAST}[/]."
        ),
    ] = None,
    undo: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Undo what a run did, as far as the knowledge says how."),
    ] = None,
    happened: Annotated[
        bool | None,
        typer.Option(
            "--it-happened/--it-did-not",
            help="With --resume: what you saw of the step that nothing else can tell about.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for result and trace.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON and nothing else.")
    ] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    r"""Do a task in a real browser and say what the result rests on.

    [bold]periplus kb load seeds/spadeworks/kb[/]
    [bold]python -m seeds.spadeworks.site --port 8080[/]
    [bold]periplus run create_agent --base-url http://127.0.0.1:8080 -i agent_name="Ada" \
        -i email=demo@spadeworks.example -i password=spadeworks-demo[/]

    Inputs the task itself does not take are there for the tasks it calls (signing in).

    [bold]periplus run create_agent ... --goal agent_list[/]
    [bold]periplus run --goal settings ...[/]

    With --goal the run ends on that screen; without a task it only finds its way there.

    [bold]periplus run --resume last[/]

    A run that was cut off (a crash, a lost machine) is carried on from what the store kept of it:
    what was done is not done again. Secrets are not kept: give them again with -i.

    [bold]periplus run --undo last[/]

    What the run's journal says was done is undone in the reverse order, by the tasks that the knowledge
    names for it (`reversible_by`); what cannot be undone is listed. Undoing twice undoes once.

    Knowledge, what is learned and the run are in the store that flags or environment name.
    Exit code 0 done, 1 failed, 2 something to put right, 3 a person is needed, 4 done in part.
    """
    console = Console(stderr=as_json)
    asked = _Asked(
        task, goal, resume, undo, read_inputs(inputs or []), website, base_url, headed, _seen(happened)
    )
    _check(asked)
    moment = datetime.now().astimezone()
    folder = output_folder(out or Path("out") / f"run-{asked.name}-{moment:%Y%m%d-%H%M%S}")
    shelves = open_chosen(mongodb_url, arangodb_url), open_logbook(mongodb_url)
    if undo is not None:
        report = asyncio.run(_undo(asked, folder, console, shelves))
        tell_undone(report, console, as_json=as_json)
        if not report.complete:
            raise typer.Exit(EXIT_FAILED)
        return
    result = asyncio.run(_run(asked, folder, console, shelves))
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        tell_run(console, result, folder / RESULT)
    if not result.succeeded:
        raise typer.Exit(_EXITS[result.status])


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked for."""

    task: str | None
    goal: str | None
    resume: str | None
    undo: str | None
    values: Mapping[str, str]
    website: str | None
    base_url: str | None
    headed: bool | None
    decided: Happened | None
    """What a person says of the step in doubt."""

    @property
    def name(self) -> str:
        """For the folder."""
        if self.resume is not None or self.undo is not None:
            return f"resume-{self.resume}" if self.undo is None else f"undo-{self.undo}"
        return self.task or f"to-{self.goal}"


def _seen(happened: bool | None) -> Happened | None:
    if happened is None:
        return None
    return Happened.HAPPENED if happened else Happened.DID_NOT_HAPPEN


def _check(asked: _Asked) -> None:
    """Raises `UserError` where what was asked for is nothing, or several things."""
    named = [name for name, given in (
        ("a task", asked.task), ("--resume", asked.resume), ("--undo", asked.undo),
    ) if given is not None]  # fmt: skip
    if len(named) > 1:
        raise UserError(
            f"{' and '.join(named)} are different things to do",
            fix="give one of them: `periplus run TASK`, `periplus run --resume last`, `periplus run --undo last`",
        )
    if not named and asked.goal is None:
        raise UserError(
            "name a task, a screen to get to, or a run to carry on",
            fix="`periplus run TASK`, `periplus run --goal SCREEN`, or `periplus run --resume last`;"
            " `periplus kb status` and `periplus runs list` show what there is",
        )
    if asked.undo is not None and asked.goal is not None:
        raise UserError(
            "--undo ends where undoing ends", fix="leave --goal out, then `periplus run --goal SCREEN`"
        )
    if asked.decided is not None and asked.resume is None:
        raise UserError(
            "--it-happened and --it-did-not are about a run that was cut off", fix="give --resume RUN, too"
        )


async def _errand(asked: _Asked, stores: Stores, runs: RunStore) -> Errand:
    """Raises `UserError` for a website or a run that cannot be."""
    if asked.resume is not None:
        return to_carry_on(
            await find_run(runs, asked.resume),
            base_url=asked.base_url, values=asked.values, decided=asked.decided, goal=asked.goal,
        )  # fmt: skip
    known = sorted(generation.website_id for generation in await stores.documents.websites())
    website_id = which_website(asked.website, known)
    return Errand(website_id, asked.task, goal=asked.goal, base_url=asked.base_url, values=asked.values)


async def _run(asked: _Asked, folder: Path, console: Console, shelves: Shelves) -> RunResult:
    opening, logbook = shelves
    async with opening as stores, logbook as runs:
        errand = await _errand(asked, stores, runs)
        view = LiveView(console, f"{errand.website_id}: {errand.subject}")
        with view:
            return await carry_out(errand, _gear(asked, stores, runs, folder, view, console))


async def _undo(asked: _Asked, folder: Path, console: Console, shelves: Shelves) -> UndoReport:
    opening, logbook = shelves
    async with opening as stores, logbook as runs:
        run = await find_run(runs, asked.undo or LAST, but=frozenset({"undo"}))
        with LiveView(console, f"{run.website_id}: undoing {run.subject}") as view:
            gear = _gear(asked, stores, runs, folder, view, console)
            return await undo_run(run, gear, base_url=asked.base_url, values=asked.values)


def _gear(
    asked: _Asked, stores: Stores, runs: RunStore, folder: Path, view: LiveView, console: Console
) -> Gear:
    def browsers(storage: StorageState | None) -> AbstractAsyncContextManager[BrowserContext]:
        return browser_context(headed=asked.headed, storage=storage)

    def note(text: str) -> None:
        console.print(f"[yellow]{escape(text)}[/]", soft_wrap=True)

    return Gear(stores, runs, browsers, folder, asker=_asker(view), listeners=[view], note=note)


def _asker(view: LiveView) -> Asker | None:
    """Somebody to ask for missing inputs, where there is a terminal."""
    if sys.platform == "win32" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from periplus.terminal import Terminal  # noqa: PLC0415 - not to be had on every platform

    return Terminal(Console(stderr=True), fd=sys.stdin.fileno(), room=view.paused)
