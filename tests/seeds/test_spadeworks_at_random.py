"""Runs of the seed's tasks with faults drawn at random, and killed at random: nothing happens twice.

The normal run takes a few with the run's printed seed, and gives up sooner what does not come; the nightly
one a hundred, with the times of the knowledge, and thirty kills.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.execution import step_runner
from agent.execution.task_runner import TaskRunner
from agent.healing.healer import HealPolicy
from tests.seeds.test_spadeworks_exactly_once import WORKS, Work, _inputs
from tests.support import warm
from tests.support.live_spadeworks import ACCOUNT, LONGEST_S, SEED, Controls, visiting
from tests.support.rotation import dice, rotating

RUNS, AT_LEAST = 100, 95
HALVES, FEW, FEW_AT_LEAST = 1, 3, 1  # of so few, chance may take more than of a hundred
"""In the normal run, beside a pair of task and fault of `test_spadeworks_exactly_once`."""
KINDS = ("drop_after_commit", "error_500", "expire_session", "delay", "modal", "animation")
CAMPAIGN = WORKS[1]
PATIENT, HASTY = HealPolicy(), HealPolicy(gate_s=2.0, healed_gate_s=0.5)


@dataclass(frozen=True)
class Drawn:
    """A task and the faults it meets."""

    work: Work
    faults: tuple[dict[str, Any], ...]


def drawn(rng: random.Random) -> Drawn:
    """One to three faults, each at the change itself or at some page on the way."""
    work, faults = rng.choice(WORKS), []
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(KINDS)
        where = rng.choice([{"path": work.path, "method": "POST"}, {"path": "^/(?!__control)", "method": ""}])
        if kind == "drop_after_commit":
            where = {**where, "method": "POST"}
        faults.append({"kind": kind, "times": 1, "ms": rng.randint(200, 2500), **where})
    return Drawn(work, tuple(faults))


async def came_out(case: Drawn, live: Controls, stores, browser, healing: HealPolicy = PATIENT) -> str:
    """How one run came out; asserts that nothing was done twice and that the result is honest."""
    async with visiting(live, stores, browser) as session:
        session.healing = healing
        before = live.state()["counts"][case.work.count]
        for fault in case.faults:
            live.ask("faults", **fault)
        result = await TaskRunner(session).run_task(case.work.task_id, _inputs(case.work, live))
        counted = live.state()["counts"][case.work.count] - before
    assert counted <= case.work.once, (case, result)
    if result.complete:
        assert counted == case.work.once, (case, result)
    return "success" if result.complete else f"{result.status}: {result.error} {case}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("half", range(HALVES))
async def test_runs_with_faults_at_random_do_nothing_twice_and_tell_the_truth(
    half, live, hasty_stores, browser, monkeypatch
):
    monkeypatch.setattr(step_runner, "CONFIRM_S", LONGEST_S)
    rng = dice(f"{__name__} few {half}")
    outcomes = [await came_out(drawn(rng), live, hasty_stores, browser, HASTY) for _ in range(FEW)]
    assert outcomes.count("success") >= FEW_AT_LEAST, outcomes


@pytest.mark.nightly
@pytest.mark.timeout(3600)
async def test_of_a_hundred_runs_with_faults_at_random_nearly_all_do_what_was_asked(live, stores, browser):
    rng = dice(f"{__name__} many")
    outcomes = [await came_out(drawn(rng), live, stores, browser) for _ in range(RUNS)]
    others = [outcome for outcome in outcomes if outcome != "success"]
    assert len(outcomes) - len(others) >= AT_LEAST, "\n".join(others)


# -- killed ----------------------------------------------------------------------------------------


def visitors(site: Controls) -> list[str]:
    """Everybody who was here."""
    return [each["id"] for each in site.state()["visitors"]]


def campaigns(site: Controls, earlier: Collection[str]) -> list[dict[str, Any]]:
    """All that were made, in whosever workspace that was not there earlier."""
    return [
        campaign
        for visitor in visitors(site)
        if visitor not in earlier
        for campaign in site.ask(f"state?visitor={visitor}")["campaigns"]
        if campaign["name"] == CAMPAIGN.inputs["campaign_name"]
    ]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory into which the knowledge was loaded by the command, to be copied."""
    data = tmp_path_factory.mktemp("loaded")
    done = warm.run("periplus", "kb", "load", str(SEED / "kb"), env={"PERIPLUS_DATA_DIR": str(data)})
    assert done.returncode == 0, done.stderr
    return data


@pytest.mark.timeout(240)
@pytest.mark.parametrize("line", rotating(f"{__name__} kills", range(1, 31), 2))
def test_a_campaign_whose_process_is_killed_anywhere_is_launched_once(line, live, loaded, tmp_path):
    env = {"PERIPLUS_DATA_DIR": str(shutil.copytree(loaded, tmp_path / "data")), "COLUMNS": "200"}
    given = [f"--input={name}={value}" for name, value in ACCOUNT.items()]

    def periplus(*arguments: str, streamed: bool = False) -> warm.Started:
        return warm.start("periplus", *arguments, cwd=tmp_path, env=env, streamed=streamed)

    live.clear()
    earlier = visitors(live)
    inputs = {**CAMPAIGN.inputs, "campaign_agent": "Amelia Hart"}
    whole = ["run", CAMPAIGN.task_id, "--base-url", live.base, *given]
    whole += [f"--input={name}={value}" for name, value in inputs.items()]
    first = periplus(*whole, streamed=True)
    for _ in range(line):  # a line for every step and every screen
        first.stdout.readline()
    first.kill()
    first.wait()
    second = periplus("run", "--resume", "last", *given)
    code, (out, err) = second.wait(), second.communicate()
    if code == 2 and (
        "start a new run" in err + out or "start it again" in err + out
    ):  # killed before anything was kept: nothing was done
        assert campaigns(live, earlier) == []
        third = periplus(*whole)
        code, (out, err) = third.wait(), third.communicate()
    if code == 2 and "has already ended" in err + out:
        code = 0
    assert code == 0, out + err
    (campaign,) = campaigns(live, earlier)
    assert (campaign["start_date"], campaign["daily_limit"]) == ("03/01/2027", 50)
