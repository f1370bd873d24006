"""The fuzzer of `periplus mcp` over HTTP goes on where it was, and finds what is wrong."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.mcp_server.tools import fuzz_run
from tests.support.rotation import SEED

TOOL = {
    "name": "get_screen",
    "inputSchema": {"type": "object", "properties": {"screen_id": {"type": "string"}}},
    "outputSchema": {"type": "object", "required": ["screen_id"]},
}


def test_a_few_fuzzed_messages_are_answered_and_the_server_logs_no_error(tmp_path):
    with fuzz_run.served(tmp_path) as server:
        endpoint = fuzz_run.FuzzedEndpoint(server.url)
        fuzz_run.send_chunk(endpoint, SEED, calls=60)
        assert endpoint.answers["answered"]
        assert endpoint.answers["200"] > 30
        assert fuzz_run.resident_kb(server.pid) > 10_000


def test_memory_is_compared_and_recorded_after_each_chunk(tmp_path, monkeypatch):
    """So a session that is interrupted has its figure, too, and one that grows ends at once."""
    resident = iter((1_000, 1_100, 1_050, 1_000, 1_201, 0))
    monkeypatch.setattr(fuzz_run, "send_chunk", lambda *_: None)
    monkeypatch.setattr(fuzz_run, "resident_kb", lambda _: next(resident))
    monkeypatch.setattr(fuzz_run, "WARM_UP", fuzz_run.CHUNK)
    (tmp_path / "log").touch()
    record, file = fuzz_run.FuzzRecord(seed=7), tmp_path / "record.json"
    with _server_that_says(200, {}) as url:
        server = fuzz_run.FuzzedServer(url, 0, tmp_path / "log")
        fuzz_run._go_on(record, 3 * fuzz_run.CHUNK, file, server)
        measured = {"warmed": 1_000, "most": 1_100, "end": 1_050, "calls": 2 * fuzz_run.CHUNK}
        assert fuzz_run.FuzzRecord.read(file).memory == [measured]
        with pytest.raises(AssertionError, match="the memory has grown"):
            fuzz_run._go_on(record, 9 * fuzz_run.CHUNK, file, server)


def test_an_error_that_the_server_logs_ends_the_run(tmp_path):
    log = tmp_path / "log"
    log.write_text('{"event": "odd", "level": "error"}\n')
    with pytest.raises(AssertionError, match="odd"):
        fuzz_run.FuzzedServer("", 0, log).check_log()


def test_a_run_without_a_compared_memory_is_no_success(tmp_path):
    file = tmp_path / "record.json"
    fuzz_run.FuzzRecord(seed=7, calls=100_000).write(file)
    with pytest.raises(AssertionError, match="no memory was compared"):
        fuzz_run.run(100_000, file)


def test_what_is_in_the_record_is_not_done_again(tmp_path):
    file = tmp_path / "record.json"
    fuzz_run.FuzzRecord(seed=7, calls=1_000, answers={"200": 1_000}).write(file)
    assert fuzz_run.run(1_000, file) == fuzz_run.FuzzRecord(seed=7, calls=1_000, answers={"200": 1_000})


def test_a_memory_that_has_grown_is_an_error_however_often_it_is_asked(tmp_path):
    file = tmp_path / "record.json"
    fuzz_run.FuzzRecord(
        seed=7, calls=500, memory=[{"warmed": 100, "most": 121, "end": 119, "calls": 1}]
    ).write(file)
    with pytest.raises(AssertionError, match="the memory has grown"):
        fuzz_run.run(500, file)


@contextmanager
def _server_that_says(status: int, result: dict):
    """A server whose tool is always answered like this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            listing = asked.get("method") == "tools/list"
            body = json.dumps({"result": {"tools": [TOOL]} if listing else result}).encode()
            self.send_response(200 if listing else status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()


SAID = [{"type": "text", "text": "x"}]


@pytest.mark.parametrize(
    ("status", "result", "found"),
    [
        (500, {}, "500"),
        (200, {"content": [{"type": "text", "text": "Traceback (most"}]}, "Traceback"),
        (200, {"content": SAID, "isError": True, "structuredContent": {"error": "odd"}}, "x"),
        (200, {"content": [{"type": "text", "text": "x" * 5_000}], "isError": True, "structuredContent": {"error": "bad_arguments"}}, "sent back"),
    ],
)  # fmt: skip
def test_a_server_that_answers_wrongly_is_found(status, result, found):
    with _server_that_says(status, result) as url, pytest.raises(AssertionError, match=found):
        fuzz_run.send_chunk(fuzz_run.FuzzedEndpoint(url), SEED, calls=20)


def test_an_answer_that_is_not_of_the_tools_model_is_found():
    result = {"content": SAID, "structuredContent": {}}
    with _server_that_says(200, result) as url, pytest.raises(Exception, match="'screen_id' is a required"):
        fuzz_run.send_chunk(fuzz_run.FuzzedEndpoint(url), SEED, calls=20)
