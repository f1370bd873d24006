"""Next-hop tables: for a target, which transition to take from every screen. A path is read off the table.

A target gets its row at the second query, on sites of up to about 2,000 screens: building a row takes about ten
times as long as one search, and most targets are never queried. Rows contain only what no fact and no exclusion can
close; a caller checks that the path it reads is open. When weights change, the affected rows are dropped. Rows and searches
agree, ties included: of equally good transitions the first by id wins.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kb_schema.objectives import Objective

MOST_SCREENS = 2_000
"""Sites of more screens have no tables: a row takes four bytes a screen, so all rows 16 MB an objective."""
MOST_CHANGES = 64
"""Transitions changed at once beyond which rows are dropped unlooked at: the rows of a few targets are soon made."""

NextHopRow = Sequence[int]
"""By screen: the transition to take next; `NO_TRANSITION` where none leads to the target, and at the target."""
NO_TRANSITION = -1


class CostChange(NamedTuple):
    """A transition whose cost changed, with the lower of the two costs."""

    tail: int
    head: int
    least: int


class NextHopTables:
    """The rows made so far. Filling it in changes no answer."""

    def __init__(self, rows: Mapping[tuple[Objective, int], NextHopRow] | None = None) -> None:
        self._rows = dict(rows or {})
        self._asked: set[tuple[Objective, int]] = set(self._rows)

    def row(
        self, objective: Objective, target: int, into: Sequence[Sequence[tuple[int, int, int]]]
    ) -> NextHopRow | None:
        """The row of a target if it is worth having one; made now where this is the second question.

        `into` are the arcs by the screen they arrive at, as `Arcs` has them.
        """
        key = (objective, target)
        found = self._rows.get(key)
        if found is None and key in self._asked and len(into) <= MOST_SCREENS:
            found = self._rows[key] = compute_row(target, into)[0]
        self._asked.add(key)
        return found

    def copied(self) -> NextHopTables:
        """Return tables with the same rows: those that are made later are in one of the two only."""
        tables = NextHopTables(self._rows)
        tables._asked |= self._asked
        return tables

    def after(
        self, objective: Objective, changes: Sequence[CostChange], costs: Sequence[int], heads: Sequence[int]
    ) -> NextHopTables:
        """The tables when the weights of one objective have changed: without rows that may be touched.

        A transition touches a row only where it is, or becomes, as good as the best from its tail. `costs` are
        those from before the change, `heads` where transitions lead; both by way.
        """
        if not changes:
            return self
        kept = {
            key: row
            for key, row in list(self._rows.items())
            if key[0] != objective
            or (
                len(changes) <= MOST_CHANGES
                and not any(_touches(change, row, key[1], costs, heads) for change in changes)
            )
        }
        tables = NextHopTables(kept)
        tables._asked |= self._asked
        return tables

    @property
    def bytes(self) -> int:
        """What the rows take in memory."""
        return sum(len(row) * array("i").itemsize for row in self._rows.values())


def compute_row(
    target: int, into: Sequence[Sequence[tuple[int, int, int]]]
) -> tuple[NextHopRow, Sequence[int | None]]:
    """The row of a target, and the cost to it by screen: Dijkstra's search against the transitions' direction."""
    ways = array("i", [NO_TRANSITION]) * len(into)
    costs: list[int | None] = [None] * len(into)
    costs[target] = 0
    waiting = [(0, target)]
    while waiting:
        so_far, screen = heapq.heappop(waiting)
        if so_far != costs[screen]:
            continue
        for cost, tail, way in into[screen]:
            onward = so_far + cost
            known = costs[tail]
            if known is None or onward < known:
                costs[tail] = onward
                ways[tail] = way
                heapq.heappush(waiting, (onward, tail))
            elif onward == known and way < ways[tail]:
                ways[tail] = way
    return ways, costs


def read_path(row: NextHopRow, start: int, target: int, heads: Sequence[int]) -> tuple[int, ...] | None:
    """The transitions from a screen to the row's target in order; None where there are none."""
    ways = []
    while start != target:
        way = row[start]
        if way == NO_TRANSITION:
            return None
        ways.append(way)
        start = heads[way]
    return tuple(ways)


def _touches(
    change: CostChange, row: NextHopRow, target: int, costs: Sequence[int], heads: Sequence[int]
) -> bool:
    if change.tail == target:
        return False
    onward = read_path(row, change.head, target, heads)
    if onward is None:
        return False
    best = read_path(row, change.tail, target, heads) or ()
    return change.least + sum(costs[way] for way in onward) <= sum(costs[way] for way in best)
