"""Paths asked of the graph database, for websites whose transitions are not compiled (DESIGN 5).

The store finds candidates by its own weights; which of them are open, what they assume, what they take
now and why there is none is judged here, on the few transitions they use, by the code that judges what
was searched in memory. Decision 16 says where the answers differ from those of the search in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import anyio.to_thread

from kb_schema.answers import Objective, Paths
from kb_schema.graph import Transition
from kb_store.graph_queries import MOST_HOPS, MOST_PATHS, GraphQueries, ServerPath, ToAvoid
from mcp_server import reasons
from mcp_server.compiled import View, way_of
from mcp_server.foresight import Known, sort_out
from mcp_server.network import Network
from mcp_server.paths import NOTHING, Avoid, Taken, answered, shut_by
from mcp_server.terrain import OpenWays, Shut

FIRST_LOOK = reasons.MOST_OBSTACLES
"""Paths asked for first where some may be closed: what is in the way of them is told where none is open."""
NOT_ALL = (
    f"around what is closed, the store looks for paths of up to {MOST_HOPS} steps only, the {MOST_PATHS} best at "
    "most: there may be others"
)


@dataclass(frozen=True)
class _Question:
    view: View
    start: str
    goal: str
    objective: Objective
    shut: Shut
    facts: Known

    @property
    def restricted(self) -> bool:
        """Whether any transition may be closed."""
        return bool(self.shut or self.facts)

    @cached_property
    def changing(self) -> bool:
        """Whether a fact that was given may change on the way, and with it what is closed."""
        return not self.view.facts_set.isdisjoint(self.facts)

    def closed(self) -> set[str]:
        """Transitions closed wherever one comes from: by their id, an effect, or a fact that lasts."""
        lasting = {name: value for name, value in self.facts.items() if name not in self.view.facts_set}
        return {
            edge.local_id
            for edges in self.view.leaving.values()
            for edge in edges
            if self._closed(edge, lasting)
        }

    def _closed(self, edge: Transition, lasting: Known) -> bool:
        if edge.local_id in self.shut.transitions:
            return True
        if self.shut.effects and any(effect.type in self.shut.effects for effect in edge.effects):
            return True
        required = edge.conditions.required
        return bool(lasting and required) and not sort_out(required, lasting, edge.from_screen)[0]


async def find_paths_in_store(
    view: View,
    queries: GraphQueries,
    from_screen: str,
    to_screen: str,
    *,
    objective: Objective = "balanced",
    k: int = 1,
    avoid: Avoid = NOTHING,
    facts: Known | None = None,
) -> Paths:
    """As `paths.find_paths`, of paths that visit no screen twice.

    The best paths of the whole graph are looked at first; only where too few of them are open is the
    store asked for ways around what is closed, which it looks for up to `MOST_HOPS` steps: then the
    answer's hint says so. Raises as `find_paths` does, and what `GraphQueries` raises.
    """
    question = _Question(view, from_screen, to_screen, objective, shut_by(view, avoid), facts or {})
    if from_screen == to_screen:
        return answered(view, _terrain(question, ()), from_screen, to_screen, [((), ())])
    asked = max(k, FIRST_LOOK) if question.restricted else k
    whose = (view.website_id, int(view.generation), from_screen, to_screen, objective)
    candidates = await queries.shortest_paths(*whose, asked)
    every_one = len(candidates) < asked
    terrain, found = _open(question, candidates)
    going_around = len(found) < k and not every_one
    if going_around:
        around = await queries.filtered_paths(
            *whose,
            k=MOST_PATHS if question.changing else k,
            hops=MOST_HOPS,
            avoid=await _to_avoid(question, candidates),
        )
        terrain, found = _open(question, [*candidates, *around])
    answer = (
        answered(view, terrain, from_screen, to_screen, found[:k])
        if found
        else reasons.no_way(view, terrain, from_screen, to_screen)
    )
    return _with_hint(answer) if going_around else answer


async def _to_avoid(question: _Question, candidates: Iterable[ServerPath]) -> ToAvoid:
    unknown = {name for path in candidates for name in path.transitions} - question.view.transition_ids
    closed = await anyio.to_thread.run_sync(question.closed)  # looks at every transition
    return ToAvoid(
        screens=question.shut.screens, transitions=sorted(closed | unknown), actions=question.shut.actions
    )


def _open(question: _Question, candidates: Iterable[ServerPath]) -> tuple[OpenWays, list[Taken]]:
    """The candidates that are open all the way, best first by the numbers of now; equals by their ids."""
    known = question.view.transition_ids
    usable = {path.transitions for path in candidates if known.issuperset(path.transitions)}
    terrain = _terrain(question, usable)
    costs = terrain.network.arcs(question.objective).costs
    numbered = [tuple(map(terrain.network.number_of, path)) for path in usable]
    numbered.sort(key=lambda ways: (sum(costs[way] for way in ways), ways))
    return terrain, [(ways, facts) for ways in numbered if (facts := terrain.known_along(ways)) is not None]


def _terrain(question: _Question, paths: Iterable[Sequence[str]]) -> OpenWays:
    """What is open where, on the transitions of some paths alone."""
    ids = sorted({name for path in paths for name in path})
    view, shut = question.view, question.shut
    network = Network([way_of(view, view.knowledge.transitions[name]) for name in ids])
    here = Shut(shut.screens, shut.transitions.intersection(ids), shut.actions, shut.effects)
    return OpenWays(network, question.objective, here, question.facts)


def _with_hint(answer: Paths) -> Paths:
    hint = NOT_ALL if answer.hint is None else f"{answer.hint}; {NOT_ALL}"
    return answer.model_copy(update={"hint": hint})
