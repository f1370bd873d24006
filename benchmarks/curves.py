"""Curves of figures against size, log-log, as an SVG file: `python -m benchmarks.curves` writes docs/pictures/huge.svg.

Lines are ours and the peer's, from `out/bench/huge.json` (`make bench-huge`). A line that rises by one unit of height in one of
width grows as the size does.
"""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figures

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "huge.svg"
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 400, 300, 52, 34, 34, 40
"""Of one chart, and of the space around its plot, in pixels."""
COLOURS = ("#1565c0", "#c62828", "#2e7d32", "#6a1b9a")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its name, and its points as (size, value)."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over one pair of axes."""

    title: str
    lines: Sequence[Line]


def draw_charts(charts: Sequence[Chart], note: str) -> str:
    """Return one SVG with the charts beside each other, two in a row, and a note below."""
    rows = math.ceil(len(charts) / 2)
    width, height = WIDTH * min(2, len(charts)), HEIGHT * rows + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, chart in enumerate(charts):
        parts.append(f'<g transform="translate({WIDTH * (number % 2)} {HEIGHT * (number // 2)})">')
        parts += _draw_chart(chart)
        parts.append("</g>")
    parts += [f'<text x="{LEFT}" y="{height - 8}" fill="#555555">{html.escape(note)}</text>', "</svg>", ""]
    return "\n".join(parts)


def _draw_chart(chart: Chart) -> list[str]:
    xs = [x for line in chart.lines for x, _ in line.points]
    ys = [y for line in chart.lines for _, y in line.points]
    x_from, x_to = _decades(xs)
    y_from, y_to = _decades(ys)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x_at(value: float) -> float:
        return LEFT + (math.log10(value) - x_from) / (x_to - x_from) * (right - LEFT)

    def y_at(value: float) -> float:
        return bottom - (math.log10(value) - y_from) / (y_to - y_from) * (bottom - TOP)

    parts = [f'<text x="{LEFT}" y="18" font-weight="bold">{html.escape(chart.title)}</text>']
    for power in range(x_from, x_to + 1):
        x = x_at(10.0**power)
        parts.append(f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="#dddddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{10**power:,}</text>')
    for power in range(y_from, y_to + 1):
        y = y_at(10.0**power)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for number, line in enumerate(chart.lines):
        colour = COLOURS[number % len(COLOURS)]
        places = [(x_at(x), y_at(y)) for x, y in line.points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
        parts.append(
            f'<text x="{LEFT + 8}" y="{TOP + 14 * (number + 1)}" fill="{colour}">{html.escape(line.name)}</text>'
        )
    return parts


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around the values; at least one apart. Raises `ValueError` without a value above 0."""
    least, most = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return least, max(most, least + 1)


def main() -> int:
    kept = Figures("huge")
    if len(kept.parts) < 2:
        sys.stderr.write("expected two sizes in out/bench/huge.json -> make bench-huge\n")
        return 2
    by_size = sorted((int(size), figures) for size, figures in kept.parts.items() if size.isdecimal())
    served = sorted(
        (int(name.split()[0]), figures) for name, figures in kept.parts.items() if name.endswith(" served")
    )

    def line(name: str, figure: str, least_size: int = 0) -> Line:
        return Line(name, [(size, figures[figure]) for size, figures in by_size if size >= least_size])

    charts = (
        Chart("Identify a read page, CPU ms", [line("Periplus", "identify_ms")]),
        Chart(
            "One path, CPU ms, searched",
            [
                line("Periplus", "path_ms", 10_000),
                line("networkx, bidirectional Dijkstra", "networkx_path_ms"),
            ],
        ),
        Chart(
            "Load into SQLite, CPU s", [line("Periplus", "load_s"), line("the driver alone", "bare_load_s")]
        ),
        Chart(
            "Memory, MB",
            [
                line("a process that checks and compiles", "memory_mb"),
                Line(
                    "a server with the kept view", [(size, figures["memory_mb"]) for size, figures in served]
                ),
            ],
        ),
    )
    loads = [figures["load_average"] for _, figures in by_size]
    note = (
        f"Number of screens, ten transitions each. One run a size, {kept.measured}, 2 cores,"
        f" load average {min(loads):.0f} to {max(loads):.0f}."
    )
    PICTURE.write_text(draw_charts(charts, note), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
