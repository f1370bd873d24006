"""What the agent does is reported to the desk, and never in its way."""

from __future__ import annotations

import asyncio

import pytest

from agent.errors import KnowledgeUnavailable, UnknownToKnowledge
from agent.events import EventBus, Recovered, StepEnded, TransitionTaken
from agent.execution.task_runner import TaskRunner
from agent.page import in_page_library
from agent.run_records import outcome_reports
from agent.run_records.outcome_reports import MOST_WAITING, report_outcomes
from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.session_setup import open_session
from tests.chain.conftest import HARBOUR

TAKEN = TransitionTaken("t", "a", "b", arrived=True, duration_ms=120.0)


class Desk:
    """Takes reports, or raises what it is told to."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.taken = []

    async def record_outcome(self, outcome):
        self.taken.append(outcome)
        await asyncio.sleep(0)
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error
        return True


async def test_following_transitions_leaves_numbers_in_the_store(site, context, tmp_path):
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        await in_page_library.install(context)
        async with open_session(stores, context, "harbour", base_url=site.url) as session:
            guide = TaskRunner(session).guide
            for _ in range(2):
                await guide.go_to("boat_new")
                await guide.go_to("quay")
        seen = await stores.learned.transition_stats("harbour")
    assert {name: (each.seen, each.succeeded) for name, each in seen.items()} == {
        "quay_to_new": (2, 2.0),
        "new_to_quay": (2, 2.0),
    }
    assert all(each.mean_ms is not None and each.mean_ms > 0 for each in seen.values())


async def test_every_transition_and_recovery_is_reported_once():
    bus, desk = EventBus(), Desk()
    async with report_outcomes(bus, desk, "run1") as reporter:
        bus.tell(TAKEN)
        bus.tell(StepEnded("task", "step", "done", 5.0))
        bus.tell(TransitionTaken("u", "a", "b", arrived=False, duration_ms=5_000.0))
        bus.tell(Recovered("home", "a", succeeded=True))
        bus.tell(Recovered("default_recovery.1", "a", succeeded=True))
    assert [(o.transition_id or o.recovery_id, o.succeeded, o.duration_ms) for o in desk.taken] == [
        ("t", True, 120.0),
        ("u", False, 5_000.0),
        ("home", True, None),
    ]
    assert len({o.outcome_id for o in desk.taken}) == 3
    assert {o.run_id for o in desk.taken} == {"run1"}
    assert (reporter.counted, reporter.lost) == (3, 0)


async def test_a_desk_that_does_not_answer_is_asked_again_with_the_same_id():
    bus, desk = EventBus(), Desk(KnowledgeUnavailable("gone"), None)
    async with report_outcomes(bus, desk, "run1") as reporter:
        bus.tell(TAKEN)
    assert len(desk.taken) == 2
    assert desk.taken[0] == desk.taken[1]
    assert (reporter.counted, reporter.lost) == (1, 0)


@pytest.mark.parametrize(
    "errors",
    [[UnknownToKnowledge("unknown tool")], [KnowledgeUnavailable("gone"), KnowledgeUnavailable("gone")]],
)
async def test_a_refusal_is_counted_and_goes_no_further(errors):
    bus, desk = EventBus(), Desk(*errors)
    async with report_outcomes(bus, desk, "run1") as reporter:
        bus.tell(TAKEN)
        bus.tell(TAKEN)
    assert (reporter.counted, reporter.lost) == (1, 1)


async def test_a_desk_that_breaks_or_hangs_neither_fails_nor_holds_up_the_run(monkeypatch):
    monkeypatch.setattr(outcome_reports, "DRAIN_S", 0.01)
    bus = EventBus()
    async with report_outcomes(bus, Desk(ZeroDivisionError()), "run1"):
        bus.tell(TAKEN)

    class Hanging:
        async def record_outcome(self, outcome):
            await asyncio.Event().wait()

    async with report_outcomes(bus, Hanging(), "run1"):
        bus.tell(TAKEN)


async def test_reports_of_a_run_that_fails_are_sent_and_its_error_passes():
    bus, desk = EventBus(), Desk()

    async def failing():
        async with report_outcomes(bus, desk, "run1"):
            bus.tell(TAKEN)
            raise LookupError

    with pytest.raises(LookupError):
        await failing()
    assert len(desk.taken) == 1


async def test_reports_a_desk_cannot_keep_up_with_are_dropped_and_nonsense_too():
    bus, desk = EventBus(), Desk()
    async with report_outcomes(bus, desk, "run1") as reporter:
        bus.tell(TransitionTaken("\u0000", "a", "b", arrived=True, duration_ms=1.0))
        for _ in range(MOST_WAITING + 5):
            bus.tell(TAKEN)
    assert reporter.lost == 6
    assert len(desk.taken) == MOST_WAITING


async def test_durations_beyond_reason_are_capped():
    bus, desk = EventBus(), Desk()
    async with report_outcomes(bus, desk, "run1"):
        bus.tell(TransitionTaken("t", "a", "b", arrived=True, duration_ms=1e12))
        bus.tell(TransitionTaken("t", "a", "b", arrived=True, duration_ms=-1.0))
    assert [o.duration_ms for o in desk.taken] == [86_400_000, 0]
