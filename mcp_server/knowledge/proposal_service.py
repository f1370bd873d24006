"""Proposed changes and published workflows: the part of the server that changes knowledge.

A proposal is kept, with the support of runs, until a person accepts it. Until then a confirmed selector is offered
after the authored ones, as a last resort, and is marked as such (docs/decisions/0014).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from kb_schema import KnowledgeBase, KnowledgeError
from kb_schema.errors import Severity
from kb_schema.fingerprints import Fingerprint
from kb_schema.graph_documents import TaskDependency
from kb_schema.observed_outcomes import ElementUse
from kb_schema.proposals import (
    KnowledgeChange,
    ProposableChange,
    Proposal,
    ProposalAnswer,
    ProposalStatus,
    PublicationAnswer,
    ReportedSupport,
    ScreenChange,
    SelectorChange,
    SignInFound,
    StepTargetChange,
    Support,
    TransitionChange,
    WorkflowChange,
    proposal_id,
)
from kb_schema.screens import Screen, UIElement
from kb_schema.selectors import Selector
from kb_schema.tasks import Task
from kb_schema.workflow_versions import find_workflow_version, list_workflow_parts
from kb_schema.workflows import Workflow
from kb_store.audit.audit_recorder import record_async
from kb_store.errors import StoreError
from kb_store.proposals.accepted_changes import (
    ChangeTargetMissing,
    apply_change,
    contains_change,
    get_current_value,
)
from kb_store.proposals.proposal_store import MemoryProposalStore, ProposalStore
from mcp_server.errors import BadRequest, SourceUnavailable, UnknownName
from mcp_server.knowledge.compiled_view import KnowledgeView

ASK_EVERY_S = 0.25
"""Seconds between two checks for newer proposals."""
ASK_AGAIN_S = 2.0
"""The same after the store failed to answer, which may itself have taken long."""
MOST_OPEN = 500
"""Most open proposals of a website. Beyond it a caller must wait for decisions."""


@runtime_checkable
class KnowledgeWriter(Protocol):
    """A source whose knowledge can be changed, all at once or not at all."""

    async def change(self, website_id: str, change: KnowledgeChange) -> str:
        """Make a change and return the revision that has it. Raises `SourceUnavailable`, and what `apply_change` raises."""
        ...


@dataclass(slots=True)
class _ViewWithOffers:
    revision: str
    selectors: dict[tuple[str, str], tuple[Proposal, ...]]
    fingerprints: Mapping[tuple[str, str], Fingerprint]
    base: KnowledgeView
    view: KnowledgeView
    asked_at: float


class ProposalService:
    """Records proposals, offers confirmed ones, publishes workflows. Without a `writer` nothing can be published."""

    def __init__(
        self,
        store: ProposalStore | None = None,
        writer: KnowledgeWriter | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = MemoryProposalStore() if store is None else store
        self._writer = writer
        self._clock = clock
        self._offered: dict[str, _ViewWithOffers] = {}

    async def propose(
        self, view: KnowledgeView, change: ProposableChange, said: ReportedSupport
    ) -> ProposalAnswer:
        """Record a proposal and the support of a run. Raises `UnknownName`, `BadRequest`, `SourceUnavailable`.

        A transition may lead to or from a screen that is only proposed.
        """
        knowledge = await self._with_proposed_ends(view, change)
        _check_names(knowledge, change)
        name = proposal_id(view.website_id, change)
        if contains_change(view.knowledge, change):
            reason = "the knowledge says so already"
            return ProposalAnswer(
                website_id=view.website_id, proposal_id=name, status="accepted", counted=False, reason=reason
            )
        try:
            apply_change(knowledge, change)
        except KnowledgeError as exc:
            raise BadRequest(
                f"the change breaks the knowledge: {_describe_problems(exc)}", hint="propose another"
            ) from exc
        now = datetime.now(UTC)
        made = Proposal(
            proposal_id=name,
            website_id=view.website_id,
            change=change,
            before=get_current_value(view.knowledge, change),
            proposed_at=now,
        )
        support = Support(**{**dict(said), "at": said.at or now})
        try:
            await self._check_room(made)
            counted = await self._store.support(made, support)
            kept = await self._store.proposal(view.website_id, name) or made
            if kept.status == "replaced":  # a load removed it, and a run needs it again
                await self._store.decide(view.website_id, name, "proposed", now)
                kept = kept.model_copy(update={"status": "proposed"})
        except StoreError as exc:
            raise SourceUnavailable(str(exc)) from exc
        self._ask_again(view)
        return ProposalAnswer(
            website_id=view.website_id,
            proposal_id=name,
            status=kept.status,
            counted=counted,
            reason="" if counted else f"run {said.run_id!r} had its say, or enough runs had",
            succeeded=kept.succeeded,
            failed=kept.failed,
            confirmed=kept.confirmed,
        )

    async def know(self, view: KnowledgeView, element: ElementUse, fingerprint: Fingerprint) -> None:
        """Store the current fingerprint of an element. Raises `SourceUnavailable`."""
        try:
            await self._store.put_fingerprint(
                view.website_id, element.screen_id, element.element_id, fingerprint
            )
        except StoreError as exc:
            raise SourceUnavailable(str(exc)) from exc
        self._ask_again(view)

    async def publish(
        self,
        view: KnowledgeView,
        workflow: Workflow,
        tasks: Sequence[Task] = (),
        dependencies: Sequence[TaskDependency] = (),
        screens: Sequence[Screen] = (),
        *,
        sign_in: SignInFound | None = None,
        replace_it: bool = False,
    ) -> PublicationAnswer:
        """Publish a workflow with its tasks, their dependencies and its new screens, and the website's sign-in.

        Existing screens are never replaced. A replaced version that was never published is kept. Raises `BadRequest`, `SourceUnavailable`.
        """
        named = {"website_id": view.website_id}
        workflow = workflow.model_copy(update=named)
        change = WorkflowChange(
            type="workflow",
            workflow=workflow,
            tasks=tuple(each.model_copy(update=named) for each in tasks),
            dependencies=tuple(each.model_copy(update=named) for each in dependencies),
            screens=tuple(each.model_copy(update=named) for each in screens),
            sign_in=sign_in,
        )
        if sign_in is not None and sign_in.task_id not in {
            *view.knowledge.tasks,
            *(t.task_id for t in tasks),
        }:
            raise UnknownName(
                "task", sign_in.task_id, view.knowledge.tasks, hint="send the task of the sign-in in `tasks`"
            )
        for screen in change.screens:
            if view.knowledge.screens.get(screen.screen_id, screen) != screen:
                raise BadRequest(
                    f"there is another screen {screen.screen_id!r}",
                    hint="give the new one another id, or change the other's signature with propose_change",
                )
        for task in change.tasks:
            other = view.knowledge.tasks.get(task.task_id)
            if other is not None and other != task and not replace_it:
                raise BadRequest(
                    f"there is another task {task.task_id!r}",
                    hint="publish the workflow under another id, or with replace: true",
                )
        known = view.knowledge.workflows.get(workflow.workflow_id)
        if known is not None and not contains_change(view.knowledge, change) and not replace_it:
            raise BadRequest(
                f"there is another workflow {workflow.workflow_id!r}",
                hint="publish it under another id, or with replace: true",
            )
        if known is None and workflow.workflow_id in {*view.knowledge.tasks, *(t.task_id for t in tasks)}:
            raise BadRequest(
                f"there is a task {workflow.workflow_id!r}, which would be run instead",
                hint="publish the workflow under another id",
            )
        if self._writer is None:
            raise BadRequest("this server cannot publish: it has no store", hint="start it on a store")
        try:
            _, warnings = apply_change(view.knowledge, change)
            revision = view.generation
            if not contains_change(view.knowledge, change):
                if known is not None:
                    await self._keep_replaced(view, known)
                revision = await self._writer.change(view.website_id, change)
                await self._mark_replaced(view, change)
            await self._record(view, change, known, "accepted")
        except KnowledgeError as exc:
            raise BadRequest(
                f"the workflow cannot be published: {_describe_problems(exc)}", hint="mend it"
            ) from exc
        except StoreError as exc:
            raise SourceUnavailable(str(exc)) from exc
        return PublicationAnswer(
            website_id=view.website_id,
            workflow_id=workflow.workflow_id,
            revision=revision,
            replaced=known is not None and known != workflow,
            warnings=tuple(
                str(each) for each in warnings if each.document == f"workflow:{workflow.workflow_id}"
            ),
        )

    async def offered(self, view: KnowledgeView) -> KnowledgeView:
        """Return the view with confirmed selectors beside the authored ones, and with fingerprints; the view itself if
        the store does not answer.
        """
        held = self._offered.get(view.website_id)
        now = self._clock()
        if held is None or now - held.asked_at >= ASK_EVERY_S:
            held = await self._asked(view, held, now)
        elif held.base is not view:
            held = replace(held, base=view, view=_with_offers(view, held.selectors, held.fingerprints))
        self._offered[view.website_id] = held
        return held.view

    async def _asked(self, view: KnowledgeView, held: _ViewWithOffers | None, now: float) -> _ViewWithOffers:
        last = held or _ViewWithOffers("", {}, {}, view, view, now)
        revision, selectors, fingerprints = last.revision, last.selectors, last.fingerprints
        try:
            newest = await self._store.revision(view.website_id)
            if held is None or newest != revision:
                selectors = _by_element(await self._store.proposals(view.website_id))
                fingerprints = await self._store.fingerprints(view.website_id)
                revision = newest
        except StoreError:
            now += ASK_AGAIN_S
        if last.base is view and last.selectors is selectors and last.fingerprints is fingerprints:
            return replace(last, revision=revision, asked_at=now)
        offered = _with_offers(view, selectors, fingerprints)
        return _ViewWithOffers(revision, selectors, fingerprints, view, offered, now)

    def _ask_again(self, view: KnowledgeView) -> None:
        """Drop the cache, so that the next answer contains what this server just recorded."""
        held = self._offered.get(view.website_id)
        if held is not None:
            held.asked_at = -ASK_EVERY_S

    async def _with_proposed_ends(self, view: KnowledgeView, change: ProposableChange) -> KnowledgeBase:
        """Return the knowledge with the proposed screens that a transition needs."""
        knowledge = view.knowledge
        if not isinstance(change, TransitionChange):
            return knowledge
        missing = {change.transition.from_screen, change.transition.to_screen} - knowledge.screens.keys()
        if not missing:
            return knowledge
        try:
            proposals = await self._store.proposals(view.website_id)
        except StoreError as exc:
            raise SourceUnavailable(str(exc)) from exc
        for each in proposals:
            screen = each.change.screen if isinstance(each.change, ScreenChange) else None
            if each.status == "proposed" and screen is not None and screen.screen_id in missing:
                try:
                    knowledge, _ = apply_change(knowledge, each.change)
                except (KnowledgeError, ChangeTargetMissing):
                    continue  # the knowledge has changed; that proposal cannot be accepted either
                missing.discard(screen.screen_id)
        return knowledge

    async def _check_room(self, made: Proposal) -> None:
        proposals = await self._store.proposals(made.website_id)
        if any(each.proposal_id == made.proposal_id for each in proposals):
            return
        if sum(each.status == "proposed" for each in proposals) >= MOST_OPEN:
            raise BadRequest(
                f"{MOST_OPEN} proposals of {made.website_id!r} are open",
                hint="a person accepts or rejects them with `periplus kb proposals`",
            )

    async def _keep_replaced(self, view: KnowledgeView, workflow: Workflow) -> None:
        """Keep the present version of a workflow with all its tasks, unless it is kept as a publication."""
        knowledge = view.knowledge
        version = find_workflow_version(knowledge, workflow)
        for each in await self._store.proposals(view.website_id):
            kept = each.change
            if (
                isinstance(kept, WorkflowChange)
                and each.status == "accepted"
                and kept.workflow.workflow_id == workflow.workflow_id
                and find_workflow_version(knowledge, kept.workflow, kept.tasks) == version
            ):
                return
        tasks = {each.task_id: each for each in list_workflow_parts(knowledge, workflow).tasks}
        edges = [each for each in knowledge.dependencies if {each.from_task, each.to_task} <= tasks.keys()]
        change = WorkflowChange(
            type="workflow",
            workflow=workflow,
            tasks=tuple(tasks.values()),
            dependencies=tuple(edges),
            published=False,
        )
        await self._record(view, change, None, "replaced")

    async def _mark_replaced(self, view: KnowledgeView, change: WorkflowChange) -> None:
        """Mark accepted selectors of steps that the published tasks do not have: they are no change that is lost."""
        knowledge, _ = apply_change(view.knowledge, change)
        names = {each.task_id for each in change.tasks}
        for each in await self._store.proposals(view.website_id):
            kept = each.change
            if (
                isinstance(kept, StepTargetChange)
                and each.status == "accepted"
                and kept.task_id in names
                and not contains_change(knowledge, kept)
            ):
                await self._store.decide(view.website_id, each.proposal_id, "replaced", datetime.now(UTC))

    async def _record(
        self, view: KnowledgeView, change: WorkflowChange, before: Workflow | None, status: ProposalStatus
    ) -> None:
        now = datetime.now(UTC)
        name = proposal_id(view.website_id, change)
        proposal = Proposal(
            proposal_id=name,
            website_id=view.website_id,
            change=change,
            before=None if before is None else before.to_json(),
            proposed_at=now,
        )
        await self._store.support(proposal, None)
        await self._store.decide(view.website_id, name, status, now)
        if status == "accepted":
            await record_async("workflow_published", change.workflow.workflow_id, website=view.website_id)


def _check_names(knowledge: KnowledgeBase, change: ProposableChange) -> None:
    hint = "call identify_current_screen or search_knowledge"
    match change:
        case ScreenChange():
            return
        case TransitionChange():
            named = [change.transition.from_screen, change.transition.to_screen]
            hint = "propose the screen first with propose_change"
        case StepTargetChange():
            _check_step(knowledge, change)
            return
        case _:
            named = [change.screen_id]
    for screen_id in named:
        if screen_id not in knowledge.screens:
            raise UnknownName("screen", screen_id, knowledge.screens, hint=hint)
    if isinstance(change, SelectorChange):
        elements = knowledge.elements(change.screen_id)
        if change.element_id not in elements:
            raise UnknownName("element", change.element_id, elements, hint="call get_screen")


def _check_step(knowledge: KnowledgeBase, change: StepTargetChange) -> None:
    task = knowledge.tasks.get(change.task_id)
    if task is None:
        raise UnknownName("task", change.task_id, knowledge.tasks, hint="call search_knowledge")
    own = [each.step_id for each in task.steps if isinstance(each.action.target, Selector)]
    if change.step_id not in own:
        raise UnknownName("step with a selector of its own", change.step_id, own, hint="call get_task")


def _describe_problems(error: KnowledgeError) -> str:
    errors = [each for each in error.problems if each.severity is Severity.ERROR]
    return "; ".join(str(each) for each in errors[:3])[:1_000]


def _by_element(proposals: Sequence[Proposal]) -> dict[tuple[str, str], tuple[Proposal, ...]]:
    """The confirmed, undecided selectors of each element, best supported first."""
    found: dict[tuple[str, str], list[Proposal]] = {}
    for each in proposals:
        if each.status == "proposed" and each.confirmed and isinstance(each.change, SelectorChange):
            found.setdefault((each.change.screen_id, each.change.element_id), []).append(each)
    return {
        key: tuple(sorted(each, key=lambda p: (p.failed - p.succeeded, p.proposal_id)))
        for key, each in found.items()
    }


def _with_offers(
    view: KnowledgeView,
    offers: dict[tuple[str, str], tuple[Proposal, ...]],
    fingerprints: Mapping[tuple[str, str], Fingerprint],
) -> KnowledgeView:
    if not offers and not fingerprints:
        return view
    elements = {screen_id: dict(own) for screen_id, own in view.elements.items()}
    for (screen_id, element_id), fingerprint in fingerprints.items():
        element = elements.get(screen_id, {}).get(element_id)
        if element is not None:
            elements[screen_id][element_id] = element.model_copy(update={"fingerprint": fingerprint})
    for (screen_id, element_id), proposals in offers.items():
        element = elements.get(screen_id, {}).get(element_id)
        if element is not None:
            elements[screen_id][element_id] = _with_offer(element, proposals)
    return replace(view, elements=elements, authored=view.authored or view)


def _with_offer(element: UIElement, proposals: Sequence[Proposal]) -> UIElement:
    """The element with the proposed strategies as fallbacks, each saying which proposal it is from."""
    known = [_comparable_form(each) for each in element.selector.strategies]
    added = []
    for proposal in proposals:
        assert isinstance(proposal.change, SelectorChange)  # noqa: S101 - as `_by_element` chose
        if proposal.change.selector.frame != element.selector.frame:
            continue
        for strategy in proposal.change.selector.strategies:
            if _comparable_form(strategy) not in known:
                known.append(_comparable_form(strategy))
                note = {"learned": proposal.proposal_id}
                added.append(
                    strategy.model_copy(update={"fallback": True, "meta": {**strategy.meta, **note}})
                )
    if not added:
        return element
    selector = Selector(
        strategies=(*element.selector.strategies, *added),
        frame=element.selector.frame,
    )
    return element.model_copy(update={"selector": selector})


def _comparable_form(strategy: Any) -> dict[str, Any]:
    said: dict[str, Any] = strategy.model_dump(mode="json", exclude={"meta", "confidence", "fallback"})
    return said
