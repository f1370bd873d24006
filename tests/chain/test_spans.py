"""What a run on a real page leaves as spans: the task, its steps, and the calls to the desk beneath them."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent import telemetry
from agent.execution.task_runner import TaskRunner


async def test_a_run_is_a_tree_of_spans_with_the_calls_to_the_desk_in_it(session, monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_TRACER", provider.get_tracer("periplus"))
    monkeypatch.setattr("mcp.shared._otel._tracer", provider.get_tracer("mcp"))
    result = await TaskRunner(session).run_task("register_boat", {"boat_name": "Argo", "length": "12"})
    assert result.complete, result.error
    finished = exporter.get_finished_spans()
    (task,) = [each for each in finished if each.name == "task"]
    steps = [each for each in finished if each.name == "step"]
    assert task.attributes["periplus.task_id"] == "register_boat"
    assert [each.attributes["periplus.step_id"] for each in steps] == [each.step_id for each in result.steps]
    assert {each.context.trace_id for each in finished if each.name != "step"} >= {task.context.trace_id}
    asked = [each for each in finished if each.name.startswith("tools/call")]
    assert any(each.context.trace_id == task.context.trace_id for each in asked), [e.name for e in finished]
