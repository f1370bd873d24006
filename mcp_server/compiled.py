"""One website's knowledge compiled for answering: immutable, swapped whole when it changes.

Not here: the questions. They are pure functions over a `View`, each in its own module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from kb_schema.base import CURRENT_SCREEN
from kb_schema.graph import GlobalRecovery
from kb_schema.knowledge import KnowledgeBase
from kb_schema.rules.references import walk
from kb_schema.screens import UIElement
from kb_schema.tasks import Task
from kb_schema.websites import Website
from mcp_server.graph import Way, adjacency
from mcp_server.scopes import ScreenScope
from mcp_server.search import SearchIndex
from mcp_server.signatures import CompiledSignature, compile_signature
from mcp_server.url_index import UrlIndex

_SCREEN_FIELDS = ("screen_id", "target_screen", "from_screen", "to_screen")


@dataclass(frozen=True)
class View:
    """Everything the desk looks up about one website, at one generation."""

    knowledge: KnowledgeBase
    generation: str
    elements: Mapping[str, Mapping[str, UIElement]]
    """Screen id -> its elements, those of its layouts among them."""
    signatures: Mapping[str, CompiledSignature]
    urls: UrlIndex
    anywhere: tuple[str, ...]
    """Screens without URL patterns: candidates on every page."""
    groups_of: Mapping[str, tuple[str, ...]]
    recoveries_of: Mapping[str, tuple[GlobalRecovery, ...]]
    """Group id -> its recovery edges, best first."""
    ways: Mapping[str, tuple[Way, ...]]
    """Screen id -> the transitions that leave it."""
    tasks_of: Mapping[str, tuple[str, ...]]
    """Screen id -> the tasks that use it."""

    @property
    def website(self) -> Website:
        """The website's own document."""
        return self.knowledge.website

    @property
    def website_id(self) -> str:
        """The id answers carry."""
        return self.website.website_id

    @cached_property
    def transition_ids(self) -> frozenset[str]:
        """Every transition paths may use."""
        return frozenset(way.transition_id for ways in self.ways.values() for way in ways)

    @cached_property
    def search(self) -> SearchIndex:
        """Built at the first search."""
        return SearchIndex(self.knowledge)


def compile_view(knowledge: KnowledgeBase, generation: str) -> View:
    """The compiled view of a checked knowledge base."""
    elements = {screen_id: knowledge.elements(screen_id) for screen_id in knowledge.screens}
    signatures = dict(_signatures(knowledge, elements))
    groups_of = _groups_of(knowledge)
    recoveries_of = _recoveries_of(knowledge)
    recovery_ms = {
        screen_id: edge.expected_ms
        for screen_id, groups in groups_of.items()
        if (edge := _best(knowledge, [e for group in groups for e in recoveries_of.get(group, ())]))
        is not None
    }
    return View(
        knowledge=knowledge,
        generation=generation,
        elements=elements,
        signatures=signatures,
        urls=UrlIndex(
            {screen_id: knowledge.screens[screen_id].url_patterns for screen_id in signatures},
            knowledge.website.base_url,
        ),
        anywhere=tuple(sorted(s for s in signatures if not knowledge.screens[s].url_patterns)),
        groups_of=groups_of,
        recoveries_of=recoveries_of,
        ways=adjacency(knowledge.transitions.values(), knowledge.screens, recovery_ms),
        tasks_of=_tasks_of(knowledge, elements),
    )


def recovery_order(knowledge: KnowledgeBase, edge: GlobalRecovery) -> tuple[int, float, float, str]:
    """Priority (1 first), then reliability, then cost, then id (DESIGN 5)."""
    group = knowledge.groups.get(edge.from_group)
    return (edge.priority(group), -edge.reliability, edge.expected_ms, edge.local_id)


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


def _recoveries_of(knowledge: KnowledgeBase) -> dict[str, tuple[GlobalRecovery, ...]]:
    found: dict[str, list[GlobalRecovery]] = defaultdict(list)
    for edge in knowledge.recoveries.values():
        found[edge.from_group].append(edge)
    return {
        group: tuple(sorted(edges, key=lambda edge: recovery_order(knowledge, edge)))
        for group, edges in found.items()
    }


def _best(knowledge: KnowledgeBase, edges: list[GlobalRecovery]) -> GlobalRecovery | None:
    return min(edges, key=lambda edge: recovery_order(knowledge, edge), default=None)


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
