"""The transitions as a graph of integers, built for searching and rebuilt in part when weights change.

The two parts of a weight become one integer, so that sums are exact in any order and equality is exact: the order of
transition ids decides ties, not rounding. Screens and transitions are integers, too; a transition's number is its
position in the order of ids.

Not here: searches (`bidirectional_search`, `k_shortest_paths`) and `next_hop_tables`.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any

from kb_schema.effects import FactEffect
from kb_schema.graph_documents import Transition
from kb_schema.objectives import Objective
from mcp_server.lazy_values import LazySequence
from mcp_server.transition_graph.fact_conditions import check_on_facts
from mcp_server.transition_graph.next_hop_tables import CostChange, NextHopTables
from mcp_server.transition_graph.transition_weights import FactSet, Weight, WeightedTransition

_STEPS_BITS = 20
_SECOND_BITS = 60
_FIRST_PER_UNIT = 2.0**32
"""Parts of a millisecond, or of a logarithm, that a weight's first part is told in."""
_SECOND_PER_UNIT = 2.0**8
_MOST_SECOND = 1 << 42
"""More than half a year in milliseconds, so that 2^18 of them still fit their bits."""

MOST_VERDICTS = 20_000
"""Remembered before all are forgotten: clients may give any facts."""

ConditionsVerdict = tuple[bool, tuple[str, ...]]
"""Whether no condition is known not to hold, and those that are unknown, in words."""
Arc = tuple[int, int, int]
"""Cost, the screen at the other end, the transition."""

_id_of = attrgetter("transition_id")
_cost_then_way = itemgetter(0, 2)


def encode_cost(weight: Weight) -> int:
    """Both parts of a weight, then one step, in one number: of equals, the path with fewer steps."""
    first = round(weight[0] * _FIRST_PER_UNIT)
    second = min(round(weight[1] * _SECOND_PER_UNIT), _MOST_SECOND)
    return (first << _SECOND_BITS + _STEPS_BITS) + (second << _STEPS_BITS) + 1


@dataclass(frozen=True, slots=True)
class ArcLists:
    """Every transition by one objective; the lists of a screen are in the order of cost, then way."""

    costs: Sequence[int]
    """By way."""
    out: Sequence[Sequence[Arc]]
    """By screen: the transitions that leave it."""
    into: Sequence[Sequence[Arc]]
    """By screen: the transitions that arrive at it."""


class TransitionNetwork:
    """One website's transitions as numbers. What it says never changes; `changed` makes another one."""

    def __init__(
        self,
        ways: Sequence[WeightedTransition],
        edges: Sequence[Transition] | None = None,
        costs: Callable[[Objective], Sequence[int]] | None = None,
    ) -> None:
        """`edges`: the documents of `ways`, and `costs` what they cost by an objective, where `ways` are made when asked for."""
        self.ways = ways
        """In the order of their ids."""
        self._edges = edges = [way.transition for way in ways] if edges is None else edges
        self.transition_ids: Sequence[str] = tuple([edge.local_id for edge in edges])
        ends = {screen for edge in edges for screen in (edge.from_screen, edge.to_screen)}
        self.screens = tuple(sorted(ends))
        """Screen ids by number, of screens that a transition leaves or arrives at."""
        self.numbers = {screen: number for number, screen in enumerate(self.screens)}
        """Screen id -> number."""
        self.tails = tuple([self.numbers[edge.from_screen] for edge in edges])
        self.heads = tuple([self.numbers[edge.to_screen] for edge in edges])
        facts = {
            number: {effect.fact for effect in edge.effects if isinstance(effect, FactEffect)}
            for number, edge in enumerate(edges)
            if edge.effects
        }
        self.facts_set = frozenset[str]().union(*facts.values())
        """Names of the facts that a transition makes known."""
        self.factual = frozenset(
            number for number, edge in enumerate(edges) if edge.conditions.required or facts.get(number)
        )
        """Transitions that facts have to do with."""
        self.helped = frozenset(number for number, edge in enumerate(edges) if edge.conditions.optional)
        """Transitions with optional conditions."""
        self.tables = NextHopTables()
        self._costs = costs
        """Returns the costs by way, as they are without `_renewed`; None: they are computed from `ways`."""
        self._renewed: Mapping[int, WeightedTransition] = {}
        """By number: transitions that were weighed anew since."""
        self._arcs: dict[Objective, ArcLists] = {}
        self._verdicts: dict[tuple[int, FactSet], ConditionsVerdict] = {}

    @classmethod
    def of(cls, ways: Mapping[str, Iterable[WeightedTransition]]) -> TransitionNetwork:
        """Build the network from the outgoing transitions of every screen."""
        return cls(sorted((way for own in ways.values() for way in own), key=_id_of))

    @cached_property
    def by_action(self) -> Mapping[str, Sequence[int]]:
        """The transitions of every action type."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for number, edge in enumerate(self._edges):
            found[edge.triggered_by.canonical_type].append(number)
        return found

    @cached_property
    def by_effect(self) -> Mapping[str, Sequence[int]]:
        """The transitions that have an effect of a type."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for number, edge in enumerate(self._edges):
            for name in {effect.type for effect in edge.effects}:
                found[name].append(number)
        return found

    def number_of(self, transition_id: str) -> int:
        """The transition of that id, which there is."""
        return bisect_left(self.transition_ids, transition_id)

    def arcs(self, objective: Objective) -> ArcLists:
        """The transitions as an objective weighs them, made when it is first asked for."""
        found = self._arcs.get(objective)
        if found is None:
            found = self._arcs[objective] = self._weighed(objective)
        return found

    def verdict(self, way: int, facts: FactSet) -> ConditionsVerdict:
        """Of a transition's required conditions, the facts being known; remembered, since sites have few facts."""
        found = self._verdicts.get((way, facts))
        if found is None:
            if len(self._verdicts) >= MOST_VERDICTS:
                self._verdicts.clear()
            known = {fact: json.loads(value) for fact, value in facts}
            conditions, source = self.ways[way].required, self.ways[way].source
            found = self._verdicts[way, facts] = check_on_facts(conditions, known, source)
        return found

    def changed(self, ways: Iterable[WeightedTransition]) -> TransitionNetwork:
        """The network in which these transitions, weighed anew, stand for those of the same ids.

        Takes a copy of the outer lists and what changed, not a compilation; next-hop tables that
        the changes cannot touch stay as they are.
        """
        renewed = {self.number_of(way.transition_id): way for way in ways}
        ordered: Sequence[WeightedTransition]
        if isinstance(self.ways, LazySequence):
            ordered = self.ways.changed(renewed)
        else:
            ordered = list(self.ways)
            for number, way in renewed.items():
                ordered[number] = way
        arcs: dict[Objective, ArcLists] = {}
        tables = self.tables.copied()  # rows that either makes from now on are its own
        for objective, old in list(self._arcs.items()):
            new = {number: encode_cost(way.weights[objective]) for number, way in renewed.items()}
            new = {number: cost for number, cost in new.items() if cost != old.costs[number]}
            arcs[objective] = self._with(old, new) if new else old
            least = [
                CostChange(self.tails[number], self.heads[number], min(old.costs[number], cost))
                for number, cost in new.items()
            ]
            tables = tables.after(objective, least, old.costs, self.heads)
        network = copy(self)  # where transitions lead, and what they require, stays as it is
        network.ways, network.tables, network._arcs = ordered, tables, arcs  # noqa: SLF001 - its own class
        network._renewed = {**self._renewed, **renewed}  # noqa: SLF001
        return network

    def facets(self) -> dict[str, Any]:
        """Return everything but the transitions themselves and their costs, as JSON values: see `restored`."""
        return {
            "transition_ids": self.transition_ids,
            "screens": self.screens,
            "tails": self.tails,
            "heads": self.heads,
            "facts_set": sorted(self.facts_set),
            "factual": sorted(self.factual),
            "helped": sorted(self.helped),
            "by_action": self.by_action,
            "by_effect": self.by_effect,
        }

    @classmethod
    def restored(
        cls,
        facets: Mapping[str, Any],
        ways: Sequence[WeightedTransition],
        costs: Callable[[Objective], Sequence[int]],
    ) -> TransitionNetwork:
        """Return the network that `facets` came from; `ways` may be lazy, `costs` is asked once per objective."""
        network = cls([], costs=costs)
        network.ways, network.transition_ids = ways, facets["transition_ids"]
        network.screens = tuple(facets["screens"])
        network.numbers = {screen: number for number, screen in enumerate(network.screens)}
        network.tails, network.heads = tuple(facets["tails"]), tuple(facets["heads"])
        network.facts_set = frozenset(facets["facts_set"])
        network.factual, network.helped = frozenset(facets["factual"]), frozenset(facets["helped"])
        network.by_action, network.by_effect = facets["by_action"], facets["by_effect"]
        return network

    def _weighed(self, objective: Objective) -> ArcLists:
        if self._costs is None:
            costs = [encode_cost(way.weights[objective]) for way in self.ways]
        else:
            costs = [*self._costs(objective)]
            for number, way in self._renewed.items():
                costs[number] = encode_cost(way.weights[objective])
        out: list[list[Arc]] = [[] for _ in self.screens]
        into: list[list[Arc]] = [[] for _ in self.screens]
        for number, (cost, tail, head) in enumerate(zip(costs, self.tails, self.heads, strict=True)):
            out[tail].append((cost, head, number))
            into[head].append((cost, tail, number))
        for arcs in (*out, *into):
            arcs.sort(key=_cost_then_way)
        return ArcLists(costs, out, into)

    def _with(self, old: ArcLists, new: Mapping[int, int]) -> ArcLists:
        """Arcs with other costs for some transitions: only lists that have one of them are made anew."""
        costs = list(old.costs)
        for number, cost in new.items():
            costs[number] = cost
        out = _update_arcs(old.out, {self.tails[number] for number in new}, costs)
        into = _update_arcs(old.into, {self.heads[number] for number in new}, costs)
        return ArcLists(costs, out, into)


def _update_arcs(
    side: Sequence[Sequence[Arc]], screens: Collection[int], costs: Sequence[int]
) -> Sequence[Sequence[Arc]]:
    renewed = list(side)
    for screen in screens:
        own = [(costs[number], other, number) for _, other, number in side[screen]]
        renewed[screen] = sorted(own, key=_cost_then_way)
    return renewed
