"""Spans and log lines: what they say, that they are sent where the environment says, and that they keep secrets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from agent import telemetry as spans
from agent.telemetry import span, traced
from periplus import telemetry_setup
from periplus.errors import UserError
from periplus.log_setup import log_to_stderr


@pytest.fixture
def seen(monkeypatch) -> InMemorySpanExporter:
    """What was made of spans by the agent's own tracer, in this test."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans, "_TRACER", provider.get_tracer("periplus"))
    return exporter


def test_spans_lie_in_each_other_and_tell_an_error_by_its_type_alone(seen):
    with (
        pytest.raises(ValueError, match="hunter2"),
        span("task", task_id="login", website_id=None),
        span("step"),
    ):
        raise ValueError("the password is hunter2")
    step, task = seen.get_finished_spans()
    assert step.parent is not None
    assert step.parent.span_id == task.context.span_id
    assert dict(task.attributes) == {"periplus.task_id": "login"}
    assert (step.status.status_code, step.status.description) == (StatusCode.ERROR, "ValueError")
    assert "hunter2" not in step.to_json() + task.to_json()


async def test_every_call_of_a_traced_function_is_a_span(seen):
    @traced("planner")
    async def plan(value: int) -> int:
        return value + 1

    assert [await plan(1), await plan(2)] == [2, 3]
    assert [each.name for each in seen.get_finished_spans()] == ["planner", "planner"]


def test_nobody_asks_unless_the_environment_names_where_to(monkeypatch):
    assert telemetry_setup.requested_exporter({}) is None
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    assert telemetry_setup.requested_exporter(endpoint) == "OTEL_EXPORTER_OTLP_ENDPOINT"
    assert telemetry_setup.requested_exporter(endpoint | {"OTEL_SDK_DISABLED": "true"}) is None


def test_without_the_sdk_who_asks_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UserError, match="OTEL_EXPORTER_OTLP_ENDPOINT") as told:
        telemetry_setup.set_up_telemetry()
    assert "periplus[otel]" in told.value.fix


class _Collector(BaseHTTPRequestHandler):
    got: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.path, body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


PROGRAM = """
from periplus.telemetry_setup import set_up_telemetry
from agent.telemetry import span
assert set_up_telemetry()
with span("task", task_id="moor_a_boat"):
    pass
"""


def test_spans_are_sent_to_the_collector_that_the_environment_names():
    got: list[tuple[str, bytes]] = []
    server = HTTPServer(("127.0.0.1", 0), type("Collector", (_Collector,), {"got": got}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            check=True,
            env=os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": address},
        )
    finally:
        server.shutdown()
        thread.join()
    assert [path for path, _ in got] == ["/v1/traces"]
    assert b"moor_a_boat" in got[0][1]
    assert b"periplus" in got[0][1]


LOGGING = """
from agent.events import StepEnded
from agent.telemetry import span
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from periplus.log_setup import bind_run_id, requested_log_listeners
trace.set_tracer_provider(TracerProvider())
(tell,) = requested_log_listeners()
with bind_run_id("run-1", website_id="harbour"), span("step"):
    tell(StepEnded("moor", "save", "done", 12.5))
"""


def test_a_log_line_of_a_run_names_the_run_and_the_span():
    said = subprocess.run(
        [sys.executable, "-c", LOGGING], check=True, capture_output=True, text=True,
        env=os.environ | {"PERIPLUS_STRUCTURED_LOGS": "true"},
    )  # fmt: skip
    assert said.stdout == ""
    line = json.loads(said.stderr)
    assert line["event"] == "StepEnded"
    assert (line["run_id"], line["website_id"], line["task_id"]) == ("run-1", "harbour", "moor")
    assert len(line["trace_id"]) == 32
    assert len(line["span_id"]) == 16


def test_the_log_has_the_level_of_the_environment_and_above(monkeypatch, capsys):
    monkeypatch.setenv("PERIPLUS_LOG_LEVEL", "WARNING")
    log_to_stderr()
    try:
        log = structlog.get_logger("periplus")
        log.info("quiet")
        log.warning("loud")
    finally:
        structlog.reset_defaults()
    assert json.loads(capsys.readouterr().err)["event"] == "loud"


def test_nothing_is_made_of_spans_where_nobody_asks():
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    with span("task") as opened:
        assert not opened.is_recording()
