"""`periplus synthesize`: build a workflow from traces of one task, validate it and publish it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.synthesis.pipeline_config import SynthesisStrategy
from periplus.commands.command_options import (
    BaseUrl,
    Headed,
    ImportMemory,
    ImportSeconds,
    WebsiteId,
    choose_import_budget,
    parse_inputs,
)
from periplus.commands.synthesis_options import (
    Accept,
    Judge,
    MinScore,
    MinTraces,
    Model,
    NoValidate,
    Prompts,
    Rules,
    Strategy,
    ValidateRuns,
    choose_judgement,
    choose_validation_runs,
)
from periplus.commands.synthesis_output import WorkflowRequest, make_workflow
from periplus.exit_codes import ExitCode
from periplus.foreign_input import read_foreign
from periplus.log_setup import log_to_stderr
from periplus.store_selection import ArangoUrl, MongoUrl
from periplus.synthesis.workflow_synthesis import read_traces
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def synthesize(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACES...", help="Folders of traces, or folders that contain them.", show_default=False
        ),
    ],
    *,
    name: Annotated[str, typer.Option(help="The workflow's name; its id is derived from it.")],
    task: Annotated[str, typer.Option(help="A description of the task; default: from the traces.")] = "",
    validate: ValidateRuns = None,
    no_validate: NoValidate = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Add the workflow to the knowledge base.")
    ] = False,
    unverified: Annotated[
        bool,
        typer.Option(
            "--unverified",
            help="Publish also if nothing in the traces tells whether the task worked. No run of such a workflow"
            " counts as a success.",
        ),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace an existing workflow of this name that differs.")
    ] = False,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="NAME=VALUE",
            help="An input for validation, such as a secret; may be repeated.",
        ),
    ] = None,
    strategy: Strategy = SynthesisStrategy.RULE_BASED,
    judge: Judge = False,
    rule: Rules = None,
    min_score: MinScore = 0.5,
    model: Model = None,
    prompts: Prompts = None,
    min_traces: MinTraces = 1,
    accept: Accept = None,
    website: WebsiteId = None,
    base_url: BaseUrl = None,
    headed: Headed = None,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder for reports and documents.")
    ] = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Build a workflow from traces of the same task.

    [bold]periplus synthesize out/traces/add-* --name "Add an agent" --validate 2 --publish[/]
    [bold]periplus run Add_an_agent --input name=Ada[/]

    Values that differ become inputs, repeated steps become loops, and different paths become branches with
    a condition. If the traces do not determine a choice, it becomes an agent step, and the report says so.
    Unknown pages become new screens if the traces are sufficient; --publish adds them with the workflow.
    A website that the knowledge base does not have is added to it with the address of the traces.
    report.html shows the traces side by side with the resulting steps.

    The workflow is run on the website with the inputs of three traces, and each run is compared with its trace, step by
    step and in its effects; unless the task sends something or presses a button, which a run would do again: then only with --validate N.

    A trace in which the application seems to have refused something is left out with a question; --accept
    answers that it is good all the same.

    A workflow has success criteria: what all traces show at their end and none before it. A workflow without
    is only published with --unverified; its runs then end with the status `unverified`.

    Exit codes: 0 done, 1 validation failed or nothing tells whether it worked (nothing is published),
    2 an error to correct.
    """
    log_to_stderr()
    console = CommandConsole()
    given = parse_inputs(inputs or [])
    judgement = choose_judgement(
        strategy, judge=judge, rules=rule, min_score=min_score, model=model, prompts=prompts, min_traces=min_traces,
        accept=accept,
    )  # fmt: skip
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    read = read_foreign(traces, budget, read_traces, traces)
    request = WorkflowRequest(
        name=name,
        task=task,
        judgement=judgement,
        validate=choose_validation_runs(validate, no_validate=no_validate),
        publish=publish,
        replace=replace,
        unverified=unverified,
        given=given,
        website=website,
        base_url=base_url,
        headed=headed,
        out=out,
        mongodb_url=mongodb_url,
        arangodb_url=arangodb_url,
    )
    if make_workflow(console, read, request).failed:
        raise typer.Exit(ExitCode.FAILED)
