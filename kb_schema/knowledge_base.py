"""`KnowledgeBase`: all documents of one website, checked. `kb_schema.assembly` builds it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from kb_schema.action_documents import Action
from kb_schema.base import Document
from kb_schema.documents import MODELS
from kb_schema.error_handling import ErrorRecovery
from kb_schema.former_ids import list_former_ids
from kb_schema.graph_documents import (
    ActionTrigger,
    GlobalRecovery,
    GroupMembership,
    ScreenGroup,
    TaskDependency,
    Transition,
)
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.screens import Screen, Signature, StateSignature, UIElement
from kb_schema.tasks import Task
from kb_schema.websites import Website
from kb_schema.workflows import Workflow


@dataclass(frozen=True)
class KnowledgeBase:
    """All documents of one website by kind and local id. Immutable; `assemble` builds it.

    The mappings may be lazy: a document is then parsed when it is asked for.
    """

    website: Website
    by_kind: Mapping[str, Mapping[str, Document]]
    sources: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(kind, local id) -> file, for documents that came from one."""

    def _all(self, kind: str) -> Mapping[str, Document]:
        return self.by_kind.get(kind, {})

    @cached_property
    def screens(self) -> Mapping[str, Screen]:
        """The screens, by screen id."""
        return cast("Mapping[str, Screen]", self._all("screen"))

    @cached_property
    def signatures(self) -> Mapping[str, Signature]:
        """The active signatures, by screen id."""
        found: dict[str, Signature] = {
            screen.screen_id: screen.state_signature
            for screen in self.screens.values()
            if screen.state_signature is not None and screen.state_signature.active
        }
        for document in self._all("state_signature").values():
            if isinstance(document, StateSignature) and document.active:
                found[document.screen_id] = document
        return found

    @cached_property
    def actions(self) -> Mapping[str, Action]:
        """The actions, by action id."""
        return cast("Mapping[str, Action]", self._all("action"))

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks, by task id."""
        return cast("Mapping[str, Task]", self._all("task"))

    @cached_property
    def flows(self) -> Mapping[str, PresentationFlow]:
        """The flows, by flow id."""
        return cast("Mapping[str, PresentationFlow]", self._all("presentation_flow"))

    @cached_property
    def error_recoveries(self) -> Mapping[str, ErrorRecovery]:
        """The error recoveries, by recovery id."""
        return cast("Mapping[str, ErrorRecovery]", self._all("error_recovery"))

    @cached_property
    def workflows(self) -> Mapping[str, Workflow]:
        """The workflows, by workflow id."""
        return cast("Mapping[str, Workflow]", self._all("workflow"))

    @cached_property
    def groups(self) -> Mapping[str, ScreenGroup]:
        """The screen groups, by group id."""
        return cast("Mapping[str, ScreenGroup]", self._all("screen_group"))

    @cached_property
    def transitions(self) -> Mapping[str, Transition]:
        """The transitions, by transition id."""
        return cast("Mapping[str, Transition]", self._all("transition"))

    @cached_property
    def memberships(self) -> tuple[GroupMembership, ...]:
        """The membership edges: screen -> group."""
        return tuple(v for v in self._all("group_membership").values() if isinstance(v, GroupMembership))

    @cached_property
    def recoveries(self) -> Mapping[str, GlobalRecovery]:
        """The recovery edges (group -> screen), by id."""
        return cast("Mapping[str, GlobalRecovery]", self._all("global_recovery"))

    @cached_property
    def dependencies(self) -> tuple[TaskDependency, ...]:
        """The dependency edges: task -> task."""
        return tuple(v for v in self._all("task_dependency").values() if isinstance(v, TaskDependency))

    @cached_property
    def triggers(self) -> tuple[ActionTrigger, ...]:
        """The trigger edges: action -> transition."""
        return tuple(v for v in self._all("action_trigger").values() if isinstance(v, ActionTrigger))

    def documents(self) -> Iterator[Document]:
        """Yield all documents, in the order of `MODELS`, then by id."""
        for kind in MODELS:
            documents = self._all(kind)
            for local_id in sorted(documents):
                yield documents[local_id]

    def elements(self, screen_id: str) -> dict[str, UIElement]:
        """Return the elements of a screen: its own and those of its layouts."""
        screen = self.screens.get(screen_id)
        if screen is None:
            return {}
        found = {
            element.element_id: element
            for layout in screen.layouts
            for element in self.website.layouts.get(layout, ())
        }
        found.update({element.element_id: element for element in screen.ui_elements})
        return found

    @cached_property
    def elements_by_screen(self) -> Mapping[str, Mapping[str, UIElement]]:
        """The elements of every screen by id, those of its layouts among them: what rules and views look up."""
        return {screen_id: self.elements(screen_id) for screen_id in self.screens}

    def current_id(self, kind: str, local_id: str) -> str:
        """Return the id that a document has now; a former id is replaced, an unknown one returned as given."""
        return local_id if local_id in self._all(kind) else self._renamed.get((kind, local_id), local_id)

    @cached_property
    def _renamed(self) -> dict[tuple[str, str], str]:
        return {
            (document.kind, former): document.local_id
            for document in self.documents()
            for former in list_former_ids(document.metadata)
        }

    def groups_of(self, screen_id: str) -> tuple[str, ...]:
        """Return the ids of the groups a screen belongs to."""
        return self._groups.get(screen_id, ())

    @cached_property
    def _groups(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = defaultdict(list)
        for membership in self.memberships:
            found[membership.screen].append(membership.group)
        return {screen: tuple(sorted(groups)) for screen, groups in found.items()}
