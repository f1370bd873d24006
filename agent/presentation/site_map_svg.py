"""Draws the map of a website as SVG: screens in columns by distance, transitions as curves, the visited path
on top.

Pure: from the knowledge server's answer and the visited screens to SVG.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from kb_schema.tool_answers import SiteMap

COLUMN, ROW = 186, 58
WIDTH, HEIGHT = 148, 38
MARGIN = 26
MAX_ROWS = 7
"""Most screens in one column; the rest goes into another column of the same distance."""


@dataclass(frozen=True, slots=True)
class ScreenBox:
    """Upper left corner of a screen's box."""

    x: float
    y: float


def draw_site_map(site: SiteMap, visited: Sequence[str]) -> str:
    """Return the SVG of the whole website; `visited`: visited screens in order, the first one is the start."""
    places = layout_screens(site, visited[0] if visited else None)
    if not places:
        return ""
    width = max(p.x for p in places.values()) + WIDTH + MARGIN
    height = max(p.y for p in places.values()) + HEIGHT + MARGIN
    route = [(a, b) for a, b in pairwise(visited) if a != b and a in places and b in places]
    taken = set(route)
    label = f"Map of {escape(site.name)}: {len(places)} screens, {len(set(visited))} of them visited"
    head = (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" aria-label="{label}" '
        'xmlns="http://www.w3.org/2000/svg">'
    )
    lines = [head]
    drawn: set[tuple[str, str]] = set()
    for edge in site.transitions:
        ends = (edge.from_screen, edge.to_screen)
        if ends[0] == ends[1] or ends in drawn or ends in taken or not set(ends) <= places.keys():
            continue
        drawn.add(ends)
        lines.append(f'<path class="way" d="{_curve(places[ends[0]], places[ends[1]])}"/>')
    for number, ends in enumerate(dict.fromkeys(route), start=1):
        title = f"{number}: {escape(ends[0])} to {escape(ends[1])}"
        lines.append(
            f'<path class="route" d="{_curve(places[ends[0]], places[ends[1]])}"><title>{title}</title></path>'
        )
    order = {screen: index for index, screen in reversed(list(enumerate(dict.fromkeys(visited), start=1)))}
    for screen in site.screens:
        place = places[screen.screen_id]
        seen = screen.screen_id in order
        lines.append(
            f'<g class="{"screen seen" if seen else "screen"}" transform="translate({place.x:.0f} {place.y:.0f})">'
            f"<title>{escape(screen.screen_id)}</title>"
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="9"/>'
            f'<text x="{WIDTH / 2:.0f}" y="{HEIGHT / 2 + 4:.0f}">{escape(_short(screen.name))}</text>'
        )
        if seen:
            lines.append(f'<circle r="10"/><text class="number" y="4">{order[screen.screen_id]}</text>')
        lines.append("</g>")
    lines.append("</svg>")
    return "\n".join(lines)


def layout_screens(site: SiteMap, start: str | None) -> dict[str, ScreenBox]:
    """Return a position for every screen: columns by distance from `start`, unreachable screens last."""
    following: dict[str, list[str]] = {screen.screen_id: [] for screen in site.screens}
    if not following:
        return {}
    for edge in site.transitions:
        if edge.from_screen in following and edge.to_screen in following:
            following[edge.from_screen].append(edge.to_screen)
    first = start if start in following else next(iter(following))
    distance = {first: 0}
    queue = deque([first])
    while queue:
        here = queue.popleft()
        for screen in following[here]:
            if screen not in distance:
                distance[screen] = distance[here] + 1
                queue.append(screen)
    furthest = max(distance.values())
    columns: dict[int, list[str]] = {}
    for screen in following:
        columns.setdefault(distance.get(screen, furthest + 1), []).append(screen)
    places: dict[str, ScreenBox] = {}
    x = float(MARGIN)
    for _, screens in sorted(columns.items()):
        for begin in range(0, len(screens), MAX_ROWS):
            part = screens[begin : begin + MAX_ROWS]
            offset = (MAX_ROWS - len(part)) * ROW / 2 if len(following) > MAX_ROWS else 0.0
            for row, screen in enumerate(part):
                places[screen] = ScreenBox(x, MARGIN + offset + row * ROW)
            x += COLUMN
    lowest = min(place.y for place in places.values())
    return {screen: ScreenBox(p.x, p.y - lowest + MARGIN) for screen, p in places.items()}


def _curve(a: ScreenBox, b: ScreenBox) -> str:
    forward = b.x > a.x
    x1 = a.x + (WIDTH if forward else 0)
    x2 = b.x + (0 if forward else WIDTH)
    y1, y2 = a.y + HEIGHT / 2, b.y + HEIGHT / 2
    if a.x == b.x:  # same column: curve around the right side
        x1 = x2 = a.x + WIDTH
        return f"M{x1:.0f} {y1:.0f} C{x1 + 40:.0f} {y1:.0f} {x2 + 40:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
    bend = (x2 - x1) / 2
    return f"M{x1:.0f} {y1:.0f} C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"


def _short(name: str, longest: int = 21) -> str:
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"
