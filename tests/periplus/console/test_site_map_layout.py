"""Where screens stand on a chart, and which ways are drawn."""

from __future__ import annotations

import itertools

import pytest

from benchmarks.large_site import large_site
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
    drawn = site_map_layout.build_site_map(seed)
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
