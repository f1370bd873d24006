"""What a model decided is in the report with its reasoning, and the report counts what is in the graph."""

from __future__ import annotations

import json

from agent.synthesis.pipeline_config import PipelineConfig, SynthesisStrategy
from agent.synthesis.synthesis_pipeline import MetaAgentPipeline, add_workflow_documents
from kb_schema.execution_traces import TraceStep
from periplus.synthesis.synthesis_report import write_synthesis_report
from periplus.synthesis.workflow_synthesis import write_synthesis_files
from tests.agent.synthesis import synthesis_examples as examples

ANSWER = {
    "action_type": "click", "target": "x", "args": None, "confidence": 0.8, "reasoning": "x is what <all> came for",
}  # fmt: skip


class _Model:
    async def infer(self, _prompt: str) -> str:
        return json.dumps(ANSWER)


def _traces():
    return [
        examples.trace_of(
            [TraceStep(action_type="click", target=examples.by_id(name)) for name in names], number
        )
        for number, names in enumerate(("abc", "axc"))
    ]


async def _made(strategy: SynthesisStrategy, tmp_path):
    config = PipelineConfig(synthesis_strategy=strategy)
    pipeline = MetaAgentPipeline(config=config, inferencer=_Model())
    result = add_workflow_documents(await pipeline.synthesize_graph(_traces(), "do it"))
    write_synthesis_files(result, tmp_path)
    write_synthesis_report(
        tmp_path / "report.html", result, name="It", screens={}, problems={}, validated=["not validated"]
    )
    report = json.loads((tmp_path / "report.json").read_text())
    return (
        report,
        json.loads((tmp_path / "decisions.json").read_text()),
        (tmp_path / "report.html").read_text(),
    )


async def test_decisions_of_a_model_are_in_the_report_with_their_reasoning_and_its_steps_are_counted_as_they_are(
    tmp_path,
):
    report, decisions, page = await _made(SynthesisStrategy.HYBRID, tmp_path)
    assert [each["decision_source"] for each in decisions] == ["rule", "hybrid", "rule"]
    assert decisions[1]["reasoning"] == ANSWER["reasoning"]
    assert "Decisions of the language model" in page
    assert "x is what &lt;all&gt; came for" in page
    assert report["agent_node_count"] == 0  # the model made a click of it
    assert report["deterministic_count"] == report["total_steps"] == 3


async def test_the_report_tells_how_many_traces_show_each_action_of_a_step_that_varies(tmp_path):
    report, decisions, page = await _made(SynthesisStrategy.RULE_BASED, tmp_path)
    assert report["variants"] == {"2": {"click": 2}}
    assert "step 2: click in 2 traces" in page
    assert report["agent_node_count"] == 1
    assert {each["decision_source"] for each in decisions} == {"rule"}
    assert "Decisions of the language model" not in page
