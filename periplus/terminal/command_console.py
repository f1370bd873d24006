"""The console that commands print to: as wide as the terminal, and without a limit where the output is no terminal.

Texts of pages and files cannot control the terminal: control characters in them are printed as escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import Console, ConsoleDimensions, ConsoleOptions, RenderableType
from rich.segment import Segment

WIDEST = 100_000
"""Columns of an output that is no terminal: ids are not broken over lines, and nothing is cut."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys, and those that reverse the order of others; not line ends and tabs."""


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

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of what is printed; only those of `rich` itself may control the terminal."""
        for segment in super().render(renderable, options):
            if segment.control is None and _CONTROLS.search(segment.text):
                yield Segment(_CONTROLS.sub(_escape, segment.text), segment.style)
            else:
                yield segment


def _escape(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]
