"""Changes of stored knowledge that are not loads of files: accepted proposals, published workflows.

An accepted change becomes part of the documents, under a new generation (docs/decisions/0014), so that
readers, exports and queries agree. A later load of files without it would lose it; `AcceptedChangesCheck`
refuses such a load before anything is written.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from kb_schema import KnowledgeBase, Problem, SourcedDocument, assemble
from kb_schema.base import Document
from kb_schema.former_ids import list_former_ids
from kb_schema.proposals import (
    KnowledgeChange,
    Proposal,
    ScreenChange,
    SelectorChange,
    SignatureChange,
    StepTargetChange,
    TransitionChange,
    WorkflowChange,
)
from kb_schema.screens import Screen, Signature, StateSignature, UIElement
from kb_schema.selectors import Selector
from kb_schema.tasks import Task, TaskStep
from kb_schema.websites import Website
from kb_store.errors import GenerationMoved, LoadConflict, StoreError
from kb_store.knowledge_loader import LoadReport, load_knowledge
from kb_store.knowledge_reader import read_knowledge
from kb_store.ports import DocumentStore, GraphStore
from kb_store.proposals.proposal_store import ProposalStore

ATTEMPTS = 5
"""How often a change is retried because another process changed the website meanwhile."""
WAITS_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""The pauses between attempts in seconds while another load is running."""

SHOWN = 160
"""The most characters of a value in a message."""


class ChangeTargetMissing(Exception):
    """The knowledge does not have the target of a change. `about` names it."""

    def __init__(self, about: str) -> None:
        self.about = about
        super().__init__(f"the knowledge does not contain (any more): {about}")


class ScreenMissing(ChangeTargetMissing):
    """A transition from or to an unknown screen. `screen_id` names it."""

    def __init__(self, about: str, screen_id: str) -> None:
        super().__init__(about)
        self.screen_id = screen_id
        self.args = (f"{about}: there is no screen {screen_id!r} (yet)",)


class AcceptedChangesLost(StoreError):
    """A load lacks accepted changes. `lost` has them, with the values of the load."""

    def __init__(self, website_id: str, lost: Sequence[tuple[Proposal, Any]]) -> None:
        self.website_id, self.lost = website_id, tuple(lost)
        number = len(self.lost)
        listing = "".join(
            f"\n  {each.proposal_id} {each.change.about}: {_describe_loss(each.change.proposed_value, instead)}"
            for each, instead in self.lost
        )
        super().__init__(
            f"{number} accepted change{'' if number == 1 else 's'} of {website_id!r} would be lost:{listing}",
            fix="add them to the files (`periplus kb export` writes them; `periplus kb diff` shows "
            "them), or load with --replace-learned to discard them",
        )


def _describe_loss(accepted: Any, instead: Any) -> str:
    """Return what a load would change: values as they are, a whole document only in words."""
    if isinstance(accepted, dict) and "type" in accepted:
        return "the folder does not contain it" if instead is None else "the folder contains another version"
    there = "the folder has none" if instead is None else f"the folder has {_shorten(instead)}"
    return f"accepted {_shorten(accepted)}, {there}"


def _shorten(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


# -- one change, on knowledge in memory ------------------------------------------------------------


def get_current_value(knowledge: KnowledgeBase, change: KnowledgeChange) -> Any:
    """Return the current value that a change would replace, as JSON, or None.

    Raises `ChangeTargetMissing` for an unknown screen, element or step.
    """
    match change:
        case SelectorChange():
            return _element(knowledge, change).selector.to_json()
        case StepTargetChange():
            return _get_step_target(_find_step(knowledge, change), change).to_json()
        case SignatureChange():
            signature = knowledge.signatures.get(_screen(knowledge, change).screen_id)
            return None if signature is None else _plain(signature).to_json()
        case ScreenChange():
            return _get_screen_value(knowledge, change.screen.screen_id)
        case TransitionChange():
            way = knowledge.by_kind.get("transition", {}).get(change.transition.local_id)
            return None if way is None else _set_website_id(way, None).to_json()
        case WorkflowChange():
            workflow = knowledge.workflows.get(change.workflow.workflow_id)
            return None if workflow is None else workflow.to_json()


def contains_change(knowledge: KnowledgeBase, change: KnowledgeChange) -> bool:
    """Return whether the knowledge already has the change.

    A screen, transition or workflow that was renamed or merged since counts as contained under its new id.
    """
    if _is_renamed(knowledge, change):
        return True
    try:
        current = get_current_value(knowledge, change)
    except ChangeTargetMissing:
        return False
    match change:
        case SelectorChange() | StepTargetChange() | SignatureChange() | ScreenChange() | TransitionChange():
            return bool(current == change.proposed_value)
        case WorkflowChange():
            known = {(each.kind, each.local_id): each for each in knowledge.documents()}
            if change.sign_in is not None and knowledge.website.login_task_id is None:
                return False
            return all(
                (kept := known.get((each.kind, each.local_id))) is not None
                and _set_website_id(kept, None) == _set_website_id(each, None)
                for each in change.documents
            )


def _is_renamed(knowledge: KnowledgeBase, change: KnowledgeChange) -> bool:
    """Return whether what the change adds has, or is about, a former id."""
    match change:
        case ScreenChange():
            names = [("screen", change.screen.screen_id)]
        case TransitionChange():
            names = [("screen", change.transition.from_screen), ("screen", change.transition.to_screen)]
        case WorkflowChange():
            names = [(each.kind, each.local_id) for each in change.documents]
        case _:
            return False
    return any(knowledge.current_id(kind, name) != name for kind, name in names)


def apply_change(
    knowledge: KnowledgeBase, change: KnowledgeChange
) -> tuple[KnowledgeBase, tuple[Problem, ...]]:
    """Return the knowledge with the change, checked as in a load, and the warnings.

    Raises `ChangeTargetMissing`, and `KnowledgeError` if it would break a rule.
    """
    made = _build_documents(knowledge, change)
    keys = {(document.kind, document.local_id) for document in made}
    rest = [each for each in knowledge.documents() if (each.kind, each.local_id) not in keys]
    return assemble([SourcedDocument(each) for each in (*rest, *made)])


def _build_documents(knowledge: KnowledgeBase, change: KnowledgeChange) -> tuple[Document, ...]:
    """Return the documents that contain the change."""
    match change:
        case SelectorChange():
            return (_with_selector(knowledge, change),)
        case StepTargetChange():
            return (_with_step_target(knowledge, change),)
        case SignatureChange():
            return (_with_signature(knowledge, change),)
        case ScreenChange():
            return _with_screen(knowledge, change.screen)
        case TransitionChange():
            return (_with_transition(knowledge, change),)
        case WorkflowChange():
            made = (_set_website_id(each, knowledge.website.website_id) for each in change.documents)
            return (*made, *_with_sign_in(knowledge, change))


def _with_sign_in(knowledge: KnowledgeBase, change: WorkflowChange) -> tuple[Website, ...]:
    """Return the website with the sign-in of a workflow; nothing if there is none, or the website has one."""
    website, found = knowledge.website, change.sign_in
    if found is None or website.login_task_id is not None:
        return ()
    told = website.authenticated_when or found.authenticated_when
    return (website.model_copy(update={"login_task_id": found.task_id, "authenticated_when": told}),)


def _set_website_id(document: Document, website_id: str | None) -> Document:
    return document.model_copy(update={"website_id": website_id})


def _get_screen_value(knowledge: KnowledgeBase, screen_id: str) -> Any:
    """Return a screen with its signature, wherever that is stored; None for an unknown screen."""
    screen = knowledge.screens.get(screen_id)
    if screen is None:
        return None
    signature = knowledge.signatures.get(screen_id)
    if isinstance(signature, StateSignature):
        screen = screen.model_copy(update={"state_signature": _plain(signature)})
    return _set_website_id(screen, None).to_json()


def _with_screen(knowledge: KnowledgeBase, screen: Screen) -> tuple[Document, ...]:
    """Return the screen; its signature stays a document of its own if it is one."""
    website_id = knowledge.website.website_id
    own = knowledge.signatures.get(screen.screen_id)
    if isinstance(own, StateSignature) and screen.state_signature is not None:
        signature = own.model_copy(update=dict(screen.state_signature))
        return (_set_website_id(screen.model_copy(update={"state_signature": None}), website_id), signature)
    return (_set_website_id(screen, website_id),)


def _with_transition(knowledge: KnowledgeBase, change: TransitionChange) -> Document:
    way = change.transition
    missing = [end for end in (way.from_screen, way.to_screen) if end not in knowledge.screens]
    if missing:
        raise ScreenMissing(change.about, missing[0])
    return _set_website_id(way, knowledge.website.website_id)


def _with_selector(knowledge: KnowledgeBase, change: SelectorChange) -> Screen | Website:
    meant = _element(knowledge, change).element_id
    screen = _screen(knowledge, change)
    if any(element.element_id == meant for element in screen.ui_elements):
        return screen.model_copy(update={"ui_elements": _replaced(screen.ui_elements, meant, change)})
    website = knowledge.website
    layouts = {
        name: _replaced(elements, meant, change) if name in screen.layouts else elements
        for name, elements in website.layouts.items()
    }
    return website.model_copy(update={"layouts": layouts})


def _with_step_target(knowledge: KnowledgeBase, change: StepTargetChange) -> Task:
    step = _find_step(knowledge, change)
    _get_step_target(step, change)
    known = change.fingerprint or step.action.fingerprint
    action = step.action.model_copy(update={"target": change.selector, "fingerprint": known})
    changed = step.model_copy(update={"action": action})
    task = knowledge.tasks[knowledge.current_id("task", change.task_id)]
    steps = tuple(changed if each.step_id == change.step_id else each for each in task.steps)
    return task.model_copy(update={"steps": steps})


def _find_step(knowledge: KnowledgeBase, change: StepTargetChange) -> TaskStep:
    task = knowledge.tasks.get(knowledge.current_id("task", change.task_id))
    for step in () if task is None else task.steps:
        if step.step_id == change.step_id:
            return step
    raise ChangeTargetMissing(change.about)


def _get_step_target(step: TaskStep, change: StepTargetChange) -> Selector:
    """Return the step's own selector. Raises `ChangeTargetMissing` if it names an element of a screen or none."""
    if not isinstance(step.action.target, Selector):
        raise ChangeTargetMissing(change.about)
    return step.action.target


def _replaced(
    elements: Sequence[UIElement], element_id: str, change: SelectorChange
) -> tuple[UIElement, ...]:
    return tuple(
        element.model_copy(update={"selector": change.selector})
        if element.element_id == element_id
        else element
        for element in elements
    )


def _with_signature(knowledge: KnowledgeBase, change: SignatureChange) -> Screen | StateSignature:
    screen = _screen(knowledge, change)
    current = knowledge.signatures.get(screen.screen_id)
    if isinstance(current, StateSignature):
        return current.model_copy(update=dict(change.signature))
    return screen.model_copy(update={"state_signature": change.signature})


def _plain(signature: Signature) -> Signature:
    """Return a signature's own fields, without those of the document it may be."""
    return Signature(**{name: getattr(signature, name) for name in Signature.model_fields})


def _screen(knowledge: KnowledgeBase, change: SelectorChange | SignatureChange) -> Screen:
    screen = knowledge.screens.get(knowledge.current_id("screen", change.screen_id))
    if screen is None:
        raise ChangeTargetMissing(change.about)
    return screen


def _element(knowledge: KnowledgeBase, change: SelectorChange) -> UIElement:
    here = knowledge.elements(knowledge.current_id("screen", change.screen_id))
    for element in here.values():
        if change.element_id in (element.element_id, *list_former_ids(element.metadata)):
            return element
    raise ChangeTargetMissing(change.about)


# -- the stored knowledge ----------------------------------------------------------------------------


async def store_change(
    documents: DocumentStore,
    graph: GraphStore,
    website_id: str,
    make: Callable[[KnowledgeBase], KnowledgeBase],
) -> LoadReport:
    """Store a change of a website's knowledge as its next generation; retry after concurrent loads.

    Raises whatever `make` raises, and the errors of `read_knowledge` and `load_knowledge`.
    """
    waits = iter(WAITS_S)
    moved = 0
    while True:
        knowledge, generation = await read_knowledge(documents, graph, website_id)
        try:
            return await load_knowledge(documents, graph, make(knowledge), replacing=generation)
        except GenerationMoved:
            moved += 1
            if moved == ATTEMPTS:
                raise
        except LoadConflict:
            wait = next(waits, None)
            if wait is None:
                raise
            await asyncio.sleep(wait)


class AcceptedChangesCheck:
    """Checks that a load loses no accepted change; `replace` allows the loss."""

    def __init__(self, proposals: ProposalStore, knowledge: KnowledgeBase, *, replace: bool = False) -> None:
        self._proposals, self._knowledge, self._replace = proposals, knowledge, replace
        self.lost: tuple[Proposal, ...] = ()
        """After the check: the accepted changes that the load drops."""
        self.taken_over: tuple[Proposal, ...] = ()
        """After the check: the undecided proposals that the load contains, which counts as acceptance."""

    async def __call__(self) -> None:
        """Check the load. Raises `AcceptedChangesLost` unless the loss is allowed."""
        website_id = self._knowledge.website.website_id
        kept = await self._proposals.proposals(website_id)
        self.lost = _select_lost(kept, self._knowledge)
        self.taken_over = tuple(
            each
            for each in kept
            if each.status == "proposed" and contains_change(self._knowledge, each.change)
        )
        if self.lost and not self._replace:
            raise AcceptedChangesLost(website_id, [(each, self._instead(each)) for each in self.lost])

    async def conclude(self) -> None:
        """After the load: mark dropped changes as replaced, and contained proposals as accepted."""
        now = datetime.now(UTC)
        for each in self.lost:
            await self._proposals.decide(each.website_id, each.proposal_id, "replaced", now)
        for each in self.taken_over:
            await self._proposals.decide(each.website_id, each.proposal_id, "accepted", now)

    def _instead(self, proposal: Proposal) -> Any:
        try:
            return get_current_value(self._knowledge, proposal.change)
        except ChangeTargetMissing:
            return None


def _select_lost(proposals: Sequence[Proposal], knowledge: KnowledgeBase) -> tuple[Proposal, ...]:
    newest: dict[str, Proposal] = {}
    for each in proposals:
        if each.status == "accepted":
            known = newest.get(each.change.about)
            if known is None or _decision_time(known) <= _decision_time(each):
                newest[each.change.about] = each
    return tuple(each for each in newest.values() if not contains_change(knowledge, each.change))


def _decision_time(proposal: Proposal) -> Any:
    return proposal.decided_at or proposal.proposed_at
