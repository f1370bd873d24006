"""Tasks of ten steps under random schedules of failing steps, in a browser, against a model of WR 4.2, 5 and decision 0021."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.execution import step_runner
from agent.execution.results.run_metrics import compute_run_metrics
from agent.execution.task_runner import TaskRunner
from agent.healing.healer import HealPolicy
from kb_schema import parse_document
from kb_schema.resilience_policy import ResiliencePolicy
from periplus.exit_codes import ExitCode, exit_code_for
from tests.support.small_sites import Answered, Asked, RunningSite, running_site, visiting

STEPS, SCHEDULES, AT_ONCE = 10, 200, 5
WEIGHTS = {"writer": 1.0, "reader": 1.0, "pointer": 0.25}
EXIT_CODES = {
    "success": ExitCode.DONE, "unverified": ExitCode.UNVERIFIED, "partial": ExitCode.PARTIAL,
    "degraded": ExitCode.PARTIAL, "failure": ExitCode.FAILED,
}  # fmt: skip


@dataclass(frozen=True)
class Schedule:
    """The kind of each step, which are optional, which are not critical, which fail, and whether the run may exit early."""

    kinds: tuple[str, ...]
    optional: frozenset[int]
    spared: frozenset[int]
    failing: frozenset[int]
    early: bool

    @classmethod
    def draw(cls, seed: int) -> Schedule:
        chance = random.Random(seed)
        pool = chance.choice([tuple(WEIGHTS), ("reader", "pointer"), ("reader",), ("writer", "reader")])
        rate = chance.choice([0.0, 0.1, 0.3, 0.6])

        def some(share: float) -> frozenset[int]:
            return frozenset(each for each in range(STEPS) if chance.random() < share)

        kinds = tuple(chance.choice(pool) for _ in range(STEPS))
        return cls(kinds, some(0.15), some(0.3), some(rate), chance.random() < 0.3)


@dataclass
class Expected:
    """What the documents say about a schedule."""

    ran: list[int] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    gone_without: set[int] = field(default_factory=set)
    ended: bool = False
    error: bool = False
    early: bool = False
    proven: bool = False
    percentage: float = 0.0
    status: str = ""


def expect(told: Schedule) -> Expected:
    """Play the rules: critical steps, degradation, weights, early exit, status."""
    found = Expected()
    counted = [each for each in range(STEPS) if each not in told.optional]
    critical = [each for each in counted if told.kinds[each] == "writer" and each not in told.spared]
    whole = sum(WEIGHTS[told.kinds[each]] for each in counted)

    def percentage() -> float:
        done = sum(WEIGHTS[told.kinds[each]] for each in counted if each in found.done)
        return 100.0 if done == whole else min(round(100 * done / whole, 1), 99.9)

    for number, kind in enumerate(told.kinds):
        if told.early and 70 <= percentage() < 100 and set(critical) <= found.done:
            found.early = True
            break
        found.ran.append(number)
        if kind == "writer":
            found.proven = number not in told.failing
        if number not in told.failing:
            found.done.add(number)
        elif number in told.optional:
            found.gone_without.add(number)
        else:
            found.error = True
            later = told.kinds[number + 1 :]
            found.ended = number in critical or (
                number not in told.spared and (not later or "writer" in later)
            )
            if found.ended:
                break
            found.gone_without.add(number)
    found.percentage = percentage()
    if set(critical) - found.done:
        found.status = "failure"
    elif found.percentage == 100 and not found.ended:
        found.status = "success" if found.proven else "unverified"
    elif found.percentage >= 70:
        found.status = "partial"
    else:
        found.status = "degraded" if found.percentage >= 40 else "failure"
    return found


@contextmanager
def desk() -> Iterator[RunningSite]:
    """A page with a button for each step that writes, a cell for each that reads, and what was saved."""
    saved: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST":
            saved.append(asked.form["n"])
            return Answered(location="/")
        if asked.path == "/clear":
            saved.clear()
        forms = "".join(
            f"<form method=post action=/save><button id=save{n} name=n value={n}>Save {n}</button></form>"
            for n in range(STEPS)
        )
        cells = "".join(f"<p id=cell{n}>cell {n}</p><input id=point{n} aria-label={n}>" for n in range(STEPS))
        told = "".join(f"<li id=saved{each}>saved {each}</li>" for each in saved)
        return Answered(f"<title>Desk</title><h1>Desk</h1><ul>{told}</ul>{forms}{cells}")

    with running_site(answer) as site:
        yield site


def build_task(told: Schedule) -> Any:
    """The task of a schedule: each step that fails names an element that is not there."""
    steps, outputs = [], []
    for number, kind in enumerate(told.kinds):
        action, target = {
            "writer": ("click", f"#save{number}"), "reader": ("get_screen_content", f"#cell{number}"),
            "pointer": ("focus", f"#point{number}"),
        }[kind]  # fmt: skip
        call = {"action_type": action, "target": "#absent" if number in told.failing else target}
        step: dict[str, Any] = {
            "step_id": f"s{number}", "action": call, "required": number not in told.optional,
        }  # fmt: skip
        if number in told.failing:
            step["timeout_s"] = 0.05  # the others have all the time that a busy machine takes
        if number in told.spared:
            step["critical"] = False
        if kind == "writer":
            step["postconditions"] = [{"type": "dom_element", "selector": f"#saved{number}"}]
        if kind == "reader" and number not in told.failing:
            rule = {"method": "dom_extraction", "selector": target}
            outputs.append({"name": f"o{number}", "after_step": f"s{number}", "extraction": rule})
        steps.append(step)
    return parse_document({"type": "task", "task_id": "ten", "steps": steps, "io_spec": {"outputs": outputs}})


@pytest.mark.sampled(0.03)
@pytest.mark.parametrize("first", range(0, SCHEDULES, AT_ONCE))
async def test_ten_steps_end_as_the_documents_say(browser, tmp_path, monkeypatch, first):
    monkeypatch.setattr(step_runner, "CONFIRM_S", 20.0)
    with desk() as site:
        async with visiting(browser, site, tmp_path) as session:
            session.healing = HealPolicy(max_rounds=0, gate_s=20.0)
            for seed in range(first, first + AT_ONCE):
                await check_schedule(session, site, Schedule.draw(seed), seed)


async def check_schedule(session: Any, site: RunningSite, told: Schedule, seed: int) -> None:
    expected = expect(told)
    await session.page.goto(f"{site.base}/clear")
    site.writes.clear()
    session.resilience = ResiliencePolicy(allow_early_exit=told.early)
    session.knowledge.know(build_task(told))

    result = await TaskRunner(session).run_task("ten")
    failed = [each for each in expected.ran if each in told.failing]
    read = {f"o{each}": f"cell {each}" for each in sorted(expected.done) if told.kinds[each] == "reader"}
    metrics = compute_run_metrics(result)
    assert [each.step_id for each in result.steps] == [f"s{each}" for each in expected.ran], seed
    assert (result.status, result.completion_percentage) == (expected.status, expected.percentage), (
        seed, result.error,
    )  # fmt: skip
    assert result.early_exit == expected.early, seed
    assert (result.error is not None) == expected.error, (seed, result.error)
    assert {each.step_id for each in result.tried} == {f"s{each}" for each in failed}, seed
    assert set(result.degraded_steps) == {f"s{each}" for each in expected.gone_without}, seed
    assert [each.form["n"] for each in site.writes] == [
        str(each) for each in expected.ran if told.kinds[each] == "writer" and each in expected.done
    ], seed
    assert result.best_effort_data == read, seed
    assert metrics["failed_approaches"] == len(failed), seed
    assert metrics["completion_percentage"] == expected.percentage, seed
    assert metrics["partial_success_rate"] == (expected.status in ("partial", "degraded")), seed
    assert metrics["data_retention_rate"] == 1.0, seed
    assert exit_code_for(result.status) is EXIT_CODES[expected.status], seed


def test_the_schedules_reach_every_status():
    """The model would say nothing if all schedules ended alike."""
    ends = [expect(Schedule.draw(seed)) for seed in range(SCHEDULES)]
    assert {end.status for end in ends} == set(EXIT_CODES)
    assert any(end.early for end in ends)
    assert any(end.gone_without and end.status == "partial" for end in ends)
