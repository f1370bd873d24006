"""Prints and writes the result of a rehearsal: tables in the terminal, and one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from periplus.demos.rehearsal_result import RehearsalResult

KINDS = {
    "failed": "does not work",
    "healed": "worked only after recovery",
    "input_nobody_gives": "an input without a source",
    "unreachable": "cannot be reached",
    "slow": "slower than authored",
    "over_window": "longer than its window",
    "highlight_missing": "cannot be pointed at",
    "mark_without_word": "a mark without a word",
    "missing_translation": "not translated",
    "narration_longer_than_step": "more words than action",
    "unknown_rule": "an unknown rule",
}
"""Kinds of risks, for display."""
MOST_OF_A_KIND = 4
"""Most risks per kind and segment in the terminal; the page has all."""


def write_rehearsal_page(path: Path, rehearsal: Mapping[str, Any], made_at: datetime | None = None) -> None:
    """Write the page about a rehearsal (`RehearsalResult.to_json`)."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(("html.j2", "html")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("rehearsal_report.html.j2").render(
        r=rehearsal, kinds=KINDS, made_at=made_at or datetime.now().astimezone()
    )
    path.write_text(page, encoding="utf-8")


def print_rehearsal(console: Console, rehearsal: RehearsalResult) -> None:
    """Print risks and durations as tables."""
    serious = len(rehearsal.serious)
    word = f"[red]{serious} serious risk{'s' * (serious != 1)}[/]" if serious else "[green]ready[/]"
    console.print(
        f"{word}: {escape(rehearsal.name)}, {len(rehearsal.passes)} passes, "
        f"{len(rehearsal.risks)} risk{'s' * (len(rehearsal.risks) != 1)}"
    )
    if rehearsal.risks:
        console.print(_risks(rehearsal), highlight=False)
    console.print(_durations(rehearsal), highlight=False)
    for note in rehearsal.notes:
        console.print(f"  [yellow]{escape(note)}[/]", soft_wrap=True)
    for name in rehearsal.files:
        console.print(f"  {escape(str(rehearsal.folder / name))}", soft_wrap=True, highlight=False)


def _risks(rehearsal: RehearsalResult) -> Table:
    table = Table(box=None, header_style="dim")
    for heading in ("segment", "risk", "what", "what to do"):
        table.add_column(heading, overflow="fold")
    shown: dict[tuple[str | None, str], int] = {}
    for risk in rehearsal.risks:
        place = (risk.segment_id, risk.kind)
        shown[place] = shown.get(place, 0) + 1
        if shown[place] > MOST_OF_A_KIND:
            continue
        style = "red" if risk.serious else "yellow"
        table.add_row(
            escape(risk.segment_id or "-"),
            f"[{style}]{KINDS[risk.kind]}[/]",
            escape(risk.message),
            escape(risk.fix),
        )
    left_out = sum(max(0, count - MOST_OF_A_KIND) for count in shown.values())
    if left_out:
        table.add_row("", f"[dim]{left_out} more[/]", "[dim]see the page for all[/]", "")
    return table


def _durations(rehearsal: RehearsalResult) -> Table:
    table = Table(box=None, header_style="dim")
    table.add_column("segment", overflow="fold")
    for heading in ("authored", "takes", "of which actions", "proposed"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in rehearsal.measured:
        table.add_row(
            escape(each.segment_id) + ("" if each.required else " [dim](optional)[/]"),
            "-" if each.authored_s is None else f"{each.authored_s:.0f} s",
            f"{each.told_s:.1f} s",
            f"{each.work_s:.1f} s",
            "" if each.proposed_s is None else f"[yellow]{each.proposed_s:.0f} s[/]",
        )
    return table
