"""What benchmarks share: medians, and one line a measurement with its baseline from the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable


def median_ms(work: Callable[[], object], rounds: int, before: Callable[[], object] | None = None) -> float:
    """The median of some rounds after one that is not counted; `before` each, untimed."""
    times = []
    for _ in range(rounds + 1):
        if before is not None:
            before()
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:]) * 1_000


async def median_ms_async(work: Callable[[], Awaitable[object]], rounds: int) -> float:
    """The same of what is awaited."""
    await work()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        await work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1_000


def compared(
    what: str,
    ours: Callable[[], object],
    baseline: str,
    theirs: Callable[[], object],
    *,
    rounds: int = 9,
    each: int = 1,
    before: Callable[[], object] | None = None,
) -> float:
    """Both in turns, so that a busy machine is busy for both; prints medians and the median of the ratios.

    `each`: how many questions one round answers. `before` comes before each of ours, untimed.
    """
    theirs()
    times = []
    for _ in range(rounds + 1):
        if before is not None:
            before()
        begin = time.perf_counter()
        ours()
        middle = time.perf_counter()
        theirs()
        times.append((middle - begin, time.perf_counter() - middle))
    del times[0]
    mine, other = (statistics.median(side) * 1_000 / each for side in zip(*times, strict=True))
    ratio = statistics.median(own / their for own, their in times)
    print(f"{what:<58} {mine:9.4f} ms   {baseline:<34} {other:9.3f} ms   ratio {ratio:8.4f}")
    return ratio


def row(what: str, ours: float, baseline: str, theirs: float) -> None:
    """One measurement against its baseline, in milliseconds."""
    print(f"{what:<58} {ours:9.4f} ms   {baseline:<34} {theirs:9.3f} ms   ratio {ours / theirs:8.4f}")
