"""Measures of how many jobs a workflow without gaps is made, from three demonstrations and from two; nothing is run.

The sessions are kept, so that a changed synthesis is measured again without recording.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from playwright.async_api import Browser

from kb_store import open_stores
from periplus.synthesis.workflow_synthesis import read_traces
from tests.zoo.zoo_jobs import SHOWN, Job, RunningApplication
from tests.zoo.zoo_measurement import Naming, learn_workflow, record_demonstration

PAIR = 2
"""So many demonstrations are the least from which something is induced."""


@dataclass(frozen=True, slots=True)
class InductionFigures:
    """Whether a workflow without gaps is made of some demonstrations of a job."""

    application: str
    job: str
    naming: Naming
    shown: tuple[int, ...]
    """The demonstrations, by number."""
    reason: str = ""
    """Why it is not whole; empty: it is."""


async def record_job(
    browser: Browser, running: RunningApplication, job: Job, folder: Path, seed: str
) -> list[Path]:
    """Record the demonstrations of a job that are not in `folder` yet; return their sessions."""
    dice, sessions = random.Random(f"{seed}/{job.name}"), []
    for number, instance in enumerate(job.demonstrations):
        session = folder / job.name / str(number)
        if not session.exists():
            await running.reset()
            await record_demonstration(browser, running, job, instance, session, dice)
        sessions.append(session)
    return sessions


async def measure_induction(
    application: str, job: Job, sessions: Sequence[Path], *, pairs: int
) -> AsyncIterator[InductionFigures]:
    """Yield the figures of all demonstrations, and of the first `pairs` pairs of them, for each naming there is."""
    traces = read_traces(sessions[:1])
    address = urlsplit(next(step.source_url for step in traces[0].steps if step.source_url))
    base_url = f"{address.scheme}://{address.netloc}"
    told = all(each.sentence for each in job.demonstrations)
    numbers = range(len(sessions))
    sets = [tuple(numbers)] if len(sessions) == SHOWN else []
    sets += [*combinations(numbers, PAIR)][:pairs]
    for naming in (each for each in get_args(Naming) if told or each == "values"):
        for shown in sets:
            with tempfile.TemporaryDirectory(prefix="periplus-induction-") as folder:
                async with open_stores(Path(folder)) as stores:
                    learned = await learn_workflow(
                        [sessions[each] for each in shown], job, naming, stores, base_url
                    )
            reason = learned if isinstance(learned, str) else ""
            yield InductionFigures(application, job.name, naming, shown, reason)


COLUMNS = ("application", "naming", "shown", "measured", "whole", "share")


def list_shares(figures: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return rows of `COLUMNS`: how many jobs are whole, by application, naming and number of demonstrations.

    `figures`: `InductionFigures` as JSON; of what was measured again, the last counts. A share of pairs is one of pairs.
    """
    last = {
        (each["application"], each["naming"], each["job"], tuple(each["shown"])): not each["reason"]
        for each in figures
    }
    rows: dict[tuple[str, str, int], list[bool]] = {}
    for (application, naming, _, shown), whole in last.items():
        rows.setdefault((application, naming, len(shown)), []).append(whole)
        rows.setdefault(("all", naming, len(shown)), []).append(whole)
    return [
        [application, naming, str(shown), str(len(whole)), str(sum(whole)), f"{sum(whole) / len(whole):.1%}"]
        for (application, naming, shown), whole in sorted(
            rows.items(), key=lambda each: (each[0][0] == "all", each[0])
        )
    ]


def write_shares(figures: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as a table in Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in list_shares(figures))]) + "\n"
