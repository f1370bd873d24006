"""`periplus synthesize`: build a workflow from traces of one task, validate it and publish it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agent.execution.values.secret_vaults import secret_variable_name
from agent.synthesis.graph.graph_validation import ValidationResults
from agent.synthesis.pipeline_config import SynthesisStrategy
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.traces.trace_evaluation import ASKED
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema.execution_traces import ExecutionTrace, name_traces
from periplus.commands.command_options import (
    BaseUrl,
    Headed,
    ImportMemory,
    ImportSeconds,
    WebsiteId,
    choose_import_budget,
    parse_inputs,
)
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.foreign_input import read_foreign
from periplus.log_setup import log_to_stderr
from periplus.recorded_websites import select_recorded_website
from periplus.settings import load_settings
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.synthesis.proposed_screens import ScreensFound, find_screens
from periplus.synthesis.step_words import list_step_lines
from periplus.synthesis.synthesis_report import write_synthesis_report
from periplus.synthesis.workflow_synthesis import (
    SynthesisJudgement,
    SynthesisSite,
    induce_workflow,
    list_origins,
    publish_workflow,
    read_traces,
    validate_workflow,
    write_synthesis_files,
)
from periplus.website_selection import list_websites

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
    validate: Annotated[
        int,
        typer.Option(
            "--validate", metavar="N", min=0, help="Run the workflow on the site with the values of N traces."
        ),
    ] = 0,
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
            help="An input for --validate, such as a secret; may be repeated.",
        ),
    ] = None,
    strategy: Annotated[
        SynthesisStrategy,
        typer.Option(
            help="How steps are classified: by rules, by a model only if the rules are not sure, or by a model."
        ),
    ] = SynthesisStrategy.RULE_BASED,
    judge: Annotated[bool, typer.Option("--judge", help="Let a model judge each trace first.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL", help="The language model; default: PERIPLUS_MODEL.", show_default=False
        ),
    ] = None,
    min_traces: Annotated[int, typer.Option(metavar="N", min=1, help="Minimum number of usable traces.")] = 1,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept",
            metavar="TRACE",
            help="Use a trace that was left out with a question: the application refused nothing that matters."
            " May be repeated.",
        ),
    ] = None,
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

    A trace in which the application seems to have refused something is left out with a question; --accept
    answers that it is good all the same.

    A workflow has success criteria: what all traces show at their end and none before it. A workflow without
    is only published with --unverified; its runs then end with the status `unverified`.

    Exit codes: 0 done, 1 validation failed or nothing tells whether it worked (nothing is published),
    2 an error to correct.
    """
    log_to_stderr()
    console = Console()
    given = parse_inputs(inputs or [])
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    read = read_foreign(traces, budget, read_traces, traces)
    judgement = SynthesisJudgement(
        strategy,
        "llm_judge" if judge else "exception_only",
        min_traces,
        model or load_settings().model,
        frozenset(accept or ()),
    )
    folder = out or Path("out") / f"synthesis-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    result = asyncio.run(induce_workflow(read, name, task, judgement))
    _print_traces(console, result, read)
    checked = ValidationResults()
    found = ScreensFound({}, {})
    if validate or publish or website is not None:
        stores = open_selected_stores(mongodb_url, arangodb_url)
        options = _SynthesizeOptions(
            validate, publish, replace, given, website, base_url, headed, unverified=unverified
        )
        result, checked, found = asyncio.run(_use_website(console, stores, result, read, folder, options))
    else:
        result = add_workflow_documents(result)
        _print_workflow(console, result)
    problems = {
        each.trace_id: tuple(each.metadata["problems"]) for each in read if each.metadata.get("problems")
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_synthesis_files(result, folder, found.new)
    write_synthesis_report(
        folder / "report.html",
        result,
        name=name,
        screens=found.told,
        problems=problems,
        validated=_format_validation(checked, validate),
        found=found,
    )
    console.print(f"  {escape(str(folder / 'report.html'))}", soft_wrap=True, highlight=False)
    no_evidence = publish and result.lowered is not None and not _has_evidence(result.lowered, unverified)
    if no_evidence or (validate and not checked.all_passed):
        raise typer.Exit(ExitCode.FAILED)


class _SynthesizeOptions:
    """The options of the command that need the website."""

    def __init__(
        self,
        validate: int,
        publish: bool,
        replace: bool,
        given: Mapping[str, str],
        website: str | None,
        base_url: str | None,
        headed: bool | None,
        *,
        unverified: bool,
    ) -> None:
        self.validate, self.publish, self.replace = validate, publish, replace
        self.unverified = unverified
        self.given, self.website, self.base_url, self.headed = given, website, base_url, headed


async def _use_website(
    console: Console,
    opening: object,
    result: PipelineResult,
    read: Sequence[ExecutionTrace],
    folder: Path,
    options: _SynthesizeOptions,
) -> tuple[PipelineResult, ValidationResults, ScreensFound]:
    """Find the screens, write the documents, validate and publish: everything that needs the knowledge base."""
    async with opening as stores:  # type: ignore[attr-defined]
        website_id, added = options.website, False
        if website_id is None or options.publish or options.validate:
            website_id, added = await select_recorded_website(
                stores, website_id, list_origins(read), options.base_url
            )
        if added:
            _print_lines(console, [f"[green]added[/] the website {escape(website_id)} to the knowledge base"])
        site = SynthesisSite(
            stores, website_id, options.base_url, options.headed, allow_unverified=options.unverified
        )
        found = await find_screens(stores, site.website_id, site.base_url, result)
        result = add_workflow_documents(result, found.by_step)
        _print_workflow(console, result)
        _print_lines(console, _format_screens(found))
        checked = ValidationResults()
        if options.validate:
            checked = await validate_workflow(
                site, result, options.validate, folder, options.given, found.new
            )
            _print_lines(console, _format_runs(checked))
        if options.publish and result.lowered is not None:
            reason = _find_reason_against(result.lowered, checked, options)
            if reason is not None:
                _print_lines(console, [f"[red]not published[/]: {reason}"])
            else:
                workflow_id = await publish_workflow(site, result.lowered, found.new, replace=options.replace)
                command = _format_run_command(workflow_id, result.lowered)
                if len(await list_websites(stores)) > 1:
                    command += f" --website {website_id}"
                count = len(found.new)
                new = f" with {count} new screen{'' if count == 1 else 's'}" if count else ""
                _print_lines(console, [f"[green]published[/]{new}: {escape(command)}"])
    return result, checked, found


def _format_run_command(workflow_id: str, lowered: WorkflowDocuments) -> str:
    """Return the command that runs the workflow, with its required inputs; secrets come from the environment."""
    wanted = [each for each in lowered.workflow.io_spec.inputs if each.required and each.default is None]
    secrets = [f"{secret_variable_name(each.name)}=..." for each in wanted if each.secret]
    inputs = [f"--input {each.name}=VALUE" for each in wanted if not each.secret]
    return " ".join([*secrets, f"periplus run {workflow_id}", *inputs])


def _has_evidence(lowered: WorkflowDocuments, unverified: bool) -> bool:
    """Whether its runs can show success, or need not."""
    return bool(lowered.workflow.success_criteria) or unverified


def _find_reason_against(
    lowered: WorkflowDocuments, checked: ValidationResults, options: _SynthesizeOptions
) -> str | None:
    """Return why a workflow is not published; None if it may be."""
    if not _has_evidence(lowered, options.unverified):
        return (
            "nothing in the traces tells whether the task worked, so every run would look like a success\n"
            "  -> record the task until the application shows its result, or publish it with --unverified"
        )
    return "validation failed" if options.validate and not checked.all_passed else None


def _print_lines(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def _format_screens(found: ScreensFound) -> list[str]:
    known = len(set(found.known.values()))
    lines = [f"screens: {known} known, {len(found.proposed)} new, {len(found.refused)} not derived"]
    for each in found.proposed:
        told = f"{each.screen.screen_id} ({each.screen.name}), step {each.numbers}: {each.evidence}"
        lines.append(f"  [green]new[/] {escape(told)}")
    for refused in found.refused:
        told = f"{refused.name}, step {refused.numbers}: {refused.reason}"
        lines.append(f"  [yellow]no screen[/] for {escape(told)}")
    return lines


def _format_runs(checked: ValidationResults) -> list[str]:
    lines = [f"validation: {sum(r.passed for r in checked.results)} of {len(checked.results)} runs passed"]
    lines += [f"  [red]{escape(each.error or 'it failed')}[/]" for each in checked.results if not each.passed]
    return lines


def _format_validation(checked: ValidationResults, asked: int) -> str:
    if not asked:
        return "Not validated on the site."
    return f"Validated on the site: {sum(r.passed for r in checked.results)} of {len(checked.results)} runs passed."


def _print_traces(console: Console, result: PipelineResult, read: list[ExecutionTrace]) -> None:
    """Print which traces are used. Raises `UserError` if no graph could be made of them."""
    failed = [each for each in result.evaluation_results if not each.passed]
    console.print(f"{len(read)} traces read, {len(read) - len(failed)} used", highlight=False)
    names = name_traces(read)
    for each in failed:
        name = names.get(each.trace_id, each.trace_id)
        reason = each.metadata.get("error") or ", ".join(each.failed_rules)
        console.print(f"  [yellow]{escape(name)}: {escape(str(reason))}[/]", soft_wrap=True, highlight=False)
        if ASKED in each.metadata:
            console.print(
                f"    -> if not, use it with --accept {escape(name)}",
                soft_wrap=True,
                highlight=False,
            )
    for trace in read:
        for problem in trace.metadata.get("problems", ()):
            console.print(
                f"  [yellow]{escape(trace.trace_id)}: {escape(problem)}[/]", soft_wrap=True, highlight=False
            )
    if result.graph is None:
        raise UserError(result.error or "no workflow could be made of the traces", fix="look at the traces")


def _print_workflow(console: Console, result: PipelineResult) -> None:
    """Print what the workflow consists of, its inputs and what was left open."""
    report, lowered = result.synthesis_report, result.lowered
    if report is None or lowered is None:
        return
    console.print(
        f"[bold]{escape(lowered.workflow.workflow_id)}[/]: {report.deterministic_count} constant steps,"
        f" {report.parameterizable_count} with inputs, {report.optional_count} optional, {report.loop_count} loops,"
        f" {report.branch_count} branches, {report.agent_node_count} agent steps",
        highlight=False,
        soft_wrap=True,
    )
    if result.graph is not None:
        for line in list_step_lines(result.graph):
            console.print(f"  {escape(line)}", soft_wrap=True, highlight=False)
    inputs = lowered.workflow.io_spec.inputs
    if inputs:
        table = Table("input", "description", box=None, header_style="dim")
        for spec in inputs:
            more = (" (secret)" if spec.secret else "") + ("" if spec.required else " (optional)")
            table.add_row(spec.name, spec.description + more)
        console.print(table)
    for text in (*report.refusals, *lowered.notes):
        console.print(f"  [yellow]{escape(text)}[/]", soft_wrap=True, highlight=False)
