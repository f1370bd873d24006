"""`periplus runs`: list runs, show one run, show averages, and list unanswered questions of visitors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from agent.presentation.visitor.visitor_analytics import DemoVisit, SegmentVisit
from kb_schema.run_records import Artifact, Metric, RunStatus, StoredRun, StoredStep
from periplus.commands.command_output import AsJson
from periplus.commands.id_completion import complete_runs
from periplus.commands.runs_answer import answer
from periplus.commands.runs_leads import leads
from periplus.demos.demo_measurements import UnansweredRequest, list_unanswered, read_visit
from periplus.run_store_adapters import LAST, find_run, open_run_store
from periplus.runs.run_averages import RunAverages, average_runs
from periplus.settings import load_settings
from periplus.store_selection import MongoUrl
from periplus.terminal.command_console import CommandConsole

_STYLES = {
    "success": "green",
    "unverified": "yellow",
    "partial": "yellow",
    "degraded": "yellow",
    "needs_person": "yellow",
    "skipped": "yellow",
    "failure": "red",
    "failed": "red",
}
_SENTENCES = {
    RunStatus.SUCCESS: "Verified: the expected result was observed.",
    RunStatus.UNVERIFIED: "Done, not verified: nothing seen in the application shows that it worked.",
    RunStatus.PARTIAL: "Done in part.",
    RunStatus.DEGRADED: "Done, with steps left out.",
    RunStatus.NEEDS_PERSON: "It needs a person to go on.",
    RunStatus.FAILURE: "Failed.",
    None: "Not finished.",
}
"""A run's status as a sentence."""
_LONGEST = 200
_HEADINGS = ("run", "what", "website", "started", "took", "outcome", "steps")
_WIDE = 100
"""The columns of a terminal from which the list has all headings."""

app = typer.Typer(
    help="List runs, show one run, show averages, and list visitors' unanswered questions.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

OfWebsite = Annotated[
    str | None, typer.Option("--website", "-w", metavar="ID", help="Only runs of this website.")
]

app.command("answer")(answer)
app.command("leads")(leads)

out = CommandConsole()


@dataclass(frozen=True, slots=True)
class _RunWithRecords:
    """A run with its steps, artifacts and metrics."""

    run: StoredRun
    steps: tuple[StoredStep, ...]
    artifacts: tuple[Artifact, ...]
    metrics: tuple[Metric, ...]
    visit: DemoVisit
    """The visitor's actions in a demo; empty for other runs."""


@app.command("list")
def list_(
    *,
    website: OfWebsite = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=10_000, help="Maximum number of runs.")
    ] = 20,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
) -> None:
    """List runs, the newest first.

    Example: [cyan]periplus runs list --website spadeworks[/]

    Runs are deleted after the website's [bold]retention_days[/].
    """
    runs, counts = asyncio.run(_list(website, limit, mongodb_url))
    if as_json:
        typer.echo(
            _json([{**run.model_dump(mode="json"), "steps": counts.get(run.run_id, 0)} for run in runs])
        )
        return
    if not runs:
        where = f" of {website}" if website else ""
        out.print(f"no runs{escape(where)} yet; start one with `periplus demo` or `periplus run TASK`")
        return
    table = Table(box=None, header_style="dim")
    narrow = out.width < _WIDE
    headings = ("run", "what", "started", "outcome") if narrow else _HEADINGS
    for heading in headings:
        table.add_column(heading, no_wrap=heading != "outcome", overflow="ellipsis")
    for run in runs:
        cells = {
            "run": escape(run.run_id),
            "what": f"{run.kind} [bold]{escape(run.subject)}[/]{_format_version(run)}",
            "website": escape(run.website_id),
            "started": _format_moment(run.started_at),
            "took": _format_duration(run.duration_ms),
            "outcome": _outcome(run),
            "steps": str(counts.get(run.run_id, 0)),
        }
        table.add_row(*(cells[heading] for heading in headings))
    out.print(table, highlight=False)


@app.command()
def show(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            autocompletion=complete_runs,
            help=f"A run's id, a prefix of it, or [bold]{LAST}[/].",
            show_default=False,
        ),
    ],
    *,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
) -> None:
    """Show one run: its steps, outputs, artifacts and metrics.

    Example: [cyan]periplus runs show last[/]
    """
    whole = asyncio.run(_show(run, mongodb_url))
    if as_json:
        typer.echo(
            _json(
                {
                    **whole.run.model_dump(mode="json"),
                    "steps": [step.model_dump(mode="json") for step in whole.steps],
                    "artifacts": [artifact.model_dump(mode="json") for artifact in whole.artifacts],
                    "metrics": [metric.model_dump(mode="json") for metric in whole.metrics],
                    **({"visit": whole.visit.to_json()} if whole.run.kind == "demo" else {}),
                }
            )
        )
        return
    _print_run(whole)


@app.command()
def questions(
    *,
    website: OfWebsite = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1_000, help="Number of runs to search.")
    ] = 50,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
) -> None:
    """List questions and requests of demo visitors that the knowledge base could not answer.

    Example: [cyan]periplus runs questions --website spadeworks[/]

    The visitors' words are stored only if [bold]PERIPLUS_VISITOR_RETENTION_DAYS[/] is set.
    """
    found = asyncio.run(_questions(website, limit, mongodb_url))
    if as_json:
        typer.echo(_json([{**asdict(each), "at": each.at.isoformat()} for each in found]))
        return
    if not found:
        out.print("no unanswered questions")
        return
    table = Table(box=None, header_style="dim")
    for heading in ("", "when", "words", "why", "demo", "run"):
        table.add_column(heading, no_wrap=heading in ("", "when", "run"), overflow="fold")
    for number, each in enumerate(found, start=1):
        words = "[dim]not stored[/]" if each.words is None else escape(each.words)
        table.add_row(
            str(number),
            _format_moment(each.at),
            words,
            escape(each.reason.replace("_", " ")),
            escape(each.flow_id),
            each.run_id,
        )
    out.print(table, highlight=False)
    if load_settings().visitor_retention_days == 0:
        out.print("[dim]The visitors' words are not stored: PERIPLUS_VISITOR_RETENTION_DAYS is 0.[/]")
    else:
        out.print('[dim]To answer one: periplus runs answer NUMBER "ANSWER"[/]', highlight=False)


@app.command()
def averages(
    *,
    website: OfWebsite = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=10_000, help="Number of runs, the newest first.")
    ] = 100,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
) -> None:
    """Show the mean of every metric over runs of tasks and workflows.

    Example: [cyan]periplus runs averages --website spadeworks[/]

    A rate is the share of the runs for which it holds.
    """
    found = asyncio.run(_averages(website, limit, mongodb_url))
    if as_json:
        typer.echo(_json({"runs": found.runs, "means": dict(found.means)}))
        return
    if not found.runs:
        out.print("no run with metrics yet; start one with `periplus run TASK`")
        return
    out.print(f"means of {found.runs} run{'' if found.runs == 1 else 's'}", highlight=False)
    _format_list("metrics", [(name, f"{value:g}") for name, value in found.means.items()])


# -- queries ---------------------------------------------------------------------------------------


async def _list(
    website: str | None, limit: int, mongodb_url: str | None
) -> tuple[list[StoredRun], dict[str, int]]:
    async with open_run_store(mongodb_url) as store:
        runs = list(await store.runs(website_id=website, limit=limit))
        return runs, dict(await store.step_counts([run.run_id for run in runs]))


async def _show(wanted: str, mongodb_url: str | None) -> _RunWithRecords:
    async with open_run_store(mongodb_url) as store:
        run = await find_run(store, wanted)
        return _RunWithRecords(
            run,
            tuple(await store.steps(run.run_id)),
            tuple(await store.artifacts(run.run_id)),
            tuple(await store.metrics(run.run_id)),
            await read_visit(store, run.run_id) if run.kind == "demo" else DemoVisit(),
        )


async def _averages(website: str | None, limit: int, mongodb_url: str | None) -> RunAverages:
    async with open_run_store(mongodb_url) as store:
        return await average_runs(store, website, limit)


async def _questions(website: str | None, limit: int, mongodb_url: str | None) -> list[UnansweredRequest]:
    async with open_run_store(mongodb_url) as store:
        return await list_unanswered(store, website, limit=limit)


# -- output ----------------------------------------------------------------------------------------


def _print_run(whole: _RunWithRecords) -> None:
    run = whole.run
    out.print(
        f"[bold]{escape(run.subject)}[/] ({run.kind}) on {escape(run.website_id)}, run {escape(run.run_id)}",
        highlight=False,
        soft_wrap=True,
    )
    took = f", took {_format_duration(run.duration_ms)}" if run.duration_ms is not None else ""
    style = "yellow" if run.status is None else _STYLES.get(run.status, "red")
    out.print(
        f"[{style}]{_SENTENCES[run.status]}[/] Started {_format_moment(run.started_at)}{took}.",
        highlight=False,
        soft_wrap=True,
    )
    out.print(f"[dim]{escape(run.url)}[/]", highlight=False, soft_wrap=True)
    if run.workflow_version:
        out.print(f"workflow version {escape(run.workflow_version)}", highlight=False)
    if run.req_id:
        out.print(f"requirement {escape(run.req_id)}: {run.verdict or 'no verdict yet'}", highlight=False)
    for text, style in ((run.error, "red"), (run.rca_message, "red"), (run.hint, "green")):
        if text:
            arrow = "-> " if style == "green" else ""
            out.print(f"  [{style}]{arrow}{escape(text)}[/]", highlight=False, soft_wrap=True)
    if whole.steps:
        out.print()
        for step in whole.steps:
            _print_step(step)
    if whole.run.kind == "demo":
        _format_list("segments", [(s.segment_id, _segment(s)) for s in whole.visit.segments])
        _format_list("visitor", list(_visitor(whole.visit)))
    _format_list("outputs", [(name, _shorten(value)) for name, value in run.outputs.items()])
    _format_list("metrics", [(each.metric_name, _format_metric(each)) for each in whole.metrics])
    _format_list(
        "files",
        [
            (artifact.name, f"{_size(artifact.size_bytes)}  {artifact.file_path or artifact.content_ref}")
            for artifact in whole.artifacts
        ],
    )


def _print_step(step: StoredStep) -> None:
    """Print a step as one line: its id, what it did where, how long it took and how it ended."""
    style = _STYLES.get(step.status, "green")
    healed = f", element found again {step.heal_round}x" if step.heal_round else ""
    said = f": {step.error_message}" if step.error_message else ""
    target = step.element or step.selector
    what = step.action.replace("_", " ") + (f" {_shorten(target)}" if target else "")
    where = f" on {step.screen_id}" if step.screen_id else ""
    out.print(
        f"{step.step_idx + 1:>3}. [{style}]{step.status}[/]  [dim]{escape(step.task_id)}.[/]{escape(step.step_id)}: "
        f"{escape(what + where)}, {_format_duration(step.duration_ms)}{healed}{escape(said)}",
        highlight=False,
        soft_wrap=True,
    )


def _segment(segment: SegmentVisit) -> str:
    took = "" if segment.seconds is None else f" in {_format_duration(segment.seconds * 1_000)}"
    why = f": {segment.reason}" if segment.reason else ""
    return f"{segment.status}{took}{why}"


def _visitor(visit: DemoVisit) -> Iterator[tuple[str, str]]:
    """Yield the visitor's actions as label and text; nothing without a visitor."""
    if not visit.came:
        return
    if visit.introduced:
        yield "name", visit.name or "given, not stored"
    if visit.interruptions:
        slowest = max(visit.stopped_after_s) * 1_000
        yield "interrupted", f"{visit.interruptions} times; silent within {slowest:.0f} ms"
    if visit.requests:
        yield "wanted", ", ".join(f"{kind} {count}x" for kind, count in visit.requests.most_common())
    if visit.paces:
        yield "pace", ", ".join(f"{pace:g}" for pace in visit.paces)
    for topic, wanted in visit.interests.items():
        yield "interested in" if wanted else "not interested in", topic
    for question in visit.questions:
        words = question.words or "(not stored)"
        if question.answered:
            yield (
                "asked",
                words + (f", answered from {', '.join(question.sources)}" if question.sources else ""),
            )
        else:
            yield "unanswered", f"{words}: {question.reason.replace('_', ' ')}"


def _format_list(heading: str, rows: list[tuple[str, str]]) -> None:
    if not rows:
        return
    out.print()
    out.print(f"[dim]{heading}[/]")
    for name, text in rows:
        out.print(f"  {escape(name)}  {escape(text)}", highlight=False, soft_wrap=True)


def _format_version(run: StoredRun) -> str:
    """Return the version of a workflow; empty for other runs."""
    return f" version {escape(run.workflow_version)}" if run.workflow_version else ""


def _outcome(run: StoredRun) -> str:
    if run.status is None:
        return "[yellow]not finished[/]"
    word = "needs a person" if run.status is RunStatus.NEEDS_PERSON else run.status.value
    return f"[{_STYLES.get(run.status, 'red')}]{word}[/], {run.evidence}"


def _format_metric(metric: Metric) -> str:
    """Return the value with the unit that the metric's name states: `_ms`, `_s` or `_share`."""
    if metric.metric_name.endswith("_ms"):
        return _format_duration(metric.metric_value)
    if metric.metric_name.endswith("_s"):
        return _format_duration(metric.metric_value * 1_000)
    return f"{metric.metric_value:g}"


def _format_moment(moment: datetime) -> str:
    """Return a moment in local time; without the date if it is today."""
    local, today = moment.astimezone(), datetime.now(UTC).astimezone().date()
    return f"today {local:%H:%M}" if local.date() == today else f"{local:%Y-%m-%d %H:%M}"


def _format_duration(duration_ms: float | None) -> str:
    if duration_ms is None:
        return "-"
    seconds = duration_ms / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def _size(size: int) -> str:
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1_000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)
