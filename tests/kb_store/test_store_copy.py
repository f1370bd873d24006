"""Copying between stores: all of it, once, and finished by the next copy where one was killed."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema.cached_locators import Locator
from kb_schema.fingerprints import Fingerprint
from kb_schema.observed_outcomes import ElementUse, Outcome
from kb_schema.proposals import Proposal, Support
from kb_schema.run_records import Artifact, Metric, RunEnding, StoredRun, StoredStep
from kb_schema.run_storage import Checkpoint, JournalEntry, StoredEvent
from kb_schema.selectors import css
from kb_store import Stores, load_knowledge, open_stores, read_knowledge
from kb_store.learned.learned_numbers import CountedId, LearnedSubject, merge, tally_of, utc_now
from kb_store.learned.memory_learned_store import MemoryLearnedStore
from kb_store.learned.origin_shares import from_json, split_by_origin, subtract_tally, to_json
from kb_store.proposals.accepted_changes import AcceptedChangesLost
from kb_store.runs.run_store import RunStore
from kb_store.store_copy import RunsCopyReport, copy_learned, copy_runs, copy_website
from kb_store.store_factory import open_runs
from tests.kb_store.sample_knowledge import knowledge_of
from tests.support.arango_loopback import loopback
from tests.support.rotation import rotating

NOW = datetime.now(UTC)
COPIER = Path(__file__).with_name("crashing_copier.py")


@dataclass
class House:
    """A store with everything in it."""

    stores: Stores
    runs: RunStore


@pytest.fixture
async def house(tmp_path, request):
    """Opens houses by name, each empty: `embedded`, `mongodb` or `arangodb` (documents in a file)."""
    async with AsyncExitStack() as stack:
        count = iter(range(100))

        async def opened(kind, folder=None):
            folder = folder or tmp_path / f"{kind}{next(count)}"
            urls = {}
            if kind == "mongodb":
                urls["mongodb_url"] = request.getfixturevalue("mongodb_url")
            if kind == "arangodb":
                urls["arangodb_url"] = stack.enter_context(loopback()).url()
            stores = await stack.enter_async_context(open_stores(folder, **urls))
            runs = await stack.enter_async_context(open_runs(folder, urls.get("mongodb_url")))
            return House(stores, runs)

        yield opened


def outcome(number, about="t_0", *, ok=True, days=0, **more):
    subject = more or {"transition_id": about}
    return Outcome(
        outcome_id=f"o{number}", website_id="shop", succeeded=ok, duration_ms=100 + number if ok else None,
        at=NOW - timedelta(days=days), run_id="r1", **subject,
    )  # fmt: skip


ELEMENT = ElementUse(screen_id="screen_0", element_id="go", strategy="css")
OUTCOMES = [outcome(n, ok=n % 3 != 0, days=n % 9) for n in range(12)] + [
    outcome(20, recovery_id="back"),
    outcome(21, element=ELEMENT, ok=False),
    outcome(22, "t_1"),
]
PROPOSAL = Proposal.model_validate(
    {
        "proposal_id": "p1", "website_id": "shop", "proposed_at": NOW,
        "change": {"type": "selector", "screen_id": "screen_0", "element_id": "go",
                   "selector": {"strategies": [{"type": "css", "value": "#gone"}]}},
    }
)  # fmt: skip
ENDING = RunEnding(status="success", evidence="verified", finished_at=NOW, duration_ms=5.0,
                   outputs={"total": "12.50"}, heal_rounds=1, rca_class="timing")  # fmt: skip


def run_of(run_id, **more):
    said = {"url": "http://h", "website_id": "shop", "kind": "task", "subject": "order", "started_at": NOW}
    return StoredRun.model_validate({"run_id": run_id, **said, **more})


async def furnish(house):
    """Knowledge, learned numbers, a proposal, a run that ended, one that goes on, one of another site."""
    await load_knowledge(house.stores.documents, house.stores.graph, knowledge_of())
    await house.stores.learned.record(OUTCOMES)
    await house.stores.proposals.support(
        PROPOSAL, Support.model_validate({"run_id": "r1", "succeeded": True, "at": NOW})
    )
    await house.stores.proposals.support(PROPOSAL.model_copy(update={"proposal_id": "p2"}), None)
    await house.stores.proposals.decide("shop", "p2", "rejected", NOW.replace(microsecond=0))
    await house.stores.proposals.put_fingerprint(
        "shop", "screen_0", "go", Fingerprint(tag="button", text="Go")
    )
    for run_id, site in (("r1", "shop"), ("r2", "shop"), ("x1", "bakery")):
        await house.runs.begin_run(run_of(run_id, website_id=site))
        for index in range(3):
            await house.runs.append_step(
                StoredStep(run_id=run_id, step_idx=index, action="click", status="success", executed_at=NOW,
                           task_id="order", step_id=f"s{index}", duration_ms=1.5)
            )  # fmt: skip
        await house.runs.put_artifact(
            Artifact(run_id=run_id, name="film", artifact_type="film", file_path="/f", file_hash="0" * 64,
                     size_bytes=3, created_at=NOW)
        )  # fmt: skip
        await house.runs.add_metric(Metric(run_id=run_id, metric_name="m", metric_value=2.5, recorded_at=NOW))
        await house.runs.begin_action(JournalEntry(run_id=run_id, key="k", action="click", begun_at=NOW))
        await house.runs.conclude_action(run_id, "k", "happened")
        await house.runs.put_checkpoint(Checkpoint(run_id=run_id, state={"at": 2}, created_at=NOW))
        await house.runs.append_events(
            [StoredEvent(run_id=run_id, seq=n, type="step", data={"n": n}, at=NOW) for n in range(2)]
        )
    await house.runs.finish_run("r1", ENDING)
    await house.runs.count_heal("r1", "#go")
    await house.runs.put_locator(
        Locator(website_id="shop", url="u", element="e", selector=css("#x"), confidence=0.5)
    )


async def contents(house):
    """Everything that is to be the same after a copy."""
    stores, runs = house.stores, house.runs
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
    of_runs = {}
    for run in await runs.runs_by_id():
        journal = [
            entry.model_copy(update={"concluded_at": None}) for entry in await runs.journal(run.run_id)
        ]
        of_runs[run.run_id] = (
            run, *[list(await ask(run.run_id)) for ask in (
                runs.steps, runs.artifacts, runs.metrics, runs.checkpoints, runs.events)], journal,
        )  # fmt: skip
    return {
        "knowledge": list(knowledge.documents()),
        "transitions": await stores.learned.transition_stats("shop"),
        "recoveries": await stores.learned.recovery_stats("shop"),
        "elements": await stores.learned.element_stats("shop"),
        "ids": {each.outcome_id async for each in stores.learned.counted_ids("shop")},
        "proposals": list(await stores.proposals.proposals("shop")),
        "fingerprints": dict(await stores.proposals.fingerprints("shop")),
        "runs": of_runs,
    }


async def copy(old, new):
    return await copy_website(old.stores, new.stores, "shop"), await copy_runs(old.runs, new.runs)


@pytest.mark.parametrize("by", ["mongodb", "arangodb", "embedded"])
async def test_everything_goes_there_and_back(house, by):
    start, middle, end = await house("embedded"), await house(by), await house("embedded")
    await furnish(start)
    there = await contents(start)
    website, runs = await copy(start, middle)
    assert (website.loaded, website.numbers, website.outcomes, website.proposals) == (True, 4, 15, 2)
    assert runs == RunsCopyReport(copied=3, known=0)
    assert await contents(middle) == there
    await copy(middle, end)
    assert await contents(end) == there
    assert await start.runs.locator("shop", "u", "e") is not None
    assert await end.runs.locator("shop", "u", "e") is None  # it builds itself up again
    assert (await start.runs.heals("r1", "#go"), await end.runs.heals("r1", "#go")) == (1, 0)
    # An outcome that is sent again, to whichever store, was counted before.
    for each in (start, middle, end):
        told = await each.stores.learned.record([OUTCOMES[0]])
        assert told.repeated == ("o0",)


@pytest.mark.parametrize("kind", ["mongodb", "arangodb", "embedded"])
async def test_a_second_copy_changes_nothing(house, kind):
    old, new = await house("embedded"), await house(kind)
    await furnish(old)
    await copy(old, new)
    there, revision = await contents(new), await new.stores.learned.revision("shop")
    website, runs = await copy(old, new)
    assert not website.changed
    assert (website.generation, runs) == (1, RunsCopyReport(copied=0, known=3))
    assert await contents(new) == there
    assert await new.stores.learned.revision("shop") == revision


@pytest.mark.parametrize("kind", ["mongodb", "arangodb", "embedded"])
async def test_what_both_stores_went_on_to_learn_adds_up_and_counts_once(house, kind):
    one, other = await house("embedded"), await house(kind)
    await furnish(one)
    await copy(one, other)
    await one.stores.learned.record([outcome(100), outcome(101, "t_3")])
    await other.stores.learned.record([outcome(200, ok=False), outcome(201, "t_2")])
    for _ in range(2):
        await copy_learned(one.stores.learned, other.stores.learned, "shop")
        await copy_learned(other.stores.learned, one.stores.learned, "shop")
    every = MemoryLearnedStore()
    await every.record(
        [*OUTCOMES, outcome(100), outcome(101, "t_3"), outcome(200, ok=False), outcome(201, "t_2")]
    )
    expected = await every.transition_stats("shop")
    for house_ in (one, other):
        found = await house_.stores.learned.transition_stats("shop")
        assert found.keys() == expected.keys()
        for name, numbers in found.items():
            assert numbers.model_dump() == pytest.approx(expected[name].model_dump())


async def test_copied_numbers_are_noticed_by_servers_that_run(house):
    old, new = await house("embedded"), await house("mongodb")
    await furnish(old)
    first = await new.stores.learned.read("shop")
    before = await new.stores.learned.revision("shop")
    await copy_learned(old.stores.learned, new.stores.learned, "shop")
    assert await new.stores.learned.revision("shop") != before
    second = await new.stores.learned.read("shop", first.mark)
    assert (second.whole, set(second.transitions), set(second.recoveries)) == (
        False,
        {"t_0", "t_1"},
        {"back"},
    )


async def test_what_was_forgotten_and_learned_anew_is_not_taken_for_the_old(house):
    old, new = await house("embedded"), await house("embedded")
    await furnish(old)
    await copy(old, new)
    await old.stores.learned.forget("shop", [LearnedSubject("transition", "t_0")])
    await old.stores.learned.record([outcome(300)])
    await copy_learned(old.stores.learned, new.stores.learned, "shop")
    assert (await new.stores.learned.transition_stats("shop"))["t_0"].seen == 13


async def test_edges_in_arangodb_are_weighed_by_what_is_copied(house):
    old, new = await house("embedded"), await house("arangodb")
    await furnish(old)
    await copy(old, new)
    from kb_store.arangodb import aql  # noqa: PLC0415

    rows = await new.stores.graph.connection.query(
        aql.PAGE, c_collection="transitions", website="shop", generation=1, after="", page=500
    )
    (edge,) = (row for row in rows if row["local_id"] == "t_0")
    seen = (await new.stores.learned.transition_stats("shop"))["t_0"]
    believed = (0.9 * 10 + seen.succeeded) / (10 + seen.succeeded + seen.failed)
    assert edge["reliability"] == pytest.approx(believed)
    assert edge["weight_fastest"] == pytest.approx(seen.mean_ms)


async def test_only_what_the_target_lacks_of_a_run_that_went_on_is_copied(house):
    old, new = await house("embedded"), await house("mongodb")
    await furnish(old)
    await copy(old, new)
    assert (await new.runs.run("r2")).status is None
    await old.runs.append_step(
        StoredStep(run_id="r2", step_idx=3, action="click", status="failed", executed_at=NOW, task_id="order",
                   step_id="s3", duration_ms=1)
    )  # fmt: skip
    await old.runs.finish_run("r2", ENDING)
    assert await copy_runs(old.runs, new.runs) == RunsCopyReport(copied=1, known=2)
    assert await contents(new) == await contents(old)


async def test_runs_of_some_websites_only(house):
    old, new = await house("embedded"), await house("embedded")
    await furnish(old)
    assert await copy_runs(old.runs, new.runs, ["bakery"]) == RunsCopyReport(copied=1)
    assert [run.run_id for run in await new.runs.runs_by_id()] == ["x1"]


async def test_changes_that_only_the_target_accepted_are_not_lost_with_a_copy(house):
    old, new = await house("embedded"), await house("embedded")
    await furnish(old)
    await new.stores.proposals.support(PROPOSAL, None)
    await new.stores.proposals.decide("shop", "p1", "accepted", NOW)
    with pytest.raises(AcceptedChangesLost, match="1 accepted change of 'shop' would be lost"):
        await copy_website(old.stores, new.stores, "shop")
    assert await new.stores.documents.active("shop") is None
    assert (await copy_website(old.stores, new.stores, "shop", replace_learned=True)).loaded


async def test_an_element_that_the_target_has_seen_itself_is_known_by_that(house):
    old, new = await house("embedded"), await house("mongodb")
    await furnish(old)
    await new.stores.proposals.put_fingerprint("shop", "screen_0", "go", Fingerprint(tag="a"))
    assert (await copy_website(old.stores, new.stores, "shop")).fingerprints == 0
    found = await new.stores.proposals.fingerprints("shop")
    assert dict(found) == {("screen_0", "go"): Fingerprint(tag="a")}


async def test_what_was_decided_since_the_last_copy_comes_along(house):
    old, new = await house("embedded"), await house("mongodb")
    await furnish(old)
    await copy(old, new)
    await old.stores.proposals.decide("shop", "p1", "rejected", NOW)
    assert (await copy_website(old.stores, new.stores, "shop")).proposals == 1
    assert (await new.stores.proposals.proposal("shop", "p1")).status == "rejected"


# -- killed at any moment


async def killed_at(moment, source, target):
    """Copies in a process of its own that dies at its nth write to the target."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, COPIER, source, target, str(moment), cwd=COPIER.parents[2],
        env={"PYTHONPATH": str(COPIER.parents[2])}, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, error = await process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), error.decode()
    return process.returncode != 0


@pytest.mark.parametrize("moment", rotating("killed copies", range(1, 41), 2))
async def test_a_copy_that_was_killed_at_any_write_is_finished_by_the_next(tmp_path, house, moment):
    source, target = tmp_path / "source", tmp_path / "target"
    old = await house("embedded", source)
    await furnish(old)
    assert await killed_at(moment, source, target)
    new = await house("embedded", target)
    await copy(old, new)
    assert await contents(new) == await contents(old)
    active = await new.stores.documents.active("shop")
    assert await new.stores.documents.generations("shop") == {active.generation}


# -- the mathematics


def tallies(numbers):
    found = None
    for number, ok, days in numbers:
        new = tally_of(outcome(number, ok=ok, days=days), NOW)
        found = new if found is None else merge(found, new)
    return found


SOME = st.lists(st.tuples(st.integers(0, 10_000), st.booleans(), st.integers(0, 29)), min_size=1, max_size=8)


@given(SOME, SOME)
def test_taking_away_undoes_adding(one, other):
    part, whole = tallies(one), merge(tallies(one), tallies(other))
    rest = subtract_tally(whole, part)
    expected = merge(tallies(other), replace(part, succeeded=0, failed=0, seen=0, timed=0, timed_weight=0,
                                             timed_sum=0, buckets={}))  # fmt: skip
    assert (rest.day, rest.seen, rest.timed) == (expected.day, expected.seen, expected.timed)
    for name in ("succeeded", "failed", "timed_weight", "timed_sum"):
        assert getattr(rest, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-9)
    assert {at: w for at, w in rest.buckets.items() if w > 1e-9} == pytest.approx(dict(expected.buckets))


@given(SOME)
def test_a_tally_is_kept_as_it_was(one):
    assert from_json(to_json(tallies(one))) == tallies(one)


WORK = st.lists(
    st.one_of(
        st.tuples(st.just("count"), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("copy"), st.integers(0, 2), st.integers(0, 2)),
    ),
    max_size=25,
)


@given(WORK)
@settings(max_examples=60, deadline=None)
async def test_however_three_stores_are_copied_to_each_other_every_outcome_counts_once(work):
    stores, every = [MemoryLearnedStore() for _ in range(3)], MemoryLearnedStore()
    for number, (what, at, more) in enumerate(work):
        if what == "count":
            sent = outcome(number, ok=more)
            await stores[at].record([sent])
            await every.record([sent])
        elif at != more:
            await copy_learned(stores[at], stores[more], "shop")
    for _ in range(2):
        for old in stores:
            for new in stores:
                if old is not new:
                    await copy_learned(old, new, "shop")
    expected = await every.transition_stats("shop")
    for store in stores:
        found = await store.transition_stats("shop")
        assert {name: each.model_dump() for name, each in found.items()} == {
            name: pytest.approx(each.model_dump()) for name, each in expected.items()
        }
        kept = [each async for each in store.tallies("shop")]
        assert all(
            sum(share.seen for share in split_by_origin(each).values()) == each.tally.seen for each in kept
        )


@pytest.mark.parametrize("kind", ["embedded", "mongodb", "arangodb"])
async def test_ids_that_ran_out_are_not_copied(house, kind):
    store = (await house(kind)).stores.learned
    ids = [
        CountedId("gone", utc_now() - timedelta(seconds=1)),
        CountedId("good", utc_now() + timedelta(days=1)),
    ]
    assert [await store.remember("shop", ids), await store.remember("shop", ids)] == [2, 0]
    assert [each.outcome_id async for each in store.counted_ids("shop")] == ["good"]
