"""How long verifying five steps takes, from the requirement to its report on disk (PACTS B: p95 under 10 s).

Twice: with everything found first on the live page, then with the plan of an earlier pass. Files, pictures,
checkpoints and the record are written as always; the browser runs already, as it does for all but the
first of many requirements.

    python benchmarks/bench_verify.py [--rounds 20]      (or through `make bench`)
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import pytest

from agent.verification.planning import requirement_of
from kb_schema.verification import VerdictReport
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from periplus.verification.requirement_verifier import RequirementVerifier, open_verifier
from periplus.verification.verifier_settings import VerifierSettings

pytestmark = pytest.mark.bench

GOAL_S = 10.0
"""PACTS B."""
STEPS = (
    "Email | fill | demo@spadeworks.example | field_value:demo@spadeworks.example",
    "Password | fill | {secret:SPADEWORKS_PASSWORD} | field_populated",
    "Sign In | click | | navigates_to:Dashboard; shows:Total Calls",
    " | navigate | /agent/create | heading:Agent Info",
    "Agent Name | fill | Nova {unique} | field_value:Nova {unique}",
)


async def rounds_of(verifier: RequirementVerifier, count: int) -> list[float]:
    """Seconds of each; a verification that does not pass is no measurement."""
    requirement = requirement_of("five_steps", "/login", STEPS)
    times = []
    for _ in range(count):
        began = time.perf_counter()
        report: VerdictReport = await verifier.verify(requirement)
        times.append(time.perf_counter() - began)
        if report.verdict != "pass":
            raise AssertionError(f"{report.rca.class_}: {report.rca.message}")
    return times


def told(what: str, times: list[float]) -> float:
    """One line; the p95."""
    p95 = statistics.quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
    print(f"{what:32} median {statistics.median(times):5.2f} s   p95 {p95:5.2f} s   n {len(times)}")
    return p95


async def main(rounds: int) -> float:
    """Both; the worse p95."""
    seed = find_seed("spadeworks")
    password = {"SPADEWORKS_PASSWORD": str(seed.context["password"])}
    worst = 0.0
    with tempfile.TemporaryDirectory(prefix="periplus-bench-") as scratch:
        async with start_seed_site(seed) as url:
            for what, rediscover in (
                ("five steps, found first", True),
                ("five steps, with a known plan", False),
            ):
                settings = VerifierSettings(
                    out=Path(scratch) / "out", data_dir=Path(scratch) / "data", base_url=url, website_id="spadeworks",
                    secrets=password, rediscover=rediscover,
                )  # fmt: skip
                async with open_verifier(settings) as verifier:
                    await rounds_of(verifier, 1)  # what is only paid once
                    worst = max(worst, told(what, await rounds_of(verifier, rounds)))
    print(f"{'goal':32} p95 under {GOAL_S:g} s: {'met' if worst < GOAL_S else 'MISSED'}")
    return worst


def test_five_steps_take_less_than_ten_seconds() -> None:
    """As `make bench` asks."""
    assert asyncio.run(main(10)) < GOAL_S


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    asyncio.run(main(parser.parse_args().rounds))
