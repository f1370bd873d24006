"""Sends very many fuzzed calls to `periplus mcp` over HTTP: `python -m tests.mcp_server.tools.fuzz_run --calls 100000`.

An interrupted run goes on where it was: what is done is in the record. Every answer is one of the tool's model or a
documented error, the server logs no error, and it keeps its memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kb_store import load_knowledge, open_stores
from tests.mcp_server import pantry
from tests.mcp_server.tools.fuzzed_arguments import CODES, FORBIDDEN, KNOWN
from tests.support import warm
from tests.support.hostile import anything, arguments, mostly, mutated
from tests.support.rotation import SEED

CHUNK = 500
"""Calls of one seed; what is done of an interrupted chunk is done again."""
WARM_UP = 4 * CHUNK
"""Calls of a server after which its memory is compared with that after each later chunk."""
MOST_GROWTH = 1.2
PATIENCE_S = 60
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
UNLIMITED = {"PERIPLUS_MCP_RATE_PER_SECOND": "100000", "PERIPLUS_MCP_BURST": "1000000"}


@dataclass(slots=True)
class FuzzRecord:
    """What was done, over all sessions."""

    seed: int
    calls: int = 0
    answers: dict[str, int] = field(default_factory=dict)
    """HTTP status, the code of a refusal, or `answered` -> how often."""
    memory: list[dict[str, int]] = field(default_factory=list)
    """Of each session long enough: kB after the warm-up, the most and the last later, and the calls between."""
    seconds: float = 0.0
    """In which the calls were made."""

    @classmethod
    def read(cls, file: Path) -> FuzzRecord:
        """The record in the file, or a new one."""
        return cls(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else cls(seed=SEED)

    def write(self, file: Path) -> None:
        """Replace the file."""
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")
        new.replace(file)


class FuzzedEndpoint:
    """An MCP endpoint and what is known of its tools."""

    def __init__(self, url: str) -> None:
        self._url, self._http = url, httpx.Client(headers=HEADERS, timeout=PATIENCE_S)
        self.answers: Counter[str] = Counter()
        listed = self._post({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
        self._tools = {tool["name"]: tool for tool in listed["result"]["tools"]}
        self._validators = {
            name: Draft202012Validator(tool["outputSchema"]) for name, tool in self._tools.items()
        }

    @property
    def messages(self) -> st.SearchStrategy[dict[str, Any]]:
        """Calls by the schemas and against them, and a few messages that are no calls."""
        made = [(name, arguments(tool["inputSchema"], KNOWN)) for name, tool in self._tools.items()]
        right = st.one_of(*(st.builds(_call, st.just(name), each) for name, each in made))
        wrong = st.one_of(*(st.builds(_call, st.just(name), mutated(each)) for name, each in made))
        odd = st.one_of(mutated(right), st.fixed_dictionaries({"method": anything}))
        return mostly(st.one_of(right, wrong), odd)

    def send(self, message: dict[str, Any]) -> None:
        """Send one message and check its answer. Raises `AssertionError`."""
        answer = self._post(message)
        result = answer.get("result") if isinstance(answer, dict) else None
        if not isinstance(result, dict) or "content" not in result:
            return
        said = "".join(block.get("text", "") for block in result["content"])
        assert said
        if result.get("isError"):
            code = result["structuredContent"]["error"]
            self.answers[code] += 1
            assert code in CODES, said
            assert len(said) < 4_000, "what was sent is sent back whole"
            return
        self.answers["answered"] += 1
        self._validators[message["params"]["name"]].validate(result["structuredContent"])

    def _post(self, message: dict[str, Any]) -> Any:
        answer = self._http.post(self._url, content=json.dumps(message).encode())
        self.answers[str(answer.status_code)] += 1
        assert answer.status_code < 500, (answer.status_code, answer.text[:2_000])
        for forbidden in FORBIDDEN:
            assert forbidden not in answer.text, answer.text[:2_000]
        text = answer.text
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            # `splitlines` would also split at characters inside of JSON.
            lines = re.split(r"\r\n|\r|\n", text)
            text = next(line[6:] for line in lines if line.startswith("data: {"))
        return json.loads(text) if text else None


def _call(name: str, given_arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": given_arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def send_chunk(endpoint: FuzzedEndpoint, number: int, calls: int = CHUNK) -> None:
    """Send the calls of one seed. Raises `AssertionError` with the message that was answered wrongly."""
    sent = 0

    @seed(number)
    @settings(
        max_examples=calls, deadline=None, database=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck)
    )  # fmt: skip
    @given(endpoint.messages)
    def never_anything_else(message):
        nonlocal sent
        endpoint.send(message)
        sent += 1

    never_anything_else()
    assert sent == calls


@dataclass(frozen=True, slots=True)
class FuzzedServer:
    """`periplus mcp` over HTTP and what it said."""

    url: str
    pid: int
    log: Path

    def check_log(self) -> None:
        """Raise `AssertionError` if it has logged an error."""
        said = self.log.read_text(encoding="utf-8")
        for forbidden in ("Traceback", '"level": "error"', '"level": "critical"'):
            assert forbidden not in said, said[-3_000:]


@contextmanager
def served(folder: Path) -> Iterator[FuzzedServer]:
    """`periplus mcp` on a store with the pantry. It logs no error."""

    async def fill() -> None:
        async with open_stores(folder / "data") as stores:
            await load_knowledge(stores.documents, stores.graph, pantry.knowledge())

    asyncio.run(fill())
    log = folder / "log"
    process = warm.start(
        "periplus", "mcp", "--transport", "http", "--port", "0",
        env={"PERIPLUS_DATA_DIR": str(folder / "data"), **UNLIMITED}, streamed=True,
    )  # fmt: skip
    first = process.stdout.readline()
    found = re.search(r"http://\S+/mcp", first)
    assert found, first + process.communicate(PATIENCE_S)[0]
    with log.open("w+", encoding="utf-8") as kept:
        reading = _copying(process.stdout, kept)
        server = FuzzedServer(found[0], process.pid, log)
        try:
            yield server
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
            reading.join(PATIENCE_S)
    server.check_log()


def _copying(stream: IO[str], kept: IO[str]) -> threading.Thread:
    """Read to the end beside what else is done: a server whose output is not read stops."""

    def copy() -> None:
        for line in stream:
            kept.write(line)
            kept.flush()

    reading = threading.Thread(target=copy, daemon=True)
    reading.start()
    return reading


def resident_kb(pid: int) -> int:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)[1])


def run(calls: int, file: Path) -> FuzzRecord:
    """Go on until so many calls are in the record. Raises `AssertionError` for the first wrong answer, or growth."""
    record = FuzzRecord.read(file)
    if record.calls < calls:
        with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server:
            _go_on(record, calls, file, server)
    assert record.memory or record.calls < WARM_UP, (
        f"each session had less than {WARM_UP} calls: no memory was compared"
    )
    for each in record.memory:
        _check_memory(each)
    return record


def _check_memory(measured: dict[str, int]) -> None:
    assert measured["most"] <= MOST_GROWTH * measured["warmed"], f"the memory has grown: {measured}"


def _go_on(record: FuzzRecord, calls: int, file: Path, server: FuzzedServer) -> None:
    """Send chunks and record each as soon as it is done, so that an interruption loses one at most."""
    endpoint = FuzzedEndpoint(server.url)
    begun, before, seconds = record.calls, Counter(record.answers), record.seconds
    clock = time.monotonic()
    measured: dict[str, int] = {}
    while record.calls < calls:
        send_chunk(endpoint, record.seed + record.calls // CHUNK)
        server.check_log()
        record.calls += CHUNK
        record.answers = dict(before + endpoint.answers)
        record.seconds = round(seconds + time.monotonic() - clock, 1)
        done, now = record.calls - begun, resident_kb(server.pid)
        if done == WARM_UP:
            measured = {"warmed": now, "most": now, "end": now, "calls": 0}
            record.memory.append(measured)
        if measured:
            measured |= {"most": max(now, measured["most"]), "end": now, "calls": done - WARM_UP}
        record.write(file)
        if measured:
            _check_memory(measured)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--record", type=Path, default=Path("out/mcp-fuzz.json"))
    asked = parser.parse_args()
    record = run(asked.calls, asked.record)
    asked.record.unlink()  # the next run begins anew, with other seeds
    print(json.dumps(asdict(record)), file=sys.stdout)  # noqa: T201 - its output


if __name__ == "__main__":
    main()
