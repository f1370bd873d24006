"""Copies the websites of a store to another one: knowledge, learned numbers, proposals, runs.

Every part may be copied again: existing records stay and count once. So the next copy finishes an interrupted
one, and two stores may be copied to each other. Writes are ordered so that nothing looks complete before it
is: knowledge by the single commit of a load, ids of outcomes before their counts, a run's end after all its
records.

`NOT_COPIED` names what is not copied.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass
from typing import Literal, TypeVar

from kb_schema import KnowledgeBase, KnowledgeError
from kb_schema.run_records import RunEnding, StoredRun
from kb_store.errors import GenerationGone, NoSuchWebsite, StoreCorrupt
from kb_store.knowledge_loader import LoadProgress, load_knowledge
from kb_store.knowledge_reader import read_knowledge
from kb_store.learned.learned_numbers import LearnedStore
from kb_store.learned.origin_shares import split_by_origin
from kb_store.proposals.accepted_changes import AcceptedChangesCheck
from kb_store.proposals.proposal_store import ProposalStore
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import Stores

BATCH = 200
"""Learned numbers per transaction."""

EVENTS = 1_000
"""The number of a run's events read at a time."""

NOT_COPIED = ("locators", "heal_counters", "rates", "run_leases", "lessons", "kept_values")
"""Collections that are not copied: their content is temporary and rebuilt.

A locator is where an element was a moment ago, and the target's own are newer; counters and leases belong to
running runs, which continue where they are. Kept values are read by the digest of an account, which a copy does not know.
"""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoreCopyProgress:
    """The progress of a copy. `total` 0: not known before the end."""

    part: Literal["knowledge", "learned", "proposals", "runs"]
    done: int
    total: int = 0


OnProgress = Callable[[StoreCopyProgress], None]


@dataclass(frozen=True, slots=True)
class WebsiteCopyReport:
    """What copying one website changed in the target."""

    website_id: str
    generation: int
    """The active generation of the target afterwards."""
    loaded: bool
    """False: the target had the same knowledge."""
    documents: int
    """Documents and edges of the knowledge."""
    numbers: int = 0
    """Learned numbers that are new or newer in the target."""
    outcomes: int = 0
    """Outcomes that were unknown to the target and that it will not count again."""
    proposals: int = 0
    """Proposals that are new or newly decided in the target."""
    fingerprints: int = 0
    """Elements whose fingerprint is new in the target."""

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return self.loaded or self.numbers + self.outcomes + self.proposals + self.fingerprints > 0


@dataclass(frozen=True, slots=True)
class RunsCopyReport:
    """The result of copying runs."""

    copied: int = 0
    known: int = 0
    """Runs that the target had already; they are unchanged."""


async def copy_website(
    old: Stores,
    new: Stores,
    website_id: str,
    *,
    replace_learned: bool = False,
    on_progress: OnProgress = lambda _: None,
) -> WebsiteCopyReport:
    """Copy everything of one website except its runs. The old stores are only read.

    Raises `NoSuchWebsite` if the old ones do not have it, `LearnedWouldBeLost` if the new ones accepted
    changes that the knowledge lacks (unless they may be replaced), and the errors of `load_knowledge`.
    """
    knowledge, _ = await read_knowledge(old.documents, old.graph, website_id)
    generation = await _generation_with(new, knowledge)
    loaded = generation is None
    if generation is None:

        def tell(progress: LoadProgress) -> None:
            on_progress(StoreCopyProgress("knowledge", progress.written, progress.total))

        keeping = AcceptedChangesCheck(new.proposals, knowledge, replace=replace_learned)
        report = await load_knowledge(new.documents, new.graph, knowledge, on_progress=tell, check=keeping)
        await keeping.conclude()
        generation = report.generation
    outcomes, numbers = await copy_learned(old.learned, new.learned, website_id, on_progress=on_progress)
    return WebsiteCopyReport(
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
    """Copy a website's learned numbers, after the ids of their outcomes; return how many of each were new.

    Outcomes counted in the old store meanwhile may be missing; the next copy brings them.
    """
    await new.prepare()
    outcomes = numbers = done = 0
    async for ids in _batches(old.counted_ids(website_id)):
        outcomes += await new.remember(website_id, ids)
        done += len(ids)
        on_progress(StoreCopyProgress("learned", done))
    async for batch in _batches(old.tallies(website_id)):
        numbers += await new.carry(website_id, {kept.subject: split_by_origin(kept) for kept in batch})
        done += len(batch)
        on_progress(StoreCopyProgress("learned", done))
    return outcomes, numbers


async def copy_proposals(
    old: ProposalStore, new: ProposalStore, website_id: str, *, on_progress: OnProgress = lambda _: None
) -> int:
    """Copy a website's proposals with their supports; return how many were new or newly decided.

    A proposal decided in both keeps its decision in the new store.
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
        on_progress(StoreCopyProgress("proposals", done, len(proposals)))
    return changed


async def copy_fingerprints(old: ProposalStore, new: ProposalStore, website_id: str) -> int:
    """Copy the fingerprints of a website's elements; return how many were new.

    If both have an element, the new store keeps its own.
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
) -> RunsCopyReport:
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
            on_progress(StoreCopyProgress("runs", copied + known))
    return RunsCopyReport(copied, known)


# -- knowledge and learned numbers ---------------------------------------------------------------


async def _generation_with(stores: Stores, knowledge: KnowledgeBase) -> int | None:
    """Return the active generation if it has this same knowledge."""
    website_id = knowledge.website.website_id
    try:
        found, generation = await read_knowledge(stores.documents, stores.graph, website_id)
    except (NoSuchWebsite, StoreCorrupt, GenerationGone, KnowledgeError):  # loading repairs all of it
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
    """Copy a run; return whether anything of it was new."""
    ending = _ending_of(run)
    changed = await new.begin_run(run if ending is None else _as_started(run))
    changed |= await _copy_permanent_records(old, new, run.run_id)
    changed |= await _copy_expiring_records(old, new, run.run_id)
    if ending is not None and (there is None or there.status is None):
        changed |= await new.finish_run(run.run_id, ending)
    return changed


async def _copy_permanent_records(old: RunStore, new: RunStore, run_id: str) -> bool:
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


async def _copy_expiring_records(old: RunStore, new: RunStore, run_id: str) -> bool:
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
    """Return how it ended; None if it is going on, or was killed."""
    if run.status is None or run.finished_at is None:
        return None
    return RunEnding.model_validate({name: getattr(run, name) for name in RunEnding.model_fields})


def _as_started(run: StoredRun) -> StoredRun:
    """Return the run as it was before its end."""
    own = {name: field.default for name, field in StoredRun.model_fields.items()}
    unsaid = {name: own[name] for name in RunEnding.model_fields if name != "outputs"}
    return run.model_copy(update={**unsaid, "outputs": {}, "verdict": None})
