"""A scripted server that speaks the OpenAI chat and the Anthropic messages protocol over real HTTP.

What it answers is a list or a function of the request; what it received is in `requests`. It streams if asked to,
and answers with errors, rate limits and garbage.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BYTES_A_TOKEN = 4


@dataclass
class Answer:
    """One answer: a text, or the arguments of the tool that the client offers for its output."""

    text: str = ""
    tool: dict[str, Any] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent as it is instead of an answer of the protocol."""
    drop: bool = False
    """The connection is closed without an answer."""
    usage: tuple[int, int] | None = None
    """Input and output tokens that are reported; None: as they are."""
    no_usage: bool = False


@dataclass
class Asked:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def prompt(self) -> str:
        """All messages of the user; pydantic-ai adds one where a prompt has a mark such as `<system>`."""
        said = [each["content"] for each in self.body["messages"] if each["role"] == "user"]
        return "\n".join(
            each if isinstance(each, str) else "\n".join(part.get("text", "") for part in each)
            for each in said
        )

    @property
    def max_tokens(self) -> int:
        return int(self.body.get("max_completion_tokens") or self.body.get("max_tokens") or 10**9)


Policy = Callable[[Asked], Answer]


class ModelServer:
    """The address of a running server and what it received."""

    def __init__(self, policy: Policy, address: str) -> None:
        self.policy, self.address = policy, address
        self.requests: list[Asked] = []
        self.billed: list[tuple[int, int]] = []
        """Input and output tokens of each request that was charged."""

    @property
    def openai(self) -> str:
        return f"openai:gpt-5-mini@{self.address}/v1"

    @property
    def anthropic(self) -> str:
        return f"anthropic:claude-haiku-4-5@{self.address}"


@contextmanager
def serve_model(answers: Sequence[Answer] | Policy) -> Iterator[ModelServer]:
    """Serve `answers`, the last one for ever, or those of a function."""
    if callable(answers):
        policy: Policy = answers
    else:
        left = list(answers)

        def policy(_: Asked) -> Answer:
            return left.pop(0) if len(left) > 1 else left[0]

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    httpd.daemon_threads = True
    server = ModelServer(policy, f"http://127.0.0.1:{httpd.server_port}")
    httpd.model_server = server  # type: ignore[attr-defined]
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        server: ModelServer = self.server.model_server  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        server.requests.append(asked)
        answer = server.policy(asked)
        if answer.drop:
            self.close_connection = True
            return
        if answer.raw is not None or answer.status != 200:
            error = {"error": {"type": "scripted", "message": f"scripted {answer.status}"}}
            self._reply(answer, answer.raw if answer.raw is not None else json.dumps(error).encode())
            return
        used = answer.usage or self._count(asked, answer)
        if not answer.no_usage:
            server.billed.append(used)
        render = _as_anthropic if self.path.endswith("/messages") else _as_openai
        document = render(asked, answer, used)
        if asked.body.get("stream"):
            events = (
                _anthropic_events(document) if self.path.endswith("/messages") else _openai_events(document)
            )
            self._reply(answer, events, "text/event-stream")
        else:
            self._reply(answer, json.dumps(document).encode())

    def _count(self, asked: Asked, answer: Answer) -> tuple[int, int]:
        said = answer.text + ("" if answer.tool is None else json.dumps(answer.tool))
        return len(asked.text) // BYTES_A_TOKEN + 1, min(len(said) // BYTES_A_TOKEN + 1, asked.max_tokens)

    def _reply(self, answer: Answer, data: bytes, kind: str = "application/json") -> None:
        self.send_response(answer.status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _tool_name(asked: Asked) -> str:
    tool = asked.body["tools"][0]
    return str(tool.get("name") or tool["function"]["name"])


def _as_openai(asked: Asked, answer: Answer, used: tuple[int, int]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.tool is not None:
        call = {"name": _tool_name(asked), "arguments": json.dumps(answer.tool)}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": call}]
    document = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": asked.body["model"],
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if answer.tool else "stop"}
        ],
    }
    if not answer.no_usage:
        document["usage"] = {
            "prompt_tokens": used[0], "completion_tokens": used[1], "total_tokens": sum(used),
        }  # fmt: skip
    return document


def _as_anthropic(asked: Asked, answer: Answer, used: tuple[int, int]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    if answer.tool is not None:
        content.append({"type": "tool_use", "id": "toolu_1", "name": _tool_name(asked), "input": answer.tool})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked.body["model"],
        "content": content,
        "stop_reason": "tool_use" if answer.tool is not None else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": used[0], "output_tokens": used[1]},
    }


def _openai_events(document: dict[str, Any]) -> bytes:
    chunk = {**document, "object": "chat.completion.chunk"}
    (choice,) = document["choices"]
    chunks = [
        {**chunk, "choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
    ]
    return "".join(f"data: {json.dumps(each)}\n\n" for each in chunks).encode() + b"data: [DONE]\n\n"


def _anthropic_events(document: dict[str, Any]) -> bytes:
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**document, "content": []}}]
    for at, block in enumerate(document["content"]):
        text = block["type"] == "text"
        begun = {**block, "text": ""} if text else {**block, "input": {}}
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if text
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )
        events += [
            {"type": "content_block_start", "index": at, "content_block": begun},
            {"type": "content_block_delta", "index": at, "delta": delta},
            {"type": "content_block_stop", "index": at},
        ]
    events += [
        {
            "type": "message_delta",
            "delta": {"stop_reason": document["stop_reason"]},
            "usage": document["usage"],
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
