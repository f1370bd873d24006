"""The live view of a run collection: progress and active rows; plain lines if the output is not a terminal."""

from __future__ import annotations

from pydantic import JsonValue
from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from periplus.fleet.run_collection import CollectedRun
from periplus.terminal.live_view import TerminalView

MOST_ROWS = 12
"""Maximum number of active rows shown."""


class CollectionView(TerminalView):
    """A live display of a collection."""

    def __init__(self, console: Console, total: int) -> None:
        super().__init__(console)
        self._total, self._done, self._failed = total, 0, 0
        self._at: dict[int, str] = {}

    def heard(self, row: int, said: JsonValue) -> None:
        """Show that a step of a row has ended."""
        if isinstance(said, dict):
            self._at[row] = f"{said.get('step', '')}  {said.get('status', '')}"

    def ended(self, came: CollectedRun) -> None:
        """Show that a row has ended."""
        self._at.pop(came.row, None)
        self._done += 1
        self._failed += not came.succeeded
        self._line(format_collected_run(came))

    def _render(self) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        for row, step in sorted(self._at.items())[:MOST_ROWS]:
            grid.add_row(Text(f"row {row}", style="bold"), Text(step, style="dim"))
        failed = f", {self._failed} not done" if self._failed else ""
        count = Text(f"{self._done} of {self._total}{failed}")
        return Group(grid, ProgressBar(total=self._total, completed=self._done, width=60), count)


def format_collected_run(came: CollectedRun) -> str:
    """Return the result of a row as one line."""
    if came.ran is None:
        said = "no result" if came.trouble is None else came.trouble.message
        fix = "" if came.trouble is None or came.trouble.fix is None else f" -> {came.trouble.fix}"
        return f"row {came.row}: {said}{fix}"
    how = {"begun": "", "carried_on": ", resumed by another worker", "found": ", already done"}
    why = f": {came.ran.error}" if came.ran.error else ""
    version = f", version {came.ran.workflow_version}" if came.ran.workflow_version else ""
    took = f"{came.ran.duration_ms / 1000:.1f} s"
    return f"row {came.row}: {came.ran.status}, {took}{version}{how[came.ran.how]}{why}"
