"""One website's knowledge compiled for answering: immutable, swapped whole when it changes.

Not here: the questions. They are pure functions over a `View`, each in its own module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

from kb_schema.base import CURRENT_SCREEN
from kb_schema.effects import FactEffect
from kb_schema.graph import GlobalRecovery, Transition
from kb_schema.knowledge import KnowledgeBase
from kb_schema.learned import Observed, RecoveryStats, TransitionStats
from kb_schema.rules.references import walk
from kb_schema.screens import UIElement
from kb_schema.tasks import Task
from kb_schema.websites import Website
from kb_schema.weights import NO_RECOVERY_MS
from kb_store import learned as maths
from mcp_server.graph import Way, compile_way
from mcp_server.network import Network
from mcp_server.places import TaskPlaces, task_places
from mcp_server.scopes import ScreenScope
from mcp_server.screen_index import ScreenIndex
from mcp_server.search import SearchIndex
from mcp_server.signatures import CompiledSignature, compile_signature

_local_id = attrgetter("local_id")
_SCREEN_FIELDS = ("screen_id", "target_screen", "from_screen", "to_screen")


@dataclass(frozen=True, slots=True)
class Learned:
    """What was observed of a website's edges, and what to believe of them therefore (DESIGN 5)."""

    transitions: Mapping[str, TransitionStats] = field(default_factory=dict)
    recoveries: Mapping[str, RecoveryStats] = field(default_factory=dict)

    def seen(self, edge: Transition | GlobalRecovery) -> Observed | None:
        """What was observed of an edge."""
        if isinstance(edge, Transition):
            return self.transitions.get(edge.local_id)
        return self.recoveries.get(edge.local_id)

    def reliability(self, edge: Transition | GlobalRecovery) -> float:
        """What was authored as ten observations, and the observed ones."""
        return maths.posterior(edge.reliability, self.seen(edge))

    def expected_ms(self, edge: Transition | GlobalRecovery) -> float:
        """The observed mean after five observations, else what was authored."""
        return maths.expected_ms(edge.expected_ms, self.seen(edge))


NOTHING_LEARNED = Learned()


@dataclass(frozen=True, slots=True)
class Roads:
    """The transitions once more, weighed and made for searching."""

    ways: Mapping[str, tuple[Way, ...]]
    """Screen id -> the ways that leave it, by id."""
    network: Network


@dataclass(frozen=True)
class View:
    """Everything the desk looks up about one website, at one generation."""

    knowledge: KnowledgeBase
    generation: str
    elements: Mapping[str, Mapping[str, UIElement]]
    """Screen id -> its elements, those of its layouts among them."""
    signatures: Mapping[str, CompiledSignature]
    screens: ScreenIndex
    """From a page to the screens it may be."""
    groups_of: Mapping[str, tuple[str, ...]]
    recoveries_of: Mapping[str, tuple[GlobalRecovery, ...]]
    """Group id -> its recovery edges, best first."""
    leaving: Mapping[str, tuple[Transition, ...]]
    """Screen id -> the transitions that leave it, by id."""
    roads: Roads | None
    """The same, made for searching; None: paths are asked of the store."""
    tasks_of: Mapping[str, tuple[str, ...]]
    """Screen id -> the tasks that use it."""
    learned: Learned = NOTHING_LEARNED
    """What `roads` and `recoveries_of` are weighed by beside what was authored."""
    authored: View | None = None
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
    def ways(self) -> Mapping[str, tuple[Way, ...]]:
        """Screen id -> the ways that leave it. Only where paths are searched in memory."""
        return self._searchable.ways

    @property
    def network(self) -> Network:
        """Every way, made for searching. Only where paths are searched in memory."""
        return self._searchable.network

    @property
    def _searchable(self) -> Roads:
        if self.roads is None:
            raise LookupError(f"the transitions of {self.website_id!r} are not compiled: ask the store")
        return self.roads

    @cached_property
    def transition_ids(self) -> frozenset[str]:
        """Every transition paths may use."""
        if self.authored is not None:
            return self.authored.transition_ids
        return frozenset(edge.local_id for edges in self.leaving.values() for edge in edges)

    @cached_property
    def facts_set(self) -> frozenset[str]:
        """Names of the facts that some transition makes known."""
        if self.authored is not None:
            return self.authored.facts_set
        effects = (each for edges in self.leaving.values() for edge in edges for each in edge.effects)
        return frozenset(effect.fact for effect in effects if isinstance(effect, FactEffect))

    @cached_property
    def places(self) -> TaskPlaces:
        """Where tasks begin and end; built at the first question for it."""
        return (
            self.authored.places if self.authored is not None else task_places(self.knowledge, self.elements)
        )

    @cached_property
    def search(self) -> SearchIndex:
        """Built at the first search."""
        return self.authored.search if self.authored is not None else SearchIndex(self.knowledge)


def compile_view(knowledge: KnowledgeBase, generation: str, *, roads: bool = True) -> View:
    """The compiled view of a checked knowledge base; without `roads` where paths are asked of the store."""
    elements = {screen_id: knowledge.elements(screen_id) for screen_id in knowledge.screens}
    signatures = dict(_signatures(knowledge, elements))
    groups_of = _groups_of(knowledge)
    recoveries_of = _recoveries_of(knowledge)
    leaving = _leaving(knowledge)
    return View(
        knowledge=knowledge,
        generation=generation,
        elements=elements,
        signatures=signatures,
        screens=ScreenIndex(signatures, knowledge.screens, knowledge.website.base_url),
        groups_of=groups_of,
        recoveries_of=recoveries_of,
        leaving=leaving,
        roads=_roads(knowledge, leaving, groups_of, recoveries_of) if roads else None,
        tasks_of=_tasks_of(knowledge, elements),
    )


def with_learned(view: View, learned: Learned) -> View:
    """A view with its edges weighed by what was observed; only what that changes is made anew.

    The view given is one as it was compiled, or one weighed by older numbers.
    """
    knowledge = view.knowledge
    tried = map(knowledge.recoveries.get, _changed(view.learned.recoveries, learned.recoveries))
    groups = {edge.from_group for edge in tried if edge is not None}
    recoveries_of = dict(view.recoveries_of)
    for group in groups:
        edges = view.recoveries_of[group]
        recoveries_of[group] = tuple(sorted(edges, key=lambda edge: recovery_order(knowledge, edge, learned)))
    roads = view.roads
    if roads is not None:
        taken = map(knowledge.transitions.get, _changed(view.learned.transitions, learned.transitions))
        screens = {edge.from_screen for edge in taken if edge is not None}
        screens |= {screen for screen, own in view.groups_of.items() if not groups.isdisjoint(own)}
        roads = _weighed(view, roads, screens & roads.ways.keys(), recoveries_of, learned)
    authored = view if view.authored is None else view.authored
    return replace(view, roads=roads, recoveries_of=recoveries_of, learned=learned, authored=authored)


def _weighed(
    view: View,
    roads: Roads,
    screens: Collection[str],
    recoveries_of: Mapping[str, tuple[GlobalRecovery, ...]],
    learned: Learned,
) -> Roads:
    """The roads with the ways out of these screens weighed anew."""
    ways = dict(roads.ways)
    for screen in screens:
        ms = _recovery_ms(view.knowledge, view.groups_of.get(screen, ()), recoveries_of, learned)
        ways[screen] = tuple(
            compile_way(way.transition, ms, learned.seen(way.transition)) for way in roads.ways[screen]
        )
    return Roads(ways, roads.network.changed(way for screen in screens for way in ways[screen]))


def way_of(view: View, transition: Transition) -> Way:
    """A transition as paths use it, weighed by what the view has learned."""
    groups = view.groups_of.get(transition.from_screen, ())
    ms = _recovery_ms(view.knowledge, groups, view.recoveries_of, view.learned)
    return compile_way(transition, ms, view.learned.seen(transition))


def _changed(old: Mapping[str, Observed], new: Mapping[str, Observed]) -> set[str]:
    """Mostly the very same objects: there may be very many, and comparing two takes longer."""
    return {
        name
        for name in old.keys() | new.keys()
        if (before := old.get(name)) is not (after := new.get(name)) and before != after
    }


def recovery_order(
    knowledge: KnowledgeBase, edge: GlobalRecovery, learned: Learned = NOTHING_LEARNED
) -> tuple[int, float, float, str]:
    """Priority (1 first), then reliability, then cost, then id (DESIGN 5)."""
    group = knowledge.groups.get(edge.from_group)
    return (edge.priority(group), -learned.reliability(edge), learned.expected_ms(edge), edge.local_id)


def _signatures(
    knowledge: KnowledgeBase, elements: Mapping[str, Mapping[str, UIElement]]
) -> Iterator[tuple[str, CompiledSignature]]:
    signed_in = knowledge.website.authenticated_when
    for screen_id in sorted(knowledge.screens):
        scope = ScreenScope(elements[screen_id], signed_in)
        signature = knowledge.signatures.get(screen_id)
        compiled = compile_signature(knowledge.screens[screen_id], signature, scope)
        if compiled is not None:
            yield screen_id, compiled


def _groups_of(knowledge: KnowledgeBase) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = defaultdict(set)
    for membership in knowledge.memberships:
        found[membership.screen].add(membership.group)
    return {screen: tuple(sorted(groups)) for screen, groups in found.items()}


def _leaving(knowledge: KnowledgeBase) -> dict[str, tuple[Transition, ...]]:
    """By screen; edges to or from no known screen are left out."""
    found: dict[str, list[Transition]] = defaultdict(list)
    for edge in knowledge.transitions.values():
        if edge.from_screen in knowledge.screens and edge.to_screen in knowledge.screens:
            found[edge.from_screen].append(edge)
    return {screen: tuple(sorted(own, key=_local_id)) for screen, own in found.items()}


def _roads(
    knowledge: KnowledgeBase,
    leaving: Mapping[str, tuple[Transition, ...]],
    groups_of: Mapping[str, tuple[str, ...]],
    recoveries_of: Mapping[str, tuple[GlobalRecovery, ...]],
) -> Roads:
    ways = {}
    for screen, edges in leaving.items():
        ms = _recovery_ms(knowledge, groups_of.get(screen, ()), recoveries_of, NOTHING_LEARNED)
        ways[screen] = tuple(compile_way(edge, ms) for edge in edges)
    return Roads(ways, Network.of(ways))


def _recoveries_of(knowledge: KnowledgeBase) -> dict[str, tuple[GlobalRecovery, ...]]:
    found: dict[str, list[GlobalRecovery]] = defaultdict(list)
    for edge in knowledge.recoveries.values():
        found[edge.from_group].append(edge)
    return {
        group: tuple(sorted(edges, key=lambda edge: recovery_order(knowledge, edge)))
        for group, edges in found.items()
    }


def _recovery_ms(
    knowledge: KnowledgeBase,
    groups: tuple[str, ...],
    recoveries_of: Mapping[str, tuple[GlobalRecovery, ...]],
    learned: Learned,
) -> float:
    """The expected time of the best recovery edge of a screen's groups (DESIGN 5)."""
    edges = [edge for group in groups for edge in recoveries_of.get(group, ())]
    best = min(edges, key=lambda edge: recovery_order(knowledge, edge, learned), default=None)
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


def _screens_of(task: Task, owners: Mapping[str, list[str]]) -> set[str]:
    named = {
        value
        for _, node in walk(task)
        for field in _SCREEN_FIELDS
        if isinstance(value := getattr(node, field, None), str) and value != CURRENT_SCREEN
    }
    acted_on = [
        owners.get(step.action.target, []) for step in task.steps if isinstance(step.action.target, str)
    ]
    return named | {screens[0] for screens in acted_on if len(screens) == 1}
