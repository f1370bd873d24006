"""Runs the HTTP server. On SIGTERM it accepts no more runs, waits for running ones, and stops."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections import Counter
from collections.abc import Iterator

import structlog
import uvicorn

from periplus.memory_return import returning_memory
from periplus.server_sockets import proxy_options
from periplus.service.run_queue import RunQueue
from periplus.service.visits.visit_registry import VisitRegistry
from periplus.settings import load_settings
from periplus.signals import on_signals
from periplus.web_server.asgi_app import ServiceApp
from periplus.web_server.bounded_connections import make_bounded_protocol

SAME_IN_A_MINUTE = 20
"""Log lines of the same message of a library within a minute; more are counted only."""
GRACE_S = 3
"""Seconds that open streams may take to end, after everything else has ended."""

_log = structlog.get_logger(__name__)


class _SignalFreeServer(uvicorn.Server):
    """A server without signal handlers: uvicorn would stop listening at once, without answering `503 draining`."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield


async def serve_until_signal(
    service: ServiceApp, queue: RunQueue, listener: socket.socket, visits: VisitRegistry | None = None
) -> None:
    """Serve until SIGTERM or Ctrl-C, then wait until all runs have ended; a second signal stops them at once.

    Demos for visitors end at once.
    """
    _log_as_json()
    config = uvicorn.Config(
        service,
        http=make_bounded_protocol(),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        **proxy_options(load_settings().trusted_proxies),
    )
    server, asked, urged = _SignalFreeServer(config), asyncio.Event(), asyncio.Event()

    def react() -> None:
        (urged if asked.is_set() else asked).set()

    with on_signals(react, signal.SIGTERM, signal.SIGINT):
        async with returning_memory():
            serving = asyncio.create_task(server.serve(sockets=[listener]), name="http")
            await _wait_for_first(serving, asked)
            if visits is not None:
                await visits.close()
            draining = asyncio.create_task(queue.drain(), name="draining")
            await _wait_for_first(draining, urged)
            if urged.is_set():
                draining.cancel()
                await asyncio.wait([draining])
                await queue.drain(grace_s=0)
            queue.followers.close()
            server.should_exit = True
            await serving
            _log.info("ended")


async def _wait_for_first(work: asyncio.Task[None], event: asyncio.Event) -> None:
    """Wait until the task is done (its error is raised) or the event is set."""
    waiting = asyncio.create_task(event.wait())
    done, _ = await asyncio.wait([work, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if work in done:
        work.result()


class _StructlogHandler(logging.Handler):
    """Forwards log records of libraries to structlog, the same message only so often in a minute."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._minute, self._seen = 0, Counter[tuple[str, str]]()

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record."""
        minute, kind = int(record.created // 60), (record.name, str(record.msg))
        if minute != self._minute:
            dropped = sum(max(0, count - SAME_IN_A_MINUTE) for count in self._seen.values())
            self._minute, self._seen = minute, Counter()
            if dropped:
                _log.warning("log_lines_dropped", count=dropped)
        self._seen[kind] += 1
        if self._seen[kind] > SAME_IN_A_MINUTE:
            return
        extra = {"exc_info": record.exc_info} if record.exc_info else {}
        structlog.get_logger(record.name).log(record.levelno, record.getMessage(), **extra)


def _log_as_json() -> None:
    root = logging.getLogger()
    if not any(isinstance(handler, _StructlogHandler) for handler in root.handlers):
        handler = _StructlogHandler(logging.WARNING)
        root.addHandler(handler)
