"""Traces are chosen by rules that a user names (MA 2)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from agent.synthesis.traces.named_rules import RULES, RuleRefused, read_rule
from agent.synthesis.traces.trace_evaluation import EvaluationStrategy, TraceEvaluator
from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep
from kb_schema.session_writer import write_session
from tests.agent.synthesis import sample_pages
from tests.support import warm

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def trace(*steps: TraceStep, seconds: float = 5, **more) -> ExecutionTrace:
    return ExecutionTrace(
        trace_id="t", steps=steps, start_time=BEGAN, end_time=BEGAN + timedelta(seconds=seconds), **more
    )


def step(path: str = "/agents", html: str = "<p>Saved</p>", **result) -> TraceStep:
    return TraceStep(
        action_type="click",
        source_url=f"https://fleet.example{path}",
        html_after=f"<html><body>{html}</body></html>",
        result=TraceActionResult(**result),
    )


CASES = {
    "max-steps=1": (trace(step()), trace(step(), step())),
    "max-seconds=5": (trace(step()), trace(step(), seconds=6)),
    "no-errors": (trace(step()), trace(step(success=False, error="not there"))),
    "has-input=name": (trace(step(), input_data={"name": "Ada"}), trace(step(), input_data={"name": ""})),
    "ends-at=^/agents$": (trace(step("/new"), step()), trace(step(), step("/new"))),
    "shows=Saved": (trace(step()), trace(step(html="<p hidden>Saved</p><p>Refused</p>"))),
}


def test_every_rule_has_a_case():
    assert {name.partition("=")[0] for name in CASES} == RULES.keys()


@pytest.mark.parametrize("text", CASES)
async def test_a_rule_keeps_good_traces_and_rejects_others(text):
    good, bad = CASES[text]
    for severity, prefix in (("error", ""), ("warning", "warn:")):
        rule = read_rule(f"{prefix}{text}")
        assert (rule.name, rule.severity) == (text, severity)
        judged = await TraceEvaluator(EvaluationStrategy.RULE_BASED, [rule]).evaluate([good, bad])
        assert [each.passed for each in judged] == [True, severity == "warning"]
        assert judged[1].failed_rules + judged[1].warnings == (text,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max-step=2", 'did you mean "max-steps"'),
        ("max-steps=many", "expected a number above 0"),
        ("max-steps=0", "expected a number above 0"),
        ("shows", "needs a value"),
        ("ends-at=(", "ends-at=("),
        ("no-errors=1", "takes no value"),
    ],
)
def test_what_is_no_rule_says_what_to_write(text, said):
    with pytest.raises(RuleRefused) as refused:
        read_rule(text)
    assert said in str(refused.value)


def test_a_user_chooses_the_rules_and_sees_which_trace_broke_which(tmp_path):
    traces = [sample_pages.create_agent(number) for number in range(3)]
    for each in traces:
        write_session(each, tmp_path / "traces" / each.trace_id)
    most = len(traces[0].steps)
    made = ["synthesize", str(tmp_path / "traces"), "--name", "Add an agent", "--out", str(tmp_path / "made")]
    env = {"PERIPLUS_DATA_DIR": str(tmp_path / "data"), "COLUMNS": "200"}
    told = warm.run("periplus", *made, "--rule", f"max-steps={most - 1}", "--no-validate", env=env)
    assert told.returncode == 2
    assert f"max-steps={most - 1}" in told.stdout + told.stderr
    rejected = json.loads((tmp_path / "made" / "evaluations.json").read_text())
    assert [(each["passed"], each["reason"]) for each in rejected] == [
        (False, f"breaks max-steps={most - 1}")
    ] * 3
    told = warm.run(
        "periplus", *made, "--rule", f"max-steps={most}", "--rule", "no-errors", "--no-validate", env=env
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "3 traces read, 3 used" in told.stdout
    noted = warm.run("periplus", *made, "--rule", f"warn:max-steps={most - 1}", "--no-validate", env=env)
    assert noted.returncode == 0, noted.stderr
    assert "3 traces read, 3 used" in noted.stdout
    assert noted.stdout.count(f": used, and breaks max-steps={most - 1}") == 3
    assert f"used, and breaks max-steps={most - 1}" in (tmp_path / "made" / "report.html").read_text()
    warned = json.loads((tmp_path / "made" / "report.json").read_text())["warnings"]
    assert [each for each in warned if each.endswith(f": used, and breaks max-steps={most - 1}")] == warned[
        :3
    ]
    assert {each.partition(":")[0] for each in warned[:3]} == {each.trace_id for each in traces}
    evaluations = json.loads((tmp_path / "made" / "evaluations.json").read_text())
    assert [(each["passed"], each["score"], each["warnings"]) for each in evaluations] == [
        (True, 0.0, [f"max-steps={most - 1}"])
    ] * 3
    for wrong in (("--rule", "shows"), ("--rule", "no-errors", "--judge")):
        told = warm.run("periplus", *made, *wrong, env=env)
        assert (told.returncode, "--rule" in told.stderr) == (2, True)
