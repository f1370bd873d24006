"""The scheduler and the runner under a simulated clock: each due time has one job, however often the server is killed."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from kb_schema.service_records import Schedule, StoredJob, TaskOrder, Webhook, WebhookDelivery
from kb_store.lease_owners import this_process
from kb_store.runs.run_leases import RunLeaseConflict
from kb_store.sqlite.database import SqliteDatabase
from kb_store.sqlite.run_store import SqliteRunStore
from periplus.errors import UserError
from periplus.jobs.cron_times import check_cron, describe_cron, find_next_time, iterate_times
from periplus.jobs.job_runner import JobOutcome, JobRunner
from periplus.jobs.job_scheduler import SCHEDULER_LEASE, JobScheduler
from periplus.jobs.webhook_delivery import WebhookSender

BEGIN = datetime(2026, 3, 1, 0, 1, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
ORDER = TaskOrder(website_id="harbour", task_id="moor")


class Killed(BaseException):
    """The process of the server ends here."""


class Clock:
    def __init__(self):
        self.now = BEGIN

    def __call__(self):
        return self.now

    def seconds(self):
        return self.now.timestamp()


class MortalStore:
    """A part of a store that a process uses: at some call it is killed, before or after the call, and nothing more is done."""

    def __init__(self, part, server):
        self._part, self._server = part, server

    def __getattr__(self, name):
        found = getattr(self._part, name)
        if name in ("service_records", "leases"):
            return MortalStore(found, self._server)
        if not asyncio.iscoroutinefunction(found):
            return found

        async def call(*args, **kwargs):
            self._server.live_or_die()
            result = await found(*args, **kwargs)
            self._server.live_or_die()
            return result

        return call


class Server:
    """One life of a server."""

    def __init__(self, runs, clock, effects, chance, dice):
        self.dead, self._chance, self._dice, self._effects = False, chance, dice, effects
        store = MortalStore(runs, self)
        self.sender = WebhookSender(store, b"key", {"https://hook.example"}, now=clock, post=lambda *_: 204)
        self.scheduler = JobScheduler(store, clock)
        self.runner = JobRunner(store, {"task": self}, now=clock, told=self.sender.tell)

    def live_or_die(self):
        self.dead = self.dead or self._dice.random() < self._chance
        if self.dead:
            raise Killed

    async def turn(self):
        """Decide what is due, run what waits, and tell; as the service's loops do."""
        await self.scheduler.decide_due_times()
        while True:
            await self.runner.take_up()
            tasks = [each.task for each in self.runner._live.values()]
            if not tasks:
                break
            await asyncio.gather(*tasks)
        await self.sender.send_due()

    # what the performer of a task does: a run that was cut off goes on under its id, and changes the site once

    resumable = True

    def begin(self, job):
        server = self

        class Work:
            async def done(self):
                server.live_or_die()
                if job.run_id not in server._effects:
                    server._effects[job.run_id] = job.due_at
                server.live_or_die()
                return JobOutcome(outcome="success")

        return Work()


@pytest.fixture
async def clock():
    return Clock()


@pytest.fixture
async def runs(tmp_path, clock):
    store = SqliteRunStore(SqliteDatabase(tmp_path / "knowledge.sqlite3"), now=clock.seconds)
    await store.prepare()
    yield store
    await store.close()


async def scheduled(runs, **more):
    schedule = Schedule(
        schedule_id="quarterly", name="Each quarter", cron="*/15 * * * *", order=ORDER,
        created_at=BEGIN, decided_until=BEGIN, **more,
    )  # fmt: skip
    await runs.service_records.add(schedule)
    await runs.service_records.add(
        Webhook(webhook_id="hook", url="https://hook.example/told", created_at=BEGIN)
    )


@pytest.mark.parametrize("seed", range(4))
async def test_each_of_200_due_times_is_run_once_or_told_as_missed_whenever_the_server_is_killed(
    runs, clock, seed
):
    dice, effects, kills = random.Random(seed), {}, 0
    await scheduled(runs)
    chance = 0.02
    while clock.now < BEGIN + 205 * QUARTER:
        server = Server(runs, clock, effects, chance, dice)
        while not server.dead and clock.now < BEGIN + 205 * QUARTER:
            try:
                await server.turn()
            except Killed:
                kills += 1
            clock.now += timedelta(minutes=dice.choice([1, 2, 5, 9]))
        clock.now += timedelta(minutes=dice.choice([1, 1, 2, 40]))  # until it is started again
    clock.now += timedelta(minutes=2)
    last = Server(runs, clock, effects, 0.0, dice)
    await last.turn()
    await last.turn()

    due = {BEGIN.replace(minute=0) + n * QUARTER for n in range(1, 400)}
    due = {each for each in due if each <= clock.now}
    jobs = await runs.service_records.select(StoredJob, limit=1_000)
    states = Counter(each.state for each in jobs)
    assert len(due) >= 200
    assert kills >= 10
    assert states.keys() <= {"ended", "missed", "failed"}, states
    assert {each.due_at for each in jobs} == due
    assert len(jobs) == len(due)
    # Once: each run that took effect is of one due time, and each job that ended took effect.
    assert Counter(effects.values()).most_common(1)[0][1] == 1
    assert {each.due_at for each in jobs if each.state == "ended"} <= set(effects.values())
    assert not {each.due_at for each in jobs if each.state == "missed"} & set(effects.values())
    # Told: each, by a message of its own.
    told = {
        each.delivery_id: each for each in await runs.service_records.select(WebhookDelivery, limit=1_000)
    }
    assert set(told) == {f"hook-{each.job_id}" for each in jobs}
    assert all(each.state == "delivered" for each in told.values())
    assert states["ended"] > 100, states
    assert states["missed"] > 0, states


async def test_due_times_of_a_long_absence_are_told_with_their_number_and_not_run(runs, clock):
    await scheduled(runs)
    clock.now = BEGIN + 100 * QUARTER + timedelta(minutes=4)
    effects = {}
    server = Server(runs, clock, effects, 0.0, random.Random(1))
    await server.turn()
    await server.turn()
    jobs = await runs.service_records.select(StoredJob)
    missed = [each for each in jobs if each.state == "missed"]
    assert sum(each.missed for each in missed) == 99
    assert len(missed) == 21  # the latest have a record each
    assert [each.state for each in jobs if each.state != "missed"] == ["ended"]
    assert list(effects.values()) == [BEGIN.replace(minute=0) + 100 * QUARTER]
    first = min(missed, key=lambda each: each.due_at)
    assert (first.missed, "no server was running" in first.error) == (79, True)


async def test_a_job_that_waits_too_long_behind_another_is_missed_and_told(runs, clock):
    await scheduled(runs, lateness_s=120)
    server = Server(runs, clock, {}, 0.0, random.Random(1))
    clock.now = BEGIN.replace(minute=15)
    await server.scheduler.decide_due_times()
    clock.now += timedelta(minutes=3)
    await server.runner.take_up()
    (job,) = await runs.service_records.select(StoredJob)
    assert (job.state, job.missed, job.announced) == ("missed", 1, True)


async def test_only_one_server_schedules_and_a_second_takes_over_when_its_lease_has_expired(runs, clock):
    await runs.leases.take(SCHEDULER_LEASE, this_process(), ttl=30)
    with pytest.raises(RunLeaseConflict):
        await runs.leases.take(SCHEDULER_LEASE, this_process(), ttl=30)
    clock.now += timedelta(seconds=31)
    assert await runs.leases.take(SCHEDULER_LEASE, this_process(), ttl=30)


def test_times_follow_the_zone_through_the_change_of_the_clock():
    berlin = iterate_times("30 2 * * *", "Europe/Berlin", datetime(2026, 3, 27, tzinfo=UTC))
    assert [f"{next(berlin):%d %H:%M}" for _ in range(4)] == ["27 01:30", "28 01:30", "29 01:00", "30 00:30"]


@pytest.mark.parametrize(
    ("cron", "zone", "said"),
    [
        ("0 6 * *", "UTC", "has 4 fields, expected 5"),
        ("0 6 * * * *", "UTC", "has 6 fields, expected 5"),
        ("61 6 * * *", "UTC", "bad minute"),
        ("0 6 31 2 *", "UTC", "31 2"),
        ("0 6 * * 1-5", "Europe/Berlim", "no time zone 'Europe/Berlim'"),
        ("0 6 * * 1-5", "../etc/passwd", "no time zone"),
    ],
)
def test_a_wrong_expression_is_refused_with_its_fault_and_an_example(cron, zone, said):
    with pytest.raises(UserError) as refused:
        check_cron(cron, zone)
    assert said in refused.value.message
    assert refused.value.fix


def test_an_expression_is_said_in_words_and_its_next_time_is_found():
    assert describe_cron("0 6 * * 1-5") == "At 06:00 on Monday through Friday"
    assert find_next_time("0 6 * * 1-5", "UTC", datetime(2026, 3, 6, 7, tzinfo=UTC)) == datetime(
        2026, 3, 9, 6, tzinfo=UTC
    )
