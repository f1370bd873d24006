"""`periplus kb check`: do the signatures know the pages? All of them over stored snapshots."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from kb_schema import KnowledgeBase
from kb_schema.pages.folder import StoredSnapshot, list_snapshots, read_labels
from kb_schema.snapshots import PageSnapshot
from kb_store import read_knowledge
from loaders import read_knowledge_folder
from mcp_server.checking.check import check_signatures
from mcp_server.checking.report import CheckReport, Confusion, Finding, Proposal
from mcp_server.compiled import compile_view
from periplus.errors import UserError
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen
from periplus.websites import which_website

EXIT_FINDINGS = 1
"""Something found breaks identification."""
NAMES_SHOWN, IDLE_SHOWN = 4, 20

out = Console()
err = Console(stderr=True)


def check(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[KB]", help="A folder of knowledge; the store where none is named."),
    ] = None,
    *,
    snapshots: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Stored pages: NAME.html with NAME.json, also in folders.", show_default=False
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='What the pages are: {"NAME": "screen_id"}; null for no known screen.'
        ),
    ] = None,
    website: Annotated[
        str | None, typer.Option("--website", "-w", metavar="ID", help="Which website of the store.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the site was when the pages were stored.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything found, as JSON.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Run all signatures over stored pages: which are taken for another, and what would mend it.

    Example: [cyan]periplus kb check kb/ --snapshots pages/ --labels pages/labels.json[/]

    Told are screens that are confused, pairs that nothing separates with a
    condition that would, required indicators that are missing, and indicators
    that never help.
    Without labels only what contradicts itself is told.
    Exit code 0 fine, 1 identification is broken, 2 something to put right first.
    """
    stored = list_snapshots(snapshots)
    knowledge = _knowledge(folder, website, mongodb_url, arangodb_url)
    names = {each.name for each in stored}
    known = read_labels(labels, names, knowledge.screens) if labels is not None else None
    with _progress(len(stored), quiet=as_json) as on_page:
        report = check_signatures(
            compile_view(knowledge, "files"), _read(stored), labels=known, base_url=base_url, on_page=on_page
        )
    if as_json:
        typer.echo(json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=2))
    else:
        _show(report, labelled=known is not None)
    if report.breaks:
        raise typer.Exit(EXIT_FINDINGS)


def _knowledge(
    folder: Path | None, website: str | None, mongodb_url: str | None, arangodb_url: str | None
) -> KnowledgeBase:
    if folder is None:
        return asyncio.run(_stored_knowledge(website, open_chosen(mongodb_url, arangodb_url)))
    knowledge, _ = read_knowledge_folder(folder)
    held = knowledge.website.website_id
    if website not in (None, held):
        raise UserError(f"{folder} is of {held!r}, not {website!r}", fix="leave out --website or the folder")
    return knowledge


async def _stored_knowledge(website: str | None, opening: Any) -> KnowledgeBase:
    async with opening as stores:
        known = sorted(active.website_id for active in await stores.documents.websites())
        found, _ = await read_knowledge(stores.documents, stores.graph, which_website(website, known))
        return found


def _read(stored: Sequence[StoredSnapshot]) -> Iterator[tuple[str, PageSnapshot]]:
    """One page in memory at a time."""
    return ((each.name, each.read()) for each in stored)


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task("checking", total=total)
        yield lambda name: bar.update(task, advance=1, description=escape(name[-40:]))


# -- showing -------------------------------------------------------------------------------------


def _say(line: str) -> None:
    out.print(line, soft_wrap=True, highlight=False)


def _show(report: CheckReport, *, labelled: bool) -> None:
    _say(_headline(report, labelled=labelled))
    if any(cell.screen_id != cell.taken_for or cell.ambiguous for cell in report.matrix):
        out.print(_matrix(report.matrix))
    for breaks, title in ((True, "[red]breaks identification[/]"), (False, "[yellow]worth knowing[/]")):
        found = [finding for finding in report.findings if finding.breaks is breaks]
        if found:
            _say(f"\n{title} ({len(found)})")
            for finding in found:
                _tell(finding)
    if report.idle_indicators:
        _show_idle(report)
    if report.screens_without_snapshot:
        unseen = report.screens_without_snapshot
        _say(f"\n[yellow]without a snapshot[/] ({len(unseen)}): {escape(', '.join(unseen))}")


def _headline(report: CheckReport, *, labelled: bool) -> str:
    what = f"[bold]{escape(report.website_id)}[/], {report.screens} screens"
    state = "[red]broken[/]" if report.breaks else "[green]fine[/]"
    if not labelled:
        known = sum(result.screen_id is not None for result in report.results)
        return f"{state}: {what}; {known} of {_counted(report.snapshots, 'snapshot')} match (no labels: whether rightly is not told)"
    return f"{state}: {what}; {report.right} of {_counted(report.labelled, 'labelled snapshot')} right"


def _matrix(cells: Sequence[Confusion]) -> Table:
    """The confused rows of the matrix, and the totals."""
    table = Table("screen", "snapshots", "right", "ambiguous", "not known", "taken for", box=SIMPLE_HEAD,
                  header_style="dim", show_footer=True)  # fmt: skip
    totals: Counter[str] = Counter()
    rows: dict[str | None, list[Confusion]] = {}
    for cell in cells:
        rows.setdefault(cell.screen_id, []).append(cell)
    for screen_id, row in rows.items():
        counts, others = _row(screen_id, row)
        totals += counts
        if counts["right"] == counts["snapshots"]:
            continue
        table.add_row(
            escape(screen_id or "(no known screen)"),
            *(str(counts[column]) for column in ("snapshots", "right", "ambiguous", "not known")),
            escape(", ".join(f"{name} x{count}" for name, count in sorted(others.items()) if count)),
        )
    for column, title in zip(table.columns, ("total", *_NUMBERS, "taken for"), strict=True):
        column.footer = "total" if title == "total" else str(totals[title])
    for column in table.columns[1:-1]:
        column.justify = "right"
    return table


_NUMBERS = ("snapshots", "right", "ambiguous", "not known")


def _row(screen_id: str | None, row: Sequence[Confusion]) -> tuple[Counter[str], Counter[str]]:
    counts: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for cell in row:
        number = len(cell.snapshots)
        counts["snapshots"] += number
        counts["ambiguous"] += cell.ambiguous
        if cell.taken_for == screen_id:
            counts["right"] += number - cell.ambiguous
        elif cell.taken_for is None:
            counts["not known"] += number
        else:
            counts["taken for"] += number - cell.ambiguous
            others[cell.taken_for] += number - cell.ambiguous
    return counts, others


def _tell(finding: Finding) -> None:
    mark = "[red]x[/]" if finding.breaks else "[yellow]![/]"
    _say(f"  {mark} {escape(finding.message)}")
    if finding.snapshots:
        _say(f"      [dim]{escape(_some(finding.snapshots))}[/]")
    if finding.fix:
        _say(f"      [green]-> {escape(finding.fix)}[/]")
    if finding.proposal:
        _tell_proposal(finding, finding.proposal)


def _tell_proposal(finding: Finding, proposal: Proposal) -> None:
    condition = json.dumps(proposal.condition, ensure_ascii=False)
    instead = "or have instead in" if finding.fix else "add to"
    _say(f"      [green]-> {instead} {proposal.slot} of {escape(proposal.screen_id)}:[/] {escape(condition)}")
    pages = finding.screen_id or "those"
    first, second = proposal.screen_id, pages if finding.other else "other screens"
    if proposal.slot == "negative_indicators":
        first, second = pages, proposal.screen_id
    _say(
        f"         [dim]holds on {proposal.holds} of {_counted(proposal.of, 'snapshot')} of {escape(first)}, "
        f"on {proposal.elsewhere} of {proposal.others} of {escape(second)}[/]"
    )


def _show_idle(report: CheckReport) -> None:
    """Those that say nothing at all; those that only agree with another one are counted."""
    idle = [each for each in report.idle_indicators if each.because != "redundant"]
    agreeing = len(report.idle_indicators) - len(idle)
    if idle:
        _say(f"\n[yellow]indicators that do not help on these snapshots[/] ({len(idle)})")
    for each in idle[:IDLE_SHOWN]:
        what = f"{each.screen_id}: {each.kind} {each.indicator} {each.detail}"
        _say(f"  [yellow]![/] {escape(what)}")
    if len(idle) > IDLE_SHOWN:
        _say(f"  and {len(idle) - IDLE_SHOWN} more: --json names them all")
    if agreeing:
        _say(
            f"\n[dim]{_counted(agreeing, 'indicator')} held exactly where another of the same signature did: "
            "more evidence, no more distinction (--json names them)[/]"
        )


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
