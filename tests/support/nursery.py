"""A process that has imported what commands need and turns into one for the asking: `tests.support.warm`.

    python -m tests.support.nursery SOCKET

Importing takes a command longer than most do their work in. Here it is done once; each order is
then a fork that changes into its folder and environment and runs its module as `python -m` does.
Nothing of `periplus` itself is imported beforehand: it reads terminal and environment as it comes.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import sys
from typing import Any

BEFOREHAND = (
    "rich.console", "rich.table", "rich.progress", "typer", "structlog", "uvicorn", "pymongo", "arango", "mcp",
    "mcp.server.mcpserver", "playwright.async_api", "kb_schema", "kb_store", "kb_store.arangodb",
    "kb_store.mongodb.learned_store", "kb_store.mongodb.proposal_store", "kb_store.mongodb.run_store", "loaders", "mcp_server.server",
    "agent.session", "agent.presentation.flow_player", "agent.media.screen_recorder",
    "langgraph.graph", "langgraph.checkpoint.sqlite.aio", "openpyxl", "jinja2",
)  # fmt: skip
LONGEST_ORDER = 200_000


def serve(door: socket.socket) -> dict[str, Any] | None:
    """Fork for each order; None where there are no more, the order in the process that is to obey it."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are not waited for
    while True:
        order, streams, _, _ = socket.recv_fds(door, LONGEST_ORDER, 3)
        if not order:
            return None
        if os.fork() == 0:
            door.close()
            if _is_obeyed_here(*streams):
                found: dict[str, Any] = json.loads(order)
                return found
            os._exit(0)
        for stream in streams:
            os.close(stream)


def _is_obeyed_here(out: int, err: int, status: int) -> bool:
    """Fork once more: True in the new process, False in its parent, which tells its id and its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(status)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for place, stream in enumerate((nothing, out, err)):
            os.dup2(stream, place)
            os.close(stream)
        return True
    os.close(out)
    os.close(err)
    os.write(status, f"{pid}\n".encode())
    os.write(status, f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n".encode())
    return False


def obey(order: dict[str, Any]) -> None:
    """Be the process that was asked for."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = [order["module"], *order["arguments"]]
    sys.path[0] = order["cwd"]
    # What was opened at the start may have been a file, in which one could seek.
    whole = 0 if order["unbuffered"] else -1
    sys.stdout = io.TextIOWrapper(open(1, "wb", buffering=whole, closefd=False), write_through=whole == 0)  # noqa: SIM115
    errors = open(2, "wb", closefd=False)  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(errors, errors="backslashreplace", line_buffering=True)
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    for module in BEFOREHAND:
        with contextlib.suppress(Exception):  # the command that needs it will say it itself
            importlib.import_module(module)
    with contextlib.suppress(Exception):
        importlib.import_module("kb_schema.json_schemas").schemas_with_shared_definitions()
    gc.freeze()  # what is shared is neither looked through nor copied by those that come from here
    asked = serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        obey(asked)
