"""The best path between two screens, searched from both ends at once.

All transitions count as open except those that are `closed` from every screen. The search also leaves lower bounds of
the remaining cost from each screen. `k_shortest_paths` uses them when more than one path is wanted, or when
transitions close on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from mcp_server.transition_graph.transition_network import ArcLists

Costs = Mapping[int, int]
"""By screen: the least cost known, of paths from the start to it or from it to the goal."""
IsClosed = Callable[[int], bool]
"""Whether a transition may not be used."""

_ENDLESS = 1 << 512


@dataclass(frozen=True, slots=True)
class BidirectionalResult:
    """How the two searches met."""

    arcs: ArcLists
    closed: IsClosed | None
    start: int
    goal: int
    cost: int
    """Of a best path."""
    before: Costs
    """From the start; no less than the truth, and true for every screen of a best path up to `midway`."""
    after: Costs
    """To the goal, likewise."""
    seen_to: int
    """From screens that `after` has no lower cost for, no path to the goal costs less than this."""
    midway: tuple[int, ...]
    """Where they met at the least cost: every best path leads over one of these screens."""

    def remaining(self, further: int = 0) -> tuple[Mapping[int, int], int]:
        """Screens from which the exact cost to the goal is known, and what it is at least from all others.

        The search from the goal first goes on `further` times as far as it went, but never farther
        than the start: worth it where many searches are guided by it.
        """
        after = dict(self.after)
        waiting = [(cost, screen) for screen, cost in after.items() if cost >= self.seen_to]
        heapify(waiting)
        seen_to = self.seen_to
        for _ in range(further * (len(after) - len(waiting))):
            if not waiting or waiting[0][0] >= self.cost:
                break
            so_far, screen = heappop(waiting)
            if so_far == after[screen]:
                for cost, tail, way in self.arcs.into[screen]:
                    onward = so_far + cost
                    if onward < after.get(tail, _ENDLESS) and not (self.closed and self.closed(way)):
                        after[tail] = onward
                        heappush(waiting, (onward, tail))
            seen_to = min(self.cost, waiting[0][0]) if waiting else self.cost
        return {screen: cost for screen, cost in after.items() if cost < seen_to}, seen_to

    def ways(self) -> tuple[int, ...]:
        """The best path; of equals the one whose transitions come first by id, compared from the start."""
        early = self._early()
        ways, screen = [], self.start
        left = self._left(screen)
        while screen != self.goal:
            options = []
            for cost, head, way in self.arcs.out[screen]:
                if self.closed is not None and self.closed(way):
                    continue
                late = left is not None and head in self.after and cost + self.after[head] == left
                if late or (
                    screen in early and head in early and self.before[screen] + cost == self.before[head]
                ):
                    options.append((way, head, self.after[head] if late else self._left(head)))
            way, screen, left = min(options)
            ways.append(way)
        return tuple(ways)

    def _left(self, screen: int) -> int | None:
        """The cost to the goal from a screen whose cost from the start is true; None: not known."""
        left = self.after.get(screen)
        return left if left is not None and self.before[screen] + left == self.cost else None

    def _early(self) -> set[int]:
        """The screens of all best paths up to where the searches met."""
        found = set(self.midway)
        waiting = list(self.midway)
        while waiting:
            screen = waiting.pop()
            for cost, tail, way in self.arcs.into[screen]:
                known = self.before.get(tail)
                if (
                    known is not None
                    and tail not in found
                    and known + cost == self.before[screen]
                    and not (self.closed and self.closed(way))
                ):
                    found.add(tail)
                    waiting.append(tail)
        return found


def search_from_both_ends(
    arcs: ArcLists, start: int, goal: int, closed: IsClosed | None = None
) -> BidirectionalResult | None:
    """Both searches until no better path is possible; None where no path is.

    Always the side with less to look at goes on.
    """
    before, after = {start: 0}, {goal: 0}
    ahead, back = [(0, start)], [(0, goal)]
    sides = (ahead, before, after, arcs.out), (back, after, before, arcs.into)
    best = _ENDLESS
    midway: list[int] = []
    while ahead and back and ahead[0][0] + back[0][0] < best:
        waiting, known, other, leading = sides[len(back) < len(ahead)]
        so_far, screen = heappop(waiting)
        if so_far > known[screen]:
            continue
        for cost, end, way in leading[screen]:
            onward = so_far + cost
            if onward > best:
                break  # the rest costs more still
            old = known.get(end)
            if (old is not None and old <= onward) or (closed is not None and closed(way)):
                continue
            known[end] = onward
            heappush(waiting, (onward, end))
            rest = other.get(end)
            if rest is not None and onward + rest <= best:
                if onward + rest < best:
                    best = onward + rest
                    midway.clear()
                midway.append(end)
    if not midway:
        return None
    seen_to = min(best, back[0][0]) if back else best
    return BidirectionalResult(arcs, closed, start, goal, best, before, after, seen_to, tuple(midway))
