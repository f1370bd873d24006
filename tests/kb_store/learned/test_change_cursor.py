"""Reading learned numbers on from where one was: only what changed, and never too little."""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb_schema.observed_outcomes import ElementUse, Outcome
from kb_store.arangodb.connection import ArangoConnection
from kb_store.learned.change_cursor import ChangeCursor, find_settled_ticket
from kb_store.learned.learned_numbers import LearnedSubject, utc_now
from kb_store.mongodb.learned_store import REVISIONS, MongoLearnedStore
from kb_store.sqlite import SqliteDatabase
from kb_store.sqlite.learned_store import SqliteLearnedStore
from tests.kb_store.learned import learned_stores

MANY = 60
_numbers = itertools.count()


def outcome(about="t", *, kind="transition", website="shop", ok=True):
    subject = {
        "transition": {"transition_id": about},
        "recovery": {"recovery_id": about},
        "element": {"element": ElementUse(screen_id="home", element_id=about, strategy="css")},
    }[kind]
    return Outcome(outcome_id=f"o{next(_numbers)}", website_id=website, succeeded=ok, at=utc_now(), **subject)


@pytest.fixture(params=learned_stores.NAMES)
async def store(request, tmp_path):
    async with learned_stores.opened(request.param, request, tmp_path) as opened:
        yield opened


async def test_reading_on_gives_only_what_changed(store):
    await store.record([outcome(f"t{n}") for n in range(MANY)])
    first = await store.read("shop")
    assert (first.whole, len(first.transitions), first.recoveries) == (True, MANY, {})
    assert first.transitions == await store.transition_stats("shop")
    await store.record([outcome("t7", ok=False), outcome("r", kind="recovery"), outcome("e", kind="element")])
    await store.record([outcome("t9", website="bakery")])
    second = await store.read("shop", first.mark)
    assert (second.whole, set(second.transitions), set(second.recoveries)) == (False, {"t7"}, {"r"})
    assert second.transitions["t7"] == (await store.transition_stats("shop"))["t7"]
    third = await store.read("shop", second.mark)
    assert (third.whole, third.transitions, third.recoveries) == (False, {}, {})


async def test_what_was_learned_is_counted_by_what_it_is_about(store):
    assert dict(await store.counts("shop")) == {}
    await store.record([outcome(f"t{n % 3}") for n in range(6)])
    await store.record(
        [outcome("go", kind="element"), outcome("stop", kind="element"), outcome("r", kind="recovery")]
    )
    await store.record([outcome("t9", website="bakery"), outcome("t9", website="sho")])
    assert dict(await store.counts("shop")) == {"transition": 3, "element": 2, "recovery": 1}
    await store.forget("shop", [LearnedSubject("recovery", "r"), LearnedSubject("transition", "t0")])
    assert dict(await store.counts("shop")) == {"transition": 2, "element": 2}


async def test_an_outcome_sent_again_is_nothing_to_read(store):
    sent = outcome("t")
    await store.record([sent])
    first = await store.read("shop")
    await store.record([sent])
    assert (await store.read("shop", first.mark)).transitions == {}


async def test_after_something_was_forgotten_everything_is_read(store):
    await store.record([outcome("t"), outcome("u")])
    first = await store.read("shop")
    await store.forget("shop", [LearnedSubject("transition", "t")])
    second = await store.read("shop", first.mark)
    assert (second.whole, set(second.transitions)) == (True, {"u"})


@pytest.mark.parametrize("since", ["", "x", "1", "1.0", "1.0@", "99.0@1", "-1.-1@-1", "99999999.0@{day}"])
async def test_a_mark_that_is_not_understood_reads_everything(store, since):
    await store.record([outcome("t")])
    day = (await store.read("shop")).mark.partition("@")[2]
    found = await store.read("shop", since.format(day=day))
    assert (found.whole, set(found.transitions)) == (True, {"t"})


async def test_a_store_without_numbers_has_a_mark_to_read_on_from(store):
    first = await store.read("shop")
    assert (first.whole, first.transitions) == (True, {})
    await store.record([outcome("t")])
    second = await store.read("shop", first.mark)
    assert (second.whole, set(second.transitions)) == (False, {"t"})


async def test_readers_and_writers_at_once_leave_no_reader_behind(store):
    """Whatever falls between two readings: who reads on, and adds up, ends with all there is."""
    known, done = {}, asyncio.Event()

    async def read_on():
        mark = None
        while True:
            last_time = done.is_set()
            found = await store.read("shop", mark)
            if found.whole:
                known.clear()
            known.update(found.transitions)
            mark = found.mark
            if last_time:
                return
            await asyncio.sleep(0)

    reader = asyncio.create_task(read_on())
    await asyncio.gather(*(store.record([outcome(f"t{n % 7}")]) for n in range(40)))
    done.set()
    await reader
    assert known == await store.transition_stats("shop")


@pytest.mark.parametrize("name", ["embedded", "mongodb", "arangodb-loopback"])
async def test_when_a_day_ends_everything_is_read_because_everything_decayed(name, request, tmp_path):
    now = utc_now()
    clock = [now]
    async with learned_stores.opened(name, request, tmp_path, now=lambda: clock[0]) as store:
        await store.record([outcome("t"), outcome("u")])
        first = await store.read("shop")
        clock[0] = now + timedelta(days=1)
        second = await store.read("shop", first.mark)
        assert second.whole
        assert second.transitions["u"].succeeded < first.transitions["u"].succeeded == 1


# -- writers that are slow, and writers that die


async def test_a_writer_that_commits_late_is_read_once_it_is_visible(mongodb_url, monkeypatch):
    """The mark stays below a ticket that is out: whoever drew later may be visible earlier."""
    from kb_store.mongodb.connection import MongoConnection  # noqa: PLC0415

    connection = MongoConnection(mongodb_url)
    slow, quick = MongoLearnedStore(connection), MongoLearnedStore(connection)
    await slow.prepare()
    drawn, go_on = asyncio.Event(), asyncio.Event()
    really = slow._record

    async def held_up(*args):
        drawn.set()
        await go_on.wait()
        return await really(*args)

    monkeypatch.setattr(slow, "_record", held_up)
    writing = asyncio.create_task(slow.record([outcome("slow")]))
    await drawn.wait()
    await quick.record([outcome("quick")])
    first = await quick.read("shop")
    assert set(first.transitions) == {"quick"}
    before = await quick.revision("shop")
    go_on.set()
    await writing
    assert await quick.revision("shop") != before
    second = await quick.read("shop", first.mark)
    assert (second.whole, set(second.transitions)) == (False, {"slow", "quick"})
    assert (await quick.read("shop", second.mark)).transitions == {}
    await connection.close()


async def test_a_writer_that_died_holds_readers_back_only_for_a_while(mongodb_url):
    from kb_store.mongodb.connection import MongoConnection  # noqa: PLC0415

    connection = MongoConnection(mongodb_url)
    store = MongoLearnedStore(connection)
    await store.record([outcome("t")])
    async with connection.asking() as database:
        lost = {"ticket": 2, "until": utc_now() + timedelta(minutes=1)}
        update = {"$set": {"revision": 2, "out": [lost]}}
        await database[REVISIONS].update_one({"_id": "shop"}, update)
    await store.record([outcome("u")])
    held_back = await store.read("shop")
    assert set((await store.read("shop", held_back.mark)).transitions) == {"u"}  # once more, to be safe
    async with connection.asking() as database:
        await database[REVISIONS].update_one(
            {"_id": "shop"}, {"$set": {"out.0.until": utc_now() - timedelta(seconds=1)}}
        )
    again = await store.read("shop", held_back.mark)
    assert (await store.read("shop", again.mark)).transitions == {}
    await store.record([outcome("v")])
    async with connection.asking() as database:
        assert (await database[REVISIONS].find_one({"_id": "shop"}))["out"] == []  # it is cleared away
    await connection.close()


async def test_an_error_while_counting_hands_the_ticket_back_and_tells_readers(
    tmp_path, request, monkeypatch
):
    async with learned_stores.opened("arangodb-loopback", request, tmp_path) as store:
        await store.record([outcome("t")])
        before = await store.revision("shop")

        async def fails(*_):
            raise OSError

        with monkeypatch.context() as patched:
            patched.setattr(ArangoConnection, "transact", fails)
            with pytest.raises(OSError):  # noqa: PT011 - any that the transport has
                await store.record([outcome("t")])
        assert await store.revision("shop") != before  # the server may have counted it before the error
        assert (await store._tickets("shop"))["out"] == []


async def test_only_rows_that_changed_are_looked_at_in_sqlite(tmp_path):
    """By an index: asking again for nothing new does not walk over all there is."""
    database = SqliteDatabase(tmp_path / "knowledge.sqlite3")
    store = SqliteLearnedStore(database)
    await store.record([outcome(f"t{n}") for n in range(3)])
    from kb_store.sqlite import learned_store  # noqa: PLC0415

    plan = await database.rows(f"EXPLAIN QUERY PLAN {learned_store._CHANGES}", ("shop", 5))
    assert any("learned_by_revision (website_id=? AND revision>?)" in row[-1] for row in plan)
    await database.close()


async def test_a_file_from_before_there_were_marks_is_brought_up_to_date(tmp_path):
    database = SqliteDatabase(tmp_path / "knowledge.sqlite3")
    await SqliteLearnedStore(database).record([outcome("t")])

    def age(db):
        db.execute("DROP INDEX learned_by_revision").close()
        for column in ("revision", "origin", "copied"):
            db.execute(f"ALTER TABLE learned DROP COLUMN {column}").close()
        db.execute("ALTER TABLE learned_revisions DROP COLUMN forgotten").close()

    await database.write(age)
    store = SqliteLearnedStore(database)
    first = await store.read("shop")
    assert first.transitions["t"].seen == 1
    await store.record([outcome("u")])
    assert set((await store.read("shop", first.mark)).transitions) == {"u"}
    await database.close()


# -- the mathematics


@given(
    st.lists(st.sampled_from(["draw", "show", "read"]), max_size=40),
    st.randoms(use_true_random=False),
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_order_tickets_become_visible_in_a_reader_misses_none(steps, random):
    drawn, out, visible, seen, mark = 0, [], set(), set(), None
    for step in [*steps, *["show"] * 40, "read"]:
        if step == "draw":
            drawn += 1
            out.append(drawn)
        elif step == "show" and out:
            ticket = random.choice(out)
            out.remove(ticket)
            visible.add(ticket)
        elif step == "read":
            here = ChangeCursor(find_settled_ticket(drawn, out), 0, 1)
            after = here.since(mark)
            seen |= {ticket for ticket in visible if after is None or ticket > after}
            mark = str(here)
    assert seen == visible == set(range(1, drawn + 1))
