"""The chart of a website: where each screen is drawn, and which ways between them are.

Pure, of one compiled view. Screens stand in areas, one for each group (a screen of several groups in the smallest of
them), within an area by how many steps they are from where one begins. On a large site not every way is drawn:
those that reach each screen soonest come first, then the most reliable ones. Not here: SVG (`map.svg.j2`), pages.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mcp_server.compiled import View

NODE_WIDTH, NODE_HEIGHT = 208.0, 48.0
PICTURE_HEIGHT = 117.0
"""Above the name, where some screen of the site has a picture: 16 to 9."""
GAP_X, GAP_Y = 64.0, 44.0
PADDING, HEADING = 28.0, 34.0
"""Of an area: around its screens, and above them for its name."""
LETTER, LONGEST_HEADING = 13.0, 60
"""How broad a letter of an area's name is, and how many of them are drawn."""
SHAPE, WHOLE_SHAPE = 1.6, 2.1
"""Width to height that areas, and the whole, come near to."""
BROAD = (1.0, 1.2, 1.45, 1.75, 2.1, 2.5)
"""Breadths of the whole that are tried, as shares of the side of a square as large as all areas."""
MOST_WAYS = 1_200
"""Drawn; what is beyond makes no picture anybody can read."""
LONGEST_NAME = 21
"""Characters of a name that fit a node."""
RELIABLE, FAIR = 0.95, 0.8

Trust = Literal["reliable", "fair", "weak"]


@dataclass(frozen=True, slots=True)
class Place:
    """A screen on the chart: its upper left corner and size."""

    screen_id: str
    name: str
    x: float
    y: float
    height: float
    depth: int | None
    """Steps from where one begins; None: no way leads there."""
    number: int
    """By which lines name it in the drawing."""

    @property
    def short(self) -> str:
        """The name, as far as it fits."""
        return self.name if len(self.name) <= LONGEST_NAME else f"{self.name[: LONGEST_NAME - 1].rstrip()}…"

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return self.x + NODE_WIDTH / 2, self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Area:
    """A group as a rectangle."""

    group_id: str | None
    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything stands; the same for one generation."""

    places: Mapping[str, Place]
    areas: tuple[Area, ...]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """All ways from one screen to another as one line."""

    from_screen: str
    to_screen: str
    path: str
    """For SVG's `d`."""
    trust: Trust
    reliability: float
    """Of the best of them."""
    ways: int


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn."""

    layout: Layout
    lines: tuple[Line, ...]
    ways: int
    """All there are, drawn or not."""
    drawn: int


def trust_of(reliability: float) -> Trust:
    """How a way is drawn by its reliability."""
    if reliability >= RELIABLE:
        return "reliable"
    return "fair" if reliability >= FAIR else "weak"


_MOST_KEPT = 16
_kept: OrderedDict[tuple[int, bool], tuple[View, Layout]] = OrderedDict()


def layout_of(view: View, *, pictured: bool = False) -> Layout:
    """The layout of a view, made once for each generation: weighing its ways anew moves nothing."""
    authored = view if view.authored is None else view.authored
    key = (id(authored), pictured)
    held = _kept.pop(key, None)
    if held is None:  # the view is held with it, so no other has its identity meanwhile
        held = (authored, lay_out(authored, NODE_HEIGHT + (PICTURE_HEIGHT if pictured else 0.0)))
    _kept[key] = held
    if len(_kept) > _MOST_KEPT:
        _kept.popitem(last=False)
    return held[1]


def chart_of(view: View, *, pictured: bool = False, most: int = MOST_WAYS) -> Chart:
    """The chart of a site by what is known of its ways now."""
    layout = layout_of(view, pictured=pictured)
    best: dict[tuple[str, str], float] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for leaving in view.leaving.values():
        for edge in leaving:
            pair = (edge.from_screen, edge.to_screen)
            if pair[0] == pair[1]:
                continue
            counts[pair] += 1
            best[pair] = max(best.get(pair, 0.0), view.learned.reliability(edge))
    chosen = _chosen(layout, best, most)
    lines = tuple(
        Line(*pair, line_between(layout, *pair), trust_of(best[pair]), best[pair], counts[pair])
        for pair in chosen
    )
    return Chart(layout, lines, ways=counts.total(), drawn=sum(line.ways for line in lines))


def line_between(layout: Layout, from_screen: str, to_screen: str) -> str:
    """A line that bows to its right, so that the way there and the way back are two."""
    start, end = layout.places[from_screen], layout.places[to_screen]
    (x1, y1), (x2, y2) = start.middle, end.middle
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    bow = min(48.0, 0.14 * length)
    cx, cy = (x1 + x2) / 2 - (y2 - y1) / length * bow, (y1 + y2) / 2 + (x2 - x1) / length * bow
    ax, ay = _at_the_edge(start, cx, cy)
    bx, by = _at_the_edge(end, cx, cy)
    return f"M{ax:.0f} {ay:.0f}Q{cx:.0f} {cy:.0f} {bx:.0f} {by:.0f}"


def around(layout: Layout, screens: Iterable[str], margin: float = 90.0) -> tuple[float, float, float, float]:
    """Left, top, width and height of what holds these screens; of everything where there is none."""
    places = [layout.places[screen] for screen in screens if screen in layout.places]
    if not places:
        return 0.0, 0.0, layout.width, layout.height
    left = max(0.0, min(each.x for each in places) - margin)
    top = max(0.0, min(each.y for each in places) - margin)
    right = min(layout.width, max(each.x for each in places) + NODE_WIDTH + margin)
    bottom = min(layout.height, max(each.y + each.height for each in places) + margin)
    return left, top, right - left, bottom - top


def lay_out(view: View, height: float = NODE_HEIGHT) -> Layout:
    """Areas beside each other in rows, the one where one begins first."""
    depths = _depths(view)
    members = _members(view)
    far = len(view.knowledge.screens)
    order = sorted(
        members,
        key=lambda group: (min((depths.get(s, far) for s in members[group]), default=far), group or "~"),
    )
    names = {group: _name(view, group) for group in order}
    boxes = [(group, *_grid(members[group], depths, height, names[group])) for group in order]
    total = sum((width + GAP_X) * (tall + GAP_Y) for _, width, tall, _ in boxes)
    widest = max((width for _, width, _, _ in boxes), default=NODE_WIDTH)
    sizes = [(width, tall) for _, width, tall, _ in boxes]
    corners = min(
        (_in_rows(sizes, max(widest, broad * math.sqrt(total))) for broad in BROAD),
        key=lambda found: max(found[1] / WHOLE_SHAPE, found[2]),
    )
    places: dict[str, Place] = {}
    areas = []
    for (group, width, tall, offsets), (x, y) in zip(boxes, corners[0], strict=True):
        areas.append(Area(group, names[group], x, y, width, tall))
        for screen, (dx, dy) in offsets.items():
            named = view.knowledge.screens[screen].name or screen
            places[screen] = Place(screen, named, x + dx, y + dy, height, depths.get(screen), len(places))
    return Layout(places, tuple(areas), max(corners[1], NODE_WIDTH), max(corners[2], height))


def _in_rows(
    sizes: Sequence[tuple[float, float]], broad: float
) -> tuple[list[tuple[float, float]], float, float]:
    """The corners of rectangles set beside each other in rows at most so broad, and the size of the whole."""
    corners = []
    x = y = row = reached = 0.0
    for width, tall in sizes:
        if x and x + width > broad:
            x, y, row = 0.0, y + row + GAP_Y, 0.0
        corners.append((x, y))
        reached = max(reached, x + width)
        x, row = x + width + GAP_X, max(row, tall)
    return corners, reached, y + row


def _grid(
    screens: Sequence[str], depths: Mapping[str, int], height: float, name: str
) -> tuple[float, float, dict[str, tuple[float, float]]]:
    """Size of an area and where its screens are in it: row by row, by how far they are."""
    far = len(depths) + 1
    ordered = sorted(screens, key=lambda screen: (depths.get(screen, far), screen))
    across, down = NODE_WIDTH + GAP_X, height + GAP_Y
    columns = max(1, min(len(ordered), round(math.sqrt(len(ordered) * SHAPE * down / across))))
    rows = math.ceil(len(ordered) / columns)
    offsets = {
        screen: (PADDING + number % columns * across, PADDING + HEADING + number // columns * down)
        for number, screen in enumerate(ordered)
    }
    width = max(columns * across - GAP_X, LETTER * min(len(name), LONGEST_HEADING)) + 2 * PADDING
    return width, rows * down - GAP_Y + 2 * PADDING + HEADING, offsets


def _name(view: View, group: str | None) -> str:
    if group is None:
        return "In no group"
    known = view.knowledge.groups.get(group)
    name = group if known is None else known.name
    return name if len(name) <= LONGEST_HEADING else f"{name[: LONGEST_HEADING - 1].rstrip()}…"


def _members(view: View) -> dict[str | None, list[str]]:
    """Group -> the screens drawn in it: each in the smallest of its groups."""
    sizes = Counter(group for groups in view.groups_of.values() for group in groups)
    found: dict[str | None, list[str]] = defaultdict(list)
    for screen in sorted(view.knowledge.screens):
        groups = view.groups_of.get(screen, ())
        found[min(groups, key=lambda group: (sizes[group], group), default=None)].append(screen)
    return found


def _depths(view: View) -> dict[str, int]:
    """Steps from where one begins: the screens that no way leads to, else the one with the most ways out."""
    reached = {
        edge.to_screen
        for edges in view.leaving.values()
        for edge in edges
        if edge.from_screen != edge.to_screen
    }
    screens = sorted(view.knowledge.screens)
    starts = [screen for screen in screens if screen not in reached and view.leaving.get(screen)]
    if not starts:
        starts = sorted(screens, key=lambda screen: (-len(view.leaving.get(screen, ())), screen))[:1]
    depths = dict.fromkeys(starts, 0)
    waiting = deque(starts)
    while waiting:
        screen = waiting.popleft()
        for edge in view.leaving.get(screen, ()):
            if edge.to_screen not in depths:
                depths[edge.to_screen] = depths[screen] + 1
                waiting.append(edge.to_screen)
    return depths


def _chosen(layout: Layout, best: Mapping[tuple[str, str], float], most: int) -> list[tuple[str, str]]:
    """The pairs that are drawn, within the bound."""
    if len(best) <= most:
        return sorted(best)
    soonest: dict[str, tuple[str, str]] = {}
    for pair in sorted(best, key=lambda pair: (_depth(layout, pair[0]), -best[pair], pair)):
        if _depth(layout, pair[0]) < _depth(layout, pair[1]):
            soonest.setdefault(pair[1], pair)
    first = sorted(soonest.values(), key=lambda pair: (_depth(layout, pair[0]), pair))[:most]
    kept = frozenset(first)
    rest = sorted((pair for pair in best if pair not in kept), key=lambda pair: (-best[pair], pair))
    return [*first, *rest[: most - len(first)]]


def _depth(layout: Layout, screen: str) -> float:
    depth = layout.places[screen].depth
    return math.inf if depth is None else depth


def _at_the_edge(place: Place, towards_x: float, towards_y: float) -> tuple[float, float]:
    """Where the line from a node's middle towards a point leaves the node."""
    x, y = place.middle
    dx, dy = towards_x - x, towards_y - y
    if not dx and not dy:
        return x, y
    scale = min(NODE_WIDTH / 2 / abs(dx) if dx else math.inf, place.height / 2 / abs(dy) if dy else math.inf)
    return x + dx * scale, y + dy * scale
