"""The layout of a website's map: the positions of screens and the lines between them. Pure functions.

Screens are placed in areas, one for each screen group (a screen of several groups is in the smallest one), ordered by
their distance from the start screen. On a large site not every transition is drawn: first those on the shortest path
to each screen, then the most reliable ones. `map.svg.j2` draws the SVG.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mcp_server.knowledge.compiled_view import KnowledgeView
from periplus.console import site_map_layers

NODE_WIDTH, NODE_HEIGHT = 208.0, 48.0
PICTURE_HEIGHT = 117.0
"""Height of the screenshot above the name, if the site has screenshots; 16:9."""
GAP_X, GAP_Y = 64.0, 44.0
PADDING, HEADING = 28.0, 34.0
"""Padding of an area, and the height of its heading."""
LAYER_GAP_X, LAYER_GAP_Y, LAYER_PADDING, LAYERED_SHAPE = 44.0, 22.0, 16.0, 1.6
"""Gaps, padding and aspect ratio of a map by layers, which is to be readable without magnifying it."""
LETTER, LONGEST_HEADING = 13.0, 60
"""Width of a character of an area's name, and the maximum number of characters."""
SHAPE, WHOLE_SHAPE = 1.6, 2.1
"""Target aspect ratio of areas and of the whole map."""
BROAD = (1.0, 1.2, 1.45, 1.75, 2.1, 2.5)
"""Widths of the map to try, relative to the side of a square with the total area."""
MOST_WAYS = 1_200
"""Maximum number of lines; more are not readable."""
LONGEST_NAME = 21
"""Maximum number of characters of a name in a node."""
RELIABLE, FAIR = 0.95, 0.8

Trust = Literal["reliable", "fair", "weak"]


@dataclass(frozen=True, slots=True)
class DrawnScreen:
    """A screen on the map: its upper left corner and size."""

    screen_id: str
    name: str
    x: float
    y: float
    height: float
    depth: int | None
    """Steps from the start screen; None if it is not reachable."""
    number: int
    """The number that lines use to refer to it."""

    @property
    def short(self) -> str:
        """Return the name, truncated to fit."""
        return self.name if len(self.name) <= LONGEST_NAME else f"{self.name[: LONGEST_NAME - 1].rstrip()}…"

    @property
    def middle(self) -> tuple[float, float]:
        """Return its centre."""
        return self.x + NODE_WIDTH / 2, self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class DrawnGroup:
    """A group as a rectangle."""

    group_id: str | None
    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class SiteMapLayout:
    """The positions of all screens and groups of one generation."""

    places: Mapping[str, DrawnScreen]
    areas: tuple[DrawnGroup, ...]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class MapLine:
    """All transitions from one screen to another as one line."""

    from_screen: str
    to_screen: str
    path: str
    """The SVG path data (`d`)."""
    trust: Trust
    reliability: float
    """The reliability class of the best transition."""
    ways: int


@dataclass(frozen=True, slots=True)
class SiteMapDrawing:
    """The layout with its lines."""

    layout: SiteMapLayout
    lines: tuple[MapLine, ...]
    ways: int
    """The number of all transitions, drawn or not."""
    drawn: int
    folded: int = 0
    """The number of transitions of navigation bars, which are not drawn."""
    navigation: Mapping[str, int] = field(default_factory=dict)
    """The screens that a navigation bar leads to, with the number of screens that lead there."""


def classify_reliability(reliability: float) -> Trust:
    """Return the class of a reliability: reliable, fair or weak."""
    if reliability >= RELIABLE:
        return "reliable"
    return "fair" if reliability >= FAIR else "weak"


_MOST_KEPT = 16
_kept: OrderedDict[tuple[int, bool, bool], tuple[KnowledgeView, SiteMapLayout]] = OrderedDict()


def is_layered(view: KnowledgeView) -> bool:
    """Return whether a website is small enough to be drawn by layers."""
    return len(view.knowledge.screens) <= site_map_layers.MOST_SCREENS


def cached_layout(view: KnowledgeView, *, pictured: bool = False, by_groups: bool = False) -> SiteMapLayout:
    """Return the layout of a view, cached per generation; new weights do not move screens."""
    authored = view if view.authored is None else view.authored
    layered = is_layered(authored) and not by_groups
    key = (id(authored), pictured, layered)
    held = _kept.pop(key, None)
    if held is None:  # the cache keeps the view, so its `id` stays unique
        build = build_layered_layout if layered else build_layout
        held = (authored, build(authored, NODE_HEIGHT + (PICTURE_HEIGHT if pictured else 0.0)))
    _kept[key] = held
    if len(_kept) > _MOST_KEPT:
        _kept.popitem(last=False)
    return held[1]


def build_site_map(
    view: KnowledgeView, *, pictured: bool = False, most: int = MOST_WAYS, by_groups: bool = False
) -> SiteMapDrawing:
    """Return the map of a site with the current weights of its transitions.

    A small site is drawn by layers, without the lines of its navigation bar, unless `by_groups` is set.
    """
    layout = cached_layout(view, pictured=pictured, by_groups=by_groups)
    best: dict[tuple[str, str], float] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for leaving in view.leaving.values():
        for edge in leaving:
            pair = (edge.from_screen, edge.to_screen)
            if pair[0] == pair[1]:
                continue
            counts[pair] += 1
            best[pair] = max(best.get(pair, 0.0), view.learned.reliability(edge))
    chosen, navigation, folded = _select_transitions(layout, best, most), {}, 0
    if is_layered(view) and not by_groups:
        navigation = site_map_layers.find_navigation(best, len(layout.places))
        kept = site_map_layers.fold_navigation(chosen, navigation, _depths_of(layout))
        folded = sum(counts[pair] for pair in set(chosen) - set(kept))
        chosen = kept
    lines = tuple(
        MapLine(*pair, draw_line(layout, *pair), classify_reliability(best[pair]), best[pair], counts[pair])
        for pair in chosen
    )
    drawn = sum(line.ways for line in lines)
    return SiteMapDrawing(layout, lines, counts.total(), drawn, folded, navigation)


def draw_line(layout: SiteMapLayout, from_screen: str, to_screen: str) -> str:
    """Return a line curved to the right, so that both directions between two screens are visible."""
    start, end = layout.places[from_screen], layout.places[to_screen]
    (x1, y1), (x2, y2) = start.middle, end.middle
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    bow = min(48.0, 0.14 * length)
    cx, cy = (x1 + x2) / 2 - (y2 - y1) / length * bow, (y1 + y2) / 2 + (x2 - x1) / length * bow
    ax, ay = _find_edge_point(start, cx, cy)
    bx, by = _find_edge_point(end, cx, cy)
    return f"M{ax:.0f} {ay:.0f}Q{cx:.0f} {cy:.0f} {bx:.0f} {by:.0f}"


def find_bounds(
    layout: SiteMapLayout, screens: Iterable[str], margin: float = 90.0
) -> tuple[float, float, float, float]:
    """Return left, top, width and height of the rectangle around these screens; around all if there are none."""
    places = [layout.places[screen] for screen in screens if screen in layout.places]
    if not places:
        return 0.0, 0.0, layout.width, layout.height
    left = max(0.0, min(each.x for each in places) - margin)
    top = max(0.0, min(each.y for each in places) - margin)
    right = min(layout.width, max(each.x for each in places) + NODE_WIDTH + margin)
    bottom = min(layout.height, max(each.y + each.height for each in places) + margin)
    return left, top, right - left, bottom - top


def build_layout(view: KnowledgeView, height: float = NODE_HEIGHT) -> SiteMapLayout:
    """Return the layout with areas in rows, the area of the start screen first."""
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
        (_place_in_rows(sizes, max(widest, broad * math.sqrt(total))) for broad in BROAD),
        key=lambda found: max(found[1] / WHOLE_SHAPE, found[2]),
    )
    places: dict[str, DrawnScreen] = {}
    areas = []
    for (group, width, tall, offsets), (x, y) in zip(boxes, corners[0], strict=True):
        areas.append(DrawnGroup(group, names[group], x, y, width, tall))
        for screen, (dx, dy) in offsets.items():
            named = view.knowledge.screens[screen].name or screen
            places[screen] = DrawnScreen(
                screen, named, x + dx, y + dy, height, depths.get(screen), len(places)
            )
    return SiteMapLayout(places, tuple(areas), max(corners[1], NODE_WIDTH), max(corners[2], height))


def build_layered_layout(view: KnowledgeView, height: float = NODE_HEIGHT) -> SiteMapLayout:
    """Return the layout with one area for each layer, from the entry on the left."""
    across, down = NODE_WIDTH + LAYER_GAP_X, height + LAYER_GAP_Y
    pairs = [(edge.from_screen, edge.to_screen) for edges in view.leaving.values() for edge in edges]
    navigation = site_map_layers.find_navigation(set(pairs), len(view.knowledge.screens))
    depths = _depths(view, navigation)
    layers = site_map_layers.build_layers(
        depths, view.knowledge.screens, pairs, column=across, row=down, shape=LAYERED_SHAPE
    )
    places: dict[str, DrawnScreen] = {}
    areas, x = [], 0.0
    tallest = max((len(column) for layer in layers for column in layer.columns), default=1)
    whole = tallest * down - LAYER_GAP_Y + 2 * LAYER_PADDING + HEADING
    for layer in layers:
        width = max(len(layer.columns) * across - LAYER_GAP_X, LETTER * len(layer.name)) + 2 * LAYER_PADDING
        areas.append(DrawnGroup(None, layer.name, x, 0.0, width, whole))
        for number, column in enumerate(layer.columns):
            for row, screen in enumerate(column):
                top = LAYER_PADDING + HEADING + row * down
                named = view.knowledge.screens[screen].name or screen
                left = x + LAYER_PADDING + number * across
                places[screen] = DrawnScreen(
                    screen, named, left, top, height, depths.get(screen), len(places)
                )
        x += width + LAYER_PADDING
    return SiteMapLayout(places, tuple(areas), max(x - LAYER_PADDING, NODE_WIDTH), whole)


def _depths_of(layout: SiteMapLayout) -> dict[str, int]:
    return {screen: each.depth for screen, each in layout.places.items() if each.depth is not None}


def _place_in_rows(
    sizes: Sequence[tuple[float, float]], broad: float
) -> tuple[list[tuple[float, float]], float, float]:
    """Return the corners of rectangles placed in rows of a maximum width, and the total size."""
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
    """Return the size of an area and the positions of its screens, in rows by distance."""
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


def _name(view: KnowledgeView, group: str | None) -> str:
    if group is None:
        return "No group"
    known = view.knowledge.groups.get(group)
    name = group if known is None else known.name
    return name if len(name) <= LONGEST_HEADING else f"{name[: LONGEST_HEADING - 1].rstrip()}…"


def _members(view: KnowledgeView) -> dict[str | None, list[str]]:
    """Return group -> its screens; each screen is in the smallest of its groups."""
    sizes = Counter(group for groups in view.groups_of.values() for group in groups)
    found: dict[str | None, list[str]] = defaultdict(list)
    for screen in sorted(view.knowledge.screens):
        groups = view.groups_of.get(screen, ())
        found[min(groups, key=lambda group: (sizes[group], group), default=None)].append(screen)
    return found


def _depths(view: KnowledgeView, navigation: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the steps from the start: screens without incoming transitions, else the one with most outgoing ones; of
    those in the navigation, the one that most screens lead to.
    """
    reached = {
        edge.to_screen
        for edges in view.leaving.values()
        for edge in edges
        if edge.from_screen != edge.to_screen
    }
    screens = sorted(view.knowledge.screens)
    starts = [screen for screen in screens if screen not in reached and view.leaving.get(screen)]
    if not starts and navigation:
        starts = sorted(navigation, key=lambda screen: (-navigation[screen], screen))[:1]
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


def _select_transitions(
    layout: SiteMapLayout, best: Mapping[tuple[str, str], float], most: int
) -> list[tuple[str, str]]:
    """Return the pairs of screens with a line, at most `most`."""
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


def _depth(layout: SiteMapLayout, screen: str) -> float:
    depth = layout.places[screen].depth
    return math.inf if depth is None else depth


def _find_edge_point(place: DrawnScreen, towards_x: float, towards_y: float) -> tuple[float, float]:
    """Return the point where a line from a node's centre leaves the node."""
    x, y = place.middle
    dx, dy = towards_x - x, towards_y - y
    if not dx and not dy:
        return x, y
    scale = min(NODE_WIDTH / 2 / abs(dx) if dx else math.inf, place.height / 2 / abs(dy) if dy else math.inf)
    return x + dx * scale, y + dy * scale
