"""`periplus runs`: what was run, how it came out, and what it left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agent.presenting.analytics import SegmentVisit, Visit
from kb_schema.runs import Artifact, Metric, RunStatus, StoredRun, StoredStep
from periplus.logbook import LAST, find_run, open_logbook
from periplus.presenting_events import Unanswered, unanswered, visit_of
from periplus.settings import load_settings
from periplus.shelves import MongoUrl

_STYLES = {
    "success": "green",
    "partial": "yellow",
    "degraded": "yellow",
    "needs_person": "yellow",
    "skipped": "yellow",
    "failure": "red",
    "failed": "red",
}
_LONGEST = 200

app = typer.Typer(
    help="What was run, how it came out, and what it left.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

OfWebsite = Annotated[str | None, typer.Option("--website", "-w", metavar="ID", help="Only of this website.")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")]

out = Console()


@dataclass(frozen=True, slots=True)
class _Whole:
    """A run with all that belongs to it."""

    run: StoredRun
    steps: tuple[StoredStep, ...]
    artifacts: tuple[Artifact, ...]
    metrics: tuple[Metric, ...]
    visit: Visit
    """What a demo's visitor did; of any other run: nothing."""


@app.command("list")
def list_(
    *,
    website: OfWebsite = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
) -> None:
    """List runs, the newest first.

    Example: [cyan]periplus runs list --website spadeworks[/]

    How long they are kept is the website's [bold]retention_days[/].
    """
    runs, counts = asyncio.run(_list(website, limit, mongodb_url))
    if as_json:
        typer.echo(
            _json([{**run.model_dump(mode="json"), "steps": counts.get(run.run_id, 0)} for run in runs])
        )
        return
    if not runs:
        where = f" of {website}" if website else ""
        out.print(f"no runs{escape(where)} yet: `periplus demo` or `periplus run TASK` makes one")
        return
    table = Table(box=None, header_style="dim")
    for heading in ("run", "what", "website", "started", "took", "outcome"):
        table.add_column(heading, no_wrap=heading in ("run", "started", "took"), overflow="fold")
    table.add_column("steps", justify="right")
    for run in runs:
        table.add_row(
            escape(run.run_id),
            f"{run.kind} [bold]{escape(run.subject)}[/]",
            escape(run.website_id),
            _when(run.started_at),
            _took(run.duration_ms),
            _outcome(run),
            str(counts.get(run.run_id, 0)),
        )
    out.print(table, highlight=False)


@app.command()
def show(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help=f"A run's id, its beginning, or [bold]{LAST}[/].", show_default=False
        ),
    ],
    *,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
) -> None:
    """Show one run: its steps, its outputs and what it left.

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
    _tell(whole)


@app.command()
def questions(
    *,
    website: OfWebsite = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000, help="Of so many runs.")] = 50,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
) -> None:
    """List what visitors of demos wanted and did not get: what to put into the knowledge next.

    Example: [cyan]periplus runs questions --website spadeworks[/]

    Their words are only kept where [bold]PERIPLUS_VISITOR_RETENTION_DAYS[/] says for how many days.
    """
    found = asyncio.run(_questions(website, limit, mongodb_url))
    if as_json:
        typer.echo(_json([{**asdict(each), "at": each.at.isoformat()} for each in found]))
        return
    if not found:
        out.print("nothing was asked that could not be answered")
        return
    table = Table(box=None, header_style="dim")
    for heading in ("when", "words", "why", "demo", "run"):
        table.add_column(heading, no_wrap=heading in ("when", "run"), overflow="fold")
    for each in found:
        words = "[dim]not kept[/]" if each.words is None else escape(each.words)
        table.add_row(
            _when(each.at), words, escape(each.reason.replace("_", " ")), escape(each.flow_id), each.run_id
        )
    out.print(table, highlight=False)
    if load_settings().visitor_retention_days == 0:
        out.print("[dim]What visitors say is not kept: PERIPLUS_VISITOR_RETENTION_DAYS is 0.[/]")


# -- asking ----------------------------------------------------------------------------------------


async def _list(
    website: str | None, limit: int, mongodb_url: str | None
) -> tuple[list[StoredRun], dict[str, int]]:
    async with open_logbook(mongodb_url) as store:
        runs = list(await store.runs(website_id=website, limit=limit))
        return runs, dict(await store.step_counts([run.run_id for run in runs]))


async def _show(wanted: str, mongodb_url: str | None) -> _Whole:
    async with open_logbook(mongodb_url) as store:
        run = await find_run(store, wanted)
        return _Whole(
            run,
            tuple(await store.steps(run.run_id)),
            tuple(await store.artifacts(run.run_id)),
            tuple(await store.metrics(run.run_id)),
            await visit_of(store, run.run_id) if run.kind == "demo" else Visit(),
        )


async def _questions(website: str | None, limit: int, mongodb_url: str | None) -> list[Unanswered]:
    async with open_logbook(mongodb_url) as store:
        return await unanswered(store, website, limit=limit)


# -- telling ---------------------------------------------------------------------------------------


def _tell(whole: _Whole) -> None:
    run = whole.run
    out.print(f"[bold]{escape(run.subject)}[/] ({run.kind}) on {escape(run.website_id)}, run {escape(run.run_id)}",
              highlight=False, soft_wrap=True)  # fmt: skip
    took = f", {_took(run.duration_ms)}" if run.duration_ms is not None else ""
    out.print(f"{_outcome(run)}{took}, started {_when(run.started_at)}", highlight=False, soft_wrap=True)
    out.print(f"[dim]{escape(run.url)}[/]", highlight=False, soft_wrap=True)
    if run.req_id:
        out.print(f"requirement {escape(run.req_id)}: {run.verdict or 'no verdict yet'}", highlight=False)
    for text, style in ((run.error, "red"), (run.rca_message, "red"), (run.hint, "green")):
        if text:
            arrow = "-> " if style == "green" else ""
            out.print(f"  [{style}]{arrow}{escape(text)}[/]", highlight=False, soft_wrap=True)
    if whole.steps:
        out.print()
        out.print(_steps(whole.steps), highlight=False)
    if whole.run.kind == "demo":
        _list_of("segments", [(s.segment_id, _segment(s)) for s in whole.visit.segments])
        _list_of("visitor", list(_visitor(whole.visit)))
    _list_of("outputs", [(name, _short(value)) for name, value in run.outputs.items()])
    _list_of("measured", [(metric.metric_name, f"{metric.metric_value:g}") for metric in whole.metrics])
    _list_of(
        "left",
        [
            (artifact.name, f"{_size(artifact.size_bytes)}  {artifact.file_path or artifact.content_ref}")
            for artifact in whole.artifacts
        ],
    )


def _steps(steps: tuple[StoredStep, ...]) -> Table:
    table = Table(box=None, header_style="dim")
    table.add_column("#", justify="right", no_wrap=True)
    for heading in ("step", "action", "element", "screen", "took", "outcome"):
        table.add_column(heading, overflow="fold")
    for step in steps:
        said = f": {escape(step.error_message)}" if step.error_message else ""
        healed = f", healed {step.heal_round}x" if step.heal_round else ""
        table.add_row(
            str(step.step_idx + 1),
            f"[dim]{escape(step.task_id)}.[/]{escape(step.step_id)}",
            escape(step.action),
            escape(_short(step.element or step.selector or "-")),
            escape(step.screen_id or "-"),
            _took(step.duration_ms),
            f"[{_STYLES.get(step.status, 'green')}]{step.status}[/]{healed}{said}",
        )
    return table


def _segment(segment: SegmentVisit) -> str:
    took = "" if segment.seconds is None else f" in {_took(segment.seconds * 1_000)}"
    why = f": {segment.reason}" if segment.reason else ""
    return f"{segment.status}{took}{why}"


def _visitor(visit: Visit) -> Iterator[tuple[str, str]]:
    """What a visitor did, in a few words each; nothing where there was none."""
    if not visit.came:
        return
    if visit.introduced:
        yield "name", visit.name or "given, not kept"
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
        words = question.words or "(not kept)"
        if question.answered:
            yield (
                "asked",
                words + (f", answered from {', '.join(question.sources)}" if question.sources else ""),
            )
        else:
            yield "unanswered", f"{words}: {question.reason.replace('_', ' ')}"


def _list_of(heading: str, rows: list[tuple[str, str]]) -> None:
    if not rows:
        return
    out.print()
    out.print(f"[dim]{heading}[/]")
    for name, text in rows:
        out.print(f"  {escape(name)}  {escape(text)}", highlight=False, soft_wrap=True)


def _outcome(run: StoredRun) -> str:
    if run.status is None:
        return "[yellow]not finished[/]"
    word = "needs a person" if run.status is RunStatus.NEEDS_PERSON else run.status.value
    return f"[{_STYLES.get(run.status, 'red')}]{word}[/], {run.evidence}"


def _when(moment: datetime) -> str:
    """In this place's time; today by the clock alone."""
    local, today = moment.astimezone(), datetime.now(UTC).astimezone().date()
    return f"today {local:%H:%M}" if local.date() == today else f"{local:%Y-%m-%d %H:%M}"


def _took(duration_ms: float | None) -> str:
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


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)
