"""Writes numbered records into the stores until all are there: run as a process by the faults.

    python -m tests.faults.record_writer DATA_DIR RUN COUNT [--mongodb URL] [--clock SEED]

Number N is an action of the journal, a step, an outcome of its own, an outcome that every writer sends, and a
checkpoint. It goes on after the last step that is in the store, as a resumed run does, and prints each number whose
records were all accepted. `--clock`: before each number its clock may jump by a day, forwards or back.

Exit codes: 0 done, 3 the store refused (told on standard error), 4 another process has the run.
"""

# ruff: noqa: T201 - a program whose output is read

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

DAY_S = 86_400.0
REFUSED, TAKEN = 3, 4
WEBSITE = "shop"


def main() -> int:
    """Read the arguments, and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("run_id")
    parser.add_argument("count", type=int)
    parser.add_argument("--mongodb")
    parser.add_argument("--clock", type=int)
    given = parser.parse_args()
    move = _let_clock_jump(given.clock) if given.clock is not None else _stand_still
    from kb_store.errors import StoreError  # noqa: PLC0415 - the stores take the clock when they are imported
    from kb_store.runs.run_leases import RunLeaseConflict  # noqa: PLC0415

    try:
        asyncio.run(_write(given.data_dir, given.run_id, given.count, given.mongodb, move))
    except RunLeaseConflict as exc:
        print(exc, file=sys.stderr)
        return TAKEN
    except (StoreError, OSError) as exc:
        print(exc, file=sys.stderr)
        return REFUSED
    return 0


def _stand_still() -> None:
    """No jump."""


def _let_clock_jump(seed: int) -> Callable[[], None]:
    """Replace the clock of this process; return what may move it."""
    dice, real, shift = random.Random(seed), time.time, [0.0]
    time.time = lambda: real() + shift[0]

    def move() -> None:
        if dice.random() < 0.3:
            shift[0] = dice.choice([-DAY_S, 0.0, DAY_S])

    return move


def _now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


async def _write(
    data_dir: Path, run_id: str, count: int, mongodb: str | None, move: Callable[[], None]
) -> None:
    from kb_schema.run_records import EvidenceLevel, RunEnding, RunStatus, StoredRun  # noqa: PLC0415 - as in `main`
    from kb_store import open_stores  # noqa: PLC0415
    from kb_store.runs.run_leases import hold_run_lease  # noqa: PLC0415
    from kb_store.store_factory import open_runs  # noqa: PLC0415

    lost = asyncio.Event()
    async with open_stores(data_dir, mongodb_url=mongodb) as stores, open_runs(data_dir, mongodb) as runs:
        run = StoredRun(
            run_id=run_id, url="http://h", started_at=_now(), website_id=WEBSITE, kind="task", subject="t"
        )
        await runs.begin_run(run)
        async with hold_run_lease(runs.leases, run_id, on_lost=lost.set, ttl=5.0):
            for number in range(len(await runs.steps(run_id)), count):
                move()
                if lost.is_set():
                    print("the run was taken over", file=sys.stderr)
                    sys.exit(TAKEN)
                await _write_number(stores, runs, run_id, number)
                print(number, flush=True)
        ending = RunEnding(
            status=RunStatus.SUCCESS, evidence=EvidenceLevel.VERIFIED, finished_at=_now(), duration_ms=1
        )
        await runs.finish_run(run_id, ending)


async def _write_number(stores, runs, run_id, number):  # type: ignore[no-untyped-def]
    from kb_schema.observed_outcomes import Outcome  # noqa: PLC0415 - as in `main`
    from kb_schema.run_records import StoredStep  # noqa: PLC0415
    from kb_schema.run_storage import Checkpoint, JournalEntry  # noqa: PLC0415

    entry = JournalEntry(run_id=run_id, key=f"k{number}", action="click", begun_at=_now())
    await runs.begin_action(entry)
    outcomes = [
        Outcome(outcome_id=f"{about}-{number}", website_id=WEBSITE, succeeded=True, duration_ms=100, at=_now(),
                run_id=run_id, transition_id=transition)
        for about, transition in ((run_id, "own"), ("both", "shared"))
    ]  # fmt: skip
    await stores.learned.record(outcomes)
    await runs.conclude_action(run_id, entry.key, "happened")
    state = {"done": number, "values": [number] * 300}
    await runs.put_checkpoint(Checkpoint(run_id=run_id, step_idx=number, state=state, created_at=_now()))
    step = StoredStep(
        run_id=run_id, step_idx=number, action="click", status="success", executed_at=_now(), task_id="t",
        step_id=f"s{number}", duration_ms=1,
    )  # fmt: skip
    await runs.append_step(step)


if __name__ == "__main__":
    sys.exit(main())
