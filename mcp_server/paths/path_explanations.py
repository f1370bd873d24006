"""Why an alternative path is worse, in numbers. Why there is no path: what blocks it, and how close one gets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kb_schema.tool_answers import BlockedTransition, Path, PathComparison, PathSearchResult
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.paths.open_transitions import OpenTransitions
from mcp_server.transition_graph.next_hop_tables import compute_row

MOST_OBSTACLES = 5


# -- why not the other one -----------------------------------------------------------------------


def compare_paths(
    terrain: OpenTransitions, paths: Sequence[Path], ways: Sequence[Sequence[int]]
) -> tuple[Path, ...]:
    """Paths, best first, each but the first with what sets it apart from the first."""
    if len(paths) == 1:
        return (paths[0],)
    arrives = [sum(terrain.network.ways[way].weights["balanced"][0] for way in own) for own in ways]
    best = paths[0]
    return (
        best,
        *(
            path.model_copy(update={"against_best": _compare_with_best(best, path, arrival - arrives[0])})
            for path, arrival in zip(paths[1:], arrives[1:], strict=True)
        ),
    )


def _compare_with_best(best: Path, path: Path, later_ms: float) -> PathComparison:
    return PathComparison(
        more_steps=len(path.steps) - len(best.steps),
        slower_ms=round(path.expected_ms - best.expected_ms, 1),
        later_ms=round(later_ms, 1),
        less_reliable=round(best.reliability - path.reliability, 4),
        assumes=tuple(each for each in path.assumptions if each not in best.assumptions),
    )


def describe_comparison(comparison: PathComparison) -> str:
    """`0.8 s slower, 0.10 less reliable, assumes authenticated`; what speaks for it, too."""
    said = []
    if comparison.more_steps:
        steps = abs(comparison.more_steps)
        said.append(
            f"{steps} {'step' if steps == 1 else 'steps'} {'more' if comparison.more_steps > 0 else 'fewer'}"
        )
    for ms, more, less in (
        (comparison.slower_ms, "slower", "faster"),
        (comparison.later_ms, "later with failures", "sooner with failures"),
    ):
        if abs(ms) >= 50:
            said.append(f"{abs(ms) / 1000:.1f} s {more if ms > 0 else less}")
    if abs(comparison.less_reliable) >= 0.005:
        word = "less" if comparison.less_reliable > 0 else "more"
        said.append(f"{abs(comparison.less_reliable):.2f} {word} reliable")
    if comparison.assumes:
        said.append(f"assumes {', '.join(comparison.assumes)}")
    return ", ".join(said) or "as good as the first"


# -- why there is none ---------------------------------------------------------------------------


def explain_missing_path(
    view: KnowledgeView, terrain: OpenTransitions, from_screen: str, to_screen: str
) -> PathSearchResult:
    """The answer where nothing was found."""
    to_go = _costs_to_goal(terrain, to_screen)
    obstacles: tuple[BlockedTransition, ...] = ()
    nearest = None
    if from_screen in to_go:
        reached, closed = _reachable_screens(terrain, from_screen)
        nearest = min(reached & to_go.keys(), key=lambda screen: (to_go[screen], screen))
        obstacles = _list_obstacles(terrain, closed, reached, to_go)
    return PathSearchResult(
        website_id=view.website_id,
        from_screen=from_screen,
        to_screen=to_screen,
        objective=terrain.objective,
        paths=(),
        obstacles=obstacles,
        nearest=nearest,
        hint=_describe_obstacles(obstacles, nearest)
        if obstacles
        else _describe_missing_link(view, to_screen, to_go),
    )


def _costs_to_goal(terrain: OpenTransitions, to_screen: str) -> dict[str, int]:
    """Screen id -> what remains to the goal were every transition open; only where one leads there."""
    network = terrain.network
    if to_screen not in network.numbers:
        return {to_screen: 0}
    _, costs = compute_row(network.numbers[to_screen], network.arcs(terrain.objective).into)
    return {network.screens[number]: cost for number, cost in enumerate(costs) if cost is not None}


def _reachable_screens(terrain: OpenTransitions, from_screen: str) -> tuple[set[str], dict[int, int]]:
    """The screens that can be reached, and transitions that are not open there, each with the facts known."""
    network = terrain.network
    start = (network.numbers[from_screen], 0)
    seen = {start}
    waiting = [start]
    closed: dict[int, int] = {}
    while waiting:
        place = waiting.pop()
        opened = set()
        for _, after, way in terrain.steps(place):
            opened.add(way)
            if after not in seen:
                seen.add(after)
                waiting.append(after)
        for _, _, way in network.arcs(terrain.objective).out[place[0]]:
            if way not in opened:
                closed.setdefault(way, place[1])
    return {network.screens[screen] for screen, _ in seen}, closed


def _list_obstacles(
    terrain: OpenTransitions, closed: Mapping[int, int], reached: Collection[str], to_go: Mapping[str, int]
) -> tuple[BlockedTransition, ...]:
    """The closed transitions that lead on from what can be reached, what would arrive soonest first."""
    ways = terrain.network.ways
    costs = terrain.network.arcs(terrain.objective).costs
    leading = [way for way in closed if ways[way].target in to_go and ways[way].target not in reached]
    leading.sort(key=lambda way: (costs[way] + to_go[ways[way].target], way))
    return tuple(
        BlockedTransition(
            transition_id=ways[way].transition_id,
            from_screen=ways[way].source,
            because=terrain.closed_because(way, closed[way]) or "",
        )
        for way in leading[:MOST_OBSTACLES]
    )


def _describe_obstacles(obstacles: Sequence[BlockedTransition], nearest: str | None) -> str:
    said = "; ".join(
        f"{each.transition_id} from {each.from_screen} is closed: {each.because}" for each in obstacles
    )
    return f"{said}; nearest that can be reached: {nearest}. Change what closes it and call find_path again"


def _describe_missing_link(view: KnowledgeView, to_screen: str, to_go: Mapping[str, int]) -> str:
    """What to call next where no transition leads there, whatever is avoided or known."""
    openable = [screen for screen in to_go if view.knowledge.screens[screen].url is not None]
    if not openable:
        return "no known path; call find_global_recovery_paths for a screen to start from"
    screen = min(openable, key=lambda each: (to_go[each], each))
    onward = "" if screen == to_screen else f", and from there find_path to {to_screen!r}"
    return f"no known path; {screen!r} can be opened directly, see `url` in get_screen{onward}"
