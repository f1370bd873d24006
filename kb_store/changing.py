"""Changes of stored knowledge that are not loads of files: accepted proposals, published workflows.

An accepted change becomes part of the documents, under a new generation (docs/decisions/0014): whoever
reads, exports or queries sees one truth. What files loaded later do not have would be lost with them:
`Keeping` says so before anything is written.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from kb_schema import KnowledgeBase, Problem, Sourced, assemble
from kb_schema.base import Document
from kb_schema.proposals import (
    Change,
    Proposal,
    ScreenChange,
    SelectorChange,
    SignatureChange,
    TransitionChange,
    WorkflowChange,
)
from kb_schema.screens import Screen, Signature, StateSignature, UIElement
from kb_schema.websites import Website
from kb_store.errors import GenerationMoved, LoadConflict, StoreError
from kb_store.load import LoadReport, load_knowledge
from kb_store.ports import DocumentStore, GraphStore
from kb_store.proposals import ProposalStore
from kb_store.read import read_knowledge

ATTEMPTS = 5
"""How often a change is made anew because somebody else changed the website meanwhile."""
WAITS_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Between attempts while somebody else is at it: a load takes no longer, unless it is a very large one."""

SHOWN = 160
"""Characters of a value in a message."""


class NothingToChange(Exception):
    """The knowledge does not have what a change is about. `about` names it."""

    def __init__(self, about: str) -> None:
        self.about = about
        super().__init__(f"the knowledge has nothing (any more) for: {about}")


class ScreenMissing(NothingToChange):
    """A transition from or to a screen that is not known (yet). `screen_id` names it."""

    def __init__(self, about: str, screen_id: str) -> None:
        super().__init__(about)
        self.screen_id = screen_id
        self.args = (f"{about}: there is no screen {screen_id!r} (yet)",)


class LearnedWouldBeLost(StoreError):
    """A load without changes that were accepted. `lost` has them, with what the load says instead."""

    def __init__(self, website_id: str, lost: Sequence[tuple[Proposal, Any]]) -> None:
        self.website_id, self.lost = website_id, tuple(lost)
        number = len(self.lost)
        told = "".join(
            f"\n  {each.proposal_id} {each.change.about}: {_short(each.change.said)}, the load says {_short(instead)}"
            for each, instead in self.lost
        )
        super().__init__(
            f"{number} accepted change{'' if number == 1 else 's'} of {website_id!r} would be lost:{told}",
            fix="take them over into the files (`periplus kb export` writes them; `periplus kb diff` shows "
            "them), or load with --replace-learned to give them up",
        )


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


# -- one change, on knowledge in memory ------------------------------------------------------------


def now_said(knowledge: KnowledgeBase, change: Change) -> Any:
    """What the knowledge says where the change would change it, as JSON; None: nothing.

    Raises `NothingToChange` for a screen or an element there is not.
    """
    match change:
        case SelectorChange():
            return _element(knowledge, change).selector.to_json()
        case SignatureChange():
            _screen(knowledge, change)
            signature = knowledge.signatures.get(change.screen_id)
            return None if signature is None else _plain(signature).to_json()
        case ScreenChange():
            return _screen_said(knowledge, change.screen.screen_id)
        case TransitionChange():
            way = knowledge.by_kind.get("transition", {}).get(change.transition.local_id)
            return None if way is None else _named(way, None).to_json()
        case WorkflowChange():
            workflow = knowledge.workflows.get(change.workflow.workflow_id)
            return None if workflow is None else workflow.to_json()


def holds(knowledge: KnowledgeBase, change: Change) -> bool:
    """Whether the knowledge says already what the change would make it say."""
    try:
        said = now_said(knowledge, change)
    except NothingToChange:
        return False
    match change:
        case SelectorChange() | SignatureChange() | ScreenChange() | TransitionChange():
            return bool(said == change.said)
        case WorkflowChange():
            known = {(each.kind, each.local_id): each for each in knowledge.documents()}
            return all(
                (kept := known.get((each.kind, each.local_id))) is not None
                and _named(kept, None) == _named(each, None)
                for each in change.documents
            )


def changed(knowledge: KnowledgeBase, change: Change) -> tuple[KnowledgeBase, tuple[Problem, ...]]:
    """The knowledge with the change made and checked as a load would, and the warnings found.

    Raises `NothingToChange`, and `KnowledgeError` where it would break a rule.
    """
    made = _made(knowledge, change)
    keys = {(document.kind, document.local_id) for document in made}
    rest = [each for each in knowledge.documents() if (each.kind, each.local_id) not in keys]
    return assemble([Sourced(each) for each in (*rest, *made)])


def _made(knowledge: KnowledgeBase, change: Change) -> tuple[Document, ...]:
    """The documents that carry the change."""
    match change:
        case SelectorChange():
            return (_with_selector(knowledge, change),)
        case SignatureChange():
            return (_with_signature(knowledge, change),)
        case ScreenChange():
            return _with_screen(knowledge, change.screen)
        case TransitionChange():
            return (_with_transition(knowledge, change),)
        case WorkflowChange():
            return tuple(_named(each, knowledge.website.website_id) for each in change.documents)


def _named(document: Document, website_id: str | None) -> Document:
    return document.model_copy(update={"website_id": website_id})


def _screen_said(knowledge: KnowledgeBase, screen_id: str) -> Any:
    """A screen with its signature, wherever that is written; None where there is no such screen."""
    screen = knowledge.screens.get(screen_id)
    if screen is None:
        return None
    signature = knowledge.signatures.get(screen_id)
    if isinstance(signature, StateSignature):
        screen = screen.model_copy(update={"state_signature": _plain(signature)})
    return _named(screen, None).to_json()


def _with_screen(knowledge: KnowledgeBase, screen: Screen) -> tuple[Document, ...]:
    """The screen; its signature stays a document of its own where it is one."""
    website_id = knowledge.website.website_id
    own = knowledge.signatures.get(screen.screen_id)
    if isinstance(own, StateSignature) and screen.state_signature is not None:
        signature = own.model_copy(update=dict(screen.state_signature))
        return (_named(screen.model_copy(update={"state_signature": None}), website_id), signature)
    return (_named(screen, website_id),)


def _with_transition(knowledge: KnowledgeBase, change: TransitionChange) -> Document:
    way = change.transition
    missing = [end for end in (way.from_screen, way.to_screen) if end not in knowledge.screens]
    if missing:
        raise ScreenMissing(change.about, missing[0])
    return _named(way, knowledge.website.website_id)


def _with_selector(knowledge: KnowledgeBase, change: SelectorChange) -> Screen | Website:
    _element(knowledge, change)
    screen = _screen(knowledge, change)
    if any(element.element_id == change.element_id for element in screen.ui_elements):
        return screen.model_copy(update={"ui_elements": _replaced(screen.ui_elements, change)})
    website = knowledge.website
    layouts = {
        name: _replaced(elements, change) if name in screen.layouts else elements
        for name, elements in website.layouts.items()
    }
    return website.model_copy(update={"layouts": layouts})


def _replaced(elements: Sequence[UIElement], change: SelectorChange) -> tuple[UIElement, ...]:
    return tuple(
        element.model_copy(update={"selector": change.selector})
        if element.element_id == change.element_id
        else element
        for element in elements
    )


def _with_signature(knowledge: KnowledgeBase, change: SignatureChange) -> Screen | StateSignature:
    screen = _screen(knowledge, change)
    current = knowledge.signatures.get(change.screen_id)
    if isinstance(current, StateSignature):
        return current.model_copy(update=dict(change.signature))
    return screen.model_copy(update={"state_signature": change.signature})


def _plain(signature: Signature) -> Signature:
    """A signature's own fields, without those of the document it may be."""
    return Signature(**{name: getattr(signature, name) for name in Signature.model_fields})


def _screen(knowledge: KnowledgeBase, change: SelectorChange | SignatureChange) -> Screen:
    screen = knowledge.screens.get(change.screen_id)
    if screen is None:
        raise NothingToChange(change.about)
    return screen


def _element(knowledge: KnowledgeBase, change: SelectorChange) -> UIElement:
    element = knowledge.elements(change.screen_id).get(change.element_id)
    if element is None:
        raise NothingToChange(change.about)
    return element


# -- the stored knowledge ----------------------------------------------------------------------------


async def change_stored(
    documents: DocumentStore,
    graph: GraphStore,
    website_id: str,
    make: Callable[[KnowledgeBase], KnowledgeBase],
) -> LoadReport:
    """Make a change of a website's knowledge its next generation; anew where a load came between, or is under way.

    Raises whatever `make` does, and as `read_knowledge` and `load_knowledge` do.
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


class Keeping:
    """The check of a load that nothing accepted is lost with it; `replace` lets it be lost."""

    def __init__(self, proposals: ProposalStore, knowledge: KnowledgeBase, *, replace: bool = False) -> None:
        self._proposals, self._knowledge, self._replace = proposals, knowledge, replace
        self.lost: tuple[Proposal, ...] = ()
        """After the check: what the load gives up."""
        self.taken_over: tuple[Proposal, ...] = ()
        """... and what it says that waited for a decision: whoever wrote it into files has decided."""

    async def __call__(self) -> None:
        """Raises `LearnedWouldBeLost` unless it may be."""
        website_id = self._knowledge.website.website_id
        kept = await self._proposals.proposals(website_id)
        self.lost = _lost(kept, self._knowledge)
        self.taken_over = tuple(
            each for each in kept if each.status == "proposed" and holds(self._knowledge, each.change)
        )
        if self.lost and not self._replace:
            raise LearnedWouldBeLost(website_id, [(each, self._instead(each)) for each in self.lost])

    async def conclude(self) -> None:
        """Once it is loaded: what was given up or taken over is called so, and asked about no more."""
        now = datetime.now(UTC)
        for each in self.lost:
            await self._proposals.decide(each.website_id, each.proposal_id, "replaced", now)
        for each in self.taken_over:
            await self._proposals.decide(each.website_id, each.proposal_id, "accepted", now)

    def _instead(self, proposal: Proposal) -> Any:
        try:
            return now_said(self._knowledge, proposal.change)
        except NothingToChange:
            return None


async def lost_with(proposals: ProposalStore, knowledge: KnowledgeBase) -> tuple[Proposal, ...]:
    """The accepted proposals that this knowledge would not have. Later ones hide earlier ones."""
    return _lost(await proposals.proposals(knowledge.website.website_id), knowledge)


def _lost(proposals: Sequence[Proposal], knowledge: KnowledgeBase) -> tuple[Proposal, ...]:
    newest: dict[str, Proposal] = {}
    for each in proposals:
        if each.status == "accepted":
            known = newest.get(each.change.about)
            if known is None or _decided(known) <= _decided(each):
                newest[each.change.about] = each
    return tuple(each for each in newest.values() if not holds(knowledge, each.change))


def _decided(proposal: Proposal) -> Any:
    return proposal.decided_at or proposal.proposed_at
