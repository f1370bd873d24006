"""Whether a changed document can be checked without all the others.

It can if no other document's check may come out differently, and if its own needs only what it refers to. What decides the first is
its *face*: the part of it that rules read when they check other documents, or all documents together. Only an unchanged face is
accepted. This is stricter than necessary: what is refused here is checked with its whole website.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kb_schema.base import Document
from kb_schema.errors import Problem
from kb_schema.graph_documents import ErrorState, GlobalRecovery, GroupMembership, Transition
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.narration_marks import list_mark_names
from kb_schema.nested_models import ModelFinder
from kb_schema.rules import check
from kb_schema.rules.reference_names import ANY_ACTION, ANY_WORK
from kb_schema.rules.references import list_references
from kb_schema.screens import Screen
from kb_schema.tasks import Task, TaskStep
from kb_schema.websites import Website

DocumentKey = tuple[str, str]
"""Kind and local id."""

_ERROR_STATES = ModelFinder(ErrorState)
_KINDS_NAMED: Mapping[str, Sequence[str]] = {
    "screen": ("screen",),
    "task": ("task",),
    "action": ("action",),
    "group": ("screen_group",),
    "transition": ("transition",),
    "recovery": ("error_recovery", "task"),
    ANY_ACTION: ("action",),
    ANY_WORK: ("task", "workflow"),
}
"""What a reference names -> the kinds of document that it may be. Layouts are in the website; elements in the screens named."""


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """A document before and after; None: it is not there."""

    old: Document | None
    new: Document | None

    @property
    def key(self) -> DocumentKey:
        """Kind and local id. One of the two is there."""
        document = self.new or self.old
        assert document is not None  # noqa: S101 - by construction
        return document.kind, document.local_id


def is_separate(change: DocumentChange, *, triggers: bool) -> bool:
    """Return whether no other document's check can come out differently. `triggers`: there are edges from actions to transitions."""
    old, new = change.old, change.new
    if _error_names(old) != _error_names(new):
        return False
    if isinstance(old or new, Transition):
        return new is not None or not triggers
    if isinstance(old or new, GroupMembership | GlobalRecovery):
        return True
    if isinstance(old, Screen) and isinstance(new, Screen):
        return _screen_face(old) == _screen_face(new)
    if isinstance(old, Task) and isinstance(new, Task):
        return _task_face(old) == _task_face(new)
    return False


def list_needed(document: Document) -> set[DocumentKey]:
    """Return the documents that its own check reads, if they exist."""
    return {(kind, name) for named, name in list_references(document) for kind in _KINDS_NAMED.get(named, ())}


def check_separately(
    website: Website, changed: Sequence[Document], beside: Iterable[Document]
) -> Iterator[Problem]:
    """Yield the problems of the changed documents. `beside` has those that exist of `list_needed`.

    A missing name is a problem here though another document of the website may define it: then only the whole check can tell.
    """
    by_kind: dict[str, dict[str, Document]] = {website.kind: {website.local_id: website}}
    for document in (*beside, *changed):
        by_kind.setdefault(document.kind, {})[document.local_id] = document
    own = {f"{document.kind}:{document.local_id}" for document in changed}
    for problem in check(KnowledgeBase(website, by_kind)):
        if problem.document in own or problem.document is None:
            yield problem


def _error_names(document: Document | None) -> set[str]:
    """Return the errors that a document names for all of its website."""
    models = () if document is None else _ERROR_STATES.find(document)
    return {each.reason for each in models if isinstance(each, ErrorState)}


def _screen_face(screen: Screen) -> object:
    """Return elements with what their selectors need, layouts, and what the screen is recognised by."""
    return (
        [(each.element_id, each.selector.required_context) for each in screen.ui_elements],
        screen.layouts,
        screen.url_patterns,
        screen.state_signature,
    )


def _task_face(task: Task) -> object:
    """Return the names that others may use, whom it calls, and what its steps take of elements' selectors."""
    item = getattr(task.iterator_spec, "item_action", None)
    return (
        [each.name for each in task.io_spec.inputs],
        [(each.name, each.after_step) for each in task.io_spec.outputs],
        [_step_face(each) for each in task.steps],
        getattr(item, "task_id", None),
    )


def _step_face(step: TaskStep) -> object:
    action = step.action
    return (
        step.step_id,
        step.order,
        action.target if isinstance(action.target, str) else None,
        sorted(action.parameters),
        action.task_id,
        {each.remediation_task_id for each in step.preconditions},
        list_mark_names(action, step.step_id),
    )
