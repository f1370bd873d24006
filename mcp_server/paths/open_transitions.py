"""Which transitions are open for one query: exclusions, and facts as they become known on the way.

Not here: the search (`k_shortest_paths`), and the query itself (`path_search`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kb_schema.objectives import Objective
from kb_schema.probes import VerdictStatus
from mcp_server.document_text import condition_text
from mcp_server.paths.bidirectional_search import IsClosed
from mcp_server.paths.k_shortest_paths import SearchEdge, SearchState
from mcp_server.transition_graph.fact_conditions import KnownFacts, judge_on_facts
from mcp_server.transition_graph.transition_network import TransitionNetwork
from mcp_server.transition_graph.transition_weights import FactSet, WeightedTransition

_NOTHING_KNOWN: FactSet = frozenset()
_NO_TRANSITIONS: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ResolvedExclusions:
    """What no transition may use, in the knowledge's own names."""

    screens: frozenset[str] = frozenset()
    transitions: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()
    """Canonical action types, and ids of action documents."""
    effects: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.screens or self.transitions or self.actions or self.effects)

    def ways(self, network: TransitionNetwork, objective: Objective) -> frozenset[int]:
        """All transitions that may not be used."""
        into = network.arcs(objective).into
        numbers = [network.numbers[screen] for screen in self.screens if screen in network.numbers]
        return frozenset(
            [
                *(way for number in numbers for _, _, way in into[number]),
                *(network.number_of(transition) for transition in self.transitions),
                *(way for action in self.actions for way in network.by_action.get(action, ())),
                *(way for effect in self.effects for way in network.by_effect.get(effect, ())),
            ]
        )

    def why(self, way: WeightedTransition) -> str | None:
        """What of a transition is to be avoided, in words; None: nothing."""
        if way.target in self.screens:
            return f"screen {way.target} is to be avoided"
        if way.transition_id in self.transitions:
            return "it is to be avoided"
        if way.action_type in self.actions:
            return f"action {way.action_type} is to be avoided"
        unwanted = next((each.type for each in way.transition.effects if each.type in self.effects), None)
        return None if unwanted is None else f"effect {unwanted} is to be avoided"


@dataclass(slots=True)
class OpenTransitions:
    """The `SearchSpace` of one query. Sets of known facts have numbers; 0 is the given set."""

    network: TransitionNetwork
    objective: Objective
    shut: ResolvedExclusions
    facts: KnownFacts
    remaining: Mapping[int, int] = field(default_factory=dict)
    at_least: int = 0
    """As `k_shortest_paths` needs them."""
    _facts: list[FactSet] = field(init=False)
    _numbers: dict[FactSet, int] = field(init=False)
    _lasting: FactSet = field(init=False)
    """Those of the facts given that no transition changes."""
    _steps: dict[SearchState, Sequence[SearchEdge]] = field(init=False, default_factory=dict)
    _shut: frozenset[int] = field(init=False)
    """Transitions that use what is to be avoided."""

    def __post_init__(self) -> None:
        given = (
            frozenset([(name, json.dumps(value, sort_keys=True)) for name, value in self.facts.items()])
            if self.facts
            else _NOTHING_KNOWN
        )
        self._facts = [given]
        self._numbers = {given: 0}
        changing = self.network.facts_set
        self._lasting = frozenset(each for each in given if each[0] not in changing) if changing else given
        self._shut = self.shut.ways(self.network, self.objective) if self.shut else _NO_TRANSITIONS

    # -- as `k_shortest_paths` calls them --

    def steps(self, place: SearchState) -> Sequence[SearchEdge]:
        """The transitions open at a state: not to be avoided, no required condition known not to hold."""
        found = self._steps.get(place)
        if found is None:
            screen, known = place
            found = self._steps[place] = [
                (cost, (head, self.after(way, known)), way)
                for cost, head, way in self.network.arcs(self.objective).out[screen]
                if self.open(way, known)
            ]
        return found

    def comes_back(self, earlier: SearchState, later: SearchState) -> bool:
        """Whether, on the same screen, no fact known earlier has another value later."""
        if earlier[1] == later[1]:
            return True
        then = dict(self._facts[earlier[1]])
        return all(then.get(fact, value) == value for fact, value in self._facts[later[1]])

    def cut_off(self, start: int, goal: int, passed: Sequence[int], banned: frozenset[int]) -> bool:
        """Whether no transition leads on to the goal. Not known where facts change: one may come back then."""
        if self.network.facts_set:
            return False
        into, closed = self.network.arcs(self.objective).into, self.closed
        seen = {goal, *passed}
        waiting = [goal]
        while waiting:
            for _, tail, way in into[waiting.pop()]:
                if closed is not None and closed(way):
                    continue
                if tail == start and way not in banned:
                    return False
                if tail not in seen and tail != start:
                    seen.add(tail)
                    waiting.append(tail)
        return True

    # -- one transition --

    @property
    def closed(self) -> IsClosed | None:
        """Whether a transition is closed from every screen; None: none is."""
        if self._lasting and self.network.factual:
            return self._closed_for_good
        return self._shut.__contains__ if self._shut else None

    def _closed_for_good(self, way: int) -> bool:
        """To be avoided, or by a fact that nothing changes."""
        return way in self._shut or (
            way in self.network.factual and not self.network.verdict(way, self._lasting)[0]
        )

    def open(self, way: int, known: int) -> bool:
        """Whether a transition may be used with these facts known."""
        if way in self._shut:
            return False
        return way not in self.network.factual or self.verdict(way, known)[0]

    def verdict(self, way: int, known: int) -> tuple[bool, tuple[str, ...]]:
        """Whether no required condition is known not to hold, and those that are unknown."""
        return self.network.verdict(way, self._facts[known])

    def after(self, way: int, known: int) -> int:
        """The facts known when a transition was taken."""
        if way not in self.network.factual or not (sets := self.network.ways[way].sets):
            return known
        facts = frozenset({**dict(self._facts[known]), **dict(sets)}.items())
        number = self._numbers.get(facts)
        if number is None:
            number = self._numbers[facts] = len(self._facts)
            self._facts.append(facts)
        return number

    def known_along(self, ways: Sequence[int]) -> tuple[int, ...] | None:
        """Return the facts known before each of these transitions in order; None if one of them is not open."""
        if self.network.factual.isdisjoint(ways) and self._shut.isdisjoint(ways):
            return (0,) * len(ways)
        known = 0
        found = []
        for way in ways:
            if not self.open(way, known):
                return None
            found.append(known)
            known = self.after(way, known)
        return tuple(found)

    def closed_because(self, way: int, known: int) -> str | None:
        """Return why a transition is not open, in words; None if it is open."""
        found = self.network.ways[way]
        unwanted = self.shut.why(found)
        if unwanted is not None:
            return unwanted
        facts = {fact: json.loads(value) for fact, value in self._facts[known]}
        for condition in found.required:
            if judge_on_facts(condition, facts, found.source).status is VerdictStatus.NOT_HELD:
                return f"{condition_text.describe_condition(condition)} is known not to hold"
        return None
