"""`periplus synthesize`: traces of one task become one workflow, tried out and published."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agent.synthesis.config import SynthesisStrategy
from agent.synthesis.pipeline import PipelineResult
from agent.synthesis.validating import ValidationResults
from kb_schema.traces import ExecutionTrace
from periplus.commands.on_a_site import BaseUrl, Headed, WebsiteId, read_inputs
from periplus.errors import UserError
from periplus.logs import to_stderr
from periplus.proposed_screens import ScreensFound, screens_found
from periplus.settings import load_settings
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen
from periplus.synthesis_report import write_report
from periplus.synthesizing import Judgement, Site, induced, placed, published, read_traces, validated, written
from periplus.websites import which_website

EXIT_FAILED = 1

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def synthesize(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACES...", help="Folders of traces, or folders of such.", show_default=False
        ),
    ],
    *,
    name: Annotated[str, typer.Option(help="What the workflow is called; its id is formed from it.")],
    task: Annotated[str, typer.Option(help="What it does, in words; else as the traces say.")] = "",
    validate: Annotated[
        int,
        typer.Option("--validate", metavar="N", min=0, help="Run it on the site with what N traces show."),
    ] = 0,
    publish: Annotated[bool, typer.Option("--publish", help="Make it part of the knowledge.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Another workflow of that name gives way.")
    ] = False,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="NAME=VALUE", help="For --validate; secrets are in no trace."),
    ] = None,
    strategy: Annotated[
        SynthesisStrategy,
        typer.Option(
            help="Who decides what a step becomes: rules, a model where rules are not sure, a model."
        ),
    ] = SynthesisStrategy.RULE_BASED,
    judge: Annotated[bool, typer.Option("--judge", help="Have a model judge each trace first.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL", help="The model for these; else PERIPLUS_MODEL.", show_default=False
        ),
    ] = None,
    min_traces: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many traces have to be good enough.")
    ] = 1,
    website: WebsiteId = None,
    base_url: BaseUrl = None,
    headed: Headed = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for reports and documents.")] = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Make a workflow of traces that show the same task.

    [bold]periplus synthesize out/traces/add-* --name "Add an agent" --validate 2 --publish[/]
    [bold]periplus run Add_an_agent --input name=Ada[/]

    Values that differ become inputs, repeated stretches loops, ways that part forks with the condition
    that tells them apart. What nothing in the traces decides is not guessed: it is left to an agent step,
    and the report says so. Pages that are no known screen become new ones where their traces tell them
    apart; `--publish` adds them with the workflow. `report.html` shows the traces side by side and what became of each step.

    Exit code 0 done, 1 validation failed (then nothing is published), 2 something to put right.
    """
    to_stderr()
    console = Console()
    given = read_inputs(inputs or [])
    read = read_traces(traces)
    judgement = Judgement(
        strategy, "llm_judge" if judge else "exception_only", min_traces, model or load_settings().model
    )
    folder = out or Path("out") / f"synthesis-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    folder.mkdir(parents=True, exist_ok=True)
    result = asyncio.run(induced(read, name, task, judgement))
    _tell(console, result, read)
    checked = ValidationResults()
    found = ScreensFound({}, {})
    if validate or publish or website is not None:
        stores = open_chosen(mongodb_url, arangodb_url)
        asked = _Asked(validate, publish, replace, given, website, base_url, headed)
        result, checked, found, told = asyncio.run(_on_the_site(stores, result, folder, asked))
        for line in told:
            console.print(line, soft_wrap=True, highlight=False)
    problems = {
        each.trace_id: tuple(each.metadata["problems"]) for each in read if each.metadata.get("problems")
    }
    written(result, folder, found.new)
    write_report(
        folder / "report.html", result, name=name, screens=found.told, problems=problems,
        validated=_told_validation(checked, validate), found=found,
    )  # fmt: skip
    console.print(f"  {escape(str(folder / 'report.html'))}", soft_wrap=True, highlight=False)
    if validate and not checked.all_passed:
        raise typer.Exit(EXIT_FAILED)


class _Asked:
    """What was asked for beside the workflow itself."""

    def __init__(
        self, validate: int, publish: bool, replace: bool, given: Mapping[str, str], website: str | None,
        base_url: str | None, headed: bool | None,
    ) -> None:  # fmt: skip
        self.validate, self.publish, self.replace = validate, publish, replace
        self.given, self.website, self.base_url, self.headed = given, website, base_url, headed


async def _on_the_site(
    opening: object, result: PipelineResult, folder: Path, asked: _Asked
) -> tuple[PipelineResult, ValidationResults, ScreensFound, list[str]]:
    """Screens, validation and publishing: what needs the knowledge."""
    told: list[str] = []
    async with opening as stores:  # type: ignore[attr-defined]
        known = sorted(generation.website_id for generation in await stores.documents.websites())
        site = Site(stores, which_website(asked.website, known), asked.base_url, asked.headed)
        found = await screens_found(stores, site.website_id, site.base_url, result)
        result = placed(result, found)
        told += _told_screens(found)
        checked = ValidationResults()
        if asked.validate:
            checked = await validated(site, result, asked.validate, folder, asked.given, found.new)
            told += _told_runs(checked)
        if asked.publish and result.lowered is not None:
            if asked.validate and not checked.all_passed:
                told.append("[red]not published[/]: validation failed")
            else:
                workflow_id = await published(site, result.lowered, found.new, replace=asked.replace)
                count = len(found.new)
                new = f" with {count} new screen{'' if count == 1 else 's'}" if count else ""
                told.append(f"[green]published[/]{new}: periplus run {escape(workflow_id)}")
    return result, checked, found, told


def _told_screens(found: ScreensFound) -> list[str]:
    known = len(set(found.known.values()))
    lines = [f"screens: {known} known, {len(found.proposed)} new, {len(found.refused)} not told"]
    for each in found.proposed:
        told = f"{each.screen.screen_id} ({each.screen.name}), step {each.numbers}: {each.evidence}"
        lines.append(f"  [green]new[/] {escape(told)}")
    for refused in found.refused:
        told = f"{refused.name}, step {refused.numbers}: {refused.reason}"
        lines.append(f"  [yellow]no screen[/] for {escape(told)}")
    return lines


def _told_runs(checked: ValidationResults) -> list[str]:
    lines = [f"validation: {sum(r.passed for r in checked.results)} of {len(checked.results)} runs passed"]
    lines += [f"  [red]{escape(each.error or 'it failed')}[/]" for each in checked.results if not each.passed]
    return lines


def _told_validation(checked: ValidationResults, asked: int) -> str:
    if not asked:
        return "It was not run on the site."
    return f"Run on the site: {sum(r.passed for r in checked.results)} of {len(checked.results)} passed."


def _tell(console: Console, result: PipelineResult, read: list[ExecutionTrace]) -> None:
    failed = [each for each in result.evaluation_results if not each.passed]
    console.print(f"{len(read)} traces read, {len(read) - len(failed)} used", highlight=False)
    for each in failed:
        reason = each.metadata.get("error") or ", ".join(each.failed_rules)
        console.print(
            f"  [yellow]{escape(each.trace_id)}: {escape(str(reason))}[/]", soft_wrap=True, highlight=False
        )
    for trace in read:
        for problem in trace.metadata.get("problems", ()):
            console.print(
                f"  [yellow]{escape(trace.trace_id)}: {escape(problem)}[/]", soft_wrap=True, highlight=False
            )
    report, lowered = result.synthesis_report, result.lowered
    if report is None or lowered is None:
        raise UserError(result.error or "nothing came of it", fix="look at the traces")
    console.print(
        f"[bold]{escape(lowered.workflow.workflow_id)}[/]: {report.deterministic_count} steps the same every time,"
        f" {report.parameterizable_count} with inputs, {report.optional_count} optional, {report.loop_count} loops,"
        f" {report.branch_count} forks, {report.agent_node_count} left to an agent",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    inputs = lowered.workflow.io_spec.inputs
    if inputs:
        table = Table("input", "what it is", box=None, header_style="dim")
        for spec in inputs:
            more = (" (secret)" if spec.secret else "") + ("" if spec.required else " (not for every run)")
            table.add_row(spec.name, spec.description + more)
        console.print(table)
    for text in (*report.refusals, *lowered.notes):
        console.print(f"  [yellow]{escape(text)}[/]", soft_wrap=True, highlight=False)
