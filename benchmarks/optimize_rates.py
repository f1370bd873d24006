"""What `periplus optimize` does with a generated suite: drift mended, bugs left red, root causes, with counts.

The six seed requirements are generated on the healthy site. The suite then runs through the command, as a
person would type it: against the redesigned site, and against each bug of
`tests/data/verification/expected_classes.yaml`. No model, no network; about twenty minutes.

    python -m benchmarks.optimize_rates
    python -m benchmarks.optimize_rates --only wrong_total,button_gone_redesigned

The classes were written down before the code that finds them.

    red       the test stays red, as it must; its class is right or WRONG
    MASKED    a bug came out green: there must be none
    touched   something other than a locator or a wait changed: there must be none
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright
from rich.console import Console
from rich.table import Table

from agent.browser.launch import find_chromium, launch
from agent.optimization.sources import find_violations
from agent.verification.generation import generate
from agent.verification.page_checks import build_plan, open_verification_page
from agent.verification.planning import read_requirements
from tests.support.foreign_sites import plain_python, spadeworks_site
from tests.support.live_spadeworks import Controls
from tests.support.verification import REDESIGNED, REQUIREMENTS, SECRETS, Trouble, troubles

RIGHT_GOAL = 0.90


@dataclass
class Ran:
    """How one execution of the command came out."""

    tests: list[dict[str, Any]]
    passed: int
    failed: int
    touched: list[str]
    """Files with a change that is neither a locator nor a wait."""
    seconds: float

    @property
    def green(self) -> bool:
        """Whether everything passed."""
        return not self.failed and self.passed > 0

    @property
    def cause(self) -> str:
        """Of the first test that is still red."""
        red = [each for each in self.tests if each["after"] != "passed"]
        return red[0]["rca"]["class"] if red and red[0].get("rca") else "none"

    @property
    def patches(self) -> int:
        """Made and kept."""
        return sum(len(each["patches"]) for each in self.tests)


async def suite_of(folder: Path) -> Path:
    """The six requirements as tests, written on the healthy site."""
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        plans, login, storage = [], None, None
        with spadeworks_site() as site:
            for requirement in await read_requirements([REQUIREMENTS / "spadeworks.csv"]):
                signed_in = storage if requirement.login else None
                bench_of = open_verification_page(
                    browser, base_url=site, secrets=SECRETS, unique="k7q2", storage=signed_in
                )
                async with bench_of as bench:
                    plan = await build_plan(bench, requirement)
                    if login is None:
                        login, storage = plan, await bench.page.context.storage_state()
                plans.append(plan.model_copy(update={"signed_in_by": requirement.login}))
            generate(plans, folder, login=login, base_url=site, title="Spadeworks")
        await browser.close()
    return folder


def optimized(suite: Path, trouble: Trouble | None) -> Ran:
    """Run the command on a copy of the suite, on a site of its own, while the trouble lasts."""
    with tempfile.TemporaryDirectory(prefix="periplus-rates-") as scratch, spadeworks_site() as base:
        copy, site = shutil.copytree(suite, Path(scratch) / "suite"), Controls(base)
        if trouble is None or trouble.ui != 1:
            site.ask("ui-version", version=REDESIGNED)
        if trouble is not None and trouble.bug:
            site.ask("bugs", bug=trouble.bug)
        if trouble is not None and trouble.fault:
            site.ask("faults", **trouble.fault)
        tests = copy if trouble is None else copy / f"test_{trouble.requirement}.py"
        began = time.perf_counter()
        report = asyncio.run(_command(tests, base, Path(scratch)))
        seconds = time.perf_counter() - began
        touched = [
            file.name
            for file in sorted(copy.rglob("*.py"))
            if file.read_text() != (suite / file.relative_to(copy)).read_text()
            and find_violations((suite / file.relative_to(copy)).read_text(), file.read_text())
        ]
    summary = report["summary"]
    return Ran(report["tests"], summary["passed"], summary["failed"], touched, seconds)


async def _command(tests: Path, base: str, scratch: Path) -> dict[str, Any]:
    surroundings = {
        **os.environ, **SECRETS, "PERIPLUS_DATA_DIR": str(scratch / "data"),
        "PERIPLUS_CHROMIUM": str(find_chromium()),
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "periplus", "optimize", str(tests), "--base-url", base, "--json",
        "--python", str(plain_python()), "--out", str(scratch / "out"),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=surroundings,
    )  # fmt: skip
    out, err = await process.communicate()
    if not out.strip():
        raise SystemExit(f"periplus optimize said nothing: {err.decode()[-2000:]}")
    report: dict[str, Any] = json.loads(out)
    return report


def show(drift: Ran | None, met: Sequence[tuple[Trouble, Ran]], console: Console) -> bool:
    """Print the tables; whether every goal is reached."""
    good = True
    if drift is not None:
        console.print(
            f"redesigned: {drift.passed} of {drift.passed + drift.failed} green, {drift.patches} patches, "
            f"touched otherwise: {drift.touched or 'nothing'}, {drift.seconds:.0f} s"
        )
        good = drift.green and not drift.touched
    table = Table("trouble", "expected", "found", "", "patches", "s", box=None)
    for trouble, ran in met:
        verdict = "right" if ran.cause == trouble.expected else "WRONG"
        table.add_row(
            trouble.id, trouble.expected, ran.cause, "MASKED" if ran.green else verdict, str(ran.patches),
            f"{ran.seconds:.0f}",
        )  # fmt: skip
    console.print(table)
    masked = sum(ran.green for _, ran in met)
    right = sum(ran.cause == trouble.expected for trouble, ran in met)
    touched = sum(bool(ran.touched) for _, ran in met)
    if met:
        console.print(f"masked bugs: {masked} of {len(met)}  goal 0")
        console.print(f"right class: {right} of {len(met)} ({right / len(met):.0%})  goal {RIGHT_GOAL:.0%}")
        console.print(f"touched otherwise: {touched} of {len(met)}  goal 0")
    return good and not masked and not touched and right >= RIGHT_GOAL * len(met)


def main(only: frozenset[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="periplus-suite-") as folder:
        suite = asyncio.run(suite_of(Path(folder)))
        drift = optimized(suite, None) if not only or "redesigned" in only else None
        bugs = [each for each in troubles() if each.red and (not only or each.id in only)]
        met = []
        for trouble in bugs:
            met.append((trouble, optimized(suite, trouble)))
            print(
                f"{trouble.id}: {met[-1][1].cause}, {met[-1][1].seconds:.0f} s", file=sys.stderr, flush=True
            )
        return 0 if show(drift, met, Console(width=140)) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="names of troubles, or `redesigned`, separated by commas")
    sys.exit(main(frozenset(filter(None, parser.parse_args().only.split(",")))))
