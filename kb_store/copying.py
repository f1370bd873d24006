"""Everything a store holds of its websites, copied to another: knowledge, what was learned, proposals, runs.

Every part may be copied again: what is there already stays as it is and counts once, so a copy that
was killed is finished by the next one, and two stores may be copied to each other. Whoever copies
writes in an order in which nothing is taken for whole before it is: knowledge by the one commit of a
load, the ids of outcomes before the counts they are in, a run's end after all that belongs to it.

Not copied is what `NOT_COPIED` names.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass
from typing import Literal, TypeVar

from kb_schema import KnowledgeBase, KnowledgeError
from kb_schema.runs import RunEnding, StoredRun
from kb_store.changing import Keeping
from kb_store.errors import GenerationGone, NoSuchWebsite, StoreCorrupt
from kb_store.learned import LearnedStore
from kb_store.learned_shares import shares_of
from kb_store.load import LoadProgress, load_knowledge
from kb_store.opening import Stores
from kb_store.proposals import ProposalStore
from kb_store.read import read_knowledge
from kb_store.runs import RunStore

BATCH = 200
"""Learned numbers per transaction."""

EVENTS = 1_000
"""Events of a run read at a time."""

NOT_COPIED = ("locators", "heal_counters", "rates", "run_leases", "lessons")
"""Collections that stay behind: what is in them lives for a while only and builds itself up again.

A locator is where an element was on the pages of a moment ago, and the target's own are newer; counters
and leases are of runs that go on, and those go on where they are.
"""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """Where a copy is. `total` 0: not known before the end."""

    part: Literal["knowledge", "learned", "proposals", "runs"]
    done: int
    total: int = 0


OnProgress = Callable[[CopyProgress], None]


@dataclass(frozen=True, slots=True)
class WebsiteCopied:
    """What copying one website changed in the target."""

    website_id: str
    generation: int
    """The active one of the target afterwards."""
    loaded: bool
    """False: it had this very knowledge."""
    documents: int
    """Documents and edges of the knowledge."""
    numbers: int = 0
    """Learned numbers of transitions, recoveries and elements that are new or newer there."""
    outcomes: int = 0
    """Outcomes it did not know, which it will not count again."""
    proposals: int = 0
    """Proposals that are new there, or were decided."""
    fingerprints: int = 0
    """Elements of which nothing was known there."""

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return self.loaded or self.numbers + self.outcomes + self.proposals + self.fingerprints > 0


@dataclass(frozen=True, slots=True)
class RunsCopied:
    """What copying runs did."""

    copied: int = 0
    known: int = 0
    """Runs the target had already, as they are."""


async def copy_website(
    old: Stores,
    new: Stores,
    website_id: str,
    *,
    replace_learned: bool = False,
    on_progress: OnProgress = lambda _: None,
) -> WebsiteCopied:
    """All of one website but its runs. The old stores are only read.

    Raises `NoSuchWebsite` where the old ones do not have it, `LearnedWouldBeLost` where the new ones
    accepted changes that the knowledge lacks (unless they may be replaced), and as `load_knowledge`.
    """
    knowledge, _ = await read_knowledge(old.documents, old.graph, website_id)
    generation = await _generation_with(new, knowledge)
    loaded = generation is None
    if generation is None:

        def tell(progress: LoadProgress) -> None:
            on_progress(CopyProgress("knowledge", progress.written, progress.total))

        keeping = Keeping(new.proposals, knowledge, replace=replace_learned)
        report = await load_knowledge(new.documents, new.graph, knowledge, on_progress=tell, check=keeping)
        await keeping.conclude()
        generation = report.generation
    outcomes, numbers = await copy_learned(old.learned, new.learned, website_id, on_progress=on_progress)
    return WebsiteCopied(
        website_id,
        generation,
        loaded,
        documents=sum(len(each) for each in knowledge.by_kind.values()),
        numbers=numbers,
        outcomes=outcomes,
        proposals=await copy_proposals(old.proposals, new.proposals, website_id, on_progress=on_progress),
        fingerprints=await copy_fingerprints(old.proposals, new.proposals, website_id),
    )


async def copy_learned(
    old: LearnedStore, new: LearnedStore, website_id: str, *, on_progress: OnProgress = lambda _: None
) -> tuple[int, int]:
    """A website's learned numbers, after the ids of outcomes that are in them; how many were new of each.

    Outcomes counted in the old store meanwhile may or may not come along; the next copy brings the rest.
    """
    await new.prepare()
    outcomes = numbers = done = 0
    async for ids in _batches(old.counted_ids(website_id)):
        outcomes += await new.remember(website_id, ids)
        done += len(ids)
        on_progress(CopyProgress("learned", done))
    async for batch in _batches(old.kept(website_id)):
        numbers += await new.carry(website_id, {kept.subject: shares_of(kept) for kept in batch})
        done += len(batch)
        on_progress(CopyProgress("learned", done))
    return outcomes, numbers


async def copy_proposals(
    old: ProposalStore, new: ProposalStore, website_id: str, *, on_progress: OnProgress = lambda _: None
) -> int:
    """A website's proposals with what runs said of them; how many were new, or decided by this.

    What was decided in both is left as it is in the new store.
    """
    await new.prepare()
    proposals, changed = await old.proposals(website_id), 0
    for done, proposal in enumerate(proposals, 1):
        there = await new.proposal(website_id, proposal.proposal_id)
        undecided = {"supports": (), "status": "proposed", "decided_at": None}
        await new.support(proposal.model_copy(update=undecided), None)
        for support in proposal.supports:
            await new.support(proposal, support)
        if proposal.decided_at is not None and (there is None or there.status == "proposed"):
            await new.decide(website_id, proposal.proposal_id, proposal.status, proposal.decided_at)
        if there is None or await new.proposal(website_id, proposal.proposal_id) != there:
            changed += 1
        on_progress(CopyProgress("proposals", done, len(proposals)))
    return changed


async def copy_fingerprints(old: ProposalStore, new: ProposalStore, website_id: str) -> int:
    """What a website's elements are known by; how many were not known in the new store.

    Where both know an element, the new store has seen it itself: that stays.
    """
    known, copied = await new.fingerprints(website_id), 0
    for (screen_id, element_id), fingerprint in (await old.fingerprints(website_id)).items():
        if (screen_id, element_id) not in known:
            copied += await new.put_fingerprint(website_id, screen_id, element_id, fingerprint)
    return copied


async def copy_runs(
    old: RunStore,
    new: RunStore,
    websites: Collection[str] | None = None,
    *,
    on_progress: OnProgress = lambda _: None,
) -> RunsCopied:
    """The runs of these websites, or all there are, with what belongs to them.

    In the new store a run goes on until all of it is there: one that was copied in part is found, and
    finished, by the next copy, and swept like any run that was killed if there is none. Checkpoints
    and events live on for a day from now.
    """
    copied = known = 0
    for website_id in [None] if websites is None else sorted(websites):
        async for run in _runs(old, website_id):
            there = await new.run(run.run_id)
            if there == run and run.status is not None:
                known += 1
            elif await _copy_run(old, new, run, there):
                copied += 1
            else:
                known += 1
            on_progress(CopyProgress("runs", copied + known))
    return RunsCopied(copied, known)


# -- knowledge and what was learned --------------------------------------------------------------


async def _generation_with(stores: Stores, knowledge: KnowledgeBase) -> int | None:
    """The active generation, where it has this very knowledge."""
    website_id = knowledge.website.website_id
    try:
        found, generation = await read_knowledge(stores.documents, stores.graph, website_id)
    except (NoSuchWebsite, StoreCorrupt, GenerationGone, KnowledgeError):  # loading mends all of it
        return None
    return generation if dict(found.by_kind) == dict(knowledge.by_kind) else None


async def _batches(items: AsyncIterator[T]) -> AsyncIterator[list[T]]:
    batch: list[T] = []
    async for item in items:
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


# -- runs ----------------------------------------------------------------------------------------


async def _runs(store: RunStore, website_id: str | None) -> AsyncIterator[StoredRun]:
    after = ""
    while page := await store.runs_by_id(website_id=website_id, after=after):
        for run in page:
            yield run
        after = page[-1].run_id


async def _copy_run(old: RunStore, new: RunStore, run: StoredRun, there: StoredRun | None) -> bool:
    """Whether anything of the run was new."""
    ending = _ending_of(run)
    changed = await new.begin_run(run if ending is None else _begun(run))
    changed |= await _copy_for_good(old, new, run.run_id)
    changed |= await _copy_for_a_while(old, new, run.run_id)
    if ending is not None and (there is None or there.status is None):
        changed |= await new.finish_run(run.run_id, ending)
    return changed


async def _copy_for_good(old: RunStore, new: RunStore, run_id: str) -> bool:
    changed = False
    for step in await old.steps(run_id):
        changed |= await new.append_step(step)
    artifacts = {artifact.name: artifact for artifact in await new.artifacts(run_id)}
    for artifact in await old.artifacts(run_id):
        known = artifacts.get(artifact.name)
        if known is None or known.created_at < artifact.created_at:
            await new.put_artifact(artifact)
            changed = True
    for metric in await old.metrics(run_id):
        changed |= await new.add_metric(metric)
    keys = {entry.key for entry in await new.journal(run_id)}
    for entry in await old.journal(run_id):
        changed |= entry.key not in keys
        begun = await new.begin_action(entry)
        if entry.outcome is not None and begun.outcome is None:
            changed |= await new.conclude_action(run_id, entry.key, entry.outcome)
    return changed


async def _copy_for_a_while(old: RunStore, new: RunStore, run_id: str) -> bool:
    changed = False
    for checkpoint in await old.checkpoints(run_id):
        known = await new.checkpoint(run_id, checkpoint.name)
        if known is None or known.created_at < checkpoint.created_at:
            await new.put_checkpoint(checkpoint)
            changed = True
    after = -1
    while events := await old.events(run_id, after=after, limit=EVENTS):
        await new.append_events(events)
        after = events[-1].seq
    return changed


def _ending_of(run: StoredRun) -> RunEnding | None:
    """How it ended; None where it goes on, or was killed."""
    if run.status is None or run.finished_at is None:
        return None
    return RunEnding.model_validate({name: getattr(run, name) for name in RunEnding.model_fields})


def _begun(run: StoredRun) -> StoredRun:
    """The run as it was before its end."""
    own = {name: field.default for name, field in StoredRun.model_fields.items()}
    unsaid = {name: own[name] for name in RunEnding.model_fields if name != "outputs"}
    return run.model_copy(update={**unsaid, "outputs": {}, "verdict": None})
