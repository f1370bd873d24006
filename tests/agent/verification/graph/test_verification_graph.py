"""The graph of a verification: which node follows which, what the state holds, and what survives a kill."""

from __future__ import annotations

import json
import sqlite3

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent import telemetry
from agent.execution.stop_request import RunStopped, StopRequest
from agent.verification.graph import should_heal
from agent.verification.graph.graph_nodes import EXECUTED_AGAIN
from agent.verification.graph.verification_graph import NODES
from agent.verification.graph.verification_state import VerificationContext, read_context, write_context
from kb_schema.selectors import css
from kb_schema.verification import (
    ConsoleLine,
    DismissedOverlay,
    FailureEvidence,
    FailureKind,
    VerificationPlan,
    VerificationRunState,
)
from tests.support import warm
from tests.support.scripted_verification import BASE, PASSWORD, Script, requirement, verified


def state(**more):
    return VerificationRunState(req_id="r", context={"plan": [{}, {}]}, **more)


@pytest.mark.parametrize(
    ("given", "leads_to"),
    [
        ({"step_idx": 0}, "executor"),
        ({"step_idx": 1}, "executor"),
        ({"step_idx": 2}, "verdict_rca"),
        ({"step_idx": 1, "failure": FailureKind.TIMEOUT}, "oracle_healer"),
        ({"step_idx": 1, "failure": FailureKind.NOT_SCOPED, "heal_round": 2}, "oracle_healer"),
        ({"step_idx": 1, "failure": FailureKind.TIMEOUT, "heal_round": 3}, "verdict_rca"),
        ({"step_idx": 2, "failure": FailureKind.TIMEOUT}, "oracle_healer"),
    ],
)
def test_routing_is_as_in_pacts(given, leads_to):
    assert should_heal(state(**given)) == leads_to


async def test_what_comes_off_passes_and_every_node_has_its_turn(tmp_path):
    script, nodes = Script(), []
    report = await verified(script, tmp_path / "db", reached=nodes.append)
    assert nodes == ["planner", "pom_builder", "generator", *["executor"] * 3, "verdict_rca"]
    assert (report.verdict, report.rca.class_, report.rca.confidence) == ("pass", "success", 1)
    assert report.rca.message == "All steps executed successfully"
    assert [step.status for step in report.steps] == ["success"] * 3
    assert (report.summary.total_steps, report.summary.executed_steps) == (3, 3)
    measured = report.rca.metrics
    assert (measured["total_steps"], measured["executed_steps"], measured["heal_rounds"]) == (3, 3, 0)
    assert measured["execution_time_ms"] >= 0
    assert report.artifacts["test_hash"] == f"sha256:{'0' * 64}"
    assert script.done[:4] == ["open build", "build", "generate label,label,label", "open execute"]


async def test_each_node_leaves_a_span(tmp_path, monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_TRACER", provider.get_tracer("periplus"))
    await verified(Script(fails={0: 1}), tmp_path / "db")
    assert [each.name for each in exporter.get_finished_spans() if each.name in NODES] == [
        "planner", "pom_builder", "generator", "executor", "oracle_healer", *["executor"] * 3, "verdict_rca",
    ]  # fmt: skip


async def test_a_password_is_typed_but_never_kept(tmp_path):
    script = Script()
    report = await verified(script, tmp_path / "db")
    assert f"execute 1: {PASSWORD}" in script.done
    assert PASSWORD not in report.model_dump_json()
    assert PASSWORD.encode() not in b"".join(each.read_bytes() for each in tmp_path.glob("db*"))


async def test_a_state_is_plain_json(tmp_path):
    await verified(Script(fails={1: 1}), tmp_path / "db")
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        kept = await saver.aget({"configurable": {"thread_id": "r1"}})
    values = {name: value for name, value in kept["channel_values"].items() if not name.startswith("branch")}
    assert json.loads(json.dumps(values)) == values
    assert [type(value) for value in values.values()] == [
        type(json.loads(json.dumps(v))) for v in values.values()
    ]
    plan = values["context"]["plan"]
    assert plan[0]["intent"]["value"] == "value 0"
    assert plan[1]["intent"]["value"] == "•••"


async def test_what_is_missing_is_reported_before_any_test_is_written(tmp_path):
    script = Script(missing=1)
    report = await verified(script, tmp_path / "db")
    assert script.done == ["open build", "build"]
    assert (report.verdict, report.rca.class_) == ("fail", "selector_drift")
    assert report.missing[0].nearest == ("Fielt",)
    assert report.artifacts == {}


async def test_healing_has_three_rounds_for_every_step_and_the_test_is_written_anew(tmp_path):
    script, nodes = Script(fails={0: 3, 2: 1}), []
    report = await verified(script, tmp_path / "db", reached=nodes.append)
    assert report.verdict == "pass"
    assert [(each.step_idx, each.round, each.success) for each in report.heal_events] == [
        (0, 1, False), (0, 2, False), (0, 3, True), (2, 1, True),
    ]  # fmt: skip
    assert [step.heal_round for step in report.steps] == [3, 0, 1]
    assert script.done.count("execute 0: value 0") == 2, "a round that did not help is no reason to try again"
    assert script.done[-1] == "generate healed,label,healed"
    assert script.plans["REQ-1"].steps[0].strategy == "healed"


async def test_what_does_not_heal_fails_with_the_step_that_failed(tmp_path):
    script = Script(fails={1: 9})
    report = await verified(script, tmp_path / "db")
    assert (report.verdict, report.summary.failed_steps, report.summary.heal_rounds) == ("fail", 1, 3)
    assert [step.status for step in report.steps] == ["success", "failed"]
    assert "REQ-1" not in script.plans


async def test_without_rounds_nothing_is_healed(tmp_path):
    script = Script(fails={1: 1})
    report = await verified(script, tmp_path / "db", rounds=0)
    assert (report.verdict, report.heal_events) == ("fail", ())


async def test_a_first_page_that_does_not_open_is_not_healed(tmp_path):
    report = await verified(Script(opens=False), tmp_path / "db")
    assert (report.verdict, report.rca.class_, report.heal_events) == ("fail", "env_fault", ())


def test_a_plan_comes_back_from_the_state_as_it_was():
    overlay = DismissedOverlay(name="Agree", selector=css("#agree"))
    plan = VerificationPlan(
        requirement=requirement(),
        base_url=BASE,
        signed_in_by="login",
        usual_errors=("Error: x",),
        obstacles=(overlay,),
    )
    kept = write_context(VerificationContext(requirement=plan.requirement, plan=plan))
    assert read_context(VerificationRunState(req_id="r", context=json.loads(json.dumps(kept)))).plan == plan


async def test_errors_of_scripts_that_another_requirement_has_while_green_are_no_cause(tmp_path):
    green = VerificationPlan(
        requirement=requirement(), base_url=BASE, usual_errors=("Error: Transport 0 not open",)
    )
    thrown = ConsoleLine(
        kind="pageerror", text="Error: Transport 7 not open", url=f"{BASE}/app.js", step_idx=2
    )
    script = Script(plans={"REQ-9": green}, fails={2: 9})
    script.evidence = FailureEvidence(
        message="not there", step_idx=2, matched=0, nearest="button 'Store'", nearest_score=0.8,
        nearest_verdict="same", url=f"{BASE}/", console=(thrown,),
    )  # fmt: skip
    assert (await verified(script, tmp_path / "one")).rca.class_ == "selector_drift"


async def test_errors_of_scripts_in_a_green_run_are_no_cause_later(tmp_path):
    usual, new = "Error: Transport 12 not open", "TypeError: total is undefined"
    script = Script(errors=frozenset({"Error: Transport 0 not open"}))
    assert (await verified(script, tmp_path / "one")).verdict == "pass"
    for text, cause in ((usual, "selector_drift"), (new, "app_defect")):
        thrown = ConsoleLine(kind="pageerror", text=text, url=f"{BASE}/app.js", step_idx=2)
        script.fails = {2: 9}
        script.evidence = FailureEvidence(
            message="not there", step_idx=2, matched=0, nearest="button 'Store'", nearest_score=0.8,
            nearest_verdict="same", url=f"{BASE}/", console=(thrown,),
        )  # fmt: skip
        report = await verified(script, tmp_path / text[:5])
        assert report.verdict == "fail"
        assert report.rca.class_ == cause, report.rca
    assert script.plans["REQ-1"].usual_errors == ("Error: Transport 0 not open",), "a red run teaches nothing"


async def test_the_plan_it_passed_with_is_used_the_next_time_and_what_fails_held_before(tmp_path):
    script = Script()
    await verified(script, tmp_path / "db", run_id="r1")
    script.done.clear()
    script.fails = {1: 9}
    report = await verified(script, tmp_path / "db", run_id="r2")
    assert "build" not in script.done
    assert f"execute 1: {PASSWORD}" in script.done
    assert (report.verdict, report.rca.class_) == ("fail", "app_defect")


async def test_a_stop_is_heeded_between_two_nodes_and_carried_on_from(tmp_path):
    script, stop = Script(), StopRequest()

    def reached(name: str) -> None:
        if name == "generator":
            stop.ask("enough")

    with pytest.raises(RunStopped):
        await verified(script, tmp_path / "db", reached=reached, stop=stop)
    assert script.done[-1].startswith("generate")
    report = await verified(script, tmp_path / "db")
    assert report.verdict == "pass"
    assert report.notes == (EXECUTED_AGAIN,)
    assert sum(each.startswith("generate") for each in script.done) == 1


async def test_another_requirement_under_the_same_run_begins_anew(tmp_path):
    script, stop = Script(), StopRequest()
    with pytest.raises(RunStopped):
        await verified(script, tmp_path / "db", reached=lambda _: stop.ask("enough"), stop=stop)
    changed = requirement(2)
    report = await verified(script, tmp_path / "db", wanted=changed)
    assert report.summary.total_steps == 2


@pytest.mark.sampled(0.4)
@pytest.mark.parametrize(
    "where",
    ["planner:1", "pom_builder:1", "generator:1", "executor:1", "executor:3", "oracle_healer:1",
     "oracle_healer:2", "executor:4", "executor:5", "verdict_rca:1"],
)  # fmt: skip
def test_a_run_killed_after_any_node_is_carried_on_to_the_same_verdict(tmp_path, where):
    database, done = tmp_path / "db", tmp_path / "done"

    def run(*more):
        return warm.run("tests.support.scripted_verification", str(database), "r1", str(done), *more)

    killed = run(where)
    assert killed.returncode == -9, killed.stderr
    before = done.read_text().splitlines() if done.exists() else []
    carried = run()
    assert carried.returncode == 0, carried.stderr
    report = json.loads(carried.stdout)
    assert (report["verdict"], report["rca"]["class"]) == ("pass", "success")
    assert [step["step_idx"] for step in report["steps"]] == [0, 1, 2]
    done_all = done.read_text().splitlines()
    after = done_all[len(before) :]
    assert sum(each == "build" for each in done_all) == 1
    assert sum(each == "generate label,label,label" for each in done_all) == 1
    node = where.partition(":")[0]
    all_done = where in ("executor:5", "verdict_rca:1")
    if node in ("generator", "executor", "oracle_healer") and not all_done:
        assert after[0:2] == ["open execute", "start /login"]
        assert "execute 0: value 0" in after, "nothing is claimed that was seen on a page that is gone"
        assert report["notes"] == [EXECUTED_AGAIN]
    else:
        assert report["notes"] == []
    if all_done:
        assert not [each for each in after if not each.startswith("generate")]


def test_nothing_secret_is_in_the_file_of_a_run_that_was_killed(tmp_path):
    database = tmp_path / "db"
    warm.run("tests.support.scripted_verification", str(database), "r1", str(tmp_path / "done"), "planner:1")
    with sqlite3.connect(database) as connection:
        kept = connection.execute("select count(*) from checkpoints").fetchone()
    assert kept[0] > 0
    assert PASSWORD.encode() not in b"".join(each.read_bytes() for each in tmp_path.glob("db*"))


async def test_a_result_that_was_kept_and_not_yet_part_of_the_state_is_carried_on_from(tmp_path, monkeypatch):
    """What a kill leaves between a node's writes and the checkpoint after it."""

    class Killed(BaseException):
        pass

    puts = AsyncSqliteSaver.aput

    async def put(self, config, checkpoint, *more):
        values = checkpoint["channel_values"]
        if values.get("step_idx") == 2:
            raise Killed
        return await puts(self, config, checkpoint, *more)

    script = Script()
    with monkeypatch.context() as patch:
        patch.setattr(AsyncSqliteSaver, "aput", put)
        with pytest.raises(Killed):
            await verified(script, tmp_path / "db")
    report = await verified(script, tmp_path / "db")
    assert report.verdict == "pass"
    assert [step.step_idx for step in report.steps] == [0, 1, 2]
    assert report.notes == (EXECUTED_AGAIN,)
    assert script.done.count("build") == 1
