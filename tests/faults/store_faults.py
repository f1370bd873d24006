"""Faults of the machine and of the stores. Each function is one run of a kind: it makes the fault at random places, lets
the writers go on, and compares what is stored. Raises `AssertionError` if something was lost, done twice, or ended
without an explanation.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from kb_store import load_knowledge, open_stores, read_knowledge
from kb_store.errors import StoreError
from kb_store.store_factory import open_runs
from tests.faults.fault_kinds import CannotBeMade, fault_kind
from tests.faults.record_writer import REFUSED, TAKEN, WEBSITE
from tests.kb_store.sample_knowledge import knowledge_of, version_of
from tests.support import warm
from tests.support.mongod import MONGOD, Mongod, with_database

COUNT = 12
"""Numbers of a writer."""
LONGEST_S = 120
UNEXPLAINED = ("Traceback (most recent call last)", "internal error")


class _Writer:
    """A `record_writer` in a process, and the numbers that it said were written."""

    def __init__(self, folder: Path, run_id: str, *more: str, mongodb: str | None = None) -> None:
        at = [] if mongodb is None else ["--mongodb", mongodb]
        self.run_id, self.accepted, self.said = run_id, list[int](), ""
        self._process = warm.start(
            "tests.faults.record_writer", str(folder), run_id, str(COUNT), *at, *more, streamed=True
        )

    async def read(self, until: Callable[[int], bool] = lambda _: False) -> bool:
        """Read until a number for which `until` holds was written, or the end. Returns whether it goes on."""
        while line := await asyncio.to_thread(self._process.stdout.readline):
            if not line.strip().isdigit():
                self.said += line
                continue
            self.accepted.append(int(line))
            if until(int(line)):
                return True
        return False

    async def kill(self) -> None:
        """End it as a crash does, and read what it said before."""
        self._process.kill()
        await self.read()
        await self._process.ended()

    async def end(self) -> int:
        """Return the exit code at its end. Raises `AssertionError` if it is not explained."""
        await self.read()
        code = await self._process.ended()
        assert code in (0, REFUSED, TAKEN), f"{self.run_id} ended with {code}: {self.said}"
        assert not any(each in self.said for each in UNEXPLAINED), self.said
        assert code == 0 or self.said.strip(), f"{self.run_id} ended with {code} and said nothing"
        return code


async def _check(folder: Path, *run_ids: str, mongodb: str | None = None, shared: int = COUNT) -> None:
    """Raise `AssertionError` unless every number of the runs is stored once, and the counts are exact."""
    async with open_stores(folder, mongodb_url=mongodb) as stores, open_runs(folder, mongodb) as runs:
        for run_id in run_ids:
            steps = await runs.steps(run_id)
            assert [each.step_idx for each in steps] == list(range(COUNT)), f"{run_id}: steps {len(steps)}"
            journal = await runs.journal(run_id)
            assert {each.key for each in journal} == {f"k{each}" for each in range(COUNT)}
            assert len(journal) == COUNT, "an action is in the journal twice"
            assert all(each.outcome == "happened" for each in journal)
            last = await runs.checkpoint(run_id)
            assert last is not None
            assert last.state == {"done": COUNT - 1, "values": [COUNT - 1] * 300}
            run = await runs.run(run_id)
            assert run is not None
            assert run.finished_at is not None
        counted = await stores.learned.transition_stats(WEBSITE)
        assert {name: each.seen for name, each in counted.items()} == {
            "own": len(run_ids) * COUNT, "shared": shared,
        }  # fmt: skip


async def _write_to_end(folder: Path, *run_ids: str, mongodb: str | None = None) -> None:
    """Let writers go on until all is written."""
    for run_id in run_ids:
        assert await _Writer(folder, run_id, mongodb=mongodb).end() == 0


@fault_kind(
    "torn_checkpoint",
    "the process is killed at a random moment, and the last bytes of the log may be missing",
)
async def tear_checkpoint(folder: Path, dice: random.Random) -> None:
    """Kill a writer three times, and cut the SQLite log at a random place."""
    for _ in range(3):
        writer, doomed = _Writer(folder, "torn"), dice.randrange(COUNT)
        await writer.read(lambda number, doomed=doomed: number >= doomed)
        await writer.kill()
        cut = False
        log = folder / "knowledge.sqlite3-wal"
        if log.exists() and dice.random() < 0.5:
            cut = True
            os.truncate(log, dice.randrange(log.stat().st_size + 1))
        async with open_runs(folder) as runs:
            kept = await runs.checkpoint("torn")
            steps = await runs.steps("torn")
            assert [each.step_idx for each in steps] == list(range(len(steps)))
            if kept is not None:
                assert isinstance(kept.state, dict)
                assert kept.state["values"] == [kept.state["done"]] * 300, "a torn checkpoint"
            if not cut and writer.accepted:
                assert len(steps) > writer.accepted[-1], "an accepted step is lost"
    await _write_to_end(folder, "torn")
    await _check(folder, "torn")


@fault_kind("two_processes", "two processes write into one store at once; one is killed and started again")
async def run_two_processes(folder: Path, dice: random.Random) -> None:
    """Both send the same outcomes beside their own, and each loads another version of the knowledge base."""
    async with open_stores(folder) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
    one, other = _Writer(folder, "one"), _Writer(folder, "other")
    doomed = dice.randrange(COUNT)
    killed = asyncio.create_task(one.read(lambda number: number >= doomed))
    ended = asyncio.create_task(other.end())
    versions = ["left", "right"]
    async with open_stores(folder) as left, open_stores(folder) as right:
        loads = [load_knowledge(each.documents, each.graph, knowledge_of(version=version))
                 for each, version in zip((left, right), versions, strict=True)]  # fmt: skip
        told = await asyncio.gather(*loads, return_exceptions=True)
    assert all(isinstance(each, StoreError) for each in told if isinstance(each, BaseException)), told
    await killed
    await one.kill()
    assert await ended == 0
    await _write_to_end(folder, "one")
    await _check(folder, "one", "other")
    async with open_stores(folder) as stores:
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, WEBSITE)
    won = [
        version for version, each in zip(versions, told, strict=True) if not isinstance(each, BaseException)
    ]
    assert version_of(knowledge) in won, (won, told)


@fault_kind(
    "clock_jumps", "the clock jumps by a day, forwards and back, in one of two processes that want one run"
)
async def let_clock_jump(folder: Path, dice: random.Random) -> None:
    """A process whose clock is a day ahead sees the other's lease as expired: only one of them may go on."""
    writers = [
        _Writer(folder, "jumps", "--clock", str(dice.randrange(10**6))),
        _Writer(folder, "jumps", "--clock", str(dice.randrange(10**6))),
    ]
    codes = await asyncio.gather(*(each.end() for each in writers))
    assert all(code in (0, TAKEN) for code in codes), [each.said for each in writers]
    await _write_to_end(folder, "jumps")
    await _check(folder, "jumps")


@fault_kind("disk_full", "the disk is full while a run is written, and has room again later")
async def fill_disk(folder: Path, dice: random.Random) -> None:
    """The folder is a file system of a random size."""
    async with _mounted(folder, dice.randrange(300, 900)) as remount:
        codes = [await _Writer(folder, "full").end()]
        remount(f"size={64 << 10}k")
        told = await _command(folder, "runs", "list")
        assert told.returncode == 0, told.stderr
        codes.append(await _Writer(folder, "full").end())
        assert codes[-1] == 0, codes
        await _check(folder, "full")


@fault_kind("full_on_load", "the disk is full while a knowledge base is loaded")
async def fill_disk_on_load(folder: Path, dice: random.Random) -> None:
    """The knowledge base of before is whole, the command says what is wrong, and loads when there is room."""
    async with _mounted(folder, 32 << 10) as remount:
        first = await _load(folder)
        assert first.returncode == 0, first.stderr
        used = sum(each.stat().st_blocks for each in folder.iterdir()) // 2
        remount(f"size={used + dice.randrange(4, 160)}k")
        full = await _load(folder)
        if full.returncode != 0:
            assert "disk" in full.stderr, full.stderr
            assert "full" in full.stderr or "room" in full.stderr, full.stderr
        remount(f"size={32 << 10}k")
        shown = await _command(folder, "kb", "status")
        assert shown.returncode == 0, shown.stderr
        assert "harbour" in shown.stdout
        assert (await _load(folder)).returncode == 0


@fault_kind("read_only", "the folder is read-only from a random moment on, and writable again later")
async def make_read_only(folder: Path, dice: random.Random) -> None:
    """Writing is refused with the reason; what was there is kept, and goes on."""
    async with _mounted(folder, 64 << 10) as remount:
        writer, doomed = _Writer(folder, "kept"), dice.randrange(COUNT)
        await writer.read(lambda number: number >= doomed)
        await writer.kill()
        remount("ro")
        refused = _Writer(folder, "kept")
        assert await refused.end() == REFUSED, refused.said
        told = await _load(folder)
        assert told.returncode != 0
        assert "a folder that can be read and written" in told.stderr, told.stderr
        remount("rw")
        await _write_to_end(folder, "kept")
        await _check(folder, "kept")


@fault_kind("mongodb_killed", "MongoDB is killed and started again while two processes write")
async def kill_mongodb(folder: Path, dice: random.Random) -> None:
    """The writers end with the reason, or wait; started again, they complete what they began."""
    if not os.access(MONGOD, os.X_OK):
        raise CannotBeMade("`make setup-mongod` installs a MongoDB for tests", installable=True)
    server = Mongod(folder / "mongod")
    await asyncio.to_thread(server.start)
    url = with_database(server.url + "&serverSelectionTimeoutMS=3000", "faults")
    try:
        for _ in range(2):
            writers = [_Writer(folder, name, mongodb=url) for name in ("one", "other")]
            doomed = dice.randrange(COUNT)
            reading = [
                asyncio.create_task(each.read(lambda number, at=doomed: number >= at)) for each in writers
            ]
            await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)
            await asyncio.wait(reading)
            codes = [await each.end() for each in writers]
            assert all(code in (0, REFUSED, TAKEN) for code in codes), (
                codes
            )  # TAKEN: it could not renew its lease
        await _write_to_end(folder, "one", "other", mongodb=url)
        await _check(folder, "one", "other", mongodb=url)
    finally:
        await asyncio.to_thread(server.stop)


# -- the machine -------------------------------------------------------------------------------------


@asynccontextmanager
async def _mounted(folder: Path, size_kb: int) -> AsyncIterator[Callable[[str], None]]:
    """Make the folder a file system of its own in memory; yield what changes its options."""
    try:
        subprocess.run(  # noqa: ASYNC221 - it takes a millisecond
            ["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "periplus-faults", folder],
            check=True, capture_output=True,
        )  # fmt: skip
    except (subprocess.CalledProcessError, FileNotFoundError) as exc:
        raise CannotBeMade("only root may mount a file system of its own, as this fault needs") from exc

    def remount(options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True, capture_output=True)

    try:
        yield remount
    finally:
        with suppress(subprocess.CalledProcessError):
            subprocess.run(["umount", "-l", folder], check=True, capture_output=True)  # noqa: ASYNC221 - as above


async def _load(folder: Path) -> subprocess.CompletedProcess[str]:
    return await _command(folder, "kb", "load", str(Path(__file__).parents[1] / "data" / "harbour" / "kb"))


async def _command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command. Raises `AssertionError` if its end is not explained."""
    env = {"PERIPLUS_DATA_DIR": str(folder), "COLUMNS": "200"}
    done = await asyncio.to_thread(lambda: warm.run("periplus", *arguments, env=env, timeout=LONGEST_S))
    said = done.stdout + done.stderr
    assert done.returncode in range(4), f"{arguments} ended with {done.returncode}: {said}"
    assert not any(each in said for each in UNEXPLAINED), said
    assert done.returncode == 0 or done.stderr.strip(), f"{arguments} failed and said nothing"
    return done
