"""What a verification looks like in a terminal: a table that moves, or plain lines where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from agent.events import Event
from agent.verifying.flow import Healed, PhaseBegan, StepVerified, VerdictGiven
from kb_schema.verification import Requirement, VerdictReport
from periplus.live import Shown

STYLES = {"pass": "green", "fail": "red", "partial": "yellow"}
_PHASES = {
    "planner": "reading",
    "pom_builder": "finding",
    "generator": "writing the test",
    "executor": "executing",
    "oracle_healer": "healing",
    "verdict_rca": "judging",
}
"""PACTS's nodes in a person's words."""


@dataclass(slots=True)
class _Row:
    title: str
    phase: str = "waiting"
    detail: str = ""
    step: str = ""
    verdict: str | None = None


class VerifyView(Shown):
    """Listens to a verifier."""

    def __init__(self, console: Console, requirements: Sequence[Requirement]) -> None:
        super().__init__(console)
        self._rows = {each.req_id: _Row(each.title) for each in requirements}

    def ended(self, report: VerdictReport) -> None:
        """A requirement whose report was there already."""
        self._rows[report.req_id].verdict = report.verdict
        self._line(f"{report.req_id}: {report.verdict}, as it was when it was cut off")

    def __call__(self, event: Event) -> None:
        """The verifier's listener."""
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
                row.phase, row.detail = "executing", ""
                row.step = f"{event.step_idx + 1}/{event.total} {event.action} {event.element}"
                mark = {"success": "+", "skipped": "-"}.get(event.status, "x")
                why = f": {event.error}" if event.error else ""
                self._line(f"{req_id}:   {mark} {row.step} {event.duration_ms / 1000:.1f} s{why}")
            case Healed(req_id=req_id, round=round_, success=success, reason=reason) if req_id in self._rows:
                word = "healed" if success else "not healed"
                self._line(f"{req_id}:   ~ round {round_}: {word}" + (f", {reason}" if reason else ""))
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


def tell_reports(console: Console, reports: Sequence[VerdictReport]) -> None:
    """How it came out: one line for each, and why where it did not pass."""
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
        for note in each.notes:
            console.print(
                f"  [yellow]{escape(each.req_id)}: {escape(note)}[/]", soft_wrap=True, highlight=False
            )
