"""The harbour of the tests in a thread, behind a network that can be cut, and tasks that moor a boat by each step kind."""

from __future__ import annotations

import importlib.util
import json
import shutil
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

HARBOUR = Path(__file__).parents[1] / "data" / "harbour"
_RESET = struct.pack("ii", 1, 0)


@dataclass
class CutNetwork:
    """Forwards connections to a port; `cut` resets those that are open, and each later one until `mend`."""

    target: int
    port: int = 0
    on_answer: Callable[[], None] | None = None
    """Called once when the next answer comes, which is lost: its request was carried out.

    Unless the network is cut, the connection stays open: Chromium sends a request again, also a POST, whose reused
    connection ends before an answer.
    """
    returns_after: int = 10**6
    """Connections that are reset until the network mends itself."""
    _is_cut: bool = False
    _open: set[socket.socket] = field(default_factory=set)

    def cut(self) -> None:
        """Reset every connection."""
        self._is_cut = True
        for each in list(self._open):
            _reset(each)

    def mend(self) -> None:
        """Let connections through again."""
        self._is_cut, self.on_answer = False, None

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the listener is closed."""
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                if self._is_cut:
                    _reset(client)
                    self.returns_after -= 1
                    self._is_cut = self.returns_after > 0
                    continue
                server = socket.create_connection(("127.0.0.1", self.target))
                self._open |= {client, server}
                for ends in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if answers and self.on_answer:
                    happen, self.on_answer = self.on_answer, None
                    happen()
                    continue
                sink.sendall(data)
        self._open -= {source, sink}
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _reset(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@dataclass
class Mooring:
    """The site and its network."""

    module: Any
    network: CutNetwork

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.network.port}"

    @property
    def names(self) -> list[str]:
        """Boats that are moored, in their order."""
        return [boat["name"] for boat in self.module.boats]


@contextmanager
def mooring() -> Iterator[Mooring]:
    """An empty harbour that is served."""
    spec = importlib.util.spec_from_file_location("harbour_of_a_fault", HARBOUR / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with socket.socket() as listener, socket.socket() as outside:
        for each in (listener, outside):
            each.bind(("127.0.0.1", 0))
            each.listen()
        server = uvicorn.Server(
            uvicorn.Config(module.app, log_level="error", timeout_graceful_shutdown=1, lifespan="off")
        )
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        network = CutNetwork(listener.getsockname()[1], outside.getsockname()[1])
        forwarding = threading.Thread(target=network.serve, args=(outside,), daemon=True)
        serving.start()
        forwarding.start()
        try:
            yield Mooring(module, network)
        finally:
            server.should_exit = True
            outside.shutdown(socket.SHUT_RDWR)
            serving.join(10)
            forwarding.join(10)


def write_knowledge(folder: Path) -> Path:
    """Write the harbour's knowledge with a task for each step kind, and a loop; return its folder."""
    kb = folder / "kb"
    shutil.copytree(HARBOUR / "kb", kb)
    for task in [*(_task(each) for each in STEPS_BEFORE | INSTEAD | STEPS_AFTER), _LOOP, _CALLER]:
        (kb / "tasks" / f"{task['task_id']}.json").write_text(json.dumps(task))
    return kb


def _step(step_id: str, action: str, target: str | None = None, value: str | None = None, **more: Any) -> Any:
    call = {"action_type": action} | ({"target": target} if target else {})
    call |= ({"value": value} if value is not None else {}) | more.pop("call", {})
    return {"step_id": step_id, "action": call, **more}


_ON_QUAY: Mapping[str, Any] = {"postconditions": [{"type": "navigates_to", "screen_id": "quay"}]}
STEPS_BEFORE: dict[str, dict[str, Any]] = {
    "path": _step("path", "navigate", call={"target_screen": "boat_new"}),
    "address": _step("address", "navigate", call={"url": "/boats/new"}),
    "refresh": _step("refresh", "refresh"),
    "fill": _step("fill", "fill", "name_field", "{boat_name}"),
    "select_option": _step("select_option", "select_option", "length_list", "12"),
    "clear": _step("clear", "clear", "name_field"),
    "focus": _step("focus", "focus", "name_field"),
    "hover": _step("hover", "hover", "moor"),
    "scroll_to_element": _step("scroll_to_element", "scroll_to_element", "moor"),
}
"""Steps on the form, before the name is filled in."""
INSTEAD: dict[str, dict[str, Any]] = {
    "click": _step("click", "click", "moor", **_ON_QUAY),
    "press": _step("press", "press", "name_field", "Enter", **_ON_QUAY),
    "input_and_submit": _step(
        "input_and_submit", "input_and_submit", "name_field", "{boat_name}", **_ON_QUAY
    ),
}
"""Steps that send the form. None of them may be repeated."""
STEPS_AFTER: dict[str, dict[str, Any]] = {
    "wait_for": _step(
        "wait_for", "wait_for",
        call={"observability_trigger": {"event": "element_visible", "selector": "tr.boat"}},
    ),
    "get_screen_content": _step("get_screen_content", "get_screen_content", "#boats"),
    "read_back": _step("read_back", "no_op"),
}  # fmt: skip
"""Steps on the list of boats, once it is moored. After the last of them outputs are read."""


def _task(kind: str) -> dict[str, Any]:
    """A task that moors one boat, with a step of the kind: its id is `by_KIND`."""
    return {
        "type": "task", "task_id": f"by_{kind}", "name": f"Moor by {kind}",
        "io_spec": {
            "inputs": [{"name": "boat_name", "source": "user_input"}],
            "outputs": [{"name": "moored", "extraction": {
                "method": "dom_extraction", "selector": "tr.boat:last-child td.name"}}],
        },
        "steps": [
            _step("form", "navigate", call={"target_screen": "boat_new"}),
            *([STEPS_BEFORE[kind]] if kind in STEPS_BEFORE else []),
            _step("name", "fill", "name_field", "{boat_name}"),
            INSTEAD.get(kind, _step("moor", "click", "moor", **_ON_QUAY)),
            *([STEPS_AFTER[kind]] if kind in STEPS_AFTER else []),
        ],
        "read_back": {
            "screen_id": "quay", "expect": "one_more", "where": {"name": "{boat_name}"},
            "extraction": {"method": "table_extraction", "selector": "tr.boat", "columns": {"name": "td.name"}},
        },
    }  # fmt: skip


_LOOP: dict[str, Any] = {
    "type": "task", "task_id": "fleet", "name": "Moor several boats",
    "io_spec": {"inputs": [{"name": "names", "type": "array", "source": "user_input"}]},
    "iterator_spec": {
        "type": "list_processing", "items": "{names}", "item_name": "name",
        "item_action": {"task_id": "by_click", "inputs": {"boat_name": "{name}"}},
    },
    "steps": [_step("execute_iterator", "execute_iterator")],
}  # fmt: skip
_CALLER: dict[str, Any] = {
    "type": "task", "task_id": "by_run_task", "name": "Moor by another task",
    "io_spec": {"inputs": [{"name": "boat_name", "source": "user_input"}]},
    "steps": [
        _step("before", "navigate", call={"target_screen": "quay"}),
        _step("run_task", "run_task", call={"task_id": "by_click", "inputs": {"boat_name": "{boat_name}"}}),
    ],
}  # fmt: skip
