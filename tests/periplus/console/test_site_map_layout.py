"""Where screens stand on a chart, and which ways are drawn."""

from __future__ import annotations

import itertools

import pytest

from benchmarks.large_site import large_site
from kb_schema import SourcedDocument, assemble, parse_document
from mcp_server.knowledge.compiled_view import compile_view
from periplus.console import site_map_layout
from tests.periplus.console.console_site import seed_knowledge


@pytest.fixture(scope="module")
def seed():
    return compile_view(seed_knowledge(), "1")


@pytest.fixture(scope="module")
def large():
    return compile_view(large_site(0.03), "1")


@pytest.mark.parametrize("name", ["seed", "large"])
def test_screens_stand_apart_each_within_its_area(name, request):
    view = request.getfixturevalue(name)
    layout = site_map_layout.build_layout(view)
    assert layout.places.keys() == view.knowledge.screens.keys()
    corners = sorted((place.y, place.x) for place in layout.places.values())
    for (y1, x1), (y2, x2) in itertools.pairwise(corners):
        assert y1 != y2 or x2 - x1 >= site_map_layout.NODE_WIDTH
    for place in layout.places.values():
        inside = [
            area
            for area in layout.areas
            if area.x < place.x
            and place.x + site_map_layout.NODE_WIDTH < area.x + area.width
            and area.y < place.y
            and place.y + place.height < area.y + area.height
        ]
        assert len(inside) == 1
        assert inside[0].group_id in {None, *view.groups_of.get(place.screen_id, ())}


def test_the_same_knowledge_is_drawn_the_same_and_laid_out_once(seed):
    again = compile_view(seed_knowledge(), "2")
    assert site_map_layout.build_layout(seed) == site_map_layout.build_layout(again)
    assert site_map_layout.cached_layout(seed) is site_map_layout.cached_layout(seed)


def test_a_small_site_has_all_its_ways_drawn_once_for_each_pair(seed):
    drawn = site_map_layout.build_site_map(seed, by_groups=True)
    pairs = {
        (edge.from_screen, edge.to_screen)
        for edge in seed.knowledge.transitions.values()
        if edge.from_screen != edge.to_screen
    }
    assert {(line.from_screen, line.to_screen) for line in drawn.lines} == pairs
    assert drawn.drawn == drawn.ways


def test_of_a_large_site_the_ways_that_reach_each_screen_soonest_are_drawn_first(large):
    drawn = site_map_layout.build_site_map(large, most=400)
    assert len(drawn.lines) == 400
    assert drawn.drawn < drawn.ways
    reached = {line.to_screen for line in drawn.lines}
    begun = {place.screen_id for place in drawn.layout.places.values() if place.depth}
    assert begun <= reached


@pytest.mark.parametrize(
    ("reliability", "trust"),
    [(1.0, "reliable"), (0.95, "reliable"), (0.94, "fair"), (0.8, "fair"), (0.79, "weak"), (0, "weak")],
)
def test_a_line_says_how_reliable_its_way_is(reliability, trust):
    assert site_map_layout.classify_reliability(reliability) == trust


def test_what_is_looked_at_closely_is_within_the_chart(seed):
    layout = site_map_layout.cached_layout(seed)
    left, top, width, height = site_map_layout.find_bounds(layout, ["dashboard", "agent_create"])
    assert left >= 0
    assert top >= 0
    assert left + width <= layout.width
    assert top + height <= layout.height
    assert site_map_layout.find_bounds(layout, []) == (0, 0, layout.width, layout.height)


def _site(screens, pairs):
    """A site with these screens and transitions."""
    documents = [{"type": "website", "website_id": "w", "name": "W", "base_url": "https://w.example"}]
    documents += [
        {"type": "screen", "screen_id": each, "name": each.upper(), "url_patterns": [f"^/{each}$"]}
        for each in screens
    ]
    documents += [
        {
            "type": "transition", "transition_id": f"{a}-{b}", "_from": f"screen/{a}", "_to": f"screen/{b}",
            "triggered_by": {"action_type": "navigate", "url": f"/{b}"},
        }
        for a, b in pairs
    ]  # fmt: skip
    return compile_view(assemble([SourcedDocument(parse_document(each)) for each in documents])[0], "1")


def _with_navigation(sections=6, details=9):
    """Sixty screens: a sign-in, sections that every screen leads to, and details below each section."""
    names = [f"s{n}" for n in range(sections)]
    below = [f"s{n}d{m}" for n in range(sections) for m in range(details)]
    pairs = [("start", "s0")]
    pairs += [(a, b) for a in [*names, *below] for b in names if a != b]
    pairs += [(each[: each.index("d")], each) for each in below]
    return _site(["start", *names, *below, "lost"], pairs), names, below


def test_a_small_site_is_drawn_by_its_steps_from_the_entry_and_its_navigation_is_folded():
    view, names, below = _with_navigation()
    drawn = site_map_layout.build_site_map(view)
    assert [area.name for area in drawn.layout.areas] == [
        "Start",
        "1 step",
        "2 steps",
        "3 steps",
        "Not reached",
    ]
    places = drawn.layout.places
    assert places.keys() == view.knowledge.screens.keys()
    assert places["start"].x < places["s0"].x < places["s1"].x < places["s1d0"].x < places["lost"].x
    assert set(drawn.navigation) == set(names)
    # Each section has its first line; each detail has its own.
    lines = {(line.from_screen, line.to_screen) for line in drawn.lines}
    assert lines == {
        ("start", "s0"), *(("s0", each) for each in names[1:]), *((each[: each.index("d")], each) for each in below),
    }  # fmt: skip
    assert drawn.drawn + drawn.folded == drawn.ways == len(view.knowledge.transitions)


def test_sixty_screens_are_a_map_that_fits_a_window_and_no_two_overlap():
    view, _, _ = _with_navigation()
    layout = site_map_layout.cached_layout(view)
    assert 1.2 < layout.width / layout.height < 2.4
    boxes = [(place.x, place.y) for place in layout.places.values()]
    assert len(set(boxes)) == len(boxes) == 62
    for (x1, y1), (x2, y2) in itertools.combinations(boxes, 2):
        assert abs(x1 - x2) >= site_map_layout.NODE_WIDTH or abs(y1 - y2) >= site_map_layout.NODE_HEIGHT
    # Details of one section stand together: their lines cross less.
    column = sorted(
        (p for p in layout.places.values() if p.screen_id.startswith("s") and "d" in p.screen_id),
        key=lambda p: (p.x, p.y),
    )
    changes = sum(
        a.screen_id.split("d")[0] != b.screen_id.split("d")[0] for a, b in itertools.pairwise(column)
    )
    assert changes <= 10


def test_a_site_without_a_navigation_has_all_its_lines():
    view = _site("abcd", [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    drawn = site_map_layout.build_site_map(view)
    assert (drawn.navigation, drawn.folded, len(drawn.lines)) == ({}, 0, 4)
