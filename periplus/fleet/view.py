"""What many runs look like in a terminal: how far it is, and the rows that are at work; plain lines elsewhere."""

from __future__ import annotations

from pydantic import JsonValue
from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from periplus.fleet.collecting import Collected
from periplus.live import Shown

MOST_ROWS = 12
"""Rows that are shown at work."""


class CollectView(Shown):
    """Listens to a collection."""

    def __init__(self, console: Console, total: int) -> None:
        super().__init__(console)
        self._total, self._done, self._failed = total, 0, 0
        self._at: dict[int, str] = {}

    def heard(self, row: int, said: JsonValue) -> None:
        """A step of a row ended."""
        if isinstance(said, dict):
            self._at[row] = f"{said.get('step', '')}  {said.get('status', '')}"

    def ended(self, came: Collected) -> None:
        """A row is over."""
        self._at.pop(came.row, None)
        self._done += 1
        self._failed += not came.succeeded
        self._line(told(came))

    def _render(self) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        for row, step in sorted(self._at.items())[:MOST_ROWS]:
            grid.add_row(Text(f"row {row}", style="bold"), Text(step, style="dim"))
        failed = f", {self._failed} not done" if self._failed else ""
        count = Text(f"{self._done} of {self._total}{failed}")
        return Group(grid, ProgressBar(total=self._total, completed=self._done, width=60), count)


def told(came: Collected) -> str:
    """One line."""
    if came.ran is None:
        said = "no result" if came.trouble is None else came.trouble.message
        fix = "" if came.trouble is None or came.trouble.fix is None else f" -> {came.trouble.fix}"
        return f"row {came.row}: {said}{fix}"
    how = {"begun": "", "carried_on": ", carried on after another worker", "found": ", was done already"}
    why = f": {came.ran.error}" if came.ran.error else ""
    return f"row {came.row}: {came.ran.status}, {came.ran.duration_ms / 1000:.1f} s{how[came.ran.how]}{why}"
