"""The runs of a task on Spadeworks become a workflow that acts on the agent it is told, by the site's own state."""

from __future__ import annotations

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.run_records.session_trace import SessionTrace
from agent.synthesis.synthesis_pipeline import add_workflow_documents
from periplus.synthesis.workflow_synthesis import induce_workflow, mark_unverified, read_traces
from tests.support.live_spadeworks import live, stores, visiting  # noqa: F401 - fixtures
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
