"""`periplus refine`: make a published workflow anew of its traces and further ones, and show the difference."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from agent.knowledge_client import KnowledgeClient
from agent.synthesis.pipeline_config import SynthesisStrategy
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema.documents import did_you_mean
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from kb_store import read_knowledge
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
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.foreign_input import read_foreign
from periplus.knowledge_server import connect_knowledge_client
from periplus.log_setup import log_to_stderr
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.synthesis.recorded_sign_in import adopt_sign_in
from periplus.synthesis.workflow_synthesis import read_traces
from periplus.synthesis.workflow_traces import read_workflow_traces
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def refine(
    workflow: Annotated[
        str, typer.Argument(metavar="WORKFLOW", help="The workflow's id.", show_default=False)
    ],
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACES...", help="Folders of further traces of the task.", show_default=False
        ),
    ],
    *,
    validate: ValidateRuns = None,
    no_validate: NoValidate = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Publish the refined workflow as its new version.")
    ] = False,
    unverified: Annotated[
        bool,
        typer.Option(
            "--unverified", help="Publish also if nothing in the traces tells whether the task worked."
        ),
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
    """Make a published workflow anew of its traces and further ones, and show what is different.

    [bold]periplus refine Add_an_agent out/traces/add-4 out/traces/add-5 --publish[/]
    [bold]periplus workflows rollback Add_an_agent[/]

    The traces of which the workflow was made are found where they were when it was published. If they were moved, name
    their folders, too. --publish makes the result the new version; an earlier one can be restored.

    Exit codes: 0 done, 1 validation failed or nothing tells whether it worked (nothing is published),
    2 an error to correct.
    """
    log_to_stderr()
    console = CommandConsole()
    judgement = choose_judgement(
        strategy, judge=judge, rules=rule, min_score=min_score, model=model, prompts=prompts, min_traces=min_traces,
        accept=accept,
    )  # fmt: skip
    website_id, current, tasks = asyncio.run(_read_workflow(workflow, website, mongodb_url, arangodb_url))
    note = read_workflow_traces(website_id, workflow)
    earlier = [] if note is None else [Path(each) for each in note.folders if Path(each).is_dir()]
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    read = read_foreign(traces, budget, read_traces, [*earlier, *traces])
    known = set() if current.provenance is None else {*current.provenance.trace_ids}
    _check_traces(workflow, known, read)
    request = WorkflowRequest(
        name=current.name,
        task=current.description if note is None else note.task,
        judgement=judgement,
        validate=choose_validation_runs(validate, no_validate=no_validate),
        publish=publish,
        replace=True,
        unverified=unverified,
        given=parse_inputs(inputs or []),
        website=website_id,
        base_url=base_url,
        headed=headed,
        out=out,
        mongodb_url=mongodb_url,
        arangodb_url=arangodb_url,
    )
    made = make_workflow(console, read, request)
    lowered = made.result.lowered
    if lowered is not None:
        lowered = asyncio.run(_place_sign_in(lowered, read, website_id, mongodb_url, arangodb_url))
        before = _describe([current, *tasks])
        made_tasks = sorted(lowered.tasks, key=lambda each: each.task_id)  # as they are read
        lines = _list_differences(before, _describe([lowered.workflow, *made_tasks]))
        count = len(read) - len(known)
        console.print(f"{len(read)} traces, {count} of them new; {_count(lines)}", highlight=False)
        for line in lines:
            style = "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"
            console.print(f"  [{style}]{escape(line)}[/]", soft_wrap=True, highlight=False)
    if made.failed:
        raise typer.Exit(ExitCode.FAILED)


async def _read_workflow(
    workflow_id: str, website: str | None, mongodb_url: str | None, arangodb_url: str | None
) -> tuple[str, Workflow, list[Task]]:
    """Return the website, the published workflow and its tasks. Raises `UserError` for an unknown workflow."""
    async with open_selected_stores(mongodb_url, arangodb_url) as stores:
        website_id = select_website(website, await list_websites(stores))
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
    found = knowledge.workflows.get(workflow_id)
    if found is None:
        raise UserError(
            f"no workflow {workflow_id!r}",
            fix=did_you_mean(workflow_id, knowledge.workflows)
            or "`periplus workflows list` lists what there is",
        )
    own = [task for name, task in sorted(knowledge.tasks.items()) if name.startswith(f"{workflow_id}_")]
    return website_id, found, own


async def _place_sign_in(
    lowered: WorkflowDocuments,
    read: Sequence[ExecutionTrace],
    website_id: str,
    mongodb_url: str | None,
    arangodb_url: str | None,
) -> WorkflowDocuments:
    """Return the documents as they are published: with the website's sign-in in place of the recorded one."""
    async with (
        open_selected_stores(mongodb_url, arangodb_url) as stores,
        connect_knowledge_client(stores) as client,
    ):
        placed, _, _ = await adopt_sign_in(KnowledgeClient(client, website_id), lowered, read)
    return placed


def _check_traces(workflow: str, known: AbstractSet[str], read: Sequence[ExecutionTrace]) -> None:
    """Raise `UserError` if a trace of the workflow is missing, or if there is no further one."""
    ids = {trace.trace_id for trace in read}
    missing = sorted(known - ids)
    if missing:
        raise UserError(
            f"{workflow} was made of {len(known)} traces, and {len(missing)} of them are not where they were: "
            f"{', '.join(missing[:3])}",
            fix="name their folders, too; or make the workflow anew with `periplus synthesize --replace`",
        )
    if not ids - known:
        raise UserError(f"{workflow} was made of these traces already", fix="name folders of further traces")


def _describe(documents: Sequence[Workflow | Task]) -> list[str]:
    """Return documents as lines of text, without where they come from."""
    import yaml  # noqa: PLC0415 - only needed here

    lines: list[str] = []
    for document in documents:
        told = {
            key: each for key, each in document.to_json().items() if key not in ("provenance", "website_id")
        }
        name = told.get("workflow_id") or told.get("task_id")
        text = yaml.safe_dump(told, sort_keys=True, allow_unicode=True, width=1_000)
        lines += [f"{name}: {line}" for line in text.splitlines()]
    return lines


def _list_differences(before: Sequence[str], after: Sequence[str]) -> list[str]:
    changed = difflib.unified_diff(before, after, lineterm="", n=0)
    return [line for line in changed if not line.startswith(("---", "+++", "@@"))]


def _count(lines: Sequence[str]) -> str:
    added = sum(line.startswith("+") for line in lines)
    if not lines:
        return "the workflow stays as it is"
    return f"{added} lines added, {len(lines) - added} removed"
