"""What a report warns of."""

from __future__ import annotations

import json

from agent.synthesis.graph.action_graph import GraphBuilder
from agent.synthesis.graph.synthesis_report import build_report
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns
from agent.synthesis.workflows.workflow_documents import build_workflow_documents
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import Selector
from kb_schema.session_writer import write_session
from kb_schema.workflows import walk
from periplus.synthesis.step_words import list_step_lines
from tests.agent.synthesis import sample_pages
from tests.agent.synthesis import synthesis_examples as g
from tests.support import warm


def test_that_few_took_a_way_is_no_doubt_where_it_is_known_when_it_is_taken():
    known = g.induce([sample_pages.sign_in(number, code=number % 2 == 0) for number in range(4)])
    assert known.synthesis_report.branch_count == 1
    assert known.synthesis_report.warnings == ()


def test_a_step_on_which_the_traces_agree_little_is_told_in_the_terminal(tmp_path):
    for number, names in enumerate(("abbbc", "abbc", "ac", "ac")):
        steps = [TraceStep(action_type="click", target=g.by_id(name)) for name in names]
        write_session(g.trace_of(steps, number), tmp_path / "traces" / str(number))
    command = [
        "synthesize",
        str(tmp_path / "traces"),
        "--name",
        "Add",
        "--no-validate",
        "--out",
        str(tmp_path / "made"),
    ]
    told = warm.run("periplus", *command, env={"PERIPLUS_DATA_DIR": str(tmp_path / "data")})
    assert told.returncode == 0, told.stderr
    warning = "Step 2: Low alignment confidence (0.5) - consider collecting more traces"
    assert warning in told.stdout.splitlines()[-2]
    assert json.loads((tmp_path / "made" / "report.json").read_text())["warnings"] == [warning]


def test_an_action_that_no_run_can_perform_is_an_agent_step_and_no_constant_one():
    steps = [
        TraceStep(action_type="click", target=g.by_id("a")),
        TraceStep(action_type="Weird.Thing", target=g.by_id("b")),
    ]
    report = g.induce([g.trace_of(steps, number) for number in range(2)]).synthesis_report
    assert (report.total_steps, report.deterministic_count, report.agent_node_count) == (2, 1, 1)
    assert (
        "Step 2: no run can perform the action 'Weird.Thing': it is left to an agent step" in report.warnings
    )


def test_a_branch_without_a_condition_is_one_agent_step_in_the_report_and_has_no_else_in_words():
    ways = [
        ("way_1", None, lambda made: made.action("click", "#air").action("click", "#insure")),
        ("way_2", None, lambda made: made.action("click", "#sea")),
    ]
    graph = GraphBuilder().action("click", "#go").condition(*ways, description="unknown").build()
    nodes = walk(build_workflow_documents(graph).workflow.nodes)
    agents = [node for node in nodes if node.type == "agent"]
    assert (
        build_report(ExtractedPatterns(), graph, strategy="rule_based").agent_node_count == len(agents) == 1
    )
    told = [line.strip() for line in list_step_lines(graph)]
    assert told[1] == "decided in the run, as no condition was found; one of:"
    assert "either (way_2):" in told
    assert "else" not in " ".join(told)


def test_pages_of_traces_that_a_caller_hands_over_are_chained():
    page = "<!doctype html><h1>Parts</h1><button __id__='7' id='go'>Find</button>"
    steps = [
        TraceStep(
            action_type="navigate",
            args={"url": "http://a.test/"},
            html_after=page,
            source_url="http://a.test/",
        ),
        TraceStep(
            action_type="click",
            target=Selector.model_validate({"strategies": [{"type": "__id__", "value": "7"}]}),
            source_url="http://a.test/",
        ),
    ]
    result = g.induce([g.trace_of(steps, number) for number in range(2)])
    assert result.synthesis_report.agent_node_count == 0
    assert "go" in str(list(result.graph.actions())[-1].target)


def test_session_ids_that_no_stored_page_has_are_told_with_their_trace():
    page = (
        '<html><body><button __id__="__id__7">Go</button><button __id__="8" id="b">On</button></body></html>'
    )
    steps = [TraceStep(action_type="click", target=f"__id__{number}", html_before=page) for number in (7, 8)]
    warnings = g.induce([g.trace_of(steps, number) for number in range(2)]).synthesis_report.warnings
    told = [each for each in warnings if "left to an agent: no stored page" in each]
    assert len(told) == 2
    assert all("1 targets" in each and each.endswith("`__id__` '7'") for each in told)
