"""So many clients of one server over HTTP at once, with mixed calls: throughput, latency and memory.

    python -m benchmarks.bench_clients [--clients 1 20 200] [--rounds 5]

The server is a process of its own on the first core, all clients are one process on the second. Each client asks one thing
after the other. Every round measures each number of clients in turn; the figures are medians, kept in `out/bench/clients.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from mcp import Client

from benchmarks.bench_mcp import CALLS, ROOT
from benchmarks.figures import Figures
from benchmarks.process_cpu import read_cpu_s

CLIENTS = (1, 20, 200)
CALLS_A_ROUND = 600


@dataclass(frozen=True, slots=True)
class Round:
    """One number of clients, once."""

    seconds: float
    server_cpu_s: float
    latencies_ms: list[float]
    memory_mb: float


async def measure(port: int, server: int, clients: int) -> Round:
    """Share `CALLS_A_ROUND` calls out among clients that are connected already."""
    address = f"http://127.0.0.1:{port}/mcp"
    ready = asyncio.Barrier(clients + 1)
    latencies: list[float] = []

    async def work(number: int) -> None:
        async with Client(address) as client:
            await client.list_tools()  # else the first call asks for them, to check its answer
            await ready.wait()
            for turn in range(number, CALLS_A_ROUND, clients):
                tool, own = CALLS[turn % len(CALLS)]
                arguments = own if tool == "list_websites" else {"website_id": "shop", **own}
                begin = time.perf_counter()
                answer = await client.call_tool(tool, arguments)
                assert not answer.is_error, answer.content
                latencies.append((time.perf_counter() - begin) * 1_000)
            await ready.wait()

    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(work(number))
        await ready.wait()
        begin, worked = time.perf_counter(), read_cpu_s(server)
        await ready.wait()
        return Round(time.perf_counter() - begin, read_cpu_s(server) - worked, latencies, _memory_mb(server))


def _memory_mb(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(next(each.split()[1] for each in status.splitlines() if each.startswith("VmRSS:"))) / 1_000


async def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.bench_mcp", "ours", "http", cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    cores = sorted(os.sched_getaffinity(0))
    try:
        port = int(await process.stdout.readline())
        os.sched_setaffinity(process.pid, cores[:1])
        os.sched_setaffinity(0, cores[1:2] or cores)
        await measure(port, process.pid, 1)  # not counted
        rounds: dict[int, list[Round]] = {number: [] for number in asked.clients}
        for _ in range(asked.rounds):
            for number, found in rounds.items():
                found.append(await measure(port, process.pid, number))
    finally:
        process.terminate()
        await process.wait()
    kept = Figures("clients")
    for number, found in rounds.items():
        spread = [statistics.quantiles(each.latencies_ms, n=20) for each in found]
        figures = {
            "calls_per_s": statistics.median(CALLS_A_ROUND / each.seconds for each in found),
            "server_cpu_ms_per_call": statistics.median(each.server_cpu_s for each in found)
            * 1_000
            / CALLS_A_ROUND,
            "median_ms": statistics.median(statistics.median(each.latencies_ms) for each in found),
            "p95_to_median": statistics.median(each[18] / each[9] for each in spread),
            "memory_mb": statistics.median(each.memory_mb for each in found),
            "load_average": os.getloadavg()[0],
        }
        kept.add(str(number), figures)
        print(f"{number:>4} clients: " + ", ".join(f"{name} {value:.4g}" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
