"""Judges checks on the page, again whenever it changes, until they hold or their time is over.

What each kind of outcome asks is `expecting.py`'s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.page.changing import wait_for_change
from agent.page.evaluating import evaluate
from agent.page.probing import PageFacts
from agent.verifying.bench.bench import Bench
from agent.verifying.bench.expecting import SCOPE, Asked, Case, asked
from kb_schema.probes import Facts, ProbeAnswer, Status, TextProbe, Verdict, probe_key, unknown

BROWSERS_OWN_ERROR = "chrome-error:"
"""A page of the browser's own: the site did not answer, and nothing more comes."""
ANSWER_S = 1.0
"""How long a page that is there may take to answer, beyond the time there is."""
NOT_SEEN = PageFacts("", "", "loading")
"""Of a page that is on its way: it cannot be asked."""


@dataclass
class Judged:
    """How the checks of a step came out."""

    verdicts: list[Verdict]
    seen: PageFacts
    asked: list[Asked] = field(default_factory=list)

    @property
    def held(self) -> bool:
        """Whether all of them did."""
        return all(each.held for each in self.verdicts)

    def answer(self, number: int) -> ProbeAnswer | None:
        """What the page said of the element (or the text) a check is about."""
        if not self.asked:
            return None
        for condition in self.asked[number].conditions:
            for probe in condition.probes(SCOPE):
                if not isinstance(probe, TextProbe) and probe_key(probe) in self.seen.answers:
                    return self.seen.answers[probe_key(probe)]
        return None


async def judge(bench: Bench, cases: Sequence[Case]) -> Judged:
    """All checks now: one round trip, and one more for each that no probe can answer. Raises `PageGone`."""
    wanted = [asked(case) for case in cases]
    flat = [condition for each in wanted for condition in each.conditions]
    judged, seen = await evaluate(bench.page, flat, SCOPE, Facts(path_base=bench.base_url))
    verdicts: list[Verdict] = []
    answers = iter(judged)
    for each in wanted:
        own = [next(answers) for _ in each.conditions]
        if each.ask is not None:
            own.append(await each.ask(bench))
        failed = [verdict for verdict in own if not verdict.held]
        verdicts.append(failed[0] if failed else own[-1] if own else unknown("nothing to ask"))
    return Judged(verdicts, seen, wanted)


async def judge_until_held(bench: Bench, cases: Sequence[Case], timeout_s: float) -> Judged:
    """Judge again whenever the page changes, until every check has held and those that must last still
    do, at most so long. What held once has held: a message may be gone when the list is there.
    """
    deadline = time.monotonic() + timeout_s
    before: list[Verdict | None] = [None] * len(cases)
    while True:
        left = max(0.0, deadline - time.monotonic())
        now = await _judged_within(bench, cases, left) if await bench.arrived(left) else None
        if now is None:
            return Judged([unknown("the site has not answered yet")] * len(cases), NOT_SEEN)
        for number, each in enumerate(now.asked):
            if each.lasting:
                continue
            earlier = before[number]
            if earlier is not None:
                now.verdicts[number] = earlier
            elif now.verdicts[number].held:
                before[number] = now.verdicts[number]
        remaining = deadline - time.monotonic()
        if now.held or remaining <= 0 or bench.page.url.startswith(BROWSERS_OWN_ERROR):
            return now
        await wait_for_change(bench.page, remaining, now.seen.revision)


async def _judged_within(bench: Bench, cases: Sequence[Case], timeout_s: float) -> Judged | None:
    """None where the page leaves, and does not say anything more, while it is asked."""
    asking = asyncio.create_task(judge(bench, cases))
    try:
        done, _ = await asyncio.wait({asking}, timeout=timeout_s + ANSWER_S)
        return asking.result() if done else None
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


def short(verdict: Verdict) -> str:
    """Why it does not hold, in a line."""
    return verdict.evidence[:300] or str(Status(verdict.status))
