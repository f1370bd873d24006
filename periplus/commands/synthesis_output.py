"""What `synthesize`, `collect --synthesize` and `refine` have in common: make a workflow of traces, print what was made,
validate and publish it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agent.execution.values.secret_vaults import secret_variable_name
from agent.synthesis.graph.graph_validation import ValidationResults
from agent.synthesis.synthesis_pipeline import PipelineResult
from agent.synthesis.traces.trace_evaluation import ASKED
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema.execution_traces import ExecutionTrace, name_traces
from kb_store import Stores
from periplus.errors import UserError
from periplus.recorded_websites import find_websites_at, select_recorded_website
from periplus.store_selection import open_selected_stores
from periplus.synthesis.proposed_screens import ScreensFound, find_screens
from periplus.synthesis.shown_sentences import build_documents
from periplus.synthesis.step_words import list_step_lines
from periplus.synthesis.synthesis_report import write_synthesis_report
from periplus.synthesis.workflow_synthesis import (
    SynthesisJudgement,
    SynthesisSite,
    induce_workflow,
    list_origins,
    publish_workflow,
    write_rejected_traces,
    write_synthesis_files,
)
from periplus.synthesis.workflow_traces import note_workflow_traces
from periplus.synthesis.workflow_validation import (
    USUAL_RUNS,
    describe_validation,
    find_reason_not_to_validate,
    validate_workflow,
)
from periplus.website_selection import list_websites


@dataclass(frozen=True, slots=True)
class WorkflowRequest:
    """What to make of traces."""

    name: str
    task: str = ""
    judgement: SynthesisJudgement = field(default_factory=SynthesisJudgement)
    validate: int | None = None
    """Runs on the website; 0: none; None: `USUAL_RUNS` if the task may be repeated."""
    publish: bool = False
    replace: bool = False
    unverified: bool = False
    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Inputs for validation."""
    website: str | None = None
    base_url: str | None = None
    headed: bool | None = None
    out: Path | None = None
    mongodb_url: str | None = None
    arangodb_url: str | None = None


@dataclass(frozen=True, slots=True)
class MadeWorkflow:
    """What was made of traces."""

    result: PipelineResult
    checked: ValidationResults
    failed: bool
    """A validation run differed, or nothing tells whether the workflow worked and it was to be published."""


@dataclass(slots=True)
class _SiteResult:
    result: PipelineResult
    checked: ValidationResults = field(default_factory=ValidationResults)
    found: ScreensFound = field(default_factory=lambda: ScreensFound({}, {}))
    reason: str | None = None
    """Why the workflow was not run on the website."""


def make_workflow(console: Console, read: Sequence[ExecutionTrace], request: WorkflowRequest) -> MadeWorkflow:
    """Make a workflow of traces, validate and publish it as requested, and write its files. Raises `UserError`."""
    folder = request.out or Path("out") / f"synthesis-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    try:
        result = asyncio.run(induce_workflow(read, request.name, request.task, request.judgement))
    except UserError as exc:
        file = write_rejected_traces(exc, folder)
        if file is not None:
            console.print(
                f"  why each trace was left out: {escape(str(file))}", soft_wrap=True, highlight=False
            )
        raise
    _print_traces(console, result, list(read))
    made = asyncio.run(_use_website(console, result, read, folder, request))
    problems = {
        each.trace_id: tuple(each.metadata["problems"]) for each in read if each.metadata.get("problems")
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_synthesis_files(made.result, folder, made.found.new)
    write_synthesis_report(
        folder / "report.html",
        made.result,
        name=request.name,
        screens=made.found.told,
        problems=problems,
        validated=describe_validation(made.checked, made.reason),
        found=made.found,
    )
    console.print(f"  {escape(str(folder / 'report.html'))}", soft_wrap=True, highlight=False)
    lowered = made.result.lowered
    no_evidence = request.publish and lowered is not None and not _has_evidence(lowered, request.unverified)
    return MadeWorkflow(made.result, made.checked, no_evidence or not made.checked.all_passed)


async def _use_website(
    console: Console,
    result: PipelineResult,
    read: Sequence[ExecutionTrace],
    folder: Path,
    request: WorkflowRequest,
) -> _SiteResult:
    """Find the screens, write the documents, validate and publish: everything that needs the knowledge base."""
    if request.validate == 0 and not request.publish and request.website is None:
        made = _SiteResult(build_documents(result), reason="not requested")
        _print_workflow(console, made.result)
        return made
    async with open_selected_stores(request.mongodb_url, request.arangodb_url) as stores:
        website_id, added = await _select_website(stores, read, request)
        if website_id is None:
            made = _SiteResult(
                build_documents(result),
                reason="the knowledge base does not have the website; --website ID adds it",
            )
            _print_workflow(console, made.result)
            _print_lines(console, map(escape, describe_validation(made.checked, made.reason)))
            return made
        if added:
            _print_lines(console, [f"[green]added[/] the website {escape(website_id)} to the knowledge base"])
        site = SynthesisSite(
            stores, website_id, request.base_url, request.headed, allow_unverified=request.unverified
        )
        found = await find_screens(stores, site.website_id, site.base_url, result)
        made = _SiteResult(build_documents(result, found.by_step), found=found)
        _print_workflow(console, made.result)
        _print_lines(console, _format_screens(found))
        await _validate(made, site, folder, request)
        _print_validation(console, made)
        await _publish(console, stores, made, site, read, request)
    return made


async def _select_website(
    stores: Stores, read: Sequence[ExecutionTrace], request: WorkflowRequest
) -> tuple[str | None, bool]:
    """Return the website, and whether it was added; None if it is not known and nothing was asked of it."""
    origins = list_origins(read)
    asked = request.publish or request.validate is not None or request.website is not None
    if not asked and request.base_url is None and len(await find_websites_at(stores, origins)) != 1:
        return None, False
    return await select_recorded_website(stores, request.website, origins, request.base_url)


async def _validate(made: _SiteResult, site: SynthesisSite, folder: Path, request: WorkflowRequest) -> None:
    """Run the workflow on the website, or note why not."""
    count = USUAL_RUNS if request.validate is None else request.validate
    if count == 0:
        made.reason = "not requested"
        return
    if request.validate is None:
        made.reason = await find_reason_not_to_validate(site, made.result, request.given)
        if made.reason is not None:
            made.reason += f"; --validate {USUAL_RUNS} runs it all the same"
            return
    made.checked = await validate_workflow(
        site, made.result, count, folder, request.given, made.found.new, request.judgement
    )


def _print_validation(console: Console, made: _SiteResult) -> None:
    first, *apart = describe_validation(made.checked, made.reason)
    _print_lines(console, [escape(first), *(f"  [red]{escape(each)}[/]" for each in apart)])


async def _publish(
    console: Console,
    stores: Stores,
    made: _SiteResult,
    site: SynthesisSite,
    read: Sequence[ExecutionTrace],
    request: WorkflowRequest,
) -> None:
    lowered = made.result.lowered
    if not request.publish or lowered is None:
        return
    reason = _find_reason_against(lowered, made.checked, request)
    if reason is not None:
        _print_lines(console, [f"[red]not published[/]: {reason}"])
        return
    ids = () if made.result.aligned is None else made.result.aligned.trace_ids
    used = [each for each in read if each.trace_id in ids]
    told: list[str] = []
    workflow_id = await publish_workflow(
        site, lowered, made.found.new, replace=request.replace, traces=used, tell=told.append
    )
    _print_lines(console, map(escape, told))
    note_workflow_traces(site.website_id, workflow_id, request.task, used)
    command = _format_run_command(workflow_id, lowered)
    if len(await list_websites(stores)) > 1:
        command += f" --website {site.website_id}"
    count = len(made.found.new)
    new = f" with {count} new screen{'' if count == 1 else 's'}" if count else ""
    _print_lines(console, [f"[green]published[/]{new}: {escape(command)}"])


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
    lowered: WorkflowDocuments, checked: ValidationResults, request: WorkflowRequest
) -> str | None:
    """Return why a workflow is not published; None if it may be."""
    if not _has_evidence(lowered, request.unverified):
        return (
            "nothing in the traces tells whether the task worked, so every run would look like a success\n"
            "  -> record the task until the application shows its result, or publish it with --unverified"
        )
    return None if checked.all_passed else "validation failed"


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


def _print_traces(console: Console, result: PipelineResult, read: list[ExecutionTrace]) -> None:
    """Print which traces are used. Raises `UserError` if no graph could be made of them."""
    failed = [each for each in result.evaluation_results if not each.passed]
    console.print(f"{len(read)} traces read, {len(read) - len(failed)} used", highlight=False)
    names = name_traces(read)
    for each in failed:
        name = names.get(each.trace_id, each.trace_id)
        console.print(f"  [yellow]{escape(name)}: {escape(each.reason)}[/]", soft_wrap=True, highlight=False)
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
    """Print what the workflow consists of, its inputs, what was left open and what is doubtful."""
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
            table.add_row(spec.name, escape(spec.description) + more)
        console.print(table)
    for text in dict.fromkeys((*report.refusals, *lowered.notes, *report.warnings)):
        console.print(f"  [yellow]{escape(text)}[/]", soft_wrap=True, highlight=False)
