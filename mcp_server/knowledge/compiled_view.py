"""One website's knowledge, compiled for queries: immutable, replaced as a whole when it changes.

Not here: the queries. They are pure functions over a `KnowledgeView`, each in its own module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from operator import attrgetter

from pydantic import BaseModel

from kb_schema.base import CURRENT_SCREEN
from kb_schema.collection_pause import paused_collection
from kb_schema.edge_weights import NO_RECOVERY_MS
from kb_schema.effects import FactEffect
from kb_schema.graph_documents import GlobalRecovery, Transition
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.nested_models import list_models
from kb_schema.objectives import Objective
from kb_schema.observed_outcomes import ObservedStats, RecoveryStats, TransitionStats
from kb_schema.screens import UIElement
from kb_schema.tasks import Task
from kb_schema.websites import Website
from kb_store.learned import learned_numbers as maths
from mcp_server.knowledge.task_screens import TaskScreens, collect_task_screens
from mcp_server.lazy_values import LazyMapping, LazySequence
from mcp_server.screen_index.compiled_signatures import CompiledSignature, compile_signature
from mcp_server.screen_index.screen_index import ScreenIndex
from mcp_server.search.search_index import SearchIndex
from mcp_server.transition_graph.condition_scopes import ScreenScope
from mcp_server.transition_graph.transition_network import TransitionNetwork, encode_cost
from mcp_server.transition_graph.transition_weights import (
    WeightedTransition,
    authored_weight,
    weigh_transition,
)

_local_id = attrgetter("local_id")
_SCREEN_FIELDS = ("screen_id", "target_screen", "from_screen", "to_screen")


@dataclass(frozen=True, slots=True)
class LearnedStatistics:
    """Observed outcomes of a website's edges, and the reliability and duration estimated from them."""

    transitions: Mapping[str, TransitionStats] = field(default_factory=dict)
    recoveries: Mapping[str, RecoveryStats] = field(default_factory=dict)

    def seen(self, edge: Transition | GlobalRecovery) -> ObservedStats | None:
        """What was observed of an edge."""
        if isinstance(edge, Transition):
            return self.transitions.get(edge.local_id)
        return self.recoveries.get(edge.local_id)

    def reliability(self, edge: Transition | GlobalRecovery) -> float:
        """The authored value, counted as ten observations, and the observed ones."""
        return maths.posterior(edge.reliability, self.seen(edge))

    def expected_ms(self, edge: Transition | GlobalRecovery) -> float:
        """The observed mean after five observations, else what was authored."""
        return maths.expected_ms(edge.expected_ms, self.seen(edge))


NO_STATISTICS = LearnedStatistics()


@dataclass(frozen=True, slots=True)
class SearchableTransitions:
    """The weighted transitions, prepared for searching."""

    ways: Mapping[str, tuple[WeightedTransition, ...]]
    """Screen id -> its outgoing transitions, by id."""
    network: TransitionNetwork


@dataclass(frozen=True)
class KnowledgeView:
    """Everything the server looks up about one website, at one generation."""

    knowledge: KnowledgeBase
    generation: str
    elements: Mapping[str, Mapping[str, UIElement]]
    """Screen id -> its elements, those of its layouts among them."""
    signatures: Mapping[str, CompiledSignature]
    screens: ScreenIndex
    """From a page to its candidate screens."""
    groups_of: Mapping[str, tuple[str, ...]]
    recoveries_of: Mapping[str, tuple[GlobalRecovery, ...]]
    """Group id -> its recovery edges, best first."""
    leaving: Mapping[str, tuple[Transition, ...]]
    """Screen id -> its outgoing transitions, by id."""
    roads: SearchableTransitions | None
    """The same, prepared for searching; None if the store searches paths."""
    tasks_of: Mapping[str, tuple[str, ...]]
    """Screen id -> the tasks that use it."""
    learned: LearnedStatistics = NO_STATISTICS
    """The learned numbers that enter the weights of `roads` and `recoveries_of`."""
    authored: KnowledgeView | None = None
    """The view without learned numbers that this one was made from."""

    @property
    def website(self) -> Website:
        """The website's own document."""
        return self.knowledge.website

    @property
    def website_id(self) -> str:
        """The id answers carry."""
        return self.website.website_id

    @property
    def ways(self) -> Mapping[str, tuple[WeightedTransition, ...]]:
        """Screen id -> its outgoing transitions. Only if paths are searched in memory."""
        return self._searchable.ways

    @property
    def network(self) -> TransitionNetwork:
        """Every transition, prepared for searching. Only if paths are searched in memory."""
        return self._searchable.network

    @property
    def _searchable(self) -> SearchableTransitions:
        if self.roads is None:
            raise LookupError(f"the transitions of {self.website_id!r} are not compiled: ask the store")
        return self.roads

    @cached_property
    def transition_ids(self) -> frozenset[str]:
        """Every transition paths may use."""
        if self.authored is not None:
            return self.authored.transition_ids
        if self.roads is not None:
            return frozenset(self.roads.network.transition_ids)
        return frozenset(edge.local_id for edges in self.leaving.values() for edge in edges)

    @cached_property
    def facts_set(self) -> frozenset[str]:
        """Names of the facts that some transition makes known."""
        if self.authored is not None:
            return self.authored.facts_set
        if self.roads is not None:
            return self.roads.network.facts_set
        effects = (each for edges in self.leaving.values() for edge in edges for each in edge.effects)
        return frozenset(effect.fact for effect in effects if isinstance(effect, FactEffect))

    @cached_property
    def places(self) -> TaskScreens:
        """Where tasks begin and end; computed on first use."""
        return (
            self.authored.places
            if self.authored is not None
            else collect_task_screens(self.knowledge, self.elements)
        )

    @cached_property
    def search(self) -> SearchIndex:
        """Built at the first search."""
        return self.authored.search if self.authored is not None else SearchIndex(self.knowledge)


@paused_collection()
def compile_view(knowledge: KnowledgeBase, generation: str, *, roads: bool = True) -> KnowledgeView:
    """Compile a checked knowledge base; without `roads` if the store searches paths."""
    elements = knowledge.elements_by_screen
    signatures = lazy_signatures(knowledge, _recognised(knowledge), elements)
    groups_of = _groups_of(knowledge)
    recoveries_of = _recoveries_of(knowledge)
    leaving = _leaving(knowledge)
    return KnowledgeView(
        knowledge=knowledge,
        generation=generation,
        elements=elements,
        signatures=signatures,
        screens=ScreenIndex(
            signatures,
            {screen_id: knowledge.screens[screen_id].url_patterns for screen_id in signatures},
            knowledge.website.base_url,
        ),
        groups_of=groups_of,
        recoveries_of=recoveries_of,
        leaving=leaving,
        roads=_compile_transitions(knowledge, leaving, groups_of, recoveries_of) if roads else None,
        tasks_of=_tasks_of(knowledge, elements),
    )


def apply_statistics(view: KnowledgeView, learned: LearnedStatistics) -> KnowledgeView:
    """Return the view with edges weighed by the learned numbers. Only what they change is rebuilt.

    The given view is freshly compiled, or weighed by older numbers.
    """
    knowledge = view.knowledge
    tried = map(knowledge.recoveries.get, _changed_ids(view.learned.recoveries, learned.recoveries))
    groups = {edge.from_group for edge in tried if edge is not None}
    recoveries_of = dict(view.recoveries_of)
    for group in groups:
        edges = view.recoveries_of[group]
        recoveries_of[group] = tuple(
            sorted(edges, key=lambda edge: recovery_sort_key(knowledge, edge, learned))
        )
    roads = view.roads
    if roads is not None:
        taken = map(knowledge.transitions.get, _changed_ids(view.learned.transitions, learned.transitions))
        screens = {edge.from_screen for edge in taken if edge is not None}
        screens |= {screen for screen, own in view.groups_of.items() if not groups.isdisjoint(own)}
        roads = _reweigh(view, roads, screens & roads.ways.keys(), recoveries_of, learned)
    authored = view if view.authored is None else view.authored
    return replace(view, roads=roads, recoveries_of=recoveries_of, learned=learned, authored=authored)


def _reweigh(
    view: KnowledgeView,
    roads: SearchableTransitions,
    screens: Collection[str],
    recoveries_of: Mapping[str, tuple[GlobalRecovery, ...]],
    learned: LearnedStatistics,
) -> SearchableTransitions:
    """Return the transition graph with the outgoing transitions of these screens weighed again."""
    renewed = {}
    for screen in screens:
        ms = recovery_ms(view.knowledge, view.groups_of.get(screen, ()), recoveries_of, learned)
        renewed[screen] = tuple(
            weigh_transition(way.transition, ms, learned.seen(way.transition)) for way in roads.ways[screen]
        )
    ways = roads.ways.changed(renewed) if isinstance(roads.ways, LazyMapping) else {**roads.ways, **renewed}
    return SearchableTransitions(ways, roads.network.changed(way for own in renewed.values() for way in own))


def weigh_in_view(view: KnowledgeView, transition: Transition) -> WeightedTransition:
    """Return a transition for path searches, with the weights that the view has learned."""
    transition = add_side_effects(view.knowledge, transition)
    groups = view.groups_of.get(transition.from_screen, ())
    ms = recovery_ms(view.knowledge, groups, view.recoveries_of, view.learned)
    return weigh_transition(transition, ms, view.learned.seen(transition))


def _changed_ids(old: Mapping[str, ObservedStats], new: Mapping[str, ObservedStats]) -> set[str]:
    """Compare by identity first: there may be very many, and comparing two by value takes longer."""
    return {
        name
        for name in old.keys() | new.keys()
        if (before := old.get(name)) is not (after := new.get(name)) and before != after
    }


def recovery_sort_key(
    knowledge: KnowledgeBase, edge: GlobalRecovery, learned: LearnedStatistics = NO_STATISTICS
) -> tuple[int, float, float, str]:
    """Sort key: priority (1 first), then reliability, then cost, then id."""
    group = knowledge.groups.get(edge.from_group)
    return (edge.priority(group), -learned.reliability(edge), learned.expected_ms(edge), edge.local_id)


def _recognised(knowledge: KnowledgeBase) -> list[str]:
    """Return the screens that something speaks for: URL patterns, or indicators."""
    signatures = knowledge.signatures
    return [
        screen_id
        for screen_id, screen in sorted(knowledge.screens.items())
        if screen.url_patterns or ((own := signatures.get(screen_id)) is not None and own.positive)
    ]


def lazy_signatures(
    knowledge: KnowledgeBase, screen_ids: Iterable[str], elements: Mapping[str, Mapping[str, UIElement]]
) -> LazyMapping[CompiledSignature]:
    """Return the signatures of these screens, each compiled when it is asked for."""
    signed_in = knowledge.website.authenticated_when

    def signature(screen_id: str) -> CompiledSignature:
        scope = ScreenScope(elements[screen_id], signed_in)
        made = compile_signature(knowledge.screens[screen_id], knowledge.signatures.get(screen_id), scope)
        assert made is not None  # noqa: S101 - only screens that something speaks for
        return made

    return LazyMapping(screen_ids, signature)


def _groups_of(knowledge: KnowledgeBase) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = defaultdict(set)
    for membership in knowledge.memberships:
        found[membership.screen].add(membership.group)
    return {screen: tuple(sorted(groups)) for screen, groups in found.items()}


def _leaving(knowledge: KnowledgeBase) -> dict[str, tuple[Transition, ...]]:
    """By screen; edges to or from no known screen are left out."""
    found: dict[str, list[Transition]] = defaultdict(list)
    screens = knowledge.screens
    more = any(action.side_effects for action in knowledge.actions.values())
    for edge in knowledge.transitions.values():
        if edge.from_screen in screens and edge.to_screen in screens:
            found[edge.from_screen].append(add_side_effects(knowledge, edge) if more else edge)
    return {screen: tuple(sorted(own, key=_local_id)) for screen, own in found.items()}


def add_side_effects(knowledge: KnowledgeBase, edge: Transition) -> Transition:
    """Return a transition with the side effects of the action document that triggers it (KS 4.2) among its effects."""
    action = knowledge.actions.get(edge.triggered_by.action_type)
    more = tuple(each for each in (action.side_effects if action else ()) if each not in edge.effects)
    return edge.model_copy(update={"effects": (*edge.effects, *more)}) if more else edge


def _compile_transitions(
    knowledge: KnowledgeBase,
    leaving: Mapping[str, tuple[Transition, ...]],
    groups_of: Mapping[str, tuple[str, ...]],
    recoveries_of: Mapping[str, tuple[GlobalRecovery, ...]],
) -> SearchableTransitions:
    """Return the network of all transitions; each is weighed for itself when a path takes it, as with a kept view."""
    ms_by_groups = {
        groups: recovery_ms(knowledge, groups, recoveries_of, NO_STATISTICS)
        for groups in {(), *groups_of.values()}
    }

    def ms_on(screen: str) -> float:
        return ms_by_groups[groups_of.get(screen, ())]

    def weighed(screen: str) -> tuple[WeightedTransition, ...]:
        return tuple([weigh_transition(edge, ms_on(screen)) for edge in leaving[screen]])

    def costs(objective: Objective) -> list[int]:
        return [encode_cost(authored_weight(edge, ms_on(edge.from_screen), objective)) for edge in edges]

    edges = sorted((edge for own in leaving.values() for edge in own), key=_local_id)
    ways = LazyMapping(leaving, weighed)
    lazy = lazy_ways([edge.local_id for edge in edges], [edge.from_screen for edge in edges], ways)
    return SearchableTransitions(ways, TransitionNetwork(lazy, edges, costs))


def lazy_ways(
    ids: Sequence[str], tails: Sequence[str], ways: Mapping[str, Sequence[WeightedTransition]]
) -> LazySequence[WeightedTransition]:
    """Return the transitions by number, each looked up in `ways` when it is asked for. `ids` and `tails` (screens) by number, too."""

    def way(number: int) -> WeightedTransition:
        return next(each for each in ways[tails[number]] if each.transition_id == ids[number])

    return LazySequence(len(ids), way)


def _recoveries_of(knowledge: KnowledgeBase) -> dict[str, tuple[GlobalRecovery, ...]]:
    found: dict[str, list[GlobalRecovery]] = defaultdict(list)
    for edge in knowledge.recoveries.values():
        found[edge.from_group].append(edge)
    return {
        group: tuple(sorted(edges, key=lambda edge: recovery_sort_key(knowledge, edge)))
        for group, edges in found.items()
    }


def recovery_ms(
    knowledge: KnowledgeBase,
    groups: Sequence[str],
    recoveries_of: Mapping[str, tuple[GlobalRecovery, ...]],
    learned: LearnedStatistics,
) -> float:
    """Return the expected time of the best recovery edge of a screen's groups."""
    edges = [edge for group in groups for edge in recoveries_of.get(group, ())]
    best = min(edges, key=lambda edge: recovery_sort_key(knowledge, edge, learned), default=None)
    return NO_RECOVERY_MS if best is None else learned.expected_ms(best)


def _tasks_of(
    knowledge: KnowledgeBase, elements: Mapping[str, Mapping[str, UIElement]]
) -> dict[str, tuple[str, ...]]:
    """A task uses the screens it names, and those that alone have an element it acts on."""
    owners: dict[str, list[str]] = defaultdict(list)
    for screen_id, own in elements.items():
        for element_id in own:
            owners[element_id].append(screen_id)
    found: dict[str, set[str]] = defaultdict(set)
    for task in knowledge.tasks.values():
        for screen_id in _screens_of(task, owners):
            found[screen_id].add(task.task_id)
    return {screen_id: tuple(sorted(tasks)) for screen_id, tasks in found.items()}


@cache
def _screen_fields(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(name for name in _SCREEN_FIELDS if name in model.model_fields)


def _screens_of(task: Task, owners: Mapping[str, list[str]]) -> set[str]:
    named = {
        value
        for node in list_models(task)
        for field in _screen_fields(type(node))
        if isinstance(value := getattr(node, field), str) and value != CURRENT_SCREEN
    }
    acted_on = [
        owners.get(step.action.target, []) for step in task.steps if isinstance(step.action.target, str)
    ]
    return named | {screens[0] for screens in acted_on if len(screens) == 1}
