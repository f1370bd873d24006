"""Workers on simulated jobs: two processes against one, and 64 of the real scheduler, a third of which are cut off.

    python -m benchmarks.bench_workers [--workers 64] [--rounds 5] [--again]

Each part is kept in `out/bench/workers.json`: an interrupted measurement goes on. A job computes for 5 ms and waits for 95 ms, as a
run waits for its browser: two processes are compared by the clock, in turns. The 64 workers, their scheduler and the command are one
process here, over TCP: its CPU time per job, whose own work is to wait, is the whole overhead. A worker is killed by cutting its
connection, with a job under way. Dask has the settings of `--workers processes:N`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import dask
from distributed import LocalCluster

from benchmarks.figures import Figures
from benchmarks.simulated_jobs import build_job, register
from periplus.fleet import cluster_fleet
from periplus.fleet.fleet_setup import open_fleet
from periplus.fleet.jobs import Fleet
from periplus.fleet.workers_option import WorkerSelection

COMPUTE_S, WAIT_S = 0.005, 0.095
JOBS_OF_FEW = 60
JOBS_A_WORKER = 20
LONG_WAIT_S = 1.0
"""Of the jobs of many workers: long enough that a third of the workers has one when it is killed."""
PATIENCE_S = 600.0
"""For so many processes to start on a busy machine."""


@asynccontextmanager
async def opened(workers: int, *, processes: bool) -> AsyncIterator[tuple[Fleet, LocalCluster]]:
    """A fleet on a scheduler with so many workers, which know the simulated jobs."""
    cluster_fleet.CONNECT_S = PATIENCE_S
    preload = {"preload": "benchmarks.simulated_jobs", "death_timeout": PATIENCE_S} if processes else {}
    register()
    async with AsyncExitStack() as stack:
        stack.enter_context(dask.config.set(cluster_fleet.WORKERS_HERE))
        cluster = await stack.enter_async_context(
            LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=processes, host="127.0.0.1", scheduler_port=0, protocol="tcp",
                dashboard_address="127.0.0.1:0", worker_dashboard_address="127.0.0.1:0", asynchronous=True, memory_limit=0,
                silence_logs=logging.CRITICAL, **preload,
            )
        )  # fmt: skip
        selection = WorkerSelection("cluster", address=cluster.scheduler_address)
        fleet = await stack.enter_async_context(open_fleet(selection))
        await fleet_client(fleet).wait_for_workers(workers, timeout=PATIENCE_S)
        yield fleet, cluster


def fleet_client(fleet: Fleet) -> Any:
    """Return Dask's client of a fleet on a cluster."""
    assert isinstance(fleet, cluster_fleet.ClusterFleet)
    return fleet._client  # noqa: SLF001 - a benchmark looks inside


async def time_jobs(fleet: Fleet, jobs: int) -> float:
    """Return the seconds of so many jobs, whose results are checked."""
    begin = time.perf_counter()
    asked = [fleet.do(build_job(n, compute_s=COMPUTE_S, wait_s=WAIT_S)) for n in range(jobs)]
    assert await asyncio.gather(*asked) == [*range(jobs)]
    return time.perf_counter() - begin


async def measure_two(rounds: int) -> dict[str, float]:
    """Return the seconds of one and of two processes for the same jobs, in turns, and the median of the ratios."""
    async with opened(1, processes=True) as (one, _), opened(2, processes=True) as (two, _):
        await time_jobs(one, 4)
        await time_jobs(two, 4)
        pairs = [
            (await time_jobs(one, JOBS_OF_FEW), await time_jobs(two, JOBS_OF_FEW)) for _ in range(rounds)
        ]
    return {
        "one_s": statistics.median(a for a, _ in pairs),
        "two_s": statistics.median(b for _, b in pairs),
        "times": statistics.median(a / b for a, b in pairs),
        "least": min(a / b for a, b in pairs),
        "jobs": JOBS_OF_FEW,
        "load_average": os.getloadavg()[0],
    }


async def measure_many(workers: int, killed: int) -> dict[str, float]:
    """Return what a job costs, and how many had no result; the connections of `killed` workers are cut on the way."""
    jobs = workers * JOBS_A_WORKER
    async with opened(workers, processes=False) as (fleet, cluster):
        await asyncio.gather(*(fleet.do(build_job(n, compute_s=0, wait_s=0)) for n in range(workers)))
        ended = cut = 0

        async def one(number: int) -> object:
            nonlocal ended, cut
            result = await fleet.do(build_job(number, compute_s=0, wait_s=LONG_WAIT_S))
            ended += 1
            if ended == jobs // 3:
                for worker in [*cluster.workers.values()][:killed]:
                    worker.batched_stream.comm.abort()
                    cut += 1
            return result

        begin, spent = time.perf_counter(), time.process_time()
        results = await asyncio.gather(*(one(n) for n in range(jobs)), return_exceptions=True)
        seconds, spent = time.perf_counter() - begin, time.process_time() - spent
        left = len(await fleet_client(fleet).nthreads())
    lost = [each for n, each in enumerate(results) if each != n]
    for each in lost[:3]:
        print(f"lost: {each!r}", file=sys.stderr)
    return {
        "workers": workers,
        "cut": cut,
        "left": left,
        "jobs": jobs,
        "lost": len(lost),
        "seconds": seconds,
        "ideal_s": jobs * LONG_WAIT_S / workers,
        "cpu_ms_a_job": spent / jobs * 1_000,
        "load_average": os.getloadavg()[0],
    }


def main() -> int:
    """Measure what is not kept, print all, and return 1 if a job was lost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="measure what is kept, too")
    asked = parser.parse_args()
    kept = Figures("workers")
    parts = {
        "two processes": lambda: measure_two(asked.rounds),
        f"{asked.workers} workers": lambda: measure_many(asked.workers, 0),
        f"{asked.workers} workers, a third cut off": lambda: measure_many(asked.workers, asked.workers // 3),
    }
    for name, work in parts.items():
        if asked.again or name not in kept.parts:
            kept.add(name, asyncio.run(work()))
        print(
            f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in kept.parts[name].items()),
            flush=True,
        )
    return int(any(part.get("lost") for part in kept.parts.values()))


if __name__ == "__main__":
    sys.exit(main())
