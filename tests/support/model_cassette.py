"""A model's endpoint that keeps what a provider answered, and answers the same again without it.

For those who have a key: the requests go to the provider once, and into a file without the key. Afterwards the file alone answers them.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "anthropic-version", "anthropic-beta")
"""Headers that are passed on; none of them is kept."""
UNKNOWN = 410
"""The status for a request that the cassette does not have: no client asks again."""
_PORT = re.compile(r"(127\.0\.0\.1|localhost):\d+")
"""Sites of the tests get another port each time."""
_ANSWERED_S = 120.0


class Cassette:
    """The address of a running endpoint, and what it answered."""

    def __init__(self, file: Path, address: str, upstream: str | None) -> None:
        self.file, self.address, self.upstream = file, address, upstream
        self.asked = self.recorded = self.missing = 0
        self._lock = threading.Lock()
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        self._kept: dict[str, list[dict[str, Any]]] = {}
        for each in map(json.loads, lines):
            self._kept.setdefault(each["key"], []).append(each)

    def openai(self, model: str) -> str:
        return f"openai:{model}@{self.address}/v1"

    def anthropic(self, model: str) -> str:
        return f"anthropic:{model}@{self.address}"

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        """The status and body of an answer: a kept one, else the provider's, which is kept if it is no error."""
        key = hashlib.sha256(_PORT.sub(r"\1", f"{path}\n{body.decode()}").encode()).hexdigest()[:24]
        with self._lock:
            self.asked += 1
            kept = self._kept.get(key, [])
            if kept:
                # the same request again gets the next answer that was kept for it, the last one for ever
                found = kept.pop(0) if len(kept) > 1 else kept[0]
                return found["status"], json.dumps(found["answer"]).encode()
            if self.upstream is None:
                self.missing += 1
                told = f"the cassette {self.file.name} has no answer to this request: record it again, with a key"
                return UNKNOWN, json.dumps({"error": {"type": "cassette", "message": told}}).encode()
        status, answer = self._ask(path, headers, body)
        if status == 200:
            with self._lock, self.file.open("a", encoding="utf-8") as lines:
                line = {"key": key, "path": path, "status": status, "answer": json.loads(answer)}
                lines.write(json.dumps(line, ensure_ascii=False) + "\n")
                self.recorded += 1
        return status, answer

    def _ask(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        passed = {name: value for name, value in headers.items() if name in KEY_HEADERS}
        request = urllib.request.Request(
            f"{self.upstream}{path}", body, {"Content-Type": "application/json", **passed}
        )
        try:
            with urllib.request.urlopen(request, timeout=_ANSWERED_S) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as exc:
            return exc.code, exc.read()


@contextmanager
def serve_cassette(file: Path, upstream: str | None = None) -> Iterator[Cassette]:
    """Serve what a file has; what it does not have is asked of `upstream` (`https://api.openai.com`) and kept."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, answer = cassette.answer(self.path, headers, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    cassette = Cassette(
        file, f"http://127.0.0.1:{httpd.server_port}", None if upstream is None else upstream.rstrip("/")
    )
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield cassette
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
