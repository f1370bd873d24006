"""`periplus kb check`: test all screen signatures against stored snapshots."""

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
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from kb_schema import KnowledgeBase
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.snapshot_folder import StoredSnapshot, list_snapshots, read_labels
from kb_store import read_knowledge
from loaders import read_knowledge_folder
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.signature_checks.check_report import (
    CheckReport,
    IndicatorProposal,
    ScreenConfusion,
    SignatureFinding,
)
from mcp_server.signature_checks.signature_check import check_signatures
from periplus.commands.command_options import ImportMemory, ImportSeconds, choose_import_budget
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.foreign_input import ImportBudget, read_foreign
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website

"""The exit code if a finding breaks identification."""
NAMES_SHOWN, IDLE_SHOWN = 4, 20

out = CommandConsole()
err = CommandConsole(stderr=True)


def check(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[KB]", help="A knowledge base folder; default: the store."),
    ] = None,
    *,
    snapshots: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Stored pages: NAME.html with NAME.json; subfolders are read too.",
            show_default=False,
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='The screen of each page: {"NAME": "screen_id"}; null: no known screen.'
        ),
    ] = None,
    website: Annotated[
        str | None, typer.Option("--website", "-w", metavar="ID", help="The website's id in the store.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The site's base URL when the pages were stored.")
    ] = None,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all findings as JSON.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Test all screen signatures against stored pages, and suggest fixes.

    Example: [cyan]periplus kb check kb/ --snapshots pages/ --labels pages/labels.json[/]

    The report lists confused screens, pairs of screens that no indicator
    separates (with a condition that would), required indicators that are
    missing, and indicators that never help.
    Without labels it lists only contradictions.
    Exit codes: 0 no problem, 1 identification is broken, 2 an error to correct first.
    """
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    stored = read_foreign(snapshots, budget, list_snapshots, snapshots)
    knowledge = _knowledge(folder, website, budget, mongodb_url, arangodb_url)
    names, known = {each.name for each in stored}, None
    if labels is not None:
        joint = {
            name: screen.screen_id
            for screen in knowledge.screens.values()
            for name in screen.ambiguous_of
            if name not in knowledge.screens
        }
        given = read_foreign(labels, budget, read_labels, labels, names, {*knowledge.screens, *joint})
        known = {name: label and joint.get(label, label) for name, label in given.items()}
    with _progress(len(stored), quiet=as_json) as on_page:
        report = check_signatures(
            compile_view(knowledge, "files"), _read(stored), labels=known, base_url=base_url, on_page=on_page
        )
    if as_json:
        typer.echo(json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=2))
    else:
        _show(report, labelled=known is not None)
    if report.breaks:
        raise typer.Exit(ExitCode.FAILED)


def _knowledge(
    folder: Path | None,
    website: str | None,
    budget: ImportBudget,
    mongodb_url: str | None,
    arangodb_url: str | None,
) -> KnowledgeBase:
    if folder is None:
        return asyncio.run(_stored_knowledge(website, open_selected_stores(mongodb_url, arangodb_url)))
    knowledge, _ = read_foreign(folder, budget, read_knowledge_folder, folder)
    held = knowledge.website.website_id
    if website not in (None, held):
        raise UserError(
            f"{folder} contains website {held!r}, not {website!r}", fix="leave out --website or the folder"
        )
    return knowledge


async def _stored_knowledge(website: str | None, opening: Any) -> KnowledgeBase:
    async with opening as stores:
        known = await list_websites(stores)
        found, _ = await read_knowledge(stores.documents, stores.graph, select_website(website, known))
        return found


def _read(stored: Sequence[StoredSnapshot]) -> Iterator[tuple[str, PageSnapshot]]:
    """Yield the name and content of each page; only one page is in memory at a time."""
    return ((each.name, each.read()) for each in stored)


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task("checking", total=total)
        yield lambda name: bar.update(task, advance=1, description=escape(name[-40:]))


# -- output --------------------------------------------------------------------------------------


def _print_line(line: str) -> None:
    out.print(line, soft_wrap=True, highlight=False)


def _show(report: CheckReport, *, labelled: bool) -> None:
    _print_line(_headline(report, labelled=labelled))
    if any(cell.screen_id != cell.taken_for or cell.ambiguous for cell in report.matrix):
        out.print(_matrix(report.matrix))
    for breaks, title in ((True, "[red]breaks identification[/]"), (False, "[yellow]worth knowing[/]")):
        found = [finding for finding in report.findings if finding.breaks is breaks]
        if found:
            _print_line(f"\n{title} ({len(found)})")
            for finding in found:
                _print_finding(finding)
    if report.idle_indicators:
        _show_idle(report)
    if report.screens_without_snapshot:
        unseen = report.screens_without_snapshot
        _print_line(f"\n[yellow]without a snapshot[/] ({len(unseen)}): {escape(', '.join(unseen))}")


def _headline(report: CheckReport, *, labelled: bool) -> str:
    what = f"[bold]{escape(report.website_id)}[/], {report.screens} screens"
    state = "[red]broken[/]" if report.breaks else "[green]fine[/]"
    if not labelled:
        known = sum(result.screen_id is not None for result in report.results)
        return f"{state}: {what}; {known} of {_format_count(report.snapshots, 'snapshot')} match a screen (without labels the matches are not verified)"
    return f"{state}: {what}; {report.right} of {_format_count(report.labelled, 'labelled snapshot')} right"


def _matrix(cells: Sequence[ScreenConfusion]) -> Table:
    """Return a table of the confused screens, with totals."""
    table = Table(
        "screen",
        "snapshots",
        "right",
        "ambiguous",
        "not known",
        "taken for",
        box=SIMPLE_HEAD,
        header_style="dim",
        show_footer=True,
    )
    totals: Counter[str] = Counter()
    rows: dict[str | None, list[ScreenConfusion]] = {}
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


def _row(screen_id: str | None, row: Sequence[ScreenConfusion]) -> tuple[Counter[str], Counter[str]]:
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


def _print_finding(finding: SignatureFinding) -> None:
    mark = "[red]x[/]" if finding.breaks else "[yellow]![/]"
    _print_line(f"  {mark} {escape(finding.message)}")
    if finding.snapshots:
        _print_line(f"      [dim]{escape(_format_names(finding.snapshots))}[/]")
    if finding.fix:
        _print_line(f"      [green]-> {escape(finding.fix)}[/]")
    if finding.proposal:
        _print_proposal(finding, finding.proposal)


def _print_proposal(finding: SignatureFinding, proposal: IndicatorProposal) -> None:
    condition = json.dumps(proposal.condition, ensure_ascii=False)
    instead = "or use instead in" if finding.fix else "add to"
    _print_line(
        f"      [green]-> {instead} {proposal.slot} of {escape(proposal.screen_id)}:[/] {escape(condition)}"
    )
    pages = finding.screen_id or "those"
    first, second = proposal.screen_id, pages if finding.other else "other screens"
    if proposal.slot == "negative_indicators":
        first, second = pages, proposal.screen_id
    _print_line(
        f"         [dim]matches {proposal.holds} of {_format_count(proposal.of, 'snapshot')} of {escape(first)}, "
        f"and {proposal.elsewhere} of {proposal.others} of {escape(second)}[/]"
    )


def _show_idle(report: CheckReport) -> None:
    """Print the indicators that never help; redundant ones are only counted."""
    idle = [each for each in report.idle_indicators if each.because != "redundant"]
    agreeing = len(report.idle_indicators) - len(idle)
    if idle:
        _print_line(f"\n[yellow]indicators that do not help with these snapshots[/] ({len(idle)})")
    for each in idle[:IDLE_SHOWN]:
        what = f"{each.screen_id}: {each.kind} {each.indicator} {each.detail}"
        _print_line(f"  [yellow]![/] {escape(what)}")
    if len(idle) > IDLE_SHOWN:
        _print_line(f"  and {len(idle) - IDLE_SHOWN} more: --json lists all of them")
    if agreeing and report.snapshots > 1:
        _print_line(
            f"\n[dim]{_format_count(agreeing, 'indicator')} matched exactly the same pages as another one of the same signature "
            "(--json lists them)[/]"
        )


def _format_names(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _format_count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
