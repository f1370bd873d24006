"""Killing a loader at chosen moments while readers read: what the crash tests of all stores share."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable

from kb_store import Stores, load_knowledge, read_knowledge
from tests.kb_store.load_stages import AT_WORK, BETWEEN
from tests.kb_store.sample_knowledge import knowledge_of, version_of
from tests.support.rotation import SEED, dice
from tests.support.warm import Started


def stages_of(process: Started) -> list[str]:
    """The stage at each moment that a loader which survived tells of."""
    out, _ = process.communicate()
    assert process.returncode == 0, out
    at_work, told = out.splitlines()
    assert at_work == AT_WORK
    found: list[str] = json.loads(told)
    return found


def moments(stages: list[str], number: int, rng: random.Random) -> list[int]:
    """`number` moments (from 1) spread over a whole load, a fifth of them between documents and graph."""
    between = [moment for moment, stage in enumerate(stages, 1) if stage == BETWEEN]
    others = [moment for moment, stage in enumerate(stages, 1) if stage != BETWEEN]
    chosen = rng.sample(between, min(len(between), max(2, number // 5)))
    rest = number - len(chosen)
    slices = [others[part * len(others) // rest : (part + 1) * len(others) // rest] for part in range(rest)]
    return sorted({*chosen, *(rng.choice(each) for each in slices)})


async def read_until_done(stores: Stores, process: Started) -> set[str]:
    """Reads without pause while the loader works; every read must be whole. Returns the versions seen."""
    done = asyncio.create_task(process.ended())
    seen = set()
    while not done.done():
        seen.add(version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]))
    return seen


async def kill_at(
    number: int,
    stores: Stores,
    *,
    stages: list[str],
    start: Callable[[str, int], Started],
    clean_up: Callable[[str], Awaitable[None]],
) -> None:
    """Kill a loader at each of `number` moments of the `stages` that a whole load goes through.

    `start` starts a loader of a version that kills itself at a moment, its output streamed: nobody reads
    before it is at work or dead, for it would only have to wait. `clean_up` loads a version and looks
    that nothing else is left.
    """
    chosen = moments(stages, number, dice("killed loader"))
    killed_in = Counter(stages[moment - 1] for moment in chosen)
    print(f"seed {SEED}, {len(chosen)} of {len(stages)} moments: {dict(killed_in)}")  # noqa: T201 - told on failure
    assert len(chosen) == number
    assert killed_in[BETWEEN] >= number // 5
    old = "old"
    await load_knowledge(stores.documents, stores.graph, knowledge_of(version=old))
    for moment in chosen:
        new = f"killed-{moment}"
        process = start(new, moment)
        await asyncio.to_thread(process.stdout.readline)
        seen = await read_until_done(stores, process)
        assert process.returncode == -signal.SIGKILL, process.communicate()
        left = version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0])
        assert {*seen, left} <= {old, new}, f"moment {moment} of {len(stages)}"
        old = f"after-{moment}"
        await clean_up(old)
