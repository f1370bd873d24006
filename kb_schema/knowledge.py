"""One website's whole knowledge, complete and checked: what stores keep and servers compile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from kb_schema.actions import Action
from kb_schema.base import Document
from kb_schema.documents import MODELS
from kb_schema.errors import KnowledgeError, Problem, Severity
from kb_schema.graph import (
    ActionTrigger,
    GlobalRecovery,
    GroupMembership,
    ScreenGroup,
    TaskDependency,
    Transition,
)
from kb_schema.handling import ErrorRecovery
from kb_schema.presentation import PresentationFlow
from kb_schema.screens import Screen, Signature, StateSignature, UIElement
from kb_schema.tasks import Task
from kb_schema.websites import Website
from kb_schema.workflows import Workflow


@dataclass(frozen=True, slots=True)
class Sourced:
    """A document and the file it came from."""

    document: Document
    source: str | None = None


@dataclass(frozen=True)
class KnowledgeBase:
    """Every document of one website by kind and local id. Immutable; build with `assemble`."""

    website: Website
    by_kind: dict[str, dict[str, Document]]
    sources: dict[tuple[str, str], str] = field(default_factory=dict)
    """(kind, local id) -> file, where it came from one."""

    def _all(self, kind: str) -> dict[str, Document]:
        return self.by_kind.get(kind, {})

    @cached_property
    def screens(self) -> dict[str, Screen]:
        """By screen id."""
        return {k: v for k, v in self._all("screen").items() if isinstance(v, Screen)}

    @cached_property
    def signatures(self) -> dict[str, Signature]:
        """The active signature of every screen that has one, by screen id."""
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
    def actions(self) -> dict[str, Action]:
        """By action id."""
        return {k: v for k, v in self._all("action").items() if isinstance(v, Action)}

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """By task id."""
        return {k: v for k, v in self._all("task").items() if isinstance(v, Task)}

    @cached_property
    def flows(self) -> dict[str, PresentationFlow]:
        """By flow id."""
        return {k: v for k, v in self._all("presentation_flow").items() if isinstance(v, PresentationFlow)}

    @cached_property
    def error_recoveries(self) -> dict[str, ErrorRecovery]:
        """By recovery id."""
        return {k: v for k, v in self._all("error_recovery").items() if isinstance(v, ErrorRecovery)}

    @cached_property
    def workflows(self) -> dict[str, Workflow]:
        """By workflow id."""
        return {k: v for k, v in self._all("workflow").items() if isinstance(v, Workflow)}

    @cached_property
    def groups(self) -> dict[str, ScreenGroup]:
        """By group id."""
        return {k: v for k, v in self._all("screen_group").items() if isinstance(v, ScreenGroup)}

    @cached_property
    def transitions(self) -> dict[str, Transition]:
        """By transition id."""
        return {k: v for k, v in self._all("transition").items() if isinstance(v, Transition)}

    @cached_property
    def memberships(self) -> tuple[GroupMembership, ...]:
        """Screen -> group."""
        return tuple(v for v in self._all("group_membership").values() if isinstance(v, GroupMembership))

    @cached_property
    def recoveries(self) -> dict[str, GlobalRecovery]:
        """Group -> screen, by id."""
        return {k: v for k, v in self._all("global_recovery").items() if isinstance(v, GlobalRecovery)}

    @cached_property
    def dependencies(self) -> tuple[TaskDependency, ...]:
        """Task -> task."""
        return tuple(v for v in self._all("task_dependency").values() if isinstance(v, TaskDependency))

    @cached_property
    def triggers(self) -> tuple[ActionTrigger, ...]:
        """Action -> transition."""
        return tuple(v for v in self._all("action_trigger").values() if isinstance(v, ActionTrigger))

    def documents(self) -> Iterator[Document]:
        """Everything, in the order of `MODELS`, then by id."""
        for kind in MODELS:
            documents = self._all(kind)
            for local_id in sorted(documents):
                yield documents[local_id]

    def elements(self, screen_id: str) -> dict[str, UIElement]:
        """The elements one can use on a screen: its own and those of its layouts."""
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

    def groups_of(self, screen_id: str) -> tuple[str, ...]:
        """Ids of the groups a screen belongs to."""
        return self._groups.get(screen_id, ())

    @cached_property
    def _groups(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = defaultdict(list)
        for membership in self.memberships:
            found[membership.screen].append(membership.group)
        return {screen: tuple(sorted(groups)) for screen, groups in found.items()}


def assemble(documents: Iterable[Sourced]) -> tuple[KnowledgeBase, tuple[Problem, ...]]:
    """One website's documents as a checked knowledge base, with the warnings found.

    Raises `KnowledgeError` with every problem: twins, missing website, broken references and the
    three rules of KS 10.
    """
    from kb_schema.rules import check  # noqa: PLC0415 - the rules import this module

    documents = list(documents)
    problems: list[Problem] = []
    websites = [s for s in documents if isinstance(s.document, Website)]
    if len(websites) != 1:
        sources = ", ".join(s.source or "?" for s in websites)
        message = "no website document" if not websites else f"{len(websites)} website documents: {sources}"
        raise KnowledgeError(
            [Problem(message, fix="a knowledge base has exactly one document of type `website`")]
        )
    website = websites[0].document
    assert isinstance(website, Website)  # noqa: S101 - narrows the type the filter above guarantees
    by_kind: dict[str, dict[str, Document]] = {}
    sources_of: dict[tuple[str, str], str] = {}
    for item in documents:
        document = item.document
        key = (document.kind, document.local_id)
        name = f"{document.kind}:{document.local_id}"
        if document.website_id not in (None, website.website_id):
            problems.append(
                Problem(
                    f"belongs to website {document.website_id!r}, not {website.website_id!r}",
                    path="$.website_id",
                    document=name,
                    source=item.source,
                    fix="one folder holds one website",
                    rule="references",
                )
            )
        if document.local_id in by_kind.get(document.kind, {}):
            problems.append(
                Problem(
                    f"there is another {document.kind} {document.local_id!r}",
                    document=name,
                    source=item.source,
                    fix=f"rename one; the other is in {sources_of.get(key, 'the same load')}",
                    rule="references",
                )
            )
            continue
        if document.website_id is None:
            document = document.model_copy(update={"website_id": website.website_id})
        by_kind.setdefault(document.kind, {})[document.local_id] = document
        if item.source is not None:
            sources_of[key] = item.source
    knowledge = KnowledgeBase(website=website, by_kind=by_kind, sources=sources_of)
    problems += check(knowledge)
    if any(p.severity is Severity.ERROR for p in problems):
        raise KnowledgeError(problems)
    return knowledge, tuple(problems)
