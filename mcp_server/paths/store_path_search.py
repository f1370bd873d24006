"""Path searches in the graph database, for websites whose transitions are not compiled.

The store finds candidates by its own weights. The same code as for the search in memory decides which of them are
open, what they assume, what they cost now, and why there is none. Decision 16 lists where the answers differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import anyio.to_thread

from kb_schema.graph_documents import Transition
from kb_schema.objectives import Objective
from kb_schema.tool_answers import PathSearchResult
from kb_store.graph_queries import MOST_HOPS, MOST_PATHS, GraphQueries, ServerPath, ServerPathExclusions
from mcp_server.knowledge.compiled_view import KnowledgeView, weigh_in_view
from mcp_server.paths import path_explanations
from mcp_server.paths.open_transitions import OpenTransitions, ResolvedExclusions
from mcp_server.paths.path_search import (
    NO_EXCLUSIONS,
    PathExclusions,
    PathWithFacts,
    build_answer,
    resolve_exclusions,
)
from mcp_server.transition_graph.fact_conditions import KnownFacts, check_on_facts
from mcp_server.transition_graph.transition_network import TransitionNetwork

FIRST_CANDIDATES = path_explanations.MOST_OBSTACLES
"""Candidates requested first if transitions may be closed. If all are closed, the answer names what blocks them."""
INCOMPLETE_NOTE = (
    f"around what is closed, the store looks for paths of up to {MOST_HOPS} steps only, the {MOST_PATHS} best at "
    "most: there may be others"
)


@dataclass(frozen=True)
class _PathQuery:
    view: KnowledgeView
    start: str
    goal: str
    objective: Objective
    shut: ResolvedExclusions
    facts: KnownFacts

    @property
    def restricted(self) -> bool:
        """Whether any transition may be closed."""
        return bool(self.shut or self.facts)

    @cached_property
    def changing(self) -> bool:
        """Whether a fact that was given may change on the way, and with it what is closed."""
        return not self.view.facts_set.isdisjoint(self.facts)

    def closed(self) -> set[str]:
        """Transitions closed from every screen: by their id, an effect, or a fact that lasts."""
        lasting = {name: value for name, value in self.facts.items() if name not in self.view.facts_set}
        return {
            edge.local_id
            for edges in self.view.leaving.values()
            for edge in edges
            if self._closed(edge, lasting)
        }

    def _closed(self, edge: Transition, lasting: KnownFacts) -> bool:
        if edge.local_id in self.shut.transitions:
            return True
        if self.shut.effects and any(effect.type in self.shut.effects for effect in edge.effects):
            return True
        required = edge.conditions.required
        return bool(lasting and required) and not check_on_facts(required, lasting, edge.from_screen)[0]


async def find_paths_in_store(
    view: KnowledgeView,
    queries: GraphQueries,
    from_screen: str,
    to_screen: str,
    *,
    objective: Objective = "balanced",
    k: int = 1,
    avoid: PathExclusions = NO_EXCLUSIONS,
    facts: KnownFacts | None = None,
) -> PathSearchResult:
    """Like `path_search.find_paths`, restricted to paths that visit no screen twice.

    The best paths of the whole graph are looked at first; only where too few of them are open is the
    store asked for transitions around what is closed, which it looks for up to `MOST_HOPS` steps: then the
    answer's hint says so. Raises as `find_paths` does, and what `GraphQueries` raises.
    """
    question = _PathQuery(
        view, from_screen, to_screen, objective, resolve_exclusions(view, avoid), facts or {}
    )
    if from_screen == to_screen:
        return build_answer(view, _transitions_of_paths(question, ()), from_screen, to_screen, [((), ())])
    asked = max(k, FIRST_CANDIDATES) if question.restricted else k
    whose = (view.website_id, int(view.generation), from_screen, to_screen, objective)
    candidates = await queries.shortest_paths(*whose, asked)
    every_one = len(candidates) < asked
    terrain, found = _open_candidates(question, candidates)
    going_around = len(found) < k and not every_one
    if going_around:
        around = await queries.filtered_paths(
            *whose,
            k=MOST_PATHS if question.changing else k,
            hops=MOST_HOPS,
            avoid=await _to_avoid(question, candidates),
        )
        terrain, found = _open_candidates(question, [*candidates, *around])
    answer = (
        build_answer(view, terrain, from_screen, to_screen, found[:k])
        if found
        else path_explanations.explain_missing_path(view, terrain, from_screen, to_screen)
    )
    return _with_hint(answer) if going_around else answer


async def _to_avoid(question: _PathQuery, candidates: Iterable[ServerPath]) -> ServerPathExclusions:
    unknown = {name for path in candidates for name in path.transitions} - question.view.transition_ids
    closed = await anyio.to_thread.run_sync(question.closed)  # looks at every transition
    return ServerPathExclusions(
        screens=question.shut.screens, transitions=sorted(closed | unknown), actions=question.shut.actions
    )


def _open_candidates(
    question: _PathQuery, candidates: Iterable[ServerPath]
) -> tuple[OpenTransitions, list[PathWithFacts]]:
    """The candidates that are open all the way, best first by the numbers of now; equals by their ids."""
    known = question.view.transition_ids
    usable = {path.transitions for path in candidates if known.issuperset(path.transitions)}
    terrain = _transitions_of_paths(question, usable)
    costs = terrain.network.arcs(question.objective).costs
    numbered = [tuple(map(terrain.network.number_of, path)) for path in usable]
    numbered.sort(key=lambda ways: (sum(costs[way] for way in ways), ways))
    return terrain, [(ways, facts) for ways in numbered if (facts := terrain.known_along(ways)) is not None]


def _transitions_of_paths(question: _PathQuery, paths: Iterable[Sequence[str]]) -> OpenTransitions:
    """What is open where, on the transitions of some paths alone."""
    ids = sorted({name for path in paths for name in path})
    view, shut = question.view, question.shut
    network = TransitionNetwork([weigh_in_view(view, view.knowledge.transitions[name]) for name in ids])
    here = ResolvedExclusions(shut.screens, shut.transitions.intersection(ids), shut.actions, shut.effects)
    return OpenTransitions(network, question.objective, here, question.facts)


def _with_hint(answer: PathSearchResult) -> PathSearchResult:
    hint = INCOMPLETE_NOTE if answer.hint is None else f"{answer.hint}; {INCOMPLETE_NOTE}"
    return answer.model_copy(update={"hint": hint})
