"""The terminal view of an optimization: a line for each event, a table at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table

from agent.events import Event
from agent.optimization.message_roles import MessageSent
from agent.optimization.optimization_loop import RoundBegan
from agent.verification.graph import VerdictGiven
from kb_schema.suite_optimization import (
    ExecutionResult,
    LocatorSynthesisResponse,
    OptimizationReport,
    OptimizeTestFile,
    RegenerateTest,
    TestOutcome,
)

NEXT = {"nothing": "", "regenerate": "regenerate it from its requirement", "person": "a person"}


class OptimizeView:
    """Shows the events of the loop."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case RoundBegan(attempt=attempt, healing=True, tests=tests):
                which = f"{tests} red tests" if tests else "the tests"
                self._line(f"[bold]round {attempt}[/]: running {which}, healing failing locators")
            case RoundBegan(attempt=attempt, tests=tests) if tests:
                self._line(f"[bold]round {attempt}[/]: running {tests} files with regenerated tests")
            case RoundBegan(attempt=attempt):
                self._line(f"[bold]round {attempt}[/]: running all tests again without healing, as the proof")
            case MessageSent(message=OptimizeTestFile(failed=failed)):
                what = failed.locator.selector if failed.locator else failed.message.splitlines()[:1]
                self._line(
                    f"  [red]x[/] {escape(failed.test_id)}: {escape(failed.action)} {escape(str(what))}"
                )
            case MessageSent(message=LocatorSynthesisResponse() as found):
                self._line(f"    {self._found(found)}")
            case MessageSent(message=RegenerateTest(test_id=test_id, req_id=req_id)):
                self._line(
                    f"  [yellow]?[/] {escape(test_id)}: no patch repairs it; its requirement is {escape(str(req_id))}"
                )
            case VerdictGiven(req_id=req_id, verdict=verdict):
                self._line(f"    {escape(req_id)} verified: {verdict}")
            case MessageSent(message=ExecutionResult(summary=summary)):
                self._line(
                    f"  {summary.passed} passed, {summary.failed + summary.errors} failed,"
                    f" {summary.skipped} skipped in {summary.duration_ms / 1000:.0f} s"
                )
            case _:
                pass

    @staticmethod
    def _found(found: LocatorSynthesisResponse) -> str:
        if found.candidates:
            best = found.candidates[0]
            return f"[green]->[/] page.{escape(best.expression)} ({best.confidence:.0%})"
        if found.wait_ms is not None:
            return f"[yellow]->[/] it came after {found.came_after_s or 0:.1f} s"
        return f"[dim]{escape(found.reason or 'no element of the page is certain enough')}[/]"

    def _line(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, highlight=False)


def print_optimization_report(console: Console, report: OptimizationReport, *, folder: str) -> None:
    """Print the summary."""
    if report.dry_run and report.diff:
        console.print(
            Syntax(report.diff, "diff", background_color="default") if console.is_terminal else report.diff
        )
    if report.tests:
        console.print(_table(report))
    for each in report.tests:
        for note in (*_explain_result(each), *each.notes):
            console.print(
                f"  [dim]{escape(each.test_id)}[/]: {escape(note)}", soft_wrap=True, highlight=False
            )
        if each.regenerated is not None:
            style = "green" if each.after == "passed" else "yellow"
            console.print(
                f"  [{style}]written anew[/] {escape(each.regenerated)}", soft_wrap=True, highlight=False
            )
    for gone in report.withdrawn:
        console.print(
            f"  [yellow]taken back[/] {escape(gone.patch.after)}: {escape(gone.reason)}",
            soft_wrap=True,
            highlight=False,
        )
    for note in report.notes:
        console.print(f"  [yellow]![/] {escape(note)}", soft_wrap=True, highlight=False)
    red = [each for each in report.tests if each.after != "passed"]
    mended = len(report.tests) - len(red)
    verb = "would be made" if report.dry_run else "made"
    said = f"{report.summary.passed} tests passed in the last run; {mended} repaired, {len(red)} still red"
    console.print(
        f"[bold]{said}[/]; {len(report.patches)} patches {verb}; details in {escape(folder)}", soft_wrap=True
    )


def _explain_result(test: TestOutcome) -> tuple[str, ...]:
    if test.after == "passed" or test.rca is None:
        return ()
    return (
        f"{test.rca.class_}: {test.rca.message}",
        *((test.rca.recommendation,) if test.rca.recommendation else ()),
    )


def _count_by_file(files: Iterable[str]) -> str:
    return ", ".join(f"{count} in {name}" for name, count in Counter(files).items())


def _table(report: OptimizationReport) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("test", "before", "after", "class", "patches", "what next"):
        table.add_column(name, overflow="fold")
    files = {each.patch_id: each.file.rpartition("/")[2] for each in report.patches}
    for each in report.tests:
        style = "green" if each.after == "passed" else "red"
        table.add_row(
            escape(each.test_id),
            each.before,
            f"[{style}]{each.after}[/]",
            each.rca.class_ if each.rca else "",
            escape(_count_by_file(files.get(one, one) for one in each.patches)),
            NEXT[each.next],
        )
    return table
