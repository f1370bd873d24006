"""Turns numbers into the coordinates of a small SVG chart."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Chart:
    """A line chart in the units of its ``viewBox``."""

    width: int
    height: int
    line: str  # path data of the line
    area: str  # the same, closed at the bottom
    points: list[tuple[float, float, int]]  # x, y, value
    grid: list[tuple[float, int]]  # y, value


def line_chart(values: Sequence[int], *, width: int = 640, height: int = 330, top: int = 1000) -> Chart:
    """Return a smooth line through ``values``, on a scale from 0 to ``top``."""
    step = width / (len(values) - 1)
    dots = [(round(i * step, 1), round(height * (1 - v / top), 1), v) for i, v in enumerate(values)]
    line = f"M{dots[0][0]},{dots[0][1]}"
    for (x0, y0, _), (x1, y1, _) in pairwise(dots):
        middle = round((x0 + x1) / 2, 1)
        line += f" C{middle},{y0} {middle},{y1} {x1},{y1}"
    grid = [(round(height * (1 - value / top), 1), value) for value in range(0, top + 1, top // 4)]
    return Chart(width, height, line, f"{line} L{width},{height} L0,{height} Z", dots, grid)
