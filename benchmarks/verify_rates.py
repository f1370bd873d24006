"""What verifying gets right when something goes wrong: root causes, masked bugs, recovered drift, with counts.

Six requirements are verified on the healthy seed site; then each trouble of
`tests/data/verification/expected_classes.yaml` begins, and the same test runs again with healing. Last, all
six run on the redesigned site with the plans of the old one. No model, no network.

    python -m benchmarks.verify_rates
    python -m benchmarks.verify_rates --only wrong_total,slow_answer --why

The classes were written down before the code that finds them. What the table says:

    right     the root cause is the one that was written down
    WRONG     it is another one; `--why` tells its evidence
    MASKED    a bug of the application came out green: there must be none
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from dataclasses import dataclass, field

from playwright.async_api import async_playwright
from rich.console import Console
from rich.table import Table

from agent.browser.launch import launch
from tests.support.verification import Came, Laboratory, Trouble, laboratory, troubles

RIGHT_GOAL, RECOVERED_GOAL = 0.90, 0.95


@dataclass
class Rates:
    """What was counted."""

    met: list[tuple[Trouble, Came, float]] = field(default_factory=list)
    redesigned: list[tuple[str, Came, float]] = field(default_factory=list)

    @property
    def right(self) -> int:
        """Troubles whose root cause is the one that was written down."""
        return sum(came.cause == trouble.expected for trouble, came, _ in self.met)

    @property
    def red(self) -> int:
        """Troubles that may not come out green."""
        return sum(trouble.red for trouble, _, _ in self.met)

    @property
    def masked(self) -> list[str]:
        """Those of them that did."""
        return [trouble.id for trouble, came, _ in self.met if trouble.red and came.green]

    @property
    def drifted(self) -> int:
        """Steps of the redesigned site that could not be done as they stood."""
        return sum(len(came.drifted) for _, came, _ in self.redesigned)

    @property
    def recovered(self) -> int:
        """Those of them that came off after healing."""
        return sum(len(came.recovered) for _, came, _ in self.redesigned)

    @property
    def green(self) -> int:
        """Requirements that pass on the redesigned site."""
        return sum(came.green for _, came, _ in self.redesigned)

    @property
    def good(self) -> bool:
        """Whether every goal is reached."""
        return (
            not self.masked
            and self.right >= RIGHT_GOAL * len(self.met)
            and self.recovered >= RECOVERED_GOAL * self.drifted
        )


async def measure(lab: Laboratory, only: frozenset[str], *, why: bool) -> Rates:
    rates = Rates()
    for trouble in troubles():
        if only and trouble.id not in only:
            continue
        began = time.perf_counter()
        came = await lab.meet(trouble)
        rates.met.append((trouble, came, time.perf_counter() - began))
        if why and came.cause != trouble.expected:
            print(came.told(), file=sys.stderr)
    for req_id in lab.requirements:
        if only and req_id not in only:
            continue
        began = time.perf_counter()
        came = await lab.redesigned(req_id)
        rates.redesigned.append((req_id, came, time.perf_counter() - began))
        if why and not came.green:
            print(came.told(), file=sys.stderr)
    return rates


def show(rates: Rates, console: Console) -> None:
    table = Table("trouble", "requirement", "expected", "found", "", "confidence", "s", box=None)
    for trouble, came, seconds in rates.met:
        verdict = "right" if came.cause == trouble.expected else "WRONG"
        verdict = "MASKED" if trouble.red and came.green else verdict
        sure = f"{came.report.rca.confidence:.2f}"
        table.add_row(
            trouble.id, trouble.requirement, trouble.expected, came.cause, verdict, sure, f"{seconds:.0f}"
        )
    console.print(table)
    drift = Table("redesigned", "verdict", "drifted steps", "recovered", "s", box=None)
    for req_id, came, seconds in rates.redesigned:
        counts = str(len(came.drifted)), str(len(came.recovered))
        drift.add_row(req_id, came.report.verdict, *counts, f"{seconds:.0f}")
    console.print(drift)
    _rate(console, "right class", rates.right, len(rates.met), f"goal {RIGHT_GOAL:.0%}")
    _rate(console, "masked bugs", len(rates.masked), rates.red, "goal 0")
    _rate(console, "recovered drift", rates.recovered, rates.drifted, f"goal {RECOVERED_GOAL:.0%}")
    _rate(console, "green on the redesigned site", rates.green, len(rates.redesigned), "")


def _rate(console: Console, what: str, count: int, total: int, goal: str) -> None:
    if total:
        console.print(f"{what}: {count} of {total} ({count / total:.0%})  {goal}".rstrip())


async def main(only: frozenset[str], *, why: bool) -> int:
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        async with laboratory(browser) as lab:
            rates = await measure(lab, only, why=why)
        await browser.close()
    show(rates, Console(width=140))
    return 0 if rates.good else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="names of troubles and requirements, separated by commas")
    parser.add_argument("--why", action="store_true", help="tell the evidence of what is wrong")
    arguments = parser.parse_args()
    chosen = frozenset(filter(None, arguments.only.split(",")))
    sys.exit(asyncio.run(main(chosen, why=arguments.why)))
