"""The console that commands print to: as wide as the terminal, and without a limit where the output is no terminal."""

from __future__ import annotations

from rich.console import Console, ConsoleDimensions

WIDEST = 100_000
"""Columns of an output that is no terminal: ids are not broken over lines, and nothing is cut."""


class CommandConsole(Console):
    """A `rich` console. In a pipe or a file its lines are neither wrapped nor cut, whatever `COLUMNS` says."""

    @property
    def size(self) -> ConsoleDimensions:
        """Return columns and rows."""
        known = super().size
        return known if self.file.isatty() else ConsoleDimensions(WIDEST, known.height)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self._width, self._height = new_size
