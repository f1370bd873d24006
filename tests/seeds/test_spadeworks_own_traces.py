"""The runs of a task on Spadeworks become a workflow that acts on the agent it is told, by the site's own state."""

from __future__ import annotations

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.run_records.session_trace import SessionTrace
from agent.synthesis.synthesis_pipeline import add_workflow_documents
from periplus.synthesis.workflow_synthesis import induce_workflow, mark_unverified, read_traces
from tests.support import warm
from tests.support.live_spadeworks import ACCOUNT, SEED, live, stores, visiting  # noqa: F401 - fixtures
from tests.support.people import secrets

WORDS = ("Good evening", "How can we help?", "Welcome back")


@pytest.mark.timeout(300)
async def test_three_runs_on_three_agents_become_a_workflow_for_any_agent(browser, live, stores, tmp_path):  # noqa: F811
    async with visiting(live, stores, browser):
        names = [each["name"] for each in live.state()["agents"]][:5]
    for name, greeting in zip(names[:3], WORDS, strict=True):
        given = {"target_agent_name": name, "new_greeting": greeting}
        async with visiting(live, stores, browser) as session:
            session.context.said.update(given)
            trace = SessionTrace(
                tmp_path / name, website_id="spadeworks", context=session.context, inputs=given
            )
            session.bus.listen(trace, pages=True)
            done = await TaskRunner(session).run_task("edit_agent", given)
            assert done.complete, done.error
            last = await session.snapshot()
            trace.close(last.html, complete=True, url_after=last.url)
            assert {each["name"] for each in live.state()["agents"] if each["greeting"] == greeting} == {name}
    traces = read_traces([tmp_path])
    assert [sorted(trace.input_data) for trace in traces] == [["new_greeting", "target_agent_name"]] * 3
    result = add_workflow_documents(await induce_workflow(traces, "Greet", ""))
    report, lowered = result.synthesis_report, result.lowered
    assert (report.agent_node_count, report.refusals) == (0, ())
    lowered = mark_unverified(lowered)
    secret = secrets(lowered)
    wanted = {spec.name for spec in lowered.workflow.io_spec.inputs if spec.required} - set(secret)
    assert wanted == {"target_agent_name", "new_greeting"}
    for name in names[3:]:
        async with visiting(live, stores, browser) as session:
            for task in lowered.tasks:
                session.knowledge.know(task)
            given = {"target_agent_name": name, "new_greeting": f"Ahoi, {name}"}
            done = await run_workflow(TaskRunner(session), lowered.workflow, {**given, **secret})
            assert done.complete, (done.error, done.steps)
            agents = live.state()["agents"]
        assert [each["name"] for each in agents if each["greeting"].startswith("Ahoi")] == [name]


@pytest.mark.timeout(300)
def test_a_task_that_looks_for_its_effect_in_a_second_tab_is_collected_published_and_refined(live, tmp_path):  # noqa: F811
    def periplus(*arguments: str):
        done = warm.run("periplus", *arguments, cwd=tmp_path, env={"COLUMNS": "200"}, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    periplus("kb", "load", str(SEED / "kb"))
    account = [part for name, value in ACCOUNT.items() for part in ("-i", f"{name}={value}")]
    collect = ["collect", "create_agent", "--base-url", live.base, *account]
    more = ["--synthesize", "Add agents", "--validate", "1", "--publish"]
    said = periplus(*collect, "--runs", "3", "--out", "c", *more)
    assert "3 of 3 done" in said
    assert "1 with inputs, 0 optional, 0 loops, 0 branches, 0 agent steps" in said
    assert "0 not derived" in said
    assert "validation: 1 of 1 runs did what their trace shows; 1 of 1 traces were held out" in said
    assert "--input agent_name=VALUE" in said
    periplus(*collect, "--runs", "1", "--out", "d")
    refined = periplus("refine", "Add_agents", "d/runs", "--base-url", live.base, "--no-validate")
    assert "4 traces, 1 of them new; the workflow stays as it is" in refined
