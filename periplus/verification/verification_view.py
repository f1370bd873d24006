"""The terminal view of a verification: a live table, or plain lines without a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from agent.events import Event
from agent.verification.graph import Healed, PhaseBegan, StepVerified, VerdictGiven
from kb_schema.verification import Requirement, VerdictReport
from periplus.terminal.live_view import TerminalView

STYLES = {"pass": "green", "fail": "red", "partial": "yellow"}
_PHASES = {
    "planner": "reading",
    "pom_builder": "finding elements",
    "generator": "writing the test file",
    "executor": "executing steps",
    "oracle_healer": "healing",
    "verdict_rca": "judging",
    "prover": "running the generated test",
}
"""The nodes of the graph, in words for the terminal."""


@dataclass(slots=True)
class _RequirementRow:
    title: str
    phase: str = "waiting"
    detail: str = ""
    step: str = ""
    verdict: str | None = None


class VerificationView(TerminalView):
    """Shows the events of a verifier."""

    def __init__(self, console: Console, requirements: Sequence[Requirement]) -> None:
        super().__init__(console)
        self._rows = {each.req_id: _RequirementRow(each.title) for each in requirements}

    def ended(self, report: VerdictReport) -> None:
        """Show a requirement that was finished before this command."""
        self._rows[report.req_id].verdict = report.verdict
        self._line(f"{report.req_id}: {report.verdict} (finished before)")

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case PhaseBegan(req_id=req_id, phase=phase, detail=detail) if req_id in self._rows:
                row = self._rows[req_id]
                row.phase, row.detail = _PHASES.get(phase, phase), detail
                if phase in ("pom_builder", "executor"):
                    row.step = ""
                if phase not in ("planner", "verdict_rca"):
                    self._line(f"{req_id}: {row.phase}" + (f" ({detail})" if detail else ""))
            case StepVerified(req_id=req_id) if req_id in self._rows:
                row = self._rows[req_id]
                row.phase, row.detail = "executing steps", ""
                row.step = f"{event.step_idx + 1}/{event.total} {event.action} {event.element}"
                mark = {"success": "+", "skipped": "-"}.get(event.status, "x")
                why = f": {event.error}" if event.error else ""
                self._line(f"{req_id}:   {mark} {row.step} {event.duration_ms / 1000:.1f} s{why}")
            case Healed(req_id=req_id) if req_id in self._rows:
                word = f"healed: found as {event.found}" if event.success else f"not healed, {event.reason}"
                self._line(f"{req_id}:   ~ round {event.round}: {word}")
            case VerdictGiven(req_id=req_id) if req_id in self._rows:
                self._rows[req_id].verdict = event.verdict
                told = "" if event.verdict == "pass" else f": {event.root_cause}: {event.message}"
                self._line(f"{req_id}: {event.verdict}, {event.duration_ms / 1000:.1f} s{told}")

    def _render(self) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, max_width=40, overflow="ellipsis")
        grid.add_column(no_wrap=True, overflow="ellipsis")
        for req_id, row in self._rows.items():
            if row.verdict is not None:
                state = Text(row.verdict, style=f"bold {STYLES.get(row.verdict, '')}")
            else:
                words = [row.phase, row.detail, row.step]
                state = Text(
                    "  ".join(each for each in words if each), style="dim" if row.phase == "waiting" else ""
                )
            grid.add_row(Text(req_id, style="bold"), Text(row.title, style="dim"), state)
        return grid


def print_verdict_reports(console: Console, reports: Sequence[VerdictReport]) -> None:
    """Print the verdicts, one line for each, and the root cause of those that did not pass."""
    table = Table(
        "requirement", "verdict", "steps", "heals", "time", "root cause", box=None, header_style="dim"
    )
    for each in reports:
        style = STYLES[each.verdict]
        cause = "" if each.verdict == "pass" else f"{each.rca.class_} ({each.rca.confidence:.2f})"
        table.add_row(
            escape(each.req_id),
            f"[bold {style}]{each.verdict}[/]",
            f"{each.summary.executed_steps}/{each.summary.total_steps}",
            str(each.summary.heal_rounds),
            f"{each.duration_ms / 1000:.1f} s",
            cause,
        )
    console.print(table)
    for each in reports:
        if each.verdict == "pass":
            continue
        console.print(
            f"[bold]{escape(each.req_id)}[/]: {escape(each.rca.message)}", soft_wrap=True, highlight=False
        )
        for lost in each.missing:
            nearest = f"; there is: {', '.join(lost.nearest)}" if lost.nearest else ""
            place = f"{lost.place}: " if str(lost.place) else ""
            text = f"  {place}step {lost.step_idx + 1} {lost.intent}: {lost.what}: {lost.reason}{nearest}"
            console.print(escape(text), soft_wrap=True, highlight=False)
        for line in each.rca.evidence:
            console.print(f"  [dim]{escape(line)}[/]", soft_wrap=True, highlight=False)
        if each.rca.recommendation:
            console.print(
                f"  [green]-> {escape(each.rca.recommendation)}[/]", soft_wrap=True, highlight=False
            )
    for each in reports:
        for text in _list_other_names(each):
            console.print(f"  [yellow]{escape(text)}[/]", soft_wrap=True, highlight=False)
        if each.proof is not None and each.proof.status == "not_proved":
            text = f"{each.req_id}: its test is not proved: {each.proof.reason}"
            console.print(f"  [dim]{escape(text)}[/]", soft_wrap=True, highlight=False)
        for note in each.notes:
            console.print(
                f"  [yellow]{escape(each.req_id)}: {escape(note)}[/]", soft_wrap=True, highlight=False
            )


def _list_other_names(report: VerdictReport) -> Iterator[str]:
    """Yield the steps whose element was found again under other words."""
    for heal in report.heal_events:
        if heal.found and heal.element and heal.element.casefold() not in heal.found.casefold():
            yield f"{report.req_id}: step {heal.step_idx + 1}: {heal.element} was found as {heal.found}"
