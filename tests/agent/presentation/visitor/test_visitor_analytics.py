"""What a run keeps of its visitor: sums for the owner, words only where the owner wants them, for some days."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agent.events import Event, EventBus
from agent.presentation.narration.bridging_speech import Bridged
from agent.presentation.presentation_records import (
    Answered,
    CaptionShown,
    Declined,
    Interested,
    Narrated,
    SegmentEnded,
    SegmentStarted,
    SegmentStatus,
    Understood,
    VisitorIntroduced,
)
from agent.presentation.turn_manager import Heard, PaceChanged, SpeechStopped
from agent.presentation.visitor.visitor_analytics import PersonalDataListener, summarize_visit
from agent.run_context import RunContext
from agent.run_records.run_log import RunLog, build_run_record
from kb_schema.run_records import RunEnding
from kb_schema.run_storage import EVENT_TTL_S
from kb_store.sqlite.database import SqliteDatabase
from kb_store.sqlite.run_store import SqliteRunStore

NAME = "Philippa Okonkwo"
QUESTION = "does it ring my grandmother in Lagos at night"
DAY = 86_400.0
RETENTION_S = 30 * DAY

TOLD: list[Event] = [
    SegmentStarted("intro", "Hello", 1, 3, None),
    Heard(f"my name is {NAME}", "text", 1.0),
    SpeechStopped(0.1),
    Understood("introduce", f"my name is {NAME}", f"Name: {NAME}"),
    VisitorIntroduced(NAME),
    Narrated(f"Nice to meet you, {NAME}.", 2.0),
    SegmentEnded("intro", SegmentStatus.SHOWN),
    Heard(QUESTION, "voice", 3.0),
    SpeechStopped(0.3),
    Understood("question", QUESTION, f"Question: {QUESTION}"),
    Answered(QUESTION, f"You asked: {QUESTION}. It does.", ("Campaigns",)),
    Narrated(f"You asked: {QUESTION}. It does.", 4.0),
    Heard("what of my parrot and his phone?", "text", 5.0),
    Declined("what of my parrot and his phone?", "no_answer"),
    Interested("campaigns"),
    PaceChanged(0.8),
    SegmentStarted("extra", "More", 2, 3, None),
    SegmentEnded("extra", SegmentStatus.SKIPPED, f"{NAME} did not want it"),
    Bridged("trouble", "One moment."),
    SegmentStarted("last", "Last", 3, 3, None),
]
PRIVATE = (NAME, "Philippa", "grandmother", "parrot")


class _Clock:
    def __init__(self) -> None:
        self.now = datetime.now(UTC).timestamp()

    def __call__(self) -> float:
        return self.now


class _Kept:
    """A run that was kept, with its store on a disk."""

    def __init__(self, folder, retention_days: float = 0.0) -> None:
        self.folder, self.clock = folder, _Clock()
        self.store = SqliteRunStore(SqliteDatabase(folder / "knowledge.sqlite3"), now=self.clock)
        self.context, self.bus = RunContext(), EventBus()
        self.context.personal.retention_days = retention_days

    async def run(self, *told: Event) -> None:
        await self.store.prepare()
        run = build_run_record(self.context, website_id="w", url="http://h", kind="demo", subject="flow")
        log = RunLog(self.store, run, self.context, lasting_s=RETENTION_S)
        await log.begin()
        self.bus.listen(PersonalDataListener(self.context.personal))
        self.bus.listen(log)
        for event in told:
            self.bus.tell(event)
        await log.finish(
            RunEnding.model_validate(
                {
                    "status": "success", "evidence": "unverified", "finished_at": datetime.now(UTC),
                    "duration_ms": 1, "outputs": {"caller": NAME}, "error": f"{NAME} left",
                }
            )
        )  # fmt: skip

    async def visit(self):
        return summarize_visit(await self.store.events(self.context.run_id))

    def on_disk(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())


@pytest.fixture
async def kept(tmp_path):
    opened: list[_Kept] = []

    async def make(retention_days: float = 0.0) -> _Kept:
        one = _Kept(tmp_path, retention_days)
        opened.append(one)
        await one.run(*TOLD)
        return one

    yield make
    for one in opened:
        await one.store.close()


async def test_by_default_nothing_that_a_visitor_said_is_on_disk(kept):
    run = await kept()
    await run.store.close()  # the log beside the file is written back
    disk = run.on_disk()
    assert b"segment_started" in disk  # it is the right place to look at
    assert [word for word in PRIVATE if word.encode() in disk] == []


async def test_a_visit_is_summed_up_without_words(kept):
    visit = await (await kept()).visit()
    assert [(s.segment_id, s.status) for s in visit.segments] == [
        ("intro", "shown"), ("extra", "skipped"), ("last", "started"),
    ]  # fmt: skip
    assert [(q.answered, q.words, q.reason, q.sources) for q in visit.questions] == [
        (True, None, "", ("Campaigns",)), (False, None, "no_answer", ()),
    ]  # fmt: skip
    assert visit.requests == {"introduce": 1, "question": 1}
    assert visit.interests == {"campaigns": True}
    assert (visit.interruptions, visit.stopped_after_s) == (2, [0.1, 0.3])
    assert (visit.paces, visit.bridged) == ([0.8], 1)
    assert (visit.introduced, visit.name, visit.came) == (True, None, True)
    assert len(visit.declined) == 1
    assert visit.to_json()["requests"] == {"introduce": 1, "question": 1}


async def test_words_are_kept_where_an_owner_wants_them_and_for_so_long(kept):
    run = await kept(2)
    visit = await run.visit()
    assert visit.name == NAME
    assert [q.words for q in visit.questions] == [QUESTION, "what of my parrot and his phone?"]
    run.clock.now += 2 * DAY - 60
    assert (await run.visit()).name == NAME
    run.clock.now += 120
    visit = await run.visit()
    assert (visit.introduced, visit.name) == (True, None)
    assert [q.words for q in visit.questions] == [None, None]
    assert visit.asked == 2  # that something was asked is known as long as the run is


async def test_words_that_expired_leave_the_disk_with_the_next_write(kept):
    run = await kept(2)
    run.clock.now += 3 * DAY
    await run.store.append_events([])
    rows = await run.store._database.rows("SELECT type FROM events")
    assert not [kind for (kind,) in rows if kind.endswith(".words")]
    assert "declined" in [kind for (kind,) in rows]


async def test_words_are_in_events_of_their_own_and_nowhere_else(kept):
    run = await kept(2)
    for event in await run.store.events(run.context.run_id):
        if not event.type.endswith(".words"):
            told = event.model_dump_json()
            assert [word for word in PRIVATE if word in told] == [], event.type
    stored = await run.store.run(run.context.run_id)
    assert NAME not in stored.model_dump_json()


async def test_words_do_not_outlive_the_run(kept):
    run = await kept(3_650)
    run.clock.now += RETENTION_S + 60
    assert await run.store.events(run.context.run_id) == []


async def test_what_only_followers_need_is_gone_after_a_day_and_sums_are_not(kept):
    run = await kept()
    run.clock.now += EVENT_TTL_S + 60
    types = {event.type for event in await run.store.events(run.context.run_id)}
    assert "narrated" not in types
    assert {"segment_ended", "declined", "speech_stopped"} <= types


def test_a_demo_that_nobody_watched_had_no_visitor():
    assert not summarize_visit([]).came


def test_short_requests_are_nobodys_own():
    """They stand on every page: what is written of pages would be full of holes."""
    context, bus = RunContext(), EventBus()
    bus.listen(PersonalDataListener(context.personal))
    for text in ("next", "show me campaigns", "Create agent"):
        bus.tell(Heard(text, "text", 0.0))
    assert not context.personal
    page = "<button>Create agent</button>"
    assert context.redact_kept(page) == page


@pytest.mark.parametrize("name", ["Jo", "Mark", "José", "Anne Marie", "O'Neill"])
def test_a_name_is_taken_out_wherever_it_stands_and_other_words_are_not(name):
    personal = RunContext().personal
    assert not personal.within(f"Hello {name}")
    personal.keep(name)
    for text in (f"Nice to meet you, {name}.", f"{name}'s agent", f'<td title="{name}">{name}</td>', name):
        assert name not in personal.redact({"text": text})["text"]
        assert personal.within([text])
    plain = "Join the Market for Joy: anneal, oneself"
    assert personal.redact(plain) == plain
    assert not personal.within(plain)


def test_every_event_with_words_of_a_visitor_says_so():
    for kind in (Heard, CaptionShown, Understood, Answered, Declined, VisitorIntroduced):
        assert kind.personal, kind.__name__
        assert kind.personal <= set(kind.__dataclass_fields__), kind.__name__
