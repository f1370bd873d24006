"""`periplus run`: one task of the knowledge base, done in a browser."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from playwright.async_api import Error as PlaywrightError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agent.context import Asker
from agent.engine.engine import Engine
from agent.engine.state import RunState
from agent.errors import AgentError
from agent.page.errors import PageError
from agent.run_log import ending_of
from agent.trace import SessionTrace
from kb_schema.read_backs import Happened
from kb_schema.runs import RunResult, RunStatus
from kb_store import Stores
from kb_store.runs import RunStore
from periplus.errors import UserError
from periplus.failures import for_a_person
from periplus.live import LiveView
from periplus.logbook import LAST, Kept, end_record, find_run, open_logbook, recorded
from periplus.outputs import SESSION, output_folder
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen
from periplus.voyage import browser_context, open_session
from periplus.websites import which_website

if TYPE_CHECKING:
    from playwright.async_api import StorageState

EXIT_FAILED = 1
EXIT_NEEDS_PERSON = 3

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
    website: Annotated[
        str | None, typer.Option(help="Which website; needed where the store has several.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Where the site is, if not where it was authored.")
    ] = None,
    headed: Annotated[bool | None, typer.Option("--headed/--headless", help="Show the browser.")] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help=f"Carry on a run that was cut off: its id, its beginning, or [bold]{LAST}[/]."
        ),
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

    [bold]periplus run --resume last[/]

    A run that was cut off (a crash, a lost machine) is carried on from what the store kept of it:
    what was done is not done again. Secrets are not kept: give them again with -i.

    Knowledge, what is learned and the run are in the store that flags or environment name.
    Exit code 0 done, 1 failed, 2 something to put right, 3 a person is needed.
    """
    console = Console(stderr=as_json)
    order = _Order(
        _what(task, resume), resume is not None, _parsed(inputs or []), website, base_url, headed, happened
    )
    named = order.subject if resume is None else f"resume-{order.subject}"
    folder = output_folder(out or Path("out") / f"run-{named}-{datetime.now().astimezone():%Y%m%d-%H%M%S}")
    shelves = open_chosen(mongodb_url, arangodb_url), open_logbook(mongodb_url)
    result = asyncio.run(_run(order, folder, console, shelves))
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        _tell(console, result, folder)
    if result.status is RunStatus.NEEDS_PERSON:
        raise typer.Exit(EXIT_NEEDS_PERSON)
    if not result.succeeded:
        raise typer.Exit(EXIT_FAILED)


@dataclass(frozen=True, slots=True)
class _Order:
    """What was asked for."""

    subject: str
    """A task's id, or a run's."""
    carry_on: bool
    values: Mapping[str, str]
    website: str | None
    base_url: str | None
    headed: bool | None
    happened: bool | None

    @property
    def decided(self) -> Happened | None:
        """What a person says of the step in doubt."""
        if self.happened is None:
            return None
        return Happened.HAPPENED if self.happened else Happened.DID_NOT_HAPPEN


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is going to be run, and where."""

    task_id: str
    website_id: str
    base_url: str | None
    run_id: str | None = None
    state: RunState | None = None

    @property
    def storage(self) -> StorageState | None:
        """What the browser knew."""
        return cast("StorageState | None", self.state.storage) if self.state else None


def _what(task: str | None, resume: str | None) -> str:
    if (task is None) == (resume is None):
        raise UserError(
            "name a task, or a run to carry on",
            fix="`periplus run TASK`, or `periplus run --resume last`; `periplus kb status` and"
            " `periplus runs list` show what there is",
        )
    return task or resume or ""


async def _plan(order: _Order, stores: Stores, runs: RunStore) -> _Plan:
    """Raises `UserError` for a website or a run that cannot be."""
    if not order.carry_on:
        known = sorted(g.website_id for g in await stores.documents.websites())
        return _Plan(order.subject, which_website(order.website, known), order.base_url)
    run = await find_run(runs, order.subject)
    if run.kind != "task":
        raise UserError(f"run {run.run_id} is a {run.kind}", fix="only runs of tasks are carried on")
    if run.status is RunStatus.SUCCESS:
        raise UserError(
            f"run {run.run_id} came to its end: {run.status}", fix=f"`periplus runs show {run.run_id}`"
        )
    kept = await runs.checkpoint(run.run_id)
    if kept is None:
        raise UserError(
            f"of run {run.run_id} nothing is kept to carry on from",
            fix=f"checkpoints are kept for a day; begin anew: `periplus run {run.subject}`",
        )
    state = RunState.model_validate(kept.state)
    return _Plan(run.subject, run.website_id, order.base_url or run.url, run.run_id, state)


async def _run(order: _Order, folder: Path, console: Console, shelves: Shelves) -> RunResult:
    opening, logbook = shelves
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(opening)
        runs = await stack.enter_async_context(logbook)
        plan = await _plan(order, stores, runs)
        browser = await stack.enter_async_context(browser_context(headed=order.headed, storage=plan.storage))
        view = LiveView(console, f"{plan.website_id}: {plan.task_id}")
        session = await stack.enter_async_context(
            open_session(
                stores, browser, plan.website_id, base_url=plan.base_url, values=order.values,
                asker=_asker(view), runs=runs, run_id=plan.run_id,
            )
        )  # fmt: skip
        trace = SessionTrace(folder / SESSION, website_id=plan.website_id, context=session.context)
        session.bus.listen(trace)
        session.bus.listen(view)
        ended = False
        try:
            task = await session.knowledge.task(plan.task_id)
            log = await stack.enter_async_context(
                recorded(nullcontext(runs), session, kind="task", subject=plan.task_id)
            )
            own = {spec.name for spec in task.io_spec.inputs}
            engine = Engine(session, keeping=Kept(runs), resume=plan.state, decided=order.decided)
            with view:
                result = await engine.run_task(
                    plan.task_id, {k: v for k, v in order.values.items() if k in own}
                )
            ended = True
        except (AgentError, PageError, PlaywrightError) as exc:
            raise for_a_person(exc, session.context) from exc
        finally:
            html = None
            with suppress(PageError, PlaywrightError):
                html = (await session.snapshot()).html
            trace.close(html, complete=ended)
        (folder / "result.json").write_text(result.model_dump_json(indent=2), encoding="utf-8")
        files = {
            "result.json": ("result", folder / "result.json"),
            f"{SESSION}/": ("trace", folder / SESSION),
        }
        note = await end_record(log, ending_of(result), files)
        if note:
            console.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
        return result


def _parsed(pairs: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UserError(
                f"--input {pair!r} is not NAME=VALUE", fix='write it like --input agent_name="Ada"'
            )
        values[name.strip()] = value
    return values


def _asker(view: LiveView) -> Asker | None:
    """Somebody to ask for missing inputs, where there is a terminal."""
    if sys.platform == "win32" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from periplus.terminal import Terminal  # noqa: PLC0415 - not to be had on every platform

    return Terminal(Console(stderr=True), fd=sys.stdin.fileno(), room=view.paused)


def _tell(console: Console, result: RunResult, folder: Path) -> None:
    style = {"success": "green", "needs_person": "yellow"}.get(result.status, "red")
    console.print(f"[bold {style}]{result.status}[/], {result.evidence}, {result.duration_ms / 1000:.1f} s")
    if result.error:
        console.print(f"  {escape(result.error)}", soft_wrap=True)
        if result.hint:
            console.print(f"  [green]-> {escape(result.hint)}[/]", soft_wrap=True)
    table = Table("step", "action", "screen", "time", "outcome", box=None, header_style="dim")
    for step in result.steps:
        table.add_row(
            step.step_id,
            step.action_type,
            step.screen_id or "-",
            f"{step.duration_ms / 1000:.2f} s",
            step.status,
        )
    console.print(table)
    for name, value in result.outputs.items():
        console.print(f"  {escape(name)} = {escape(_short(value))}", highlight=False)
    console.print(f"  {escape(str(folder / 'result.json'))}", highlight=False, soft_wrap=True)
    console.print(f"  [dim]periplus runs show {result.run_id}[/]", highlight=False)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"
