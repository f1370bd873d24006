"""`periplus run`: run one task of the knowledge base in a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from periplus.commands.command_options import (
    AllowRemoteCdp,
    BaseUrl,
    CdpEndpoint,
    Channel,
    Headed,
    PathObjective,
    PlaywrightTrace,
    ProxyServer,
    StepPicturesOption,
    UserDataDir,
    WebsiteId,
    choose_browser,
    parse_inputs,
)
from periplus.commands.id_completion import complete_runs, complete_screens, complete_tasks
from periplus.commands.run_options import RunOptions, StoreContexts
from periplus.errors import UserError
from periplus.exit_codes import ExitCode, exit_code_for
from periplus.output_folder import check_output_folder
from periplus.run_store_adapters import LAST, open_run_store
from periplus.runs.plain_request import is_plain_request
from periplus.runs.sentence_tasks import is_sentence
from periplus.session_setup.browser_ahead import browser_ahead
from periplus.settings import load_settings
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website

if TYPE_CHECKING:
    from kb_schema.explorations import Danger
    from kb_schema.read_backs import ReadBackStatus
    from kb_schema.run_records import RunResult
    from kb_store import Stores
    from periplus.commands.run_sentence import SentenceChoice

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def run(
    task: Annotated[
        str | None,
        typer.Argument(
            help="The task's id (`periplus tasks` lists them), or a sentence: an argument with a space.",
            show_default=False,
            autocompletion=complete_tasks,
        ),
    ] = None,
    *,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="NAME=VALUE", help="An input of the task; may be repeated."),
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(
            metavar="SCREEN",
            autocompletion=complete_screens,
            help="The screen to end on. Without TASK: only navigate to this screen.",
            show_default=False,
        ),
    ] = None,
    website: WebsiteId = None,
    base_url: BaseUrl = None,
    headed: Headed = None,
    cdp_endpoint: CdpEndpoint = None,
    allow_remote_cdp: AllowRemoteCdp = False,
    user_data_dir: UserDataDir = None,
    channel: Channel = None,
    proxy_server: ProxyServer = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            autocompletion=complete_runs,
            help=f"Resume an interrupted run: its id, a prefix of it, or [bold]{LAST}[/].",
        ),
    ] = None,
    undo: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            autocompletion=complete_runs,
            help="Undo a run's steps, as far as the knowledge base says how.",
        ),
    ] = None,
    happened: Annotated[
        bool | None,
        typer.Option(
            "--it-happened/--it-did-not",
            help="With --resume: whether the uncertain step took effect, if only you can tell.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            "-y",
            help="With a sentence: run the task it means, or the model's plan, without a question.",
        ),
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With a sentence and a model: allow what the sentence does not imply, or what does harm: the words of a"
            " control, [bold]deletes[/], [bold]pays[/], [bold]sends[/], [bold]signs_out[/], [bold]values[/] or"
            " [bold]repeats[/]. With a drafted task: agree to the browser's question after the press of a control that"
            " deletes or pays. May be repeated.",
        ),
    ] = None,
    teach: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            help="With a sentence and a model: do it N times, with values that the model makes up after the first time, and"
            " publish the workflow that does it without a model.",
        ),
    ] = None,
    page_text: Annotated[
        bool | None,
        typer.Option(
            "--page-text/--no-page-text",
            show_default=False,
            help="Whether a model gets the page's texts, or only roles and names of its controls. Default:"
            " PERIPLUS_MODEL_PAGE_TEXT, else yes.",
        ),
    ] = None,
    allow_unverified: Annotated[
        bool,
        typer.Option("--allow-unverified", help="Exit with 0 also if nothing shows that the task worked."),
    ] = False,
    step_timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=3_600,
            metavar="SECONDS",
            show_default=False,
            help="How long each step may wait for its element, with all alternatives. Default: what the step, the task"
            " or the website says, else 10.",
        ),
    ] = None,
    objective: PathObjective = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Show the tasks that would run, with inputs and steps, and run nothing."),
    ] = False,
    pictures: StepPicturesOption = None,
    trace: PlaywrightTrace = False,
    out: Annotated[Path | None, typer.Option(help="The folder for result and trace.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the result, as JSON.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL[@URL]",
            show_default=False,
            help="The language model for steps that fail after all else, and for sentences that no task does"
            " (docs/models.md); [bold]none[/]: no model. Default: PERIPLUS_MODEL_PLAN, else PERIPLUS_MODEL.",
        ),
    ] = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    r"""Run a task in a real browser and report the result with its evidence.

    [bold]periplus kb load seeds/spadeworks/kb[/]
    [bold]python -m seeds.spadeworks.site --port 8080[/]
    [bold]periplus run create_agent --base-url http://127.0.0.1:8080 -i agent_name="Ada" \
        -i email=demo@spadeworks.example -i password=spadeworks-demo[/]

    Inputs that the task itself does not use are passed to the tasks it calls, such as signing in.

    [bold]periplus run create_agent ... --goal agent_list[/]
    [bold]periplus run --goal settings ...[/]

    [bold]periplus run "create an agent named Ada" --yes[/]

    A sentence runs the only task whose name, inputs and sentences explain all of its words (docs/sentences.md).
    No model is used for that. The task and its values are shown and asked about before it runs, unless --yes is given.
    With --model, a sentence that no task does is planned and carried out by a model, within a budget (docs/models.md).

    With --goal the run ends on that screen; without TASK it only navigates there.

    [bold]periplus run create_agent --cdp-endpoint http://127.0.0.1:9222[/]

    With --cdp-endpoint the run works in a tab of its own in a Chrome that is running, with its session, and closes the
    tab. Cookies of that browser are not stored. --user-data-dir starts a browser with a profile.

    [bold]periplus run create_agent --plan[/]

    With --plan nothing is run: the tasks it depends on, inputs and steps are listed in their order.

    [bold]periplus run --resume last[/]

    Resumes an interrupted run (a crash, a lost machine) from its last checkpoint in the store. Finished
    steps are not repeated. Secrets are not stored: give them again with -i.

    [bold]periplus run --undo last[/]

    Undoes the steps in the run's journal in reverse order, with the tasks that the knowledge base names
    (`reversible_by`). Steps that cannot be undone are listed. A second undo of the same run does nothing.

    Knowledge, learned data and runs are in the store that the options or the environment name.
    A run whose steps were all done, but of which nothing in the application shows that it worked, ends
    with the status `unverified`.

    Exit codes: 0 done, 1 failed, 2 an error to correct, 3 a person is needed, 4 partly done, 5 unverified.
    """
    console = CommandConsole(stderr=as_json)
    asked = RunOptions(
        task,
        goal,
        resume,
        undo,
        parse_inputs(inputs or []),
        website,
        base_url,
        choose_browser(cdp_endpoint, allow_remote_cdp, user_data_dir, channel, proxy_server, headed),
        _parse_happened(happened),
        step_timeout,
        objective,
        model,
        page_text,
        load_settings().step_pictures if pictures is None else pictures,
        trace,
    )
    _check(asked)
    choice, said = None, None
    if is_sentence(asked.task):
        from periplus.commands.run_sentence import (  # noqa: PLC0415 - decision 0140
            SentenceOptions,
            check_teach,
            choose_sentence,
            confirm_sentence,
        )

        check_teach(teach)
        sentence = (asked.task or "").strip()
        said = SentenceOptions(
            sentence, website, model, asked.values, frozenset(allow or ()), page_text, teach
        )
        choice = asyncio.run(choose_sentence(said, open_selected_stores(mongodb_url, arangodb_url)))
        asked = asked.meaning(choice)
        if not plan:
            confirm_sentence(choice, asked.values, console, yes=yes)
    elif teach is not None:
        raise UserError(
            "--teach is for sentences", fix="leave it out, or give a sentence instead of a task's id"
        )
    elif allow:
        asked = replace(asked, allowed=_check_deeds(allow))
    if plan and asked.job is not None:
        console.print(asked.job.plan.describe(), soft_wrap=True, highlight=False, markup=False)
        return
    if plan:
        from periplus.commands.run_performance import show_plan  # noqa: PLC0415 - decision 0140

        show_plan(asked, open_selected_stores(mongodb_url, arangodb_url), console, as_json=as_json)
        return
    moment = datetime.now().astimezone()
    folder = check_output_folder(out or Path("out") / f"run-{asked.name}-{moment:%Y%m%d-%H%M%S}")
    store_contexts = open_selected_stores(mongodb_url, arangodb_url), open_run_store(mongodb_url)
    if undo is not None:
        from periplus.commands.run_performance import print_undo_report, undo_last_or_named  # noqa: PLC0415 - decision 0140

        report = asyncio.run(undo_last_or_named(asked, folder, console, store_contexts))
        print_undo_report(report, console, as_json=as_json)
        if not report.complete:
            raise typer.Exit(ExitCode.FAILED)
        return
    if choice is not None and said is not None and choice.variants:
        from periplus.commands.run_sentence import teach_sentence  # noqa: PLC0415 - decision 0140
        from periplus.commands.synthesis_output import WorkflowRequest  # noqa: PLC0415

        stores = partial(open_selected_stores, mongodb_url, arangodb_url)
        request = WorkflowRequest(
            name=said.sentence if choice.job is None else choice.job.plan.name_for(said.sentence),
            publish=True,
            given=asked.values,
            website=choice.website_id,
            base_url=base_url,
            headed=headed,
            out=folder / "workflow",
            mongodb_url=mongodb_url,
            arangodb_url=arangodb_url,
        )

        def perform(own: SentenceChoice, into: Path) -> RunResult:
            contexts = stores(), open_run_store(mongodb_url)
            return asyncio.run(_run(asked.meaning(own), check_output_folder(into), console, contexts))

        raise typer.Exit(teach_sentence(choice, said, perform, stores, request, folder, console))
    result = asyncio.run(_run(asked, folder, console, store_contexts))
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        from periplus.runs.run_report import print_run_result  # noqa: PLC0415 - decision 0140
        from periplus.runs.task_runs import RESULT  # noqa: PLC0415

        print_run_result(console, result, folder / RESULT)
    code = exit_code_for(result.status, allow_unverified=allow_unverified)
    if code is not ExitCode.DONE:
        raise typer.Exit(code)


def _parse_happened(happened: bool | None) -> ReadBackStatus | None:
    if happened is None:
        return None
    from kb_schema.read_backs import ReadBackStatus  # noqa: PLC0415 - decision 0140

    return ReadBackStatus.HAPPENED if happened else ReadBackStatus.DID_NOT_HAPPEN


def _check_deeds(allow: Sequence[str]) -> frozenset[Danger]:
    """Return the deeds that a drafted task may do although the page asks. Raises `UserError` for other names."""
    from agent.execution.effects.pressed_questions import ASKED  # noqa: PLC0415 - decision 0140

    unknown = sorted({*allow} - ASKED)
    if unknown:
        raise UserError(
            f"--allow {unknown[0]} is for sentences with a model",
            fix=f"give a sentence instead of a task's id; with a task it is one of: {', '.join(sorted(ASKED))}",
        )
    return frozenset(each for each in ASKED if each in allow)


def _check(asked: RunOptions) -> None:
    """Raise `UserError` if the options name nothing to do, or contradict each other."""
    named = [
        name
        for name, given in (
            ("a task", asked.task),
            ("--resume", asked.resume),
            ("--undo", asked.undo),
        )
        if given is not None
    ]
    if len(named) > 1:
        raise UserError(
            f"{' and '.join(named)} cannot be combined",
            fix="give one of them: `periplus run TASK`, `periplus run --resume last`, `periplus run --undo last`",
        )
    if not named and asked.goal is None:
        raise UserError(
            "expected a task, --goal, --resume or --undo",
            fix="`periplus run TASK`, `periplus run --goal SCREEN`, or `periplus run --resume last`;"
            " `periplus tasks`, `periplus screens` and `periplus runs list` show what there is",
        )
    if asked.undo is not None and asked.goal is not None:
        raise UserError(
            "--undo and --goal cannot be combined", fix="undo first, then `periplus run --goal SCREEN`"
        )
    if asked.trace and asked.browser.given:
        raise UserError(
            "--trace and --cdp-endpoint cannot be combined: it would record your other tabs",
            fix="leave out one of them",
        )
    if asked.decided is not None and asked.resume is None:
        raise UserError("--it-happened and --it-did-not need --resume", fix="also give --resume RUN")


async def _run(asked: RunOptions, folder: Path, console: Console, store_contexts: StoreContexts) -> RunResult:
    """Run it. What a run needs is imported in a thread, while the browser starts (decision 0202)."""
    opening, run_store = store_contexts
    async with opening as stores, run_store as runs, browser_ahead(asked.browser) as browser:
        if await _is_plain(asked, stores):
            browser.start()
        performing = await asyncio.to_thread(import_module, "periplus.commands.run_performance")
        performed: RunResult = await performing.perform_run(asked, folder, console, (stores, runs), browser)
        return performed


async def _is_plain(asked: RunOptions, stores: Stores) -> bool:
    """Return whether the check of the request will certainly accept it, so that the browser may be started before."""
    if asked.task is None or asked.goal is not None or asked.resume is not None or asked.job is not None:
        return False
    website_id = select_website(asked.website, await list_websites(stores))
    return await is_plain_request(stores, website_id, asked.task, asked.values)
